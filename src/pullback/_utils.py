"""PyTorch's private address for what moves an exception from one process or thread to another."""

from __future__ import annotations

import traceback
from typing import Any, NoReturn

__all__ = ["ExceptionWrapper"]


class _Verbatim(str):
    """A message that KeyError shows as it is, line breaks and all, rather than quoted."""

    __slots__ = ()

    def __repr__(self) -> str:
        return str(self)


class ExceptionWrapper:
    """An exception with its traceback as text, to be raised again elsewhere.

    Args:
        error: default: the one being handled.
        where: where it was raised, for the message: "in DataLoader worker process 0".
    """

    def __init__(self, exc_info: Any = None, where: str = "in background") -> None:
        import sys

        kind, error, trace = sys.exc_info() if exc_info is None else exc_info
        self.exc_type: Any = kind
        self.exc_msg = "".join(traceback.format_exception(kind, error, trace))
        self.where = where

    def reraise(self) -> NoReturn:
        """Raise an exception of the same type, whose message tells where it was raised and the original traceback.

        Raises:
            RuntimeError: instead, for a type that cannot be made from a message alone.
        """
        message = f"Caught {self.exc_type.__name__} {self.where}.\nOriginal {self.exc_msg}"
        try:
            error = self.exc_type(_Verbatim(message) if issubclass(self.exc_type, KeyError) else message)
        except Exception:
            error = RuntimeError(message)
        try:
            raise error from None
        finally:
            del error  # or its traceback would keep the frames alive, and the workers of the loader with them
