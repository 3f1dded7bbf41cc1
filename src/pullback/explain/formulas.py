"""Derivative rules as mathematics, read from their source: ``lambda g, out: g * out`` of exp is "dx = g · out".

The commonest rules that are written for speed have their textbook form in :mod:`pullback.explain.textbook`. For all
others there is no second table of formulas. A rule is a lambda or a short function; its source is parsed, and

- known values (options, shapes, numbers) are substituted and folded: the derivative of ``x ** 3`` reads
  "dx = g · 3 · x²";
- a function is interpreted statement by statement, on the values that the node saved, so that only the branch taken is
  shown; intermediate results that are used more than once keep their names: "dx = g · s · (1 + x · (1 - s)), where s =
  sigmoid(x)";
- the ``backward`` of a custom Function is read but not run; if it branches, it is shown as its name.

A rule that cannot be read is shown as a call by its name.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ..base.thread_state import no_grad
from ..core.boundary import LevelBoundary
from ..core.record import wrap
from ..engine.saved_tensors import SavedTensor
from ..ops.matmul import addmm
from .source_to_formula import FunctionReader, Reader, definition
from .textbook import dims_text, stretched, textbook

SYMBOLS = {"input": "x", "weight": "W", "bias": "b", "w_ih": "W_ih", "w_hh": "W_hh"}  # short forms of arguments
ATTENTION = {"query": "Q", "key": "K", "value": "V"}
PAIR = {"input": "a", "other": "b"}  # and of binary ops


def symbols_of(op: Any) -> dict[str, str]:
    """How formulas write the arguments of an op."""
    return PAIR if "other" in op.params else ATTENTION if "query" in op.params else SYMBOLS


def formulas(node: Any, saved: Sequence[Any], g: Sequence[Any]) -> tuple[list[str], bool]:
    """The formula of each of a node's input gradients.

    Args:
        node: the node.
        saved: what the node kept.
        g: the gradients that reached it, one a result.

    Returns:
        a formula for each edge ("" where it is None), and whether they hold for every node of the same :func:`kind`.
    """
    read = [("", True) if e is None else formula(node, slot, saved, g) for slot, e in enumerate(node._edges)]
    return [text for text, _ in read], all(reusable for _, reusable in read)


def formula_key(node: Any, saved: Sequence[Any], g: Sequence[Any]) -> Any:
    """Everything that formulas depend on: op, options, and shapes and types of what was saved."""
    edges = [e is None for e in node._edges]
    if node._op is not None and (node._op.kind == "elementwise" and len(edges) == 2 or node._op is addmm.op):
        edges = [edge_shape(e) for e in node._edges]  # operands may be broadcast
    return node.__class__, *edges, *map(key_part, saved), *map(key_part, g)


def edge_shape(e: Any) -> Any:
    """The shape of an operand; None where none is recorded."""
    if e is None:
        return None
    return e._array.shape if e._seq == 0 else e._shape if e._seq > 0 else e.node._shape[e.index]


def key_part(value: Any) -> Any:
    """The part of a value that a formula may depend on: of an array, its shape and type."""
    cls = value.__class__
    if cls is np.ndarray:
        return value.shape, value.dtype
    if value is None or cls is bool or cls is str or cls is int and value > 1:
        return value
    if cls is tuple or cls is list:
        return cls, *map(key_part, value)
    return repr(value) if cls is int or cls is float or isinstance(value, np.generic) else cls


def formula(node: Any, slot: int, saved: Sequence[Any], g: Sequence[Any]) -> tuple[str, bool]:
    """The formula, with the sum over dimensions in which the operand was broadcast; and whether it holds for other
    values of the same shapes.
    """
    text, reusable = formula_of_result(node, slot, saved, g)
    op, shape = node._op, edge_shape(node._edges[slot])
    broadcasts = op is not None and (op.kind == "elementwise" or op is addmm.op)
    if broadcasts and shape != node._shape and node._shape.__class__ is tuple:
        over = stretched(shape, node._shape)
        head, separator, rule = text.partition(" = ")
        if over and separator:
            rule, where, defined = rule.partition(", where ")
            text = f"{head} = sum({rule}, {dims_text(over)}){where}{defined}"
    return text, reusable


def formula_of_result(node: Any, slot: int, saved: Sequence[Any], g: Sequence[Any]) -> tuple[str, bool]:
    """The formula before sums over dimensions."""
    name = argument_name(node, slot)
    if node._op is None:
        function = getattr(node, "_function", None)
        rule = (
            function_formula(function, node, slot)
            if function is not None
            else "g"
            if isinstance(node, LevelBoundary)
            else f"{node.name()}(g)"
        )
        return f"d{name} = {rule}", True
    op = node._op
    symbols = symbols_of(op)
    lhs = f"d{symbols.get(name, name)}"
    written = textbook.get(op)
    if written is not None and saved:
        text = written(dict(zip(op.saved_names, saved)), node).get(name)
        if text is not None:
            return f"{lhs} = {text}", True
    rule, joint = op.joint_vjp, True
    if rule is None:
        rule, joint = op.rules.get(op.params[op.tensors[slot]]), False
    if rule is None:
        return f"{lhs}: no rule", True
    try:
        names = [n for n in rule_params(rule) if n in op.saved_names]
        values = {n: saved_value(node, saved, op.saved_names.index(n)) for n in names}
        values[rule.__code__.co_varnames[0]] = materialize_grads(g, node) if node._shape.__class__ is list else g[0]
        # As tensors: given arrays, some rules call kernels, which are no formulas.
        values = {n: as_tensors(v) for n, v in values.items()}
        reader = Reader(rule, values, symbols, joint, slot, len(node._edges))
        if node._shape.__class__ is list:
            reader.missing = [v for v, arrived in zip(values[rule.__code__.co_varnames[0]], g) if arrived is None]
        with no_grad():
            text, reusable = reader.text(), reader.reusable
    except Exception:  # a rule that cannot be read is shown by its name
        words = " ".join((rule.__doc__ or "").replace("`", "").split()).rstrip(":.")
        if words:
            return f"{lhs}: {words}", True
        reusable = True
        text = f"{rule.__name__.strip('_<>')}({', '.join(['g', *(symbols.get(n, n) for n in rule_params(rule))])})"
    return f"{lhs} = {text}", reusable


def saved_value(node: Any, saved: Sequence[Any], i: int) -> Any:
    """A saved value; zeros of its shape for one that saved-tensor hooks packed (unpacking could recompute a
    checkpoint).
    """
    if saved[i].__class__ is not SavedTensor:
        return saved[i]
    op, (kept, position, _) = node._op, node._op.saved_spec[i]
    e = node if kept == "out" else node._edges[op.tensors.index(position)]
    shape = () if e is None else edge_shape(e)
    return np.broadcast_to(np.zeros((), np.float32), shape)


def as_tensors(value: Any) -> Any:
    """Arrays as tensors, also those in lists."""
    if isinstance(value, np.ndarray):
        return wrap(value)
    return type(value)(map(as_tensors, value)) if value.__class__ in (list, tuple) else value


def materialize_grads(g: Sequence[Any], node: Any) -> tuple[Any, ...]:
    """The gradients of several results, with zeros where none arrived."""
    return tuple(np.zeros(s, d) if v is None else v for v, s, d in zip(g, node._shape, node._dtype))


def argument_name(node: Any, slot: int) -> str:
    """The op's name for the input behind an edge."""
    op = node._op
    if op is None and getattr(node, "_function", None) is None:
        return f"input{slot}" if len(node._edges) > 1 else "input"
    if op is None:
        position = argument_index(node, slot)
        names = node._function.forward.__code__.co_varnames[: node._function.forward.__code__.co_argcount]
        names = names[1:] if names[:1] == ("ctx",) else names
        return names[position] if position < len(names) else f"input{position}"
    if op.takes_tensor_list:
        listed = len(node._edges) - len(op.tensors)
        return f"{op.params[0]}[{slot}]" if slot < listed else op.params[op.tensors[slot - listed]]
    return op.params[op.tensors[slot]] if slot < len(op.tensors) else f"input{slot}"


def argument_index(node: Any, slot: int) -> int:
    """The argument of a custom Function that an edge belongs to."""
    return slot if node._where is None else node._where.index(slot)


def rule_params(rule: Callable) -> list[str]:
    """The parameters of a rule beside ``g`` and ``wanted``."""
    code = rule.__code__
    return [n for n in code.co_varnames[1 : code.co_argcount] if n != "wanted"]


def function_formula(function: Any, node: Any, slot: int) -> str:
    """The backward of a custom Function, if it consists of assignments and a return; else a call of it."""
    backward = function.__dict__.get("backward") or getattr(function, "backward", None)
    code = getattr(getattr(backward, "__func__", backward), "__code__", None)
    try:
        tree = definition(code)  # type: ignore[arg-type]
        return FunctionReader(tree, code, argument_index(node, slot)).text()  # type: ignore[arg-type]
    except Exception:  # as above
        return f"{function.__name__}.backward(g)"
