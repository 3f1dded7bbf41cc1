"""Samples of linear algebra; what needs matrices of a special kind is in ``test_linalg.py``."""

from math import inf

import numpy as np

from .samples import ints, refuse, sample

# --- functions of square matrices
for op in ("linalg.inv", "linalg.det", "linalg.matrix_exp", "inverse", "det", "matrix_exp"):
    sample(op, (3, 3), complex=True)
    sample(op, (2, 3, 3), complex=True)
    sample(op, (1, 1))
    sample(op, (0, 2, 2))
for op in ("linalg.slogdet", "slogdet"):
    sample(op, (3, 3), complex=True)
    sample(op, (2, 2, 2))
sample("linalg.det", (0, 0))
sample("linalg.inv_ex", (3, 3), complex=True)
for n in (-3, -1, 0, 1, 2, 5):
    sample("linalg.matrix_power", (2, 3, 3), n, complex=n > 0)
sample("matrix_power", (3, 3), 3)

# --- equations
for shape in ((3, 2), (3,)):
    sample("linalg.solve", (3, 3), shape, complex=True)
sample("linalg.solve", (2, 3, 3), (2, 3, 2), complex=True)
sample("linalg.solve", (2, 3, 3), (2, 3), complex=True)
sample("linalg.solve", (2, 1, 3, 3), (4, 3, 2))
sample("linalg.solve", (3, 3), (2, 3), left=False, complex=True)
sample("linalg.solve", (0, 0), (0, 2))
sample("linalg.solve_ex", (3, 3), (3, 2))
for upper in (False, True):
    for unitriangular in (False, True):
        options = {"upper": upper, "unitriangular": unitriangular}
        sample("linalg.solve_triangular", (3, 3), (3, 2), low=0.5, complex=True, **options)
        sample("linalg.solve_triangular", (3, 3), (2, 2, 3), low=0.5, left=False, **options)
    sample("triangular_solve", (2, 3, 2), (3, 3), low=0.5, upper=upper, transpose=upper)
sample("linalg.tensorinv", (2, 3, 6), ind=2)
sample("linalg.tensorinv", (3, 3), ind=1)
sample("linalg.tensorsolve", (2, 3, 6), (2, 3))
sample("linalg.tensorsolve", (6, 2, 3), (2, 3), dims=(0,))

# --- least squares
for rows, columns in ((3, 3), (4, 2), (2, 4)):
    sample("linalg.pinv", (2, rows, columns), complex=True)
    sample("linalg.lstsq", (rows, columns), (rows, 2), complex=True)
    sample("linalg.lstsq", (2, rows, columns), (2, rows), driver="gelsd")
sample("pinverse", (3, 2))
sample("linalg.pinv", (0, 3))

# --- decompositions
for shape in ((3, 3), (4, 3), (3, 4), (2, 3, 2)):
    sample("linalg.lu", shape, complex=True)
    sample("linalg.lu_factor", shape)
    sample("linalg.lu_factor_ex", shape)
    sample("linalg.qr", shape, complex=True)
    sample("linalg.svdvals", shape, complex=True)
sample("linalg.qr", (3, 4), mode="complete")
sample("linalg.lu", (0, 3))
sample("linalg.qr", (0, 3))
sample("linalg.svdvals", (0, 3))
sample("qr", (3, 2), complex=True)
sample("lu", (3, 3))
for op in ("linalg.householder_product", "orgqr"):
    sample(op, (4, 3), (2,), complex=True)
    sample(op, (2, 3, 3), (2, 3))
for left in (False, True):
    for transpose in (False, True):
        sample("ormqr", (3, 2), (2,), (3, 3), left=left, transpose=transpose, complex=True)

# --- norms
for order in ("fro", "nuc", 2, -2, 1, -1, inf, -inf):
    sample("linalg.matrix_norm", (2, 3, 4), order, complex=True)
    sample("linalg.matrix_norm", (3, 2, 3), order, dim=(0, 2), keepdim=True)
    sample("linalg.norm", (3, 3), order)
for order in (None, 1, 2.5, inf):
    sample("linalg.norm", (3, 4), order, dim=1)
sample("linalg.norm", (2, 3, 4), complex=True)
sample("linalg.norm", (0, 3), "fro")
for order in (None, 2, -2, "nuc"):  # the other orders have no gradient in PyTorch: see test_linalg.py
    sample("linalg.cond", (3, 3), order, complex=True)
sample("linalg.cond", (2, 4, 3))
sample("norm", (3, 4), "nuc")
sample("nuclear_norm", (3, 4))

# --- products
sample("linalg.vecdot", (2, 3), (3,), complex=True)
sample("linalg.vecdot", (3, 2), (3, 2), dim=0)
sample("linalg.vander", (2, 3), complex=True)
sample("linalg.vander", (2,), N=4)
sample("linalg.vander", (), N=3)
sample("linalg.diagonal", (2, 3, 4), offset=1)
sample("linalg.matrix_rank", (2, 3, 4))
sample("linalg.multi_dot", [(2, 3), (3, 4), (4,)])

not_square = "A must be batches of square matrices, but they are 3 by 4 matrices"
for op in ("inv", "det", "slogdet", "eig", "eigh", "cholesky", "matrix_exp"):
    refuse(f"linalg.{op}", (3, 4), match=f"linalg.{op}: {not_square}")
    refuse(f"linalg.{op}", (3,), match=f"linalg.{op}: The input tensor A must have at least 2 dimensions")
    refuse(
        f"linalg.{op}",
        ints(3, 2, 2),
        match=f"linalg.{op}: Expected a floating point or complex tensor as input. Got Long",
    )
refuse(
    "linalg.solve",
    (3, 3),
    (4, 2),
    match=r"linalg.solve: Incompatible shapes of A and B for the equation AX = B \(3x3 and 4x2\)",
)
refuse(
    "linalg.solve",
    (2, 2),
    np.ones((2, 1), np.complex64),
    match="same dtype, but found A of type Double and B of type ComplexFloat instead",
)
refuse("linalg.qr", (3, 3), "full", match="qr received unrecognized mode 'full'")
refuse("linalg.matrix_norm", (3, 3), 3, match="linalg.matrix_norm: Order 3 not supported")
refuse("linalg.matrix_power", (3, 3), 2.5, match="integer", error=TypeError)
refuse("linalg.norm", (2, 2, 2), "fro", match="the input must be 1D or 2D. Got 3D")
refuse("linalg.tensorinv", (3, 4), 1, match="but got 4 != 3")
refuse("linalg.householder_product", (3, 4), (3,), match="greater than or equal to input.shape")
refuse("ormqr", (3, 3), (2,), (3, 3), match="tau.shape")
refuse("cholesky_solve", (3, 2), (3, 4), match=not_square)
refuse("lu_unpack", (3, 3), ints(3, 3), match="LU_pivots is expected to be")
refuse("pca_lowrank", (3, 3), 7, match="must be non-negative integer", error=ValueError)
