"""``einsum``, ``tensordot``, ``inner``, ``kron``, ``multi_dot``: contractions as a sequence of ``matmul``.

Tensors have labelled dimensions and are contracted two at a time, the pair first whose product grows least. A label
that both tensors have and no other term or the output needs is summed over by the product; one that is still needed is
a batch dimension. A dimension of size 1 broadcasts, as if it were not there. The plan is cached for each equation and
the shapes.
"""

from __future__ import annotations

import functools
import math
import warnings
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

from ..base.dtypes import CPP_NAMES, promote_types
from ..base.errors import with_notes
from ..core import inplace, op
from ..core.override import overridable
from ..core.tensor import Tensor
from .matmul import matmul
from .reduce import sum
from .slicing_views import diagonal
from .view import permute, reshape, t, transpose, wrap_dim

__all__ = ["chain_matmul", "einsum", "inner", "kron", "tensordot"]

Label = Any  # a letter, or the number of a dimension: under an ellipsis counted from the right
Term = dict[Label, int]  # the sizes of a tensor's dimensions, by their labels


# --- tensors with labelled dimensions ---------------------------------------------------------------------------


class Rearrangement(NamedTuple):
    """How to prepare an operand: sum, permute, reshape, transpose, in this order; None for no change."""

    over: list[int] | None  # dimensions to sum
    order: list[int] | None  # permutation of those that remain
    shape: tuple[int, ...] | None
    turned: bool = False  # transpose the last two dimensions

    def of(self, x: Any, dtype: Any) -> Any:
        """The prepared tensor; ``dtype`` is the type to sum in (None: as :func:`sum` does)."""
        if self.over is not None:
            x = sum(x, self.over, dtype=dtype)
        if self.order is not None:
            x = permute(x, self.order)
        if self.shape is not None:
            x = reshape(x, self.shape)
        return transpose(x, -2, -1) if self.turned else x


class Step(NamedTuple):
    """The product of two of several terms; it replaces them, at the end of the list."""

    first: int
    second: int
    forms: tuple[Rearrangement, Rearrangement]
    by_element: bool  # elementwise product, else matmul
    shape: tuple[int, ...] | None  # to reshape the product to, if necessary


def _sizes(term: Term, labels: Iterable[Label]) -> tuple[int, ...]:
    return tuple([term[label] for label in labels])


def _rearrangement(
    term: Term, order: Sequence[Label], shape: tuple[int, ...] | None = None, turned: bool = False
) -> Rearrangement:
    """The dimensions in this order, then reshaped to ``shape``, if given. Other dimensions are summed, or dropped by
    the reshape where their size is 1.
    """
    over = [i for i, label in enumerate(term) if label not in order and (shape is None or term[label] != 1)]
    rest = [label for i, label in enumerate(term) if i not in over]
    places = None
    if [label for label in rest if label in order] != list(order):
        places = [rest.index(label) for label in [*order, *(label for label in rest if label not in order)]]
        rest = [rest[i] for i in places]
    return Rearrangement(over or None, places, None if shape == _sizes(term, rest) else shape, turned)


def _as_matrix(term: Term, batch: list[Label], rows: list[Label], columns: list[Label]) -> Rearrangement:
    """A batch of matrices, or a vector where there would be one row or one column and no batch; transposed rather than
    copied where the dimensions are in that order.
    """
    present = [label for label in term if label in batch + rows + columns]
    turned = len(rows) > 0 < len(columns) and len(rows + columns) > 2 and present == batch + columns + rows
    groups = (columns, rows) if turned else (rows, columns)
    shape = (*_sizes(term, batch), *[math.prod(_sizes(term, group)) for group in groups if group or batch])
    return _rearrangement(term, [*batch, *groups[0], *groups[1]], shape, turned)


def _contract_pair(
    a: Term, b: Term, needed: set[Label]
) -> tuple[tuple[Rearrangement, Rearrangement], bool, tuple[int, ...] | None, Term]:
    """The product of two terms, summed over the labels that are not needed: the fields of a :class:`Step`, and the
    product's dimensions.

    A dimension of size 1 is ignored where the other term has a larger one of its label, or the label is not needed; as
    it is not summed, it does not change the dtype.
    """
    of_a, of_b = (
        [
            label
            for label, n in x.items()
            if (n != 1 or y.get(label, 1) == 1 if label in needed else n != 1 != y.get(label, 1))
        ]
        for x, y in ((a, b), (b, a))
    )
    shared = [label for label in of_a if label in of_b]
    batch, within = [label for label in shared if label in needed], [label for label in shared if label not in needed]
    left, right = ([label for label in own if label not in shared] for own in (of_a, of_b))
    made = {label: (a if label in of_a else b)[label] for label in batch + left + right}
    if within:
        computed = (*_sizes(a, batch), *[math.prod(_sizes(made, group)) for group in (left, right) if group or batch])
        shape = tuple(made.values())
        return (
            (_as_matrix(a, batch, left, within), _as_matrix(b, batch, within, right)),
            False,
            None if shape == computed else shape,
            made,
        )
    apart = [1] * len(left) if batch else ()  # without a batch broadcasting adds them
    forms = (
        _rearrangement(a, batch + left, (*_sizes(a, batch + left), *[1] * len(right))),
        _rearrangement(b, batch + right, (*_sizes(b, batch), *apart, *_sizes(b, right))),
    )
    return forms, True, None, made


@functools.lru_cache(512)
def _contraction_plan(
    labels: tuple[tuple[Label, ...], ...], shapes: tuple[tuple[int, ...], ...], output: tuple[Label, ...]
) -> tuple[list[Step], Rearrangement]:
    """The steps that contract terms with these dimensions, and the final rearrangement."""
    terms, steps = [dict(zip(own, shape)) for own, shape in zip(labels, shapes)], []
    while len(terms) > 1:
        first, second = min(
            ((i, j) for j in range(len(terms)) for i in range(j)),
            key=lambda pair: _growth(terms, pair[0], pair[1], output),
        )
        rest = [term for k, term in enumerate(terms) if k not in (first, second)]
        needed = {label for term in rest for label in term}.union(output)
        for i, j in ((second, first), (first, second)):  # the order whose last product needs no permutation, if any
            *step, made = _contract_pair(terms[i], terms[j], needed)
            if not rest and tuple(made) == output:
                break
        steps.append(Step(i, j, *step))
        terms = [*rest, made]
    return steps, _rearrangement(terms[0], output)


def _growth(terms: list[Term], i: int, j: int, output: Sequence[Label]) -> int:
    """By how much the product of two of several terms is larger than the two."""
    needed = {label for k, own in enumerate(terms) if k not in (i, j) for label in own}.union(output)
    a, b = terms[i], terms[j]
    made = [max(a.get(label, 1), b.get(label, 1)) for label in a | b if label in needed]
    return math.prod(made) - math.prod(a.values()) - math.prod(b.values())


def contract(
    tensors: Sequence[Any], labels: tuple[tuple[Label, ...], ...], output: tuple[Label, ...], dtype: Any = None
) -> Any:
    """The product of all tensors, summed over the labels that are not in ``output``, in that order."""
    steps, last = _contraction_plan(labels, tuple([x._array.shape for x in tensors]), output)
    for first, second, (of_a, of_b), by_element, shape in steps:
        a, b = of_a.of(tensors[first], dtype), of_b.of(tensors[second], dtype)
        made = _product(a, b) if by_element else matmul(a, b)
        rest = [x for k, x in enumerate(tensors) if k != first and k != second] if len(tensors) > 2 else []
        tensors = [*rest, made if shape is None else reshape(made, shape)]
    return last.of(tensors[0], dtype)


def _product(a: Any, b: Any) -> Any:
    """The product by elements. An operand whose dimensions, of size 1, were dropped has no lower rank for that."""
    if isinstance(a, Tensor) and isinstance(b, Tensor) and a.dtype is not b.dtype:
        d = promote_types(a.dtype, b.dtype)
        a, b = a.to(d), b.to(d)
    return a * b


# --- einsum -----------------------------------------------------------------------------------------------------


@overridable
def einsum(*args: Any) -> Tensor:
    """Einstein's summation convention: products of tensors, summed over the dimensions that the output does not name.

    Args:
        args: ``equation, *operands``, such as ``"bij,bjk->bik", a, b``: a letter for each dimension of each operand.
            A letter that is repeated in one operand takes the diagonal; ``...`` matches any number of broadcasting
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
    labels, output, repeated = _einsum_labels(equation, tuple([x._array.shape for x in operands]))
    if repeated:
        terms = [_diagonal(x, list(own)) for x, own in zip(operands, labels)]
        operands, labels = [x for x, _ in terms], tuple([tuple(own) for _, own in terms])
    return contract(operands, labels, output)


def _one_by_one(*args: Any) -> tuple[Any, ...]:
    """Operands that came as a list."""
    return (args[0], *args[1]) if len(args) == 2 and isinstance(args[1], (list, tuple)) else args


einsum.as_recorded = _one_by_one


@functools.lru_cache(maxsize=512)
def _einsum_labels(
    equation: str, shapes: tuple[tuple[int, ...], ...]
) -> tuple[tuple[tuple[Label, ...], ...], tuple[Label, ...], bool]:
    """The labels of the operands' dimensions and of the output, and whether one repeats within an operand."""
    labels, output = parse_equation(equation, tuple(map(len, shapes)))
    sizes: dict[Label, int] = {}
    for k, (own, shape) in enumerate(zip(labels, shapes)):
        for label, size in zip(own, shape):
            first = shape[own.index(label)]
            if size != first:
                raise RuntimeError(
                    f"einsum(): subscript {label} is repeated for operand {k} but the sizes don't match, {size} != "
                    f"{first}"
                )
            seen = sizes.get(label, 1)
            if size != seen and 1 not in (size, seen):
                spelled = label if isinstance(label, str) else "..."
                raise RuntimeError(
                    f"einsum(): subscript {spelled} has size {size} for operand {k} which does not broadcast "
                    f"with previously seen size {seen}"
                )
            if size != 1:
                sizes[label] = size
    return tuple(map(tuple, labels)), tuple(output), any(len(set(own)) < len(own) for own in labels)


def _diagonal(x: Any, labels: list[Label]) -> tuple[Any, list[Label]]:
    """The tensor with the diagonal taken over each repeated label."""
    for label in dict.fromkeys(labels):
        while labels.count(label) > 1:
            i = labels.index(label)
            j = labels.index(label, i + 1)
            x = diagonal(x, 0, i, j)  # the diagonal becomes the last dimension
            labels = labels[:i] + labels[i + 1 : j] + labels[j + 1 :] + [label]
    return x, labels


def _equation_and_operands(args: tuple[Any, ...]) -> tuple[str, Sequence[Any]]:
    if len(args) < 2:
        raise ValueError(
            "einsum(): must specify the equation string and at least one operand, or at least one operand and "
            "its subscripts list"
        )
    if isinstance(args[0], str):
        operands = args[1:]
        return args[0], operands[0] if len(operands) == 1 and isinstance(operands[0], (list, tuple)) else operands

    def spelled(subscripts: Sequence[Any]) -> str:
        if not all(s is Ellipsis or 0 <= s < 52 for s in subscripts):
            raise ValueError("einsum(): subscript in subscript list is not within the valid range [0, 52)")
        return "".join("..." if s is Ellipsis else chr(ord("A" if s < 26 else "a") + s % 26) for s in subscripts)

    operands, lists = args[: len(args) // 2 * 2 : 2], args[1::2]
    return ",".join(map(spelled, lists)) + ("->" + spelled(args[-1]) if len(args) % 2 else ""), operands


def parse_equation(equation: str, ranks: tuple[int, ...]) -> tuple[list[list[Label]], list[Label]]:
    """The labels of each operand's dimensions, and those of the output."""
    inputs, arrow, output = equation.partition("->")
    spelled = inputs.split(",")
    if len(spelled) != len(ranks):
        more = "more" if len(spelled) < len(ranks) else "fewer"
        raise RuntimeError(f"einsum(): {more} operands were provided than specified in the equation")
    labels, start = [], 0
    for k, (text, rank) in enumerate(zip(spelled, ranks)):
        before, ellipsis, after = _split_at_ellipsis(text, f"operand {k}", start)
        start += len(text) + 1
        hidden = rank - len(before) - len(after)
        if hidden < 0 or hidden and not ellipsis:
            why = (
                "does not match the number of dimensions ({}) for operand {} and no ellipsis was given"
                if not ellipsis
                else "is more than the number of dimensions ({}) for operand {}"
            ).format(rank, k)
            raise RuntimeError(f"einsum(): the number of subscripts in the equation ({len(before) + len(after)}) {why}")
        labels.append([*before, *range(hidden, 0, -1), *after])
    flat = [label for own in labels for label in own]
    widest = max((label for label in flat if isinstance(label, int)), default=0)
    under_ellipsis = list(range(widest, 0, -1))
    if not arrow:
        letters = [label for label in flat if isinstance(label, str)]
        return labels, under_ellipsis + sorted(label for label in set(letters) if letters.count(label) == 1)
    before, ellipsis, after = _split_at_ellipsis(output, "output", len(inputs) + 2)
    named = before + after
    for label in named:
        if named.count(label) > 1:
            raise RuntimeError(f"einsum(): output subscript {label} appears more than once in the output")
        if label not in flat:
            raise RuntimeError(
                f"einsum(): output subscript {label} does not appear in the equation for any input operand"
            )
    return labels, before + (under_ellipsis if ellipsis else []) + after


def _split_at_ellipsis(text: str, where: str, start: int) -> tuple[list[str], bool, list[str]]:
    """The letters before an ellipsis, whether there is one, and those after it."""
    before, ellipsis, after = text.partition("...")
    if "..." in after:
        which = "but an ellipsis (...)" if where == "output" else "for which an ellipsis"
        raise RuntimeError(f"einsum(): found '.' for {where} {which} was already found")
    if "." in before + after:
        raise RuntimeError(
            f"einsum(): found '.' for {where} that is not part of any ellipsis"
            + (" (...)" if where == "output" else "")
        )
    for i, c in enumerate(text):
        if not (c in " ." or c.isascii() and c.isalpha()):
            raise RuntimeError(
                f"einsum(): invalid subscript given at index {start + i} in the equation string, subscripts must be in "
                "[a-zA-Z]"
            )
    return [*before.replace(" ", "")], bool(ellipsis), [*after.replace(" ", "")]


# --- the rest ---------------------------------------------------------------------------------------------------


@overridable
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
    result = contract((a, b), *_tensordot_labels(a._array.shape, b._array.shape, dims), a.dtype)
    return result if out is None else inplace.write_out(out, result)


@functools.lru_cache(256)
def _tensordot_labels(
    a: tuple[int, ...], b: tuple[int, ...], dims: Any
) -> tuple[tuple[tuple[Label, ...], ...], tuple[Label, ...]]:
    """The labels of both tensors' dimensions, and of the result's."""
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
        if a[wrap_dim(i, n)] != b[wrap_dim(j, m)] and 1 not in (a[i], b[j]):
            raise RuntimeError(
                f"contracted dimensions need to match, but first has size {a[i]} in dim {i} and second has "
                f"size {b[j]} in dim {j}"
            )
    pairs = {d % m: i % n for i, d in zip(*dims)}
    for ds, rank in zip(dims, (n, m)):
        for d in ds:
            if [e % rank for e in ds].count(d % rank) > 1:
                raise RuntimeError(f"dim {d % rank} appears multiple times in the list of dims")
    of_a, of_b = tuple(range(n)), tuple([pairs.get(j, n + j) for j in range(m)])
    return (of_a, of_b), tuple([label for label in of_a + of_b if (label in of_a) != (label in of_b)])


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
        raise RuntimeError(
            f"inner() the last dimension must match on both input tensors but got shapes {list(input.shape)} "
            f"and {list(other.shape)}"
        )
    elif other._array.ndim == 2 and input.dtype is other.dtype:
        result = matmul(input, t(other))
    else:
        result = tensordot(input, other, ([-1], [-1]))
    return result if out is None else inplace.write_out(out, result)


@op.composite
def kron(input: Tensor, other: Tensor, *, out: Any = None) -> Tensor:
    """Kronecker product: each element of ``input`` replaced by itself times ``other``.

    >>> import pullback as torch
    >>> torch.kron(torch.tensor([1.0, 10.0]), torch.tensor([1.0, 2.0]))
    tensor([ 1.,  2., 10., 20.])
    """
    coarse, fine, shape = _kron_shapes(input._array.shape, other._array.shape)
    result = reshape(reshape(input, coarse) * (other if fine is None else reshape(other, fine)), shape)
    return result if out is None else inplace.write_out(out, result, check=inplace.castable)


@functools.lru_cache(256)
def _kron_shapes(
    a: tuple[int, ...], b: tuple[int, ...]
) -> tuple[tuple[int, ...], tuple[int, ...] | None, tuple[int, ...]]:
    """The shapes to broadcast the factors in (None: the second as it is), and the shape of the result."""
    rank, given = max(len(a), len(b)), b
    a, b = (1,) * (rank - len(a)) + a, (1,) * (rank - len(b)) + b
    fine = tuple([n for size in b for n in (1, size)])
    return (
        tuple([n for size in a for n in (size, 1)]),
        fine if len(given) != 1 else None,
        tuple([m * n for m, n in zip(a, b)]),
    )


@overridable
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
            raise RuntimeError(
                f"multi_dot(): all tensors must have be the same dtype but tensor 0 is {a} and tensor {i} {b}"
            )
    sizes = [*shapes[0], *[shape[-1] for shape in shapes[1:]]]
    if len(shapes[0]) == 1:
        sizes.insert(0, 1)
    if len(shapes[-1]) == 1:
        sizes[-1] = 1
    for i in range(1, n):
        if shapes[i][0] != sizes[i]:
            raise RuntimeError(
                f"multi_dot(): tensors {i - 1} and {i} with shapes {list(shapes[i - 1])} and "
                f"{list(shapes[i])} cannot be multiplied"
            )

    def multiply(i: int, order: Any) -> Any:
        if order is None:
            return tensors[i]
        count, left, right = order
        return matmul(multiply(i, left), multiply(i + count, right))

    result = multiply(0, _multiplication_order(tuple(sizes)))
    return result if out is None else inplace.write_out(out, result)


@functools.lru_cache(256)
def _multiplication_order(sizes: tuple[int, ...]) -> Any:
    """The cheapest order to multiply a chain of matrices, as a tree: (how many on the left, left tree, right tree);
    None for a single matrix.
    """

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


@overridable
def chain_matmul(*matrices: Tensor, out: Any = None) -> Tensor:
    """Product of several matrices. Deprecated: see :func:`torch.linalg.multi_dot`.

    >>> import pullback as torch, warnings
    >>> with warnings.catch_warnings(action="ignore"): torch.chain_matmul(torch.ones(2, 3), torch.ones(3, 1))
    tensor([[3.],
            [3.]])
    """
    warnings.warn(
        "torch.chain_matmul is deprecated and will be removed in a future PyTorch release. Use torch.linalg.multi_dot "
        "instead, which accepts a list of two or more tensors rather than multiple parameters.",
        UserWarning,
        stacklevel=2,
    )
    if not matrices:
        raise RuntimeError("chain_matmul(): Expected one or more matrices")
    for m in matrices:
        if len(m.shape) != 2:
            raise with_notes(
                RuntimeError(f"Tensor dimension is {len(m.shape)}, expected 2 instead."), "chain_matmul takes matrices"
            )
    if len(matrices) > 1:
        return multi_dot(matrices, out=out)
    return matrices[0] if out is None else inplace.write_out(out, matrices[0], check=inplace.castable)
