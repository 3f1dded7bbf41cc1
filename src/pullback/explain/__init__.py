"""``pullback.explain``: a backward pass explained, as data, text, a picture and an HTML page.

The module is itself the function: ``pullback.explain(y)`` is :func:`pullback.explain.api.explain`.
"""

from __future__ import annotations

import sys
from types import ModuleType
from typing import Any

from .api import explain
from .explanation import Explanation
from .measure import Values
from .schema import Finding, Handed, Kept, Leaf, Root, Step, Use

__all__ = ["Explanation", "Finding", "Handed", "Kept", "Leaf", "Root", "Step", "Use", "Values", "explain"]


class _Callable(ModuleType):
    """A module that can be called: ``pullback.explain`` names both."""

    def __call__(self, *args: Any, **kwargs: Any) -> Explanation:
        return explain(*args, **kwargs)


_Callable.__call__.__doc__ = explain.__doc__
sys.modules[__name__].__class__ = _Callable
