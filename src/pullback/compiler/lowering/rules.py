"""Operations that stay whole, for they have kernels of their own: which kernel, and what the plan hands it.

The kernels are those that the operations call by themselves (:mod:`pullback.kernels`); here they work in the plan's
memory, and without all that the operations do around them at each call. Where an operation would call no kernel a
lowering gives False, and the plan calls the operation.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ...base.layout import empty_interleaved
from ...kernels import attention, embedding, normalization
from ...kernels.codegen.kernel_builder import TYPES
from ...kernels.codegen.scalar import where
from ...ops.cross_entropy import check_classes
from ...ops.embedding import check_rows
from ..ir import Ref

if TYPE_CHECKING:
    from ..fusion import Fusion

Outs = Sequence[int | None]  # the numbers of gradients; None for one that is not asked for
# by an operation's name: a function of fusion, numbers of results, and its arguments
FORWARD: dict[str, Callable[..., bool]] = {}
# likewise: of fusion, Outs, the gradients that come in, and saved values by name
RULES: dict[str, Callable[..., bool]] = {}


def lowers(table: dict[str, Callable[..., bool]], name: str) -> Callable:
    """Register what lowers an operation of that name."""

    def put(f: Callable[..., bool]) -> Callable[..., bool]:
        table[name] = f
        return f

    return put


def rule(fusion: Fusion, op: Any, outs: Outs, g: Any, saved: Sequence[Any]) -> bool:
    """Lower a derivative rule that is one instruction."""
    lower = RULES.get(op.name)
    return lower is not None and lower(fusion, outs, g, **dict(zip(op.saved_names, saved)))


def lie_in_order(fusion: Fusion, *given: Ref) -> bool:
    """Whether values lie in memory without gaps, their last dimension the innermost."""
    return all([fusion.in_memory(x.number).like.flags.c_contiguous for x in given])


# --- normalization ----------------------------------------------------------------------------------------------


@lowers(FORWARD, "standardize")
def _standardize(
    fusion: Fusion,
    outs: Sequence[int],
    input: Ref,
    weight: Any,
    bias: Any,
    dims: Any,
    shape: Any,
    eps: float,
    centre: bool,
    node: str,
) -> bool:
    made = normalization.normalizer(fusion.value(input), fusion.value(weight), fusion.value(bias), dims, shape, centre)
    if made is None:
        return False
    call, integers, _ = made
    x = fusion.in_rows(input)
    w, b = (x if p is None else fusion.in_rows(p) for p in (weight, bias))
    mean = None if centre else fusion.filled(outs[1], 0.0)
    out, var = fusion.result(outs[0]), fusion.result(outs[2])
    written = [out, var]
    if mean is None:
        mean = fusion.result(outs[1])
        written.append(mean)
    fusion.kernel("normalize", call, [*integers, eps, w, b, x, mean, var, out], written)
    return True


@lowers(RULES, "standardize")
def _of_standardize(
    fusion: Fusion,
    outs: Outs,
    g: Any,
    input: Ref,
    weight: Any,
    bias_shape: Any,
    dims: Any,
    shape: Any,
    eps: float,
    centre: bool,
    mean: Ref,
    var: Ref,
) -> bool:
    made = normalization.normalizer_backward(
        fusion.value(g), fusion.value(input), fusion.value(weight), dims, shape, centre
    )
    if made is None:
        return False
    call, integers, by_column = made
    v = fusion.value(input)
    given = [fusion.in_rows(x) for x in (g, input, input if weight is None else weight, mean, var)]
    sums_shape = (integers[0], integers[2]) if by_column else normalization.sums_shape(integers)
    of_weight, of_bias = (fusion.room(sums_shape, v.dtype) for _ in range(2))
    out = fusion.room(v.shape, v.dtype) if outs[0] is None else fusion.result(outs[0])
    sums = [of_weight, of_bias] if by_column else [of_bias, of_weight]
    fusion.kernel("normalize_backward", call, [*integers, eps, *given, *sums, out], [*sums, out])
    summed = (0,) if by_column or integers[7] else (0, 2)
    return all([n is None or fusion.sum(part.root, summed, n) for n, part in zip(outs[1:], (of_weight, of_bias))])


# --- softmax, cross entropy -------------------------------------------------------------------------------------


def _goes_along_rows(fusion: Fusion, x: Ref, dim: int) -> bool:
    v = fusion.value(x)
    return v.dtype in TYPES and len(v.shape) > 0 and dim % len(v.shape) == len(v.shape) - 1 and 0 not in v.shape


def _softmax(logarithm: bool) -> Callable[..., bool]:
    def lower(fusion: Fusion, outs: Sequence[int], input: Ref, dim: int) -> bool:
        v = fusion.value(input)
        if not _goes_along_rows(fusion, input, dim):
            return False
        x, n = fusion.in_rows(input), v.shape[-1]
        out = fusion.result(outs[0])
        fusion.kernel(
            "softmax", normalization.softmax_kernel(v.dtype, logarithm), [math.prod(v.shape) // n, n, x, out], [out]
        )
        return True

    return lower


def _of_softmax(logarithm: bool) -> Callable[..., bool]:
    def lower(fusion: Fusion, outs: Outs, g: Ref, out: Ref, dim: int) -> bool:
        v = fusion.value(out)
        if not _goes_along_rows(fusion, out, dim) or fusion.value(g) != v or outs[0] is None:
            return False
        given, n = [fusion.in_rows(g), fusion.in_rows(out)], v.shape[-1]
        made = fusion.result(outs[0])
        integers = [math.prod(v.shape) // n, n]
        fusion.kernel(
            "softmax_backward",
            normalization.softmax_backward_kernel(v.dtype, logarithm),
            [*integers, *given, made],
            [made],
        )
        return True

    return lower


for _name in ("softmax", "log_softmax"):
    FORWARD[_name], RULES[_name] = _softmax(_name == "log_softmax"), _of_softmax(_name == "log_softmax")


def _are_classes(fusion: Fusion, input: Ref, target: Ref) -> bool:
    fits = (
        len(fusion.value(input).shape) == 2
        and _goes_along_rows(fusion, input, 1)
        and fusion.value(target).dtype == np.int64
    )
    return fits and lie_in_order(fusion, target)


def _by_share(losses: Any, shares: Any) -> Any:
    """What has no share does not count, be it infinite."""
    return where(shares == 0, 0.0, losses * shares)


@lowers(FORWARD, "class_shares")
def _class_shares(
    fusion: Fusion,
    outs: Sequence[int],
    target: Ref,
    weight: Any,
    classes: int,
    ignore_index: int,
    mean: bool,
    dtype: Any,
) -> bool:
    v = fusion.value(target)
    if weight is not None or dtype not in TYPES or 0 in v.shape or not lie_in_order(fusion, target):
        return False
    fusion.checked(check_classes, target, classes, ignore_index)
    given, counted, shares = fusion.in_memory(target.number), fusion.result(outs[0]), fusion.result(outs[1])
    integers = [1, math.prod(v.shape), ignore_index, int(mean)]
    fusion.kernel(
        "class_shares", normalization.class_shares_kernel(dtype), [*integers, given, counted, shares], [counted, shares]
    )
    return True


@lowers(FORWARD, "cross_entropy")
def _cross_entropy(
    fusion: Fusion, outs: Sequence[int], input: Ref, target: Ref, shares: Ref, each: bool, node: str
) -> bool:
    if not _are_classes(fusion, input, target):
        return False
    v = fusion.value(input)
    x, t = fusion.in_rows(input), fusion.in_rows(target)
    top, logsum, losses = fusion.result(outs[1]), fusion.result(outs[2]), fusion.room(v.shape[:1], v.dtype)
    fusion.kernel(
        "cross_entropy",
        normalization.cross_entropy_kernel(v.dtype),
        [*v.shape, x, t, top, logsum, losses],
        [top, logsum, losses],
    )
    shared = outs[0] if each else fusion.fresh(v.shape[:1], v.dtype)
    return fusion.elementwise(_by_share, [Ref(losses.root), shares], shared, None) and (
        each or fusion.sum(shared, (0,), outs[0])
    )


@lowers(RULES, "cross_entropy")
def _of_cross_entropy(
    fusion: Fusion, outs: Outs, g: Any, input: Ref, target: Ref, shares: Ref, top: Ref, logsum: Ref
) -> bool:
    if not _are_classes(fusion, input, target) or outs[0] is None:
        return False
    v = fusion.value(input)
    by_share, spread = fusion.fresh(v.shape[:1], v.dtype), fusion.fresh(v.shape, v.dtype)
    if not fusion.elementwise(lambda g, shares: g * shares, [g, shares], by_share, None):
        return False
    given = [fusion.in_rows(r) for r in (input, target, top, logsum, Ref(by_share))]
    out = fusion.result(spread)
    fusion.kernel(
        "cross_entropy_backward", normalization.cross_entropy_backward_kernel(v.dtype), [*v.shape, *given, out], [out]
    )
    of_row = fusion.column(shares)
    return fusion.elementwise(
        lambda spread, share: where(share == 0, 0.0, spread), [Ref(spread), of_row], outs[0], None
    )


# --- tables -----------------------------------------------------------------------------------------------------


def _are_rows(fusion: Fusion, v: Any, indices: Ref) -> bool:
    """Whether kernels look up rows of such a table by such numbers."""
    fits = len(v.shape) == 2 and v.dtype in TYPES and 0 not in (*v.shape, *fusion.value(indices).shape)
    return fits and fusion.value(indices).dtype == np.int64 and lie_in_order(fusion, indices)


@lowers(FORWARD, "embedding")
def _embedding(fusion: Fusion, outs: Sequence[int], weight: Ref, indices: Ref, *options: Any) -> bool:
    v = fusion.value(weight)
    if not _are_rows(fusion, v, indices):
        return False
    fusion.checked(check_rows, indices, v.shape[0])
    weights, at, out = fusion.in_rows(weight), fusion.in_rows(indices), fusion.result(outs[0])
    fusion.kernel(
        "take_rows", embedding.take_kernel(v.dtype), [math.prod(at.like.shape), v.shape[1], weights, at, out], [out]
    )
    return True


@lowers(FORWARD, "index_accumulate")
def _added_rows(
    fusion: Fusion, outs: Sequence[int], input: Ref, at: Sequence[Any], shape: tuple[int, ...], dim: int | None
) -> bool:
    """At row numbers that a table was looked up by, which are known to be right."""
    v = fusion.value(Ref(outs[0]))
    if dim is not None or len(at) != 1 or at[0].__class__ is not Ref or not _are_rows(fusion, v, at[0]):
        return False
    if not fusion.is_checked(check_rows, at[0], shape[0]):
        return False
    x, numbers, out = fusion.in_rows(input), fusion.in_rows(at[0]), fusion.result(outs[0])
    integers = [embedding.blocks(v.dtype, shape[1]), math.prod(numbers.like.shape), shape[1], shape[0]]
    fusion.kernel("add_rows", embedding.add_kernel(v.dtype), [*integers, x, numbers, out], [out])
    return True


# --- attention --------------------------------------------------------------------------------------------------


@lowers(FORWARD, "flash_attention")
def _attention(
    fusion: Fusion, outs: Sequence[int], query: Ref, key: Ref, value: Ref, causal: bool, scale: float
) -> bool:
    q, k, v = (fusion.in_memory_if(attention.lies_well, x) for x in (query, key, value))
    made = fusion.value(Ref(outs[0]))
    out, logsum = fusion.result(outs[0], empty_interleaved(made.shape, made.dtype)), fusion.result(outs[1])
    call, integers = attention.kernel(q.like, k.like, v.like, [out.like], causal)
    fusion.kernel("attention", call, [*integers, scale, q, k, v, out, logsum], [out, logsum])
    return True


@lowers(RULES, "flash_attention")
def _of_attention(
    fusion: Fusion,
    outs: Outs,
    g: Any,
    query: Ref,
    key: Ref,
    value: Ref,
    causal: bool,
    scale: float,
    result: Ref,
    logsum: Ref,
) -> bool:
    given = [fusion.in_memory_if(attention.lies_well, x) for x in (query, key, value, result, g)]
    sums = fusion.in_rows(logsum)
    made = [empty_interleaved(fusion.value(x).shape, fusion.value(x).dtype) for x in (query, key, value)]
    grads = [
        fusion.room(like.shape, like.dtype, like) if n is None else fusion.result(n, like)
        for n, like in zip(outs, made)
    ]
    q, k, v, *others = [m.like for m in (*given, *grads)]
    call, integers = attention.kernel(q, k, v, others, causal)
    fusion.kernel("attention_backward", call, [*integers, scale, *given, *grads, sums], grads)
    return True
