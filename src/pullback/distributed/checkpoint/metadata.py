"""What a checkpoint's index says: which parts of which tensors are where."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from ...base.shape import Size

__all__ = ["BytesStorageMetadata", "Chunk", "Metadata", "TensorStorageMetadata"]


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
    size: Size
    chunks: list[Chunk] = field(default_factory=list)


@dataclass
class BytesStorageMetadata:
    """A value that is no tensor."""


@dataclass
class Metadata:
    """A checkpoint: what it has, by name.

    Attributes:
        state_dict_metadata: what there is of a value, by its name: the keys of nested dicts and lists joined by points.
        objects: pickles of what is no tensor, by their names.
        paths: the keys themselves.
    """

    state_dict_metadata: dict[str, TensorStorageMetadata | BytesStorageMetadata] = field(default_factory=dict)
    objects: dict[str, Any] = field(default_factory=dict)
    paths: dict[str, tuple[Any, ...]] = field(default_factory=dict)

    def tensors(self) -> dict[str, TensorStorageMetadata]:
        """The tensors, by name."""
        return {k: v for k, v in self.state_dict_metadata.items() if isinstance(v, TensorStorageMetadata)}
