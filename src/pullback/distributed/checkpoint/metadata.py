"""What a checkpoint's index says: which parts of which tensors are where."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

__all__ = ["Chunk", "Metadata", "TensorStorageMetadata"]


@dataclass(frozen=True)
class Chunk:
    """A box of a tensor, and where its bytes are."""

    offsets: tuple[int, ...]
    sizes: tuple[int, ...]
    file: str
    place: int


@dataclass
class TensorStorageMetadata:
    """A tensor: its type, its shape, and the parts of it that were saved."""

    dtype: str
    size: tuple[int, ...]
    chunks: list[Chunk] = field(default_factory=list)


@dataclass
class Metadata:
    """A checkpoint: its tensors by name, and what is no tensor, pickled.

    Attributes:
        state_dict_metadata: tensors by their names, which are the keys of nested dicts and lists joined by points.
        objects: pickles of other values by their names.
    """

    state_dict_metadata: dict[str, TensorStorageMetadata] = field(default_factory=dict)
    objects: dict[str, Any] = field(default_factory=dict)
