"""What a compiled module is an instance of, at the address where libraries look for it."""

from ...compiler.compiled_function import CompiledModule as OptimizedModule

__all__ = ["OptimizedModule"]
