"""Distributions to test with: some sets of parameters for each class, scalars, batches and what broadcasts."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

LOC_SCALE = (
    {"loc": 0.0, "scale": 1.0},
    {"loc": [0.0, 1.0, -2.0], "scale": [1.0, 0.5, 3.0]},
    {"loc": [[0.0], [1.0]], "scale": [1.0, 2.0, 0.1]},
)
PROBS = ({"probs": 0.3}, {"probs": [0.1, 0.5, 0.9]}, {"logits": [[0.0, 1.0, -2.0]]}, {"probs": [[0.2], [0.7]]})
WEIGHTS = (
    {"probs": [0.1, 0.2, 0.7]},
    {"logits": [[0.0, 1.0, 2.0, -1.0], [1.0, 1.0, 1.0, 1.0]]},
    {"probs": [[[0.5, 0.5]], [[0.1, 0.9]]]},
)
UNIT = (
    {"concentration1": 2.0, "concentration0": 3.0},
    {"concentration1": [1.5, 1.0, 4.0], "concentration0": [[1.5], [2.7]]},
)
COVARIANCE = [[2.0, 0.5, 0.1], [0.5, 1.0, 0.2], [0.1, 0.2, 1.5]]
COVARIANCES = [[[2.0, 0.5], [0.5, 1.0]], [[1.0, -0.3], [-0.3, 3.0]]]
FACTOR = [[1.0, 0.0], [0.5, 2.0]]

# Of each class some sets of arguments: lists become tensors.
CASES: dict[str, tuple[dict[str, Any], ...]] = {
    "Normal": LOC_SCALE,
    "Laplace": LOC_SCALE,
    "Cauchy": LOC_SCALE,
    "Gumbel": LOC_SCALE,
    "LogNormal": ({"loc": 0.0, "scale": 1.0}, {"loc": [0.0, 1.0], "scale": [[0.5], [0.2]]}),
    "StudentT": ({"df": 3.0}, {"df": [2.5, 5.0, 9.0], "loc": [0.0, 1.0, 2.0], "scale": [[1.0], [2.0]]}),
    "GeneralizedPareto": (
        {"loc": 0.0, "scale": 1.0, "concentration": 0.2},
        {"loc": [0.0, 1.0, 2.0], "scale": 2.0, "concentration": [0.0, -0.4, 0.3]},
    ),
    "Uniform": ({"low": 0.0, "high": 1.0}, {"low": [-1.0, 0.0, 2.0], "high": [[3.0], [4.0]]}),
    "VonMises": ({"loc": 0.0, "concentration": 1.0}, {"loc": [0.0, 1.0, -2.0], "concentration": [[0.1], [5.0]]}),
    "Exponential": ({"rate": 2.0}, {"rate": [[1.0, 2.0], [0.5, 3.0]]}),
    "Gamma": ({"concentration": 2.0, "rate": 3.0}, {"concentration": [1.3, 1.0, 7.0], "rate": [[1.0], [0.5]]}),
    "Chi2": ({"df": 3.0}, {"df": [2.0, 4.0, 9.0]}),
    "Beta": UNIT,
    "Dirichlet": ({"concentration": [1.0, 2.0, 0.5]}, {"concentration": [[0.5, 0.6], [3.0, 4.0]]}),
    "FisherSnedecor": ({"df1": 3.0, "df2": 9.0}, {"df1": [2.0, 4.0, 9.0], "df2": [[7.5], [12.0]]}),
    "InverseGamma": ({"concentration": 5.0, "rate": 3.0}, {"concentration": [6.0, 7.0], "rate": [[1.0], [0.5]]}),
    "HalfNormal": ({"scale": 1.0}, {"scale": [0.5, 2.0]}),
    "HalfCauchy": ({"scale": 1.0}, {"scale": [0.5, 2.0]}),
    "Pareto": ({"scale": 1.0, "alpha": 6.0}, {"scale": [1.0, 2.0, 0.5], "alpha": [[7.0], [5.5]]}),
    "Weibull": ({"scale": 1.0, "concentration": 2.0}, {"scale": [1.0, 2.0, 0.5], "concentration": [[1.2], [2.5]]}),
    "Kumaraswamy": UNIT,
    "LogisticNormal": (
        {"loc": [0.0, 1.0], "scale": [1.0, 0.5]},
        {"loc": [[0.0, 1.0, 2.0], [1.0, 0.0, -1.0]], "scale": [1.0, 2.0, 0.5]},
    ),
    "ContinuousBernoulli": (*PROBS, {"probs": [0.4995, 0.5, 0.3]}),
    "Bernoulli": PROBS,
    "Geometric": PROBS,
    "Binomial": (
        *(dict(total_count=5, **p) for p in PROBS),
        {"total_count": [3.0, 10.0, 40.0], "probs": [0.2, 0.5, 0.9]},
    ),
    "NegativeBinomial": (
        *(dict(total_count=5, **p) for p in PROBS),
        {"total_count": [3.0, 1.5, 4.0], "probs": [0.2, 0.5, 0.8]},
    ),
    "Poisson": ({"rate": 2.0}, {"rate": [0.5, 4.0, 30.0]}),
    "Categorical": WEIGHTS,
    "OneHotCategorical": WEIGHTS,
    "OneHotCategoricalStraightThrough": WEIGHTS,
    "Multinomial": tuple(dict(total_count=5, **w) for w in WEIGHTS),
    "RelaxedBernoulli": tuple(dict(temperature=0.5, **p) for p in PROBS[1:3]),
    "RelaxedOneHotCategorical": tuple(dict(temperature=0.7, **w) for w in WEIGHTS[:2]),
    "MultivariateNormal": (
        {"loc": [0.0, 1.0, 2.0], "covariance_matrix": COVARIANCE},
        {"loc": [0.0, 1.0, 2.0], "precision_matrix": COVARIANCE},
        {"loc": [[0.0, 1.0]], "covariance_matrix": COVARIANCES},
        {"loc": [[0.0, 1.0], [2.0, 3.0]], "scale_tril": FACTOR},
    ),
    "LowRankMultivariateNormal": (
        {"loc": [0.0, 1.0, 2.0], "cov_factor": [[1.0], [0.5], [-1.0]], "cov_diag": [1.0, 2.0, 0.5]},
        {
            "loc": [[0.0, 1.0], [2.0, 3.0]],
            "cov_factor": [[1.0, 0.2], [0.5, -0.3]],
            "cov_diag": [[1.0, 2.0], [0.5, 3.0]],
        },
    ),
    "Wishart": (
        {"df": 5.0, "covariance_matrix": COVARIANCE},
        {"df": [4.0, 6.0], "precision_matrix": COVARIANCES},
        {"df": 3.0, "scale_tril": FACTOR},
    ),
    "LKJCholesky": (
        {"dim": 2, "concentration": 1.5},
        {"dim": 3, "concentration": 1.0},
        {"dim": 4, "concentration": [0.5, 2.0]},
    ),
}


def make(torch: Any, name: str, arguments: dict[str, Any], dtype: str = "float64", requires_grad: bool = False) -> Any:
    """A distribution of a class, by name."""
    return getattr(torch.distributions, name)(**tensors(torch, arguments, dtype, requires_grad))


def tensors(
    torch: Any, arguments: dict[str, Any], dtype: str = "float64", requires_grad: bool = False
) -> dict[str, Any]:
    """Arguments, all but whole numbers as tensors."""
    return {
        k: v
        if isinstance(v, int)
        else torch.tensor(v, dtype=getattr(torch, dtype), requires_grad=requires_grad and k != "total_count")
        for k, v in arguments.items()
    }


def wrapped(torch: Any, dtype: str = "float64") -> dict[str, Callable[[], Any]]:
    """Distributions made of others."""
    D = torch.distributions

    def t(x: Any) -> Any:
        return torch.tensor(x, dtype=getattr(torch, dtype))

    return {
        "Independent": lambda: D.Independent(D.Normal(t([[0.0, 1.0, 2.0], [3.0, 4.0, 5.0]]), t([1.0, 2.0, 3.0])), 1),
        "squashed": lambda: D.TransformedDistribution(
            D.Normal(t([0.0, 1.0]), t([1.0, 2.0])),
            [D.AffineTransform(t([[1.0], [2.0]]), t([0.5, 2.0])), D.TanhTransform()],
        ),
        "logistic": lambda: D.TransformedDistribution(
            D.Uniform(t([0.0, 0.2]), t([1.0, 0.9])), [D.SigmoidTransform().inv, D.AffineTransform(1.0, -2.0)]
        ),
        "mixture": lambda: D.MixtureSameFamily(
            D.Categorical(t([[0.3, 0.7], [0.5, 0.5]])), D.Normal(t([[0.0, 1.0], [2.0, 3.0]]), t([1.0, 0.5]))
        ),
        "mixture of vectors": lambda: D.MixtureSameFamily(
            D.Categorical(t([0.3, 0.7])), D.Independent(D.Normal(t([[0.0, 1.0, 2.0], [2.0, 3.0, 1.0]]), t([1.0])), 1)
        ),
        "mixture of counts": lambda: D.MixtureSameFamily(D.Categorical(t([0.3, 0.7])), D.Poisson(t([1.0, 5.0]))),
    }
