"""What operations do with a batch: one rule an operation, ``rule(op, size, batched, *args)``.

Arguments are those of the operation, values of a batch with the batch as their first dimension; ``batched`` says
which they are. Values are arrays where the batch is the only level about, else tensors: rules are written with what
serves both. A rule returns values with the batch first, or ``NotImplemented`` where the operation shall run for
each example. Elementwise operations need none: they broadcast.
"""

from __future__ import annotations

from collections.abc import Callable
from math import prod as prod_of
from typing import Any

import numpy as np

from .. import ops

RULES: dict[str, Callable[..., Any]] = {}
AT = "Please file an issue at https://github.com/pytorch/pytorch/issues if you need this feature."
REFUSED = {  # what would give results of different shapes
    "unique_values": f"vmap: We do not support batching operators that can output dynamic shape. Attempted to vmap "
    f"over aten::_unique2. {AT}",
    "unique_consecutive_values": "vmap: We do not support batching operators that can output dynamic shape. Attempted "
    f"to vmap over aten::unique_consecutive. {AT}",
}


class Refused(RuntimeError):
    """What is refused for a whole batch, though it might work for each example."""


def batch_rule(*names: str) -> Callable[[Callable], Callable]:
    """Register a rule for these operations."""

    def register(fn: Callable) -> Callable:
        for name in names:
            RULES[name] = fn
        return fn

    return register


def everywhere(x: Any, is_batched: bool, size: int) -> Any:
    """The value with a batch dimension, repeated if it has none."""
    return x if is_batched or x is None else ops.view.expand(x, (size, *x.shape))


def past_batch(dim: Any, ndim: int) -> Any:
    """A dimension of an example (or a tuple of them) as one of the batch."""
    if isinstance(dim, (tuple, list)):
        return tuple([past_batch(d, ndim) for d in dim])
    if not -max(ndim, 1) <= dim < max(ndim, 1):
        raise IndexError(
            f"Dimension out of range (expected to be in range of [{-max(ndim, 1)}, {max(ndim, 1) - 1}], but got {dim})"
        )
    return dim % ndim + 1 if ndim else 1


def along(op: Any, names: tuple[str, ...], args: tuple[Any, ...], ndim: int) -> list[Any]:
    """The arguments with the dimensions in those parameters shifted; None means all of them."""
    args_ = list(args)
    for name in names:
        i = op.params.index(name)
        args_[i] = (
            tuple(range(1, ndim + 1))
            if args_[i] is None or isinstance(args_[i], (list, tuple)) and not args_[i]
            else past_batch(args_[i], ndim)
        )
    return args_


# --- one tensor, dimensions as options --------------------------------------------------------------------------


def along_dims(*names: str) -> Callable[..., Any]:
    """The rule of operations that act along the dimensions given in these parameters."""

    def run(op: Any, size: int, batched: list[Any], x: Any, *options: Any) -> Any:
        ndim = len(x.shape) - 1
        if ndim == 0 and op.kind != "view":
            return NotImplemented
        return op.call(*along(op, names, (x, *options), ndim))

    return run


batch_rule(
    "softmax",
    "log_softmax",
    "glu",
    "cumsum",
    "cumprod",
    "logcumsumexp",
    "cummax",
    "cummin",
    "shifted",
    "neighbours",
    "argsort",
    "sort",
    "topk",
    "kthvalue",
    "max",
    "min",
    "median",
    "nanmedian",
    "mode",
    "logsumexp",
    "amax",
    "amin",
    "sum_dims",
    "mean",
    "all",
    "any",
    "count_nonzero",
    "var",
    "std",
    "var_mean",
    "std_mean",
    "unbind",
    "repeat_each",
)(along_dims("dim"))


@batch_rule("flip")
def flip(op: Any, size: int, batched: list[Any], x: Any, dims: Any) -> Any:
    return op.call(x, past_batch(dims, len(x.shape) - 1))


batch_rule("transpose")(along_dims("dim0", "dim1"))
batch_rule("diagonal")(along_dims("dim1", "dim2"))
batch_rule("unfold")(along_dims("dimension"))


@batch_rule("argmax", "argmin")
def argmax(op: Any, size: int, batched: list[Any], x: Any, dim: Any, keepdim: bool) -> Any:
    if dim is None:
        flat = op.call(x.reshape((size, -1)), 1, False)
        return flat.reshape((size,) + (1,) * (len(x.shape) - 1)) if keepdim else flat
    return NotImplemented if len(x.shape) == 1 else op.call(x, past_batch(dim, len(x.shape) - 1), keepdim)


@batch_rule("prod")
def prod(op: Any, size: int, batched: list[Any], x: Any, dim: Any, keepdim: bool, dtype: Any) -> Any:
    if dim is None:
        return op.call(x.reshape((size, -1)), 1, False, dtype)
    return NotImplemented if len(x.shape) == 1 else op.call(x, past_batch(dim, len(x.shape) - 1), keepdim, dtype)


@batch_rule("sum_all")
def sum_all(op: Any, size: int, batched: list[Any], x: Any, dtype: Any) -> Any:
    return ops.reduce.sum_dims(x, tuple(range(1, len(x.shape))), False, dtype) if len(x.shape) > 1 else NotImplemented


@batch_rule("max_all", "min_all")
def max_all(op: Any, size: int, batched: list[Any], x: Any) -> Any:
    return (ops.minmax.amax if op.name == "max_all" else ops.minmax.amin)(x.reshape((size, -1)), 1)


# --- looks ------------------------------------------------------------------------------------------------------


@batch_rule("view", "reshape_alias", "unsafe_view")
def view(op: Any, size: int, batched: list[Any], x: Any, shape: Any) -> Any:
    if -1 in shape:
        known, total = -prod_of(shape), prod_of(x.shape[1:])
        if known and total % known == 0:
            shape = [total // known if n == -1 else n for n in shape]
    return x.reshape((size, *shape))


@batch_rule("squeeze")
def squeeze(op: Any, size: int, batched: list[Any], x: Any, dim: Any) -> Any:
    ndim = len(x.shape) - 1
    if dim is None:
        dim = tuple(range(ndim))
    dims = [past_batch(d, ndim) for d in (dim if isinstance(dim, (tuple, list)) else (dim,))]
    return x.reshape([n for i, n in enumerate(x.shape) if not (i in dims and n == 1)])


@batch_rule("unsqueeze")
def unsqueeze(op: Any, size: int, batched: list[Any], x: Any, dim: int) -> Any:
    return op.call(x, past_batch(dim, len(x.shape)))


@batch_rule("t")
def t(op: Any, size: int, batched: list[Any], x: Any) -> Any:
    return x.mT if len(x.shape) == 3 else x


@batch_rule("permute")
def permute(op: Any, size: int, batched: list[Any], x: Any, dims: Any) -> Any:
    return op.call(x, (0, *past_batch(dims, len(x.shape) - 1)))


@batch_rule("expand")
def expand(op: Any, size: int, batched: list[Any], x: Any, shape: Any) -> Any:
    extra = len(shape) - (len(x.shape) - 1)
    x = x.reshape((size,) + (1,) * extra + tuple(x.shape[1:])) if extra > 0 else x
    return op.call(x, (size, *shape))


@batch_rule("basic_part", "read_part", "blank_part")
def part(op: Any, size: int, batched: list[Any], x: Any, part: Any, *name: Any) -> Any:
    return op.call(x, (slice(None), *part), *name) if part.__class__ is tuple else NotImplemented


@batch_rule("place_part")
def place_part(op: Any, size: int, batched: list[Any], x: Any, part: Any, shape: Any, name: Any) -> Any:
    return op.call(x, (slice(None), *part), (size, *shape), name) if part.__class__ is tuple else NotImplemented


@batch_rule("write_part")
def write_part(op: Any, size: int, batched: list[Any], x: Any, value: Any, part: Any, name: Any) -> Any:
    if part.__class__ is not tuple:
        return NotImplemented
    x = everywhere(x, batched[0], size)
    if batched[1]:  # the value broadcasts to the part's shape, behind the batch
        extra = len(x[(slice(None), *part)].shape) - len(value.shape)
        value = value.reshape((size,) + (1,) * max(extra, 0) + tuple(value.shape[1:]))
    return op.call(x, value, (slice(None), *part), name)


@batch_rule("as_strided")
def as_strided(op: Any, size: int, batched: list[Any], x: Any, geometry: Any) -> Any:
    # places in memory, of an example's own
    return ops.concat.stack([op.call(ops.memory.clone(x[k]), geometry) for k in range(size)])


@batch_rule("split")
def split(op: Any, size: int, batched: list[Any], x: Any, sizes: Any, dim: int, name: Any) -> Any:
    return op.call(x, sizes, past_batch(dim, len(x.shape) - 1), name)


@batch_rule(
    "conj",
    "real",
    "imag",
    "view_as_real",
    "view_as_complex",
    "clone",
    "cast",
    "isnan",
    "isinf",
    "isfinite",
    "isposinf",
    "isneginf",
    "isreal",
    "signbit",
    "bitwise_not",
    "logical_not",
    "to_decimals",
    "between",
    "threshold",
    "nan_to_num",
    "tril",
    "triu",
    "paired",
    "keep",
    "linalg_det",
    "cofactors",
    "linalg_slogdet",
    "linalg_inv_ex",
    "linalg_cholesky_ex",
    "linalg_eigh",
    "linalg_eigvalsh",
    "linalg_eig",
    "linalg_eigvals",
    "linalg_svd",
    "linalg_svdvals",
    "linalg_matrix_exp",
    "linalg_qr",
    "linalg_pinv",
    "linalg_vander",
)
def all_batched(op: Any, size: int, batched: list[Any], x: Any, *options: Any) -> Any:
    """Operations that treat each element, or each matrix in the last two dimensions, alike."""
    return op.call(x, *options) if not any(batched[1:]) else NotImplemented


# --- several tensors --------------------------------------------------------------------------------------------


@batch_rule("cat")
def cat(op: Any, size: int, batched: list[Any], xs: Any, dim: int) -> Any:
    xs = [everywhere(x, b, size) for x, b in zip(xs, batched[0])]
    return op.call(xs, past_batch(dim, max(len(x.shape) - 1 for x in xs)))


@batch_rule("stack")
def stack(op: Any, size: int, batched: list[Any], xs: Any, dim: int) -> Any:
    xs = [everywhere(x, b, size) for x, b in zip(xs, batched[0])]
    return op.call(xs, past_batch(dim, len(xs[0].shape)))


@batch_rule("matmul")
def matmul(op: Any, size: int, batched: list[Any], a: Any, b: Any) -> Any:
    na, nb = len(a.shape) - batched[0], len(b.shape) - batched[1]
    if na == 0 or nb == 0:
        return NotImplemented
    if not batched[1] and nb <= 2:  # many rows, one matrix
        if na == 1:
            return op.call(a, b)
        if nb == 2:
            return op.call(a.reshape((-1, a.shape[-1])), b).reshape((*a.shape[:-1], b.shape[-1]))
        return op.call(a, b)
    if not batched[0] and na <= 2 and nb == 1:
        return op.call(b, a.mT if na == 2 else a)
    a = ops.view.unsqueeze(a, -2) if na == 1 else a
    b = ops.view.unsqueeze(b, -1) if nb == 1 else b
    ndim = max(len(a.shape) - batched[0], len(b.shape) - batched[1])
    a, b = (
        x.reshape((size,) + (1,) * (ndim + 1 - len(x.shape)) + tuple(x.shape[1:])) if is_batched else x
        for x, is_batched in ((a, batched[0]), (b, batched[1]))
    )
    out = op.call(a, b)
    out = ops.view.squeeze(out, -2) if na == 1 else out
    return ops.view.squeeze(out, -1) if nb == 1 else out


@batch_rule("linear")
def linear(op: Any, size: int, batched: list[Any], x: Any, weight: Any, bias: Any) -> Any:
    if not batched[1] and not (bias is not None and batched[2]) and len(x.shape) > 1:
        return op.call(x, weight, bias)
    w = weight if batched[1] else ops.view.unsqueeze(weight, 0)
    if len(w.shape) != 3:
        return NotImplemented
    nx = len(x.shape) - batched[0]
    rows = x.reshape((x.shape[0] if batched[0] else 1, -1, x.shape[-1]))
    out = rows @ w.mT
    if bias is not None:
        out = out + (bias.reshape((size, 1, -1)) if batched[2] else bias)
    lead = tuple(x.shape[1:-1]) if batched[0] else tuple(x.shape[:-1])
    return out.reshape((size, *lead, weight.shape[-2])) if nx != 2 else out


@batch_rule("mse_loss", "smooth_l1_loss", "huber_loss")
def elementwise_loss(op: Any, size: int, batched: list[Any], x: Any, target: Any, *options: Any) -> Any:
    reduction, options = options[-1], options[:-1]
    x, target = everywhere(x, batched[0], size), everywhere(target, batched[1], size)
    if x.shape != target.shape:
        return NotImplemented
    each = op.call(x, target, *options, "none")
    if reduction == "none" or len(x.shape) == 1:
        return each
    if each.__class__ is np.ndarray and each.dtype in ops.reduce.ONES:
        sums = ops.reduce.sum_array(each.reshape(size, -1), (1,))
        return sums / max(prod_of(x.shape[1:]), 1) if reduction == "mean" else sums
    return getattr(ops.reduce, reduction)(each, tuple(range(1, len(x.shape))))


@batch_rule("copied")
def copied(op: Any, size: int, batched: list[Any], x: Any, other: Any) -> Any:
    x = everywhere(x, batched[0], size)
    if batched[1]:
        other = other.reshape((size,) + (1,) * (len(x.shape) - len(other.shape)) + tuple(other.shape[1:]))
    return op.call(x, other)


@batch_rule("class_shares")
def class_shares(
    op: Any, size: int, batched: list[Any], target: Any, weight: Any, classes: int, ignored: int, mean: bool, d: Any
) -> Any:
    """Shares of the mean are those of each example."""
    if weight is not None:
        return NotImplemented
    target, shares = op.call(target, None, classes, ignored, False, d)
    dims = tuple(range(1, len(shares.shape)))
    if mean and prod_of(shares.shape[1:]) > 1:
        shares = shares / ops.where.clamp(ops.reduce.sum_dims(shares, dims, True), 1)
    return target, shares


@batch_rule("nll_loss", "cross_entropy")
def class_loss(op: Any, size: int, batched: list[Any], x: Any, target: Any, shares: Any, each: bool, node: str) -> Any:
    """Examples become more rows of one batch."""
    x, target, shares = (everywhere(a, b, size) for a, b in zip((x, target, shares), batched))
    rows = len(x.shape) > 2
    lead = tuple(x.shape[:2])
    if rows:
        x, target, shares = (a.reshape((-1, *a.shape[2:])) for a in (x, target, shares))
    out = op.call(x, target, shares, True, node)
    outs = list(out) if isinstance(out, tuple) else [out]
    if rows:
        outs = [o.reshape((*lead, *o.shape[1:])) for o in outs]
    if not each and len(outs[0].shape) > 1:
        outs[0] = ops.reduce.sum_dims(outs[0], tuple(range(1, len(outs[0].shape))), False)
    return outs if isinstance(out, tuple) else outs[0]


BATCHED_MASK = (
    "vmap: We do not support batching operators that can support dynamic shape. Attempting to batch over indexing "
    "with a boolean mask."
)


# --- advanced indices -------------------------------------------------------------------------------------------


def with_batch(at: list[Any], batched: list[bool], size: int) -> list[Any] | None:
    """An advanced index for the whole batch; None where examples select different places behind slices, or by masks."""
    arrays = [k for k, i in enumerate(at) if i.__class__ is not slice]
    if arrays[-1] - arrays[0] >= len(arrays):  # NumPy moves the dimensions of indices that do not stand together
        return None
    if not any(batched):
        return [slice(None), *at]
    if any(i.__class__ is slice for i in at) or any(b and i.dtype.kind == "b" for i, b in zip(at, batched)):
        return None
    ndim = max(i.ndim - b for i, b in zip(at, batched))
    spread = [i.reshape((size,) + (1,) * (ndim + 1 - i.ndim) + i.shape[1:]) if b else i for i, b in zip(at, batched)]
    return [np.arange(size).reshape((size,) + (1,) * ndim), *spread]


def across_with_batch(x: Any, at: list[Any], batched: list[Any], size: int) -> tuple[Any, list[Any]] | None:
    """What is indexed across a dimension, and the index, for the whole batch; None where examples have such as can't be
    told as one.
    """
    (index,), (own,) = at, batched[-1]
    if index.ndim - own != len(x.shape) - batched[0]:  # of slices
        return None if own or not index.ndim else (everywhere(x, batched[0], size), at)
    return (everywhere(x, batched[0], size), [everywhere(index, own, size)]) if index.ndim > own else None


@batch_rule("index")
def index(op: Any, size: int, batched: list[Any], x: Any, at: Any, name: Any, dim: int | None) -> Any:
    if dim == ops.index.FLAT:
        return NotImplemented if any(batched[1]) else op.call(x.reshape((size, -1)), [slice(None), *at], name)
    if dim is not None:
        given = across_with_batch(x, at, batched[:2], size)
        return NotImplemented if given is None else op.call(*given, name, dim + 1)
    if any(b and i.__class__ is not slice and i.dtype.kind == "b" for i, b in zip(at, batched[1])):
        raise Refused(BATCHED_MASK)
    if not batched[0] and not any(i.__class__ is slice for i in at):
        masks = any(i.dtype.kind == "b" for i in at)
        ndim = max(i.ndim - b for i, b in zip(at, batched[1]))
        aligned = [
            i.reshape((size,) + (1,) * (ndim + 1 - i.ndim) + i.shape[1:]) if b else i for i, b in zip(at, batched[1])
        ]
        return NotImplemented if masks else op.call(x, aligned, name)
    places = with_batch(at, batched[1], size)
    return NotImplemented if places is None else op.call(everywhere(x, batched[0], size), places, name)


@batch_rule("index_accumulate")
def index_accumulate(op: Any, size: int, batched: list[Any], x: Any, at: Any, shape: Any, dim: int | None) -> Any:
    if dim == ops.index.FLAT:
        return (
            NotImplemented
            if any(batched[1])
            else op.call(x, [slice(None), *at], (size, prod_of(shape))).reshape((size, *shape))
        )
    if dim is not None:
        given = across_with_batch(x, at, batched[:2], size)
        return NotImplemented if given is None else op.call(*given, (size, *shape), dim + 1)
    places = with_batch(at, batched[1], size)
    return NotImplemented if places is None else op.call(everywhere(x, batched[0], size), places, (size, *shape))


@batch_rule("index_put_at")
def index_put_at(
    op: Any, size: int, batched: list[Any], x: Any, value: Any, at: Any, accumulate: bool, name: Any, dim: int | None
) -> Any:
    if dim == ops.index.FLAT:
        if any(batched[2]) or batched[1] and value.ndim != at[0].ndim + 1:
            return NotImplemented
        x = everywhere(x, batched[0], size)
        return op.call(x.reshape((size, -1)), value, [slice(None), *at], accumulate, name).reshape(x.shape)
    if dim is not None:
        given = across_with_batch(x, at, [batched[0], batched[2]], size)
        if given is None:
            return NotImplemented
        if batched[1] and value.ndim == 1:  # a number for each example
            value = value.reshape((size,) + (1,) * (given[0].ndim - 1))
        return op.call(given[0], value, given[1], accumulate, name, dim + 1)
    places = with_batch(at, batched[2], size)
    if places is None or batched[1] and any(i.__class__ is slice for i in at):
        return NotImplemented
    if batched[1]:
        ndim = (
            max([i.ndim for i in places if i.__class__ is not slice] + [0])
            - any(batched[2])
            + len(x.shape)
            - batched[0]
            - len(at)
        )
        value = value.reshape((size,) + (1,) * max(ndim + 1 - len(value.shape), 0) + tuple(value.shape[1:]))
    return op.call(everywhere(x, batched[0], size), value, places, accumulate, name)
