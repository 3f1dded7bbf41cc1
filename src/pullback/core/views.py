"""Views and in-place writes in the graph: gradient edges, rebasing history, regenerating ``grad_fn``.

A write into a tensor rebases its history: its ``_fn`` becomes the node of the operation that wrote. A write through a
view also rebases the base, which then depends on its old self outside the view and on what was written inside it. Other
views of that base notice, when next used, that the memory is newer than they are, and regenerate their ``grad_fn``.
"""

from __future__ import annotations

import re
from math import inf
from typing import Any

import numpy as np

from ..base import thread_state
from ..base.dtypes import FLOATING, OF_NUMPY
from ..base.errors import with_notes
from . import slots, versions
from .graph import FREED, LEAF, GradientEdge, Node, Output, clock, next_function
from .versions import bump_tensor_version, memory_root, refuse_repeats, write_after

# How a view came to be, which decides whether it may be written into: ``Tensor._view`` is (base, clock, kind).
ORDINARY, NO_GRAD, IN_INFERENCE, ONE_OF_SEVERAL, FROM_FUNCTION, INFERENCE = range(6)
# ``_view`` of a tensor made in inference mode: it is no view, but must not pass for an ordinary tensor.
INFERENCE_TENSOR = (None, inf, INFERENCE)
thread_state.inference_mark = INFERENCE_TENSOR


def get_gradient_edge(tensor: Any) -> GradientEdge:
    """The edge that a gradient for ``tensor`` arrives at.

    >>> import pullback as torch
    >>> y = torch.ones(1, requires_grad=True).exp()
    >>> torch.autograd.graph.get_gradient_edge(y).node.name()
    'ExpBackward0'
    """
    e = gradient_edge(tensor)
    if e is None:
        raise RuntimeError("It is not possible to get the gradient edge for a Tensor that does not require gradients")
    return GradientEdge(*next_function(e))


# ``_hooks`` of a tensor that a custom Function's forward computed from something that wants gradients: as nothing is
# recorded there, its derivative is not known.
INSIDE_FUNCTION: Any = ("inside",)


before_write: list[Any] = []  # called with an array that is about to be written into


def gradient_edge(x: Any) -> Any:
    """Where a gradient for tensor ``x`` goes: its node, itself if it is a leaf, None if it wants none."""
    if x._view is not None and versions.last_write > x._view[1]:
        regenerate_grad_fn(x)
    e = x._fn
    return x if e is LEAF else e


def current_array(x: Any) -> Any:
    """What tensor ``x`` holds: a view catches up with its base, which may have got tangents, first."""
    if x._view is not None:
        gradient_edge(x)
    return x._array


def gradient_edge_for_saving(x: Any) -> Any:
    """:func:`edge_of` for an operation that may save ``x``, which tensors of inference mode forbid.

    Raises:
        RuntimeError: for those; the slow path then looks whether it really is saved.
    """
    if x._view is INFERENCE_TENSOR:
        raise RuntimeError
    return gradient_edge(x)


def refuse_inference(args: Any, node: Any) -> None:
    """Refuse a node that saved a tensor of inference mode.

    Raises:
        RuntimeError: with the way out.
    """
    if thread_state.local.transforms:  # which record in a graph of their own
        return
    for x in args:
        if getattr(x, "_view", None) is INFERENCE_TENSOR and any(
            [s is x._array for s in getattr(node, "node", node)._saved]
        ):
            raise RuntimeError(
                "Inference tensors cannot be saved for backward. Please do not use Tensors created in inference mode "
                "in computation tracked by autograd. To work around this, you can make a clone to get a normal tensor "
                "and use it in autograd, or use `torch.no_grad()` instead of `torch.inference_mode()`."
            )


def mark_unrecorded(result: Any, e: Any, *args: Any) -> None:
    """Mark a tensor that was just made from ``args`` where nothing is recorded, if it could have a gradient; ``e`` is
    an edge of one, or None.
    """
    if thread_state.local.inference:
        result._view = INFERENCE_TENSOR
    elif (e is not None or any([getattr(a, "_hooks", None) is INSIDE_FUNCTION for a in args])) and OF_NUMPY[
        result._array.dtype
    ].category >= FLOATING:
        result._hooks = INSIDE_FUNCTION


def unrecorded_view(result: Any, base: Any, seq: int, kind: int, e: Any) -> None:
    """Make ``result`` a view of ``base`` (None: of an inference tensor) that is not in the graph.

    Where nothing is recorded a view of something whose base wants gradients does so too, but as a leaf, and cannot
    follow its base later on.

    Args:
        kind: of the view, if recording.
        e: where gradients of what it was taken from go.
    """
    if base is None:
        result._view = INFERENCE_TENSOR
        return
    if thread_state.no_grad_threads and not thread_state.is_grad_enabled():
        kind = IN_INFERENCE if thread_state.local.inference else NO_GRAD
        if thread_state.local.made is INSIDE_FUNCTION:
            mark_unrecorded(result, e, base)
        elif e is not None and wants_grad(base):
            result._fn = LEAF
    result._view = (base, seq, kind)


def regenerate_grad_fn(view: Any) -> None:
    """Give a view its place in its base's present history, if the memory was written into since.

    Raises:
        RuntimeError: for a view that cannot follow its base, if recording.
    """
    base, _, kind = view._view
    if write_after(view._array, view._view[1]) is None:
        return
    e = gradient_edge(base)
    if base._array.__class__ is not np.ndarray:  # perhaps lifted since
        view._array = base._array.lift_view(view._array)
    if kind not in (ORDINARY, ONE_OF_SEVERAL) and e is not None:
        if thread_state.is_grad_enabled():
            raise inplace_error(view, "its base or another view of its base has been")
        return
    if view._fn is LEAF:
        return
    view._view = (base, clock(), kind)
    if e is not None:
        fn = slots.view_node(e, base._array, view._array)
        move_retain_grad(view, fn)
        view._fn = fn


def wants_grad(x: Any) -> bool:
    """Whether operations on ``x`` are recorded: a view of something that wants gradients does, too."""
    return x._fn is not None or x._view is not None and x._view[0] is not None and wants_grad(x._view[0])


def check_writable(x: Any, what: str = "a leaf", source: Any = None) -> None:
    """Refuse an in-place operation that autograd cannot follow, before anything is changed.

    Args:
        what: how to call a leaf ("a view of a leaf" if only a part of it is to be written).
        source: where gradients of what will be written go, None if it wants none.

    Raises:
        RuntimeError: for a leaf that requires grad, a view of one, views that share a node with others or were made
            where nothing is recorded, and tensors of inference mode.
    """
    array = current_array(x) if thread_state.slow_path_reasons else x._array
    for callback in before_write:
        callback(array)
    kind = ORDINARY if x._view is None else x._view[2]
    if kind == INFERENCE and not thread_state.local.inference:
        raise RuntimeError(
            "Inplace update to inference tensor outside InferenceMode is not allowed.You can make a clone to get a "
            "normal tensor before doing inplace update.See https://github.com/pytorch/rfcs/pull/17 for more details."
        )
    if not thread_state.is_grad_enabled():
        return
    if thread_state.local.arguments:
        slots.refuse_captured(x)
    base: Any = None if x._view is None else x._view[0]
    if "_outsides" in x.__dict__ or base is not None and "_outsides" in base.__dict__:
        for outside, *_ in slots.outer_tensors(x if "_outsides" in x.__dict__ else base):
            check_writable(outside, what)
    if x._view is not None and kind != INFERENCE and OF_NUMPY[x._array.dtype].category >= FLOATING:
        wants = wants_grad(x)
        if kind != ORDINARY and (wants or source is not None):
            raise inplace_error(x, "is being")
        if wants and (base._fn is LEAF or gradient_edge(base) is None):
            raise with_notes(
                RuntimeError("a view of a leaf Variable that requires grad is being used in an in-place operation."),
                "Wrap the update in torch.no_grad(), or write into a copy of the leaf: leaf.clone().",
                page="leaf-in-place",
            )
    if x._fn is LEAF:
        raise with_notes(
            RuntimeError(f"{what} Variable that requires grad is being used in an in-place operation."),
            "Its old value would be lost to backward. Wrap the update in torch.no_grad(), or write into a copy: "
            "x.clone().",
            page="leaf-in-place",
        )


def is_plain_target(x: Any) -> bool:
    """Whether autograd has nothing to say about a write into ``x``: nothing is recorded, or neither ``x`` nor its base
    wants gradients, and nobody watches.
    """
    if thread_state.slow_path_reasons or before_write or thread_state.local.arguments:
        return False
    recording = not thread_state.no_grad_threads or thread_state.is_grad_enabled()
    base = x
    if x._view is not None:
        base = x._view[0]
        if base is None or base._view is not None or "_outsides" in base.__dict__:
            return False
    return not (recording and (x._fn is not None or base._fn is not None)) and "_outsides" not in x.__dict__


def write_plainly(x: Any, value: Any) -> bool:
    """Write an array into a tensor of its type and shape that autograd has nothing to say about; whether that was so.

    Args:
        value: of a tensor that wants no gradient.
    """
    a = x._array
    if (
        not (a.__class__ is value.__class__ is np.ndarray)
        or value.dtype is not a.dtype
        or value.shape != a.shape
        or not a.flags.forc  # else elements may share memory
        or not is_plain_target(x)
    ):
        return False
    a[...] = value
    bump_tensor_version(x, 3)  # past the functions that write results
    return True


def inplace_error(x: Any, happened: str) -> RuntimeError:
    """What to say of a view whose memory is, or was, written into in a way that its history cannot express."""
    kind = x._view[2]
    made = x._fn is not None and x._fn is not LEAF
    output = f"Output {getattr(x._fn, 'index', 0)} of {node_name(x)} is a view"
    block, normal = ("inference", "in normal mode") if kind == IN_INFERENCE else ("no_grad", "with grad mode enabled")
    if made and kind not in (NO_GRAD, IN_INFERENCE):
        start = f"{output} and {happened} modified inplace."
    else:
        start = f"{output} of a view which was created in" if made else "A view was created in"
        start = f"{start} {block} mode and {happened} modified inplace {normal}."
    if kind == ONE_OF_SEVERAL:
        why = (
            "This view is the output of a function that returns multiple views. Such functions do not allow the "
            "output views to be modified inplace. You should replace the inplace operation by an out-of-place one."
        )
    elif kind == FROM_FUNCTION:
        why = (
            "This view was created inside a custom Function (or because an input was returned as-is) and the autograd "
            "logic to handle view+inplace would override the custom backward associated with the custom Function, "
            "leading to incorrect gradients. This behavior is forbidden. You can fix this by cloning the output of "
            "the custom Function."
        )
    else:
        block = "inference_mode" if block == "inference" else block
        why = (
            "Given that this use case is ambiguous and error-prone, it is forbidden. You can clarify your code by "
            f"moving both the view and the inplace either both inside the {block} block (if you don't want the inplace "
            "to be tracked) or both outside (if you want the inplace to be tracked)."
        )
    return RuntimeError(f"{start} {why}")


def node_name(x: Any) -> str:
    node = getattr(x._fn, "node", x._fn)
    return function_name(node) if isinstance(node, Node) else "None"


def function_name(node: Node) -> str:
    """The name of a node without the ending that says what it does in backward."""
    return re.sub(r"Backward\d*$", "", node.name())


def write_result(x: Any, result: Any) -> Any:
    """Make the result of an operation the new value and history of ``x``, in place. Returns ``x``.

    Args:
        x: the tensor to write into; :func:`check_writable` has passed.
        result: a tensor of x's shape, whose type may be cast to x's.
    """
    refuse_repeats(x._array)
    if thread_state.slow_path_reasons and not isinstance(result._array, np.ndarray):
        result._array.lift_for_write(x)
    target, source, e = x._array, result._array, result._fn
    if isinstance(e, Node) and e._saved is not FREED:
        # The old value, if saved, must survive; the new one is shared with x rather than kept twice.
        shared = source.dtype == target.dtype
        owner = memory_root(target)
        holds = lambda s: hasattr(s, "strides") and hasattr(s, "flags") and memory_root(s) is owner  # noqa: E731
        e._saved = tuple(target if s is source and shared else s.copy() if holds(s) else s for s in e._saved)
    if before_write and isinstance(e, Node) and e._packs:
        for s in e._saved:
            if hasattr(getattr(s, "data", None), "apart"):
                s.data = s.data.apart()
    target[...] = source
    bump_tensor_version(x)
    if e is not None:
        rebase_history(x, e)
    return x


def rebase_history(x: Any, e: Any) -> None:
    """Give ``x``, whose memory was just written, and all that shares it, the history that ends in edge ``e``."""
    rebase_tensor(x, e)
    if thread_state.local.arguments:
        slots.rebase_inputs(x)


def rebase_tensor(x: Any, e: Any, left: Any = ()) -> None:
    """Move ``x``, its base, and what lies outside of transforms that it is an argument of; ``e`` came out of the
    batches ``left``.
    """
    if isinstance(e, Node):
        if x._view is not None and isinstance(x._fn, Node) and (x._fn._hooks is not None or x._fn._op is None):
            bypass_old_node(x, e)
        e._seq = clock()  # newer than the write: what it saved is the new value
        if e._dtype.__class__ is not list:
            e._dtype = x._array.dtype
    move_retain_grad(x, e)
    x._fn = e
    if x._view is not None:
        rebase_base(x, e, x._array, left)
    if "_outsides" in x.__dict__:
        slots.rebase_outer_tensors(x, left)


def bypass_old_node(view: Any, e: Node) -> None:
    """Let node ``e``, which wrote into a view, reach the base past the view's old node.

    Hooks there belong to a version that is gone, and a custom Function need not be asked how its view lies.
    """
    base = view._view[0]
    f = gradient_edge(base)
    if f is not None:
        fresh = slots.view_node(f, base._array, view._array)
        e._edges = tuple([fresh if edge is view._fn else edge for edge in e._edges])


def move_retain_grad(x: Any, e: Any) -> None:
    """``retain_grad`` follows the newest version of a tensor, which edge ``e`` is about to lead to."""
    old, index = (x._fn.node, x._fn.index) if x._fn.__class__ is Output else (x._fn, 0)
    hooks = getattr(old, "_hooks", None)
    ref = (
        hooks.retain.pop(index, None)
        if hooks is not None and index in hooks.retain and hooks.retain[index]() is x
        else None
    )
    if ref is not None and e is not None:
        node, index = (e.node, e.index) if e.__class__ is Output else (e, 0)
        node._own_hooks().retain[index] = ref


def rebase_base(view: Any, e: Any, array: np.ndarray, left: Any = ()) -> None:
    """Give the base of ``view`` a history in which ``array``, part of its memory, holds what edge ``e`` leads to."""
    base, _, kind = view._view
    fn = slots.write_node(base, e, array)
    move_retain_grad(base, fn)
    base._fn = fn
    view._view = (base, 0, kind)  # older than the write: catches up when next used
    if "_outsides" in base.__dict__:
        slots.rebase_outer_tensors(base, left)
