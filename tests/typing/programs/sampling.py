"""Distributions: samples, densities, divergences, and gradients through both."""

from typing import assert_type

import pullback as torch
from pullback import Tensor
from pullback import distributions as D
from pullback.distributions import (
    Bernoulli,
    Categorical,
    Distribution,
    Independent,
    MixtureSameFamily,
    Normal,
    constraints,
    kl_divergence,
)
from pullback.distributions.transforms import AffineTransform, ExpTransform

torch.manual_seed(0)
mean = torch.zeros(3, requires_grad=True)
deviation = torch.ones(3)
normal = Normal(mean, deviation)
sample = normal.rsample((5,))
assert_type(sample, Tensor)
assert_type(normal.log_prob(sample), Tensor)
assert_type(normal.mean, Tensor)
assert_type(normal.loc, Tensor)
assert_type(normal.batch_shape, torch.Size)
assert_type(normal.entropy(), Tensor)
loss = -normal.log_prob(sample.detach()).mean() + kl_divergence(normal, Normal(0.0, 1.0)).sum()
loss.backward()
assert_type(loss, Tensor)

policy = Categorical(logits=torch.zeros(2, 4))
action = policy.sample()
assert_type(policy.probs, Tensor)
print(action.shape, policy.log_prob(action).shape, policy.expand((3, 2)).batch_shape)

posterior = Independent(normal, 1)
mixture = MixtureSameFamily(Categorical(torch.ones(2)), Normal(torch.zeros(2), torch.ones(2)))
log_normal = D.TransformedDistribution(Normal(0.0, 1.0), [AffineTransform(1.0, 2.0), ExpTransform()])
everything: list[Distribution] = [
    posterior,
    mixture,
    log_normal,
    Bernoulli(0.3),
    D.Gamma(1.0, 2.0),
    D.MultivariateNormal(torch.zeros(2), covariance_matrix=torch.eye(2)),
    D.Dirichlet(torch.ones(3)),
    D.Poisson(torch.tensor(4.0)),
]
for distribution in everything:
    value = distribution.sample()
    assert_type(value, Tensor)
    print(type(distribution).__name__, distribution.log_prob(value).shape, distribution.event_shape)
print(constraints.positive.check(torch.tensor([1.0, -1.0])))
