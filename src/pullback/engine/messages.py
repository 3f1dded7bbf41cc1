"""Errors and warnings of the engine: PyTorch's words, then the lines of the user's program, then the way out."""

from __future__ import annotations

import sys
import warnings
from typing import Any

import numpy as np

from ..base import thread_state
from ..base.dtypes import OF_NUMPY, TYPE_NAMES
from ..base.errors import with_notes
from ..core import versions
from ..core.graph import Node, format_line, parents
from ..core.tensor import Tensor
from ..core.views import function_name


def backward_twice_error(node: Node) -> RuntimeError:
    return with_notes(
        RuntimeError(
            "Trying to backward through the graph a second time (or directly access saved tensors after they have "
            "already been freed). Saved intermediate values of the graph are freed when you call .backward() or "
            "autograd.grad(). Specify retain_graph=True if you need to backward through the graph a second time or if "
            "you need to access saved tensors after calling backward."
        ),
        f"The freed node is {node.name()}, made at {format_line(node.location)}",
        "If that line belongs to an earlier iteration, a value was carried over: .detach() it there.",
        page="second-time",
    )


def check_saved(node: Node) -> None:
    """Refuse to run a node if a value that it saved was overwritten since.

    Raises:
        RuntimeError: naming the line that saved the value and the line that wrote into it.
    """
    for position, value in enumerate(node._saved):
        for array in value if value.__class__ is list else (value,):
            if hasattr(array, "strides") and hasattr(array, "flags"):  # an array or a level's value
                write = versions.write_after(array, node._seq)
                if write is not None:
                    if thread_state.anomaly:
                        warn_where(node)
                    raise overwritten(node, position, array, write)


def overwritten(node: Node, position: int, array: np.ndarray, write: versions.WriteRecord) -> RuntimeError:
    name = node._op.saved_names[position] if node._op is not None else f"saved_tensors[{position}]"
    later = sum(stamp > node._seq for stamp in write.recent)
    source: Any = node
    if name != "out" and node._op is not None and name in node._op.params:
        i, tensors = node._op.params.index(name), node._op.tensors
        e = (
            node._edges[tensors.index(i)] if i in tensors and not node._op.takes_tensor_list else None
        )  # options have no edge
        source = getattr(e, "node", e)
    whose = f", which is output 0 of {function_name(source)}," if isinstance(source, Node) else ""
    kind = f"torch.{TYPE_NAMES[OF_NUMPY[array.dtype].name]}Tensor"
    return with_notes(
        RuntimeError(
            f"one of the variables needed for gradient computation has been modified by an inplace operation: [{kind} "
            f"{list(array.shape)}]{whose} is at version {write.count}; expected version {write.count - later} instead."
        ),
        f"{node.name()} saved it ({name}) at {format_line(node.location)}",
        f"It was overwritten at {format_line(write.location)}",
        "Write out of place there (y = y + 1 instead of y += 1), or give the earlier line a copy (.clone()).",
        page="modified-in-place",
    )


def moved_leaf_error(leaf: Any) -> RuntimeError:
    """What to say of a leaf that was written into, with a history, after it was used as a leaf."""
    return with_notes(
        RuntimeError("leaf variable has been moved into the graph interior"),
        f"it has shape {list(leaf.shape)}, and is now the result of {leaf.grad_fn.name()}",
        "Write into a copy: leaf.detach().clone().",
    )


def wrong_shape_error(node: Node, got: tuple[int, ...], expected: tuple[int, ...], index: int = 0) -> RuntimeError:
    return with_notes(
        RuntimeError(
            f"Function {node.name()} returned an invalid gradient at index {index} - got {list(got)} but expected "
            f"shape compatible with {list(expected)}"
        ),
        f"made at {format_line(node.location)}",
    )


def check_shape_kept(node: Node, leaf: Any) -> None:
    """Refuse a gradient for a leaf that was of another shape when the node used it.

    Raises:
        RuntimeError: naming the shape that it has now.
    """
    shape = next((shape for until, shape in leaf.__dict__.get("_reshaped", ()) if until > node._seq), leaf._array.shape)
    if shape != leaf._array.shape:
        raise with_notes(
            RuntimeError(
                f"the gradient for a leaf of shape {list(leaf.shape)} is of the shape that it had when {node.name()} "
                f"was made"
            ),
            f"made at {format_line(node.location)}; the leaf's memory was replaced since (.data = or set_).",
            "Run backward before giving it another shape.",
        )


def note_where(error: BaseException, node: Node) -> None:
    """Say on an exception from a rule which node it came from."""
    if thread_state.anomaly:
        warn_where(node)
    for n in (node, *parents(node)):
        if n.location is not None:
            with_notes(error, f"in the backward of {n.name()}, made at {format_line(n.location)}")


def check_nothing_returned(result: Any) -> None:
    """Refuse a result of a hook that runs after accumulation.

    Raises:
        RuntimeError: for a tensor. TypeError: for anything else but None.
    """
    if isinstance(result, Tensor):
        raise RuntimeError("Tensor post accumulate grad hooks should return None.")
    if result is not None:
        raise TypeError(f"expected Variable, but hook returned '{type(result).__name__}'")


def checked_hook_result(hook: Any, result: Any, g: Any) -> Any:
    """What a tensor hook returned, if it can replace the gradient."""
    name = getattr(hook, "__name__", "hook")
    if not isinstance(result, Tensor):
        raise TypeError(
            f"hook '{name}' has returned a value of type {type(result).__name__}, expected a Tensor or None"
        )
    if result._array.shape != g._array.shape:
        raise RuntimeError(
            f"hook '{name}' has changed the size of value\n  from {list(g._array.shape)} to {list(result._array.shape)}"
        )
    if result._array.dtype != g._array.dtype:
        raise RuntimeError(f"hook '{name}' has changed the type of value (was {g.dtype}, got {result.dtype})")
    return result


# --- anomaly mode: which line of forward made the node -----------------------------------------------------------


def warn_where(node: Any) -> None:
    """PyTorch's warnings in anomaly mode: which line of forward made the node, and those whose backward it belongs
    to.
    """
    warn(f"Error detected in {node.name()}. " + made_by(node, "caused the error"))
    for parent in parents(node):
        warn(
            f"\n\nPrevious calculation was induced by {parent.name()}. "
            + made_by(parent, "induced the previous calculation")
        )


def made_by(node: Node, did: str) -> str:
    if node._seq >= thread_state.anomaly:
        return f"Traceback of forward call that {did}:\n  {format_line(node.location)}\n"
    return (
        f"No forward pass information available but for its line, {format_line(node.location)}. Enable detect anomaly "
        "during forward pass for more information."
    )


def warn(message: str) -> None:
    try:
        warnings.warn(message, UserWarning, stacklevel=3)
    except Warning as warning:  # a warning that became an error must not hide the error itself
        print(warning, file=sys.stderr)
