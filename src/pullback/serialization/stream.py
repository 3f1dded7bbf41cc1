"""``PyTorchFileReader``: an archive entry by entry, for programs that read checkpoints themselves."""

from __future__ import annotations

from typing import Any

from .archive import Reader


class PyTorchFileReader:
    """The entries of a checkpoint in the zip format.

    Args:
        file: a path, or a file open for reading.

    >>> import io
    >>> import pullback as torch
    >>> file = io.BytesIO()
    >>> torch.save(torch.zeros(2), file)
    >>> torch.PyTorchFileReader(file).get_record("data/0")
    b'\\x00\\x00\\x00\\x00\\x00\\x00\\x00\\x00'
    """

    def __init__(self, file: Any) -> None:
        self._file = file if hasattr(file, "read") else open(file, "rb")  # noqa: SIM115 (closed with this object)
        self._file.seek(0)
        self._reader = Reader(self._file)

    def has_record(self, name: str) -> bool:
        """Whether there is an entry of that name."""
        return name in self._reader

    def get_record(self, name: str) -> bytes:
        """The bytes of an entry."""
        return self._reader.read(name).tobytes()

    def get_all_records(self) -> list[str]:
        """The names of all entries."""
        return list(self._reader._entries)

    def get_storage_from_record(self, name: str, numel: int, dtype: Any) -> Any:
        """The elements of an entry, as a tensor."""
        from ..ops.buffers import frombuffer

        return frombuffer(self._reader.read(name), dtype=dtype, count=numel)
