"""PyTorch's private address for switches of its compiler, which programs set for good measure: there is nothing to switch here.

>>> import pullback as torch
>>> torch._dynamo.config.suppress_errors = True
>>> torch._dynamo.reset()
"""

from __future__ import annotations

from types import SimpleNamespace

from .compiler import allow_in_graph, disable, is_compiling, reset

__all__ = ["allow_in_graph", "config", "disable", "is_compiling", "reset"]

config = SimpleNamespace(suppress_errors=False, verbose=False, cache_size_limit=8, recompile_limit=8, automatic_dynamic_shapes=True)
