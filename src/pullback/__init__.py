"""PyTorch's autograd without PyTorch: ``import pullback as torch``.

Tensors on NumPy arrays, the recorded graph, ``backward(gradient=...)``, ``autograd.Function``, ``nn`` and ``optim``, in
PyTorch's names and with PyTorch's behaviour. ``python -m pullback run script.py`` runs an unmodified PyTorch script.
"""

from __future__ import annotations

from math import e, inf, nan, pi
from sys import modules as _modules
from typing import Any

import numpy as _np

# Tensors follow IEEE arithmetic silently, as PyTorch's do: log(0) is -inf, not a warning.
_np.seterr(all="ignore")

from . import autograd  # noqa: E402
from . import compat as _compat  # noqa: E402
from .autograd import enable_grad, inference_mode, is_grad_enabled, is_inference_mode_enabled, no_grad, set_grad_enabled
from .base.device import Layout as layout
from .base.device import MemoryFormat as memory_format
from .base.device import (
    channels_last,
    channels_last_3d,
    contiguous_format,
    device,
    preserve_format,
    sparse_bsc,
    sparse_bsr,
    sparse_coo,
    sparse_csc,
    sparse_csr,
    strided,
)
from .base.dtypes import NAMES as _NAMES
from .base.dtypes import UNSUPPORTED as _UNSUPPORTED
from .base.dtypes import (
    bfloat16,
    complex32,
    complex64,
    complex128,
    dtype,
    finfo,
    float16,
    float32,
    float64,
    get_default_dtype,
    iinfo,
    int8,
    int16,
    int32,
    int64,
    promote_types,
    set_default_dtype,
    uint8,
    uint16,
    uint32,
    uint64,
)
from .base.shape import Size
from .base.version import __version__
from .core import numpy_names as _numpy_names
from .core import slots as _slots
from .core.public import publish as _publish
from .core.tensor import Tensor
from .ops import narrow_types as _narrow_types  # its table
from .ops import sparse_selection as _sparse_selection  # its rules
from .ops.activation import *
from .ops.arithmetic import *
from .ops.avg_pool import *
from .ops.bessel import *
from .ops.buffers import *
from .ops.cholesky_qr import *
from .ops.compare import *
from .ops.complex import *
from .ops.concat import *
from .ops.convert import *
from .ops.convolution import *
from .ops.create import *
from .ops.determinant import *
from .ops.distance import *
from .ops.dropout import *
from .ops.eig_svd import *
from .ops.einsum import *
from .ops.embedding import *
from .ops.fill_copy import *
from .ops.flip_roll import *
from .ops.functional_aliases import *
from .ops.gamma_dirichlet import *
from .ops.grid_sample import *
from .ops.index import *
from .ops.inplace_functions import *
from .ops.interpolate import *
from .ops.least_squares import *
from .ops.linear import *
from .ops.lobpcg import *
from .ops.loss import *
from .ops.lu import *
from .ops.margin import *
from .ops.mask import *
from .ops.matmul import *
from .ops.matrix_norm import *
from .ops.memory import *
from .ops.minmax import *
from .ops.norm import *
from .ops.normalization import *
from .ops.pad import *
from .ops.pointwise import *
from .ops.pool import *
from .ops.random import *
from .ops.ranges import *
from .ops.reduce import *
from .ops.scan import *
from .ops.scatter import *
from .ops.scatter_reduce import *
from .ops.slicing_views import *
from .ops.softmax import *
from .ops.solve import *
from .ops.sort import *
from .ops.sparse import *
from .ops.sparse_csr import *
from .ops.special import *
from .ops.statistics import *
from .ops.stft import *
from .ops.trigonometry import *
from .ops.view import *
from .ops.where import *
from .ops.window_functions import *

_numpy_names.accept_numpy_names(globals())
_numpy_names.accept_numpy_names_in_methods()
globals().update(_NAMES)  # the short names too: float, double, long, ...
globals().update({d.name: d for d in _UNSUPPORTED})
_publish(globals(), f"{__name__}.ops.")
newaxis = None
_compat.install()

_SUBMODULES = frozenset(
    """
    _C __config__ _dynamo _jit_internal _logging _ops _tensor_str _utils _vmap_internals accelerator amp backends
    compiler cpu cuda distributed distributions explain export fft func functional futures fx hub jit library linalg
    masked mps multiprocessing nested nn onnx optim overrides profiler quasirandom random return_types serialization
    signal sparse special storage testing torch_version types utils version xpu
""".split()
)
_ELSEWHERE = {  # names by the module that they are in, which is imported when one of them is asked for
    "amp": "autocast GradScaler",
    "amp.autocast_mode": """
        autocast_decrement_nesting autocast_increment_nesting clear_autocast_cache get_autocast_cpu_dtype
        get_autocast_dtype get_autocast_gpu_dtype is_autocast_cache_enabled is_autocast_cpu_enabled is_autocast_enabled
        set_autocast_cache_enabled set_autocast_cpu_dtype set_autocast_cpu_enabled set_autocast_dtype
        set_autocast_enabled set_autocast_gpu_dtype""",
    "compat._C": "DeviceObjType ScriptObject",
    "compat.cpu": "Event Stream",
    "autograd.anomaly_mode": "is_anomaly_check_nan_enabled is_anomaly_enabled",
    "compiler": "compile",
    "cuda": "OutOfMemoryError",
    "explain.summary": "summary",
    "explain.watch": "watch",
    "func": "vmap",
    "futures": "Future",
    "compat.tensor_types": """
        BFloat16Tensor BoolTensor ByteTensor CharTensor ComplexDoubleTensor ComplexFloatTensor DoubleTensor FloatTensor
        HalfTensor IntTensor LongTensor ShortTensor""",
    "ops.storage": """
        BFloat16Storage BoolStorage ByteStorage CharStorage ComplexDoubleStorage ComplexFloatStorage DoubleStorage
        FloatStorage HalfStorage IntStorage LongStorage ShortStorage Storage StorageBase TypedStorage UntypedStorage""",
    "overrides": "DisableTorchFunction DisableTorchFunctionSubclass _assert",
    "base.errors": "_check _check_index _check_tensor_all _check_tensor_all_with _check_type _check_value",
    "ops.create": "_assert_async",
    "base.printing": "set_printoptions",
    "serialization.stream": "PyTorchFileReader",
    "cli.run": "install uninstall",
    "serialization": "load save",
    "compat.settings": """
        are_deterministic_algorithms_enabled compiled_with_cxx11_abi get_default_device get_deterministic_debug_mode
        get_device_module get_float32_matmul_precision get_num_interop_threads get_num_threads has_cuda has_cudnn
        has_lapack has_mkl has_mkldnn has_mps has_openmp has_spectral init_num_threads
        is_deterministic_algorithms_warn_only_enabled is_warn_always_enabled set_default_device set_default_tensor_type
        set_deterministic set_deterministic_debug_mode set_float32_matmul_precision set_flush_denormal
        set_num_interop_threads set_num_threads set_warn_always use_deterministic_algorithms""",
    "types": "SymBool SymFloat SymInt sym_int typename",
}
_LATER = {name: module for module, names in _ELSEWHERE.items() for name in names.split()}


def _later(module: str, name: str) -> Any:
    """A function that is imported when it is called."""

    def call(*args: Any, **kwargs: Any) -> Any:
        from importlib import import_module

        return getattr(import_module(f".{module}", __package__), name)(*args, **kwargs)

    return call


_slots.fill(
    batched_grad=_later("levels.vmap", "batched_grad"),
    explain=_later("explain.api", "explain"),
    function_in_levels=_later("autograd.function_levels", "apply"),
    namespace=_modules[__name__],
    on_warm=_later("engine.install_native", "install"),
    pack_inputs=_later("engine.saved_tensors", "pack_inputs"),
    pack_saved=_later("engine.saved_tensors", "pack"),
    public_call=_later("overrides", "public_call"),
    saved_names=_later("engine.saved_tensors", "shown_names"),
    saved_value=_later("engine.saved_tensors", "unsaved"),
    share_memory=_later("multiprocessing.shared", "share"),
    shared_mapping=_later("multiprocessing.shared", "mapping_of"),
    sync_batch_norm=_later("distributed.sync_batch_norm", "batch_norm"),
    torch_function=_later("overrides", "default_torch_function"),
    watch_functions=_later("overrides", "watch"),
    wrapper_value=_later("levels.wrapper", "Wrapper"),
)


def __getattr__(name: str) -> Any:
    """Submodules, and what only some programs need, are imported when asked for."""
    from importlib import import_module

    if name in _SUBMODULES:
        return import_module(f".{name}", __package__)
    module = "compat.foreach" if name.startswith("_foreach_") else _LATER.get(name)
    if module is not None:
        home = import_module(f".{module}", __package__)
        value = getattr(home, name)
        if name in vars(home):  # and not what depends on settings
            globals()[name] = value
        return value
    from .base.errors import no_attribute

    raise no_attribute(__name__, name)
