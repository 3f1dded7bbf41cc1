"""The modules of a function that itself runs as it is: each is compiled by itself."""

from __future__ import annotations

import weakref
from collections.abc import Callable
from typing import Any

from ..base import thread_state
from ..nn.modules.hooks import watchers
from ..nn.modules.module import Module

MAX_MODULES = 100  # that are compiled for one function


class ModuleRunner:
    """Runs a function, and compiles those modules with members that it calls more than once.

    Derivatives of higher order would ask for their graphs, so a function that takes some runs as it is altogether.

    Attributes:
        compiled: the compiled functions of modules.
        is_off: whether nothing is compiled any more.
    """

    def __init__(self, compile: Callable[[Module], Any]) -> None:
        self._compile = compile
        self._met: weakref.WeakSet[Module] = weakref.WeakSet()
        self.compiled: dict[Module, Any] = {}
        self.is_off = False

    def run(self, function: Callable, args: tuple, kwargs: dict[str, Any]) -> Any:
        """Call the function."""
        local = thread_state.local
        if self.is_off:
            return function(*args, **kwargs)
        before, recorded = local.module_runner, local.recorded_backwards
        local.module_runner = self
        watchers.append(self)  # so that calls of modules ask for the runner
        try:
            return function(*args, **kwargs)
        finally:
            watchers.remove(self)
            local.module_runner = before
            self.is_off |= local.recorded_backwards != recorded

    def call(self, module: Module, args: tuple, kwargs: dict[str, Any]) -> Any:
        """Call a module, compiled if it was called before."""
        local = thread_state.local
        function = self.compiled.get(module, module)
        if function is module and module._modules and len(self.compiled) < MAX_MODULES:
            if module in self._met:
                function = self.compiled[module] = self._compile(module)
            self._met.add(module)
        local.module_runner = None
        try:
            return function(*args, **kwargs)
        finally:
            local.module_runner = self

    def enter(self, module: Module, frame: Any) -> None:
        """Nothing: as a watcher it only lets calls of modules come here."""

    def leave(self, module: Module, result: Any) -> None:
        """Nothing."""
