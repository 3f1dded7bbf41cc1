"""``torch.distributions``: samples, densities, entropies and divergences, with gradients.

    policy = Categorical(logits=network(state))
    action = policy.sample()
    loss = -policy.log_prob(action) * reward             # the score function's estimate

    latent = Normal(mean, std).rsample()                 # a function of mean and std: gradients flow through
    loss = -log_likelihood(latent) + kl_divergence(Normal(mean, std), Normal(0.0, 1.0)).sum()

A family of distributions is a file here. PyTorch has a file for each, so ``distributions.normal`` and the like are
other names of these.
"""

from __future__ import annotations

import sys as _sys

from . import (
    constraint_registry,
    constraints,
    discrete,
    distribution,
    gamma_family,
    kl,
    location_scale,
    multivariate,
    parameters,
    relaxed,
    transform,
    transformed,
    transforms,
    wrappers,
)
from .constraint_registry import biject_to, transform_to
from .discrete import (
    Bernoulli,
    Binomial,
    Categorical,
    Geometric,
    Multinomial,
    NegativeBinomial,
    OneHotCategorical,
    OneHotCategoricalStraightThrough,
    Poisson,
)
from .distribution import Distribution, ExponentialFamily
from .gamma_family import Beta, Chi2, Dirichlet, Exponential, FisherSnedecor, Gamma, StudentT
from .kl import kl_divergence, register_kl
from .location_scale import Cauchy, GeneralizedPareto, Laplace, Normal, Uniform, VonMises
from .multivariate import LKJCholesky, LowRankMultivariateNormal, MultivariateNormal, Wishart
from .relaxed import ContinuousBernoulli, RelaxedBernoulli, RelaxedOneHotCategorical
from .transformed import (
    Gumbel,
    HalfCauchy,
    HalfNormal,
    InverseGamma,
    Kumaraswamy,
    LogisticNormal,
    LogNormal,
    Pareto,
    Weibull,
)
from .transforms import *
from .wrappers import Independent, MixtureSameFamily, TransformedDistribution

__all__ = [
    "Bernoulli",
    "Beta",
    "Binomial",
    "Categorical",
    "Cauchy",
    "Chi2",
    "ContinuousBernoulli",
    "Dirichlet",
    "Distribution",
    "Exponential",
    "ExponentialFamily",
    "FisherSnedecor",
    "Gamma",
    "GeneralizedPareto",
    "Geometric",
    "Gumbel",
    "HalfCauchy",
    "HalfNormal",
    "Independent",
    "InverseGamma",
    "Kumaraswamy",
    "LKJCholesky",
    "Laplace",
    "LogNormal",
    "LogisticNormal",
    "LowRankMultivariateNormal",
    "MixtureSameFamily",
    "Multinomial",
    "MultivariateNormal",
    "NegativeBinomial",
    "Normal",
    "OneHotCategorical",
    "OneHotCategoricalStraightThrough",
    "Pareto",
    "Poisson",
    "RelaxedBernoulli",
    "RelaxedOneHotCategorical",
    "StudentT",
    "TransformedDistribution",
    "Uniform",
    "VonMises",
    "Weibull",
    "Wishart",
    "biject_to",
    "kl_divergence",
    "register_kl",
    "transform_to",
    *transforms.__all__,
]

ADDRESSES = {
    discrete: "bernoulli binomial categorical geometric multinomial negative_binomial one_hot_categorical poisson",
    distribution: "exp_family",
    gamma_family: "beta chi2 dirichlet exponential fishersnedecor gamma studentT",
    location_scale: "cauchy generalized_pareto laplace normal uniform von_mises",
    multivariate: "lkj_cholesky lowrank_multivariate_normal multivariate_normal wishart",
    parameters: "utils",
    relaxed: "continuous_bernoulli relaxed_bernoulli relaxed_categorical",
    transformed: "gumbel half_cauchy half_normal inverse_gamma kumaraswamy log_normal logistic_normal pareto weibull",
    wrappers: "independent mixture_same_family transformed_distribution",
}
for _module, _names in ADDRESSES.items():
    for _name in _names.split():
        globals()[_name] = _sys.modules[f"{__name__}.{_name}"] = _module
