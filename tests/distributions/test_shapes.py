"""Shapes of batches and events, expansion, subclasses, validation switched on and off, addresses, copies."""

import copy
import importlib
import math
import pickle
import warnings

import numpy as np
import pytest

import pullback as torch
from pullback.distributions import constraints

from .table import CASES, make, wrapped

D = torch.distributions
ALL = [
    pytest.param(lambda n=name, a=a: make(torch, n, a), id=f"{name}-{i}")
    for name in CASES
    for i, a in enumerate(CASES[name])
]
ALL += [pytest.param(lambda n=name: wrapped(torch)[n](), id=name) for name in wrapped(torch)]


@pytest.mark.parametrize("build", ALL)
def test_shapes_of_samples_and_log_probabilities(build):
    d = build()
    torch.manual_seed(0)
    for shape in ((), (3,), (2, 1)):
        x = d.sample(shape)
        assert x.shape == torch.Size(shape) + d.batch_shape + d.event_shape and not x.requires_grad
        assert d.log_prob(x).shape == torch.Size(shape) + d.batch_shape
        assert d.support.check(x).all()
        if d.has_rsample:
            assert d.rsample(shape).shape == x.shape
    assert d.sample([2]).shape == d.sample(torch.Size([2])).shape


@pytest.mark.parametrize("build", ALL)
def test_expanded(build):
    d = build()
    wide = (4, *d.batch_shape)
    e = d.expand(wide)
    assert type(e) is type(d) and e.batch_shape == wide and e.event_shape == d.event_shape
    torch.manual_seed(0)
    x = e.sample((2,))
    assert x.shape == (2, *wide, *d.event_shape)
    np.testing.assert_allclose(e.log_prob(x).detach().numpy(), d.log_prob(x).detach().numpy(), rtol=1e-9, atol=1e-9)
    try:
        expected = d.entropy().expand(wide).detach().numpy()
    except NotImplementedError:
        return
    np.testing.assert_allclose(e.entropy().detach().numpy(), expected, rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(
        e.mean.detach().numpy(), d.mean.expand(wide + tuple(d.event_shape)).detach().numpy(), rtol=1e-12
    )


@pytest.mark.parametrize("build", ALL)
def test_copies_draw_the_same(build):
    d = build()
    for other in (pickle.loads(pickle.dumps(d)), copy.deepcopy(d)):
        torch.manual_seed(0)
        x = d.sample((2,))
        torch.manual_seed(0)
        assert (other.sample((2,)) == x).all()


def test_draws_for_a_seed():
    torch.manual_seed(0)
    assert str(D.Normal(0, 1).sample((5,))) == "tensor([ 1.5410, -0.2934, -2.1788,  0.5684, -1.0845])"


def test_parameters_that_are_numbers_have_no_batch():
    for d in (D.Normal(0, 1), D.Gamma(1.0, 1), D.Beta(1, 2.0), D.Bernoulli(0.5), D.StudentT(3), D.Gumbel(0, 1)):
        assert d.batch_shape == () and d.sample().dtype == torch.float32
    assert D.Normal(torch.zeros(2, dtype=torch.float64), 1).scale.dtype == torch.float64
    with pytest.raises(ValueError, match="Input arguments must all be instances of Number"):
        D.Normal("0", 1)


def test_empty_batches():
    for d in (
        D.Normal(torch.zeros(0), 1.0),
        D.Gamma(torch.ones(0), 1.0),
        D.Beta(torch.ones(0), 1.0),
        D.Poisson(torch.ones(0)),
    ):
        assert d.sample((3,)).shape == (3, 0)
    assert D.Normal(0.0, 1.0).sample((0, 2)).shape == (0, 2)


# --- subclasses ---------------------------------------------------------------------------------------------


def test_subclass_without_init_expands():
    class Sub(D.LogNormal):
        pass

    assert isinstance(Sub(0.0, 1.0).expand((2,)), Sub)


def test_subclass_with_init_expands_if_it_says_how():
    class Shifted(D.Normal):
        def __init__(self, shift):
            self.shift = shift
            super().__init__(shift, 1.0)

    with pytest.raises(
        NotImplementedError, match=r"Subclass Shifted of Normal that defines a custom __init__ method must also define"
    ):
        Shifted(torch.zeros(2)).expand((3, 2))

    class Better(Shifted):
        def expand(self, batch_shape, _instance=None):
            new = self._get_checked_instance(Better, _instance)
            new.shift = self.shift.expand(batch_shape)
            return super().expand(batch_shape, _instance=new)

    e = Better(torch.zeros(2)).expand((3, 2))
    assert e.shift.shape == e.loc.shape == (3, 2) and type(e) is Better


def test_distribution_of_ones_own():
    class Triangle(D.Distribution):
        arg_constraints = {"width": constraints.positive}
        has_rsample = True

        def __init__(self, width, validate_args=None):
            self.width = width
            super().__init__(width.shape, validate_args=validate_args)

        @constraints.dependent_property(is_discrete=False, event_dim=0)
        def support(self):
            return constraints.interval(-self.width, self.width)

        def rsample(self, sample_shape=()):
            return (
                torch.rand(self._extended_shape(sample_shape)) - torch.rand(self._extended_shape(sample_shape))
            ) * self.width

        def log_prob(self, value):
            if self._validate_args:
                self._validate_sample(value)
            return torch.log((1 - (value / self.width).abs()) / self.width)

        def entropy(self):
            return 0.5 + self.width.log()

    d = Triangle(torch.tensor([1.0, 2.0]))
    assert repr(d) == "Triangle(width: torch.Size([2]))"
    assert d.support.check(d.sample((100,))).all()
    assert d.perplexity().tolist() == pytest.approx([math.exp(0.5), 2 * math.exp(0.5)])
    with pytest.raises(ValueError, match="to be within the support"):
        d.log_prob(torch.tensor(1.5))
    with pytest.raises(
        ValueError,
        match=r"Expected parameter width \(Tensor of shape \(\)\) of distribution Triangle\(width: -1.0\) to satisfy",
    ):
        Triangle(torch.tensor(-1.0))
    for refused in ("mean", "variance", "mode"):
        with pytest.raises(NotImplementedError):
            getattr(d, refused)
    for refused in ("cdf", "icdf", "enumerate_support", "expand"):
        with pytest.raises(NotImplementedError):
            getattr(d, refused)((2,))
    with pytest.warns(FutureWarning, match="sample_n"):
        assert d.sample_n(3).shape == (3, 2)


def test_nothing_stated_is_warned_of():
    class Bare(D.Distribution):
        pass

    with pytest.warns(UserWarning, match="does not define `arg_constraints`"):
        d = Bare()
    with pytest.warns(UserWarning, match="does not define `support`"):
        d._validate_sample(torch.tensor(1.0))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        Bare(validate_args=False)


# --- validation ---------------------------------------------------------------------------------------------


def test_validation_can_be_switched_off():
    assert D.Normal(0.0, -1.0, validate_args=False).scale == -1
    assert D.Exponential(1.0, validate_args=False).log_prob(torch.tensor(-1.0)) == 1
    before = D.Distribution._validate_args
    try:
        D.Distribution.set_default_validate_args(False)
        assert D.Normal(0.0, -1.0).scale == -1
        with pytest.raises(ValueError):
            D.Normal(0.0, -1.0, validate_args=True)
    finally:
        D.Distribution.set_default_validate_args(before)
    with pytest.raises(ValueError):
        D.Distribution.set_default_validate_args("yes")
    assert not D.Normal(0.0, 1.0, validate_args=False).expand((2,))._validate_args


def test_lazily_known_parameters():
    d = D.Bernoulli(logits=torch.tensor([0.0, 1.0]))
    assert "probs" not in vars(d) and repr(d) == "Bernoulli(logits: torch.Size([2]))"
    with torch.no_grad():
        logits = torch.tensor(0.5, requires_grad=True)
        assert D.Bernoulli(logits=logits).probs.requires_grad  # with gradient, whatever the mode
    assert "probs" in vars(D.Bernoulli(logits=logits).expand((3,))) or d.probs is d.probs
    assert d.param_shape == (2,) and d._new(torch.Size([3])).shape == (3,)


def test_wishart_warns_of_few_degrees_of_freedom():
    with pytest.warns(UserWarning, match="Low df values detected"):
        D.Wishart(torch.tensor(1.5), torch.eye(2))


def test_mixtures_broadcast_the_choice():
    """One choice for a batch of components: each of the batch chooses for itself."""
    d = D.MixtureSameFamily(D.Categorical(torch.ones(2)), D.Normal(torch.tensor([[0.0, 100.0]] * 3), 1.0))
    torch.manual_seed(0)
    x = d.sample((50,))
    assert x.shape == (50, 3) and d.log_prob(x).shape == (50, 3)
    high = x > 50
    assert (high[:, 0] != high[:, 1]).any() and d.mean.tolist() == [50.0] * 3


# --- addresses ----------------------------------------------------------------------------------------------


def test_addresses_as_in_pytorch():
    for module, names in D.ADDRESSES.items():
        for name in names.split():
            assert importlib.import_module(f"pullback.distributions.{name}") is module is getattr(D, name)
    from pullback.distributions.multivariate_normal import MultivariateNormal
    from pullback.distributions.utils import broadcast_all, probs_to_logits

    assert MultivariateNormal is D.MultivariateNormal
    assert (
        broadcast_all(1, torch.zeros(2))[0].tolist() == [1, 1]
        and probs_to_logits(torch.tensor(0.5), is_binary=True) == 0
    )


@pytest.mark.torch
def test_everything_is_there():
    judge = pytest.importorskip("torch").distributions
    import pkgutil

    assert set(judge.__all__) <= set(D.__all__)
    assert set(judge.constraints.__all__) <= set(constraints.__all__)
    for module in pkgutil.iter_modules(judge.__path__):
        theirs = importlib.import_module(f"torch.distributions.{module.name}")
        ours = importlib.import_module(f"pullback.distributions.{module.name}")
        for name in theirs.__all__:
            assert hasattr(ours, name), f"{module.name}.{name}"
            if isinstance(getattr(theirs, name), type) and issubclass(getattr(theirs, name), judge.Distribution):
                public = {n for n in vars(getattr(theirs, name)) if not n.startswith("_")}
                assert public <= set(dir(getattr(ours, name))), name
