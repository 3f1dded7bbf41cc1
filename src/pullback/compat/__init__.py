"""PyTorch's module addresses: one module for ``torch.cuda``, ``torch.hub``, ``torch.jit`` and their like.

A module in this package answers at PyTorch's address, ``pullback.cuda`` for ``pullback.compat.cuda``; a few modules of
other packages do so, too. There is one module object for each, whichever name asks for it.
"""

from __future__ import annotations

import sys
from importlib import import_module
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any

from ..base.addresses import ROOT, home_of


class AddressFinder:
    """Finds at PyTorch's address the module that has another home.

    A finder and a loader for ``sys.meta_path``; not derived from ``importlib.abc``, which takes 5 ms to import.
    """

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> ModuleSpec | None:
        if not name.startswith(f"{ROOT}.") or (home := home_of(name)) is None:
            return None
        try:
            module = import_module(home)
        except ModuleNotFoundError as error:
            if error.name != home:
                raise
            return None
        spec = ModuleSpec(name, self, is_package=hasattr(module, "__path__"))  # type: ignore[arg-type]
        spec.loader_state = module, module.__spec__
        return spec

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        return spec.loader_state[0]

    def exec_module(self, module: ModuleType) -> None:
        """Nothing is left to do, but importlib has put the spec of the address in place of the module's own."""
        module.__spec__ = module.__spec__.loader_state[1]  # type: ignore[union-attr]


def install() -> None:
    """Let imports find modules at PyTorch's addresses."""
    sys.meta_path.insert(0, AddressFinder())
