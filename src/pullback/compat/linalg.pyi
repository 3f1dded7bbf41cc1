# Written by scripts/stubs.py.
"""``torch.linalg``: linear algebra of matrices and batches of matrices."""

from collections.abc import Sequence
from .. import return_types
from ..base.dtypes import dtype
from ..core.tensor import Tensor
from ..core.tensor_methods import Dims, Number, Outs

from ..ops.linalg_checks import LinAlgError as LinAlgError
def cholesky(input: Tensor, *, upper: bool = False, out: Tensor | None = None) -> Tensor:
    """The lower triangular L (or the upper triangular U) with ``input = L @ L.mH`` (``U.mH @ U``)."""
def cholesky_ex(
    input: Tensor,
    upper: bool = False,
    check_errors: bool = False,
    *,
    out: Outs | None = None,
) -> return_types.linalg_cholesky_ex:
    """Cholesky decomposition of matrices ``(..., n, n)``, see `torch.linalg.cholesky`, and LAPACK's ``info``."""
def cond(A: Tensor, p: float | str | None = None, *, out: Tensor | None = None) -> Tensor:
    """Condition numbers ``norm(A) * norm(inv(A))`` of matrices ``(..., n, m)``: infinite for singular ones."""
def cross(input: Tensor, other: Tensor, dim: int = -1, *, out: Tensor | None = None) -> Tensor:
    """Vector product along a dimension of size 3: ``torch.linalg.cross``."""
def det(A: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Determinants of square matrices ``(..., n, n)``."""
def diagonal(A: Tensor, *, offset: int = 0, dim1: int = -2, dim2: int = -1) -> Tensor:
    """`torch.diagonal` of the matrices in the last two dimensions, unless others are named."""
def eig(input: Tensor, *, out: Outs | None = None) -> return_types.linalg_eig:
    """Eigenvalues and eigenvectors of square matrices ``(..., n, n)``: ``input @ V = V @ diag(L)``."""
def eigh(input: Tensor, UPLO: str = "L", *, out: Outs | None = None) -> return_types.linalg_eigh:
    """Eigenvalues and eigenvectors of Hermitian (or symmetric) matrices: ``input = V @ diag(L) @ V.mH``."""
def eigvals(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Eigenvalues of square matrices ``(..., n, n)``: complex, in no particular order."""
def eigvalsh(input: Tensor, UPLO: str = "L", *, out: Tensor | None = None) -> Tensor:
    """Eigenvalues of Hermitian (or symmetric) matrices, ascending; arguments as for `torch.linalg.eigh`."""
def householder_product(input: Tensor, tau: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The first columns of a product of reflections: Q, from what `torch.geqrf` returns."""
def inv(A: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Inverses of square matrices ``(..., n, n)``."""
def inv_ex(A: Tensor, check_errors: bool = False, *, out: Outs | None = None) -> return_types.linalg_inv_ex:
    """Inverses of square matrices ``(..., n, n)``, and LAPACK's ``info``."""
def ldl_factor(input: Tensor, *, hermitian: bool = False, out: Outs | None = None) -> return_types.linalg_ldl_factor:
    """LDL decomposition of symmetric (or Hermitian) matrices ``(..., n, n)`` in LAPACK's compact form. Not
    differentiable."""
def ldl_factor_ex(
    input: Tensor,
    hermitian: bool = False,
    check_errors: bool = False,
    *,
    out: Outs | None = None,
) -> return_types.linalg_ldl_factor_ex:
    """LDL decomposition of symmetric (or Hermitian) matrices ``(..., n, n)`` in LAPACK's compact form. Not
    differentiable."""
def ldl_solve(LD: Tensor, pivots: Tensor, B: Tensor, hermitian: bool = False, *, out: Tensor | None = None) -> Tensor:
    """Solutions of ``A X = B``, given the LDL decomposition of A. Not differentiable."""
def lstsq(
    input: Tensor,
    b: Tensor,
    rcond: float | None = None,
    driver: str | None = None,
    *,
    out: Outs | None = None,
) -> return_types.linalg_lstsq:
    """The X of least norm for which ``norm(A X - B)`` is least."""
def lu(A: Tensor, *, pivot: bool = True, out: Outs | None = None) -> return_types.linalg_lu:
    """LU decomposition ``A = P @ L @ U`` of matrices ``(..., n, m)``, with partial pivoting."""
def lu_factor(A: Tensor, *, pivot: bool = True, out: Outs | None = None) -> return_types.linalg_lu_factor:
    """LU decomposition of matrices ``(..., n, m)`` in compact form, with partial pivoting: see `torch.linalg.lu`."""
def lu_factor_ex(
    A: Tensor,
    pivot: bool = True,
    check_errors: bool = False,
    *,
    out: Outs | None = None,
) -> return_types.linalg_lu_factor_ex:
    """LU decomposition of matrices ``(..., n, m)``, see `torch.linalg.lu_factor`, and LAPACK's ``info``."""
def lu_solve(
    LU: Tensor,
    pivots: Tensor,
    B: Tensor,
    *,
    left: bool = True,
    adjoint: bool = False,
    out: Tensor | None = None,
) -> Tensor:
    """Solutions of ``A X = B``, given the LU decomposition of A."""
def matmul(input: Tensor, other: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Matrix product; the operator ``@``."""
def matrix_exp(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """``sum(A ** k / k!)`` of square matrices ``(..., n, n)``."""
def matrix_norm(
    A: Tensor,
    ord: float | str = "fro",
    dim: Dims = (-2, -1),
    keepdim: bool = False,
    *,
    dtype: dtype | None = None,
    out: Tensor | None = None,
) -> Tensor:
    """Norms of the matrices in two dimensions of a tensor."""
def matrix_power(input: Tensor, n: int, *, out: Tensor | None = None) -> Tensor:
    """Powers of square matrices ``(..., m, m)``, by repeated squaring; of their inverses, if n is negative."""
def matrix_rank(
    input: Tensor,
    tol: Number | None = None,
    hermitian: bool = False,
    *,
    atol: Tensor | Number | None = None,
    rtol: Tensor | Number | None = None,
    out: Tensor | None = None,
) -> Tensor:
    """How many singular values of matrices ``(..., n, m)`` are not 0; arguments as for `torch.linalg.pinv`."""
def multi_dot(tensors: Sequence[Tensor], *, out: Tensor | None = None) -> Tensor:
    """Product of several matrices, in the order that takes the fewest multiplications: ``torch.linalg.multi_dot``."""
def norm(
    A: Tensor,
    ord: float | str | None = None,
    dim: Dims | None = None,
    keepdim: bool = False,
    *,
    dtype: dtype | None = None,
    out: Tensor | None = None,
) -> Tensor:
    """A norm of vectors or of matrices: `vector_norm` or `matrix_norm`."""
def pinv(
    input: Tensor,
    rcond: Tensor | Number | None = None,
    hermitian: bool = False,
    *,
    atol: Tensor | Number | None = None,
    rtol: Tensor | Number | None = None,
    out: Tensor | None = None,
) -> Tensor:
    """Moore-Penrose pseudo-inverses of matrices ``(..., n, m)``."""
def qr(A: Tensor, mode: str = "reduced", *, out: Outs | None = None) -> return_types.linalg_qr:
    """QR decomposition ``A = Q @ R`` of matrices ``(..., n, m)``: Q has orthonormal columns, R is upper triangular."""
def slogdet(A: Tensor, *, out: Outs | None = None) -> return_types.linalg_slogdet:
    """Determinants of square matrices ``(..., n, n)`` as ``sign * exp(logabsdet)``, which neither over- nor
    underflows."""
def solve(A: Tensor, B: Tensor, *, left: bool = True, out: Tensor | None = None) -> Tensor:
    """Solutions of ``A X = B``, or of ``X A = B`` if not ``left``."""
def solve_ex(
    A: Tensor,
    B: Tensor,
    left: bool = True,
    check_errors: bool = False,
    *,
    out: Outs | None = None,
) -> return_types.linalg_solve_ex:
    """Solutions of ``A X = B``, see `torch.linalg.solve`, and LAPACK's ``info``."""
def solve_triangular(
    input: Tensor,
    B: Tensor,
    upper: bool,
    left: bool = True,
    unitriangular: bool = False,
    *,
    out: Tensor | None = None,
) -> Tensor:
    """Solutions of ``A X = B``, or of ``X A = B`` if not ``left``, for triangular A."""
def svd(
    A: Tensor,
    full_matrices: bool = True,
    driver: str | None = None,
    *,
    out: Outs | None = None,
) -> return_types.linalg_svd:
    """Singular value decomposition ``A = U @ diag(S) @ Vh``."""
def svdvals(A: Tensor, driver: str | None = None, *, out: Tensor | None = None) -> Tensor:
    """Singular values of matrices ``(..., n, m)``: real, descending, ``(..., min(n, m))``."""
def tensorinv(input: Tensor, ind: int = 2, *, out: Tensor | None = None) -> Tensor:
    """The inverse of the map that ``tensordot(input, other, other.ndim)`` is: its dimensions seen as those of a
    matrix."""
def tensorsolve(
    input: Tensor,
    other: Tensor,
    dims: Sequence[int] | None = None,
    *,
    out: Tensor | None = None,
) -> Tensor:
    """The X for which ``tensordot(input, X, X.ndim)`` is ``other``."""
def vander(x: Tensor, *, N: int | None = None) -> Tensor:
    """Vandermonde matrices: the powers 0 to N - 1 of ``x``, ``(..., n)``, along a new last dimension."""
def vecdot(x: Tensor, y: Tensor, *, dim: int = -1, out: Tensor | None = None) -> Tensor:
    """Inner products ``sum(conj(x) * y)`` of vectors along a dimension; the others broadcast."""
def vector_norm(
    input: Tensor,
    ord: float | str = 2,
    dim: Dims | None = None,
    keepdim: bool = False,
    dtype: dtype | None = None,
    *,
    out: Tensor | None = None,
) -> Tensor:
    """``sum(abs(input) ** ord) ** (1 / ord)`` over all elements, or along dimensions; a real number."""
