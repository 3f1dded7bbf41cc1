"""``torch.device``, ``torch.layout`` and ``torch.memory_format``.

Tensors are on the CPU, or without values on ``meta``; other devices can be named, but not used.
"""

from __future__ import annotations

import re
from typing import Any, NoReturn

from .errors import E, with_notes


def no_device(error: E) -> E:
    """The error of a program that asks for a device that is not there, with the way out."""
    return with_notes(
        error,
        "Pullback computes on the CPU.",
        "Use device='cpu', or choose by torch.cuda.is_available(), which is False here.",
        page="no-cuda",
    )


class device:
    """The device of a tensor. ``torch.device("cuda")`` can be named, but no tensor can be on it.

    As a context manager, the default device of new tensors: the CPU, or ``meta`` (:mod:`pullback.ops.values.meta`).

    >>> import pullback as torch
    >>> torch.device("cpu")
    device(type='cpu')
    """

    __slots__ = ("type", "index")
    KINDS = (
        "cpu",
        "cuda",
        "meta",
        "mps",
        "xpu",
        "hip",
        "xla",
        "ipu",
        "hpu",
        "mtia",
        "privateuseone",
        "vulkan",
        "opengl",
    )

    def __init__(self, type: Any = "cpu", index: int | None = None) -> None:
        given: Any = type
        if isinstance(given, device):
            given, index = given.type, given.index  # type: ignore[has-type]
        elif isinstance(given, int):
            given, index = "cuda", given
        if not isinstance(given, str):
            kind = given.__class__.__name__
            raise TypeError(f"device() received an invalid combination of arguments - got ({kind})")
        if not given:
            raise RuntimeError("Device string must not be empty")
        parts = re.fullmatch(r"(\w+)(?::(0|[1-9]\d*))?", given)
        if parts is None:
            raise RuntimeError(f"Invalid device string: '{given}'")
        kind, number = parts.groups()
        if kind not in self.KINDS:
            raise RuntimeError(
                f"Expected one of cpu, cuda, mps, xpu, meta device type at start of device string: {given}\n"
                "  Pullback has the device 'cpu'."
            )
        if number is not None and index is not None:
            raise RuntimeError(f"type (string) must not include an index because index was passed explicitly: {given}")
        index = index if number is None else int(number)
        if index is not None and not isinstance(index, int):
            raise TypeError(f"device(): argument 'index' (position 2) must be int, not {index.__class__.__name__}")
        if index is not None and index < 0:
            raise RuntimeError("Device index must not be negative")
        self.type, self.index = kind, index

    def __repr__(self) -> str:
        return (
            f"device(type='{self.type}')" if self.index is None else f"device(type='{self.type}', index={self.index})"
        )

    def __str__(self) -> str:
        return self.type if self.index is None else f"{self.type}:{self.index}"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, device) and (self.type, self.index) == (other.type, other.index)

    def __hash__(self) -> int:
        return hash((self.type, self.index))

    def __reduce__(self) -> Any:
        return device, (self.type, self.index)

    def __enter__(self) -> device:
        from . import thread_state

        check_device(self)
        thread_state.set_default_devices((*thread_state.local.devices, self))
        return self

    def __exit__(self, *exc: object) -> None:
        from . import thread_state

        thread_state.set_default_devices(thread_state.local.devices[:-1])


CPU = device("cpu")


def check_device(d: Any) -> None:
    """Refuse any device but the CPU and ``meta`` (None means the default).

    Raises:
        AssertionError: for ``"cuda"`` and ``"xpu"``, as in a PyTorch without them.
        RuntimeError: for others, with the devices that exist.
    """
    if d is None or d is CPU:
        return
    d = device(d)
    if d.type in ("cuda", "xpu"):
        raise no_device(AssertionError(f"Torch not compiled with {d.type.upper()} enabled"))
    if d.type not in ("cpu", "meta"):
        raise no_device(RuntimeError(f"Device '{d}' is not available"))


class Layout:
    """``torch.layout``: strided, or one of the sparse layouts."""

    def __init__(self, name: str) -> None:
        self.name = name

    def __repr__(self) -> str:
        return f"torch.{self.name}"

    @property
    def cpp_name(self) -> str:
        """What PyTorch's messages call it."""
        return self.name.replace("_coo", "").title().replace("_", "")


strided = Layout("strided")
sparse_coo = Layout("sparse_coo")
sparse_csr, sparse_csc = Layout("sparse_csr"), Layout("sparse_csc")
sparse_bsr, sparse_bsc = Layout("sparse_bsr"), Layout("sparse_bsc")


class MemoryFormat(Layout):
    """``torch.memory_format``: an order of dimensions in memory. Only a name: the strides are NumPy's."""


contiguous_format = MemoryFormat("contiguous_format")
preserve_format = MemoryFormat("preserve_format")
channels_last = MemoryFormat("channels_last")
channels_last_3d = MemoryFormat("channels_last_3d")


def placeholder_class(name: str, module: str) -> type:
    """A class without instances, for programs that name it in annotations or ``isinstance``."""

    def refuse(self: Any, *args: Any, **kwargs: Any) -> NoReturn:
        raise no_device(RuntimeError(f"Tried to instantiate dummy base class {name}"))

    return type(name, (), {"__init__": refuse, "__module__": module, "__doc__": "Refused: there is no such device."})
