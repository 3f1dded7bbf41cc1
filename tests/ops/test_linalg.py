"""Linear algebra beyond the table of samples: matrices of special kinds, what PyTorch cannot do, singular input."""

from __future__ import annotations

from math import inf, nan
from typing import Any

import numpy as np
import pytest

import pullback
from pullback import linalg
from pullback.autograd import gradcheck, gradgradcheck

from ..kernels import using


def matrices(*shape: int, complex: bool = False, seed: int = 0) -> Any:
    """Random matrices, well conditioned for these seeds."""
    rng = np.random.default_rng(seed)
    a = rng.standard_normal(shape)
    if complex:
        a = a + 1j * rng.standard_normal(shape)
    return pullback.tensor(a, requires_grad=True)


def positive(a: Any) -> Any:
    """A positive-definite matrix made of any matrix."""
    return a @ a.mH + pullback.eye(a.shape[-1], dtype=a.dtype)


def symmetric(a: Any) -> Any:
    return a + a.mH


KINDS = pytest.mark.parametrize("complex", [False, True], ids=["real", "complex"])


def check(f: Any, *inputs: Any) -> None:
    """First and second derivatives against difference quotients."""
    assert gradcheck(f, inputs)
    assert gradgradcheck(f, inputs, fast_mode=True, atol=1e-4)


@KINDS
@pytest.mark.parametrize("shape", [(3, 3), (2, 2, 2), (0, 0), (0, 2, 2)], ids=str)
def test_cholesky(shape: tuple[int, ...], complex: bool) -> None:
    """``L L* = A``, lower or upper, and the derivatives of both."""
    a = matrices(*shape, complex=complex)
    A = positive(a)
    L, U = linalg.cholesky(A), linalg.cholesky(A, upper=True)
    np.testing.assert_allclose((L @ L.mH).detach().numpy(), A.detach().numpy(), rtol=1e-10)
    np.testing.assert_allclose(U.detach().numpy(), L.mH.detach().resolve_conj().numpy(), rtol=1e-10)
    assert (L.detach().numpy() == np.tril(L.detach().numpy())).all()
    if a.numel():
        check(lambda a: linalg.cholesky(positive(a)), a)
        check(lambda a: linalg.cholesky(positive(a), upper=True), a)
        check(lambda a: pullback.cholesky_inverse(linalg.cholesky(positive(a))), a)
        check(
            lambda a, b: pullback.cholesky_solve(b, linalg.cholesky(positive(a))),
            a,
            matrices(*shape, complex=complex, seed=1),
        )


@KINDS
@pytest.mark.parametrize("shape", [(3, 3), (2, 2, 2)], ids=str)
def test_symmetric_eigenvalues(shape: tuple[int, ...], complex: bool) -> None:
    """``A V = V diag(w)`` with ascending eigenvalues; derivatives of what does not depend on the vectors' phases."""
    a = matrices(*shape, complex=complex)
    A = symmetric(a)
    w, V = linalg.eigh(A)
    np.testing.assert_allclose((A @ V).detach().numpy(), (V * w.unsqueeze(-2)).detach().numpy(), atol=1e-10)
    assert (np.diff(w.detach().numpy()) > 0).all()
    check(lambda a: linalg.eigvalsh(symmetric(a)), a)
    check(lambda a: linalg.eigh(symmetric(a))[1].abs(), a)


@KINDS
@pytest.mark.parametrize("uplo", ["L", "U"])
def test_gradient_of_eigenvectors_is_symmetric(uplo: str, complex: bool) -> None:
    """Though what is computed from them, here a square root with unequal weights, asks for more than a rotation of
    theirs.
    """
    A = positive(matrices(2, 3, 3, complex=complex)).detach().requires_grad_()
    w, V = linalg.eigh(A, uplo)
    root = V * w.sqrt().unsqueeze(-2) @ V.mH
    (gradient,) = pullback.autograd.grad((root.real * matrices(3, 3, seed=1)).sum(), A)
    assert pullback.allclose(gradient, gradient.mH)


@KINDS
def test_eigenvalues(complex: bool) -> None:
    """``A V = V diag(w)``; the eigenvectors' absolute values are differentiable."""
    a = matrices(3, 3, complex=complex)
    w, V = linalg.eig(a)
    c = a.to(pullback.complex128)
    np.testing.assert_allclose((c @ V).detach().numpy(), (V * w.unsqueeze(-2)).detach().numpy(), atol=1e-10)
    check(linalg.eigvals, a)
    check(lambda a: linalg.eig(a)[1].abs(), a)


@KINDS
@pytest.mark.parametrize("shape", [(3, 3), (4, 2), (2, 4), (2, 2, 3)], ids=str)
@pytest.mark.parametrize("full", [False, True])
def test_singular_values(shape: tuple[int, ...], complex: bool, full: bool) -> None:
    """``U diag(S) Vh = A``, and its derivatives."""
    a = matrices(*shape, complex=complex)
    U, S, Vh = linalg.svd(a, full_matrices=full)
    k = S.shape[-1]
    np.testing.assert_allclose(
        (U[..., :k] * S.unsqueeze(-2) @ Vh[..., :k, :]).detach().numpy(), a.detach().numpy(), atol=1e-10
    )
    check(lambda a: linalg.svd(a, full_matrices=full)[1], a)
    if not full:
        check(lambda a: linalg.svd(a, full_matrices=False)[0].abs(), a)
        check(lambda a: linalg.svd(a, full_matrices=False)[2].abs(), a)


@KINDS
@pytest.mark.parametrize("order", ["fro", "nuc", 1, -1, 2, -2, inf, -inf], ids=str)
def test_condition_numbers(order: Any, complex: bool) -> None:
    """The product of two norms; PyTorch refuses the gradients of most orders."""
    a = matrices(2, 3, 3, complex=complex)
    values = linalg.cond(a, order).detach().numpy()
    np.testing.assert_allclose(values, np.linalg.cond(a.detach().numpy(), order), rtol=1e-10)
    check(lambda a: linalg.cond(a, order), a)
    if order not in (2, -2):
        assert linalg.cond(pullback.zeros(2, 2), order).item() == inf


def test_frobenius_norm() -> None:
    """PyTorch warns that it is deprecated; the value is the vector norm of the two dimensions."""
    a = matrices(2, 3, 4)
    expected = np.linalg.norm(a.detach().numpy(), axis=(1, 2))
    np.testing.assert_allclose(pullback.frobenius_norm(a, [1, 2]).detach().numpy(), expected, rtol=1e-12)
    check(lambda a: pullback.frobenius_norm(a, [1, 2]), a)


@KINDS
def test_logarithm_of_determinants(complex: bool) -> None:
    a = matrices(2, 3, 3, complex=complex)
    check(lambda a: pullback.logdet(positive(a)), a)
    expected = np.linalg.slogdet(positive(a).detach().numpy())[1]
    np.testing.assert_allclose(pullback.logdet(positive(a)).detach().numpy().real, expected, rtol=1e-12)
    real = pullback.tensor([[0.0, 1.0], [1.0, 0.0]])
    assert pullback.logdet(real).isnan()
    assert pullback.logdet(real * 0).item() == -inf


@pytest.mark.parametrize("rank", [0, 1, 2])
def test_gradient_of_singular_determinants(rank: int) -> None:
    """The cofactors, which difference quotients see too."""
    a = matrices(3, 3).detach().numpy()
    u, s, vh = np.linalg.svd(a)
    s[rank:] = 0
    x = pullback.tensor((u * s) @ vh, requires_grad=True)
    check(linalg.det, x)


def test_pseudoinverse_of_matrices_of_low_rank() -> None:
    """Values that do not count are left out."""
    a = np.outer([1.0, 2.0, 3.0], [1.0, -1.0])
    np.testing.assert_allclose(linalg.pinv(pullback.tensor(a)).numpy(), np.linalg.pinv(a), atol=1e-12)
    assert linalg.matrix_rank(pullback.tensor(a)).item() == 1


@KINDS
def test_ldl(complex: bool) -> None:
    """Solutions by way of LDL, symmetric and Hermitian."""
    a = matrices(2, 4, 4, complex=complex).detach()
    b = matrices(2, 4, 2, complex=complex, seed=1).detach()
    for hermitian, A in ((False, a + a.mT), (True, a + a.mH)):
        x = linalg.ldl_solve(*linalg.ldl_factor(A, hermitian=hermitian), b, hermitian=hermitian)
        np.testing.assert_allclose((A @ x).numpy(), b.numpy(), atol=1e-10)


@KINDS
@pytest.mark.parametrize("left", [False, True])
@pytest.mark.parametrize("adjoint", [False, True])
def test_lu_solve(left: bool, adjoint: bool, complex: bool) -> None:
    a, b = matrices(2, 3, 3, complex=complex), matrices(2, 3, 3, complex=complex, seed=1)
    x = linalg.lu_solve(*linalg.lu_factor(a), b, left=left, adjoint=adjoint)
    A = a.mH if adjoint else a
    np.testing.assert_allclose((A @ x if left else x @ A).detach().numpy(), b.detach().numpy(), atol=1e-10)
    check(lambda a, b: linalg.lu_solve(*linalg.lu_factor(a), b, left=left, adjoint=adjoint), a, b)


def test_singular_matrices_are_refused() -> None:
    """Except where the caller asks for LAPACK's code."""
    singular = pullback.zeros(2, 2, 2)
    for f in (linalg.inv, lambda A: linalg.solve(A, A), pullback.inverse):
        with pytest.raises(linalg.LinAlgError, match="singular"):
            f(singular)
    with pytest.raises(linalg.LinAlgError, match="not positive-definite") as refusal:
        linalg.cholesky(-pullback.eye(2))
    assert f"{refusal.type.__module__}.{refusal.type.__qualname__}" == "torch._C._LinAlgError"
    assert linalg.inv_ex(singular).info.tolist() == [1, 1]
    assert linalg.cholesky_ex(-pullback.eye(2)).info.item() == 1
    assert linalg.det(singular).tolist() == [0.0, 0.0]


def test_right_side_is_a_vector_only_if_shapes_say_so() -> None:
    """``(3,)``, or a batch of vectors for a batch of matrices of that shape."""
    a = matrices(2, 3, 3).detach()
    assert linalg.solve(a, pullback.ones(3, dtype=pullback.float64)).shape == (2, 3)
    assert linalg.solve(a, pullback.ones(2, 3, dtype=pullback.float64)).shape == (2, 3)
    with pytest.raises(RuntimeError, match="Incompatible shapes of A and B"):
        linalg.solve(a[0], pullback.ones(2, 3, dtype=pullback.float64))


def test_low_rank() -> None:
    """A random projection finds the singular values of a matrix of low rank."""
    rng = np.random.default_rng(0)
    a = rng.standard_normal((20, 3)) @ rng.standard_normal((3, 10))
    U, S, V = pullback.svd_lowrank(pullback.tensor(a), q=5)
    np.testing.assert_allclose(S.numpy()[:3], np.linalg.svd(a)[1][:3], rtol=1e-8)
    np.testing.assert_allclose((U * S @ V.mT).numpy(), a, atol=1e-8)
    centered = a - a.mean(0)
    np.testing.assert_allclose(
        pullback.pca_lowrank(pullback.tensor(a), q=5)[1].numpy()[:3], np.linalg.svd(centered)[1][:3], rtol=1e-8
    )


def test_distances_within_an_empty_set() -> None:
    """There are none, and the gradient is empty. (PyTorch 2.13 crashes in its backward pass.)"""
    x = pullback.zeros(0, 3, requires_grad=True)
    pullback.pdist(x).sum().backward()
    assert x.grad.shape == (0, 3)
    one = pullback.tensor([[float("nan"), 1.0]], requires_grad=True)
    pullback.pdist(one).sum().backward()
    assert one.grad.tolist() == [[0, 0]]


@pytest.mark.parametrize("mode", ("off", "on"))
def test_what_differs_is_counted_but_for_nan(mode: str) -> None:
    x = pullback.tensor([[float("nan"), 0.0], [0.0, -1.0], [-0.0, 2.0]])
    with using(mode):
        torn = pullback.cdist(x, x, 0.0), pullback.pdist(x, 0.0)
    assert str([t.tolist() for t in torn]) == "[[[nan, nan, nan], [nan, 0.0, 1.0], [nan, 1.0, 0.0]], [nan, nan, 1.0]]"


@KINDS
@pytest.mark.parametrize("shape", [(4, 4), (3, 5), (5, 3), (1, 1)], ids=str)
def test_many_small_matrices_are_decomposed_as_one_is(shape: tuple[int, int], complex: bool) -> None:
    """Batches go another way than single matrices, with the same pivots, singular matrices included."""
    a = matrices(40, *shape, complex=complex).detach()
    a[3] = 0
    a[4, :, 0] = 0
    LU, pivots, info = linalg.lu_factor_ex(a)
    for i in range(40):
        one = linalg.lu_factor_ex(a[i])
        np.testing.assert_allclose(LU[i].numpy(), one.LU.numpy(), atol=1e-12)
        assert pivots[i].tolist() == one.pivots.tolist() and info[i].item() == one.info.item()
    P, L, U = linalg.lu(a)
    np.testing.assert_allclose((P @ L @ U).numpy(), a.numpy(), atol=1e-12)


@KINDS
@pytest.mark.parametrize("upper", [False, True])
@pytest.mark.parametrize("unit", [False, True])
@pytest.mark.parametrize("left", [False, True])
def test_many_small_triangular_systems_are_solved_as_one_is(left: bool, unit: bool, upper: bool, complex: bool) -> None:
    a, b = matrices(20, 3, 3, complex=complex), matrices(20, 3, 3, complex=complex, seed=1)
    options = {"upper": upper, "unitriangular": unit, "left": left}
    x = linalg.solve_triangular(a, b, **options)
    for i in range(20):
        np.testing.assert_allclose(
            x[i].detach().numpy(), linalg.solve_triangular(a[i], b[i], **options).detach().numpy(), rtol=1e-9
        )
    check(
        lambda a, b: linalg.solve_triangular(a, b, **options),
        a[:7].detach().requires_grad_(),
        b[:7].detach().requires_grad_(),
    )


MANY_AT_ONCE = {
    "matrix_exp": lambda a: (linalg.matrix_exp(a @ a.mT * 2),),
    "gelsd": lambda a: linalg.lstsq(a, a @ a.mT, driver="gelsd"),
    "gelss": lambda a: linalg.lstsq(a, a.mT @ a[..., :1, :].mT, driver="gelss") if a.shape[-1] == a.shape[-2] else (),
}


@pytest.mark.parametrize("name", MANY_AT_ONCE)
@pytest.mark.parametrize("dtype", (pullback.float64, pullback.complex128))
@pytest.mark.parametrize("shape", ((4, 3), (3, 3), (2, 4)))
def test_many_small_matrices_give_what_each_gives(name: str, dtype: Any, shape: tuple[int, int]) -> None:
    a = pullback.randn(12, *shape, dtype=dtype, generator=pullback.Generator().manual_seed(1))
    a[0] = 0
    a[1] = 1  # not of full rank
    a[2] *= 1e-3
    together, singly = MANY_AT_ONCE[name](a), [MANY_AT_ONCE[name](m) for m in a]
    for i, part in enumerate(together):
        if part.numel():
            size = part.abs().amax().item()
            np.testing.assert_allclose(
                part.numpy(), np.stack([one[i].numpy() for one in singly]), rtol=0, atol=1e-11 * size
            )


@pytest.mark.parametrize("dtype", (np.float32, np.float64, np.complex64, np.complex128))
@pytest.mark.parametrize("shape", ((600, 1, 1), (5000, 2, 2), (70, 80, 3, 3), (700, 5, 5), (600, 0, 0)))
def test_many_small_inverses_are_as_exact_as_one_is(shape: tuple[int, ...], dtype: Any) -> None:
    """They are found at once: to the last digits of double precision, whatever the pivots, or as if they were not."""
    rng, n = np.random.default_rng(0), shape[-1]
    A = rng.standard_normal(shape).astype(dtype)
    if np.iscomplexobj(A):
        A += 1j * rng.standard_normal(shape)
    if n > 1:
        A[..., 0, 0] = 0
    expected, got = np.linalg.inv(A), linalg.inv(pullback.tensor(A)).numpy()
    size = abs(expected).max((-2, -1), initial=0)
    condition = np.linalg.cond(A) if n else 1
    error = abs(got - expected).max((-2, -1), initial=0)
    assert (error <= 4 * size * (np.finfo(np.float64).eps * condition + np.finfo(dtype).eps)).all()
    if n > 1:
        A[3], A[4] = 0, np.nan
        inverse, info = linalg.inv_ex(pullback.tensor(A))
        assert (
            info.nonzero()[:, 0].unique().tolist() == [3] and inverse[4].isnan().all() and not inverse[5:].isnan().any()
        )


def test_exponentials_of_many_matrices_of_all_sizes() -> None:
    """Tiny, nilpotent, large, infinite and undefined ones in one batch."""
    a = pullback.tensor(
        [[[0.0, 1.0], [0.0, 0.0]], [[1e-9, 0.0], [0.0, -30.0]], [[inf, 0.0], [0.0, 0.0]], [[nan, 0.0], [0.0, 1.0]]]
    )
    out = linalg.matrix_exp(a.double())
    assert out[0].tolist() == [[1, 1], [0, 1]]
    np.testing.assert_allclose(out[1].numpy(), np.diag(np.exp([1e-9, -30])), rtol=1e-14)
    assert not out[2:].isfinite().all(-1).all(-1).any()


@pytest.mark.parametrize("mode", ("reduced", "complete", "r"))
@pytest.mark.parametrize("shape", ((70, 3), (3, 70), (66, 66)))
def test_qr_of_one_matrix_is_that_of_a_batch(shape: tuple[int, int], mode: str) -> None:
    a = pullback.randn(2, *shape, dtype=pullback.complex128)
    for one, many in zip(linalg.qr(a[0], mode), linalg.qr(a, mode)):
        if one.numel():
            np.testing.assert_allclose(one.numpy(), many[0].numpy(), atol=1e-12)


@pytest.mark.parametrize("dtype", (np.float64, np.complex128))
@pytest.mark.parametrize("shape", ((400, 3), (3, 400), (64, 1)))
@pytest.mark.parametrize("scale", (1, 1e-200, 1e307))
def test_singular_values_of_long_matrices(shape: tuple[int, int], dtype: Any, scale: float) -> None:
    a = np.cos(np.arange(shape[0] * shape[1], dtype=dtype)).reshape(shape) * scale
    u, s, vh = (x.numpy() for x in linalg.svd(pullback.from_numpy(a), full_matrices=False))
    expected = np.linalg.svd(a, compute_uv=False)
    for values in (s, linalg.svdvals(pullback.from_numpy(a)).numpy()):
        np.testing.assert_allclose(values, expected, atol=1e-12 * expected[0])
    for near_one in (u.conj().T @ u, vh @ vh.conj().T):
        np.testing.assert_allclose(near_one, np.eye(len(s)), atol=1e-13)
    np.testing.assert_allclose(u @ (s[:, None] / scale * vh), a / scale, atol=1e-11)


@pytest.mark.parametrize("number", (inf, nan))
def test_matrices_that_are_not_finite(number: float) -> None:
    """LAPACK may look for their singular values forever."""
    a = pullback.eye(4, dtype=pullback.complex128)
    a[1, 0] = number
    solved = [lambda driver=driver: linalg.lstsq(a, a, driver=driver) for driver in ("gelsd", "gelss")]
    for call in (
        lambda: linalg.svd(a),
        lambda: linalg.svdvals(a),
        lambda: linalg.pinv(a),
        lambda: linalg.cond(a),
        *solved,
    ):
        with pytest.raises(linalg.LinAlgError, match="contained non-finite values"):
            call()
    both = pullback.stack([a, 2 * pullback.eye(4)]).real.requires_grad_()
    linalg.det(both).sum().backward()
    assert both.grad[0].isnan().all() and both.grad[1].tolist() == (8 * pullback.eye(4)).tolist()


def test_powers_of_integers_and_of_half_precision() -> None:
    for dtype in (pullback.int64, pullback.float16, pullback.bfloat16):
        a = pullback.tensor([[1, 1], [1, 0]], dtype=dtype)
        out = linalg.matrix_power(a, 5)
        assert out.dtype is dtype and out.tolist() == [[8, 5], [5, 3]]
    with pytest.raises(RuntimeError, match="linalg.inv: Expected a floating point"):
        linalg.matrix_power(pullback.tensor([[1, 1], [1, 0]]), -1)
    a = pullback.tensor([[nan, inf], [1, 0]], requires_grad=True)
    out = linalg.matrix_power(a, 0)
    out.sum().backward()
    assert out.tolist() == [[1, 0], [0, 1]] and a.grad.tolist() == [[0, 0], [0, 0]]


def test_gels_ignores_rcond() -> None:
    a = pullback.tensor([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]])
    solution = linalg.lstsq(a, pullback.ones(3, 1), rcond=10.0, driver="gels").solution
    assert solution.allclose(pullback.tensor([[-1.0], [1.0]]), atol=1e-4)


def rows(*values: int) -> Any:
    return pullback.tensor(values, dtype=pullback.int32)


@pytest.mark.parametrize(
    "call, words",
    [
        (
            lambda: pullback.lu_unpack(pullback.eye(3), rows(1, 2, 4)),
            "pivots passed to lu_unpack must be between 1 and",
        ),
        (
            lambda: pullback.lu_unpack(pullback.eye(3), rows(0, 2, 3)),
            "pivots passed to lu_unpack must be between 1 and",
        ),
        (lambda: pullback.lu_unpack(pullback.eye(3), rows(1, 2)), "LU_pivots of shape .2. are not those of LU_data"),
        (lambda: pullback.lu_unpack(pullback.ones(3), rows(1)), "Expected tensor with 2 or more dimensions"),
        (
            lambda: linalg.lu_solve(pullback.eye(3), rows(0, 2, 3), pullback.ones(3, 1)),
            "must all be greater or equal to 1",
        ),
        (
            lambda: linalg.lu_solve(pullback.eye(3), rows(1, 2, 4), pullback.ones(3, 1)),
            "must all be smaller or equal to",
        ),
        (lambda: linalg.ldl_solve(pullback.eye(3), rows(1, 2, 9), pullback.ones(3, 1)), "must all satisfy .pivot. <="),
    ],
)
def test_rows_that_are_not_there_are_refused(call: Any, words: str) -> None:
    with pytest.raises(RuntimeError, match=words):
        call()


def test_pivots_broadcast_to_the_matrices() -> None:
    P, L, U = pullback.lu_unpack(pullback.ones(2, 3, 3), rows(2, 2, 3))
    assert P.shape == (2, 3, 3) and P[1].argmax(0).tolist() == [1, 0, 2]
    for shape in [(0, 3, 3), (2, 0, 0), (0, 0), (2, 3, 0)]:
        empty = pullback.lu_unpack(
            pullback.zeros(shape), pullback.zeros(*shape[:-2], min(shape[-2:]), dtype=pullback.int32)
        )
        assert empty.P.shape == (*shape[:-2], shape[-2], shape[-2])


@pytest.mark.parametrize("name", ["addmm", "addmv", "addbmm", "baddbmm"])
def test_factors_are_given_by_name(name: str) -> None:
    """PyTorch's oldest forms have them before the tensors."""
    shapes = {"addmm": [(2, 2)] * 3, "addmv": [(2,), (2, 2), (2,)], "addbmm": [(2, 2), (1, 2, 2), (1, 2, 2)]}
    x, a, b = [pullback.ones(shape) for shape in shapes.get(name, [(1, 2, 2)] * 3)]
    for call in (
        lambda: getattr(pullback, name)(2, x, a, b),
        lambda: getattr(x, name)(2, a, b),
        lambda: getattr(x, name + "_")(2, 3, a, b),
    ):
        with pytest.raises(TypeError, match=rf"{name}\(\): argument .* must be Tensor, not int"):
            call()
    assert x.equal(pullback.ones_like(x))
    assert getattr(pullback, name)(x, a, b, beta=2, alpha=3).equal(
        x * 2 + (a @ b if name != "addbmm" else a[0] @ b[0]) * 3
    )


@pytest.mark.parametrize("shape", [(8, 5), (5, 8)])
@pytest.mark.parametrize("center", [False, True])
def test_low_rank_decompositions_of_sparse_matrices(shape: tuple[int, int], center: bool) -> None:
    a = matrices(*shape).detach()
    a[a < 0] = 0
    U, S, V = pullback.pca_lowrank(a.to_sparse(), q=5, center=center)
    apart = a - a.mean(0, True) if center else a
    assert (U * S @ V.mT).allclose(apart) and S.allclose(linalg.svdvals(apart))


@pytest.mark.parametrize("dtype", (pullback.float16, pullback.bfloat16, pullback.int64), ids=str)
def test_reflections_need_a_type_of_lapack(dtype: Any) -> None:
    a, tau = pullback.ones(3, 2, dtype=dtype), pullback.ones(2, dtype=dtype)
    for kernel, call in {
        "orgqr": lambda: linalg.householder_product(a, tau),
        "ormqr": lambda: pullback.ormqr(a, tau, a),
        "geqrf": lambda: pullback.geqrf(a),
    }.items():
        with pytest.raises(NotImplementedError, match=f'"{kernel}_cpu" not implemented for'):
            call()


@pytest.mark.parametrize("dtype", [pullback.float32, pullback.float64], ids=str)
def test_large_matrices(dtype: Any) -> None:
    """Those that are factored and substituted in their own precision, by blocks."""
    rng, n = np.random.default_rng(0), 150
    x = rng.standard_normal((n, n))
    a, b = x @ x.T / n + 2 * np.eye(n), rng.standard_normal((n, 140))
    A, B = (pullback.tensor(v, dtype=dtype) for v in (a, b))
    near = {"rtol": 1e-4, "atol": 1e-4} if dtype is pullback.float32 else {"rtol": 1e-10, "atol": 1e-11}
    lower, upper = np.tril(a), np.triu(a)
    for got, expected in (
        (linalg.solve(A, B), np.linalg.solve(a, b)),
        (linalg.solve(A, B[:, 0]), np.linalg.solve(a, b[:, 0])),
        (linalg.solve(A, B.T, left=False), np.linalg.solve(a.T, b).T),
        (linalg.inv(A), np.linalg.inv(a)),
        (linalg.cholesky(A), np.linalg.cholesky(a)),
        (linalg.cholesky(A, upper=True), np.linalg.cholesky(a).T),
        (linalg.det(A / 2), np.linalg.det(a / 2)),
        (linalg.det(pullback.flip(A / 2, [0])), np.linalg.det(a[::-1] / 2)),
        (linalg.solve_triangular(A, B, upper=False), np.linalg.solve(lower, b)),
        (linalg.solve_triangular(A, B, upper=True), np.linalg.solve(upper, b)),
        (linalg.solve_triangular(A, B.T, upper=True, left=False), np.linalg.solve(upper.T, b).T),
        (
            linalg.solve_triangular(A / 9, B, upper=False, unitriangular=True),
            np.linalg.solve(np.tril(a / 9, -1) + np.eye(n), b),
        ),
    ):
        assert got.dtype is dtype
        scale = max(1, np.abs(expected).max())
        np.testing.assert_allclose(got.numpy() / scale, expected / scale, **near)


def test_large_matrices_without_a_result() -> None:
    A = pullback.eye(120)
    A[7, 7] = 0
    assert linalg.det(A) == 0
    assert linalg.inv_ex(A).info == linalg.solve_ex(A, A).info == linalg.cholesky_ex(A).info == 8
    with pytest.raises(linalg.LinAlgError, match="singular"):
        linalg.solve(A, pullback.ones(120))
    A[7, 7] = float("nan")
    assert linalg.inv(A).isnan().any()
