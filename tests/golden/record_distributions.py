"""Programs about distributions, and the recorder of what PyTorch 2.13 says to them.

Run it where PyTorch is installed to write ``distributions.json`` beside it; see :mod:`programs`.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

sys.path[:0] = [str(Path(__file__).resolve().parent), str(Path(__file__).resolve().parents[2])]
from tests.distributions.table import CASES, make, wrapped  # noqa: E402

from programs import Programs, attempt  # noqa: E402

programs = Programs("distributions.json")

# Where PyTorch is wrong: see docs/differences.md. (VonMises: its Bessel functions are good for 7 digits.)
ELSE = {
    ("Kumaraswamy", "mode"),
    ("VonMises", "variance"),
    ("VonMises", "stddev"),
    ("VonMises", "log_prob"),
    ("GeneralizedPareto", "log_prob"),
    ("GeneralizedPareto", "cdf"),
    ("Multinomial", "entropy"),
}


def told(value: Any) -> Any:
    return value.detach().double().flatten().tolist()


def asked(d: Any, what: str, *args: Any) -> Any:
    """An attribute, or what a method says; the kind of error if there is none."""
    try:
        value = getattr(d, what)
        return told(value(*args) if callable(value) else value)
    except (NotImplementedError, AttributeError) as error:
        return type(error).__name__


def interview(torch: Any, name: str, build: Any) -> Iterator[Any]:
    """What a distribution is, draws, and makes of its draws."""
    d = build("float64")
    yield [
        repr(d),
        list(d.batch_shape),
        list(d.event_shape),
        repr(d.support),
        bool(d.has_rsample),
        bool(d.has_enumerate_support),
    ]
    for what in ("mean", "mode", "variance", "stddev", "entropy"):
        if (name, what) not in ELSE:
            yield [what, asked(d, what)]
    yield asked(d, "enumerate_support")
    torch.manual_seed(1)
    x = d.sample((3,))
    if name == "LKJCholesky" and d.dim > 2:  # not distributed so
        x = (
            torch.eye(d.dim, dtype=torch.float64) * 0.8
            + torch.eye(d.dim, dtype=torch.float64).roll(1, -2).tril(-1) * 0.6
        )
        x = (x + torch.diag_embed(torch.eye(d.dim, dtype=torch.float64)[0] * 0.2)).expand(3, *d.batch_shape, -1, -1)
    yield told(x)
    for what in ("log_prob", "cdf"):
        if (name, what) not in ELSE:
            yield [what, asked(d, what, x)]
    if x.is_floating_point() and name != "Wishart":
        yield asked(d, "icdf", torch.linspace(0.05, 0.95, x.numel(), dtype=x.dtype).reshape(x.shape))
    if name == "LKJCholesky" and d.dim > 2:
        return
    e = d.expand(torch.Size((2,)) + d.batch_shape)
    yield [repr(e), told(e.sample())]
    yield told(torch.rand(2))  # the stream stands at the same place
    torch.manual_seed(2)
    single = told(build("float32").sample((20,)))
    yield [float(f"{v:.4g}") for v in single[:: max(1, len(single) // 12)]]


for _name in CASES:

    def _program(torch: Any, name: str = _name) -> Iterator[Any]:
        for arguments in CASES[name]:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # PyTorch takes Wishart's samples for singular
                answers = list(
                    interview(torch, name, lambda dtype, arguments=arguments: make(torch, name, arguments, dtype))
                )
            yield from answers

    _program.__name__ = _name
    programs(_program)


@programs
def made_of_others(torch):
    for name in wrapped(torch):
        yield from interview(torch, name, lambda dtype, name=name: wrapped(torch, dtype)[name]())


@programs
def refusals(torch):
    D, t = torch.distributions, torch.tensor
    yield attempt(D.Normal, 0.0, -1.0)
    yield attempt(D.Normal, torch.zeros(2), t([1.0, -1.0]))
    yield attempt(D.Normal, "a", 1.0)
    yield attempt(D.Normal(0.0, 1.0).log_prob, 1.0)
    yield attempt(D.Normal(torch.zeros(3), 1.0).log_prob, torch.zeros(2))
    yield attempt(D.Exponential(1.0).log_prob, t(-1.0))
    yield attempt(D.Dirichlet, t(1.0))
    yield attempt(D.Dirichlet(torch.ones(3)).log_prob, t([0.5, 0.5]))
    yield attempt(D.Categorical)
    yield attempt(D.Categorical, torch.ones(2), torch.ones(2))
    yield attempt(D.Categorical, t(1.0))
    yield attempt(D.Categorical, t([-1.0, 2.0]))
    yield attempt(D.Categorical(torch.ones(3)).log_prob, t(3))
    yield attempt(D.Bernoulli, 1.5)
    yield attempt(D.Bernoulli(0.5).log_prob, t(0.3))
    yield attempt(D.Geometric, t([0.0, 0.5]))
    yield attempt(D.Binomial, -1, 0.5)
    yield attempt(D.Binomial(t([1.0, 2.0]), t([0.5, 0.5])).enumerate_support)
    yield attempt(D.Multinomial, t(2), torch.ones(2))
    yield attempt(D.Uniform, 1.0, 0.0)
    yield attempt(D.MultivariateNormal, torch.zeros(2))
    yield attempt(D.MultivariateNormal, t(0.0), torch.eye(2))
    yield attempt(D.MultivariateNormal, torch.zeros(2), -torch.eye(2))
    yield attempt(D.MultivariateNormal, torch.zeros(2), torch.ones(2))
    yield attempt(D.LowRankMultivariateNormal, torch.zeros(2), torch.ones(3, 1), torch.ones(2))
    yield attempt(D.LowRankMultivariateNormal, torch.zeros(2), torch.ones(2, 1), torch.ones(3))
    yield attempt(D.Wishart, 1.0, torch.eye(2))
    yield attempt(D.Wishart, 3.0, None)
    yield attempt(D.LKJCholesky, 1)
    yield attempt(D.Independent, D.Normal(0.0, 1.0), 1)
    yield attempt(D.TransformedDistribution, D.Normal(0.0, 1.0), 3)
    yield attempt(D.TransformedDistribution, D.Normal(0.0, 1.0), [3])
    yield attempt(D.TransformedDistribution, D.Normal(0.0, 1.0), D.StickBreakingTransform())
    yield attempt(D.MixtureSameFamily, D.Normal(0.0, 1.0), D.Normal(0.0, 1.0))
    yield attempt(D.MixtureSameFamily, D.Categorical(torch.ones(2)), D.Normal(torch.zeros(3), 1.0))
    yield attempt(D.MixtureSameFamily, D.Categorical(torch.ones(3, 2)), D.Normal(torch.zeros(4, 2), 1.0))
    yield attempt(D.kl_divergence, D.Normal(0.0, 1.0), D.Geometric(0.5))
    yield attempt(D.ExpTransform, 2)
    yield attempt(D.ReshapeTransform, (2,), (3,))
    yield attempt(D.biject_to, D.constraints.boolean)
    yield attempt(D.biject_to.register, int, int)


@programs
def where_logarithms_are_infinite(torch):
    D, t = torch.distributions, torch.tensor
    yield told(D.Bernoulli(t([0.25, 0.5])).log_prob(t([0.0, 1.0])))
    yield told(D.Geometric(t([1.0, 0.5])).log_prob(t([0.0, 1.0])))
    yield told(D.NegativeBinomial(0.0, 0.5).log_prob(t(0.0)))
    yield told(D.Poisson(0.0).log_prob(t([0.0, 1.0])))
    yield told(D.Categorical(t([1.0, 1.0])).entropy())
    yield told(D.Multinomial(3, logits=t([float("-inf"), 0.0])).log_prob(t([0.0, 3.0])))
    yield told(D.Uniform(0.0, 1.0).log_prob(t([0.0, 1.0])))
    yield told(D.Dirichlet(t([[0.5, 0.5], [3.0, 2.0]])).mode)
    yield told(D.StudentT(t([0.5, 1.0, 1.5, 2.0, 3.0])).mean)
    yield told(D.StudentT(t([0.5, 1.0, 1.5, 2.0, 3.0])).variance)
    yield told(D.FisherSnedecor(t([1.0, 2.0, 3.0]), t([1.0, 3.0, 5.0])).variance)
    yield told(D.InverseGamma(t([0.5, 1.5, 2.5]), 1.0).variance)
    yield told(D.Pareto(1.0, t([0.5, 1.5, 2.5])).variance)
    yield told(D.Normal(0.0, 1.0, validate_args=False).log_prob(t(float("nan"))))
    yield [list(D.Normal(torch.zeros(0), 1.0).sample((2,)).shape), list(D.Gamma(torch.ones(0), 1.0).sample().shape)]


if __name__ == "__main__":
    programs.record()
