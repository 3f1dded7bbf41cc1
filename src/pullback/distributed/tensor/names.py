"""How the dimensions of an operation's results come from those of its operands, from which all placements follow.

A rule gives each dimension of the operands a name, as ``einsum`` does. Operands may be cut along the dimensions of one
name together, each rank computing with its parts; the result is then cut along the dimension of that name, or, where
the operation reduces it, each rank has a term of the result. A dimension without a name (None) has to be whole.

>>> contraction("ij,jk->ik").reduced
{'j': 'sum'}
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from math import prod
from typing import Any

from ...core.op import REGISTRY
from ...core.tensor import Tensor

__all__ = ["Names", "names_of"]

Row = tuple[Any, ...]  # a name for each dimension
Shapes = Sequence[tuple[int, ...]]
Arguments = dict[str, Any]


@dataclass
class Names:
    """The names of an operation's dimensions.

    Attributes:
        operands: for each operand, a name or None for each dimension.
        result: the same of every result.
        reduced: what makes the result of the terms of the ranks, by names that the result does not have.
        terms: whether terms of operands give terms of the result: ``"all"`` if all operands are such, ``"one"`` if one
            is; ``"any"`` if terms of whatever reduction may, because values only move.
        addends: operands that are only added; of terms, one rank has these.
        lengths: of those dimensions of the result whose names have another length there; ranks must divide these.
        sizes: the shape of the result, if that is an argument.
        resize: what gives values another shape, where they are kept.
        dims: the dimensions to say explicitly, as the local shape would say others.
    """

    operands: list[Row]
    result: Row
    reduced: dict[Any, str] = field(default_factory=dict)
    terms: str = ""
    addends: frozenset[int] = frozenset()
    lengths: dict[Any, int] = field(default_factory=dict)
    sizes: tuple[int, ...] | None = None
    resize: Callable[[Any, Any], Any] | None = None
    dims: tuple[int, ...] | None = None


def _sizes(given: Any) -> tuple[int, ...]:
    """A shape as it is given: one number, several, or a sequence of them."""
    given = given if isinstance(given, (list, tuple)) else (given,)
    nested = len(given) == 1 and isinstance(given[0], (list, tuple))
    return tuple(int(n) for n in (given[0] if nested else given))


# --- elementwise --------------------------------------------------------------------------------------------------

# functions in front of elementwise operations, and made of them
BY_NAME = frozenset(
    """
    add sub rsub subtract mul multiply div divide true_divide pow float_power neg negative abs absolute clamp clip
    where masked_fill detach clone contiguous to type float double half bfloat16 int long bool cpu copy_ zero_ fill_
    zeros_like ones_like empty_like full_like rand_like randn_like lerp addcmul addcdiv normal_ uniform_ isfinite
    isnan isinf nan_to_num square relu relu6 leaky_relu prelu elu selu celu gelu silu mish softplus softsign
    tanhshrink hardtanh hardswish hardsigmoid hardshrink softshrink threshold logsigmoid sigmoid tanh dropout
    alpha_dropout bernoulli __and__ __or__ __xor__ eq ne lt le gt ge
    """.split()
)
ELEMENTWISE = BY_NAME | {name for name, op in REGISTRY.items() if op.kind == "elementwise"}
SUMS = frozenset("add sub subtract neg negative detach contiguous zeros_like empty_like to".split())
PRODUCTS = frozenset("mul multiply div divide true_divide".split())


def elementwise(shapes: Shapes, terms: str = "") -> Names:
    """Dimensions are aligned from the last; one that is stretched is whole."""
    ndim = max(len(shape) for shape in shapes)
    whole = [max(s[i - ndim + len(s)] for s in shapes if i - ndim + len(s) >= 0) for i in range(ndim)]
    operands = []
    for shape in shapes:
        first = ndim - len(shape)
        operands.append(tuple(None if n == 1 != whole[first + i] else first + i for i, n in enumerate(shape)))
    return Names(operands, tuple(range(ndim)), terms=terms)


def _elementwise(name: str, args: Arguments, shapes: Shapes) -> Names:
    number = any(isinstance(x, (int, float, complex)) for x in list(args.values())[:2])
    if name in PRODUCTS:
        first = not shapes or len(shapes) == 1 or name.startswith("mul")
        return elementwise(shapes, "one" if first and hasattr(args.get("input"), "placements") else "")
    return elementwise(shapes, "all" if name in SUMS and not number else "")


# --- reductions, and what works along dimensions -------------------------------------------------------------------

REDUCTIONS = {
    **dict.fromkeys("sum nansum any count_nonzero".split(), "sum"),
    **dict.fromkeys("prod all".split(), "product"),
    **dict.fromkeys("amax max".split(), "max"),
    **dict.fromkeys("amin min".split(), "min"),
    "mean": "avg",
}
# those that keep the shape, and those that take their dimensions away; by default along the dimension given here
ALONG = {
    **dict.fromkeys("softmax log_softmax softmin cumsum cumprod logcumsumexp cummax cummin flip roll narrow".split()),
    **dict.fromkeys("sort argsort topk diff".split(), -1),
    **dict.fromkeys("split chunk tensor_split".split(), 0),
}
AWAY = {**dict.fromkeys("max min argmax argmin median logsumexp var std norm select".split()), "unbind": 0}


def _dims(value: Any, ndim: int) -> set[int] | None:
    """Dimensions as they are given, counted from the first; None for all."""
    if value is None or value == () or value == []:
        return None
    return {int(d) % max(ndim, 1) for d in (value if isinstance(value, (list, tuple)) else [value])}


def _dim_argument(args: Arguments, default: Any) -> Any:
    for key in ("dim", "dims", "axis"):
        if key in args:
            return args[key]
    return args.get("numpy_names", {}).get("axis", default)


def along(ndim: int, dims: set[int], keep: bool | None = None) -> Names:
    """Dimensions have to be whole; they stay, or go away, or have the length 1 then (``keep``)."""
    row = tuple(None if i in dims else i for i in range(ndim))
    return Names([row], row if keep is None or keep else tuple(i for i in range(ndim) if i not in dims))


def _reduction(name: str, args: Arguments, shapes: Shapes) -> Names | None:
    ndim, keep = len(shapes[0]), bool(args.get("keepdim", args.get("numpy_names", {}).get("keepdims", False)))
    dims = _dims(_dim_argument(args, None), ndim)
    if dims is None:
        dims = set(range(ndim))
    result = tuple(None if i in dims else i for i in range(ndim) if keep or i not in dims)
    linear = "all" if name in ("sum", "mean") else ""
    return Names([tuple(range(ndim))], result, dict.fromkeys(dims, REDUCTIONS[name]), linear)


def _along(name: str, args: Arguments, shapes: Shapes) -> Names | None:
    dims = _dims(_dim_argument(args, (ALONG if name in ALONG else AWAY)[name]), len(shapes[0]))
    if dims is None or len(shapes) > 1:
        return None
    return along(len(shapes[0]), dims, None if name in ALONG else bool(args.get("keepdim", False)))


def _layer_norm(args: Arguments, shapes: Shapes) -> Names:
    ndim, last = len(shapes[0]), len(_sizes(args["normalized_shape"]))
    names = along(ndim, set(range(ndim - last, ndim)))
    return Names([*names.operands, *[(None,) * len(s) for s in shapes[1:]]], names.result)


def _loss(args: Arguments, shapes: Shapes) -> Names | None:
    """The mean, or the sum, of numbers for each element. A weighted mean may be divided by the sum of the weights."""
    found, how = elementwise(shapes), args.get("reduction", "mean")
    if how == "mean" and args.get("weight") is not None or args.get("pos_weight") is not None:
        return None
    if args.get("size_average") is not None or args.get("reduce") is not None or how == "none":
        return found if how == "none" else None
    return Names(found.operands, (), dict.fromkeys(found.result, "avg" if how == "mean" else "sum"))


# --- products -----------------------------------------------------------------------------------------------------


def contraction(equation: str, addends: frozenset[int] = frozenset()) -> Names:
    """The names in an equation of ``einsum``; what the result does not have is summed."""
    left, _, right = equation.partition("->")
    operands = [tuple(row) for row in left.split(",")]
    summed = {name for row in operands for name in row} - set(right)
    return Names(operands, tuple(right), dict.fromkeys(sorted(summed), "sum"), "" if addends else "one", addends)


def _matmul(shapes: Shapes) -> Names | None:
    if len(shapes) != 2:
        return None
    a, b = (len(s) for s in shapes)
    batch = elementwise([shapes[0][:-2], shapes[1][:-2]])
    left = (*batch.operands[0], *("mk" if a > 1 else "k"))
    right = (*batch.operands[1], *("kn" if b > 1 else "k"))
    return Names([left, right], (*batch.result, *("m" if a > 1 else ""), *("n" if b > 1 else "")), {"k": "sum"}, "one")


def _linear(shapes: Shapes) -> Names | None:
    if len(shapes) == 1 or len(shapes[1]) != 2:
        return None
    free = tuple(range(len(shapes[0]) - 1))
    operands: list[Row] = [(*free, "k"), ("n", "k"), ("n",)]
    terms = "one" if len(shapes) == 2 else ""
    return Names(operands[: len(shapes)], (*free, "n"), {"k": "sum"}, terms, frozenset({2}))


def _einsum(args: Arguments, shapes: Shapes) -> Names | None:
    equation = args["args"][0]
    if not isinstance(equation, str) or "." in equation:
        return None
    left, arrow, right = equation.replace(" ", "").partition("->")
    rows = left.split(",")
    if len(rows) != len(shapes) or any(len(set(row)) != len(row) for row in rows):
        return None
    letters = left.replace(",", "")
    return contraction(
        f"{left}->{right if arrow else ''.join(sorted(c for c in set(letters) if letters.count(c) == 1))}"
    )


def _embedding(args: Arguments, shapes: Shapes) -> Names | None:
    if len(shapes) != 2:
        return None
    ids = tuple(range(len(shapes[0])))
    return Names([ids, (None, "e")], (*ids, "e"))


def _attention(args: Arguments, shapes: Shapes) -> Names | None:
    if len(shapes) != 3 or args.get("attn_mask") is not None or args.get("enable_gqa"):
        return None
    free = tuple(range(len(shapes[0]) - 2))
    row = (*free, None, None)
    return Names([row] * 3, row)


# --- what moves values --------------------------------------------------------------------------------------------


def rearranged(order: Sequence[Any], ndim: int) -> Names:
    """The dimensions in another order; None is a new one."""
    return Names([tuple(range(ndim))], tuple(order), terms="any")


def _permute(args: Arguments, shapes: Shapes) -> Names:
    dims: Any = args.get("dims", args.get("sizes"))
    dims = dims[0] if len(dims) == 1 and isinstance(dims[0], (list, tuple)) else dims
    return rearranged([d % len(shapes[0]) for d in dims], len(shapes[0]))


def _transpose(args: Arguments, shapes: Shapes) -> Names:
    order = list(range(len(shapes[0])))
    a, b = (args[key] for key in (("dim0", "dim1") if "dim0" in args else ("axis0", "axis1")))
    order[a], order[b] = order[b], order[a]
    return rearranged(order, len(order))


def _t(args: Arguments, shapes: Shapes) -> Names:
    return rearranged(range(len(shapes[0]))[::-1], len(shapes[0]))


def _unsqueeze(args: Arguments, shapes: Shapes) -> Names:
    order: list[Any] = list(range(len(shapes[0])))
    order.insert(args["dim"] % (len(order) + 1), None)
    return rearranged(order, len(shapes[0]))


def _squeeze(args: Arguments, shapes: Shapes) -> Names:
    shape, chosen = shapes[0], _dims(args.get("dim"), len(shapes[0]))
    gone = {i for i, n in enumerate(shape) if n == 1 and (chosen is None or i in chosen)}
    row = tuple(None if i in gone else i for i in range(len(shape)))
    result = tuple(i for i in range(len(shape)) if i not in gone)
    return Names([row], result, terms="any", dims=tuple(sorted(gone)))


def _expand(args: Arguments, shapes: Shapes) -> Names:
    sizes = _sizes(args["sizes"])
    first = len(sizes) - len(shapes[0])
    row = tuple(None if n == 1 else i for i, n in enumerate(shapes[0]))
    wanted = tuple(shapes[0][i - first] if n == -1 else n for i, n in enumerate(sizes))
    return Names([row], (*[None] * first, *row), terms="any", sizes=wanted, resize=Tensor.expand)


def reshaped(old: tuple[int, ...], new: tuple[int, ...]) -> Names:
    """Dimensions that are split, or joined, go on in the first one of those that they become."""
    operand: list[Any] = [None] * len(old)
    result: list[Any] = [None] * len(new)
    lengths, i, j = {}, 0, 0
    while i < len(old) and j < len(new):
        begin, first = i, j
        a, b = old[i], new[j]
        i, j = i + 1, j + 1
        while a != b:
            if a < b and i < len(old):
                a, i = a * old[i], i + 1
            elif j < len(new):
                b, j = b * new[j], j + 1
            else:
                break
        leading = next((k for k in range(begin, i) if old[k] != 1), begin)
        target = next((k for k in range(first, j) if new[k] != 1), first)
        operand[leading], result[target] = leading, leading
        if old[leading] != new[target]:
            lengths[leading] = min(old[leading], new[target])
    return Names([tuple(operand)], tuple(result), terms="any", lengths=lengths, sizes=new, resize=Tensor.reshape)


def _reshape(name: str, args: Arguments, shapes: Shapes) -> Names | None:
    old = shapes[0]
    count = prod(old)
    if name == "flatten":
        begin, end = (args.get(key, default) % max(len(old), 1) for key, default in (("start_dim", 0), ("end_dim", -1)))
        new = (*old[:begin], prod(old[begin : end + 1]), *old[end + 1 :])
    else:
        given = args.get("size") or args.get("shape", args.get("sizes"))
        if not given or args.get("dtype") is not None or not isinstance(given[0], (int, list, tuple)):
            return None
        new = _sizes(given)
        new = tuple(count // -prod(new) if n == -1 else n for n in new)
    return reshaped(old, new) if count else None


def _getitem(args: Arguments, shapes: Shapes) -> Names | None:
    index = args["index"] if isinstance(args["index"], tuple) else (args["index"],)
    if not all(item is None or item is Ellipsis or type(item) in (int, slice) for item in index):
        return None
    ndim = len(shapes[0])
    used = sum(item is not None and item is not Ellipsis for item in index)
    if Ellipsis not in index:
        index = (*index, Ellipsis)
    row: list[Any] = []
    result: list[Any] = []
    for item in index:
        if item is None:
            result.append(None)
        elif item is Ellipsis:
            for _ in range(ndim - used):
                result.append(len(row))
                row.append(len(row))
        else:
            name = len(row) if item == slice(None) else None
            row.append(name)
            if not isinstance(item, int):
                result.append(name)
    return Names([tuple(row)], tuple(result), terms="any")


def _new(args: Arguments, shapes: Shapes) -> Names | None:
    """A new tensor of the same shape lies as the old one does."""
    given = next((args[key] for key in ("size", "args") if key in args), ())
    same = _sizes(given) == shapes[0]
    return Names([tuple(range(len(shapes[0])))], tuple(range(len(shapes[0]))), sizes=shapes[0]) if same else None


def _joined(name: str, args: Arguments, shapes: Shapes) -> Names | None:
    ndim = len(shapes[0])
    if any(len(s) != ndim for s in shapes):
        return None
    dim = args.get("dim", 0) % (ndim + (name == "stack"))
    if name == "stack":
        row: Row = tuple(range(ndim))
        return Names([row] * len(shapes), (*row[:dim], None, *row[dim:]), terms="all")
    row = tuple(None if i == dim else i for i in range(ndim))
    return Names([row] * len(shapes), row, terms="all")


# --- all of them --------------------------------------------------------------------------------------------------

PRODUCT_RULES: dict[str, Callable[[Shapes], Names | None]] = {
    "mm": lambda shapes: contraction("mk,kn->mn"),
    "bmm": lambda shapes: contraction("bmk,bkn->bmn"),
    "mv": lambda shapes: contraction("mk,k->m"),
    "dot": lambda shapes: contraction("k,k->"),
    "outer": lambda shapes: contraction("m,n->mn"),
    "matmul": _matmul,
    "linear": _linear,
}
RULES: dict[str, Callable[[Arguments, Shapes], Names | None]] = {
    "layer_norm": _layer_norm,
    "rms_norm": _layer_norm,
    "einsum": _einsum,
    "embedding": _embedding,
    "scaled_dot_product_attention": _attention,
    "permute": _permute,
    "transpose": _transpose,
    "swapaxes": _transpose,
    "t": _t,
    "unsqueeze": _unsqueeze,
    "squeeze": _squeeze,
    "expand": _expand,
    "__getitem__": _getitem,
    **dict.fromkeys("new_empty new_zeros new_ones new_full".split(), _new),
    **dict.fromkeys("mse_loss l1_loss smooth_l1_loss huber_loss".split(), _loss),
    **dict.fromkeys("binary_cross_entropy binary_cross_entropy_with_logits".split(), _loss),
}


def names_of(name: str, args: Arguments, shapes: Shapes) -> Names | None:
    """The names of the dimensions of an operation, or None if its operands have to be whole.

    Args:
        name: the public function's.
        args: its arguments by name.
        shapes: of the operands, as wholes.
    """
    if name in RULES:
        return RULES[name](args, shapes)
    if name in PRODUCT_RULES:
        return PRODUCT_RULES[name](shapes) if len(shapes) > 1 else None
    if name == "addmm" and len(shapes) == 3:
        bias = elementwise([shapes[0], (shapes[1][0], shapes[2][1])]).operands[0]
        row = tuple(None if d is None else "mn"[d] for d in bias)
        return Names([row, ("m", "k"), ("k", "n")], ("m", "n"), {"k": "sum"}, addends=frozenset({0}))
    if name in ("cat", "concat", "concatenate", "stack"):
        return _joined(name, args, shapes)
    if name in ("view", "reshape", "flatten"):
        return _reshape(name, args, shapes)
    if name in REDUCTIONS and not (name in AWAY and _dim_argument(args, None) is not None) and len(shapes) == 1:
        return _reduction(name, args, shapes)
    if name in ("max", "min") and len(shapes) == 2:
        return elementwise(shapes)
    if name == "where" and args.get("input") is None:
        return None
    if name in ALONG or name in AWAY:
        return _along(name, args, shapes)
    plain = name[:-1] if name.endswith("_") and not name.endswith("__") else name
    if plain in ELEMENTWISE or name in ELEMENTWISE:
        return _elementwise(plain, args, shapes)
    return None
