"""Late-bound slots: the few places where a lower layer calls a higher one.

Real recursion, declared: a view builds a graph node, a node runs the engine, recording many operations installs machine
code. The lower layer calls ``slots.view_node(...)``; the owner, named beside each slot, fills it when it is imported.
What most programs never need is filled by ``pullback/__init__.py`` with a function that imports the owner first.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any


def _unfilled(*args: Any, **kwargs: Any) -> Any:
    raise RuntimeError("import pullback, which fills this slot")


# views and writes through them: ops.slices
view_node: Callable[..., Any] = _unfilled  # (edge, base array, view array) -> the node of a view
write_node: Callable[..., Any] = _unfilled  # (base, edge, array) -> the node of "the base, with this part overwritten"
# the graph: engine
run_node: Callable[..., Any] = _unfilled  # (node, gradients) -> what calling a node gives
saved_value: Callable[..., Any] = _unfilled  # (node, name) -> `grad_fn._saved_NAME`
saved_names: Callable[..., Any] = _unfilled  # (node) -> the names of these
pack_inputs: Callable[..., Any] = _unfilled  # (op, args, edges, values): saved-tensor hooks, before an op computes
pack_saved: Callable[..., Any] = _unfilled  # (node): saved-tensor hooks, after it was recorded
on_warm: Callable[..., Any] = _unfilled  # (): a program has recorded many operations
# arguments of transforms that share memory with tensors outside: core.transform_inputs
keep_as_view: Callable[..., Any] = _unfilled  # (argument of a transform that has ended)
outer_tensors: Callable[..., Any] = _unfilled  # (argument) -> the tensors outside whose memory it shares
rebase_inputs: Callable[..., Any] = _unfilled  # (tensor): arguments follow a tensor that was written into
rebase_outer_tensors: Callable[..., Any] = _unfilled  # (argument, batches left): tensors outside follow an argument
refuse_captured: Callable[..., Any] = _unfilled  # (tensor): a write that would change a differentiated argument
# transforms: levels
batched_grad: Callable[..., Any] = _unfilled  # autograd.grad(is_grads_batched=True)
function_in_levels: Callable[..., Any] = _unfilled  # Function.apply under a transform (autograd.function_levels)
wrapper_value: Callable[..., Any] = _unfilled  # what a wrapper subclass holds in its data slot
# memory of several processes: multiprocessing.shared
share_memory: Callable[..., Any] = _unfilled
shared_mapping: Callable[..., Any] = _unfilled
sync_batch_norm: Callable[..., Any] = _unfilled  # (layer, input, average) -> SyncBatchNorm of all ranks' batches
# `__torch_function__`: core.override, overrides
watch_functions: Callable[..., Any] = _unfilled  # (): a class that overrides operations was declared
watch_properties: Callable[..., Any] = _unfilled  # (cls): that class, whose properties ask it, too
torch_function: Callable[..., Any] = _unfilled  # what Tensor.__torch_function__ does
public_call: Callable[..., Any] = _unfilled  # (fn, args, kwargs) -> the public function behind a call of an op
# what users see
explain: Callable[..., Any] = _unfilled  # Tensor.explain
namespace: Any = None  # the package: where public functions are looked up by name


def fill(**owners: Any) -> None:
    """Fill slots, by name.

    Raises:
        NameError: there is no slot of that name.
    """
    for name, owner in owners.items():
        if name not in __annotations__:
            raise NameError(f"no slot is called {name!r}")
        globals()[name] = owner
