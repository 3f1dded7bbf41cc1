"""The backends by PyTorch's names: ``gloo`` and ``mpi``, which here are both MPI."""

from __future__ import annotations

from typing import Any

from ..base.errors import with_notes
from . import mpi_job

__all__ = [
    "Backend",
    "BackendConfig",
    "get_default_backend_for_device",
    "is_available",
    "is_backend_available",
    "is_gloo_available",
    "is_mpi_available",
    "is_nccl_available",
    "is_ucc_available",
    "is_xccl_available",
    "supports_complex",
]


class Backend(str):
    """The means by which processes talk, by name, in small letters.

    >>> import pullback as torch
    >>> torch.distributed.Backend("GLOO")
    'gloo'
    """

    UNDEFINED, GLOO, NCCL, UCC, MPI, XCCL, FAKE = "undefined", "gloo", "nccl", "ucc", "mpi", "xccl", "fake"
    backend_list = [UNDEFINED, GLOO, NCCL, XCCL, UCC, MPI, FAKE]
    default_device_backend_map = {"cpu": GLOO, "cuda": NCCL}

    def __new__(cls, name: str) -> Any:
        if not isinstance(name, str):
            raise ValueError(f"Backend constructor parameter must be string-ish, got {name=}")
        return super().__new__(cls, name.lower())


class BackendConfig:
    """The backend for each kind of device."""

    def __init__(self, backend: str) -> None:
        self.device_backend_map = {"cpu": check_backend(backend)}

    def get_device_backend_map(self) -> dict[str, str]:
        """The names by kinds of device."""
        return self.device_backend_map

    def __repr__(self) -> str:
        return ",".join(f"{device}:{name}" for device, name in self.device_backend_map.items())


def check_backend(name: str | None) -> str:
    """The name of a backend that works on the CPU: of ``"cpu:gloo,cuda:nccl"``, the first.

    Raises:
        RuntimeError: it is one for other devices.
        AssertionError: there is no such backend.
    """
    if name is None or name == "undefined":
        return "gloo"
    name = str(name).lower()
    if ":" in name:
        devices = dict(part.strip().split(":", 1) for part in name.split(","))
        name = devices.get("cpu", next(iter(devices.values())))
    if name in ("gloo", "mpi"):
        return name
    if name in ("nccl", "ucc", "xccl"):
        raise with_notes(
            RuntimeError(f"Distributed package doesn't have {name.upper()} built in"),
            "Pullback runs on the CPU: use the backend 'gloo'.",
        )
    raise AssertionError(f"Unknown backend type {name}")


def is_available() -> bool:
    """Whether processes can form a group: yes; groups of several need MPI, see :func:`is_mpi_available`."""
    return True


def is_mpi_available() -> bool:
    """Whether MPI is installed, without which a group has one process."""
    return mpi_job.is_installed()


def is_gloo_available() -> bool:
    """Whether groups can have the backend ``"gloo"``, which here means MPI, too: yes."""
    return True


def is_nccl_available() -> bool:
    """Whether there is the library for groups of NVIDIA's devices: no."""
    return False


is_ucc_available = is_xccl_available = is_nccl_available


def is_backend_available(backend: str) -> bool:
    """Whether groups can have this backend."""
    return str(backend).lower() in ("gloo", "mpi")


def get_default_backend_for_device(device: Any) -> str:
    """The backend for a device.

    Raises:
        ValueError: for all but the CPU.
    """
    kind = str(getattr(device, "type", device)).partition(":")[0]
    if kind != "cpu":
        raise ValueError(f"Default backend not registered for device : {device}")
    return "gloo"


def supports_complex(reduceOp: Any) -> bool:
    """Whether complex numbers can be reduced so."""
    return getattr(reduceOp, "name", "") in ("SUM", "AVG")
