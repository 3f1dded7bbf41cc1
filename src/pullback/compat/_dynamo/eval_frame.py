"""``torch._dynamo.eval_frame``: the class that libraries test a compiled module for."""

from ...compiler.compiled_function import CompiledModule as OptimizedModule

__all__ = ["OptimizedModule"]
