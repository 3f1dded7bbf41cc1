"""``torch.distributed.device_mesh``: processes in a grid; there is one process, so none can be made."""

from __future__ import annotations

from typing import Any, NoReturn

from ...base.errors import no_process_group

__all__ = ["DeviceMesh", "init_device_mesh"]


class DeviceMesh:
    """Programs ask whether something is one; none is."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        raise no_process_group()


def init_device_mesh(*args: Any, **kwargs: Any) -> NoReturn:
    """Refused: it needs a process group."""
    raise no_process_group()
