"""Transforms undo themselves, know their Jacobians, and map onto what their codomains and constraints say."""

import copy
import math
import pickle

import numpy as np
import pytest

import pullback as torch
from pullback.distributions import biject_to, constraints, identity_transform, transform_to

D = torch.distributions


def t(x):
    return torch.tensor(x, dtype=torch.float64)


NUMBERS = {
    "exp": lambda: D.ExpTransform(),
    "sigmoid": lambda: D.SigmoidTransform(),
    "softplus": lambda: D.SoftplusTransform(),
    "tanh": lambda: D.TanhTransform(),
    "affine": lambda: D.AffineTransform(1.0, -2.0),
    "affine of tensors": lambda: D.AffineTransform(t([0.0, 1.0, 2.0]), t([1.0, -1.0, 2.0])),
    "exp, power, affine": lambda: D.ComposeTransform(
        [D.ExpTransform(), D.PowerTransform(2.0), D.AffineTransform(1.0, 2.0)]
    ),
    "cdf": lambda: D.CumulativeDistributionTransform(D.Normal(t(0.5), t(2.0))),
    "inverse of exp": lambda: D.ComposeTransform([D.ExpTransform(), D.ExpTransform().inv]),
    "identity": lambda: identity_transform,
    "stack": lambda: D.StackTransform([D.ExpTransform(), identity_transform, D.TanhTransform()], dim=-1),
    "cat": lambda: D.CatTransform([D.ExpTransform(), D.AffineTransform(1.0, 2.0)], dim=-1, lengths=[1, 2]),
}
VECTORS = {
    "stick": lambda: D.StickBreakingTransform(),
    "correlation": lambda: D.CorrCholeskyTransform(),
    "affine vector": lambda: D.AffineTransform(t([0.0, 1.0, 2.0]), t(3.0), event_dim=1),
    "independent exp": lambda: D.IndependentTransform(D.ExpTransform(), 1),
    "affine, stick": lambda: D.ComposeTransform([D.AffineTransform(0.0, 0.5), D.StickBreakingTransform()]),
    "exp in a vector": lambda: D.ComposeTransform([D.ExpTransform(), D.IndependentTransform(D.TanhTransform(), 1)]),
    "reshape": lambda: D.ReshapeTransform((3,), (3, 1)),
    "cat of vectors": lambda: D.CatTransform(
        [D.IndependentTransform(D.ExpTransform(), 1), D.StickBreakingTransform()], 0, [1, 1]
    ),
}
X = t([[-1.3, 0.2, 0.9], [0.4, -0.7, 1.6]])


@pytest.mark.parametrize("name", [*NUMBERS, *VECTORS])
def test_undone(name):
    if name == "cat of vectors":
        return  # whose parts have different lengths afterwards: see below
    transform = {**NUMBERS, **VECTORS}[name]()
    y = transform(X)
    assert transform.bijective and transform.inv.bijective and transform.inv.inv is transform
    np.testing.assert_allclose(transform.inv(y).numpy(), X.numpy(), rtol=1e-9, atol=1e-9)
    assert transform.codomain.check(y).all() and transform.domain.check(X).all()
    assert transform.forward_shape(X.shape) == y.shape and transform.inverse_shape(y.shape) == X.shape
    assert transform.inv.forward_shape(y.shape) == X.shape and transform.inv.inverse_shape(X.shape) == y.shape
    assert transform.inv.domain.event_dim == transform.codomain.event_dim


@pytest.mark.parametrize("name", NUMBERS)
def test_derivative_of_numbers(name):
    transform = NUMBERS[name]()
    x = X.clone().requires_grad_()
    y = transform(x)
    (slope,) = torch.autograd.grad(y.sum(), x)
    got = transform.log_abs_det_jacobian(X, y.detach())
    np.testing.assert_allclose(got.numpy(), slope.abs().log().numpy(), rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(transform.inv.log_abs_det_jacobian(y.detach(), X).numpy(), -got.numpy())
    if name not in ("stack", "cat"):
        assert (slope.sign() == transform.sign).all()
        assert transform.inv.sign is transform.sign or (transform.inv.sign == transform.sign).all()


@pytest.mark.parametrize("name", [n for n in VECTORS if n != "cat of vectors"])
def test_jacobian_of_vectors(name):
    """By the determinant; of a simplex without its last element, of a correlation's factor below the diagonal."""
    transform = VECTORS[name]()
    for x in X:

        def free(x):
            y = transform(x)
            if name == "correlation":
                return y[tuple(torch.tril_indices(3, 3, -1))]
            return y[:3].reshape(3)

        jacobian = torch.autograd.functional.jacobian(free, x)
        got = transform.log_abs_det_jacobian(x, transform(x))
        assert got.shape == ()
        assert got.item() == pytest.approx(torch.linalg.slogdet(jacobian).logabsdet.item(), rel=1e-8)


def test_events_in_parts():
    transform = D.CatTransform(
        [D.IndependentTransform(D.ExpTransform(), 1), D.IndependentTransform(identity_transform, 1)], 0, [1, 1]
    )
    assert transform.event_dim == 1 and transform.domain.event_dim == 1
    y = transform(X)
    assert transform.log_abs_det_jacobian(X, y).tolist() == pytest.approx([X[0].sum().item(), 0.0])


def test_not_bijective():
    assert not D.AbsTransform().bijective and D.AbsTransform()(t(-2.0)) == 2 and D.AbsTransform().inv(t(2.0)) == 2
    softmax = D.SoftmaxTransform()
    np.testing.assert_allclose(softmax(X).numpy(), torch.softmax(X, -1).numpy())
    np.testing.assert_allclose(softmax(softmax.inv(softmax(X))).numpy(), softmax(X).numpy())


def test_sigmoid_stays_off_its_ends():
    y = D.SigmoidTransform()(t([-1e4, 1e4]))
    assert 0 < y[0] < 1e-300 and y[1] < 1
    assert D.SigmoidTransform().inv(t([0.0, 1.0])).isfinite().all()


def test_cache():
    transform = D.TanhTransform(cache_size=1)
    x = t([30.0])  # whose tanh is 1
    assert transform.inv(transform(x)) is x
    assert D.TanhTransform().inv(D.TanhTransform()(x)) == math.inf
    chain = D.ComposeTransform([D.TanhTransform(), D.AffineTransform(0.0, 2.0)]).with_cache()
    assert chain.inv(chain(x)) == 30
    assert chain.with_cache(0).parts[0]._cache_size == 0 and chain.with_cache(1) is chain
    assert pickle.loads(pickle.dumps(transform)).inv(transform(x)) == math.inf  # caches do not travel
    assert copy.deepcopy(D.ExpTransform().inv)(t(1.0)) == 0


def test_equality():
    assert D.ExpTransform() == D.ExpTransform() != D.TanhTransform()
    assert D.AffineTransform(1.0, t(2.0)) == D.AffineTransform(t(1.0), 2.0) != D.AffineTransform(0.0, 2.0)
    assert D.PowerTransform(2.0) == D.PowerTransform(2.0) != D.PowerTransform(3.0)
    assert D.ExpTransform().inv == D.ExpTransform().inv != D.ExpTransform()
    assert D.ComposeTransform([D.ExpTransform()]) == D.ComposeTransform([D.ExpTransform()]) != D.ComposeTransform([])
    other = D.ReshapeTransform((2,), (2,))
    assert other == other and other != D.ReshapeTransform((2,), (2,))


def test_representations():
    assert (
        repr(D.ComposeTransform([D.ExpTransform(), D.TanhTransform()]))
        == "ComposeTransform(\n    ExpTransform(),\n    TanhTransform()\n)"
    )
    assert repr(D.ExpTransform().inv) == "_InverseTransform(ExpTransform())"
    assert repr(D.IndependentTransform(D.ExpTransform(), 1)) == "IndependentTransform(ExpTransform(), 1)"


def test_refusals():
    with pytest.raises(ValueError, match="Too few dimensions on input"):
        D.IndependentTransform(D.ExpTransform(), 2)(X[0])
    with pytest.raises(ValueError, match="Input is not a flattened lower-diagonal number"):
        D.CorrCholeskyTransform().forward_shape(torch.Size([4]))
    with pytest.raises(ValueError, match="Shape mismatch"):
        D.ReshapeTransform((3,), (3, 1)).forward_shape(torch.Size([2]))
    with pytest.raises(AssertionError, match="must equal length 3"):
        D.CatTransform([D.ExpTransform()], 0, [3])(t([1.0]))
    with pytest.raises(AssertionError, match="out of range for tensor with 1 dimensions"):
        D.StackTransform([D.ExpTransform()], 1)(t([1.0]))
    with pytest.raises(ValueError, match="either .domain.event_dim or .codomain.event_dim"):
        D.ReshapeTransform((3,), (3, 1)).event_dim  # noqa: B018
    with pytest.raises(NotImplementedError):
        D.SoftmaxTransform().log_abs_det_jacobian(X, X)


# --- constraints --------------------------------------------------------------------------------------------

REACHED = [
    constraints.real,
    constraints.positive,
    constraints.nonnegative,
    constraints.greater_than(-1.5),
    constraints.greater_than_eq(2.0),
    constraints.less_than(0.5),
    constraints.interval(-1.0, 3.0),
    constraints.unit_interval,
    constraints.half_open_interval(-2.0, 2.0),
    constraints.simplex,
    constraints.corr_cholesky,
    constraints.independent(constraints.positive, 1),
    constraints.cat([constraints.positive, constraints.unit_interval], -1, [1, 2]),
    constraints.stack([constraints.positive, constraints.real, constraints.less_than(0.0)], -1),
]


@pytest.mark.parametrize("constraint", REACHED, ids=lambda c: type(c).__name__)
@pytest.mark.parametrize("registry", [biject_to, transform_to])
def test_real_numbers_become_what_satisfies_a_constraint(constraint, registry):
    transform = registry(constraint)
    y = transform(3 * X)
    assert constraint.check(y).all()
    assert transform.codomain.event_dim == constraint.event_dim
    if registry is biject_to:
        assert transform.bijective
        np.testing.assert_allclose(transform.inv(y).numpy(), 3 * X.numpy(), rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize(
    "constraint", [constraints.lower_cholesky, constraints.positive_definite, constraints.positive_semidefinite]
)
def test_matrices_that_satisfy_a_constraint(constraint):
    x = torch.randn(4, 3, 3, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
    transform = transform_to(constraint)
    y = transform(x)
    assert constraint.check(y).all()
    np.testing.assert_allclose(transform(transform.inv(y)).numpy(), y.numpy(), rtol=1e-8, atol=1e-8)


MATRICES = {
    "identity": [[1.0, 0.0], [0.0, 1.0]],
    "factor": [[1.0, 0.0], [0.6, 0.8]],
    "negative diagonal": [[1.0, 0.0], [0.6, -0.8]],
    "symmetric": [[2.0, 1.0], [1.0, 2.0]],
    "indefinite": [[1.0, 2.0], [2.0, 1.0]],
    "singular": [[1.0, -1.0], [-1.0, 1.0]],
    "any": [[1.0, 2.0], [3.0, 4.0]],
}
SATISFIED = {
    "lower_triangular": {"identity", "factor", "negative diagonal"},
    "lower_cholesky": {"identity", "factor"},
    "corr_cholesky": {"identity", "factor"},
    "square": set(MATRICES),
    "symmetric": {"identity", "symmetric", "indefinite", "singular"},
    "positive_definite": {"identity", "symmetric"},
    "positive_semidefinite": {"identity", "symmetric", "singular"},
}


@pytest.mark.parametrize("name", SATISFIED)
def test_constraints_on_matrices(name):
    constraint = getattr(constraints, name)
    assert constraint.event_dim == 2
    assert {m for m, x in MATRICES.items() if constraint.check(t(x))} == SATISFIED[name]
    batch = constraint.check(t(list(MATRICES.values())))
    if name not in ("positive_definite", "positive_semidefinite"):  # which ask for symmetry of all first
        assert batch.tolist() == [m in SATISFIED[name] for m in MATRICES]


VALUES = [-1.0, 0.0, 0.5, 1.0, 2.0, math.inf, math.nan]
TRUE = {
    "boolean": [0.0, 1.0],
    "nonnegative_integer": [0.0, 1.0, 2.0],
    "positive_integer": [1.0, 2.0],
    "real": [-1.0, 0.0, 0.5, 1.0, 2.0, math.inf],
    "positive": [0.5, 1.0, 2.0, math.inf],
    "nonnegative": [0.0, 0.5, 1.0, 2.0, math.inf],
    "unit_interval": [0.0, 0.5, 1.0],
}
BOUNDED = [
    (constraints.greater_than(0.5), "GreaterThan(lower_bound=0.5)", [1.0, 2.0, math.inf]),
    (constraints.greater_than_eq(0.5), "GreaterThanEq(lower_bound=0.5)", [0.5, 1.0, 2.0, math.inf]),
    (constraints.less_than(0.5), "LessThan(upper_bound=0.5)", [-1.0, 0.0]),
    (constraints.interval(0, upper_bound=1), "Interval(lower_bound=0, upper_bound=1)", [0.0, 0.5, 1.0]),
    (constraints.half_open_interval(0, 1), "HalfOpenInterval(lower_bound=0, upper_bound=1)", [0.0, 0.5]),
    (constraints.integer_interval(-1, 1), "IntegerInterval(lower_bound=-1, upper_bound=1)", [-1.0, 0.0, 1.0]),
]


@pytest.mark.parametrize(
    "constraint, text, true", [(getattr(constraints, n), None, v) for n, v in TRUE.items()] + BOUNDED
)
def test_constraints_on_numbers(constraint, text, true):
    assert constraint.check(t(VALUES)).tolist() == [v in true for v in VALUES]
    assert text is None or repr(constraint) == text
    assert constraint.event_dim == 0 and constraints.independent(constraint, 1).event_dim == 1
    assert constraints.independent(constraint, 1).check(t([VALUES, true[:1] * len(VALUES)])).tolist() == [False, True]


def test_constraints_on_vectors():
    rows = t([[0.0, 1.0, 0.0], [0.5, 0.5, 0.0], [1.5, -0.5, 0.0], [1.0, 1.0, 0.0]])
    assert constraints.one_hot.check(rows).tolist() == [True, False, False, False]
    assert constraints.simplex.check(rows).tolist() == [True, True, False, False]
    assert constraints.multinomial(1).check(rows).tolist() == [True, True, False, False]
    assert constraints.MixtureSameFamilyConstraint(constraints.positive).check(rows + 0.25).shape == (4, 3)


def test_dependent_constraints():
    assert constraints.is_dependent(constraints.dependent) and constraints.is_dependent(D.Uniform.support)
    assert not constraints.is_dependent(D.Uniform(0.0, 1.0).support)
    assert D.Uniform.support.event_dim == 0 and not D.Uniform.support.is_discrete
    assert constraints.dependent(event_dim=2).event_dim == 2
    with pytest.raises(NotImplementedError, match=".event_dim cannot be determined statically"):
        constraints.dependent.event_dim  # noqa: B018
    with pytest.raises(ValueError, match="Cannot determine validity of dependent constraint"):
        constraints.dependent.check(X)
    with pytest.raises(ValueError, match="Expected value.dim"):
        constraints.independent(constraints.positive, 3).check(X)
    with pytest.raises(TypeError, match="takes lower_bound, upper_bound"):
        constraints.interval(0.0)


def test_registering_another():
    class Even(constraints.Constraint):
        is_discrete = True

    biject_to.register(Even)(lambda c: D.AffineTransform(0, 2))
    assert biject_to(Even())(t(3.0)) == 6
    with pytest.raises(NotImplementedError, match="Cannot transform Even constraints"):
        transform_to(Even())
    del biject_to._registry[Even]
