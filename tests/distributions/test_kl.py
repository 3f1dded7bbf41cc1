"""Divergences: every registered pair against an integral, a sum or the mean of many samples."""

import itertools
import math
import warnings

import numpy as np
import pytest

import pullback as torch
from pullback.distributions import kl, kl_divergence, register_kl

from .table import CASES, make, wrapped
from .test_mathematics import bounds, each, expectation

D = torch.distributions
NUMBERS = "Beta ContinuousBernoulli Exponential Gamma Gumbel Laplace Normal Pareto Uniform Cauchy HalfNormal".split()
PARAMETERS = {
    "Uniform": [{"low": 0.2, "high": 0.7}, {"low": 0.0, "high": 1.0}, {"low": -1.0, "high": 3.0}],
    "Pareto": [{"scale": 1.5, "alpha": 3.0}, {"scale": 0.1, "alpha": 1.5}],
}


def registered(p, q):
    return any(
        issubclass(getattr(D, p), a) and issubclass(getattr(D, q), b)
        for a, b in kl._REGISTRY
        if a is not D.ExponentialFamily and a is not D.TransformedDistribution
    )


@pytest.mark.parametrize("p, q", [pair for pair in itertools.product(NUMBERS, NUMBERS) if registered(*pair)])
def test_divergences_of_numbers_are_integrals(p, q):
    for a, b in itertools.product(PARAMETERS.get(p, CASES[p][:1]), PARAMETERS.get(q, CASES[q][:1])):
        first, second = make(torch, p, a), make(torch, q, b)
        got = kl_divergence(first, second).item()
        (low, high), (other_low, other_high) = bounds(first), bounds(second)
        heavy = p == "Pareto" and q in ("Normal", "Exponential", "Gamma") and a["alpha"] <= (2 if q == "Normal" else 1)
        if low < other_low or high > other_high or heavy:
            assert got == math.inf
            continue

        def log_ratio(x, first=first, second=second):
            x = torch.tensor(x)
            with np.errstate(all="ignore"):
                return np.nan_to_num((first.log_prob(x) - second.log_prob(x)).numpy(), posinf=0, neginf=0)

        assert got == pytest.approx(expectation(first, log_ratio), rel=1e-5, abs=1e-6)


@pytest.mark.parametrize(
    "p, q",
    [
        ("Bernoulli", "Bernoulli"),
        ("Bernoulli", "Poisson"),
        ("Geometric", "Geometric"),
        ("Poisson", "Poisson"),
        ("Binomial", "Binomial"),
    ],
)
def test_divergences_of_counts_are_sums(p, q):
    for first, second in zip(each(p, CASES[p][1]), each(q, list(CASES[q])[-2 if q != "Poisson" else 1])):
        k = torch.arange({"Bernoulli": 2.0, "Binomial": 6.0}.get(p, 600.0), dtype=torch.float64)
        log_p = first.log_prob(k)
        expected = (log_p.exp() * (log_p - second.log_prob(k)))[log_p.exp() > 0].sum()
        assert kl_divergence(first, second).item() == pytest.approx(expected.item(), rel=1e-9)


def test_divergences_of_categories_and_of_what_is_impossible():
    p, q = D.Categorical(torch.tensor([0.2, 0.8, 0.0])), D.Categorical(torch.tensor([[0.5, 0.5, 0.0], [1.0, 0.0, 0.0]]))
    expected = [0.2 * math.log(0.4) + 0.8 * math.log(1.6), math.inf]
    assert kl_divergence(p, q).tolist() == pytest.approx(expected, rel=1e-5)
    one_hot = kl_divergence(D.OneHotCategorical(p.probs), D.OneHotCategorical(q.probs))
    assert one_hot.tolist() == pytest.approx(expected, rel=1e-5)
    sure = kl_divergence(
        D.Bernoulli(torch.tensor([0.0, 1.0, 0.5, 1.0])), D.Bernoulli(torch.tensor([0.5, 0.5, 0.0, 1.0]))
    )
    assert sure.tolist() == pytest.approx([math.log(2), math.log(2), math.inf, 0.0], abs=1e-6)
    assert kl_divergence(D.Binomial(4, 0.5), D.Binomial(3, 0.5)) == math.inf
    with pytest.raises(
        NotImplementedError, match="KL between Binomials where q.total_count > p.total_count is not implemented"
    ):
        kl_divergence(D.Binomial(3, 0.5), D.Binomial(4, 0.5))
    assert kl_divergence(D.Poisson(1.0), D.Bernoulli(0.5)) == math.inf


def vectors():
    two = [make(torch, "MultivariateNormal", CASES["MultivariateNormal"][i]) for i in (2, 3)]
    low = make(torch, "LowRankMultivariateNormal", CASES["LowRankMultivariateNormal"][1])
    dirichlet = [
        D.Dirichlet(torch.tensor(a, dtype=torch.float64)) for a in ([1.0, 2.0, 0.5], [[0.5, 1.6, 1.0], [3.0, 4.0, 2.0]])
    ]
    wishart = [make(torch, "Wishart", CASES["Wishart"][i]) for i in (1, 2)]
    independent = [
        wrapped(torch)["Independent"](),
        D.Independent(D.Normal(torch.zeros(3, dtype=torch.float64), 2.0), 1),
    ]
    return [
        *itertools.product([*two, low], repeat=2),
        tuple(dirichlet),
        tuple(wishart),
        tuple(wishart[::-1]),
        tuple(independent),
    ]


@pytest.mark.parametrize("p, q", vectors(), ids=lambda d: type(d).__name__)
def test_divergences_of_vectors_are_means_over_samples(p, q):
    torch.manual_seed(0)
    n = 3000
    x = p.sample((n,))
    for _ in range(len(q.batch_shape) - len(p.batch_shape)):
        x = x.unsqueeze(1)
    ratio = (p.log_prob(x) if len(p.batch_shape) >= len(q.batch_shape) else p.log_prob(x)) - q.log_prob(x)
    error = (ratio.mean(0) - kl_divergence(p, q)).abs()
    assert (error < 5 * ratio.std(0) / math.sqrt(n) + 1e-9).all()


@pytest.mark.parametrize(
    "name",
    "Normal HalfNormal Laplace Cauchy LogNormal MultivariateNormal Bernoulli Categorical Gamma Beta Wishart".split(),
)
def test_no_divergence_from_itself(name):
    for arguments in CASES[name]:
        given = kl_divergence(make(torch, name, arguments), make(torch, name, arguments)).detach().numpy()
        np.testing.assert_allclose(given, 0, atol=1e-9)


def test_gradients_go_to_both():
    m, s = (torch.tensor([0.5, 1.5], dtype=torch.float64, requires_grad=True) for _ in range(2))
    pairs = [
        (D.Normal(m, s), D.Gumbel(s, m)),
        (D.Gamma(m, s), D.Normal(s, m)),
        (D.Beta(m, s), D.Beta(s, m)),
        (D.Dirichlet(m), D.Dirichlet(s)),
    ]
    for p, q in pairs:
        for g in torch.autograd.grad(kl_divergence(p, q).sum(), (m, s), retain_graph=True):
            assert g.isfinite().all() and g.abs().max() > 0
    df = torch.tensor(3.0, dtype=torch.float64, requires_grad=True)
    eye = torch.eye(2, dtype=torch.float64)
    (g,) = torch.autograd.grad(kl_divergence(D.Wishart(df, eye), D.Wishart(df, eye)), df)
    assert abs(g) < 1e-9  # a minimum
    alpha = torch.tensor([0.5, 3.0], dtype=torch.float64, requires_grad=True)
    got = kl_divergence(D.Pareto(1.0, alpha), D.Exponential(torch.ones(2, dtype=torch.float64)))
    (g,) = torch.autograd.grad(got.sum(), alpha)
    assert got[0] == math.inf and g[0] == 0 and g[1] != 0


def test_the_nearest_formula_counts():
    class Sub(D.Normal):
        pass

    class Other(Sub):
        pass

    before = dict(kl._REGISTRY)
    try:
        assert kl_divergence(Sub(0.0, 1.0), D.Normal(0.0, 1.0)) == 0  # the parents'
        register_kl(Sub, D.Normal)(lambda p, q: torch.tensor(1.0))
        assert kl_divergence(Other(0.0, 1.0), D.Normal(0.0, 1.0)) == 1
        register_kl(D.Normal, Sub)(lambda p, q: torch.tensor(2.0))
        with pytest.warns(
            RuntimeWarning, match=r"Ambiguous kl_divergence\(Other, Other\). Please register_kl\(Sub, Sub\)"
        ):
            kl_divergence(Other(0.0, 1.0), Other(0.0, 1.0))
        register_kl(Sub, Sub)(lambda p, q: torch.tensor(3.0))
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            assert kl_divergence(Other(0.0, 1.0), Other(0.0, 1.0)) == 3
    finally:
        kl._REGISTRY.clear()
        kl._REGISTRY.update(before)
        kl._FOUND.clear()
    with pytest.raises(TypeError, match="Expected type_p to be a Distribution subclass but got"):
        register_kl(3, D.Normal)


def test_refusals():
    with pytest.raises(NotImplementedError, match="No KL"):
        kl_divergence(D.Normal(0.0, 1.0), D.Geometric(0.5))
    with pytest.raises(NotImplementedError, match="cross KL-divergence between different exponential families"):
        kl_divergence(D.Normal(0.0, 1.0), D.Poisson(0.5))
    with pytest.raises(ValueError, match="different event shapes"):
        kl_divergence(
            D.MultivariateNormal(torch.zeros(2), torch.eye(2)), D.MultivariateNormal(torch.zeros(3), torch.eye(3))
        )
    with pytest.raises(NotImplementedError):
        kl_divergence(D.Weibull(1.0, 1.0), D.Weibull(1.0, 2.0))
    with pytest.raises(NotImplementedError):
        kl_divergence(
            D.Independent(D.Normal(torch.zeros(2, 2), 1.0), 1), D.Independent(D.Normal(torch.zeros(2, 2), 1.0), 2)
        )


@pytest.mark.torch
def test_the_same_pairs_as_pytorch():
    pytest.importorskip("torch")
    from torch.distributions.kl import _KL_REGISTRY

    def names(registry):
        return {(p.__name__, q.__name__) for p, q in registry}

    assert names(kl._REGISTRY) == names(_KL_REGISTRY)
