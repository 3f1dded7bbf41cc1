"""Autograd through a compiled function: one node, whose backward pass was traced with the function.

When results of a traced call require grad, their backward pass is traced right away, for seeds that are inputs. What it
uses of the forward pass becomes outputs of the function's program, which the node of a call saves, as nodes of single
operations do; the rest is a program of its own, compiled when it first runs. So backward computes with what its call
computed with, whatever has happened since, and the engine's checks of saved values hold here, too.

Derivatives of higher order take the function's own graph: it runs once more, uncompiled, if nothing has changed that it
reads.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ..base import forks, thread_state
from ..base.pytree import tree_flatten
from ..core import versions, views
from ..core.graph import Node, Output, finish_node
from ..core.level import wrap_value
from ..core.tensor import Tensor
from ..engine import api
from ..ops.arithmetic import elementwise_add
from ..ops.random import default_generator
from .ir import Input, Instruction, Program, Ref, map_refs, refs
from .outputs import Outputs, has_history
from .plan import Plan
from .refusal import cannot_compile
from .trace import Trace
from .traced_value import TracedValue

ndarray = np.ndarray


class CompiledFunctionBackward(Node):
    """The node of a call of a compiled function; it saves what the backward program takes.

    Attributes:
        derivative: what all calls of the version share.
        call: the arguments and keywords, and the state of the random generator before the call, if it drew.
    """

    __slots__ = ("derivative", "call")
    _materializes = True
    derivative: Derivative
    call: Any

    def _vjp(self, g: Any, saved: tuple[Any, ...], edges: Sequence[Any]) -> Sequence[Any]:
        seeds = g if g.__class__ is tuple else (g,)
        if all([v is None or v.__class__ is ndarray for v in seeds]):
            found = self.derivative.pull(self._saved, seeds)
            return [None if e is None else r for e, r in zip(edges, found)]
        create = any([isinstance(v, Tensor) for v in seeds])
        again = self.derivative.pull_recorded(
            self, [v if v is None or isinstance(v, Tensor) else wrap_value(v) for v in seeds], create
        )
        return [None if e is None or r is None else r if create else r._array for e, r in zip(edges, again)]


class Derivative:
    """The vjp of one version, shared by the nodes of all its calls.

    Attributes:
        function: the function.
        ends: where gradients go: a tensor, or a place among the arguments that are tensors.
        saved: the numbers of the values that a node saves.
        watched: inputs whose memory it saves besides, as what is written there later would be written into these.
        read: the tensors from outside that the function reads.
        reached: for each end, the results whose gradients reach it.
        failure: what the backward pass raises, if it does: autograd's own errors wait for ``backward()``.
        unchanged: says, of the arguments of a call, whether the function would do the same again.
    """

    def __init__(
        self, function: Callable, trace: Trace, arguments: list[Tensor], results: list[Tensor], outputs: Outputs
    ) -> None:
        places = {id(x): i for i, x in enumerate(arguments)}
        leaves = leaves_behind(results)
        self.function = function
        self.ends: list[Any] = [places.get(id(x), x) for x in leaves]
        self.read = [i.source for i in trace.program.inputs if i.kind == "tensor"]
        self.is_random = trace.program.has_random_values()
        # contents before the call are gone when the function is to run again
        self.writes = any([x.version and x.input.kind != "constant" for x in trace.roots])
        self.failure: Exception | None = None
        self.unchanged: Callable[..., bool] = lambda args, kwargs: False
        self.saved: list[int] = []
        self._codes: dict[tuple[bool, ...], Callable] = {}
        self._lock = forks.lock(forks.Order.PLAN)
        refuse_hooks(results)
        reached = [{id(x) for x in leaves_behind([y])} for y in results]
        self.reached = [[id(x) in found for found in reached] for x in leaves]
        self._trace_backward(trace, results, leaves)
        self.watched = outputs.memory_of(self.saved)
        self.first_watched = [root.value for root in trace.roots if root.input in self.watched]
        self.places = [*outputs.keep(self.saved), *self.watched]

    def _trace_backward(self, trace: Trace, results: list[Tensor], leaves: list[Tensor]) -> None:
        program = trace.program
        inputs, instructions = len(program.inputs), len(program.instructions)
        trace.first_backward_value = len(program.values)
        seeds = [
            wrap_value(trace.add_input(np.ones(y._array.shape, y._array.dtype), "seed", i, f"seed {i}"))
            for i, y in enumerate(results)
        ]
        hooks = [x._hooks for x in leaves]  # which run where the gradient arrives
        for x in leaves:
            x._hooks = None
        try:
            grads = api.grad(results, leaves, seeds, allow_unused=True)
            numbers = [None if x is None else trace.operand(x._array).number for x in grads]
        except Exception as error:
            if trace.refusal is not None:
                raise
            self.failure, numbers = error.with_traceback(None), [None] * len(leaves)
        finally:
            for x, h in zip(leaves, hooks):
                x._hooks = h
        own, steps = program.inputs[inputs:], program.instructions[instructions:]
        del program.inputs[inputs:], program.instructions[instructions:]
        first, trace.first_backward_value = trace.first_backward_value, 0
        own_inputs = {i.number for i in own}
        used = {n for step in steps for n in refs(step.args)} | {n for n in numbers if n is not None}
        self.first_call = {n: v for n, v in trace.saved.items() if n in used}
        constants = {i.number: i.source for i in program.inputs if i.kind == "constant"}
        for n in self.first_call:
            if n in constants:
                own.append(Input(n, "constant", constants[n], "constant"))
            else:
                number = not isinstance(self.first_call[n], TracedValue)
                source = f"v{n}" if number else len(self.saved)
                own.append(Input(n, "number" if number else "saved", source, f"saved {len(self.saved)}"))
                self.saved.append(n)
        assert all(n >= first or n in self.first_call for n in used - own_inputs), "a value that is not saved"
        self.program = Program([*program.values], own, steps, numbers, program.any_size)

    def first_values(self) -> tuple[Any, ...]:
        """What the node of the traced call saves."""
        values = [self.first_call[n] for n in self.saved] + self.first_watched
        del self.first_call, self.first_watched
        return tuple([v.value if isinstance(v, TracedValue) else v for v in values])

    def attach(self, saved: tuple[Any, ...], call: Any, results: Sequence[Tensor], ends: Sequence[Tensor]) -> None:
        """Let results have a node of this function, from which gradients go to tensors; for ``call`` see there."""
        node = CompiledFunctionBackward()
        node.derivative, node.call = self, call
        edges = tuple([views.gradient_edge(x) for x in ends])
        if len(results) == 1:
            array = results[0]._array
            results[0]._fn = finish_node(node, edges, saved, array.shape, array.dtype)
            return
        arrays = [y._array for y in results]
        finish_node(node, edges, saved, [a.shape for a in arrays], [a.dtype for a in arrays])
        for i, y in enumerate(results):
            y._fn = Output(node, i)

    def tensors(self, args: Any, kwargs: Any) -> list[Tensor]:
        """Where gradients go in a call with these arguments."""
        given = [x for x in tree_flatten((args, kwargs))[0] if isinstance(x, Tensor)]
        return [given[end] if end.__class__ is int else end for end in self.ends]

    # --- first order --------------------------------------------------------------------------------------------

    def pull(self, saved: tuple[Any, ...], seeds: Sequence[Any]) -> list[Any]:
        """The gradients for all ends, by native code."""
        if self.failure is not None:
            raise self.failure
        given = tuple([g is not None for g in seeds])
        with self._lock:
            code = self._codes.get(given)
            if code is None:
                code = self._codes[given] = self._compile(given)
            return code(saved, [g for g in seeds if g is not None])

    def _compile(self, given: tuple[bool, ...]) -> Callable[[Any, Any], list[Any]]:
        """The backward pass for those results that have a gradient, as a Python function of ``saved, seeds``."""
        program = without_absent(self.program, given)
        ends = [
            n if any([r and g for r, g in zip(reached, given)]) else None
            for n, reached in zip(program.outputs, self.reached)
        ]
        program.outputs = [n for n in ends if n is not None]
        plan = Plan(program, {}, {})
        names: dict[str, Any] = {"contiguous": np.ascontiguousarray}
        variables, lines = {}, []
        for i in plan.program.inputs:
            if i.kind == "constant":
                names[f"c{i.number}"] = plan.fixed[i.number]
                variables[i.number] = f"c{i.number}"
                continue
            variables[i.number] = v = f"v{i.number}"
            place = self.saved.index(i.number) if i.kind != "seed" else sum(given[: i.source])
            lines.append(f"{v} = {'seeds' if i.kind == 'seed' else 'saved'}[{place}]")
            if i.kind != "number":
                lines.append(f"if not {v}.flags.c_contiguous: {v} = contiguous({v})")
        lines += plan.lines(variables, names)
        places = iter(range(len(program.outputs)))
        lines.append(f"return [{', '.join('None' if n is None else f'o{next(places)}' for n in ends)}]")
        source = "def run(saved, seeds):\n" + "".join(f"    {line}\n" for line in lines)
        exec(source, names)  # noqa: S102
        return names["run"]

    # --- higher orders ------------------------------------------------------------------------------------------

    def pull_recorded(self, node: CompiledFunctionBackward, seeds: Sequence[Any], create: bool) -> Sequence[Any]:
        """The gradients by the function's own graph.

        Raises:
            RuntimeError: the function has written into what it read, or that has changed since.
        """
        if self.failure is not None:
            raise self.failure
        args, kwargs, state = node.call
        given = [x for x in tree_flatten((args, kwargs))[0] if isinstance(x, Tensor)]
        outside = [x for x in self.ends if x.__class__ is not int]
        changed = any([versions.write_after(x._array, node._seq) is not None for x in (*given, *outside, *self.read)])
        if self.writes or changed or not self.unchanged(args, kwargs):
            raise RuntimeError(
                "compile: a derivative of higher order runs the compiled function once more, and it "
                + ("writes into tensors that it reads" if self.writes else "would not do the same again")
                + ".\n  Call it uncompiled where derivatives are differentiated, or before anything is changed."
            )
        before = None if state is None else default_generator.get_state()
        if state is not None:
            default_generator.set_state(state)
        try:
            with thread_state.enable_grad():
                results = tree_flatten(self.function(*args, **kwargs))[0]
                own = {id(x) for x in given}  # arguments that are returned have their own history
                live = [y for y in results if has_history(y) and id(y) not in own]
                pairs = [(y, g) for y, g in zip(live, seeds) if g is not None]
                return api.grad(
                    [y for y, _ in pairs],
                    self.tensors(args, kwargs),
                    [g for _, g in pairs],
                    create_graph=create,
                    allow_unused=True,
                )
        finally:
            if before is not None:
                default_generator.set_state(before)


def without_absent(program: Program, given: tuple[bool, ...]) -> Program:
    """The backward program without the gradients of results that have none; outputs that need them are None.

    Every value that depends on seeds is linear in them. One that depends on absent seeds alone is not there, as in the
    engine; a sum with it is the other summand.
    """
    inputs = [i for i in program.inputs if i.kind != "seed" or given[i.source]]
    absent = {i.number for i in program.inputs if i.kind == "seed" and not given[i.source]}
    present = {i.number for i in inputs if i.kind == "seed"}
    renamed: dict[int, int] = {}
    steps: list[Instruction] = []
    for step in program.instructions:
        args = tuple([map_refs(a, lambda n: Ref(renamed.get(n, n))) for a in step.args])
        operands = set(refs(args))
        missing, there = operands & absent, operands & present
        if missing and not there:
            absent.update(step.outs)
            continue
        if missing and step.op is elementwise_add.op and len(operands) == 2 and len(there) == 1:
            (other,) = there
            if program.values[other] == program.values[step.outs[0]]:
                renamed[step.outs[0]] = other
                continue
        for n in missing:
            like = program.values[n]
            inputs.append(Input(n, "constant", np.zeros(like.shape, like.dtype), "zeros"))
            absent.discard(n)
        if there:
            present.update(step.outs)
        steps.append(Instruction(step.op, args, step.outs, step.line))
    outputs: list[Any] = [None if n in absent else renamed.get(n, n) for n in program.outputs]
    return program.part(inputs, steps, outputs)


def refuse_hooks(results: Sequence[Tensor]) -> None:
    """Raise if there are hooks inside: they run in each backward pass, not while it is traced."""
    for node in nodes_behind(results):
        if isinstance(node, Node) and node._hooks is not None:
            raise cannot_compile(f"a hook on the gradient of {node.name()}, inside of the function")


def nodes_behind(results: Sequence[Tensor]) -> list[Any]:
    """The nodes that gradients of results pass, and the leaves that they reach."""
    found: dict[int, Any] = {}
    todo = [views.gradient_edge(y) for y in results]
    while todo:
        e = todo.pop()
        e = e.node if e.__class__ is Output else e
        if e is not None and id(e) not in found:
            found[id(e)] = e
            if e._seq != 0:
                todo.extend(e._edges)
    return list(found.values())


def leaves_behind(results: Sequence[Tensor]) -> list[Tensor]:
    """The leaves that gradients of results reach."""
    return [e for e in nodes_behind(results) if not isinstance(e, Node)]
