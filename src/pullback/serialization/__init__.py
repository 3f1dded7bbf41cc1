"""``torch.save`` and ``torch.load``: a zip archive with a pickle and the storages of tensors.

Reading trusts nothing. The archive (:mod:`.archive`) hands out only what is inside the file; the pickle runs on a
machine of our own (:mod:`.unpickler`) that knows a short list of names (:mod:`.type_names`) and never calls anything
else; tensors (:mod:`.memory`) may look only at memory that the file contains. :mod:`.pickler` writes, and
:mod:`.legacy` reads and writes the format before PyTorch 1.6.
"""

from collections.abc import Callable
from typing import Any

from ..base.device import device
from .archive import LoadError
from .save_load import (
    DEFAULT_PROTOCOL,
    add_safe_globals,
    clear_safe_globals,
    get_safe_globals,
    get_unsafe_globals_in_checkpoint,
    load,
    location_tag,
    safe_globals,
    save,
    skip_data,
)

MAP_LOCATION = Callable[[Any, str], Any] | device | str | dict[str, str] | None  # what ``map_location`` may be

__all__ = [
    "DEFAULT_PROTOCOL",
    "LoadError",
    "add_safe_globals",
    "clear_safe_globals",
    "get_safe_globals",
    "get_unsafe_globals_in_checkpoint",
    "load",
    "location_tag",
    "safe_globals",
    "save",
    "skip_data",
]
