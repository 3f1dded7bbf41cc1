"""Pullback."""
from . import tensor as _t
from . import op as _op
from .tensor import Tensor
from .ops import arithmetic, pointwise, view, reduce, complex, convert
from .ops.arithmetic import *
from .ops.pointwise import *
from .ops.reduce import sum
from . import autograd
from .autograd import no_grad
from .dtypes import *
from .dtypes import NAMES as _n
globals().update(_n)
from .shape import Size
from .device import device
import numpy as _np
def tensor(data, dtype=None, requires_grad=False, device=None):
    a = _np.array(data)
    if dtype is not None: a = a.astype(dtype.numpy)
    elif not isinstance(data, _np.ndarray) and a.dtype == _np.float64: a = a.astype(_np.float32)
    t = _op.wrap(a)
    t.requires_grad = requires_grad
    return t
def from_numpy(a): return _op.wrap(a)
def ones_like(t): return _op.wrap(_np.ones_like(t._array))
