"""Autocast op lists: which operations are cast to the lower precision type, to float32, or to their widest operand.

The lists are PyTorch's for the CPU. Operations on none of them compute in the type of their operands. Functions made of
operations are listed where PyTorch lists them as a whole; their parts are not cast then.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from ..base.dtypes import bfloat16, dtype, float16, float32, float64
from ..core.op import OpTable
from ..core.override import _flattened
from ..core.tensor import Tensor
from ..ops import (
    activation,
    attention,
    avg_pool,
    cholesky_qr,
    complex,
    concat,
    convolution,
    cross_entropy,
    ctc,
    distance,
    eig_svd,
    fft,
    functional_aliases,
    grid_sample,
    least_squares,
    linear,
    loss,
    lu,
    margin,
    matmul,
    matrix_norm,
    pad,
    pool,
    recurrent,
    reduce,
    scatter,
    solve,
    statistics,
    stft,
)

cast_rule = OpTable()  # rule(args, lower): the type that the operands are cast to; None: they stay as they are


def rule_of(fn: Any) -> Any:
    """The rule of an operation, or of a function made of operations, perhaps behind wrappers; None: it has none."""
    while fn is not None:
        rule = cast_rule.get(getattr(fn, "op", fn))
        if rule is not None:
            return rule
        fn = getattr(fn, "__wrapped__", None)
    return None


@cast_rule(activation._prelu, activation.prelu, attention._attention, attention._flash, convolution.convolution)
@cast_rule(linear._linear, recurrent.lstm)
@cast_rule(matmul._matmul, matmul.addbmm, matmul.addmm, matmul.baddbmm, matrix_norm.linalg_vecdot)
def lower_precision(args: Iterable[Any], lower: dtype) -> dtype:
    """PyTorch's ``lower_precision_fp``: products."""
    return lower


# losses
@cast_rule(cross_entropy._cross_entropy, cross_entropy._nll, ctc.ctc_loss, functional_aliases.ctc_loss)
@cast_rule(loss._bce, loss._bce_logits, loss._huber, loss._mse, loss._smooth_l1, loss._soft_margin)
@cast_rule(loss.kl_div, loss.l1_loss, loss.poisson_nll_loss)
@cast_rule(margin.cosine_embedding_loss, margin.hinge_embedding_loss, margin.margin_ranking_loss)
@cast_rule(margin.multi_margin_loss, margin.multilabel_margin_loss, margin.triplet_margin_loss)
# images and sequences
@cast_rule(avg_pool.adaptive_avg_pool3d, pool.adaptive_max_pool3d, avg_pool.avg_pool3d, pool.fractional_max_pool2d)
@cast_rule(pool.fractional_max_pool3d, pool.max_pool3d, pool.max_unpool2d, pool.max_unpool3d)
@cast_rule(grid_sample.grid_sample, pad._pad_with_copies, recurrent.elman, recurrent.gru)
# reductions and statistics
@cast_rule(concat.trace, distance._cdist, reduce.prod, statistics.nanquantile, statistics.quantile)
# Fourier transforms, complex numbers
@cast_rule(fft.fft, fft.fft2, fft.fftn, fft.hfft, fft.hfft2, fft.hfftn, fft.ifft, fft.ifft2, fft.ifftn)
@cast_rule(fft.ihfft, fft.ihfft2, fft.ihfftn, fft.irfft, fft.irfft2, fft.irfftn, fft.rfft, fft.rfft2, fft.rfftn)
@cast_rule(stft.stft, complex.polar, complex.view_as_complex)
# linear algebra
@cast_rule(cholesky_qr.cholesky, cholesky_qr.cholesky_inverse, cholesky_qr.cholesky_solve, cholesky_qr.geqrf)
@cast_rule(cholesky_qr._ormqr, cholesky_qr.orgqr, cholesky_qr.qr, cholesky_qr.linalg_cholesky)
@cast_rule(cholesky_qr.linalg_cholesky_ex, cholesky_qr.linalg_householder_product, cholesky_qr.linalg_qr)
@cast_rule(eig_svd.linalg_eig, eig_svd.linalg_eigh, eig_svd.linalg_eigvals, eig_svd.linalg_eigvalsh, eig_svd.linalg_svd)
@cast_rule(eig_svd.linalg_svdvals, eig_svd.svd, least_squares._rank, least_squares.linalg_lstsq, least_squares.pinverse)
@cast_rule(lu.lu_solve, matrix_norm.linalg_cond, solve.inverse, solve.linalg_inv, solve.linalg_inv_ex)
@cast_rule(solve.linalg_solve, solve.linalg_solve_ex, solve.linalg_tensorinv, solve.linalg_tensorsolve)
@cast_rule(solve.triangular_solve)
def full_precision(args: Iterable[Any], lower: dtype) -> dtype:
    """PyTorch's ``fp32``: operations that lose too much in half precision."""
    return float32


@cast_rule(concat.cat, concat.stack, scatter.index_copy)
def promote(args: Iterable[Any], lower: dtype) -> dtype:
    """PyTorch's ``promote``: the widest type of the operands."""
    found = {a.dtype for a in _flattened(args) if isinstance(a, Tensor) and a.is_floating_point()}
    if not found <= {float64, float32, lower}:
        raise RuntimeError("Unexpected floating ScalarType in at::autocast::prioritize")
    if float64 in found and found & {bfloat16, float16}:
        raise RuntimeError("promote type is double in at::autocast::prioritize")
    return float32 if float32 in found else lower


@cast_rule(linear.bilinear, matmul.dot, matmul.mv, matmul.vdot)
def as_they_are(args: Iterable[Any], lower: dtype) -> None:
    """Although made of products, which are cast to the lower precision."""
