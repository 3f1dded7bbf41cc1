"""The catalogue of operations, a family a file.

Families need each other in circles: the rule of ``sum`` may expand, that of ``expand`` sums. So where one can't be
imported by the other, it is named when the rule runs, ``ops.scan.cumsum``, after ``from .. import ops``.
"""

import os
from importlib import import_module
from typing import Any


def load_library(path: str) -> None:
    """Refused: libraries of operations are linked against PyTorch.

    Nothing is loaded for torchvision's ``_C`` either, but its operators are here already, written anew.

    Raises:
        OSError: for any other library.
    """
    folder, name = os.path.split(path)
    if os.path.basename(folder) != "torchvision" or name.partition(".")[0] != "_C":
        raise OSError(f"Could not load this library: {path}")


def __getattr__(name: str) -> Any:
    if not name.startswith("__"):
        try:
            return import_module(f".{name}", __name__)
        except ModuleNotFoundError as error:
            if error.name != f"{__name__}.{name}":
                raise
    from ..base.errors import no_attribute

    raise no_attribute(__name__, name)
