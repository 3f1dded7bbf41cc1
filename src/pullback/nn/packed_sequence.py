"""Variable-length sequences as one tensor: padded to the longest, or packed without padding.

A :class:`PackedSequence` holds the first elements of all sequences, then the second ones, and so on, with the
longest sequence first at every step: what a recurrent network takes in one step is a slice.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

from ..base.dtypes import int64
from ..core.tensor import Tensor
from ..ops.concat import stack
from ..ops.create import as_tensor, empty_like
from ..ops.ranges import arange
from . import functional as F

__all__ = [
    "PackedSequence",
    "invert_permutation",
    "pack_padded_sequence",
    "pack_sequence",
    "pad_packed_sequence",
    "pad_sequence",
    "unpack_sequence",
    "unpad_sequence",
]


class _Packed(NamedTuple):
    data: Tensor
    batch_sizes: Tensor
    sorted_indices: Tensor | None
    unsorted_indices: Tensor | None


class PackedSequence(_Packed):
    """Sequences in a row, sorted by length; made by :func:`pack_sequence` and :func:`pack_padded_sequence`.

    Attributes:
        data: the elements, ``(sum of lengths, *)``.
        batch_sizes: how many sequences there are at each step, integers ``(longest length)``.
        sorted_indices, unsorted_indices: which sequence became which, and back; None if they were sorted.
    """

    def __new__(
        cls,
        data: Any,
        batch_sizes: Tensor | None = None,
        sorted_indices: Tensor | None = None,
        unsorted_indices: Tensor | None = None,
    ) -> PackedSequence:
        if batch_sizes is None:
            if not (isinstance(data, (list, tuple)) and len(data) == 2):
                raise AssertionError("Expected data to be a list or tuple of length 2")
            data, batch_sizes = data
        if unsorted_indices is None:
            unsorted_indices = invert_permutation(sorted_indices)
        return super().__new__(cls, data, batch_sizes, sorted_indices, unsorted_indices)

    def to(self, *args: Any, **kwargs: Any) -> PackedSequence:
        """With the data converted, as :meth:`Tensor.to` does."""
        return self._replace(data=self.data.to(*args, **kwargs))

    def double(self) -> PackedSequence:
        """With the data as float64."""
        return self._replace(data=self.data.double())

    def float(self) -> PackedSequence:
        """With the data as float32."""
        return self._replace(data=self.data.float())

    def half(self) -> PackedSequence:
        """With the data as float16."""
        return self._replace(data=self.data.half())

    def long(self) -> PackedSequence:
        """With the data as int64."""
        return self._replace(data=self.data.long())

    def int(self) -> PackedSequence:
        """With the data as int32."""
        return self._replace(data=self.data.int())

    def short(self) -> PackedSequence:
        """With the data as int16."""
        return self._replace(data=self.data.short())

    def char(self) -> PackedSequence:
        """With the data as int8."""
        return self._replace(data=self.data.char())

    def byte(self) -> PackedSequence:
        """With the data as uint8."""
        return self._replace(data=self.data.byte())

    def is_pinned(self) -> bool:
        """False."""
        return False

    def cpu(self) -> PackedSequence:
        """Itself: everything is on the CPU."""
        return self

    def cuda(self, *args: Any, **kwargs: Any) -> PackedSequence:
        """Raises: there is no such device."""
        return self._replace(data=self.data.cuda(*args, **kwargs))

    def pin_memory(self) -> PackedSequence:
        """Itself: nothing is copied to other devices."""
        return self._replace(data=self.data.pin_memory())

    @property
    def is_cuda(self) -> bool:
        """False."""
        return False


def invert_permutation(permutation: Tensor | None) -> Tensor | None:
    """Where each number stands in a permutation of 0, 1, 2, ...; None for None."""
    if permutation is None:
        return None
    inverse = empty_like(permutation)
    inverse[permutation] = arange(permutation.numel(), dtype=permutation.dtype)
    return inverse


def pack_padded_sequence(
    input: Tensor, lengths: Tensor | Sequence[int], batch_first: bool = False, enforce_sorted: bool = True
) -> PackedSequence:
    """Pack sequences that were padded to one length.

    Args:
        input: ``(T, B, *)``, or ``(B, T, *)`` with ``batch_first``.
        lengths: of each sequence, ``(B)``, from 1 to T.
        enforce_sorted: whether they have to fall already; otherwise they are sorted here and unsorted
            afterwards.

    Raises:
        RuntimeError: lengths that don't fall, are less than 1, or as many as there are not sequences.

    >>> import pullback as torch
    >>> from pullback.nn.utils.rnn import pack_padded_sequence
    >>> pack_padded_sequence(torch.tensor([[1, 4], [2, 5], [3, 0]]), [3, 2])[:2]
    (tensor([1, 4, 2, 5, 3]), tensor([2, 2, 1]))
    """
    steps: Tensor = as_tensor(lengths, dtype=int64)
    sorted_indices = None
    if not enforce_sorted:
        steps, sorted_indices = steps.sort(descending=True)
        input = input.index_select(0 if batch_first else 1, sorted_indices)
    if input.numel() == 0:
        raise RuntimeError("Cannot pack empty tensors.")
    x = input.transpose(0, 1) if batch_first else input
    if len(steps) != x.size(1):
        raise RuntimeError(
            f"Expected `len(lengths)` to be equal to batch_size, but got {len(steps)} (batch_size={x.size(1)})"
        )
    if steps.min() <= 0:
        raise RuntimeError(
            "Length of all samples has to be greater than 0, but found an element in 'lengths' that is <= 0"
        )
    if (steps[1:] > steps[:-1]).any():
        raise RuntimeError(
            "`lengths` array must be sorted in decreasing order when `enforce_sorted` is True. You can pass "
            "`enforce_sorted=False` to pack_padded_sequence and/or pack_sequence to sidestep this requirement."
        )
    if int(steps[0]) > len(x):
        raise RuntimeError(f"Expected `lengths` up to the {len(x)} steps of the input, but got {int(steps[0])}")
    x = x[: int(steps[0])]
    present = arange(len(x)).unsqueeze(1) < steps
    return PackedSequence(x[present], present.sum(1), sorted_indices)


def pad_packed_sequence(
    sequence: PackedSequence, batch_first: bool = False, padding_value: float = 0.0, total_length: int | None = None
) -> tuple[Tensor, Tensor]:
    """Undo :func:`pack_padded_sequence`.

    Args:
        padding_value: what to pad with. total_length: the length to pad to, the longest sequence's if None.

    Returns:
        the padded sequences in their first order, ``(T, B, *)`` or ``(B, T, *)``, and their lengths ``(B)``.
    """
    data, batch_sizes, _, unsorted_indices = sequence
    steps = len(batch_sizes) if total_length is None else total_length
    if steps < len(batch_sizes):
        raise ValueError(
            "Expected total_length to be at least the length of the longest sequence in input, but got "
            f"total_length={steps} and max sequence length being {len(batch_sizes)}"
        )
    present = arange(int(batch_sizes[0])) < batch_sizes.unsqueeze(1)
    padded = data.new_full((steps, *present.shape[1:], *data.shape[1:]), padding_value)
    padded[: len(batch_sizes)][present] = data
    lengths, padded = present.sum(0), padded.transpose(0, 1) if batch_first else padded
    if unsorted_indices is None:
        return padded, lengths
    return padded.index_select(0 if batch_first else 1, unsorted_indices), lengths[unsorted_indices]


def pad_sequence(
    sequences: Iterable[Tensor], batch_first: bool = False, padding_value: float = 0.0, padding_side: str = "right"
) -> Tensor:
    """Sequences of several lengths in one tensor, padded to the longest.

    Args:
        sequences: B tensors ``(length, *)``.
        padding_value: what to pad with. padding_side: ``"right"`` to pad at the end, ``"left"`` at the
            beginning.

    Returns:
        ``(longest length, B, *)``, or ``(B, longest length, *)`` with ``batch_first``.

    >>> import pullback as torch
    >>> torch.nn.utils.rnn.pad_sequence([torch.tensor([1, 2, 3]), torch.tensor([4])], batch_first=True)
    tensor([[1, 2, 3],
            [4, 0, 0]])
    """
    if not isinstance(sequences, Iterable):
        raise RuntimeError(
            f"pad_sequence: Expected iterable for input sequences, but got arg of type: {type(sequences)}"
        )
    if padding_side not in ("left", "right"):
        raise RuntimeError(f"Expected padding_side to be one of left or right, but got {padding_side}.")
    sequences = list(sequences)
    if not sequences:
        raise RuntimeError("received an empty list of sequences")
    longest = max(s.size(0) for s in sequences)
    padded = []
    for s in sequences:
        sides = [longest - s.size(0), 0] if padding_side == "left" else [0, longest - s.size(0)]
        padded.append(F.pad(s, [0] * (2 * (s.dim() - 1)) + sides, value=padding_value))
    return stack(padded, 0 if batch_first else 1)


def unpad_sequence(padded_sequences: Tensor, lengths: Tensor, batch_first: bool = False) -> list[Tensor]:
    """Undo :func:`pad_sequence`: the first ``lengths[i]`` elements of each sequence."""
    rows = padded_sequences if batch_first else padded_sequences.transpose(0, 1)
    return [row[: int(length)] for row, length in zip(rows, lengths)]


def pack_sequence(sequences: Sequence[Tensor], enforce_sorted: bool = True) -> PackedSequence:
    """Pack tensors ``(length, *)`` of several lengths.

    >>> import pullback as torch
    >>> from pullback.nn.utils.rnn import pack_sequence, unpack_sequence
    >>> packed = pack_sequence([torch.tensor([1]), torch.tensor([2, 3])], enforce_sorted=False)
    >>> packed.data, unpack_sequence(packed)
    (tensor([2, 1, 3]), [tensor([1]), tensor([2, 3])])
    """
    return pack_padded_sequence(pad_sequence(sequences), [s.size(0) for s in sequences], enforce_sorted=enforce_sorted)


def unpack_sequence(packed_sequences: PackedSequence) -> list[Tensor]:
    """Undo :func:`pack_sequence`."""
    padded, lengths = pad_packed_sequence(packed_sequences, batch_first=True)
    return unpad_sequence(padded, lengths, batch_first=True)
