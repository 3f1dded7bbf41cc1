"""``torch.linalg``: linear algebra of matrices and batches of matrices.

>>> import pullback as torch
>>> torch.linalg.solve(torch.tensor([[2.0, 0.0], [0.0, 4.0]]), torch.tensor([1.0, 1.0]))
tensor([0.5000, 0.2500])
"""

from ..core.numpy_names import accept_numpy_names as _accept_numpys_names
from ..core.public import publish as _publish
from ..ops.cholesky_qr import linalg_cholesky as cholesky
from ..ops.cholesky_qr import linalg_cholesky_ex as cholesky_ex
from ..ops.cholesky_qr import linalg_householder_product as householder_product
from ..ops.cholesky_qr import linalg_qr as qr
from ..ops.determinant import linalg_det as det
from ..ops.determinant import linalg_matrix_exp as matrix_exp
from ..ops.determinant import linalg_matrix_power as matrix_power
from ..ops.determinant import linalg_slogdet as slogdet
from ..ops.eig_svd import linalg_eig as eig
from ..ops.eig_svd import linalg_eigh as eigh
from ..ops.eig_svd import linalg_eigvals as eigvals
from ..ops.eig_svd import linalg_eigvalsh as eigvalsh
from ..ops.eig_svd import linalg_svd as svd
from ..ops.eig_svd import linalg_svdvals as svdvals
from ..ops.einsum import multi_dot as multi_dot
from ..ops.least_squares import linalg_lstsq as lstsq
from ..ops.least_squares import linalg_matrix_rank as matrix_rank
from ..ops.least_squares import linalg_pinv as pinv
from ..ops.linalg_checks import LinAlgError as LinAlgError
from ..ops.lu import linalg_ldl_factor as ldl_factor
from ..ops.lu import linalg_ldl_factor_ex as ldl_factor_ex
from ..ops.lu import linalg_ldl_solve as ldl_solve
from ..ops.lu import linalg_lu as lu
from ..ops.lu import linalg_lu_factor as lu_factor
from ..ops.lu import linalg_lu_factor_ex as lu_factor_ex
from ..ops.lu import linalg_lu_solve as lu_solve
from ..ops.matmul import linalg_cross as cross
from ..ops.matmul import matmul as matmul
from ..ops.matrix_norm import linalg_cond as cond
from ..ops.matrix_norm import linalg_diagonal as diagonal
from ..ops.matrix_norm import linalg_matrix_norm as matrix_norm
from ..ops.matrix_norm import linalg_norm as norm
from ..ops.matrix_norm import linalg_vander as vander
from ..ops.matrix_norm import linalg_vecdot as vecdot
from ..ops.norm import vector_norm as vector_norm
from ..ops.solve import linalg_inv as inv
from ..ops.solve import linalg_inv_ex as inv_ex
from ..ops.solve import linalg_solve as solve
from ..ops.solve import linalg_solve_ex as solve_ex
from ..ops.solve import linalg_solve_triangular as solve_triangular
from ..ops.solve import linalg_tensorinv as tensorinv
from ..ops.solve import linalg_tensorsolve as tensorsolve

__all__ = [
    "LinAlgError",
    "cholesky",
    "cholesky_ex",
    "cond",
    "cross",
    "det",
    "diagonal",
    "eig",
    "eigh",
    "eigvals",
    "eigvalsh",
    "householder_product",
    "inv",
    "inv_ex",
    "ldl_factor",
    "ldl_factor_ex",
    "ldl_solve",
    "lstsq",
    "lu",
    "lu_factor",
    "lu_factor_ex",
    "lu_solve",
    "matmul",
    "matrix_exp",
    "matrix_norm",
    "matrix_power",
    "matrix_rank",
    "multi_dot",
    "norm",
    "pinv",
    "qr",
    "slogdet",
    "solve",
    "solve_ex",
    "solve_triangular",
    "svd",
    "svdvals",
    "tensorinv",
    "tensorsolve",
    "vander",
    "vecdot",
    "vector_norm",
]

_accept_numpys_names(globals())
_publish(globals(), f"{__name__.partition('.')[0]}.ops.")
