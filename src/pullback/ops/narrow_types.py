"""Which operations take complex32, a complex number of two float16s, and the types of one byte, float8.

PyTorch stores and converts them on the CPU, and computes little in them. Views take them, and these operations:
elementwise ones compute in complex64 or float32 and round the result, most others move elements. Any other operation
refuses them, before it looks at an element (:func:`pullback.core.slow_call.refuse_narrow`).
"""

from __future__ import annotations

from ..base.dtypes import COMPLEX_HALF, NARROW
from . import (
    arithmetic,
    compare,
    complex,
    concat,
    convert,
    fill_copy,
    flip_roll,
    index,
    mask,
    memory,
    norm,
    pad,
    pointwise,
    reduce,
    scan,
    slices,
    slicing_views,
    sparse,
    sparse_csr,
    statistics,
    view,
    where,
)

COMPUTING = (
    arithmetic.elementwise_add,
    arithmetic.elementwise_sub,
    arithmetic.mul,
    arithmetic.neg,
    compare.eq,
    compare.isclose,
    compare.isfinite,
    compare.isinf,
    compare.isnan,
    compare.isreal,
    compare.ne,
    complex.abs,
    complex.elementwise_conj,
    complex.sgn,
    norm.vector_norm,
    pointwise.elementwise_addcmul,
    reduce.all,
    reduce.any,
    reduce.count_nonzero,
    scan.neighbours,
    statistics.deviation,
    statistics.deviation_mean,
    statistics.variance,
    statistics.variance_mean,
)
MOVING = (
    compare.overwritten,
    complex.complex,
    complex.paired,
    concat._block_diag,
    concat._cartesian_prod,
    concat._repeated,
    concat.cat,
    concat.repeat,
    concat.stack,
    concat.tril,
    concat.triu,
    convert.cast,
    convert.to_meta,
    fill_copy.copied,
    fill_copy.filled,
    flip_roll.flip,
    flip_roll.roll,
    index.put_at,
    index.sum_at,
    index.take_at,
    mask._masked_fill,
    memory.clone,
    pad.constant_pad_nd,
    slices.blank_part,
    slices.place_part,
    slices.read_part,
    slices.write_part,
    slicing_views.unfold_backward,
    sparse._coalesce,
    sparse._coo_tensor,
    sparse._to_coo,
    sparse._to_dense,
    sparse._values,
    sparse_csr._as_given,
    sparse_csr._to_compressed,
    sparse_csr._to_coo,
    view._unsafe_view,
    where.elementwise_where,
    where.keep,
)
COMPUTING_IN_FLOAT8 = (
    compare.eq,
    compare.ge,
    compare.gt,
    compare.isnan,
    compare.le,
    compare.lt,
    compare.ne,
    complex.abs,
)
for _fn in COMPUTING:
    _fn.op.narrow_types = frozenset((COMPLEX_HALF,))
for _fn in COMPUTING_IN_FLOAT8:
    _fn.op.narrow_types = NARROW - {COMPLEX_HALF} | _fn.op.narrow_types
for _fn in MOVING:
    _fn.op.narrow_types = NARROW
