"""New tensors on a mesh, of which each rank makes its own part; random ones from the same stream on all ranks."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ...core.tensor import Tensor
from ...ops import create, random
from ..device_mesh import DeviceMesh
from .dtensor import DTensor, _checked, local_part
from .placement_types import Placement, Replicate

__all__ = ["empty", "full", "ones", "rand", "randn", "zeros"]


def _made(
    make: Callable[..., Tensor], size: Any, options: dict[str, Any], mesh: DeviceMesh, placements: Any
) -> DTensor:
    shape = tuple(size[0]) if len(size) == 1 and isinstance(size[0], (list, tuple)) else tuple(size)
    wanted = _checked(placements or [Replicate()] * mesh.ndim, mesh, len(shape))
    gradient = options.pop("requires_grad", False)
    result = DTensor(local_part(make(shape, **options), mesh, wanted), mesh, wanted, shape)
    result.requires_grad = gradient
    return result


def zeros(
    *size: Any, device_mesh: DeviceMesh, placements: Sequence[Placement] | None = None, **options: Any
) -> DTensor:
    """Zeros."""
    return _made(create.zeros, size, options, device_mesh, placements)


def ones(*size: Any, device_mesh: DeviceMesh, placements: Sequence[Placement] | None = None, **options: Any) -> DTensor:
    """Ones."""
    return _made(create.ones, size, options, device_mesh, placements)


def empty(
    *size: Any, device_mesh: DeviceMesh, placements: Sequence[Placement] | None = None, **options: Any
) -> DTensor:
    """Without values."""
    return _made(create.empty, size, options, device_mesh, placements)


def full(
    size: Any,
    fill_value: float,
    *,
    device_mesh: DeviceMesh,
    placements: Sequence[Placement] | None = None,
    **options: Any,
) -> DTensor:
    """One number everywhere."""
    return _made(lambda shape, **o: create.full(shape, fill_value, **o), (size,), options, device_mesh, placements)


def rand(*size: Any, device_mesh: DeviceMesh, placements: Sequence[Placement] | None = None, **options: Any) -> DTensor:
    """Uniform random numbers."""
    return _made(random.rand, size, options, device_mesh, placements)


def randn(
    *size: Any, device_mesh: DeviceMesh, placements: Sequence[Placement] | None = None, **options: Any
) -> DTensor:
    """Normal random numbers."""
    return _made(random.randn, size, options, device_mesh, placements)
