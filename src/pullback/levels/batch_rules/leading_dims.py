"""Batching of ops on each element, or on each matrix in the last two dimensions: a batch in front changes nothing."""

from __future__ import annotations

from ...ops.cholesky_qr import linalg_cholesky_ex, linalg_qr
from ...ops.compare import bitwise_not, isfinite, isinf, isnan, isneginf, isposinf, isreal, logical_not, signbit
from ...ops.complex import conj_view, imaginary_part, neg_view, paired, real_part, view_as_complex, view_as_real
from ...ops.concat import tril, triu
from ...ops.convert import cast
from ...ops.determinant import cofactors, linalg_det, linalg_matrix_exp, linalg_slogdet
from ...ops.eig_svd import linalg_eig, linalg_eigh, linalg_eigvals, linalg_eigvalsh, linalg_svd, linalg_svdvals
from ...ops.gamma_dirichlet import _sample_dirichlet, _standard_gamma
from ...ops.grid_sample import affine_moments, affine_points
from ...ops.least_squares import _pseudo_inverse
from ...ops.matrix_norm import _vander
from ...ops.memory import clone
from ...ops.pointwise import to_decimals
from ...ops.solve import linalg_inv_ex
from ...ops.where import between, keep, nan_to_num, threshold
from .registry import batch_rule, leading_dims

# each element alike
batch_rule(conj_view, neg_view, real_part, imaginary_part, paired, view_as_real, view_as_complex)(leading_dims)
batch_rule(isnan, isinf, isfinite, isposinf, isneginf, isreal, signbit, bitwise_not, logical_not)(leading_dims)
batch_rule(clone, cast, to_decimals, between, threshold, nan_to_num, keep)(leading_dims)
batch_rule(_standard_gamma, _sample_dirichlet)(leading_dims)
# each matrix alike
batch_rule(tril, triu, linalg_det, cofactors, linalg_slogdet, linalg_matrix_exp, linalg_inv_ex)(leading_dims)
batch_rule(affine_points, affine_moments)(leading_dims)
batch_rule(linalg_cholesky_ex, linalg_qr, _pseudo_inverse, _vander)(leading_dims)
batch_rule(linalg_eig, linalg_eigvals, linalg_eigh, linalg_eigvalsh, linalg_svd, linalg_svdvals)(leading_dims)
