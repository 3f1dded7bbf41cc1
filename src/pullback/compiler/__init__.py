"""``pullback.compile``: a function traced once, simplified, fused, and run as one plan of native code.

    trace ─► ir ─► simplify ─► fuse ─► llvm          (the same operations, the same rules)
"""

from __future__ import annotations

from .compiled import compile
from .trace import CannotCompile

__all__ = ["CannotCompile", "compile"]
