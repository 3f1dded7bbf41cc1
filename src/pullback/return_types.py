"""``torch.return_types``: what operations with several results return, tuples with names."""

from __future__ import annotations

from collections import namedtuple
from typing import Any


def named(name: str, fields: tuple[str, ...]) -> type:
    """The type of an operation's results, kept here under the operation's name, where pickle finds it.

    >>> import pullback as torch
    >>> torch.max(torch.tensor([1.0, 3.0]), 0)
    torch.return_types.max(
    values=tensor(3.),
    indices=tensor(1))
    """
    base = namedtuple(name, fields)  # type: ignore[misc]

    def new(cls: Any, *values: Any) -> Any:
        """Of the values, or of one sequence of them."""
        return base.__new__(cls, *(values[0] if len(values) == 1 != len(fields) else values))

    body = {"__slots__": (), "__repr__": _shown, "__module__": __name__, "__new__": new}
    made = type(name, (base,), body)
    globals()[name] = made
    return made


def _shown(self: Any) -> str:
    return (
        f"torch.return_types.{type(self).__name__}(\n"
        + ",\n".join(f"{k}={v!r}" for k, v in zip(self._fields, self))
        + ")"
    )
