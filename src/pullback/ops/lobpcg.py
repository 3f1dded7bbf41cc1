"""``lobpcg``: the largest or smallest eigenpairs of symmetric matrices, computed by a full ``eigh``.

PyTorch's iterative method approximates them. Here LAPACK computes all eigenpairs, of which ``k`` are returned; so
derivatives of any order are those of :func:`torch.linalg.eigh`.
"""

from __future__ import annotations

from typing import Any

from ..base.errors import with_notes
from ..core.tensor import Tensor
from .cholesky_qr import linalg_cholesky
from .eig_svd import linalg_eigh
from .linalg_checks import adjoint
from .solve import linalg_solve_triangular
from .sparse import to_dense

__all__ = ["lobpcg"]


def lobpcg(
    A: Tensor,
    k: int | None = None,
    B: Tensor | None = None,
    X: Tensor | None = None,
    n: int | None = None,
    iK: Tensor | None = None,
    niter: int | None = None,
    tol: float | None = None,
    largest: bool | None = None,
    method: str | None = None,
    tracker: Any = None,
    ortho_iparams: Any = None,
    ortho_fparams: Any = None,
    ortho_bparams: Any = None,
) -> tuple[Tensor, Tensor]:
    """The largest or smallest eigenvalues of symmetric matrices, ``A u = e B u``, and their eigenvectors.

    Args:
        A: ``(..., m, m)``, symmetric, dense or sparse; ``m`` at least three times ``k``.
        k: how many; default: as many as ``X`` has columns, or 1.
        B: ``(..., m, m)``, symmetric and positive definite; default: the identity.
        X: ``(..., m, n)``; without ``k``, its number of columns is ``k``.
        largest: whether the largest (the default), in descending order, or the smallest, in ascending order.
        iK, niter, tol, method, tracker, ortho_iparams, ortho_fparams, ortho_bparams: accepted; there is nothing to
        iterate.

    Returns:
        Eigenvalues ``(..., k)`` and eigenvectors ``(..., m, k)``, orthonormal with respect to ``B``.

    Raises:
        AssertionError: if ``A`` is not square.
        ValueError: for too many eigenpairs.

    >>> import pullback as torch
    >>> torch.lobpcg(torch.diag(torch.tensor([1.0, 3.0, 2.0])))[0]
    tensor([3.])
    """
    if len(A.shape) < 2 or A.shape[-2] != A.shape[-1]:
        raise AssertionError(f"A must be square, got shape {A.shape}")
    m = A.shape[-1]
    if k is None:
        k = 1 if X is None else X.shape[-1]
    if m < 3 * k:
        raise with_notes(
            ValueError(
                f"LOBPCG algorithm is not applicable when the number of A rows (={m}) is smaller than 3 x the number "
                f"of requested eigenpairs (={k})"
            ),
            "torch.linalg.eigh gives all of them.",
        )
    A = to_dense(A)
    A = (A + adjoint(A)) / 2
    lower = None
    if B is not None:  # with B = L Lᴴ these are the eigenvalues of L⁻¹ A L⁻ᴴ
        lower = linalg_cholesky(to_dense(B))
        half = linalg_solve_triangular(lower, A, upper=False)
        A = linalg_solve_triangular(lower, adjoint(half), upper=False)
    values, vectors = linalg_eigh(A)
    if largest is None or largest:
        values, vectors = values.flip(-1), vectors.flip(-1)
    values, vectors = values[..., :k], vectors[..., :k]
    return values, vectors if lower is None else linalg_solve_triangular(adjoint(lower), vectors, upper=True)
