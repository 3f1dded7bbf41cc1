"""``torch.utils._foreach_utils``: groups tensors by device and dtype, for optimizers that use ``torch._foreach_*``."""

from __future__ import annotations

from typing import Any

from ..core.tensor import Tensor

__all__: list[str] = []


def _get_foreach_kernels_supported_devices() -> list[str]:
    """Devices, besides the CPU, with kernels for lists of tensors: none."""
    return []


def _get_fused_kernels_supported_devices() -> list[str]:
    """Devices with optimizers that are one kernel."""
    return ["cpu"]


def _group_tensors_by_device_and_dtype(
    tensorlistlist: list[list[Tensor | None]], with_indices: bool = False
) -> dict[Any, Any]:
    """Lists of like length, split into those of each device and type.

    Args:
        tensorlistlist: the tensors of the first list (none of which is None) say what the others' at their places are.
        with_indices: also tell the places.

    Returns:
        a dict from ``(device, dtype)`` to the lists and the places (none, unless asked for).
    """
    groups: dict[Any, Any] = {}
    for i, row in enumerate(
        zip(*(values or [None] * len(tensorlistlist[0]) for values in tensorlistlist), strict=True)
    ):
        first = row[0]
        if first is None:
            raise ValueError(f"the first list may not have None in it, as it has at {i}")
        lists, places = groups.setdefault((first.device, first.dtype), ([[] for _ in row], []))
        for values, value in zip(lists, row):
            values.append(value)
        if with_indices:
            places.append(i)
    return groups


def _has_foreach_support(tensors: list[Tensor | None], device: Any) -> bool:
    """Whether operations on lists take these: they take plain tensors."""
    return all(t is None or type(t) is Tensor for t in tensors)
