"""``torch._C``: the private functions that PyTorch programs call anyway: graph-task queries and a few node types."""

from __future__ import annotations

import sys
import weakref
from collections.abc import Sequence
from enum import Enum
from types import SimpleNamespace
from typing import Any

from ...amp import autocast_mode
from ...base import thread_state
from ...base.device import check_device, device
from ...base.dtypes import dtype
from ...base.torchscript import Graph as Graph
from ...base.torchscript import ScriptObject as ScriptObject
from ...core import versions as versions_module
from ...core import views
from ...core.graph import AccumulateGrad, Node, finish_node
from ...core.override import DisableTorchFunction as DisableTorchFunction
from ...core.override import DisableTorchFunctionSubclass as DisableTorchFunctionSubclass
from ...core.override import _modes
from ...core.tensor import Tensor
from ...core.tensor import _disabled_torch_function as _disabled_torch_function_impl  # noqa: F401
from ...engine import current_task
from ...engine.not_differentiable import error_node
from ...engine.saved_tensors import SavedTensor, packed
from ...levels import forward
from ...ops.linalg_checks import LinAlgError
from ...ops.storage import StorageBase as StorageBase
from . import _functorch as _functorch

_TensorMeta, DeviceObjType = type(Tensor), device
_current_autograd_node = current_task.current_node
_current_graph_task_execution_order = current_task.execution_order
_current_graph_task_id = current_task.task_id
_will_engine_execute_node = current_task.will_execute
_is_fwd_grad_enabled = forward._is_fwd_grad_enabled
is_grad_enabled = thread_state.is_grad_enabled
is_inference_mode_enabled = thread_state.is_inference_mode_enabled
has_lapack = True
_LinAlgError = LinAlgError


class DispatchKey(Enum):
    """What PyTorch chooses kernels by; here they are names, of which sets can be made."""

    Undefined, CPU, CUDA, MPS, XLA, Meta, SparseCPU, SparseCsrCPU, QuantizedCPU, BackendSelect, Python = range(11)
    ADInplaceOrView, AutogradCPU, Autograd, AutogradOther, AutocastCPU, AutocastCUDA, FuncTorchBatched = range(11, 18)
    CompositeImplicitAutograd, CompositeExplicitAutograd, Functionalize, PythonDispatcher = range(18, 22)
    AutocastXPU, AutocastMPS = range(22, 24)


class DispatchKeySet:
    """A set of dispatch keys."""

    def __init__(self, *keys: DispatchKey) -> None:
        self._keys = frozenset(keys)

    def has(self, key: DispatchKey) -> bool:
        """Whether a key is among them."""
        return key in self._keys

    def add(self, key: DispatchKey) -> DispatchKeySet:
        """These and another one."""
        return DispatchKeySet(*self._keys, key)

    def remove(self, key: DispatchKey) -> DispatchKeySet:
        """These without one."""
        return DispatchKeySet(*self._keys - {key})

    def __or__(self, other: DispatchKeySet) -> DispatchKeySet:
        return DispatchKeySet(*self._keys | other._keys)

    def __and__(self, other: DispatchKeySet) -> DispatchKeySet:
        return DispatchKeySet(*self._keys & other._keys)

    def __sub__(self, other: DispatchKeySet) -> DispatchKeySet:
        return DispatchKeySet(*self._keys - other._keys)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, DispatchKeySet) and self._keys == other._keys

    def __hash__(self) -> int:
        return hash(self._keys)

    def __repr__(self) -> str:
        return f"DispatchKeySet({', '.join(sorted(key.name for key in self._keys))})"


class _ExcludeDispatchKeyGuard:
    """Without these keys, inside the block: without :attr:`DispatchKey.AutocastCPU` nothing is cast there."""

    def __init__(self, keyset: DispatchKeySet) -> None:
        self._keys = keyset

    def __enter__(self) -> None:
        self._before = autocast_mode.is_autocast_cpu_enabled()
        if self._keys.has(DispatchKey.AutocastCPU):
            autocast_mode.set_autocast_cpu_enabled(False)

    def __exit__(self, *exc: object) -> None:
        autocast_mode.set_autocast_cpu_enabled(self._before)


def _is_torch_function_mode_enabled() -> bool:
    """Whether a function mode is in force in this thread."""
    return bool(_modes.modes)


def _len_torch_function_stack() -> int:
    """How many function modes are."""
    return len(_modes.modes)


def _set_fwd_grad_enabled(enabled: bool) -> None:
    """Compute tangents in this thread from now on, or do not."""
    thread_state.local.tangents = enabled


def _are_functorch_transforms_active() -> bool:
    """Whether this thread is inside of a function that is run for a batch of examples at once, or compiled."""
    return bool(thread_state.local.batches) or thread_state.local.trace is not None


def _get_tracing_state() -> None:
    """None: nothing is traced to be scripted."""


def _is_tracing() -> bool:
    """False: nor is a function traced by :func:`torch.jit.trace`."""
    return False


def _log_api_usage_once(event: str) -> None:
    """Nothing is logged."""


class _WeakTensorRef:
    """A weak reference that can be asked whether its tensor is gone."""

    def __init__(self, tensor: Tensor) -> None:
        self._ref = weakref.ref(tensor)

    def expired(self) -> bool:
        return self._ref() is None


class DelayedError:
    """``DelayedError(message, n)(*tensors)`` gives tensors that raise in backward."""

    def __init__(self, message: str, num_inputs: int) -> None:
        self.message = message

    def __call__(self, *tensors: Tensor) -> Any:
        results = [error_node(t, (t,), self.message) for t in tensors]
        return results[0] if len(results) == 1 else tuple(results)


class _Undefined(Node):
    """Passes no gradient on."""

    __slots__ = ()

    def _vjp(self, g: Any, saved: Any, edges: Sequence[Any]) -> list[None]:
        return [None] * len(edges)


class UndefinedGrad:
    """``UndefinedGrad()(x)`` is ``x``, from which no gradient comes back."""

    def __call__(self, *tensors: Tensor) -> Any:
        results = []
        for t in tensors:
            result = t.detach()
            a, edges = t._array, (views.gradient_edge(t),)
            result._fn = finish_node(_Undefined(), edges, (), a.shape, a.dtype, sys._getframe(1))
            results.append(result)
        return results[0] if len(results) == 1 else tuple(results)


def _parse_to(*args: Any, **kwargs: Any) -> tuple[Any, Any, bool, Any]:
    """Device, dtype, whether not to wait, and memory format, of the arguments of ``Module.to`` (None: not given)."""
    found: dict[str, Any] = {}
    for value in args:
        if isinstance(value, Tensor):
            found.update(device=value.device, dtype=value.dtype)
        elif isinstance(value, bool):
            found.setdefault("non_blocking", value)
        else:
            found["dtype" if isinstance(value, dtype) else "device"] = value
    if isinstance(like := kwargs.pop("tensor", None), Tensor):
        found.update(device=like.device, dtype=like.dtype)
    found.update(kwargs)
    if found.get("device") is not None:
        check_device(found["device"])
        found["device"] = device(found["device"])
    return found.get("device"), found.get("dtype"), found.get("non_blocking", False), found.get("memory_format")


_nn = SimpleNamespace(_parse_to=_parse_to)
_Undefined.__name__ = "UndefinedGrad"
_functions = SimpleNamespace(AccumulateGrad=AccumulateGrad, DelayedError=DelayedError, UndefinedGrad=UndefinedGrad)


def _make_saved_tensor(tensor: Tensor, is_output: bool) -> SavedTensor:
    """A tensor as nodes save it, with the hooks that are on."""
    hooks = thread_state.local.packing
    return packed(tensor, *hooks[-1]) if hooks else SavedTensor.of(tensor, None)


def _unsafe_set_version_counter(tensors: Sequence[Tensor], versions: Sequence[int]) -> None:
    """Set what ``_version`` says; what backward noticed of writes stays noticed."""
    for t, version in zip(tensors, versions):
        if version < 0:
            raise RuntimeError(f"Cannot set a version counter to a value below 0: {version}")
        counter = t.__dict__.get("_counter") or versions_module.version_counter(t._array)
        counter.count = version


_autograd = SimpleNamespace(
    SavedTensor=SavedTensor,
    _make_saved_tensor=_make_saved_tensor,
    _unsafe_set_version_counter=_unsafe_set_version_counter,
    _get_current_graph_task_keep_graph=current_task.keeps_graph,
    _saved_tensors_hooks_is_enabled=lambda: thread_state.local.packing_refused is None,
)
