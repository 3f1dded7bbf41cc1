"""Errors: PyTorch's words as the message, and what helps as notes, which a traceback shows below it.

Programs that print or match the message see what PyTorch would have said.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

if TYPE_CHECKING:
    from .op import Op

E = TypeVar("E", bound=BaseException)


def noted(error: E, *notes: str) -> E:
    """The error with notes: first the facts, then the way out."""
    for note in notes:
        error.add_note("  " + note)
    return error


def explained(op: Op, arrays: Sequence[Any], error: Exception) -> Exception:
    """The error to raise when a forward function failed: PyTorch's words where NumPy's would puzzle."""
    if isinstance(error, np.exceptions.AxisError) and error.ndim is not None:
        n = error.ndim or 1
        return IndexError(f"Dimension out of range (expected to be in range of [{-n}, {n - 1}], but got {error.axis})")
    if isinstance(error, ValueError) and "broadcast" in str(error):
        return broadcast_error(op.name, [np.shape(a) for a in arrays]) or error
    return error


def broadcast_error(name: str, shapes: Sequence[tuple[int, ...]]) -> RuntimeError | None:
    """PyTorch's message for shapes that do not broadcast, naming the dimension."""
    for k, a in enumerate(shapes):
        for b in shapes[k + 1 :]:
            for i in range(1, min(len(a), len(b)) + 1):
                if a[-i] != b[-i] and 1 not in (a[-i], b[-i]):
                    dim = max(len(a), len(b)) - i
                    return noted(
                        RuntimeError(
                            f"The size of tensor a ({a[-i]}) must match the size of tensor b ({b[-i]}) at "
                            f"non-singleton "
                            f"dimension {dim}"
                        ),
                        f"{name}: shapes {tuple(a)} and {tuple(b)} do not broadcast.",
                    )
    return None


def _checking(name: str, error: type[Exception]) -> Callable[..., None]:
    def check(cond: Any, message: Callable[[], Any] | None = None) -> None:
        if not cond:
            raise error(
                str(message())
                if message
                else "Expected cond to be True, but got False. (Could this error message be improved? "
                "If so, please report an enhancement request to PyTorch.)"
            )

    check.__name__ = check.__qualname__ = name
    check.__doc__ = f"Raise {error.__name__} with what ``message()`` says unless ``cond`` holds."
    return check


_check, _check_value = _checking("_check", RuntimeError), _checking("_check_value", ValueError)
_check_type, _check_index = _checking("_check_type", TypeError), _checking("_check_index", IndexError)
