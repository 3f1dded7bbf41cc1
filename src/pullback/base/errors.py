"""Exceptions with PyTorch's messages; help for the user goes into notes (PEP 678), which a traceback shows below.

Programs that print or match a message see PyTorch's.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, NoReturn, TypeVar

import numpy as np

if TYPE_CHECKING:
    from ..core.op import Op

E = TypeVar("E", bound=BaseException)


MORE = "  More: pullback errors "


def with_notes(error: E, *notes: str, page: str = "") -> E:
    """The error with notes: first the facts, then what to do, and last the page about it.

    Args:
        page: the name of a file in docs/errors, which the command in the note prints: the site's address may change,
            and a program may run where there is no network.
    """
    told = getattr(error, "__notes__", None)
    more = [told.pop()] if told and str(told[-1]).startswith(MORE) else []
    for note in [*["  " + note for note in notes], *([MORE + page] if page else more)]:
        error.add_note(note)
    return error


def page_of(error: BaseException) -> str:
    """The page to which the notes of an error lead; empty if to none."""
    last = "".join([*getattr(error, "__notes__", ())][-1:])
    return last.removeprefix(MORE) if last.startswith(MORE) else ""


def no_attribute(module: str, name: str) -> AttributeError:
    """Python's error for a name that a module lacks."""
    message, obj = f"module {module!r} has no attribute {name!r}", sys.modules.get(module)  # for "Did you mean"
    return with_notes(AttributeError(message, name=name, obj=obj), page="no-attribute")


def missing_package(package: str, what: str) -> ModuleNotFoundError:
    """The error of something that a package is needed for which is not installed, as may be in WebAssembly."""
    return with_notes(
        ModuleNotFoundError(f"{what} needs the package {package}, which is not installed", name=package),
        f'Install it: pip install {package}. In Pyodide: await pyodide.loadPackage("{package}").',
    )


def translate_error(op: Op, arrays: Sequence[Any], error: Exception, args: Sequence[Any] = ()) -> Exception:
    """The error to raise when a forward function failed: PyTorch's message instead of an obscure one of NumPy's.

    Args:
        args: all arguments, among which a number may stand for a tensor; that is looked for after an AttributeError.
    """
    if isinstance(error, ModuleNotFoundError) and error.name == "scipy":
        return missing_package("scipy", op.name)
    if isinstance(error, AttributeError):
        for i in op.tensors if args else ():
            if isinstance(args[i], (int, float, complex)):
                return not_a_tensor(op.name, op.params[i], i, args[i])
    if isinstance(error, np.exceptions.AxisError) and error.ndim is not None:
        n = error.ndim or 1
        return IndexError(f"Dimension out of range (expected to be in range of [{-n}, {n - 1}], but got {error.axis})")
    if isinstance(error, ValueError) and "broadcast" in str(error):
        return broadcast_error(op.name, [np.shape(a) for a in arrays]) or error
    if isinstance(error, MemoryError):
        return OutOfMemory(f"DefaultCPUAllocator: can't allocate memory: {error}")
    if isinstance(error, ValueError) and ("array is too big" in str(error) or "dimension exceeded" in str(error)):
        return OutOfMemory(f"Storage size calculation overflowed: the result of {op.name} would be too large")
    if isinstance(error, OverflowError) and "too large to convert" in str(error):
        return ValueError("Overflow when unpacking long long")
    return error


def not_a_tensor(name: str, param: str, place: int, value: Any) -> TypeError:
    """PyTorch's message for an argument that has to be a tensor, at a place counted from 0."""
    return TypeError(f"{name}(): argument '{param}' (position {place + 1}) must be Tensor, not {type(value).__name__}")


class OutOfMemory(RuntimeError, MemoryError):
    """More memory was asked for than there is: PyTorch's RuntimeError, and Python's own."""


def broadcast_error(name: str, shapes: Sequence[tuple[int, ...]]) -> RuntimeError | None:
    """PyTorch's message for shapes that do not broadcast, naming the dimension."""
    for k, a in enumerate(shapes):
        for b in shapes[k + 1 :]:
            for i in range(1, min(len(a), len(b)) + 1):
                if a[-i] != b[-i] and 1 not in (a[-i], b[-i]):
                    dim = max(len(a), len(b)) - i
                    return with_notes(
                        RuntimeError(
                            f"The size of tensor a ({a[-i]}) must match the size of tensor b ({b[-i]}) at "
                            f"non-singleton dimension {dim}"
                        ),
                        f"{name}: shapes {tuple(a)} and {tuple(b)} do not broadcast.",
                        page="sizes-must-match",
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


def _check_tensor_all_with(error_type: type[Exception], cond: Any, message: Callable[[], Any] | None = None) -> None:
    """Raise an error of that type with what ``message()`` says unless all elements of ``cond``, bool, hold."""
    if not hasattr(cond, "dtype") or cond.dtype.name != "bool":
        raise TypeError("cond tensor must have dtype torch.bool")
    _checking("_check_tensor_all_with", error_type)(bool(cond.all()), message)


def _check_tensor_all(cond: Any, message: Callable[[], Any] | None = None) -> None:
    """The same with a RuntimeError."""
    _check_tensor_all_with(RuntimeError, cond, message)


_check, _check_value = _checking("_check", RuntimeError), _checking("_check_value", ValueError)
_check_type, _check_index = _checking("_check_type", TypeError), _checking("_check_index", IndexError)


class _Verbatim(str):
    """A message that KeyError prints unquoted, with its line breaks."""

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
        import traceback  # here: it takes a while to import, and few programs come by

        kind, error, trace = sys.exc_info() if exc_info is None else exc_info
        self.exc_type: Any = kind
        self.exc_msg = "".join(traceback.format_exception(kind, error, trace))
        self.where = where

    def reraise(self) -> NoReturn:
        """Raise an exception of the same type, with the original location and traceback in its message.

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
            del error  # its traceback would keep the frames alive, and with them the loader's workers
