"""Gradients of samples: how they move with the parameters, against differences of quantiles; and gradients of
densities.
"""

import math

import numpy as np
import pytest
from scipy import special

import pullback as torch
from pullback.ops.gamma_dirichlet import _dirichlet_grad, _standard_gamma_grad

from .table import CASES, make, tensors


def slope(f, a, h=1e-4):
    """The derivative of a function of float64 numbers, by differences of fourth order."""
    h = h * a
    return (8 * (f(a + h) - f(a - h)) - (f(a + 2 * h) - f(a - 2 * h))) / (12 * h)


QUANTILES = [1e-3, 0.05, 0.3, 0.5, 0.7, 0.95, 0.999]


@pytest.mark.parametrize("a", [0.05, 0.3, 1.0, 2.5, 10.0, 300.0, 1e4])
def test_gamma_samples_move_as_their_quantiles(a):
    p = np.array(QUANTILES)
    x = special.gammaincinv(a, p)
    some = x > 1e-30  # what lies below does not move
    expected = slope(lambda a: special.gammaincinv(a, p), a)
    got = _standard_gamma_grad(np.full(len(p), a), x)
    np.testing.assert_allclose(got[some], expected[some], rtol=2e-6)


@pytest.mark.parametrize("a", [0.07, 0.5, 1.0, 3.0, 40.0])
@pytest.mark.parametrize("b", [0.02, 0.5, 1.0, 2.0, 500.0])
def test_beta_samples_move_as_their_quantiles(a, b):
    p = np.array(QUANTILES)
    x = special.betaincinv(a, b, p)
    some = (x > 1e-30) & (x < 1 - 1e-9)
    expected = slope(lambda a: special.betaincinv(a, b, p), a) / (1 - x)
    got = _dirichlet_grad(x, np.full(len(p), a), np.full(len(p), a + b))
    np.testing.assert_allclose(got[some], expected[some], rtol=4e-5, atol=1e-12)


def test_gradients_of_extreme_samples_are_finite():
    tiny = np.finfo(np.float64).tiny
    a = np.array([1e-3, 1e-3, 1.0, 1e8, 1e8, 5.0])
    x = np.array([tiny, 1e-3, 700.0, 1e8, 1.001e8, 1e-9])
    assert np.isfinite(_standard_gamma_grad(a, x)).all()
    assert _standard_gamma_grad(a, x)[3] == pytest.approx(1, abs=1e-4)  # the median moves with the mean
    single = _standard_gamma_grad(a.astype(np.float32), np.maximum(x.astype(np.float32), np.finfo(np.float32).tiny))
    assert single.dtype == np.float32 and np.isfinite(single).all()
    assert _standard_gamma_grad(np.ones((0, 2)), np.ones((0, 2))).shape == (0, 2)


@pytest.mark.torch
def test_gamma_gradients_are_near_those_of_pytorch():
    """Which are good for three digits, where they are right; see the differences page for where not."""
    judge = pytest.importorskip("torch")
    rng = np.random.default_rng(0)
    a, u = 10 ** rng.uniform(-1, 3, 500), rng.uniform(0.001, 0.999, 500)
    x = special.gammaincinv(a, u)
    theirs = judge._standard_gamma_grad(judge.tensor(a), judge.tensor(x)).numpy()
    np.testing.assert_allclose(_standard_gamma_grad(a, x), theirs, rtol=1e-3)
    b = 10 ** rng.uniform(-0.3, 2, 500)
    a = np.maximum(a, 0.5)
    x = np.clip(special.betaincinv(a, b, u), 1e-6, 1 - 1e-6)
    theirs = judge._dirichlet_grad(*map(judge.tensor, (x, a, a + b))).numpy()
    np.testing.assert_allclose(_dirichlet_grad(x, a, a + b), theirs, rtol=4e-3)


def test_gradients_of_gammas_have_no_derivative():
    a = torch.tensor([2.0], requires_grad=True)
    x = torch._standard_gamma(a)
    (g,) = torch.autograd.grad(x.sum(), a, create_graph=True)
    with pytest.raises(NotImplementedError, match="derivative for 'input' of '_standard_gamma_grad'"):
        g.sum().backward()


SMOOTH = (
    "Normal Laplace Cauchy Gumbel LogNormal GeneralizedPareto Uniform Exponential HalfNormal HalfCauchy Pareto Weibull "
    "Kumaraswamy ContinuousBernoulli LogisticNormal RelaxedBernoulli RelaxedOneHotCategorical MultivariateNormal "
    "LowRankMultivariateNormal"
).split()


@pytest.mark.parametrize("name", SMOOTH)
def test_samples_move_with_their_parameters(name):
    """For the same noise, another parameter gives another sample: the gradient is the derivative."""
    for arguments in CASES[name]:
        given = tensors(torch, arguments, requires_grad=True)
        if "precision_matrix" in given or "covariance_matrix" in given:  # symmetric, so that elements do not vary alone
            continue

        def drawn(given):
            torch.manual_seed(4)
            return getattr(torch.distributions, name)(**given, validate_args=False).rsample((2,))

        x = drawn(given)
        weights = torch.linspace(0.5, 1.5, x.numel(), dtype=torch.float64).reshape(x.shape)
        (x * weights).sum().backward()
        for key, value in given.items():
            if name == "ContinuousBernoulli" and ((value - 0.5).abs() < 2e-3).any():
                continue
            moved = {k: v.detach() for k, v in given.items()}
            expected = np.zeros(value.shape)
            for at in np.ndindex(tuple(value.shape)):
                total = []
                for step in (1e-6, -1e-6):
                    shifted = value.detach().clone()
                    shifted[at] += step
                    total.append((drawn({**moved, key: shifted}) * weights).sum().item())
                expected[at] = (total[0] - total[1]) / 2e-6
            got = value.grad.numpy()
            if key == "scale_tril":
                expected, got = np.tril(expected), np.tril(got)
            if name == "GeneralizedPareto" and key == "concentration":  # at 0 the limit is taken, without it
                some = np.asarray(arguments[key]) != 0.0
                expected, got = expected[some], got[some]
            np.testing.assert_allclose(got, expected, rtol=1e-5, atol=1e-6)


IMPLICIT = {
    "Gamma": lambda a, rate: (a / rate, a / rate**2),
    "Chi2": lambda df: (df, 2 * df),
    "Beta": lambda a, b: (a / (a + b), a * b / ((a + b) ** 2 * (a + b + 1))),
    "InverseGamma": lambda a, rate: (rate / (a - 1), rate**2 / ((a - 1) ** 2 * (a - 2))),
    "StudentT": lambda df, loc, scale: (loc, scale**2 * df / (df - 2)),
    "FisherSnedecor": lambda a, b: (b / (b - 2), None),
}


@pytest.mark.parametrize("name", IMPLICIT)
def test_gradients_of_samples_average_to_the_gradient_of_the_mean(name):
    """And those of squared deviations to that of the variance; within five standard errors."""
    arguments = {"StudentT": {"df": 9.0, "loc": 1.0, "scale": 2.0}, "Chi2": {"df": 3.0}}.get(name, CASES[name][0])
    parameters = tensors(torch, arguments, requires_grad=True)
    moments = IMPLICIT[name](*parameters.values())
    n = 3000
    torch.manual_seed(0)
    many = {k: v.detach().expand(n).clone().requires_grad_() for k, v in parameters.items()}
    x = getattr(torch.distributions, name)(**many).rsample()
    for moment, values in zip(moments, (x, (x - x.detach().mean()) ** 2)):
        if moment is None:
            continue
        exact = torch.autograd.grad(moment, list(parameters.values()), retain_graph=True, allow_unused=True)
        single = torch.autograd.grad(values.sum(), list(many.values()), retain_graph=True)
        for e, g in zip(exact, single):
            error = (g.mean() - (0.0 if e is None else e)).abs()
            assert error < 5 * g.std() / math.sqrt(n) + 1e-12


def test_dirichlet_gradients_keep_the_sum():
    """Moving along a concentration changes components, not their sum; the average gradient is that of the mean."""
    torch.manual_seed(0)
    a = torch.tensor([0.7, 1.5, 3.0], dtype=torch.float64)
    many = a.expand(3000, 3).clone().requires_grad_()
    x = torch.distributions.Dirichlet(many).rsample()
    (g,) = torch.autograd.grad(x.sum(), many, retain_graph=True)
    assert g.abs().max() < 1e-12
    for k in range(3):
        (g,) = torch.autograd.grad(x[:, k].sum(), many, retain_graph=True)
        leaf = a.clone().requires_grad_()
        (exact,) = torch.autograd.grad((leaf / leaf.sum())[k], leaf)
        assert ((g.mean(0) - exact).abs() < 5 * g.std(0) / math.sqrt(3000)).all()


def test_wishart_samples_move_with_the_degrees_of_freedom():
    torch.manual_seed(0)
    df = torch.full((800,), 5.0, dtype=torch.float64, requires_grad=True)
    x = torch.distributions.Wishart(df, torch.eye(2, dtype=torch.float64)).rsample()
    (g,) = torch.autograd.grad(x.diagonal(dim1=-2, dim2=-1).sum(), df)
    assert abs(g.mean().item() - 2) < 5 * g.std().item() / math.sqrt(800)  # the mean of the trace is 2 df


def test_straight_through_samples_pass_gradients_to_probs():
    logits = torch.tensor([0.3, -0.2, 1.0], dtype=torch.float64, requires_grad=True)
    d = torch.distributions.OneHotCategoricalStraightThrough(logits=logits)
    x = d.rsample()
    assert sorted(x.detach().round().tolist()) == [0, 0, 1]
    weights = torch.tensor([1.0, 2.0, 4.0], dtype=torch.float64)
    (got,) = torch.autograd.grad((x * weights).sum(), logits)
    (expected,) = torch.autograd.grad((torch.softmax(logits, 0) * weights).sum(), logits)
    np.testing.assert_allclose(got.numpy(), expected.numpy(), rtol=1e-12)


DENSE = [name for name in CASES if name not in ("LKJCholesky", "Wishart", "Multinomial")]


@pytest.mark.parametrize("name", DENSE)
def test_gradients_of_log_probabilities(name):
    """With respect to the parameters, by gradcheck."""
    for arguments in CASES[name][:2]:
        torch.manual_seed(0)
        value = make(torch, name, arguments).sample()
        given = tensors(torch, arguments, requires_grad=True)
        free = [
            k for k, v in given.items() if hasattr(v, "requires_grad") and v.requires_grad and not k.endswith("matrix")
        ]

        def log_prob(*values, given=given, free=free, value=value):
            return getattr(torch.distributions, name)(
                **{**given, **dict(zip(free, values))}, validate_args=False
            ).log_prob(value)

        if name == "GeneralizedPareto":
            free = [k for k in free if k != "concentration"] if 0.0 in np.ravel(arguments["concentration"]) else free
        if "scale_tril" in free:
            continue  # has zeros that stay
        assert torch.autograd.gradcheck(log_prob, [given[k] for k in free], eps=1e-6, atol=1e-4)


def test_no_gradient_through_sample():
    for name in ("Normal", "Gamma", "LogNormal", "MultivariateNormal", "Bernoulli", "Categorical"):
        given = tensors(torch, CASES[name][0] if name != "Bernoulli" else CASES[name][1], requires_grad=True)
        assert not getattr(torch.distributions, name)(**given).sample((2,)).requires_grad
