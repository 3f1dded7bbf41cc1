# Written by scripts/stubs.py.
"""PyTorch's autograd without PyTorch: ``import pullback as torch``."""

from builtins import bool as _bool, float as _float, int as _int
from collections.abc import Sequence
import numpy as np
from typing import Any, Literal, overload
from .base.device import Layout, MemoryFormat
from .core.tensor_methods import Device, Dims, Number, Outs

from .compat import _C as _C
from .compat import __config__ as __config__
from .compat import _dynamo as _dynamo
from .compat import _jit_internal as _jit_internal
from .compat import _logging as _logging
from .compat import _ops as _ops
from .compat import _tensor_str as _tensor_str
from .compat import _utils as _utils
from .compat import _vmap_internals as _vmap_internals
from . import accelerator as accelerator
from . import amp as amp
from . import autograd as autograd
from . import backends as backends
from . import compiler as compiler
from . import cpu as cpu
from . import cuda as cuda
from . import distributed as distributed
from . import distributions as distributions
from . import explain as explain
from . import export as export
from . import fft as fft
from . import func as func
from . import functional as functional
from . import futures as futures
from . import fx as fx
from . import hub as hub
from . import jit as jit
from . import kernels as kernels
from . import library as library
from . import linalg as linalg
from . import masked as masked
from . import mps as mps
from . import multiprocessing as multiprocessing
from . import nested as nested
from . import nn as nn
from . import onnx as onnx
from . import ops as ops
from . import optim as optim
from . import overrides as overrides
from . import profiler as profiler
from . import quasirandom as quasirandom
from . import random as random
from . import return_types as return_types
from . import serialization as serialization
from . import signal as signal
from . import sparse as sparse
from . import special as special
from . import storage as storage
from . import testing as testing
from . import torch_version as torch_version
from . import types as types
from . import utils as utils
from . import version as version
from . import xpu as xpu
from .compat._C import DeviceObjType as DeviceObjType
from .overrides import DisableTorchFunction as DisableTorchFunction
from .overrides import DisableTorchFunctionSubclass as DisableTorchFunctionSubclass
from .compat.cpu import Event as Event
from .compat.futures import Future as Future
from .amp import GradScaler as GradScaler
from .compat.cuda import OutOfMemoryError as OutOfMemoryError
from .serialization.stream import PyTorchFileReader as PyTorchFileReader
from .compat._C import ScriptObject as ScriptObject
from .base.shape import Size as Size
from .ops.storage import StorageBase as StorageBase
from .compat.cpu import Stream as Stream
from .compat.types import SymBool as SymBool
from .compat.types import SymFloat as SymFloat
from .compat.types import SymInt as SymInt
from .core.tensor import Tensor as Tensor
from .ops.storage import TypedStorage as TypedStorage
from .ops.storage import UntypedStorage as UntypedStorage
from .base.version import __version__ as __version__
from .overrides import _assert as _assert
from .ops.create import _assert_async as _assert_async
from .base.errors import _check as _check
from .base.errors import _check_index as _check_index
from .base.errors import _check_tensor_all as _check_tensor_all
from .base.errors import _check_tensor_all_with as _check_tensor_all_with
from .base.errors import _check_type as _check_type
from .base.errors import _check_value as _check_value
from .compat.settings import are_deterministic_algorithms_enabled as are_deterministic_algorithms_enabled
from .amp import autocast as autocast
from .amp.autocast_mode import autocast_decrement_nesting as autocast_decrement_nesting
from .amp.autocast_mode import autocast_increment_nesting as autocast_increment_nesting
from .amp.autocast_mode import clear_autocast_cache as clear_autocast_cache
from .compiler import compile as compile
from .compat.settings import compiled_with_cxx11_abi as compiled_with_cxx11_abi
from .base.device import device as device
from .base.dtypes import dtype as dtype
from .autograd import enable_grad as enable_grad
from .base.dtypes import finfo as finfo
from .amp.autocast_mode import get_autocast_cpu_dtype as get_autocast_cpu_dtype
from .amp.autocast_mode import get_autocast_dtype as get_autocast_dtype
from .amp.autocast_mode import get_autocast_gpu_dtype as get_autocast_gpu_dtype
from .compat.settings import get_default_device as get_default_device
from .base.dtypes import get_default_dtype as get_default_dtype
from .compat.settings import get_deterministic_debug_mode as get_deterministic_debug_mode
from .compat.settings import get_device_module as get_device_module
from .compat.settings import get_float32_matmul_precision as get_float32_matmul_precision
from .compat.settings import get_num_interop_threads as get_num_interop_threads
from .compat.settings import get_num_threads as get_num_threads
from .compat.settings import has_cuda as has_cuda
from .compat.settings import has_cudnn as has_cudnn
from .compat.settings import has_lapack as has_lapack
from .compat.settings import has_mkl as has_mkl
from .compat.settings import has_mkldnn as has_mkldnn
from .compat.settings import has_mps as has_mps
from .compat.settings import has_openmp as has_openmp
from .compat.settings import has_spectral as has_spectral
from .base.dtypes import iinfo as iinfo
from .autograd import inference_mode as inference_mode
from .compat.settings import init_num_threads as init_num_threads
from .cli.run import install as install
from .engine.anomaly import is_anomaly_check_nan_enabled as is_anomaly_check_nan_enabled
from .engine.anomaly import is_anomaly_enabled as is_anomaly_enabled
from .amp.autocast_mode import is_autocast_cache_enabled as is_autocast_cache_enabled
from .amp.autocast_mode import is_autocast_cpu_enabled as is_autocast_cpu_enabled
from .amp.autocast_mode import is_autocast_enabled as is_autocast_enabled
from .compat.settings import is_deterministic_algorithms_warn_only_enabled as is_deterministic_algorithms_warn_only_enabled
from .autograd import is_grad_enabled as is_grad_enabled
from .autograd import is_inference_mode_enabled as is_inference_mode_enabled
from .compat.settings import is_warn_always_enabled as is_warn_always_enabled
layout = Layout
from .serialization import load as load
memory_format = MemoryFormat
from .autograd import no_grad as no_grad
from .base.dtypes import promote_types as promote_types
from .serialization import save as save
from .amp.autocast_mode import set_autocast_cache_enabled as set_autocast_cache_enabled
from .amp.autocast_mode import set_autocast_cpu_dtype as set_autocast_cpu_dtype
from .amp.autocast_mode import set_autocast_cpu_enabled as set_autocast_cpu_enabled
from .amp.autocast_mode import set_autocast_dtype as set_autocast_dtype
from .amp.autocast_mode import set_autocast_enabled as set_autocast_enabled
from .amp.autocast_mode import set_autocast_gpu_dtype as set_autocast_gpu_dtype
from .compat.settings import set_default_device as set_default_device
from .base.dtypes import set_default_dtype as set_default_dtype
from .compat.settings import set_default_tensor_type as set_default_tensor_type
from .compat.settings import set_deterministic as set_deterministic
from .compat.settings import set_deterministic_debug_mode as set_deterministic_debug_mode
from .compat.settings import set_float32_matmul_precision as set_float32_matmul_precision
from .compat.settings import set_flush_denormal as set_flush_denormal
from .autograd import set_grad_enabled as set_grad_enabled
from .compat.settings import set_num_interop_threads as set_num_interop_threads
from .compat.settings import set_num_threads as set_num_threads
from .base.printing import set_printoptions as set_printoptions
from .compat.settings import set_warn_always as set_warn_always
from .explain.summary import summary as summary
from .compat.types import sym_int as sym_int
from .compat.types import typename as typename
from .cli.run import uninstall as uninstall
from .compat.settings import use_deterministic_algorithms as use_deterministic_algorithms
from .func import vmap as vmap
from .explain.watch import watch as watch
class BFloat16Storage(TypedStorage): ...
class BFloat16Tensor(Tensor): ...
class BoolStorage(TypedStorage): ...
class BoolTensor(Tensor): ...
class ByteStorage(TypedStorage): ...
class ByteTensor(Tensor): ...
class CharStorage(TypedStorage): ...
class CharTensor(Tensor): ...
class ComplexDoubleStorage(TypedStorage): ...
class ComplexDoubleTensor(Tensor): ...
class ComplexFloatStorage(TypedStorage): ...
class ComplexFloatTensor(Tensor): ...
class DoubleStorage(TypedStorage): ...
class DoubleTensor(Tensor): ...
class FloatStorage(TypedStorage): ...
class FloatTensor(Tensor): ...
from .ops.random import Generator as Generator
class HalfStorage(TypedStorage): ...
class HalfTensor(Tensor): ...
class IntStorage(TypedStorage): ...
class IntTensor(Tensor): ...
class LongStorage(TypedStorage): ...
class LongTensor(Tensor): ...
class ShortStorage(TypedStorage): ...
class ShortTensor(Tensor): ...
class Storage(TypedStorage): ...
def _convert_indices_from_coo_to_csr(input: Tensor, size: _int, *, out_int32: _bool = False) -> Tensor:
    """Where each of ``size`` rows begins among sorted row numbers, and where the last one ends: ``(size + 1,)``."""
def _convert_indices_from_csr_to_coo(
    crow_indices: Tensor,
    col_indices: Tensor,
    *,
    out_int32: _bool = False,
    transpose: _bool = False,
) -> Tensor:
    """Row and column of each element, ``(2, nnz)``; with ``transpose`` column and row."""
def _dirichlet_grad(x: Tensor, alpha: Tensor, total: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The derivative of Dirichlet samples with respect to their concentrations: ``(dx/dalpha) / (1 - x)``,
    componentwise."""
def _neg_view(input: Tensor) -> Tensor:
    """``-input`` as a view: writing into either changes the other. Of real numbers."""
def _sample_dirichlet(input: Tensor, generator: Generator | None = None, *, out: Tensor | None = None) -> Tensor:
    """Dirichlet numbers of the concentrations in ``input``, components last; float32 or float64."""
def _segment_reduce(
    data: Tensor,
    reduce: str,
    *,
    lengths: Tensor | None = None,
    indices: Tensor | None = None,
    offsets: Tensor | None = None,
    axis: _int = 0,
    unsafe: _bool = False,
    initial: Number | None = None,
) -> Tensor:
    """Each of the segments that follow each other along a dimension, reduced."""
def _standard_gamma(input: Tensor, generator: Generator | None = None, *, out: Tensor | None = None) -> Tensor:
    """Gamma numbers of the concentrations in ``input``, with rate 1; float32 or float64."""
def _standard_gamma_grad(input: Tensor, output: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The derivative of gamma samples ``output`` of rate 1 with respect to their concentrations ``input``."""
def abs(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Absolute value: the distance from 0, real for complex numbers. Derivative: ``sgn(input)``, so 0 at 0."""
def abs_(input: Tensor) -> Tensor:
    """In-place version of `abs`, of real numbers: writes into this tensor and returns it."""
def absolute(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Absolute value: the distance from 0, real for complex numbers. Derivative: ``sgn(input)``, so 0 at 0."""
def acos(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Angle in ``[0, pi]`` whose cosine this is; NaN outside ``[-1, 1]``."""
def acos_(input: Tensor) -> Tensor:
    """In-place version of `acos`: writes the result into this tensor and returns it."""
def acosh(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Inverse of `cosh`; NaN below 1. Derivative: ``1 / sqrt(input ** 2 - 1)``."""
def acosh_(input: Tensor) -> Tensor:
    """In-place version of `acosh`: writes the result into this tensor and returns it."""
def adaptive_avg_pool1d(input: Tensor, output_size: _int | Sequence[_int | None]) -> Tensor:
    """Means of as many windows as asked for, those of `adaptive_max_pool1d`. Input: (N, C, L), or (C, L)."""
@overload
def adaptive_max_pool1d(
    input: Tensor,
    output_size: _int | Sequence[_int | None] | None,
    return_indices: Literal[False] = False,
) -> Tensor:
    """Maxima of as many windows as asked for; see `adaptive_max_pool2d`. Input: (N, C, L), or (C, L)."""
@overload
def adaptive_max_pool1d(
    input: Tensor,
    output_size: _int | Sequence[_int | None] | None,
    return_indices: Literal[True],
) -> tuple[Tensor, Tensor]: ...
def add(input: Tensor, other: Tensor | Number, *, alpha: Number = 1, out: Tensor | None = None) -> Tensor:
    """``input + alpha * other``, element by element."""
def addbmm(
    input: Tensor,
    batch1: Tensor,
    batch2: Tensor,
    beta: Number = 1,
    alpha: Number = 1,
    *,
    out: Tensor | None = None,
) -> Tensor:
    """``beta * input + alpha *`` the sum of the products of two batches, ``(b, n, k)`` and ``(b, k, m)``."""
def addcdiv(
    input: Tensor,
    tensor1: Tensor,
    tensor2: Tensor,
    *,
    value: Tensor | Number = 1,
    out: Tensor | None = None,
) -> Tensor:
    """``input + value * tensor1 / tensor2``; the tensors that are divided may not both be integers."""
def addcmul(
    input: Tensor,
    tensor1: Tensor,
    tensor2: Tensor,
    *,
    value: Tensor | Number = 1,
    out: Tensor | None = None,
) -> Tensor:
    """``input + value * tensor1 * tensor2``."""
def addmm(
    input: Tensor,
    mat1: Tensor,
    mat2: Tensor,
    beta: Number = 1,
    alpha: Number = 1,
    *,
    out: Tensor | None = None,
) -> Tensor:
    """``beta * input + alpha * (mat1 @ mat2)``."""
def addmv(
    input: Tensor,
    mat: Tensor,
    vec: Tensor,
    beta: Number = 1,
    alpha: Number = 1,
    *,
    out: Tensor | None = None,
) -> Tensor:
    """``beta * input + alpha * (mat @ vec)``, for a matrix ``(n, k)`` and a vector ``(k,)``."""
def addmv_(input: Tensor, mat: Tensor, vec: Tensor, beta: Number = 1, alpha: Number = 1) -> Tensor:
    """In-place version of `addmv`: writes the result into this tensor and returns it."""
def addr(
    input: Tensor,
    vec1: Tensor,
    vec2: Tensor,
    *,
    beta: Number = 1,
    alpha: Number = 1,
    out: Tensor | None = None,
) -> Tensor:
    """``beta * input + alpha * outer(vec1, vec2)``."""
def adjoint(input: Tensor) -> Tensor:
    """The last two dimensions exchanged, and conjugated."""
def affine_grid_generator(theta: Tensor, size: Sequence[_int], align_corners: _bool | None = None) -> Tensor:
    """The points that an affine map takes an image's pixels to, for `grid_sample`."""
def alias_copy(*args: Any, **kwargs: Any) -> Any:
    """A copy of what the view ``alias`` shows."""
def all(input: Tensor, dim: Dims | None = None, keepdim: _bool = False, *, out: Tensor | None = None) -> Tensor:
    """Whether all elements, or all along some dimensions, are not 0. The result is bool (uint8 of uint8)."""
def allclose(
    input: Tensor,
    other: Tensor,
    rtol: _float = 1e-05,
    atol: _float = 1e-08,
    equal_nan: _bool = False,
) -> _bool:
    """Whether all elements are close; see `isclose`. A Python bool."""
def alpha_dropout(input: Tensor, p: _float, train: _bool) -> Tensor:
    """`torch.nn.functional.alpha_dropout`."""
def alpha_dropout_(input: Tensor, p: _float, train: _bool) -> Tensor:
    """In-place version of `alpha_dropout`."""
def amax(input: Tensor, dim: Dims | None = None, keepdim: _bool = False, *, out: Tensor | None = None) -> Tensor:
    """The largest elements, of all or along dimensions (an int or several). Equal ones share the gradient."""
def amin(input: Tensor, dim: Dims | None = None, keepdim: _bool = False, *, out: Tensor | None = None) -> Tensor:
    """The smallest elements, of all or along dimensions (an int or several). Equal ones share the gradient."""
def aminmax(
    input: Tensor,
    dim: _int | None = None,
    keepdim: _bool = False,
    *,
    out: Outs | None = None,
) -> return_types.aminmax:
    """`amin` and `amax` at once, of all elements or along one dimension."""
def angle(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The angle of a complex number from the positive real axis; of a real number 0 or pi, by its sign."""
def any(input: Tensor, dim: Dims | None = None, keepdim: _bool = False, *, out: Tensor | None = None) -> Tensor:
    """Whether some element, or some along dimensions, is not 0. The result is bool (uint8 of uint8)."""
@overload
def arange(
    end: Number | Tensor,
    *,
    out: Tensor | None = None,
    dtype: dtype | None = None,
    layout: Layout | None = None,
    device: Device | None = None,
    requires_grad: _bool = False,
    pin_memory: _bool = False,
) -> Tensor:
    """Values from ``start`` (0) up to but not including ``end``, ``step`` apart."""
@overload
def arange(
    start: Number | Tensor,
    end: Number | Tensor,
    step: Number | Tensor = 1,
    *,
    out: Tensor | None = None,
    dtype: dtype | None = None,
    layout: Layout | None = None,
    device: Device | None = None,
    requires_grad: _bool = False,
    pin_memory: _bool = False,
) -> Tensor: ...
def arccos(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Angle in ``[0, pi]`` whose cosine this is; NaN outside ``[-1, 1]``."""
def arccos_(input: Tensor) -> Tensor:
    """In-place version of `acos`: writes the result into this tensor and returns it."""
def arccosh(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Inverse of `cosh`; NaN below 1. Derivative: ``1 / sqrt(input ** 2 - 1)``."""
def arccosh_(input: Tensor) -> Tensor:
    """In-place version of `acosh`: writes the result into this tensor and returns it."""
def arcsin(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Angle in ``[-pi/2, pi/2]`` whose sine this is; NaN outside ``[-1, 1]``."""
def arcsin_(input: Tensor) -> Tensor:
    """In-place version of `asin`: writes the result into this tensor and returns it."""
def arcsinh(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Inverse of `sinh`. Derivative: ``1 / sqrt(input ** 2 + 1)``."""
def arcsinh_(input: Tensor) -> Tensor:
    """In-place version of `asinh`: writes the result into this tensor and returns it."""
def arctan(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Angle in ``[-pi/2, pi/2]`` whose tangent this is. Derivative: ``1 / (1 + input ** 2)``."""
def arctan2(input: Tensor, other: Tensor | Number, *, out: Tensor | None = None) -> Tensor:
    """Angle of the point ``(other, input)`` from the positive first axis, in ``[-pi, pi]``."""
def arctan_(input: Tensor) -> Tensor:
    """In-place version of `atan`: writes the result into this tensor and returns it."""
def arctanh(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Inverse of `tanh`; NaN outside ``[-1, 1]``. Derivative: ``1 / (1 - input ** 2)``."""
def arctanh_(input: Tensor) -> Tensor:
    """In-place version of `atanh`: writes the result into this tensor and returns it."""
def argmax(input: Tensor, dim: _int | None = None, keepdim: _bool = False, *, out: Tensor | None = None) -> Tensor:
    """The index of the largest element, the first of equal ones, in the flattened tensor or along ``dim``."""
def argmin(input: Tensor, dim: _int | None = None, keepdim: _bool = False, *, out: Tensor | None = None) -> Tensor:
    """The index of the smallest element, the first of equal ones, in the flattened tensor or along ``dim``."""
def argsort(
    input: Tensor,
    dim: _int = -1,
    descending: _bool = False,
    stable: _bool = False,
    *,
    out: Tensor | None = None,
) -> Tensor:
    """The indices that sort along a dimension in ascending (or descending) order."""
def argwhere(input: Tensor) -> Tensor:
    """The indices of the elements that are not 0, a row for each."""
def as_strided(
    input: Tensor,
    size: Sequence[_int],
    stride: Sequence[_int],
    storage_offset: _int | None = None,
) -> Tensor:
    """A view of the input's memory with these sizes and strides, counted in elements."""
def as_strided_(
    input: Tensor,
    size: Sequence[_int],
    stride: Sequence[_int],
    storage_offset: _int | None = None,
) -> Tensor:
    """In-place version of `as_strided`: the memory stays, the shape changes."""
def as_strided_copy(*args: Any, **kwargs: Any) -> Any:
    """A copy of what the view ``as_strided`` shows."""
def as_strided_scatter(
    input: Tensor,
    src: Tensor,
    size: Sequence[_int],
    stride: Sequence[_int],
    storage_offset: _int | None = None,
) -> Tensor:
    """A contiguous copy of the input in which ``as_strided(size, stride, storage_offset)`` is ``src``."""
def as_tensor(data: Any, dtype: dtype | None = None, device: Device | None = None) -> Tensor:
    """``data`` as a tensor, without a copy where none is needed: the same tensor, or an array's own memory."""
def asarray(
    obj: Any,
    *,
    dtype: dtype | None = None,
    device: Device | None = None,
    copy: _bool | None = None,
    requires_grad: _bool | None = None,
) -> Tensor:
    """``obj`` as a tensor; ``copy=True`` always copies, ``False`` never. Gradients flow back to a tensor."""
def asin(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Angle in ``[-pi/2, pi/2]`` whose sine this is; NaN outside ``[-1, 1]``."""
def asin_(input: Tensor) -> Tensor:
    """In-place version of `asin`: writes the result into this tensor and returns it."""
def asinh(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Inverse of `sinh`. Derivative: ``1 / sqrt(input ** 2 + 1)``."""
def asinh_(input: Tensor) -> Tensor:
    """In-place version of `asinh`: writes the result into this tensor and returns it."""
def atan(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Angle in ``[-pi/2, pi/2]`` whose tangent this is. Derivative: ``1 / (1 + input ** 2)``."""
def atan2(input: Tensor, other: Tensor | Number, *, out: Tensor | None = None) -> Tensor:
    """Angle of the point ``(other, input)`` from the positive first axis, in ``[-pi, pi]``."""
def atan_(input: Tensor) -> Tensor:
    """In-place version of `atan`: writes the result into this tensor and returns it."""
def atanh(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Inverse of `tanh`; NaN outside ``[-1, 1]``. Derivative: ``1 / (1 - input ** 2)``."""
def atanh_(input: Tensor) -> Tensor:
    """In-place version of `atanh`: writes the result into this tensor and returns it."""
@overload
def atleast_1d(tensor: Tensor, /) -> Tensor:
    """Each tensor with at least 1 dimension: one for a tensor, a tuple for several or a list."""
@overload
def atleast_1d(*tensors: Tensor) -> tuple[Tensor, ...]: ...
@overload
def atleast_1d(tensors: Sequence[Tensor], /) -> tuple[Tensor, ...]: ...
@overload
def atleast_2d(tensor: Tensor, /) -> Tensor:
    """Each tensor with at least 2 dimensions: one for a tensor, a tuple for several or a list."""
@overload
def atleast_2d(*tensors: Tensor) -> tuple[Tensor, ...]: ...
@overload
def atleast_2d(tensors: Sequence[Tensor], /) -> tuple[Tensor, ...]: ...
@overload
def atleast_3d(tensor: Tensor, /) -> Tensor:
    """Each tensor with at least 3 dimensions: one for a tensor, a tuple for several or a list."""
@overload
def atleast_3d(*tensors: Tensor) -> tuple[Tensor, ...]: ...
@overload
def atleast_3d(tensors: Sequence[Tensor], /) -> tuple[Tensor, ...]: ...
def avg_pool1d(
    input: Tensor,
    kernel_size: Dims,
    stride: Dims | None = None,
    padding: Dims = 0,
    ceil_mode: _bool = False,
    count_include_pad: _bool = True,
) -> Tensor:
    """Means of windows; see `avg_pool2d`. Input: (N, C, L), or (C, L)."""
def baddbmm(
    input: Tensor,
    batch1: Tensor,
    batch2: Tensor,
    beta: Number = 1,
    alpha: Number = 1,
    *,
    out: Tensor | None = None,
) -> Tensor:
    """``beta * input + alpha * bmm(batch1, batch2)``."""
def bartlett_window(
    window_length: _int,
    periodic: _bool = True,
    *,
    dtype: dtype | None = None,
    layout: Layout | None = None,
    device: Device | None = None,
    requires_grad: _bool = False,
    pin_memory: _bool = False,
) -> Tensor:
    """``1 - |2 t - 1|``, a triangle."""
def batch_norm(
    input: Tensor,
    weight: Tensor | None,
    bias: Tensor | None,
    running_mean: Tensor | None,
    running_var: Tensor | None,
    training: _bool,
    momentum: _float,
    eps: _float,
    cudnn_enabled: _bool = True,
) -> Tensor:
    """`torch.nn.functional.batch_norm`."""
def bernoulli(
    input: Tensor,
    p: _float | None = None,
    *,
    generator: Generator | None = None,
    out: Tensor | None = None,
) -> Tensor:
    """1 with the probability that ``input`` says element by element (or ``p`` everywhere), else 0, in ``input``'s
    type."""
bfloat16: dtype
def bilinear(input1: Tensor, input2: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    """``y[o] = x1 @ weight[o] @ x2 + bias[o]``."""
def binary_cross_entropy_with_logits(
    input: Tensor,
    target: Tensor,
    weight: Tensor | None = None,
    size_average: _bool | None = None,
    reduce: _bool | None = None,
    reduction: str = "mean",
    pos_weight: Tensor | None = None,
) -> Tensor:
    """`binary_cross_entropy` of ``sigmoid(input)``, exact for inputs of any size."""
def bincount(input: Tensor, weights: Tensor | None = None, minlength: _int = 0, *, out: Tensor | None = None) -> Tensor:
    """How often each number from 0 occurs in a 1-d tensor of integers, or the sum of the weights there."""
def binomial(count: Tensor, prob: Tensor, generator: Generator | None = None) -> Tensor:
    """How many of ``count`` trials succeed, each with probability ``prob``."""
def bitwise_and(input: Tensor, other: Tensor | Number, *, out: Tensor | None = None) -> Tensor:
    """Bits set in both, of integers; logical AND of bools; the operator ``&``."""
def bitwise_left_shift(input: Tensor, other: Tensor | Number, *, out: Tensor | None = None) -> Tensor:
    """``input * 2 ** other``, of integers, as far as the bits go; the operator ``<<``."""
def bitwise_not(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Every bit flipped, of integers; logical NOT of bools; the operator ``~``."""
def bitwise_or(input: Tensor, other: Tensor | Number, *, out: Tensor | None = None) -> Tensor:
    """Bits set in either, of integers; logical OR of bools; the operator ``|``."""
def bitwise_right_shift(input: Tensor, other: Tensor | Number, *, out: Tensor | None = None) -> Tensor:
    """``input`` divided by ``2 ** other`` and rounded down, of integers; the operator ``>>``."""
def bitwise_xor(input: Tensor, other: Tensor | Number, *, out: Tensor | None = None) -> Tensor:
    """Bits set in exactly one, of integers; logical XOR of bools; the operator ``^``."""
def blackman_window(
    window_length: _int,
    periodic: _bool = True,
    *,
    dtype: dtype | None = None,
    layout: Layout | None = None,
    device: Device | None = None,
    requires_grad: _bool = False,
    pin_memory: _bool = False,
) -> Tensor:
    """``0.42 - 0.5 cos(2π t) + 0.08 cos(4π t)``."""
def block_diag(*tensors: Tensor) -> Tensor:
    """A matrix of zeros with these tensors (2-d, or rows) down its diagonal."""
def bmm(input: Tensor, mat2: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Products of the matrices of two batches, ``(b, n, k)`` and ``(b, k, m)``; no broadcasting."""
bool: dtype
def broadcast_shapes(*shapes: _int | Sequence[_int]) -> Size:
    """The shape that tensors of these shapes (tuples, or ints for one dimension) broadcast to."""
def broadcast_tensors(*tensors: Tensor | Sequence[Tensor]) -> tuple[Tensor, ...]:
    """All tensors expanded to their common shape; those that have it are returned as they are."""
def broadcast_to(input: Tensor, size: Sequence[_int]) -> Tensor:
    """`expand <Tensor.expand>` as a function."""
def bucketize(
    input: Tensor | Number,
    boundaries: Tensor,
    *,
    out_int32: _bool = False,
    right: _bool = False,
    out: Tensor | None = None,
) -> Tensor:
    """Which bucket between the sorted 1-d ``boundaries`` each element falls into, by `searchsorted`."""
def can_cast(source: dtype, target: dtype) -> _bool:
    """Whether a result of one dtype may be written into another (not into a lower category)."""
def cartesian_prod(*tensors: Tensor) -> Tensor:
    """All ways to choose an element of each 1-d tensor, a row for each; one tensor alone is returned as it is."""
def cat(tensors: Sequence[Tensor], dim: _int = 0, *, out: Tensor | None = None) -> Tensor:
    """Tensors one after the other along ``dim``; in the other dimensions they must agree."""
def cdist(x1: Tensor, x2: Tensor, p: _float = 2.0, compute_mode: str | None = None) -> Tensor:
    """Distances between all points of two sets, in the p-norm."""
cdouble: dtype
def ceil(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The smallest integer not below. Derivative: 0."""
def ceil_(input: Tensor) -> Tensor:
    """In-place version of `ceil`: writes the result into this tensor and returns it."""
def celu(input: Tensor, alpha: _float = 1.0, inplace: _bool = False) -> Tensor:
    """``input`` where positive, ``alpha * (exp(input / alpha) - 1)`` elsewhere (Barron 2017): smooth for any alpha."""
def celu_(input: Tensor, alpha: _float = 1.0) -> Tensor:
    """In-place version of `celu`."""
cfloat: dtype
def chain_matmul(*matrices: Tensor, out: Tensor | None = None) -> Tensor:
    """Product of several matrices. Deprecated: see `torch.linalg.multi_dot`."""
chalf: dtype
def channel_shuffle(input: Tensor, groups: _int, *, out: Tensor | None = None) -> Tensor:
    """Channels interleaved between groups: (N, groups * k, ...) as (N, groups, k, ...), transposed to (N, k, groups,
    ...)."""
channels_last: MemoryFormat
channels_last_3d: MemoryFormat
def cholesky(input: Tensor, upper: _bool = False, *, out: Tensor | None = None) -> Tensor:
    """Deprecated: see `torch.linalg.cholesky`."""
def cholesky_inverse(input: Tensor, upper: _bool = False, *, out: Tensor | None = None) -> Tensor:
    """The inverse of A, given its Cholesky factor: of ``L @ L.mH``, or of ``U.mH @ U`` if ``upper``."""
def cholesky_solve(input: Tensor, L: Tensor, upper: _bool = False, *, out: Tensor | None = None) -> Tensor:
    """Solutions of ``A X = input``, given the Cholesky factor of A."""
def chunk(input: Tensor, chunks: _int, dim: _int = 0) -> tuple[Tensor, ...]:
    """At most ``chunks`` consecutive pieces along ``dim``, all of one size but the last."""
def clamp(
    input: Tensor,
    min: Tensor | Number | None = None,
    max: Tensor | Number | None = None,
    *,
    out: Tensor | None = None,
) -> Tensor:
    """Each element clamped between ``min`` and ``max`` (to ``max``, where they cross)."""
def clamp_(input: Tensor, min: Tensor | Number | None = None, max: Tensor | Number | None = None) -> Tensor:
    """In-place version of `clamp`."""
def clamp_max(input: Tensor, max: Tensor | Number, *, out: Tensor | None = None) -> Tensor:
    """The smaller of the element and ``max``, a number or a tensor; see `clamp`."""
def clamp_max_(input: Tensor, max: Tensor | Number) -> Tensor:
    """In-place version of `clamp_max`."""
def clamp_min(input: Tensor, min: Tensor | Number, *, out: Tensor | None = None) -> Tensor:
    """The larger of the element and ``min``, a number or a tensor; see `clamp`."""
def clamp_min_(input: Tensor, min: Tensor | Number) -> Tensor:
    """In-place version of `clamp_min`."""
def clip(
    input: Tensor,
    min: Tensor | Number | None = None,
    max: Tensor | Number | None = None,
    *,
    out: Tensor | None = None,
) -> Tensor:
    """Each element clamped between ``min`` and ``max`` (to ``max``, where they cross)."""
def clip_(input: Tensor, min: Tensor | Number | None = None, max: Tensor | Number | None = None) -> Tensor:
    """In-place version of `clamp`."""
def clone(input: Tensor, memory_format: MemoryFormat = ..., *, out: Tensor | None = None) -> Tensor:
    """A copy, through which gradients flow back."""
def column_stack(tensors: Sequence[Tensor], *, out: Tensor | None = None) -> Tensor:
    """Tensors side by side, 1-d ones as columns."""
def combinations(input: Tensor, r: _int = 2, with_replacement: _bool = False) -> Tensor:
    """All ways to choose ``r`` elements of a 1-d tensor, in order, a row for each."""
def complex(real: Tensor, imag: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Complex numbers from their parts."""
complex128: dtype
complex32: dtype
complex64: dtype
def concat(tensors: Sequence[Tensor], dim: _int = 0, *, axis: _int | None = None, out: Tensor | None = None) -> Tensor:
    """Another name of `cat`."""
def concatenate(
    tensors: Sequence[Tensor],
    dim: _int = 0,
    *,
    axis: _int | None = None,
    out: Tensor | None = None,
) -> Tensor:
    """Another name of `cat`."""
def conj(input: Tensor) -> Tensor:
    """Complex conjugate, a view: writing into either changes the other. The tensor itself where it is real."""
def conj_physical(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Complex conjugate, a new tensor; the tensor itself where it is real."""
def conj_physical_(input: Tensor) -> Tensor:
    """In-place version of `conj_physical`."""
def constant_pad_nd(
    input: Tensor,
    pad: Sequence[_int],
    value: Tensor | Number = 0,
    *,
    out: Tensor | None = None,
) -> Tensor:
    """The tensor with a border of one value."""
contiguous_format: MemoryFormat
def conv1d(
    input: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    stride: _int | Sequence[_int] = 1,
    padding: _int | Sequence[_int] | str = 0,
    dilation: _int | Sequence[_int] = 1,
    groups: _int = 1,
) -> Tensor:
    """Convolution over one dimension; see `convolution`."""
def conv2d(
    input: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    stride: _int | Sequence[_int] = 1,
    padding: _int | Sequence[_int] | str = 0,
    dilation: _int | Sequence[_int] = 1,
    groups: _int = 1,
) -> Tensor:
    """Convolution over two dimensions; see `convolution`."""
def conv3d(
    input: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    stride: _int | Sequence[_int] = 1,
    padding: _int | Sequence[_int] | str = 0,
    dilation: _int | Sequence[_int] = 1,
    groups: _int = 1,
) -> Tensor:
    """Convolution over three dimensions; see `convolution`."""
def conv_tbc(input: Tensor, weight: Tensor, bias: Tensor, pad: _int = 0) -> Tensor:
    """Convolution of sequences laid out (time, batch, channels)."""
def conv_transpose1d(
    input: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    stride: _int | Sequence[_int] = 1,
    padding: _int | Sequence[_int] = 0,
    output_padding: _int | Sequence[_int] = 0,
    groups: _int = 1,
    dilation: _int | Sequence[_int] = 1,
) -> Tensor:
    """Transposed convolution over one dimension: what the gradient of ``conv1d`` is; see `convolution`."""
def conv_transpose2d(
    input: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    stride: _int | Sequence[_int] = 1,
    padding: _int | Sequence[_int] = 0,
    output_padding: _int | Sequence[_int] = 0,
    groups: _int = 1,
    dilation: _int | Sequence[_int] = 1,
) -> Tensor:
    """Transposed convolution over two dimensions: what the gradient of ``conv2d`` is; see `convolution`."""
def conv_transpose3d(
    input: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    stride: _int | Sequence[_int] = 1,
    padding: _int | Sequence[_int] = 0,
    output_padding: _int | Sequence[_int] = 0,
    groups: _int = 1,
    dilation: _int | Sequence[_int] = 1,
) -> Tensor:
    """Transposed convolution over three dimensions: what the gradient of ``conv3d`` is; see `convolution`."""
def convolution(
    input: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    stride: _int | Sequence[_int] = 1,
    padding: _int | Sequence[_int] = 0,
    dilation: _int | Sequence[_int] = 1,
    transposed: _bool = False,
    output_padding: _int | Sequence[_int] = 0,
    groups: _int = 1,
    *,
    out: Tensor | None = None,
) -> Tensor:
    """A convolution of any kind: what ``conv1d`` to ``conv_transpose3d`` are made of."""
def copysign(input: Tensor, other: Tensor | Number, *, out: Tensor | None = None) -> Tensor:
    """The size of ``input`` with the sign of ``other``."""
def corrcoef(input: Tensor) -> Tensor:
    """The correlations of variables (rows) over observations (columns): `cov` with 1 on the diagonal."""
def cos(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Cosine, of radians. Derivative: minus the sine."""
def cos_(input: Tensor) -> Tensor:
    """In-place version of `cos`: writes the result into this tensor and returns it."""
def cosh(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Hyperbolic cosine. Derivative: the hyperbolic sine."""
def cosh_(input: Tensor) -> Tensor:
    """In-place version of `cosh`: writes the result into this tensor and returns it."""
def cosine_embedding_loss(
    input1: Tensor,
    input2: Tensor,
    target: Tensor,
    margin: _float = 0,
    size_average: _bool | None = None,
    reduce: _bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    """``1 - cos`` where the target is 1, ``max(0, cos - margin)`` where it is -1; cos is the cosine of the two
    inputs."""
def cosine_similarity(x1: Tensor, x2: Tensor, dim: _int = 1, eps: _float = 1e-08) -> Tensor:
    """``sum(x1 * x2) / (max(norm(x1), eps) * max(norm(x2), eps))`` along a dimension."""
def count_nonzero(input: Tensor, dim: Dims | None = None, *, out: Tensor | None = None) -> Tensor:
    """How many elements, all or along dimensions, are not 0."""
def cov(
    input: Tensor,
    *,
    correction: _int = 1,
    fweights: Tensor | None = None,
    aweights: Tensor | None = None,
) -> Tensor:
    """The covariances of variables (rows) over observations (columns)."""
def cross(input: Tensor, other: Tensor, dim: _int | None = None, *, out: Tensor | None = None) -> Tensor:
    """Vector product along a dimension of size 3, by default the first such."""
def ctc_loss(
    log_probs: Tensor,
    targets: Tensor,
    input_lengths: Tensor | Sequence[_int],
    target_lengths: Tensor | Sequence[_int],
    blank: _int = 0,
    reduction: _int = 1,
    zero_infinity: _bool = False,
) -> Tensor:
    """`torch.nn.functional.ctc_loss`, where the reduction is a number: 0 for none, 1 for the mean, 2 for the sum."""
def cummax(input: Tensor, dim: _int, *, out: Outs | None = None) -> return_types.cummax:
    """The largest element so far along a dimension, and where it was last. After NaN all is NaN."""
def cummin(input: Tensor, dim: _int, *, out: Outs | None = None) -> return_types.cummin:
    """The smallest element so far along a dimension, and where it was last. After NaN all is NaN."""
def cumprod(input: Tensor, dim: _int, dtype: dtype | None = None, *, out: Tensor | None = None) -> Tensor:
    """The running product along a dimension, of bools and integers in int64 unless ``dtype`` says otherwise."""
def cumsum(input: Tensor, dim: _int, dtype: dtype | None = None, *, out: Tensor | None = None) -> Tensor:
    """The running sum along a dimension, of bools and integers in int64 unless ``dtype`` says otherwise."""
def cumulative_trapezoid(y: Tensor, x: Tensor | None = None, *, dx: Number | None = None, dim: _int = -1) -> Tensor:
    """The cumulative integrals by `trapezoid`: one for each sample but the first."""
default_generator: Generator
def deg2rad(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """``input * pi / 180``."""
def deg2rad_(input: Tensor) -> Tensor:
    """In-place version of `deg2rad`: writes the result into this tensor and returns it."""
def det(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The same as `torch.linalg.det`."""
def detach(self: Any) -> Tensor:
    """The same memory, without history."""
def detach_(self: Any) -> Tensor:
    """Forget the history of this tensor, in place."""
def detach_copy(*args: Any, **kwargs: Any) -> Any:
    """A copy of what the view ``detach`` shows."""
def diag(input: Tensor, diagonal: _int = 0, *, out: Tensor | None = None) -> Tensor:
    """A matrix with this diagonal for a 1-d tensor, a copy of its diagonal for a matrix."""
def diag_embed(input: Tensor, offset: _int = 0, dim1: _int = -2, dim2: _int = -1) -> Tensor:
    """Matrices in two new dimensions, with the input's last dimension down a diagonal and 0 elsewhere."""
def diagflat(input: Tensor, offset: _int = 0) -> Tensor:
    """A matrix with the flattened input as a diagonal."""
def diagonal(input: Tensor, offset: _int = 0, dim1: _int = 0, dim2: _int = 1) -> Tensor:
    """The elements whose index in ``dim2`` is that in ``dim1`` plus ``offset``, along a new last dimension."""
def diagonal_copy(*args: Any, **kwargs: Any) -> Any:
    """A copy of what the view ``diagonal`` shows."""
def diagonal_scatter(input: Tensor, src: Tensor, offset: _int = 0, dim1: _int = 0, dim2: _int = 1) -> Tensor:
    """A copy of the input in which ``input.diagonal(offset, dim1, dim2)`` is ``src``."""
def diff(
    input: Tensor,
    n: _int = 1,
    dim: _int = -1,
    prepend: Tensor | None = None,
    append: Tensor | None = None,
    *,
    out: Tensor | None = None,
) -> Tensor:
    """``n``-th differences of neighbours along a dimension; exclusive or for bools."""
def digamma(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Derivative of `lgamma`; NaN at the poles -1, -2, ..., and minus infinity at 0."""
def dist(input: Tensor, other: Tensor, p: _float = 2) -> Tensor:
    """The ``p``-norm of ``input - other``, which broadcast."""
def div(
    input: Tensor,
    other: Tensor | Number,
    *,
    rounding_mode: str | None = None,
    out: Tensor | None = None,
) -> Tensor:
    """Quotient, element by element."""
def divide(
    input: Tensor,
    other: Tensor | Number,
    *,
    rounding_mode: str | None = None,
    out: Tensor | None = None,
) -> Tensor:
    """Quotient, element by element."""
def dot(input: Tensor, tensor: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Sum of the products of the elements of two vectors. Complex numbers are not conjugated: see `vdot`."""
double: dtype
def dropout(input: Tensor, p: _float, train: _bool) -> Tensor:
    """`torch.nn.functional.dropout`."""
def dropout_(input: Tensor, p: _float, train: _bool) -> Tensor:
    """In-place version of `dropout`."""
def dsmm(input: Tensor, mat2: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Product of two matrices, ``(n, k)`` and ``(k, m)``; no broadcasting."""
def dsplit(input: Tensor, indices_or_sections: _int | Sequence[_int] | Tensor) -> tuple[Tensor, ...]:
    """`tensor_split` along dimension 2, into equal pieces."""
def dstack(tensors: Sequence[Tensor], *, out: Tensor | None = None) -> Tensor:
    """Tensors behind each other: along dimension 2 of at least 3-d ones."""
e: _float
@overload
def einsum(equation: str, /, *operands: Tensor | Sequence[Tensor]) -> Tensor:
    """Einstein's summation convention: products of tensors, summed over the dimensions that the output does not
    name."""
@overload
def einsum(operand: Tensor, /, *args: Tensor | Sequence[_int]) -> Tensor: ...
def embedding(
    weight: Tensor,
    indices: Tensor,
    padding_idx: _int = -1,
    scale_grad_by_freq: _bool = False,
    sparse: _bool = False,
) -> Tensor:
    """`torch.nn.functional.embedding`, with the table first; a negative ``padding_idx`` means none."""
def embedding_bag(
    weight: Tensor,
    indices: Tensor,
    offsets: Tensor,
    scale_grad_by_freq: _bool = False,
    mode: _int = 0,
    sparse: _bool = False,
    per_sample_weights: Tensor | None = None,
    include_last_offset: _bool = False,
    padding_idx: _int | None = None,
) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """`torch.nn.functional.embedding_bag`, with the table first."""
def embedding_renorm_(weight: Tensor, indices: Tensor, max_norm: _float, norm_type: _float = 2.0) -> Tensor:
    """Scale the rows of a table at ``indices`` whose norm is larger down to ``max_norm``, in place."""
@overload
def empty(
    *size: _int,
    out: Tensor | None = None,
    dtype: dtype | None = None,
    layout: Layout | None = None,
    device: Device | None = None,
    requires_grad: _bool = False,
    pin_memory: _bool = False,
) -> Tensor:
    """A tensor of the given shape, uninitialised (0 here, so that programs are reproducible)."""
@overload
def empty(
    size: Sequence[_int],
    *,
    out: Tensor | None = None,
    dtype: dtype | None = None,
    layout: Layout | None = None,
    device: Device | None = None,
    requires_grad: _bool = False,
    pin_memory: _bool = False,
) -> Tensor: ...
def empty_like(
    input: Tensor,
    *,
    dtype: dtype | None = None,
    layout: Layout | None = None,
    device: Device | None = None,
    requires_grad: _bool = False,
    pin_memory: _bool = False,
    memory_format: MemoryFormat | None = None,
) -> Tensor:
    """A tensor of ``input``'s shape and type, uninitialised."""
def empty_permuted(size: Sequence[_int], physical_layout: Sequence[_int], **kwargs: Any) -> Tensor:
    """An uninitialised tensor of the given shape, dense in memory, with the dimensions in another order there."""
def empty_strided(
    size: Sequence[_int],
    stride: Sequence[_int],
    *,
    dtype: dtype | None = None,
    layout: Layout | None = None,
    device: Device | None = None,
    requires_grad: _bool = False,
    pin_memory: _bool = False,
) -> Tensor:
    """An uninitialised tensor of the given shape and strides (in elements)."""
def eq(input: Tensor, other: Tensor | Number, *, out: Tensor | None = None) -> Tensor:
    """Whether elements are equal, as bool; the operator ``==``."""
def equal(input: Tensor, other: Tensor) -> _bool:
    """Whether two tensors have the same shape and equal elements. A Python bool; NaN equals nothing."""
def erf(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Error function ``2/sqrt(pi) * integral of exp(-t*t) from 0 to input`` (DLMF 7.2.1)."""
def erf_(input: Tensor) -> Tensor:
    """In-place version of `erf`: writes the result into this tensor and returns it."""
def erfc(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """``1 - erf(input)``, accurate for large input."""
def erfc_(input: Tensor) -> Tensor:
    """In-place version of `erfc`: writes the result into this tensor and returns it."""
def erfinv(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Inverse of `erf`; NaN outside ``[-1, 1]``. Derivative: ``sqrt(pi)/2 * exp(out ** 2)``."""
def exp(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """``e ** input``. Derivative: the result itself."""
def exp2(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """``2 ** input``. Derivative: ``out * ln 2``."""
def exp2_(input: Tensor) -> Tensor:
    """In-place version of `exp2`: writes the result into this tensor and returns it."""
def exp_(input: Tensor) -> Tensor:
    """In-place version of `exp`: writes the result into this tensor and returns it."""
def expand_copy(*args: Any, **kwargs: Any) -> Any:
    """A copy of what the view ``expand`` shows."""
def expm1(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """``e ** input - 1``, without the cancellation near 0. Derivative: ``exp(input)``."""
def expm1_(input: Tensor) -> Tensor:
    """In-place version of `expm1`: writes the result into this tensor and returns it."""
def eye(
    n: _int,
    m: _int | None = None,
    *,
    out: Tensor | None = None,
    dtype: dtype | None = None,
    layout: Layout | None = None,
    device: Device | None = None,
    requires_grad: _bool = False,
    pin_memory: _bool = False,
) -> Tensor:
    """Ones on the diagonal of an ``n × m`` matrix (``m`` default ``n``), zeros elsewhere."""
def feature_alpha_dropout(input: Tensor, p: _float, train: _bool) -> Tensor:
    """`torch.nn.functional.feature_alpha_dropout`."""
def feature_alpha_dropout_(input: Tensor, p: _float, train: _bool) -> Tensor:
    """In-place version of `feature_alpha_dropout`."""
def feature_dropout(input: Tensor, p: _float, train: _bool) -> Tensor:
    """Dropout of whole features: the trailing dimensions of ``(batch, channels, ...)`` together."""
def feature_dropout_(input: Tensor, p: _float, train: _bool) -> Tensor:
    """In-place version of `feature_dropout`."""
def fill(input: Tensor, value: Tensor | Number) -> Tensor:
    """A tensor like ``input``, filled with one number (or the value of a 0-d tensor)."""
def fill_(self: Tensor, value: Tensor | Number) -> Tensor:
    """Write one number (or the value of a 0-d tensor) everywhere into this tensor. Returns it."""
def fix(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Rounded to zero. Derivative: 0."""
def fix_(input: Tensor) -> Tensor:
    """In-place version of `trunc`: writes the result into this tensor and returns it."""
def flatten(input: Tensor, start_dim: _int = 0, end_dim: _int = -1) -> Tensor:
    """The dimensions from ``start_dim`` through ``end_dim`` flattened to one. A 0-d tensor becomes 1-d."""
def flip(input: Tensor, dims: Sequence[_int], *, out: Tensor | None = None) -> Tensor:
    """The order along these dimensions reversed."""
def fliplr(input: Tensor) -> Tensor:
    """Left and right exchanged: dimension 1 reversed."""
def flipud(input: Tensor) -> Tensor:
    """Up and down exchanged: dimension 0 reversed."""
float: dtype
float16: dtype
float32: dtype
float4_e2m1fn_x2: dtype
float64: dtype
float8_e4m3fn: dtype
float8_e4m3fnuz: dtype
float8_e5m2: dtype
float8_e5m2fnuz: dtype
float8_e8m0fnu: dtype
def float_power(input: Tensor | Number, exponent: Tensor | Number, *, out: Tensor | None = None) -> Tensor:
    """``input ** exponent`` in float64 (complex128 for complex)."""
def floor(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The largest integer not above. Derivative: 0."""
def floor_(input: Tensor) -> Tensor:
    """In-place version of `floor`: writes the result into this tensor and returns it."""
def floor_divide(input: Tensor, other: Tensor | Number, *, out: Tensor | None = None) -> Tensor:
    """Quotient rounded down, element by element; the operator ``//``."""
def fmax(input: Tensor, other: Tensor | Number, *, out: Tensor | None = None) -> Tensor:
    """The larger of two, element by element, rather than NaN. Of equal ones the first has the gradient."""
def fmin(input: Tensor, other: Tensor | Number, *, out: Tensor | None = None) -> Tensor:
    """The smaller of two, element by element, rather than NaN. Of equal ones the first has the gradient."""
def fmod(input: Tensor, other: Tensor | Number, *, out: Tensor | None = None) -> Tensor:
    """Remainder with the sign of the dividend, as C's ``fmod``."""
def frac(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The fractional part, ``input - trunc(input)``. Derivative: 1."""
def frac_(input: Tensor) -> Tensor:
    """In-place version of `frac`: writes the result into this tensor and returns it."""
def frexp(input: Tensor, *, out: Outs | None = None) -> return_types.frexp:
    """``mantissa * 2 ** exponent == input`` with the mantissa's size in ``[0.5, 1)``."""
def frobenius_norm(input: Tensor, dim: Dims | None = None, keepdim: _bool = False) -> Tensor:
    """Deprecated: see `torch.linalg.vector_norm`."""
def from_dlpack(ext_tensor: Any, *, device: Device | None = None, copy: _bool | None = None) -> Tensor:
    """A tensor on the memory of any object that speaks DLPack, or of a capsule."""
def from_file(
    filename: str,
    shared: _bool | None = None,
    size: _int = 0,
    *,
    dtype: dtype | None = None,
    layout: Layout | None = None,
    device: Device | None = None,
    pin_memory: _bool = False,
) -> Tensor:
    """A one-dimensional tensor on a file that is mapped into memory."""
def from_numpy(array: np.ndarray) -> Tensor:
    """A tensor on the array's own memory: writes are seen on both sides."""
def frombuffer(
    buffer: Any,
    *,
    dtype: dtype,
    count: _int = -1,
    offset: _int = 0,
    requires_grad: _bool = False,
) -> Tensor:
    """A one-dimensional tensor on the memory of a buffer."""
def full(
    size: Sequence[_int],
    fill_value: Number,
    *,
    out: Tensor | None = None,
    dtype: dtype | None = None,
    layout: Layout | None = None,
    device: Device | None = None,
    requires_grad: _bool = False,
    pin_memory: _bool = False,
) -> Tensor:
    """A tensor of the given shape, filled with one value, by default of that value's type."""
def full_like(
    input: Tensor,
    fill_value: Number,
    *,
    dtype: dtype | None = None,
    layout: Layout | None = None,
    device: Device | None = None,
    requires_grad: _bool = False,
    pin_memory: _bool = False,
    memory_format: MemoryFormat | None = None,
) -> Tensor:
    """A tensor of ``input``'s shape and type, filled with one value."""
def gather(input: Tensor, dim: _int, index: Tensor, *, sparse_grad: _bool = False, out: Tensor | None = None) -> Tensor:
    """Elements of the input selected along ``dim`` by ``index``: ``out[i, j] = input[i, index[i, j]]`` for dim 1."""
def gcd(input: Tensor, other: Tensor | Number, *, out: Tensor | None = None) -> Tensor:
    """Greatest common divisor of integers; of 0 and 0 it is 0."""
def gcd_(input: Tensor, other: Tensor | Number) -> Tensor:
    """In-place version of `gcd`: writes into this tensor, in its type, returns it."""
def ge(input: Tensor, other: Tensor | Number, *, out: Tensor | None = None) -> Tensor:
    """Whether ``input >= other``, element by element, as bool."""
def geqrf(input: Tensor, *, out: Outs | None = None) -> return_types.geqrf:
    """The QR decomposition in LAPACK's form: R in the upper triangle of ``a``, below it and in ``tau`` the
    reflections whose product is Q (see `orgqr`). Not differentiable."""
def ger(input: Tensor, vec2: Tensor, *, out: Tensor | None = None) -> Tensor:
    """All products of the elements of two vectors: ``(n,)`` and ``(m,)`` give ``(n, m)``."""
def get_device(input: Tensor) -> _int:
    """The number of the tensor's device: -1, the CPU."""
def get_rng_state() -> Tensor:
    """The state of the default generator."""
def gradient(
    input: Tensor,
    *,
    spacing: Any = None,
    dim: Dims | None = None,
    edge_order: _int = 1,
) -> tuple[Tensor, ...]:
    """The derivatives of a function along dimensions, by central differences of its samples."""
def greater(input: Tensor, other: Tensor | Number, *, out: Tensor | None = None) -> Tensor:
    """Whether ``input > other``, element by element, as bool."""
def greater_equal(input: Tensor, other: Tensor | Number, *, out: Tensor | None = None) -> Tensor:
    """Whether ``input >= other``, element by element, as bool."""
def grid_sampler(
    input: Tensor,
    grid: Tensor,
    interpolation_mode: _int,
    padding_mode: _int,
    align_corners: _bool,
) -> Tensor:
    """`grid_sample` with numbers for modes: 0, 1, 2 in the order in which it lists them."""
def grid_sampler_2d(
    input: Tensor,
    grid: Tensor,
    interpolation_mode: _int,
    padding_mode: _int,
    align_corners: _bool,
) -> Tensor:
    """`grid_sample` with numbers for modes: 0, 1, 2 in the order in which it lists them."""
def grid_sampler_3d(
    input: Tensor,
    grid: Tensor,
    interpolation_mode: _int,
    padding_mode: _int,
    align_corners: _bool,
) -> Tensor:
    """`grid_sample` with numbers for modes: 0, 1, 2 in the order in which it lists them."""
def group_norm(
    input: Tensor,
    num_groups: _int,
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    eps: _float = 1e-05,
    cudnn_enabled: _bool = True,
) -> Tensor:
    """Each group of channels of each sample to mean 0 and variance 1, then ``* weight + bias`` per channel."""
def gru_cell(
    input: Tensor,
    hx: Tensor,
    w_ih: Tensor,
    w_hh: Tensor,
    b_ih: Tensor | None = None,
    b_hh: Tensor | None = None,
) -> Tensor:
    """One step of a gated recurrent unit (Cho et al. 2014), in the form of `torch.nn.GRUCell`."""
def gt(input: Tensor, other: Tensor | Number, *, out: Tensor | None = None) -> Tensor:
    """Whether ``input > other``, element by element, as bool."""
half: dtype
def hamming_window(
    window_length: _int,
    periodic: _bool = True,
    alpha: _float = 0.54,
    beta: _float = 0.46,
    *,
    dtype: dtype | None = None,
    layout: Layout | None = None,
    device: Device | None = None,
    requires_grad: _bool = False,
    pin_memory: _bool = False,
) -> Tensor:
    """``α - β cos(2π t)``."""
def hann_window(
    window_length: _int,
    periodic: _bool = True,
    *,
    dtype: dtype | None = None,
    layout: Layout | None = None,
    device: Device | None = None,
    requires_grad: _bool = False,
    pin_memory: _bool = False,
) -> Tensor:
    """``(1 - cos(2π t)) / 2``."""
def hardshrink(input: Tensor, lambd: _float = 0.5) -> Tensor:
    """``input`` where its size is above ``lambd``, else 0."""
def hash_tensor(
    input: Tensor,
    dim: Dims = (),
    keepdim: _bool = False,
    mode: _int = 0,
    *,
    out: Tensor | None = None,
) -> Tensor:
    """All bits of the elements, as 64-bit floats or integers, combined by exclusive or; uint64."""
def heaviside(input: Tensor, values: Tensor, *, out: Tensor | None = None) -> Tensor:
    """0 below 0, 1 above, and ``values`` at 0. It has no derivative."""
def hinge_embedding_loss(
    input: Tensor,
    target: Tensor,
    margin: _float = 1.0,
    size_average: _bool | None = None,
    reduce: _bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    """``input`` where the target is 1, ``max(0, margin - input)`` where it is -1."""
def histc(
    input: Tensor,
    bins: _int = 100,
    min: Tensor | Number = 0,
    max: Tensor | Number = 0,
    *,
    out: Tensor | None = None,
) -> Tensor:
    """How many elements fall into equal bins from ``min`` to ``max`` (both 0: those of the input)."""
def histogram(
    input: Tensor,
    bins: _int | Tensor | Sequence[_float] = 100,
    *,
    range: Sequence[_float] | None = None,
    weight: Tensor | None = None,
    density: _bool = False,
    out: Outs | None = None,
) -> return_types.histogram:
    """Count elements in bins."""
def histogramdd(
    input: Tensor,
    bins: _int | Sequence[_int] | Sequence[Tensor],
    range: Sequence[_float] | None = None,
    weight: Tensor | None = None,
    density: _bool = False,
) -> return_types.histogramdd:
    """Count points in boxes."""
def hsplit(input: Tensor, indices_or_sections: _int | Sequence[_int] | Tensor) -> tuple[Tensor, ...]:
    """`tensor_split` along dimension 1 (0 if there is one only), into equal pieces."""
def hstack(tensors: Sequence[Tensor], *, out: Tensor | None = None) -> Tensor:
    """Tensors side by side: along dimension 1, or 0 if they are 1-d."""
def hypot(input: Tensor, other: Tensor | Number, *, out: Tensor | None = None) -> Tensor:
    """``sqrt(input ** 2 + other ** 2)`` without overflow."""
def i0(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Modified Bessel function of the first kind, of order 0. Derivative: order 1."""
def i0_(input: Tensor) -> Tensor:
    """In-place version of `i0`: writes the result into this tensor and returns it."""
def igamma(input: Tensor, other: Tensor | Number, *, out: Tensor | None = None) -> Tensor:
    """Regularized lower incomplete gamma function ``P(a, x)`` (DLMF 8.2.4), ``a = input`` and ``x = other``."""
def igammac(input: Tensor, other: Tensor | Number, *, out: Tensor | None = None) -> Tensor:
    """Regularized upper incomplete gamma function, ``1 - igamma(input, other)``."""
def imag(input: Tensor) -> Tensor:
    """The imaginary part, sharing memory. Also the attribute ``x.imag``."""
def index_add(input: Tensor, dim: _int, index: Tensor, source: Tensor, *, alpha: Number = 1) -> Tensor:
    """``input`` with ``alpha`` times the slices of ``source`` added to its slices ``index`` across ``dim``."""
def index_copy(input: Tensor, dim: _int, index: Tensor, source: Tensor) -> Tensor:
    """``input`` with its slices ``index`` across ``dim`` replaced by those of ``source``."""
def index_fill(input: Tensor, dim: _int, index: Tensor, value: Tensor | Number) -> Tensor:
    """``input`` with its slices ``index`` across ``dim`` filled with a number or a 0-d tensor."""
def index_put(input: Tensor, indices: Sequence[Tensor], values: Tensor, accumulate: _bool = False) -> Tensor:
    """``input`` with ``values``, which broadcast, written to the advanced index ``indices``, or added there."""
def index_put_(input: Tensor, indices: Sequence[Tensor], values: Tensor, accumulate: _bool = False) -> Tensor:
    """In-place version of `index_put`: writes into ``input`` and returns it."""
def index_reduce(
    input: Tensor,
    dim: _int,
    index: Tensor,
    source: Tensor,
    reduce: str,
    *,
    include_self: _bool = True,
    out: Tensor | None = None,
) -> Tensor:
    """The slices of ``source`` that go to one slice of the input (as in `index_add`), reduced with that slice."""
def index_select(input: Tensor, dim: _int, index: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Slices across ``dim``, in the order of ``index`` (1-d, int32 or int64), which may repeat them."""
inf: _float
def initial_seed() -> _int:
    """The seed of the default generator."""
def inner(input: Tensor, other: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Products of two tensors, summed over the last dimension of both; a plain product where one is 0-d."""
def instance_norm(
    input: Tensor,
    weight: Tensor | None,
    bias: Tensor | None,
    running_mean: Tensor | None,
    running_var: Tensor | None,
    use_input_stats: _bool,
    momentum: _float,
    eps: _float,
    cudnn_enabled: _bool = True,
) -> Tensor:
    """`torch.nn.functional.instance_norm`."""
int: dtype
int16: dtype
int32: dtype
int64: dtype
int8: dtype
def inverse(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The same as `torch.linalg.inv`."""
def is_complex(input: Tensor) -> _bool:
    """Whether the elements are complex."""
def is_conj(input: Tensor) -> _bool:
    """Whether this is a view of a tensor that shows its conjugate."""
def is_floating_point(input: Tensor) -> _bool:
    """Whether the elements are of a floating type."""
def is_inference(input: Tensor) -> _bool:
    """Whether a tensor was made in inference mode."""
def is_neg(input: Tensor) -> _bool:
    """Whether this is a view of a tensor that shows it, or its imaginary part, with the other sign."""
def is_nonzero(input: Tensor) -> _bool:
    """Whether the one element is not 0."""
def is_same_size(input: Tensor, other: Tensor) -> _bool:
    """Whether two tensors have the same shape."""
def is_signed(input: Tensor) -> _bool:
    """Whether the elements' type has negative numbers."""
def is_storage(obj: Any) -> _bool:
    """Whether this is a storage, typed or not."""
def is_tensor(obj: Any) -> _bool:
    """Whether ``obj`` is a tensor."""
def isclose(
    input: Tensor,
    other: Tensor,
    rtol: _float = 1e-05,
    atol: _float = 1e-08,
    equal_nan: _bool = False,
    *,
    out: Tensor | None = None,
) -> Tensor:
    """Whether ``abs(input - other) <= atol + rtol * abs(other)``, element by element, as bool."""
def isfinite(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Whether elements are neither infinite nor NaN, as bool."""
def isin(
    elements: Any,
    test_elements: Any,
    *,
    assume_unique: _bool = False,
    invert: _bool = False,
    out: Tensor | None = None,
) -> Tensor:
    """Whether each element is one of ``test_elements``, as bool."""
def isinf(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Whether elements are infinite (in either part, of complex numbers), as bool."""
def isnan(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Whether elements are NaN (in either part, of complex numbers), as bool."""
def isneginf(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Whether elements are negative infinity, as bool. Complex input: RuntimeError."""
def isposinf(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Whether elements are positive infinity, as bool. Complex input: RuntimeError."""
def isreal(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Whether elements have no imaginary part, as bool."""
def istft(
    input: Tensor,
    n_fft: _int,
    hop_length: _int | None = None,
    win_length: _int | None = None,
    window: Tensor | None = None,
    center: _bool = True,
    normalized: _bool = False,
    onesided: _bool | None = None,
    length: _int | None = None,
    return_complex: _bool = False,
) -> Tensor:
    """The inverse of `stft`: the signal whose frames are nearest to these in the least squares sense."""
def kaiser_window(
    window_length: _int,
    periodic: _bool = True,
    beta: _float = 12.0,
    *,
    dtype: dtype | None = None,
    layout: Layout | None = None,
    device: Device | None = None,
    requires_grad: _bool = False,
    pin_memory: _bool = False,
) -> Tensor:
    """``I₀(β √(1 - (2t - 1)²)) / I₀(β)``."""
def kl_div(
    input: Tensor,
    target: Tensor,
    size_average: _bool | None = None,
    reduce: _bool | None = None,
    reduction: str = "mean",
    log_target: _bool = False,
) -> Tensor:
    """Kullback-Leibler divergence ``target * (log(target) - input)``, 0 where the target is."""
def kron(input: Tensor, other: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Kronecker product: each element of ``input`` replaced by itself times ``other``."""
def kthvalue(
    input: Tensor,
    k: _int,
    dim: _int = -1,
    keepdim: _bool = False,
    *,
    out: Outs | None = None,
) -> return_types.kthvalue:
    """The ``k``-th smallest element along a dimension, counted from 1, and where it is."""
def layer_norm(
    input: Tensor,
    normalized_shape: Sequence[_int],
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    eps: _float = 1e-05,
    cudnn_enable: _bool = True,
) -> Tensor:
    """Each sample to mean 0 and variance 1 over its last dimensions, then ``* weight + bias``."""
def lcm(input: Tensor, other: Tensor | Number, *, out: Tensor | None = None) -> Tensor:
    """Least common multiple of integers; of 0 and anything it is 0."""
def lcm_(input: Tensor, other: Tensor | Number) -> Tensor:
    """In-place version of `lcm`: writes into this tensor, in its type, returns it."""
def ldexp(input: Tensor, other: Tensor | Number, *, out: Tensor | None = None) -> Tensor:
    """``input * 2 ** other``."""
def ldexp_(input: Tensor, other: Tensor | Number) -> Tensor:
    """In-place version of `ldexp`: writes the result into this tensor and returns it."""
def le(input: Tensor, other: Tensor | Number, *, out: Tensor | None = None) -> Tensor:
    """Whether ``input <= other``, element by element, as bool."""
def lerp(input: Tensor, end: Tensor, weight: Tensor | Number, *, out: Tensor | None = None) -> Tensor:
    """``input + weight * (end - input)``: linear interpolation from ``input`` to ``end``."""
def less(input: Tensor, other: Tensor | Number, *, out: Tensor | None = None) -> Tensor:
    """Whether ``input < other``, element by element, as bool. Complex input: NotImplementedError."""
def less_equal(input: Tensor, other: Tensor | Number, *, out: Tensor | None = None) -> Tensor:
    """Whether ``input <= other``, element by element, as bool."""
def lgamma(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Logarithm of the absolute value of the gamma function. Derivative: `digamma`."""
def linspace(
    start: Number,
    end: Number,
    steps: _int,
    *,
    out: Tensor | None = None,
    dtype: dtype | None = None,
    layout: Layout | None = None,
    device: Device | None = None,
    requires_grad: _bool = False,
) -> Tensor:
    """``steps`` values at equal distances, both ends included."""
def lobpcg(
    A: Tensor,
    k: _int | None = None,
    B: Tensor | None = None,
    X: Tensor | None = None,
    n: _int | None = None,
    iK: Tensor | None = None,
    niter: _int | None = None,
    tol: _float | None = None,
    largest: _bool | None = None,
    method: str | None = None,
    tracker: Any = None,
    ortho_iparams: Any = None,
    ortho_fparams: Any = None,
    ortho_bparams: Any = None,
) -> tuple[Tensor, Tensor]:
    """The largest or smallest eigenvalues of symmetric matrices, ``A u = e B u``, and their eigenvectors."""
def log(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Natural logarithm; NaN for negative numbers. Derivative: ``1 / input``."""
def log10(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Logarithm to base 10. Derivative: ``1 / (input * ln 10)``."""
def log10_(input: Tensor) -> Tensor:
    """In-place version of `log10`: writes the result into this tensor and returns it."""
def log1p(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """``log(1 + input)``, accurate near 0. Derivative: ``1 / (1 + input)``."""
def log1p_(input: Tensor) -> Tensor:
    """In-place version of `log1p`: writes the result into this tensor and returns it."""
def log2(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Logarithm to base 2. Derivative: ``1 / (input * ln 2)``."""
def log2_(input: Tensor) -> Tensor:
    """In-place version of `log2`: writes the result into this tensor and returns it."""
def log_(input: Tensor) -> Tensor:
    """In-place version of `log`: writes the result into this tensor and returns it."""
def log_softmax(
    input: Tensor,
    dim: _int | None = None,
    dtype: dtype | None = None,
    *,
    out: Tensor | None = None,
) -> Tensor:
    """``log(softmax(input, dim))``, without the rounding error of taking the logarithm of a softmax."""
def logaddexp(input: Tensor, other: Tensor | Number, *, out: Tensor | None = None) -> Tensor:
    """``log(exp(input) + exp(other))`` without overflow."""
def logaddexp2(input: Tensor, other: Tensor | Number, *, out: Tensor | None = None) -> Tensor:
    """``log2(2 ** input + 2 ** other)`` without overflow. For the derivative see `logaddexp`."""
def logcumsumexp(input: Tensor, dim: _int, *, out: Tensor | None = None) -> Tensor:
    """``log(cumsum(exp(input)))`` along a dimension, without overflow."""
def logdet(input: Tensor) -> Tensor:
    """Logarithms of determinants: ``-inf`` for singular matrices, NaN for negative determinants (complex for complex
    ones)."""
def logical_and(input: Tensor, other: Tensor | Number, *, out: Tensor | None = None) -> Tensor:
    """Whether both elements are other than zero, as bool."""
def logical_not(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Whether elements are zero, as bool."""
def logical_or(input: Tensor, other: Tensor | Number, *, out: Tensor | None = None) -> Tensor:
    """Whether either element is other than zero, as bool."""
def logical_xor(input: Tensor, other: Tensor | Number, *, out: Tensor | None = None) -> Tensor:
    """Whether exactly one of the elements is other than zero, as bool."""
def logit(input: Tensor, eps: _float | None = None, *, out: Tensor | None = None) -> Tensor:
    """``log(input / (1 - input))``, the inverse of `sigmoid`; NaN outside ``[0, 1]``."""
def logit_(self: Any, eps: Any = None) -> Any:
    """In-place version of `logit`: writes into this tensor, in its type, returns it."""
def logspace(
    start: Number,
    end: Number,
    steps: _int,
    base: _float = 10.0,
    *,
    out: Tensor | None = None,
    dtype: dtype | None = None,
    layout: Layout | None = None,
    device: Device | None = None,
    requires_grad: _bool = False,
) -> Tensor:
    """``base`` to the powers ``linspace(start, end, steps)``; of an integer type: between the ends' whole parts."""
def logsumexp(input: Tensor, dim: Dims, keepdim: _bool = False, *, out: Tensor | None = None) -> Tensor:
    """``log(sum(exp(input)))`` along dimensions, without overflow. Integers become the default float type."""
long: dtype
def lstm_cell(
    input: Tensor,
    hx: Any,
    w_ih: Tensor,
    w_hh: Tensor,
    b_ih: Tensor | None = None,
    b_hh: Tensor | None = None,
) -> tuple[Tensor, Tensor]:
    """One step of long short-term memory (Gers et al. 2000), in the form of `torch.nn.LSTMCell`."""
def lt(input: Tensor, other: Tensor | Number, *, out: Tensor | None = None) -> Tensor:
    """Whether ``input < other``, element by element, as bool. Complex input: NotImplementedError."""
@overload
def lu(
    A: Tensor,
    pivot: _bool = True,
    get_infos: Literal[False] = False,
    *,
    out: Outs | None = None,
) -> tuple[Tensor, Tensor]:
    """Deprecated: see `torch.linalg.lu_factor`, and `torch.linalg.lu_factor_ex` for ``get_infos``."""
@overload
def lu(
    A: Tensor,
    pivot: _bool = True,
    *,
    get_infos: Literal[True],
    out: Outs | None = None,
) -> tuple[Tensor, Tensor, Tensor]: ...
def lu_solve(input: Tensor, LU_data: Tensor, LU_pivots: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Deprecated: see `torch.linalg.lu_solve`, whose arguments are in another order."""
def lu_unpack(
    LU_data: Tensor,
    LU_pivots: Tensor,
    unpack_data: _bool = True,
    unpack_pivots: _bool = True,
    *,
    out: Outs | None = None,
) -> return_types.lu_unpack:
    """The three matrices P, L and U of an LU decomposition; those not asked for are empty."""
def manual_seed(seed: _int) -> Generator:
    """Seed the default generator."""
def margin_ranking_loss(
    input1: Tensor,
    input2: Tensor,
    target: Tensor,
    margin: _float = 0,
    size_average: _bool | None = None,
    reduce: _bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    """``max(0, -target * (input1 - input2) + margin)``: a target of 1 says that ``input1`` should be the larger."""
def masked_fill(input: Tensor, mask: Tensor, value: Tensor | Number) -> Tensor:
    """``input`` with a number (or a 0-d tensor) where the mask is True; input and mask broadcast."""
def masked_scatter(input: Tensor, mask: Tensor, source: Tensor) -> Tensor:
    """``input`` with the elements of ``source``, one after the other, where the mask is True."""
def masked_select(input: Tensor, mask: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The elements where the mask is True, in one dimension; input and mask broadcast."""
def matmul(input: Tensor, other: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Matrix product; the operator ``@``."""
def matrix_exp(input: Tensor) -> Tensor:
    """The same as `torch.linalg.matrix_exp`."""
def matrix_power(input: Tensor, n: _int, *, out: Tensor | None = None) -> Tensor:
    """The same as `torch.linalg.matrix_power`."""
@overload
def max(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The largest element; the largest along one dimension and where they are; the larger of two tensors."""
@overload
def max(input: Tensor, dim: _int, keepdim: _bool = False, *, out: Outs | None = None) -> return_types.max: ...
@overload
def max(input: Tensor, other: Tensor, *, out: Tensor | None = None) -> Tensor: ...
@overload
def max_pool1d(
    input: Tensor,
    kernel_size: Dims,
    stride: Dims | None = None,
    padding: Dims = 0,
    dilation: Dims = 1,
    ceil_mode: _bool = False,
    return_indices: Literal[False] = False,
) -> Tensor:
    """Maxima of windows; see `max_pool2d`. Input: (N, C, L), or (C, L)."""
@overload
def max_pool1d(
    input: Tensor,
    kernel_size: Dims,
    stride: Dims | None = None,
    padding: Dims = 0,
    dilation: Dims = 1,
    ceil_mode: _bool = False,
    *,
    return_indices: Literal[True],
) -> tuple[Tensor, Tensor]: ...
def max_pool1d_with_indices(
    input: Tensor,
    kernel_size: Dims,
    stride: Dims | None = None,
    padding: Dims = 0,
    dilation: Dims = 1,
    ceil_mode: _bool = False,
    return_indices: _bool = True,
) -> tuple[Tensor, Tensor]:
    """`max_pool1d` with ``return_indices=True``."""
@overload
def max_pool2d(
    input: Tensor,
    kernel_size: Dims,
    stride: Dims | None = None,
    padding: Dims = 0,
    dilation: Dims = 1,
    ceil_mode: _bool = False,
    return_indices: Literal[False] = False,
) -> Tensor:
    """Maxima of windows."""
@overload
def max_pool2d(
    input: Tensor,
    kernel_size: Dims,
    stride: Dims | None = None,
    padding: Dims = 0,
    dilation: Dims = 1,
    ceil_mode: _bool = False,
    *,
    return_indices: Literal[True],
) -> tuple[Tensor, Tensor]: ...
@overload
def max_pool3d(
    input: Tensor,
    kernel_size: Dims,
    stride: Dims | None = None,
    padding: Dims = 0,
    dilation: Dims = 1,
    ceil_mode: _bool = False,
    return_indices: Literal[False] = False,
) -> Tensor:
    """Maxima of windows; see `max_pool2d`. Input: (N, C, D, H, W), or (C, D, H, W)."""
@overload
def max_pool3d(
    input: Tensor,
    kernel_size: Dims,
    stride: Dims | None = None,
    padding: Dims = 0,
    dilation: Dims = 1,
    ceil_mode: _bool = False,
    *,
    return_indices: Literal[True],
) -> tuple[Tensor, Tensor]: ...
def maximum(input: Tensor, other: Tensor | Number, *, out: Tensor | None = None) -> Tensor:
    """The larger of two, element by element; NaN if either is. Of equal ones each has half the gradient."""
def mean(
    input: Tensor,
    dim: Dims | None = None,
    keepdim: _bool = False,
    dtype: dtype | None = None,
    *,
    out: Tensor | None = None,
) -> Tensor:
    """The mean of all elements, or along dimensions; NaN of none. Arguments as for `sum`."""
@overload
def median(input: Tensor) -> Tensor:
    """The median of all elements, or along one dimension with its index; the lower of two, NaN if any is."""
@overload
def median(input: Tensor, dim: _int, keepdim: _bool = False, *, out: Outs | None = None) -> return_types.median: ...
def meshgrid(*tensors: Tensor | Sequence[Tensor], indexing: str | None = None) -> tuple[Tensor, ...]:
    """Coordinate grids: the i-th tensor, 1-d, along dimension i and expanded over the others."""
@overload
def min(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The smallest element; the smallest along one dimension and where they are; the smaller of two tensors."""
@overload
def min(input: Tensor, dim: _int, keepdim: _bool = False, *, out: Outs | None = None) -> return_types.min: ...
@overload
def min(input: Tensor, other: Tensor, *, out: Tensor | None = None) -> Tensor: ...
def minimum(input: Tensor, other: Tensor | Number, *, out: Tensor | None = None) -> Tensor:
    """The smaller of two, element by element; NaN if either is. Of equal ones each has half the gradient."""
def mm(input: Tensor, mat2: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Product of two matrices, ``(n, k)`` and ``(k, m)``; no broadcasting."""
def mode(input: Tensor, dim: _int = -1, keepdim: _bool = False, *, out: Outs | None = None) -> return_types.mode:
    """The most frequent element along a dimension, the smallest of several, and the last place where it is."""
def moveaxis(input: Tensor, source: Dims, destination: Dims) -> Tensor:
    """The dimensions ``source`` moved to the places ``destination`` (an int each, or several); the others keep their
    order."""
def movedim(input: Tensor, source: Dims, destination: Dims) -> Tensor:
    """The dimensions ``source`` moved to the places ``destination`` (an int each, or several); the others keep their
    order."""
def msort(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The elements along the first dimension in ascending order."""
def mul(input: Tensor, other: Tensor | Number, *, out: Tensor | None = None) -> Tensor:
    """Product, element by element."""
def multinomial(
    input: Tensor,
    num_samples: _int,
    replacement: _bool = False,
    *,
    generator: Generator | None = None,
    out: Tensor | None = None,
) -> Tensor:
    """Indices drawn by weight, from each row of ``input``."""
def multiply(input: Tensor, other: Tensor | Number, *, out: Tensor | None = None) -> Tensor:
    """Product, element by element."""
def mv(input: Tensor, vec: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Product of a matrix ``(n, k)`` and a vector ``(k,)``."""
def mvlgamma(input: Tensor, p: _int, *, out: Tensor | None = None) -> Tensor:
    """Logarithm of the multivariate gamma function of dimension ``p`` (DLMF 35.3.4)."""
nan: _float
def nan_to_num(
    input: Tensor,
    nan: _float | None = None,
    posinf: _float | None = None,
    neginf: _float | None = None,
    *,
    out: Tensor | None = None,
) -> Tensor:
    """NaN and infinities replaced by numbers."""
def nan_to_num_(
    input: Tensor,
    nan: _float | None = None,
    posinf: _float | None = None,
    neginf: _float | None = None,
) -> Tensor:
    """In-place version of `nan_to_num`: writes the result into this tensor and returns it."""
def nanmean(
    input: Tensor,
    dim: Dims | None = None,
    keepdim: _bool = False,
    *,
    dtype: dtype | None = None,
    out: Tensor | None = None,
) -> Tensor:
    """The mean of the elements that are not NaN; arguments as for `mean`."""
@overload
def nanmedian(input: Tensor) -> Tensor:
    """`median` of the elements that are not NaN."""
@overload
def nanmedian(
    input: Tensor,
    dim: _int,
    keepdim: _bool = False,
    *,
    out: Outs | None = None,
) -> return_types.nanmedian: ...
def nanquantile(
    input: Tensor,
    q: _float | Tensor,
    dim: _int | None = None,
    keepdim: _bool = False,
    *,
    interpolation: str = "linear",
    out: Tensor | None = None,
) -> Tensor:
    """`quantile` of the elements that are not NaN."""
def nansum(
    input: Tensor,
    dim: Dims | None = None,
    keepdim: _bool = False,
    *,
    dtype: dtype | None = None,
    out: Tensor | None = None,
) -> Tensor:
    """The sum of the elements that are not NaN; arguments as for `sum`. NaN gets the gradient 0."""
def narrow(input: Tensor, dim: _int, start: _int | Tensor, length: _int) -> Tensor:
    """``length`` slices across ``dim``, from ``start`` on."""
def narrow_copy(input: Tensor, dim: _int, start: _int, length: _int, *, out: Tensor | None = None) -> Tensor:
    """A copy of the view that ``narrow`` returns."""
def native_batch_norm(
    input: Tensor,
    weight: Tensor | None,
    bias: Tensor | None,
    running_mean: Tensor | None,
    running_var: Tensor | None,
    training: _bool,
    momentum: _float,
    eps: _float,
) -> tuple[Tensor, Tensor, Tensor]:
    """`batch_norm`, and in training the means and the reciprocal standard deviations, ``(channels,)``."""
def native_channel_shuffle(input: Tensor, groups: _int, *, out: Tensor | None = None) -> Tensor:
    """Channels interleaved between groups: (N, groups * k, ...) as (N, groups, k, ...), transposed to (N, k, groups,
    ...)."""
def native_dropout(input: Tensor, p: _float, train: _bool | None) -> tuple[Tensor, Tensor]:
    """`dropout`, and where elements were kept."""
def native_group_norm(
    input: Tensor,
    weight: Tensor | None,
    bias: Tensor | None,
    N: _int,
    C: _int,
    HxW: _int,
    group: _int,
    eps: _float,
) -> tuple[Tensor, Tensor, Tensor]:
    """`group_norm` of N samples with C channels of HxW elements, the means ``(N, group)``, and the reciprocal
    standard deviations."""
def native_layer_norm(
    input: Tensor,
    normalized_shape: Sequence[_int],
    weight: Tensor | None,
    bias: Tensor | None,
    eps: _float,
) -> tuple[Tensor, Tensor, Tensor]:
    """`layer_norm`, the means, and the reciprocal standard deviations."""
def ne(input: Tensor, other: Tensor | Number, *, out: Tensor | None = None) -> Tensor:
    """Whether elements differ, as bool; the operator ``!=``. NaN differs from everything."""
def neg(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """``-input``."""
def neg_(input: Tensor) -> Tensor:
    """In-place version of `neg`: writes the result into this tensor and returns it."""
def negative(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """``-input``."""
def negative_(input: Tensor) -> Tensor:
    """In-place version of `neg`: writes the result into this tensor and returns it."""
newaxis: None
def nextafter(input: Tensor, other: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The next number that the type can hold, from ``input`` towards ``other``."""
@overload
def nonzero(input: Tensor, *, as_tuple: Literal[False] = False, out: Tensor | None = None) -> Tensor:
    """The indices of the elements that are not 0: a row for each, or (``as_tuple``) a tensor for each dimension."""
@overload
def nonzero(input: Tensor, *, as_tuple: Literal[True]) -> tuple[Tensor, ...]: ...
def nonzero_static(input: Tensor, *, size: _int, fill_value: _int = -1, out: Tensor | None = None) -> Tensor:
    """The first ``size`` rows of `nonzero`; rows of ``fill_value`` where there are fewer."""
def norm(
    input: Tensor,
    p: _float | str = "fro",
    dim: Dims | None = None,
    keepdim: _bool = False,
    out: Tensor | None = None,
    dtype: dtype | None = None,
) -> Tensor:
    """The norm of the elements, all or along dimensions: `torch.linalg.vector_norm` for a number ``p``."""
def norm_except_dim(v: Tensor, pow: _float = 2, dim: _int = 0) -> Tensor:
    """The norms of the slices along a dimension, which is kept; of all of it for ``dim=-1``."""
@overload
def normal(
    mean: Tensor,
    std: Tensor | _float = 1.0,
    *,
    generator: Generator | None = None,
    out: Tensor | None = None,
    dtype: dtype | None = None,
    layout: Layout | None = None,
    device: Device | None = None,
    requires_grad: _bool = False,
    pin_memory: _bool = False,
) -> Tensor:
    """Normal numbers. Mean and standard deviation are numbers (give a ``size`` then) or tensors that broadcast."""
@overload
def normal(
    mean: _float,
    std: Tensor,
    *,
    generator: Generator | None = None,
    out: Tensor | None = None,
    dtype: dtype | None = None,
    layout: Layout | None = None,
    device: Device | None = None,
    requires_grad: _bool = False,
    pin_memory: _bool = False,
) -> Tensor: ...
@overload
def normal(
    mean: _float,
    std: _float,
    size: Sequence[_int],
    *,
    generator: Generator | None = None,
    out: Tensor | None = None,
    dtype: dtype | None = None,
    layout: Layout | None = None,
    device: Device | None = None,
    requires_grad: _bool = False,
    pin_memory: _bool = False,
) -> Tensor: ...
def not_equal(input: Tensor, other: Tensor | Number, *, out: Tensor | None = None) -> Tensor:
    """Whether elements differ, as bool; the operator ``!=``. NaN differs from everything."""
def nuclear_norm(input: Tensor, dim: Dims = (-2, -1), keepdim: _bool = False) -> Tensor:
    """Deprecated: see `torch.linalg.matrix_norm`, with ``ord="nuc"``."""
def numel(input: Tensor) -> _int:
    """The number of elements."""
@overload
def ones(
    *size: _int,
    out: Tensor | None = None,
    dtype: dtype | None = None,
    layout: Layout | None = None,
    device: Device | None = None,
    requires_grad: _bool = False,
    pin_memory: _bool = False,
) -> Tensor:
    """A tensor of the given shape, filled with 1."""
@overload
def ones(
    size: Sequence[_int],
    *,
    out: Tensor | None = None,
    dtype: dtype | None = None,
    layout: Layout | None = None,
    device: Device | None = None,
    requires_grad: _bool = False,
    pin_memory: _bool = False,
) -> Tensor: ...
def ones_like(
    input: Tensor,
    *,
    dtype: dtype | None = None,
    layout: Layout | None = None,
    device: Device | None = None,
    requires_grad: _bool = False,
    pin_memory: _bool = False,
    memory_format: MemoryFormat | None = None,
) -> Tensor:
    """A tensor of ``input``'s shape and type, filled with 1."""
def orgqr(input: Tensor, tau: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The same as `torch.linalg.householder_product`."""
def ormqr(
    input: Tensor,
    tau: Tensor,
    other: Tensor,
    left: _bool = True,
    transpose: _bool = False,
    *,
    out: Tensor | None = None,
) -> Tensor:
    """``Q @ other``, where Q, ``(..., n, n)``, is the product of the reflections that `geqrf` returned."""
def outer(input: Tensor, vec2: Tensor, *, out: Tensor | None = None) -> Tensor:
    """All products of the elements of two vectors: ``(n,)`` and ``(m,)`` give ``(n, m)``."""
def pairwise_distance(x1: Tensor, x2: Tensor, p: _float = 2.0, eps: _float = 1e-06, keepdim: _bool = False) -> Tensor:
    """The p-norm of ``x1 - x2 + eps`` along the last dimension."""
def pca_lowrank(
    A: Tensor,
    q: _int | None = None,
    center: _bool = True,
    niter: _int = 2,
) -> tuple[Tensor, Tensor, Tensor]:
    """Principal components of n samples of m features: `svd_lowrank` of a matrix less the means of its columns."""
def pdist(input: Tensor, p: _float = 2.0) -> Tensor:
    """Distances between all pairs of points of a set, in the p-norm."""
def permute(input: Tensor, dims: Sequence[_int]) -> Tensor:
    """The dimensions in the order ``dims``."""
def permute_copy(*args: Any, **kwargs: Any) -> Any:
    """A copy of what the view ``permute`` shows."""
pi: _float
def pinverse(input: Tensor, rcond: _float = 1e-15) -> Tensor:
    """The same as `torch.linalg.pinv`, with another default."""
def pixel_shuffle(input: Tensor, upscale_factor: _int, *, out: Tensor | None = None) -> Tensor:
    """Channels rearranged to pixels: (..., C * r * r, H, W) to (..., C, H * r, W * r) (Shi et al. 2016, section
    3.2)."""
def pixel_unshuffle(input: Tensor, downscale_factor: _int, *, out: Tensor | None = None) -> Tensor:
    """Pixels rearranged to channels: (..., C, H * r, W * r) to (..., C * r * r, H, W): the inverse of
    ``pixel_shuffle``."""
def poisson(input: Tensor, generator: Generator | None = None) -> Tensor:
    """Poisson numbers of the rates in ``input``, in its type."""
def poisson_nll_loss(
    input: Tensor,
    target: Tensor,
    log_input: _bool = True,
    full: _bool = False,
    size_average: _bool | None = None,
    eps: _float = 1e-08,
    reduce: _bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    """Negative log-likelihood of counts: ``exp(input) - target * input``."""
def polar(abs: Tensor, angle: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Complex numbers from their sizes and angles: ``abs * (cos(angle) + i sin(angle))``."""
def polygamma(n: _int, input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The ``n``-th derivative of `digamma`."""
def positive(input: Tensor) -> Tensor:
    """``+input``: the tensor itself. Bool input: RuntimeError."""
def pow(input: Tensor | Number, exponent: Tensor | Number, *, out: Tensor | None = None) -> Tensor:
    """``input`` to the power ``exponent``, element by element; the operator ``**``."""
def prelu(input: Tensor, weight: Tensor) -> Tensor:
    """``input`` where positive, ``weight * input`` elsewhere, the weight learnt."""
preserve_format: MemoryFormat
def prod(
    input: Tensor,
    dim: _int | None = None,
    keepdim: _bool = False,
    dtype: dtype | None = None,
    *,
    out: Tensor | None = None,
) -> Tensor:
    """The product of all elements, or along one dimension."""
def put(input: Tensor, index: Tensor, source: Tensor, accumulate: _bool = False) -> Tensor:
    """``input`` with elements of its flattened self replaced by those of ``source``, or these added there."""
qint32: dtype
qint8: dtype
def qr(input: Tensor, some: _bool = True, *, out: Outs | None = None) -> return_types.qr:
    """Deprecated: see `torch.linalg.qr`, whose modes "reduced" and "complete" are ``some`` and not ``some``."""
def quantile(
    input: Tensor,
    q: _float | Tensor,
    dim: _int | None = None,
    keepdim: _bool = False,
    *,
    interpolation: str = "linear",
    out: Tensor | None = None,
) -> Tensor:
    """The ``q``-quantiles of all elements, or along one dimension; NaN if any of them is."""
quint2x4: dtype
quint4x2: dtype
quint8: dtype
def rad2deg(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """``input * 180 / pi``."""
def rad2deg_(input: Tensor) -> Tensor:
    """In-place version of `rad2deg`: writes the result into this tensor and returns it."""
@overload
def rand(
    *size: _int,
    generator: Generator | None = None,
    out: Tensor | None = None,
    dtype: dtype | None = None,
    layout: Layout | None = None,
    device: Device | None = None,
    requires_grad: _bool = False,
    pin_memory: _bool = False,
) -> Tensor:
    """Uniform numbers in [0, 1)."""
@overload
def rand(
    size: Sequence[_int],
    *,
    generator: Generator | None = None,
    out: Tensor | None = None,
    dtype: dtype | None = None,
    layout: Layout | None = None,
    device: Device | None = None,
    requires_grad: _bool = False,
    pin_memory: _bool = False,
) -> Tensor: ...
def rand_like(
    input: Tensor,
    *,
    dtype: dtype | None = None,
    layout: Layout | None = None,
    device: Device | None = None,
    requires_grad: _bool = False,
    pin_memory: _bool = False,
) -> Tensor:
    """Like `rand`, in ``input``'s shape and type."""
@overload
def randint(
    high: _int,
    size: Sequence[_int],
    *,
    generator: Generator | None = None,
    out: Tensor | None = None,
    dtype: dtype | None = None,
    layout: Layout | None = None,
    device: Device | None = None,
    requires_grad: _bool = False,
) -> Tensor:
    """Integers in [low, high), by default int64; ``randint(high, size)`` starts at 0."""
@overload
def randint(
    low: _int,
    high: _int,
    size: Sequence[_int],
    *,
    generator: Generator | None = None,
    out: Tensor | None = None,
    dtype: dtype | None = None,
    layout: Layout | None = None,
    device: Device | None = None,
    requires_grad: _bool = False,
) -> Tensor: ...
def randint_like(
    input: Tensor,
    low: _int = 0,
    high: _int | None = None,
    *,
    dtype: dtype | None = None,
    layout: Layout | None = None,
    device: Device | None = None,
    requires_grad: _bool = False,
    pin_memory: _bool = False,
) -> Tensor:
    """Like `randint`, in ``input``'s shape and type."""
@overload
def randn(
    *size: _int,
    generator: Generator | None = None,
    out: Tensor | None = None,
    dtype: dtype | None = None,
    layout: Layout | None = None,
    device: Device | None = None,
    requires_grad: _bool = False,
    pin_memory: _bool = False,
) -> Tensor:
    """Standard normal numbers."""
@overload
def randn(
    size: Sequence[_int],
    *,
    generator: Generator | None = None,
    out: Tensor | None = None,
    dtype: dtype | None = None,
    layout: Layout | None = None,
    device: Device | None = None,
    requires_grad: _bool = False,
    pin_memory: _bool = False,
) -> Tensor: ...
def randn_like(
    input: Tensor,
    *,
    dtype: dtype | None = None,
    layout: Layout | None = None,
    device: Device | None = None,
    requires_grad: _bool = False,
    pin_memory: _bool = False,
) -> Tensor:
    """Like `randn`, in ``input``'s shape and type."""
def randperm(
    n: _int,
    *,
    generator: Generator | None = None,
    out: Tensor | None = None,
    dtype: dtype | None = None,
    layout: Layout | None = None,
    device: Device | None = None,
    requires_grad: _bool = False,
    pin_memory: _bool = False,
) -> Tensor:
    """0 to ``n - 1`` in random order."""
def range(start: Number = 0, end: Number | None = None, step: Number = 1, **kwargs: Any) -> Tensor:
    """Like `arange`, in floats and with the end included (deprecated in PyTorch)."""
def ravel(input: Tensor) -> Tensor:
    """All elements in one dimension."""
def real(input: Tensor) -> Tensor:
    """The real part, sharing memory; the tensor itself where it is real. Also the attribute ``x.real``."""
def reciprocal(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """``1 / input``. Derivative: ``-out ** 2``."""
def reciprocal_(input: Tensor) -> Tensor:
    """In-place version of `reciprocal`: writes the result into this tensor and returns it."""
def relu(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """``max(input, 0)``; NaN stays NaN. Derivative: 1 above 0, and 0 at 0 and below."""
def relu_(input: Tensor) -> Tensor:
    """In-place version of `relu`: writes the result into this tensor and returns it."""
def remainder(input: Tensor, other: Tensor | Number, *, out: Tensor | None = None) -> Tensor:
    """Remainder with the sign of the divisor; the operator ``%``."""
def renorm(input: Tensor, p: _float, dim: _int, maxnorm: _float, *, out: Tensor | None = None) -> Tensor:
    """Slices along a dimension scaled down to a norm, where theirs is larger."""
@overload
def repeat_interleave(
    input: Tensor,
    repeats: _int | Tensor,
    dim: _int | None = None,
    *,
    output_size: _int | None = None,
) -> Tensor:
    """Each slice across ``dim`` (each element of the flattened input, without it) repeated."""
@overload
def repeat_interleave(input: Tensor, *, output_size: _int | None = None) -> Tensor: ...
def reshape(input: Tensor, shape: Sequence[_int]) -> Tensor:
    """The same elements in another shape: a view where strides allow it (always, if the input is contiguous), else a
    copy."""
def resize_as_(input: Tensor, other: Tensor, *, memory_format: MemoryFormat | None = None) -> Tensor:
    """``input.resize_(other.shape)``; with ``preserve_format`` in the order of ``other``'s dimensions in memory."""
def resolve_conj(input: Tensor) -> Tensor:
    """A copy of what `conj` gave, which shares no memory; any other tensor itself."""
def resolve_neg(input: Tensor) -> Tensor:
    """A copy of what ``_neg_view`` or the imaginary part of what `conj` gave, which shares no memory; any other
    tensor itself."""
def result_type(tensor1: Any, tensor2: Any) -> dtype:
    """The type that mixing two operands gives."""
def rms_norm(
    input: Tensor,
    normalized_shape: Sequence[_int],
    weight: Tensor | None = None,
    eps: _float | None = None,
) -> Tensor:
    """``input / sqrt(mean(input ** 2) + eps) * weight`` over the last dimensions."""
def rnn_relu_cell(
    input: Tensor,
    hx: Tensor,
    w_ih: Tensor,
    w_hh: Tensor,
    b_ih: Tensor | None = None,
    b_hh: Tensor | None = None,
) -> Tensor:
    """``relu(w_ih input + b_ih + w_hh hx + b_hh)``; shapes as for `rnn_tanh_cell`."""
def rnn_tanh_cell(
    input: Tensor,
    hx: Tensor,
    w_ih: Tensor,
    w_hh: Tensor,
    b_ih: Tensor | None = None,
    b_hh: Tensor | None = None,
) -> Tensor:
    """``tanh(w_ih input + b_ih + w_hh hx + b_hh)``."""
def roll(input: Tensor, shifts: Dims, dims: Dims = (), *, out: Tensor | None = None) -> Tensor:
    """Elements moved along dimensions (through the flattened tensor, without ``dims``); what leaves at one end
    enters at the other."""
def rot90(input: Tensor, k: _int = 1, dims: Sequence[_int] = (0, 1), *, out: Tensor | None = None) -> Tensor:
    """A quarter turn, ``k`` times, from the first of two dimensions towards the second."""
def round(input: Tensor, decimals: _int = 0, *, out: Tensor | None = None) -> Tensor:
    """Rounded to the nearest integer, halves to the even one. Derivative: 0."""
def round_(input: Tensor, decimals: _int = 0) -> Tensor:
    """In-place version of `round`."""
def row_stack(tensors: Sequence[Tensor], *, out: Tensor | None = None) -> Tensor:
    """Tensors on top of each other: along dimension 0 of at least 2-d ones."""
def rrelu(
    input: Tensor,
    lower: _float = 0.125,
    upper: _float = ...,
    training: _bool = False,
    inplace: _bool = False,
) -> Tensor:
    """``input`` where positive, elsewhere times a slope: drawn from ``[lower, upper)`` in training, else the mean."""
def rrelu_(input: Tensor, lower: _float = 0.125, upper: _float = ..., training: _bool = False) -> Tensor:
    """In-place version of `rrelu`."""
def rsqrt(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """``1 / sqrt(input)``. Derivative: ``-out ** 3 / 2``."""
def rsqrt_(input: Tensor) -> Tensor:
    """In-place version of `rsqrt`: writes the result into this tensor and returns it."""
def rsub(input: Tensor, other: Tensor | Number, *, alpha: Number = 1) -> Tensor:
    """``other - alpha * input``, element by element."""
def scalar_tensor(
    s: Sequence[_int],
    *,
    dtype: dtype | None = None,
    device: Device | None = None,
    requires_grad: _bool = False,
) -> Tensor:
    """A 0-d tensor, by default of the default float type."""
@overload
def scatter(input: Tensor, dim: _int, index: Tensor, src: Tensor | Number, *, reduce: str | None = None) -> Tensor:
    """``input`` with the elements of ``src``, or one number, written along ``dim`` at ``index``: ``out[i, index[i,
    j]] = src[i, j]`` for dim 1."""
@overload
def scatter(input: Tensor, dim: _int, index: Tensor, *, value: Number, reduce: str | None = None) -> Tensor: ...
def scatter_add(input: Tensor, dim: _int, index: Tensor, src: Tensor) -> Tensor:
    """``input`` with the elements of ``src`` added along ``dim`` at ``index``; see `scatter`."""
def scatter_reduce(
    input: Tensor,
    dim: _int,
    index: Tensor,
    src: Tensor,
    reduce: str,
    *,
    include_self: _bool = True,
    out: Tensor | None = None,
) -> Tensor:
    """The elements of ``src`` that go to one position of the input (as in `scatter_add`), reduced with the element
    there."""
def searchsorted(
    sorted_sequence: Tensor,
    input: Tensor,
    out_int32: _bool = False,
    right: _bool = False,
    side: str | None = None,
    sorter: Tensor | None = None,
    *,
    out: Tensor | None = None,
) -> Tensor:
    """Where to insert ``input`` into sorted sequences to keep them sorted. NaN goes to the end, as the largest."""
def seed() -> _int:
    """Seed the default generator from the operating system, and return the seed."""
def segment_reduce(
    data: Tensor,
    reduce: str,
    *,
    lengths: Tensor | None = None,
    indices: Tensor | None = None,
    offsets: Tensor | None = None,
    axis: _int = 0,
    unsafe: _bool = False,
    initial: Number | None = None,
) -> Tensor:
    """Each of the segments that follow each other along a dimension, reduced."""
def select(input: Tensor, dim: _int, index: _int) -> Tensor:
    """One slice across ``dim``, which the result lacks: ``input[..., index, ...]``."""
def select_copy(*args: Any, **kwargs: Any) -> Any:
    """A copy of what the view ``select`` shows."""
def select_scatter(input: Tensor, src: Tensor, dim: _int, index: _int) -> Tensor:
    """A copy of the input in which ``input.select(dim, index)`` is ``src``."""
def selu(input: Tensor, inplace: _bool = False) -> Tensor:
    """``elu`` with the constants that keep mean 0 and variance 1 (Klambauer et al., *Self-Normalizing Networks*,
    2017)."""
def selu_(input: Tensor) -> Tensor:
    """In-place version of `selu`."""
def set_rng_state(new_state: Tensor) -> None:
    """Let the default generator continue from a state."""
def sgn(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Direction: ``input / abs(input)`` for complex numbers, `sign` for real ones; 0 at 0."""
short: dtype
def sigmoid(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Logistic function ``1 / (1 + exp(-input))``. Derivative: ``out * (1 - out)``."""
def sigmoid_(input: Tensor) -> Tensor:
    """In-place version of `sigmoid`: writes the result into this tensor and returns it."""
def sign(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """-1, 0 or 1; of NaN 0, as in PyTorch. Derivative: 0. For complex numbers see `sgn`."""
def signbit(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Whether the sign is negative, as bool: of -0.0, too. Complex input: NotImplementedError."""
def sin(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Sine, of radians. Derivative: the cosine."""
def sin_(input: Tensor) -> Tensor:
    """In-place version of `sin`: writes the result into this tensor and returns it."""
def sinc(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """``sin(pi * input) / (pi * input)``, and 1 at 0. Its derivatives of any order are right at 0, too."""
def sinc_(input: Tensor) -> Tensor:
    """In-place version of `sinc`: writes the result into this tensor and returns it."""
def sinh(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Hyperbolic sine. Derivative: the hyperbolic cosine."""
def sinh_(input: Tensor) -> Tensor:
    """In-place version of `sinh`: writes the result into this tensor and returns it."""
def slice_copy(*args: Any, **kwargs: Any) -> Any:
    """A copy of what the view ``slice`` shows."""
def slice_scatter(
    input: Tensor,
    src: Tensor,
    dim: _int = 0,
    start: _int | None = None,
    end: _int | None = None,
    step: _int = 1,
    *,
    out: Tensor | None = None,
) -> Tensor:
    """A copy of the input in which the slice ``start:end:step`` across ``dim`` is ``src``."""
def slogdet(input: Tensor, *, out: Outs | None = None) -> return_types.slogdet:
    """The same as `torch.linalg.slogdet`."""
def softmax(input: Tensor, dim: _int | None = None, dtype: dtype | None = None, *, out: Tensor | None = None) -> Tensor:
    """``exp(input) / sum(exp(input))`` along a dimension."""
def sort(
    input: Tensor,
    dim: _int = -1,
    descending: _bool = False,
    stable: _bool | None = None,
    *,
    out: Outs | None = None,
) -> return_types.sort:
    """The elements along a dimension in ascending (or descending) order, and where they were."""
sparse_bsc: Layout
def sparse_bsc_tensor(
    ccol_indices: Any,
    row_indices: Any,
    values: Any,
    size: Sequence[_int] | None = None,
    *,
    dtype: dtype | None = None,
    layout: Layout | None = None,
    device: Device | None = None,
    requires_grad: _bool = False,
    pin_memory: _bool = False,
) -> Tensor:
    """`sparse_compressed_tensor` of the layout ``torch.sparse_bsc``."""
sparse_bsr: Layout
def sparse_bsr_tensor(
    crow_indices: Any,
    col_indices: Any,
    values: Any,
    size: Sequence[_int] | None = None,
    *,
    dtype: dtype | None = None,
    layout: Layout | None = None,
    device: Device | None = None,
    requires_grad: _bool = False,
    pin_memory: _bool = False,
) -> Tensor:
    """`sparse_compressed_tensor` of the layout ``torch.sparse_bsr``."""
def sparse_compressed_tensor(
    compressed_indices: Any,
    plain_indices: Any,
    values: Any,
    size: Sequence[_int] | None = None,
    *,
    dtype: dtype | None = None,
    layout: Layout | None = None,
    device: Device | None = None,
    pin_memory: _bool = False,
    requires_grad: _bool = False,
    check_invariants: _bool | None = None,
) -> Tensor:
    """A sparse matrix from its compressed indices, plain indices and values."""
sparse_coo: Layout
def sparse_coo_tensor(
    indices: Any = None,
    values: Any = None,
    size: Sequence[_int] | None = None,
    *,
    dtype: dtype | None = None,
    device: Device | None = None,
    pin_memory: _bool = False,
    requires_grad: _bool = False,
    check_invariants: _bool | None = None,
    is_coalesced: _bool | None = None,
) -> Tensor:
    """A sparse tensor in coordinate form."""
sparse_csc: Layout
def sparse_csc_tensor(
    ccol_indices: Any,
    row_indices: Any,
    values: Any,
    size: Sequence[_int] | None = None,
    *,
    dtype: dtype | None = None,
    layout: Layout | None = None,
    device: Device | None = None,
    requires_grad: _bool = False,
    pin_memory: _bool = False,
) -> Tensor:
    """`sparse_compressed_tensor` of the layout ``torch.sparse_csc``."""
sparse_csr: Layout
def sparse_csr_tensor(
    crow_indices: Any,
    col_indices: Any,
    values: Any,
    size: Sequence[_int] | None = None,
    *,
    dtype: dtype | None = None,
    layout: Layout | None = None,
    device: Device | None = None,
    requires_grad: _bool = False,
    pin_memory: _bool = False,
) -> Tensor:
    """`sparse_compressed_tensor` of the layout ``torch.sparse_csr``."""
def split(tensor: Tensor, split_size_or_sections: _int | Sequence[_int], dim: _int = 0) -> tuple[Tensor, ...]:
    """Consecutive pieces along ``dim``, of that size each (the last may be smaller), or of these sizes."""
def split_copy(*args: Any, **kwargs: Any) -> Any:
    """A copy of what the view ``split`` shows."""
def split_with_sizes(input: Tensor, split_sizes: Sequence[_int], dim: _int = 0) -> tuple[Tensor, ...]:
    """Consecutive pieces along ``dim`` of these sizes, which must add up to the dimension's."""
def split_with_sizes_copy(*args: Any, **kwargs: Any) -> Any:
    """A copy of what the view ``split_with_sizes`` shows."""
def spmm(input: Tensor, mat2: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Product of two matrices, ``(n, k)`` and ``(k, m)``; no broadcasting."""
def sqrt(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Square root; NaN for negative numbers. Derivative: ``1 / (2 * out)``, infinite at 0."""
def sqrt_(input: Tensor) -> Tensor:
    """In-place version of `sqrt`: writes the result into this tensor and returns it."""
def square(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """``input * input``. Derivative: ``2 * input``."""
def square_(input: Tensor) -> Tensor:
    """In-place version of `square`: writes the result into this tensor and returns it."""
def squeeze(input: Tensor, dim: Dims | None = None) -> Tensor:
    """Without the dimensions of size 1: all of them, or those among ``dim`` (an int or several)."""
def squeeze_copy(*args: Any, **kwargs: Any) -> Any:
    """A copy of what the view ``squeeze`` shows."""
def stack(tensors: Sequence[Tensor], dim: _int = 0, *, out: Tensor | None = None) -> Tensor:
    """Tensors of one shape as the slices across a new dimension."""
@overload
def std(
    input: Tensor,
    dim: Dims | None,
    unbiased: _bool,
    keepdim: _bool = False,
    *,
    correction: _float | None = None,
    out: Tensor | None = None,
) -> Tensor:
    """The standard deviation, the root of `var`, with its arguments."""
@overload
def std(
    input: Tensor,
    dim: Dims | None = None,
    *,
    keepdim: _bool = False,
    correction: _float | None = None,
    out: Tensor | None = None,
) -> Tensor: ...
@overload
def std(input: Tensor, unbiased: _bool) -> Tensor: ...
@overload
def std_mean(
    input: Tensor,
    dim: Dims | None,
    unbiased: _bool,
    keepdim: _bool = False,
    *,
    correction: _float | None = None,
    out: Outs | None = None,
) -> tuple[Tensor, Tensor]:
    """`std` and `mean` at once."""
@overload
def std_mean(
    input: Tensor,
    dim: Dims | None = None,
    *,
    keepdim: _bool = False,
    correction: _float | None = None,
    out: Outs | None = None,
) -> tuple[Tensor, Tensor]: ...
@overload
def std_mean(input: Tensor, unbiased: _bool) -> tuple[Tensor, Tensor]: ...
def stft(
    input: Tensor,
    n_fft: _int,
    hop_length: _int | None = None,
    win_length: _int | None = None,
    window: Tensor | None = None,
    center: _bool = True,
    pad_mode: str = "reflect",
    normalized: _bool = False,
    onesided: _bool | None = None,
    return_complex: _bool | None = None,
    align_to_window: _bool | None = None,
) -> Tensor:
    """Fourier transforms of overlapping frames, ``X[k, t] = sum_j window[j] input[t hop_length + j] exp(-2πi j k /
    n_fft)``."""
strided: Layout
def sub(input: Tensor, other: Tensor | Number, *, alpha: Number = 1, out: Tensor | None = None) -> Tensor:
    """``input - alpha * other``, element by element."""
def subtract(input: Tensor, other: Tensor | Number, *, alpha: Number = 1, out: Tensor | None = None) -> Tensor:
    """``input - alpha * other``, element by element."""
def sum(
    input: Tensor,
    dim: Dims | None = None,
    keepdim: _bool = False,
    *,
    dtype: dtype | None = None,
    out: Tensor | None = None,
) -> Tensor:
    """The sum of all elements, or along dimensions."""
def svd(input: Tensor, some: _bool = True, compute_uv: _bool = True, *, out: Outs | None = None) -> return_types.svd:
    """Singular value decomposition ``input = U @ diag(S) @ V.mH``. Deprecated: see `torch.linalg.svd`."""
def svd_lowrank(
    A: Tensor,
    q: _int | None = 6,
    niter: _int | None = 2,
    M: Tensor | None = None,
) -> tuple[Tensor, Tensor, Tensor]:
    """An approximate singular value decomposition of rank q, by projection onto a random subspace."""
def swapaxes(input: Tensor, dim0: _int, dim1: _int) -> Tensor:
    """Two dimensions exchanged."""
def swapdims(input: Tensor, dim0: _int, dim1: _int) -> Tensor:
    """Two dimensions exchanged."""
def t(input: Tensor) -> Tensor:
    """The transpose of a matrix; 1-d and 0-d tensors as they are."""
def t_copy(*args: Any, **kwargs: Any) -> Any:
    """A copy of what the view ``t`` shows."""
def take(input: Tensor, index: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Elements of the flattened input, in the shape of ``index``."""
def take_along_dim(input: Tensor, indices: Tensor, dim: _int | None = None, *, out: Tensor | None = None) -> Tensor:
    """`gather` with input and indices broadcast apart from ``dim``; without ``dim``, of the flattened input."""
def tan(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Tangent, of radians. Derivative: ``1 + out ** 2``."""
def tan_(input: Tensor) -> Tensor:
    """In-place version of `tan`: writes the result into this tensor and returns it."""
def tanh(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Hyperbolic tangent. Derivative: ``1 - out ** 2``."""
def tanh_(input: Tensor) -> Tensor:
    """In-place version of `tanh`: writes the result into this tensor and returns it."""
def tensor(
    data: Any,
    *,
    dtype: dtype | None = None,
    device: Device | None = None,
    requires_grad: _bool = False,
    pin_memory: _bool = False,
) -> Tensor:
    """A new leaf tensor holding a copy of ``data``."""
def tensor_split(
    input: Tensor,
    indices_or_sections: _int | Sequence[_int] | Tensor | None = None,
    dim: _int = 0,
    *,
    indices: Any = None,
    sections: Any = None,
) -> tuple[Tensor, ...]:
    """``indices_or_sections`` pieces along ``dim`` as equal as can be, or pieces cut at these indices."""
def tensordot(
    a: Tensor,
    b: Tensor,
    dims: _int | Tensor | Sequence[_int] | Sequence[Sequence[_int]] = 2,
    out: Tensor | None = None,
) -> Tensor:
    """Products of two tensors, summed over pairs of dimensions."""
def threshold(input: Tensor, threshold: _float, value: _float, *, out: Tensor | None = None) -> Tensor:
    """The element where it is above ``threshold``, else ``value``. Derivative: 1 above, 0 at and below."""
def threshold_(input: Tensor, threshold: _float, value: _float) -> Tensor:
    """In-place version of `threshold`."""
def tile(input: Tensor, dims: Sequence[_int]) -> Tensor:
    """`repeat <Tensor.repeat>`, where missing numbers are 1."""
def topk(
    input: Tensor,
    k: _int,
    dim: _int = -1,
    largest: _bool = True,
    sorted: _bool = True,
    *,
    out: Outs | None = None,
) -> return_types.topk:
    """The ``k`` largest (or smallest) elements along a dimension, in order, and where they are."""
def trace(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The sum of a matrix's diagonal."""
def transpose(input: Tensor, dim0: _int, dim1: _int) -> Tensor:
    """Two dimensions exchanged."""
def transpose_copy(*args: Any, **kwargs: Any) -> Any:
    """A copy of what the view ``transpose`` shows."""
def trapezoid(y: Tensor, x: Tensor | None = None, *, dx: Number | None = None, dim: _int = -1) -> Tensor:
    """The integral along a dimension of the piecewise linear function through the samples ``y``."""
def trapz(y: Tensor, x: Tensor | None = None, *, dx: Number | None = None, dim: _int = -1) -> Tensor:
    """The integral along a dimension of the piecewise linear function through the samples ``y``."""
def triangular_solve(
    input: Tensor,
    A: Tensor,
    upper: _bool = True,
    transpose: _bool = False,
    unitriangular: _bool = False,
    *,
    out: Outs | None = None,
) -> return_types.triangular_solve:
    """Solution of ``A X = input`` for triangular A, and a copy of A. Deprecated: see
    `torch.linalg.solve_triangular`."""
def tril(input: Tensor, diagonal: _int = 0, *, out: Tensor | None = None) -> Tensor:
    """The matrices' lower triangles, up to and including a diagonal; 0 elsewhere."""
def tril_indices(
    row: _int,
    col: _int,
    offset: _int = 0,
    *,
    dtype: dtype | None = None,
    layout: Layout | None = None,
    device: Device | None = None,
    requires_grad: _bool = False,
    pin_memory: _bool = False,
) -> Tensor:
    """Row and column numbers of a matrix's lower triangle, as a ``2 × n`` tensor."""
def triplet_margin_loss(
    anchor: Tensor,
    positive: Tensor,
    negative: Tensor,
    margin: _float = 1.0,
    p: _float = 2,
    eps: _float = 1e-06,
    swap: _bool = False,
    size_average: _bool | None = None,
    reduce: _bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    """``max(0, distance(anchor, positive) - distance(anchor, negative) + margin)`` (Balntas et al. 2016)."""
def triu(input: Tensor, diagonal: _int = 0, *, out: Tensor | None = None) -> Tensor:
    """The matrices' upper triangles, from a diagonal on; 0 elsewhere."""
def triu_indices(
    row: _int,
    col: _int,
    offset: _int = 0,
    *,
    dtype: dtype | None = None,
    layout: Layout | None = None,
    device: Device | None = None,
    requires_grad: _bool = False,
    pin_memory: _bool = False,
) -> Tensor:
    """Row and column numbers of a matrix's upper triangle, as a ``2 × n`` tensor."""
def true_divide(
    input: Tensor,
    other: Tensor | Number,
    *,
    rounding_mode: str | None = None,
    out: Tensor | None = None,
) -> Tensor:
    """Quotient, element by element."""
def trunc(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Rounded to zero. Derivative: 0."""
def trunc_(input: Tensor) -> Tensor:
    """In-place version of `trunc`: writes the result into this tensor and returns it."""
uint16: dtype
uint32: dtype
uint64: dtype
uint8: dtype
def unbind(input: Tensor, dim: _int = 0) -> tuple[Tensor, ...]:
    """All slices across ``dim``, which they lack, as a tuple."""
def unbind_copy(*args: Any, **kwargs: Any) -> Any:
    """A copy of what the view ``unbind`` shows."""
def unflatten(input: Tensor, dim: _int, sizes: Sequence[_int]) -> Tensor:
    """One dimension split into several, of which one may be -1."""
def unfold_copy(*args: Any, **kwargs: Any) -> Any:
    """A copy of what the view ``unfold`` shows."""
@overload
def unique(input: Tensor, sorted: _bool = True, *, dim: _int | None = None) -> Tensor:
    """The distinct elements, or slices along ``dim``, ascending even if not ``sorted``. NaNs are distinct."""
@overload
def unique(
    input: Tensor,
    sorted: _bool = True,
    *,
    return_inverse: Literal[True],
    return_counts: Literal[False] = False,
    dim: _int | None = None,
) -> tuple[Tensor, Tensor]: ...
@overload
def unique(
    input: Tensor,
    sorted: _bool = True,
    *,
    return_inverse: Literal[False] = False,
    return_counts: Literal[True],
    dim: _int | None = None,
) -> tuple[Tensor, Tensor]: ...
@overload
def unique(
    input: Tensor,
    sorted: _bool = True,
    *,
    return_inverse: Literal[True],
    return_counts: Literal[True],
    dim: _int | None = None,
) -> tuple[Tensor, Tensor, Tensor]: ...
@overload
def unique(
    input: Tensor,
    sorted: _bool = True,
    return_inverse: _bool = False,
    return_counts: _bool = False,
    dim: _int | None = None,
) -> Any: ...
@overload
def unique_consecutive(input: Tensor, *, dim: _int | None = None) -> Tensor:
    """The elements, or slices along ``dim``, without those that equal the one before."""
@overload
def unique_consecutive(
    input: Tensor,
    *,
    return_inverse: Literal[True],
    return_counts: Literal[False] = False,
    dim: _int | None = None,
) -> tuple[Tensor, Tensor]: ...
@overload
def unique_consecutive(
    input: Tensor,
    *,
    return_inverse: Literal[False] = False,
    return_counts: Literal[True],
    dim: _int | None = None,
) -> tuple[Tensor, Tensor]: ...
@overload
def unique_consecutive(
    input: Tensor,
    *,
    return_inverse: Literal[True],
    return_counts: Literal[True],
    dim: _int | None = None,
) -> tuple[Tensor, Tensor, Tensor]: ...
@overload
def unique_consecutive(
    input: Tensor,
    return_inverse: _bool = False,
    return_counts: _bool = False,
    dim: _int | None = None,
) -> Any: ...
def unravel_index(indices: Tensor, shape: Any) -> tuple[Tensor, ...]:
    """Flat indices into that shape as an index for each dimension."""
def unsafe_chunk(input: Tensor, chunks: _int, dim: _int = 0) -> tuple[Tensor, ...]:
    """`chunk` into pieces that may be written into."""
def unsafe_split(tensor: Tensor, split_size: _int, dim: _int = 0) -> tuple[Tensor, ...]:
    """`split` into pieces that may be written into."""
def unsafe_split_with_sizes(input: Tensor, split_sizes: Sequence[_int], dim: _int = 0) -> tuple[Tensor, ...]:
    """`split_with_sizes` into pieces that may be written into."""
def unsqueeze(input: Tensor, dim: _int) -> Tensor:
    """With a new dimension of size 1 at ``dim``."""
def unsqueeze_copy(*args: Any, **kwargs: Any) -> Any:
    """A copy of what the view ``unsqueeze`` shows."""
def vander(x: Tensor, N: _int | None = None, increasing: _bool = False) -> Tensor:
    """Vandermonde matrix: the powers of ``x`` in columns, falling unless ``increasing``."""
@overload
def var(
    input: Tensor,
    dim: Dims | None,
    unbiased: _bool,
    keepdim: _bool = False,
    *,
    correction: _float | None = None,
    out: Tensor | None = None,
) -> Tensor:
    """The variance of all elements, or along dimensions."""
@overload
def var(
    input: Tensor,
    dim: Dims | None = None,
    *,
    keepdim: _bool = False,
    correction: _float | None = None,
    out: Tensor | None = None,
) -> Tensor: ...
@overload
def var(input: Tensor, unbiased: _bool) -> Tensor: ...
@overload
def var_mean(
    input: Tensor,
    dim: Dims | None,
    unbiased: _bool,
    keepdim: _bool = False,
    *,
    correction: _float | None = None,
    out: Outs | None = None,
) -> tuple[Tensor, Tensor]:
    """`var` and `mean` at once."""
@overload
def var_mean(
    input: Tensor,
    dim: Dims | None = None,
    *,
    keepdim: _bool = False,
    correction: _float | None = None,
    out: Outs | None = None,
) -> tuple[Tensor, Tensor]: ...
@overload
def var_mean(input: Tensor, unbiased: _bool) -> tuple[Tensor, Tensor]: ...
def vdot(input: Tensor, other: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Inner product of two vectors: the conjugate of the first times the second."""
def view_as_complex(input: Tensor) -> Tensor:
    """Pairs in the last dimension, of size 2, as complex numbers, sharing memory."""
def view_as_complex_copy(*args: Any, **kwargs: Any) -> Any:
    """A copy of what the view ``view_as_complex`` shows."""
def view_as_real(input: Tensor) -> Tensor:
    """Complex numbers as pairs in a new last dimension of size 2, sharing memory."""
def view_as_real_copy(*args: Any, **kwargs: Any) -> Any:
    """A copy of what the view ``view_as_real`` shows."""
def view_copy(*args: Any, **kwargs: Any) -> Any:
    """A copy of what the view ``view`` shows."""
def vsplit(input: Tensor, indices_or_sections: _int | Sequence[_int] | Tensor) -> tuple[Tensor, ...]:
    """`tensor_split` along dimension 0, into equal pieces."""
def vstack(tensors: Sequence[Tensor], *, out: Tensor | None = None) -> Tensor:
    """Tensors on top of each other: along dimension 0 of at least 2-d ones."""
@overload
def where(condition: Tensor) -> tuple[Tensor, ...]:
    """``input`` where the condition holds, ``other`` elsewhere; of the condition alone, where it holds."""
@overload
def where(
    condition: Tensor,
    input: Tensor | Number,
    other: Tensor | Number,
    *,
    out: Tensor | None = None,
) -> Tensor: ...
def xlogy(input: Tensor | Number, other: Tensor | Number, *, out: Tensor | None = None) -> Tensor:
    """``input * log(other)``, and 0 where ``input`` is 0 (but NaN where ``other`` is NaN)."""
def xlogy_(input: Tensor, other: Tensor | Number) -> Tensor:
    """In-place version of `xlogy`: writes the result into this tensor and returns it."""
def zero_(self: Tensor) -> Tensor:
    """Write 0 everywhere into this tensor. Returns it."""
@overload
def zeros(
    *size: _int,
    out: Tensor | None = None,
    dtype: dtype | None = None,
    layout: Layout | None = None,
    device: Device | None = None,
    requires_grad: _bool = False,
    pin_memory: _bool = False,
) -> Tensor:
    """A tensor of the given shape, filled with 0."""
@overload
def zeros(
    size: Sequence[_int],
    *,
    out: Tensor | None = None,
    dtype: dtype | None = None,
    layout: Layout | None = None,
    device: Device | None = None,
    requires_grad: _bool = False,
    pin_memory: _bool = False,
) -> Tensor: ...
def zeros_like(
    input: Tensor,
    *,
    dtype: dtype | None = None,
    layout: Layout | None = None,
    device: Device | None = None,
    requires_grad: _bool = False,
    pin_memory: _bool = False,
    memory_format: MemoryFormat | None = None,
) -> Tensor:
    """A tensor of ``input``'s shape and type, filled with 0."""
