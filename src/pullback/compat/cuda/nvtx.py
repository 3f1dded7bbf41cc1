"""``torch.cuda.nvtx``: profiler ranges; refused as in a build of PyTorch without CUDA."""

from ..unavailable import refusing

__all__ = ["mark", "range", "range_pop", "range_push"]

mark, range, range_pop, range_push = (
    refusing(name, lambda: RuntimeError("NVTX functions not installed. Are you sure you have a CUDA build?"))
    for name in __all__
)
