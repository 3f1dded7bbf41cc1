"""What holds for any distribution: densities integrate to 1, moments and entropies are integrals, samples follow the
cdf.
"""

import math

import numpy as np
import pytest
from scipy import integrate, stats

import pullback as torch

from .table import CASES, make, tensors

REAL = (
    "Normal Laplace Cauchy Gumbel LogNormal StudentT GeneralizedPareto Uniform VonMises Exponential Gamma Chi2 Beta "
    "FisherSnedecor InverseGamma HalfNormal HalfCauchy Pareto Weibull Kumaraswamy ContinuousBernoulli"
).split()
COUNTS = "Bernoulli Geometric Binomial NegativeBinomial Poisson".split()
FINITE = "Bernoulli Binomial Categorical OneHotCategorical".split()
TAILS = {"Cauchy", "HalfCauchy"}  # no mean, no variance


def cases(names):
    return [
        pytest.param(name, arguments, id=f"{name}-{i}") for name in names for i, arguments in enumerate(CASES[name])
    ]


def each(name, arguments):
    """The distributions of a batch, one by one."""
    given = {k: v if isinstance(v, int) else np.asarray(v) for k, v in arguments.items()}
    shape = np.broadcast_shapes(*(np.shape(v) for v in given.values()))
    for at in np.ndindex(shape):
        yield make(
            torch,
            name,
            {k: v if isinstance(v, int) else float(np.broadcast_to(v, shape)[at]) for k, v in given.items()},
        )


def bounds(d):
    if type(d).__name__ == "VonMises":
        return -math.pi, math.pi
    return float(getattr(d.support, "lower_bound", -math.inf)), float(getattr(d.support, "upper_bound", math.inf))


def density(d, x):
    return d.log_prob(torch.tensor(x, dtype=torch.float64)).exp().numpy()


def piece(low, high):
    """Points between two bounds and their weights, by the double exponential rule: poles at the ends do not disturb
    it.
    """
    t = np.linspace(-4.2, 4.2, 1200)
    step, u = t[1] - t[0], np.pi / 2 * np.sinh(t)
    slope = np.pi / 2 * np.cosh(t) * step
    if math.isinf(low):
        x, w = piece(-high, math.inf)
        return -x, w
    if math.isinf(high):
        return low + np.exp(u), np.exp(u) * slope
    half = (high - low) / 2
    return np.clip(
        low + half * 2 / (1 + np.exp(-2 * u)), np.nextafter(low, high), np.nextafter(high, low)
    ), half / np.cosh(u) ** 2 * slope


def expectation(d, f):
    """The integral of ``f(x) * density(x)``, in two pieces, on both sides of a point where the density may have a
    kink.
    """
    low, high = bounds(d)
    middle = (
        {"Normal": d.loc, "Laplace": d.loc, "Cauchy": d.loc, "StudentT": d.loc, "Gumbel": d.loc}[
            type(d).__name__
        ].item()
        if math.isinf(low)
        else low + 1
        if math.isinf(high)
        else (low + high) / 2
    )
    total = 0.0
    for x, w in (piece(low, middle), piece(middle, high)):
        p = density(d, x)
        some = (p > 0) & (w > 0) & np.isfinite(p)
        total += float((f(x[some]) * p[some] * w[some]).sum())
    return total


@pytest.mark.parametrize("name, arguments", cases(REAL))
def test_density_mean_variance_and_entropy_are_integrals(name, arguments):
    for d in each(name, arguments):
        assert expectation(d, np.ones_like) == pytest.approx(1, abs=1e-6)
        if name not in TAILS and name != "VonMises":  # whose variance is a circular one
            mean = expectation(d, lambda x: x)
            assert d.mean.item() == pytest.approx(mean, rel=1e-5, abs=1e-5)
            assert d.variance.item() == pytest.approx(expectation(d, lambda x, mean=mean: (x - mean) ** 2), rel=2e-4)
            assert d.stddev.item() == pytest.approx(math.sqrt(d.variance.item()), rel=1e-12)
        try:
            entropy = d.entropy().item()
        except NotImplementedError:
            assert name in ("FisherSnedecor", "VonMises")
            continue
        assert entropy == pytest.approx(expectation(d, lambda x, d=d: -np.log(density(d, x))), rel=1e-5, abs=1e-5)


def test_circular_variance():
    for d in each("VonMises", CASES["VonMises"][1]):
        length = expectation(d, lambda x, d=d: np.cos(x - d.loc.item()))
        assert d.variance.item() == pytest.approx(1 - length, abs=1e-9)


@pytest.mark.parametrize("name, arguments", cases(REAL))
def test_cdf_is_the_integral_of_the_density_and_icdf_its_inverse(name, arguments):
    for d in each(name, arguments):
        torch.manual_seed(3)
        x = d.sample((20,)).requires_grad_()
        try:
            p = d.cdf(x)
        except NotImplementedError:
            assert name in ("StudentT", "FisherSnedecor", "VonMises", "Beta")
            return
        (slope,) = torch.autograd.grad(p.sum(), x)
        # counts as uniform there
        tolerance = 2e-3 if name == "ContinuousBernoulli" and abs(d.probs - 0.5) < 1e-3 else 1e-6
        np.testing.assert_allclose(slope.numpy(), d.log_prob(x).exp().detach().numpy(), rtol=tolerance, atol=1e-9)
        try:
            np.testing.assert_allclose(d.icdf(p.detach()).numpy(), x.detach().numpy(), rtol=1e-6, atol=1e-6)
        except NotImplementedError:
            assert name in ("Gamma", "Chi2", "InverseGamma")


@pytest.mark.parametrize("name, arguments", cases(REAL))
def test_the_mode_is_where_the_density_is_largest(name, arguments):
    for d in each(name, arguments):
        try:
            mode = d.mode.item()
        except NotImplementedError:
            assert name == "ContinuousBernoulli"
            return
        low, high = bounds(d)
        if name == "Uniform" or not math.isfinite(mode):
            continue
        for step in (1e-3, -1e-3, 0.1, -0.1):
            x = mode * (1 + step) if mode else abs(step)
            if low < x < high and low < mode < high:
                assert density(d, x) <= density(d, mode) * (1 + 1e-12)


@pytest.mark.parametrize("name, arguments", cases(REAL))
def test_samples_follow_the_density(name, arguments):
    for i, d in enumerate(each(name, arguments)):
        torch.manual_seed(i)
        draws = np.sort(d.sample((300,)).numpy())
        try:
            cdf = d.cdf(torch.tensor(draws)).numpy()
        except NotImplementedError:
            low, high = bounds(d)
            ends = [low, *draws] if math.isfinite(low) else [draws[0] - 1e4, *draws]
            x, w = (np.array(v) for v in zip(*(np.polynomial.legendre.leggauss(40) for _ in ends[1:])))
            half = np.diff(ends)[:, None] / 2
            x = np.array(ends[:-1])[:, None] + half * (1 + x)
            cdf = (density(d, x) * w * half).sum(-1).cumsum()
            if not math.isfinite(low):  # from the other end, where there is no gap
                cdf = cdf - cdf[0] + 1 - (lambda p: float((density(d, p[0]) * p[1]).sum()))(piece(draws[0], high))
        assert stats.kstest(cdf, "uniform").pvalue > 1e-3


@pytest.mark.parametrize("name, arguments", cases(COUNTS))
def test_probabilities_of_counts_sum_to_one(name, arguments):
    for i, d in enumerate(each(name, arguments)):
        largest = int(d.total_count) if name == "Binomial" else 1 if name == "Bernoulli" else 400
        k = torch.arange(largest + 1.0, dtype=torch.float64)
        p = d.log_prob(k).exp()
        assert p.sum().item() == pytest.approx(1, abs=1e-9)
        mean = (p * k).sum()
        assert d.mean.item() == pytest.approx(mean.item(), rel=1e-9)
        assert d.variance.item() == pytest.approx((p * (k - mean) ** 2).sum().item(), rel=1e-9)
        try:
            assert d.entropy().item() == pytest.approx(torch.special.entr(p).sum().item(), rel=1e-9)
        except NotImplementedError:
            assert name in ("NegativeBinomial", "Poisson")
        if not math.isnan(d.mode.item()):
            assert p[int(d.mode)].item() == pytest.approx(p.max().item())
        torch.manual_seed(i)
        draws = d.sample((4000,)).numpy().astype(int)
        observed, expected = np.bincount(draws, minlength=len(p))[: len(p)], p.numpy() * len(draws)
        usual = expected > 10
        chi2 = ((observed - expected) ** 2 / np.where(usual, expected, 1))[usual].sum()
        assert stats.chi2.sf(chi2, max(usual.sum() - 1, 1)) > 1e-4


@pytest.mark.parametrize("name, arguments", cases(FINITE))
def test_enumerated_support_has_probability_one(name, arguments):
    d = make(torch, name, arguments)
    if name == "Binomial" and not (d.total_count == d.total_count.max()).all():
        return
    values = d.enumerate_support()
    assert values.shape[1:] == d.batch_shape + d.event_shape
    np.testing.assert_allclose(d.log_prob(values).exp().sum(0).numpy(), 1, rtol=1e-12)
    small = d.enumerate_support(expand=False)
    assert small.shape[1:] == (1,) * len(d.batch_shape) + tuple(d.event_shape)
    assert (small.expand(values.shape) == values).all()


def test_multinomial_probabilities_sum_to_one_and_give_the_entropy():
    d = torch.distributions.Multinomial(4, torch.tensor([0.2, 0.3, 0.5], dtype=torch.float64))
    counts = torch.tensor([[i, j, 4 - i - j] for i in range(5) for j in range(5 - i)], dtype=torch.float64)
    p = d.log_prob(counts).exp()
    assert p.sum().item() == pytest.approx(1)
    assert d.entropy().item() == pytest.approx(torch.special.entr(p).sum().item())
    np.testing.assert_allclose((p[:, None] * counts).sum(0).numpy(), d.mean.numpy())
    assert (d.sample((50,)).sum(-1) == 4).all()
    assert d.expand((2,)).entropy().tolist() == pytest.approx([d.entropy().item()] * 2)


VECTORS = "Dirichlet MultivariateNormal LowRankMultivariateNormal Wishart"


@pytest.mark.parametrize("name, arguments", cases(VECTORS.split()))
def test_moments_and_entropy_of_vectors_and_matrices(name, arguments):
    """Against the means of many samples, within five of their standard errors."""
    d = make(torch, name, arguments)
    torch.manual_seed(0)
    n = 4000
    x = d.sample((n,))
    for mean, values in ((d.mean, x), (d.variance, (x - d.mean) ** 2), (d.entropy(), -d.log_prob(x))):
        error = (values.mean(0) - mean).abs() / (values.std(0) / math.sqrt(n) + 1e-12)
        assert error.max() < 5


def test_densities_of_triangles_integrate_to_one():
    """Two components that sum to 1 are one number; a 2 by 2 correlation matrix is one, too."""
    D = torch.distributions
    for d in (
        D.Dirichlet(torch.tensor([1.5, 2.5], dtype=torch.float64)),
        D.LogisticNormal(*torch.tensor([[0.3], [0.8]], dtype=torch.float64)),
    ):
        f = lambda u, d=d: d.log_prob(torch.tensor([u, 1 - u], dtype=torch.float64)).exp().item()  # noqa: E731
        assert integrate.quad(f, 0, 1)[0] == pytest.approx(1, abs=1e-6)
    # LKJ's density is one of the elements below the diagonal
    d = D.LKJCholesky(2, torch.tensor(1.7, dtype=torch.float64))
    f = lambda r: d.log_prob(torch.tensor([[1, 0], [r, math.sqrt(1 - r * r)]], dtype=torch.float64)).exp().item()  # noqa: E731
    assert integrate.quad(f, -1, 1)[0] == pytest.approx(1, abs=1e-6)


def test_correlations_are_distributed_as_lewandowski_and_others_say():
    """Any one is 2 b - 1, with b of the distribution Beta(a, a), a = concentration - 1 + dim / 2."""
    torch.manual_seed(0)
    for dim, concentration in ((2, 1.0), (3, 0.5), (4, 2.0)):
        w = torch.distributions.LKJCholesky(dim, torch.tensor(concentration, dtype=torch.float64)).sample((1500,))
        correlation = w @ w.mT
        assert torch.distributions.constraints.corr_cholesky.check(w).all()
        a = concentration - 1 + dim / 2
        for i in range(1, dim):
            assert (
                stats.kstest(correlation[:, i, 0].numpy(), lambda r, a=a: stats.beta.cdf((r + 1) / 2, a, a)).pvalue
                > 1e-3
            )


@pytest.mark.parametrize("arguments", CASES["MultivariateNormal"])
def test_three_ways_to_say_a_covariance(arguments):
    d = make(torch, "MultivariateNormal", arguments)
    identity = torch.eye(d.event_shape[0], dtype=torch.float64).expand(d.covariance_matrix.shape).numpy()
    np.testing.assert_allclose((d.covariance_matrix @ d.precision_matrix).numpy(), identity, atol=1e-12)
    np.testing.assert_allclose((d.scale_tril @ d.scale_tril.mT).numpy(), d.covariance_matrix.numpy(), atol=1e-12)
    x = torch.ones(5, *d.loc.shape, dtype=torch.float64)
    for name in ("covariance_matrix", "precision_matrix", "scale_tril"):
        again = torch.distributions.MultivariateNormal(d.loc, **{name: getattr(d, name)})
        np.testing.assert_allclose(again.log_prob(x).numpy(), d.log_prob(x).numpy(), rtol=1e-10)


@pytest.mark.parametrize("arguments", CASES["LowRankMultivariateNormal"])
def test_low_rank_is_the_same_as_in_full(arguments):
    d = make(torch, "LowRankMultivariateNormal", arguments)
    full = torch.distributions.MultivariateNormal(d.loc, d.covariance_matrix)
    x = d.sample((4,))
    for what in ("mean", "mode", "variance", "precision_matrix", "scale_tril"):
        np.testing.assert_allclose(getattr(d, what).numpy(), getattr(full, what).numpy(), rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(d.log_prob(x).numpy(), full.log_prob(x).numpy(), rtol=1e-10)
    np.testing.assert_allclose(d.entropy().numpy(), full.entropy().numpy(), rtol=1e-10)


def test_exponential_families_know_their_entropy():
    """By the gradient of the log normalizer, where the class states the entropy itself."""
    for name in ("Normal", "Exponential", "Gamma", "Bernoulli", "ContinuousBernoulli", "Wishart"):
        d = make(torch, name, CASES[name][1] if name != "Wishart" else CASES[name][0])
        entropy = torch.distributions.ExponentialFamily.entropy(d)
        assert entropy.shape == d.batch_shape
        tolerance = 1e-4 if name == "ContinuousBernoulli" else 1e-9
        np.testing.assert_allclose(entropy.detach().numpy(), d.entropy().numpy(), rtol=tolerance, atol=tolerance)
    rate = torch.tensor(2.0, dtype=torch.float64, requires_grad=True)
    torch.distributions.ExponentialFamily.entropy(torch.distributions.Exponential(rate)).backward()
    assert rate.grad.item() == pytest.approx(-0.5)


def test_relaxed_samples_are_distributed_as_maddison_and_others_say():
    """A relaxed coin is above 1/2 as often as the coin is 1; cold choices are corners, as often as the categories are
    chosen.
    """
    torch.manual_seed(0)
    t = tensors(torch, {"temperature": 0.1, "probs": [0.2, 0.3, 0.5]})
    coins = torch.distributions.RelaxedBernoulli(**t).sample((4000,))
    assert ((coins > 0.5).double().mean(0) - t["probs"]).abs().max() < 0.03
    choices = torch.distributions.RelaxedOneHotCategorical(**t).sample((4000,))
    chosen = choices.argmax(-1)
    for k, p in enumerate(t["probs"].tolist()):
        assert abs((chosen == k).double().mean().item() - p) < 0.03
    d = torch.distributions.RelaxedBernoulli(
        torch.tensor(0.5, dtype=torch.float64), torch.tensor(0.3, dtype=torch.float64)
    )
    assert expectation(d, np.ones_like) == pytest.approx(1, abs=1e-6)
