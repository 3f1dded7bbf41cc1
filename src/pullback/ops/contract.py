"""Sums of products over chosen dimensions: ``einsum`` and what it can say more shortly.

Everything here is arranged into calls of ``matmul``: two tensors at a time, those first whose product grows least,
with the dimensions of each labelled. A label that both tensors have and nobody else needs is summed over by the
product; one that others still need is a batch dimension. A dimension of size 1 broadcasts, which is the same as
not being there.
"""

from __future__ import annotations

import functools
import math
import warnings
from collections.abc import Sequence
from typing import Any

from .. import op, writing
from ..complaint import noted
from ..dtypes import CPP_NAMES
from ..tensor import Tensor
from .cut import diagonal
from .matmul import matmul
from .reduce import sum
from .view import permute, reshape, t, wrapped_dim

__all__ = ["bilinear", "chain_matmul", "einsum", "inner", "kron", "tensordot"]
__all_functional__ = ["bilinear"]

Label = Any  # a letter, or the number of a dimension under an ellipsis, counted from the right


# --- two tensors with labelled dimensions -----------------------------------------------------------------------


class Term:
    """A tensor and a label for each of its dimensions; ``dtype`` is the type to sum in (None: as :func:`sum` does)."""

    def __init__(self, tensor: Any, labels: Sequence[Label], dtype: Any = None) -> None:
        self.tensor, self.labels, self.dtype = tensor, tuple(labels), dtype
        self.sizes = dict(zip(self.labels, tensor.shape))

    def size(self, label: Label) -> int:
        return self.sizes.get(label, 1)

    def summed(self, keep: Any) -> Term:
        """Without the dimensions that are not among ``keep``."""
        dims = [i for i, label in enumerate(self.labels) if label not in keep]
        return Term(sum(self.tensor, dims, dtype=self.dtype), [label for label in self.labels if label in keep]) if dims else self

    def without(self, ones: set[Label]) -> Term:
        """Without dimensions of size 1; nothing is summed, and so the type stays."""
        labels = [label for label in self.labels if label not in ones]
        return Term(reshape(self.tensor, [*map(self.size, labels)]), labels, self.dtype) if ones else self

    def ordered(self, labels: Sequence[Label]) -> Any:
        """The tensor with its dimensions in the order of ``labels``."""
        order = [self.labels.index(label) for label in labels]
        return self.tensor if order == list(range(len(order))) else permute(self.tensor, order)

    def grouped(self, batch: Sequence[Label], *groups: Sequence[Label]) -> Any:
        """The tensor with its batch dimensions first and then one dimension a group."""
        tensor = self.ordered([*batch, *(label for group in groups for label in group)])
        if all(len(group) == 1 for group in groups):
            return tensor
        return reshape(tensor, (*map(self.size, batch), *(math.prod(map(self.size, group)) for group in groups)))


def times(a: Term, b: Term, needed: set[Label]) -> Term:
    """The product of two terms, summed over the labels that nobody needs."""
    a_ones, b_ones = ({label for label in x.labels if x.size(label) == 1 != y.size(label)} for x, y in ((a, b), (b, a)))
    a = a.without(a_ones).summed(needed.union(b.labels))
    b = b.without(b_ones).summed(needed.union(a.labels))
    shared = [label for label in a.labels if label in b.labels]
    batch, within = [s for s in shared if s in needed], [s for s in shared if s not in needed]
    left, right = ([label for label in x.labels if label not in shared] for x in (a, b))
    labels = batch + left + right
    if not within:
        spread_a = reshape(a.ordered(batch + left), (*map(a.size, batch + left), *[1] * len(right)))
        spread_b = reshape(b.ordered(batch + right), (*map(b.size, batch), *[1] * len(left), *map(b.size, right)))
        return Term(spread_a * spread_b, labels)
    made = matmul(a.grouped(batch, left, within), b.grouped(batch, within, right))
    if len(left) != 1 or len(right) != 1:
        made = reshape(made, (*map(a.size, batch + left), *map(b.size, right)))
    return Term(made, labels)


@functools.lru_cache(256)
def _cheapest_pair(labels: tuple[tuple[Label, ...], ...], shapes: tuple[tuple[int, ...], ...], output: tuple[Label, ...]) -> tuple[int, int]:
    """The two of several terms whose product is larger than they are by the least."""

    def growth(pair: tuple[int, int]) -> int:
        i, j = pair
        rest = {label for k, own in enumerate(labels) if k not in pair for label in own}.union(output)
        sizes = dict(zip(labels[i], shapes[i]))
        for label, size in zip(labels[j], shapes[j]):
            sizes[label] = max(size, sizes.get(label, 1))
        return math.prod([n for label, n in sizes.items() if label in rest]) - math.prod(shapes[i]) - math.prod(shapes[j])

    return min(((i, j) for j in range(len(labels)) for i in range(j)), key=growth)


def contract(terms: list[Term], output: Sequence[Label]) -> Any:
    """The product of all terms, summed over the labels that are not in ``output``, in that order."""
    while len(terms) > 1:
        i, j = _cheapest_pair(tuple([t.labels for t in terms]), tuple([tuple(t.tensor.shape) for t in terms]), tuple(output))
        b, a = terms.pop(j), terms.pop(i)
        terms.append(times(a, b, {label for t in terms for label in t.labels}.union(output)))
    return terms[0].summed(output).ordered(output)


# --- einsum -----------------------------------------------------------------------------------------------------


def einsum(*args: Any) -> Tensor:
    """Einstein's summation convention: products of tensors, summed over the dimensions that the output does not name.

    Args:
        args: ``equation, *operands``, such as ``"bij,bjk->bik", a, b``: a letter for each dimension of each operand.
            A letter that is repeated in one operand takes the diagonal; ``...`` stands for any number of broadcasting
            dimensions. Without ``->`` the output has the letters that occur once, in alphabetical order. Or operands
            with lists of numbers: ``a, [0, 1], b, [1, 2], [0, 2]``.

    Returns:
        Tensor with the dimensions of the output.

    Raises:
        RuntimeError: for malformed equations and shapes that do not fit them.

    >>> import pullback as torch
    >>> torch.einsum("ij,j->i", torch.tensor([[1.0, 2.0], [3.0, 4.0]]), torch.tensor([1.0, 10.0]))
    tensor([21., 43.])
    """
    equation, operands = _equation_and_operands(args)
    labels, output = parsed(equation, tuple(len(x.shape) for x in operands))
    sizes: dict[Label, int] = {}
    terms = []
    for k, (x, own) in enumerate(zip(operands, labels)):
        for label, size in zip(own, x.shape):
            first = x.shape[own.index(label)]
            if size != first:
                raise RuntimeError(f"einsum(): subscript {label} is repeated for operand {k} but the sizes don't match, {size} != {first}")
            seen = sizes.get(label, 1)
            if size != seen and 1 not in (size, seen):
                spelled = label if isinstance(label, str) else "..."
                raise RuntimeError(f"einsum(): subscript {spelled} has size {size} for operand {k} which does not broadcast "
                                   f"with previously seen size {seen}")  # fmt: skip
            if size != 1:
                sizes[label] = size
        terms.append(Term(*_diagonal(x, list(own))))
    return contract(terms, output)


def _diagonal(x: Any, labels: list[Label]) -> tuple[Any, list[Label]]:
    """The diagonal over each label that occurs more than once."""
    for label in dict.fromkeys(labels):
        while labels.count(label) > 1:
            i = labels.index(label)
            j = labels.index(label, i + 1)
            x = diagonal(x, 0, i, j)  # the diagonal becomes the last dimension
            labels = labels[:i] + labels[i + 1 : j] + labels[j + 1 :] + [label]
    return x, labels


def _equation_and_operands(args: tuple[Any, ...]) -> tuple[str, Sequence[Any]]:
    if len(args) < 2:
        raise ValueError("einsum(): must specify the equation string and at least one operand, or at least one operand and "
                         "its subscripts list")  # fmt: skip
    if isinstance(args[0], str):
        operands = args[1:]
        return args[0], operands[0] if len(operands) == 1 and isinstance(operands[0], (list, tuple)) else operands

    def spelled(subscripts: Sequence[Any]) -> str:
        if not all(s is Ellipsis or 0 <= s < 52 for s in subscripts):
            raise ValueError("einsum(): subscript in subscript list is not within the valid range [0, 52)")
        return "".join("..." if s is Ellipsis else chr(ord("A" if s < 26 else "a") + s % 26) for s in subscripts)

    operands, lists = args[: len(args) // 2 * 2 : 2], args[1::2]
    return ",".join(map(spelled, lists)) + ("->" + spelled(args[-1]) if len(args) % 2 else ""), operands


@functools.lru_cache(maxsize=512)
def parsed(equation: str, ranks: tuple[int, ...]) -> tuple[list[list[Label]], list[Label]]:
    """The labels of each operand's dimensions, and those of the output."""
    inputs, arrow, output = equation.partition("->")
    spelled = inputs.split(",")
    if len(spelled) != len(ranks):
        more = "more" if len(spelled) < len(ranks) else "fewer"
        raise RuntimeError(f"einsum(): {more} operands were provided than specified in the equation")
    labels, start = [], 0
    for k, (text, rank) in enumerate(zip(spelled, ranks)):
        before, ellipsis, after = _letters(text, f"operand {k}", start)
        start += len(text) + 1
        hidden = rank - len(before) - len(after)
        if hidden < 0 or hidden and not ellipsis:
            why = ("does not match the number of dimensions ({}) for operand {} and no ellipsis was given" if not ellipsis else
                   "is more than the number of dimensions ({}) for operand {}").format(rank, k)  # fmt: skip
            raise RuntimeError(f"einsum(): the number of subscripts in the equation ({len(before) + len(after)}) {why}")
        labels.append([*before, *range(hidden, 0, -1), *after])
    flat = [label for own in labels for label in own]
    widest = max((label for label in flat if isinstance(label, int)), default=0)
    under_ellipsis = list(range(widest, 0, -1))
    if not arrow:
        letters = [label for label in flat if isinstance(label, str)]
        return labels, under_ellipsis + sorted(label for label in set(letters) if letters.count(label) == 1)
    before, ellipsis, after = _letters(output, "output", len(inputs) + 2)
    named = before + after
    for label in named:
        if named.count(label) > 1:
            raise RuntimeError(f"einsum(): output subscript {label} appears more than once in the output")
        if label not in flat:
            raise RuntimeError(f"einsum(): output subscript {label} does not appear in the equation for any input operand")
    return labels, before + (under_ellipsis if ellipsis else []) + after


def _letters(text: str, where: str, start: int) -> tuple[list[str], bool, list[str]]:
    """The letters before an ellipsis, whether there is one, and those after it."""
    before, ellipsis, after = text.partition("...")
    if "..." in after:
        which = "but an ellipsis (...)" if where == "output" else "for which an ellipsis"
        raise RuntimeError(f"einsum(): found '.' for {where} {which} was already found")
    if "." in before + after:
        raise RuntimeError(f"einsum(): found '.' for {where} that is not part of any ellipsis" + (" (...)" if where == "output" else ""))
    for i, c in enumerate(text):
        if not (c in " ." or c.isascii() and c.isalpha()):
            raise RuntimeError(f"einsum(): invalid subscript given at index {start + i} in the equation string, subscripts must be in "
                               "[a-zA-Z]")  # fmt: skip
    return [*before.replace(" ", "")], bool(ellipsis), [*after.replace(" ", "")]


# --- the rest ---------------------------------------------------------------------------------------------------


def tensordot(a: Tensor, b: Tensor, dims: Any = 2, out: Any = None) -> Tensor:
    """Products of two tensors, summed over pairs of dimensions.

    Args:
        a, b: tensors of one dtype.
        dims: a number n (the last n dimensions of ``a`` with the first n of ``b``) or two lists of dimensions.

    Returns:
        Tensor with the remaining dimensions of ``a`` and then those of ``b``.

    >>> import pullback as torch
    >>> torch.tensordot(torch.ones(2, 3), torch.ones(3, 4), dims=1).shape
    torch.Size([2, 4])
    """
    if isinstance(dims, Tensor):
        dims = dims.tolist()
    if not isinstance(dims, int):
        dims = tuple([(d,) if isinstance(d, int) else tuple(d) for d in dims])
    if a.dtype is not b.dtype:
        raise RuntimeError("both inputs should have same dtype")
    of_a, of_b, rest = _paired(a._array.shape, b._array.shape, dims)
    result = contract([Term(a, of_a, a.dtype), Term(b, of_b, b.dtype)], rest)
    return result if out is None else writing.write_out(out, result)


@functools.lru_cache(256)
def _paired(a: tuple[int, ...], b: tuple[int, ...], dims: Any) -> tuple[list[Label], list[Label], list[Label]]:
    """The labels of the dimensions of two tensors of these shapes, and of the result."""
    n, m = len(a), len(b)
    if isinstance(dims, int):
        if dims < 0:
            raise RuntimeError(f"tensordot expects dims >= 0, but got dims={dims}")
        if dims > min(n, m):
            raise RuntimeError(f"tensordot expects dims < ndim_a or ndim_b, but got dims={dims}")
        dims = range(-dims, 0), range(dims)
    if len(dims[0]) != len(dims[1]):
        raise RuntimeError("both dimension lists should have same length")
    for i, j in zip(*dims):
        if a[wrapped_dim(i, n)] != b[wrapped_dim(j, m)] and 1 not in (a[i], b[j]):
            raise RuntimeError(f"contracted dimensions need to match, but first has size {a[i]} in dim {i} and second has "
                               f"size {b[j]} in dim {j}")  # fmt: skip
    pairs = {d % m: i % n for i, d in zip(*dims)}
    for ds, rank in zip(dims, (n, m)):
        for d in ds:
            if [e % rank for e in ds].count(d % rank) > 1:
                raise RuntimeError(f"dim {d % rank} appears multiple times in the list of dims")
    of_a, of_b = [("a", i) for i in range(n)], [("a", pairs[j]) if j in pairs else ("b", j) for j in range(m)]
    return of_a, of_b, [x for x in of_a if x not in of_b] + [x for x in of_b if x not in of_a]


@op.composite
def inner(input: Tensor, other: Tensor, *, out: Any = None) -> Tensor:
    """Products of two tensors, summed over the last dimension of both; a plain product where one is 0-d.

    >>> import pullback as torch
    >>> torch.inner(torch.tensor([1.0, 2.0]), torch.tensor([[1.0, 10.0], [0.0, 1.0]]))
    tensor([21.,  2.])
    """
    if not len(input.shape) or not len(other.shape):
        result = input * other
    elif input.shape[-1] != other.shape[-1]:
        raise RuntimeError(f"inner() the last dimension must match on both input tensors but got shapes {list(input.shape)} "
                           f"and {list(other.shape)}")  # fmt: skip
    elif other._array.ndim == 2 and input.dtype is other.dtype:
        result = matmul(input, t(other))
    else:
        result = tensordot(input, other, ([-1], [-1]))
    return result if out is None else writing.write_out(out, result)


@op.composite
def kron(input: Tensor, other: Tensor, *, out: Any = None) -> Tensor:
    """Kronecker product: each element of ``input`` replaced by itself times ``other``.

    >>> import pullback as torch
    >>> torch.kron(torch.tensor([1.0, 10.0]), torch.tensor([1.0, 2.0]))
    tensor([ 1.,  2., 10., 20.])
    """
    coarse, fine, shape = _kron_shapes(input._array.shape, other._array.shape)
    result = reshape(reshape(input, coarse) * reshape(other, fine), shape)
    return result if out is None else writing.write_out(out, result)


@functools.lru_cache(256)
def _kron_shapes(a: tuple[int, ...], b: tuple[int, ...]) -> tuple[tuple[int, ...], ...]:
    """Those in which two factors multiply by broadcasting, and that of the result."""
    rank = max(len(a), len(b))
    a, b = (1,) * (rank - len(a)) + a, (1,) * (rank - len(b)) + b
    return tuple([n for size in a for n in (size, 1)]), tuple([n for size in b for n in (1, size)]), tuple([m * n for m, n in zip(a, b)])


def bilinear(input1: Tensor, input2: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    """``y[o] = x1 @ weight[o] @ x2 + bias[o]``.

    Args:
        input1, input2: ``(..., n)`` and ``(..., m)``, of the same leading dimensions.
        weight: ``(o, n, m)``.
        bias: ``(o,)``.

    Returns:
        ``(..., o)``.

    >>> import pullback as torch
    >>> torch.nn.functional.bilinear(torch.ones(2, 3), torch.ones(2, 4), torch.ones(5, 3, 4)).shape
    torch.Size([2, 5])
    """
    if len(input1.shape) != len(input2.shape):
        raise RuntimeError(f"bilinear(): input dimensions do not match: got {len(input1.shape)} and {len(input2.shape)}")
    for i, (n, m) in enumerate(zip(input1.shape[:-1], input2.shape[:-1])):
        if n != m:
            raise RuntimeError(f"bilinear(): input batch dimensions do not match at dim {i}: got {n} and {m}")
    for name, x, size in (("input1", input1, weight.shape[1]), ("input2", input2, weight.shape[2])):
        if x.shape[-1] != size:
            raise RuntimeError(f"bilinear(): {name} size does not match weight size: got {x.shape[-1]} but expected {size}")
    if bias is not None and tuple(bias.shape) != (weight.shape[0],):
        raise RuntimeError(f"bilinear(): bias size does not match weight size: got {bias.shape[0]} but expected {weight.shape[0]}")
    out = einsum("...i,oij,...j->...o", input1, weight, input2)
    return out if bias is None else out + bias


def multi_dot(tensors: Sequence[Tensor], *, out: Any = None) -> Tensor:
    """Product of several matrices, in the order that takes the fewest multiplications: ``torch.linalg.multi_dot``.

    The order is found by dynamic programming (Cormen et al., *Introduction to Algorithms*, 15.2).

    Args:
        tensors: at least two matrices of one dtype; the first and the last may be vectors.

    Raises:
        RuntimeError: for other numbers of tensors or dimensions, and for shapes that do not fit.

    >>> import pullback as torch
    >>> torch.linalg.multi_dot([torch.ones(2, 3), torch.ones(3, 4), torch.ones(4)])
    tensor([12., 12.])
    """
    n = len(tensors)
    if n < 2:
        raise RuntimeError(f"multi_dot(): expected at least 2 tensors but got {n}")
    shapes = [x._array.shape for x in tensors]
    for i, x in enumerate(tensors):
        if len(shapes[i]) != 2 and (len(shapes[i]) != 1 or 0 < i < n - 1):
            ends = {0: "the first tensor", n - 1: "the last tensor"}
            which, allowed = (ends[i], "1D or 2D") if i in ends else (f"tensor {i}", "2D")
            raise RuntimeError(f"multi_dot(): {which} must be {allowed} but got {len(shapes[i])}D")
        if x._array.dtype != tensors[0]._array.dtype:
            a, b = (CPP_NAMES[x.dtype.name] for x in (tensors[0], x))
            raise RuntimeError(f"multi_dot(): all tensors must have be the same dtype but tensor 0 is {a} and tensor {i} {b}")
    sizes = [*shapes[0], *[shape[-1] for shape in shapes[1:]]]
    if len(shapes[0]) == 1:
        sizes.insert(0, 1)
    if len(shapes[-1]) == 1:
        sizes[-1] = 1
    for i in range(1, n):
        if shapes[i][0] != sizes[i]:
            raise RuntimeError(f"multi_dot(): tensors {i - 1} and {i} with shapes {list(shapes[i - 1])} and "
                               f"{list(shapes[i])} cannot be multiplied")  # fmt: skip

    def multiply(i: int, order: Any) -> Any:
        if order is None:
            return tensors[i]
        count, left, right = order
        return matmul(multiply(i, left), multiply(i + count, right))

    result = multiply(0, _cheapest(tuple(sizes)))
    return result if out is None else writing.write_out(out, result)


@functools.lru_cache(256)
def _cheapest(sizes: tuple[int, ...]) -> Any:
    """How to multiply matrices whose sizes these are: (how many on the left, how these, how the others); None for one."""

    @functools.cache
    def best(i: int, j: int) -> tuple[int, int]:
        """The fewest multiplications for factors i to j, and the factor after which to split them."""
        if i == j:
            return 0, i
        return min((best(i, k)[0] + best(k + 1, j)[0] + sizes[i] * sizes[k + 1] * sizes[j + 1], k) for k in range(i, j))

    def order(i: int, j: int) -> Any:
        k = best(i, j)[1]
        return None if i == j else (k + 1 - i, order(i, k), order(k + 1, j))

    return order(0, len(sizes) - 2)


def chain_matmul(*matrices: Tensor, out: Any = None) -> Tensor:
    """Product of several matrices. Deprecated: see :func:`torch.linalg.multi_dot`.

    >>> import pullback as torch, warnings
    >>> with warnings.catch_warnings(action="ignore"): torch.chain_matmul(torch.ones(2, 3), torch.ones(3, 1))
    tensor([[3.],
            [3.]])
    """
    warnings.warn("torch.chain_matmul is deprecated and will be removed in a future PyTorch release. Use torch.linalg.multi_dot "
                  "instead, which accepts a list of two or more tensors rather than multiple parameters.",
                  UserWarning, stacklevel=2)  # fmt: skip
    for m in matrices:
        if len(m.shape) != 2:
            raise noted(RuntimeError(f"Tensor dimension is {len(m.shape)}, expected 2 instead."), "chain_matmul takes matrices")
    return matrices[0] if len(matrices) == 1 else multi_dot(matrices, out=out)
