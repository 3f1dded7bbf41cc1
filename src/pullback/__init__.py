"""PyTorch's autograd without PyTorch: ``import pullback as torch``."""

import importlib as _importlib

import numpy as _np

# Tensors follow IEEE arithmetic silently, as PyTorch's do: log(0) is -inf, not a warning.
_np.seterr(all="ignore")

from . import autograd
from .tensor import Tensor
from . import ops
from .dtypes import NAMES as _NAMES, dtype, finfo, iinfo, get_default_dtype, set_default_dtype, promote_types
from .device import (Layout as layout, MemoryFormat as memory_format, channels_last, channels_last_3d, contiguous_format, device,
                     preserve_format, sparse_coo, strided)
from .shape import Size
from .autograd import enable_grad, inference_mode, is_grad_enabled, is_inference_mode_enabled, no_grad, set_grad_enabled
globals().update(_NAMES)
for _m in ("arithmetic", "pointwise", "compare", "view", "memory", "cut", "part", "reduce", "create", "convert", "write", "index", "join", "complex", "special", "scatter", "extreme", "statistics", "order", "scan", "matmul", "contract", "activation", "normalize", "cross_entropy", "loss", "margin", "layer", "attention", "convolution", "pool", "resample", "random"):
    try:
        _mod = _importlib.import_module(f".ops.{_m}", __name__)
    except ModuleNotFoundError as _e:
        if 'pullback.ops' not in str(_e): raise
        continue
    for _n in getattr(_mod, "__all__", None) or [n for n in vars(_mod) if not n.startswith("_")]:
        if hasattr(_mod, _n): globals()[_n] = getattr(_mod, _n)
from math import e, inf, nan, pi
from .printing import set_printoptions
from .run import install, uninstall
__version__ = "0.1.0"
def __getattr__(name):
    if name in ("nn", "optim", "random", "func", "utils", "linalg"):
        return _importlib.import_module("." + name, __name__)
    raise AttributeError(name)
