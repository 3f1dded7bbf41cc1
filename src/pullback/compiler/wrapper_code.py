"""Python source of the function that serves a call: guards, inputs, the plan, and where its results go.

    def run(args, kwargs):
        if ...: return MISS               # guards: the modes, the arguments, what the function reads besides
        v0 = x0                           # inputs
        ...                               # the plan
        bump_version(v0)                  # tensors written into get a new version
        r0 = new(Tensor); ...             # results
        return r0

It is straight-line code, as a call of a small compiled function takes a few microseconds in all.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from ..base import dtypes, forks, thread_state
from ..base.pytree import TreeSpec, tree_flatten, tree_unflatten
from ..core import versions
from ..core.graph import LEAF, hooked_leaves
from ..core.tensor import Tensor
from ..ops.random import default_generator
from .differentiable import Derivative
from .guards import SCALARS, Environment, differs, equals_copy
from .ir import Input
from .outputs import Outputs, Returned, ViewCall, items_in
from .plan import Plan
from .segments import Segment, split
from .trace import Trace

ndarray = np.ndarray
MISS: Any = object()  # what the function gives where a guard fails
MAX_ITEM_GUARDS = 1000  # items of a list, beyond which they are not compared one by one
CONDITIONS_PER_LINE = 40
LARGE_GRADS = 1 << 20  # bytes from which on old gradients are dropped before new ones are computed


class WrapperCode:
    """Writes the source of a version, a block of lines after the other.

    Attributes:
        plan: the plan of the last segment, which writes its own lines.
        segments: those before.
        used: the numbers of inputs that are used, and of others.
        draws: whether random numbers are drawn.
        lines: what is written.
        source: all of it, once it is compiled.
        names: what the lines refer to.
        variables: the Python variables of the program's inputs, by number.
    """

    def __init__(
        self,
        trace: Trace,
        outputs: Outputs,
        derivative: Derivative | None,
        leaves: list[Any],
        spec: TreeSpec,
        environment: Environment,
        history: Sequence[tuple[Tensor, Any]],
        others: Sequence[Sequence[Segment]],
    ) -> None:
        self.trace, self.program, self.outputs, self.derivative = trace, trace.program, outputs, derivative
        self.leaves, self.spec, self.environment, self.history = leaves, spec, environment, history
        # inputs whose arrays are the same at every call
        self.fixed = {
            i.number: i.source if i.kind == "constant" else trace.known_tensors[id(i.source)][1]
            for i in self.program.inputs
            if i.kind in ("constant", "tensor")
        }
        texts = [text for c in trace.cuts for text in (*c.conditions, *[e for _, e in c.bindings])]
        self.items = items_in([*texts, *outputs.numbers])
        self.item_places = outputs.items
        self.segments, last = split(self.program, trace.cuts, items_in(texts), [i.number for _, i in outputs.writes])
        self.carried = [[*s.program.outputs] for s in self.segments]  # what later segments take
        self.segments = [s.shared([o[k] for o in others if k < len(o)]) for k, s in enumerate(self.segments)]
        carried = {i.number for i in last.inputs if i.kind == "carried"}
        written = dict(outputs.writes)
        # outputs of the last segment, by place; others are there already
        self.places = [k for k, n in enumerate(last.outputs) if n not in carried or k in written]
        last.outputs = [last.outputs[k] for k in self.places]
        self.plan = Plan(
            last, {k: written[place] for k, place in enumerate(self.places) if place in written}, self.fixed
        )
        self.lines: list[str] = []
        self.names: dict[str, Any] = {
            "MISS": MISS,
            "Tensor": Tensor,
            "ndarray": ndarray,
            "new": object.__new__,
            "contiguous": np.ascontiguousarray,
            "lock": forks.lock(forks.Order.PLAN),
            "local": thread_state.local,
            "thread_state": thread_state,
            "dtypes": dtypes,
            "hooked_leaves": hooked_leaves,
            "differs": differs,
            "equals_copy": equals_copy,
            "may_share_memory": np.may_share_memory,
            "owner_of": versions.owner_of,
            "bump_version": versions.bump_version,
            "flatten": tree_flatten,
            "LEAF": LEAF,
            "get_state": default_generator.get_state,
            "set_state": default_generator.set_state,
            "view_of": view_of,
            "restrided": restrided,
            "SPEC": spec,
            "unflatten": tree_unflatten,
            "RESULT": outputs.spec,
            **trace.names,
        }
        self._name_of: dict[int, str] = {}
        self.arguments = [f"a{i}" for i in range(len(leaves))]
        self.tensors = [a for a, x in zip(self.arguments, leaves) if isinstance(x, Tensor)]
        self.tensor_leaves = [x for x in leaves if isinstance(x, Tensor)]
        self.variables: dict[int, str] = {}
        self.used = {*self.plan.inputs, *self.items}
        if derivative is not None:
            self.used.update([*derivative.saved, *[i.number for i in derivative.watched]])
        self.used.update([i.number for segment in self.segments for i in segment.arguments])
        self.draws = self.program.has_random_values()

    def compile(self) -> Callable[[tuple, dict[str, Any], Any], Any]:
        """Write the function and execute its source; it returns :data:`MISS` where a guard fails."""
        self._check_modes()
        self._unpack_arguments()
        self._check_guards()
        guards = len(self.lines)
        self._read_numbers()
        start = len(self.lines)
        self._read_inputs()
        self._drop_grads()
        self._run_segments()
        if self.draws:  # the function is to draw them again, to fail by itself
            drawing = [f"    {line}" for line in self.lines[start:]]
            undo = ["except Exception:", "    set_state(before)", "    raise"]
            self.lines[start:] = ["before = get_state()", "try:", *drawing, *undo]
        self._bump_versions()
        self._set_grads()
        self._return_results()
        self.source = "def run(args, kwargs, computed):\n" + "".join(f"    {line}\n" for line in self.lines)
        exec(self.source, self.names)  # noqa: S102
        if self.derivative is not None:
            lines = [*self.lines[:guards], "return True"]
            exec("def holds(args, kwargs):\n" + "".join(f"    {line}\n" for line in lines), self.names)  # noqa: S102
            holds = self.names["holds"]
            self.derivative.unchanged = lambda args, kwargs: holds(args, kwargs) is True
        return self.names["run"]

    # --- names ------------------------------------------------------------------------------------------------------

    def _constant(self, value: Any) -> str:
        """A name for an object."""
        name = self._name_of.setdefault(id(value), f"k{len(self.names)}")
        self.names[name] = value
        return name

    def _tensor(self, x: Tensor) -> str:
        """The expression of a tensor from outside: an argument is another one at each call."""
        return next((a for a, leaf in zip(self.arguments, self.leaves) if leaf is x), "") or self._constant(x)

    # --- guards -----------------------------------------------------------------------------------------------------

    def _check_modes(self) -> None:
        """Grad mode, inference mode, transforms, the default dtype."""
        grad, inference = thread_state.local.grad, thread_state.local.inference
        # a thread's own modes take longer to ask for
        silent = "thread_state.no_grad_threads and " if grad and not inference else ""
        self.lines.append(
            f"if {silent}(local.grad is not {grad} or local.inference is not {inference}) "
            "or thread_state.slow_path_reasons and (local.trace is not None or thread_state.function_modes) "
            f"or dtypes._default is not {self._constant(dtypes._default)}: return MISS"
        )

    def _unpack_arguments(self) -> None:
        """The leaves of the arguments, as ``a0, a1, ...``; flattening is left out where no argument is a container."""
        args, kwargs = self.spec.children
        flat = kwargs.num_leaves == 0 and all(c.type is None for c in args.children)
        if flat:
            self.lines.append(f"if kwargs or len(args) != {len(self.leaves)}: return MISS")
        else:
            self.lines += ["leaves, spec = flatten((args, kwargs))", "if spec != SPEC: return MISS"]
        if self.leaves:
            listed = "".join(f"{a}, " for a in self.arguments)
            self.lines.append(f"({listed}) = {'args' if flat else 'leaves'}")

    def _check_guards(self) -> None:
        """All that has to be as it was in the traced call, as conditions under which it is not."""
        conditions = [
            *self._argument_conditions(),
            *self._alias_conditions(),
            *self._guard_conditions(),
            *self._tensor_conditions(),
            *self._hook_conditions(),
            *self._grad_conditions(),
        ]
        self.lines += _return_miss_if(list(dict.fromkeys(conditions)))  # many modules have one class

    def _argument_conditions(self) -> list[str]:
        """Classes, shapes, types and layouts of tensor arguments, whose arrays are ``x0, x1, ...`` from here on, and
        the values of others.
        """
        conditions: list[str] = []
        tensors = iter(range(len(self.tensors)))
        for a, x in zip(self.arguments, self.leaves):
            if not isinstance(x, Tensor):
                conditions.append(self._is_changed(a, x))
                continue
            array, name = self.trace.known_tensors[id(x)][1], f"x{next(tensors)}"
            conditions.append(f"{a}.__dict__")
            self.lines += [
                f"if {a}.__class__ is not {self._constant(x.__class__)}: return MISS",
                f"{name} = {a}._array",
            ]
            conditions += [
                f"{name}.__class__ is not ndarray",
                f"{name}.shape != {array.shape}",
                f"{name}.dtype is not {self._constant(array.dtype)}",
                f"not {name}.flags.c_contiguous" if array.flags.c_contiguous else f"{name}.strides != {array.strides}",
                f"{a}._fn is not {self._constant(x._fn)}"
                if x._fn in (None, LEAF)
                else f"{a}._fn in {self._constant((None, LEAF))}",
            ]
        return conditions

    def _alias_conditions(self) -> list[str]:
        """Arguments are in memory of other tensors where they were, and nowhere else if something is written there."""
        known = self.trace.known_tensors
        arguments = [known[id(x)][1] for x in self.tensor_leaves]
        others = [a for x, a in known.values() if id(x) in self.environment.tensors]
        written = [i for _, i in self.outputs.writes]
        changed = {i.source for i in written if i.kind == "argument"}
        conditions = []
        for k, x in enumerate(arguments):
            for j, y in enumerate(arguments[:k]):
                same = self.tensor_leaves[k] is self.tensor_leaves[j]
                conditions.append(f"{self.tensors[k]} is{' not' if same else ''} {self.tensors[j]}")
                if x is y:
                    conditions.append(f"x{k} is not x{j}")
                elif {j, k} & changed:
                    conditions.append(f"may_share_memory(x{k}, x{j})")
            conditions += [f"x{k} is not {self._constant(y)}" for y in others if x is y]
        given = {id(x) for x in arguments}
        kept = {id(i.source._array) for i in written if i.kind == "tensor"}
        owners = frozenset(
            [id(versions.owner_of(y)) for y in others if id(y) not in given and (changed or id(y) in kept)]
        )
        return conditions + [
            f"id(x{k} if x{k}.base is None else owner_of(x{k})) in {self._constant(owners)}"
            for k in range(len(arguments))
            if owners
        ]

    def _guard_conditions(self) -> list[str]:
        """Variables, attributes and items that the function reads, and what is in its containers."""
        conditions = [
            self._is_changed(g.expression.replace("{}", self._constant(g.owner), 1), g.value)
            for g in self.environment.guards
        ]
        for x, copy, _ in self.environment.copies:
            name = self._constant(x)
            if not len(copy):
                conditions.append(name)
            elif isinstance(x, list) and len(copy) <= MAX_ITEM_GUARDS:
                conditions.append(f"len({name}) != {len(copy)}")
                conditions += [self._is_changed(f"{name}[{i}]", v) for i, v in enumerate(copy)]
            else:
                conditions.append(f"not equals_copy({name}, {self._constant(copy)})")
        return conditions

    def _tensor_conditions(self) -> list[str]:
        """Tensors from outside have the same memory, and require grad as they did."""
        conditions = []
        for x, e in self.history[len(self.tensors) :]:
            if id(x) in self.trace.known_tensors:
                name = self._constant(x)
                conditions += [
                    f"{name}._array is not {self._constant(self.trace.known_tensors[id(x)][1])}",
                    f"{name}._fn is not {self._constant(e)}",
                ]
        return conditions

    def _hook_conditions(self) -> list[str]:
        """No hook of a tensor came or went; asked only while some leaf has hooks."""
        others = self.history[len(self.tensors) :]
        hooks = [*[f"{a}._hooks" for a in self.tensors], *[f"{self._constant(x)}._hooks" for x, _ in others]]
        before = [x._hooks for x, _ in self.history]
        return [f"hooked_leaves and [{', '.join(hooks)}] != {self._constant(before)}"]

    def _grad_conditions(self) -> list[str]:
        """There is a gradient to accumulate into where there was one."""
        conditions = []
        for x, before in self.trace.accumulated.values():
            if id(x) not in self.trace.cleared_grads:
                conditions.append(f"{self._tensor(x)}._grad is {'not ' if before is None else ''}None")
        conditions += [f"{self._tensor(x)}._grad is not None" for x in self.trace.absent_grads.values()]
        return conditions + [f"{self._tensor(x)}._grad is None" for x in self.trace.present_grads.values()]

    def _is_changed(self, expression: str, value: Any) -> str:
        """The condition that an expression gives another value."""
        if expression.startswith("len("):
            return f"{expression} != {value}" if value else expression[4:-1]
        if expression.startswith("frozenset("):
            return f"{expression[10:-1]}.keys() != {self._constant(value)}"
        name = self._constant(value)
        if value is None or isinstance(value, bool) or not isinstance(value, SCALARS):
            return f"{expression} is not {name}"
        return f"(now := {expression}) is not {name} and differs(now, {name})"

    def _read_numbers(self) -> None:
        """Numbers that optimizers count or compute anew for each call, and conditions on them."""
        for name, count, _ in self.trace.per_call:
            self.lines.append(f"{name}, {name}_taken = {self._constant(count)}()")
        if self.trace.guards:
            self.lines += _return_miss_if([f"not ({' and '.join(dict.fromkeys(self.trace.guards))})"])

    # --- inputs and plan --------------------------------------------------------------------------------------------

    def _read_inputs(self) -> None:
        """All inputs but numbers and random ones, which each segment reads by itself."""
        if self.derivative is not None:
            self.names["derivative"] = self.derivative
            if self.derivative.is_random:
                self.lines.append("state = get_state()")
        written = {i.number for _, i in self.outputs.writes}
        inputs = {i.number: i for i in (*self.program.inputs, *self.plan.program.inputs)}
        for i in inputs.values():
            if i.kind not in ("number", "random", "carried") and i.number in self.used:
                self.lines += self._read_input(i)
                self.lines += self._make_contiguous(i, i.number in written)
        self._check_gradients_apart()

    def _check_gradients_apart(self) -> None:
        """Gradients that the plan writes into share no memory with each other, or with tensors that it reads."""
        apart = [self.variables[i.number] for _, i in self.outputs.writes if i.kind == "gradient"]
        if not apart:
            return
        owners = frozenset([id(versions.owner_of(a)) for a in self.fixed.values()])
        given = [f"x{k}" for k in range(len(self.tensors))]
        self.lines += [
            f"owners = [id(owner_of(a)) for a in ({', '.join([*apart, *given])},)]",
            f"if len({{*owners[:{len(apart)}]}}) != {len(apart)} or not {self._constant(owners)}.isdisjoint("
            f"owners[:{len(apart)}]) or not {{*owners[:{len(apart)}]}}.isdisjoint(owners[{len(apart)}:]): return MISS",
        ]

    def _read_input(self, i: Input) -> list[str]:
        v = self.variables[i.number] = f"v{i.number}"
        if i.kind == "argument":
            return [f"{v} = x{i.source}"]
        if i.kind == "gradient":
            return [
                f"{v} = {self._tensor(i.source)}._grad",
                f"if {v} is None: return MISS",
                f"{v} = {v}._array",
                f"if {v}.shape != {self.program.values[i.number].shape}: return MISS",
            ]
        if i.kind == "random":
            return [f"{v} = {self._constant(i.source)}()"]
        if i.kind == "number":
            return [f"{v} = {i.source}"]
        self.variables[i.number] = self._constant(self.fixed[i.number])
        return []

    def _make_contiguous(self, i: Input, is_written: bool) -> list[str]:
        """The plan takes arrays in C order: others are copied, or refused where the memory itself is written."""
        v = self.variables[i.number]
        if is_written and i.number not in self.fixed:
            return [f"if not {v}.flags.c_contiguous: return MISS"]
        if i.kind in ("gradient", "random") or i.kind == "argument" and not self._is_contiguous(i.source):
            return [f"if not {v}.flags.c_contiguous: {v} = contiguous({v})"]
        return []

    def _is_contiguous(self, argument: int) -> bool:
        return self.trace.known_tensors[id(self.tensor_leaves[argument])][1].flags.c_contiguous

    def _run_segments(self) -> None:
        """The segments in order, with their random numbers, each followed by what is asked of its results."""
        inputs = {i.number for i in self.program.inputs}
        self._take_items([n for n in self.items if n in inputs and self.variables.get(n)])
        start = 0
        for segment, cut, numbers in zip(self.segments, self.trace.cuts, self.carried):
            self._draw(self.program.inputs[start : cut.inputs])
            start = cut.inputs
            if numbers:
                given = "".join(f", {self.variables[i.number]}" for i in segment.arguments)
                self.lines.append(f"found = {self._constant(segment)}(computed{given})")
            for n in numbers:
                self.variables[n] = f"v{n}"
                self.lines.append(f"v{n} = found[{n}]")
            self._take_items([n for n in self.items if n in numbers])
            self.lines += [f"{name} = {expression}" for name, expression in cut.bindings]
            for condition in cut.conditions:
                undo = "set_state(before); " * self.draws
                self.lines.append(f"if not ({condition}): {undo}return MISS")
        self._draw(self.program.inputs[start:])
        self._run_plan()

    def _draw(self, inputs: Sequence[Input]) -> None:
        for i in inputs:
            if i.kind == "random" or i.kind == "number" and i.number in self.used:
                self.lines += self._read_input(i)
                self.lines += self._make_contiguous(i, False)

    def _take_items(self, numbers: Sequence[int]) -> None:
        self.lines += [f"item{n} = {self.variables[n]}.item()" for n in numbers]

    def _run_plan(self) -> None:
        """The last segment."""
        steps = self.plan.lines(self.variables, self.names)
        # one call of native code needs no lock; between several, threads would share the memory between steps
        is_one_call = sum("= empty(" not in line for line in steps) < 2
        self.lines += steps if is_one_call else ["with lock:", *[f"    {line}" for line in steps]]
        for k, place in reversed([*enumerate(self.places)]):
            if k != place and k not in self.plan.sinks:
                self.lines.append(f"o{place} = o{k}")
        seen: set[int] = set()
        for place, n in enumerate(self.program.outputs):
            if place not in self.places:
                self.lines.append(f"o{place} = {self.variables[n]}{'.copy()' * (n in seen)}")
                seen.add(n)
        self.lines += [f"item{n} = o{self.item_places[n]}.item()" for n in self.items if n in self.item_places]
        self.lines += [f"{name}_taken()" for name, _, _ in self.trace.per_call]

    # --- outputs ----------------------------------------------------------------------------------------------------

    def _bump_versions(self) -> None:
        if self.outputs.writes:
            counters = [
                self._constant(versions.version_counter(self.fixed[i.number]))
                if i.number in self.fixed
                else self.variables[i.number]
                for _, i in self.outputs.writes
            ]
            self.lines.append(f"bump_version({', '.join(counters)})")

    def _drop_grads(self) -> None:
        """Make room for new gradients, if there is nothing before them that the function could look at or fail at."""
        dropped = [x for x in self.trace.cleared_first if x._grad is not None]
        if not self.trace.cuts and sum([x.nbytes for x in dropped]) >= LARGE_GRADS:
            self.lines += [f"{self._tensor(x)}._grad = None" for x in dropped]

    def _set_grads(self) -> None:
        for leaf, r in self.outputs.grads:
            name = self._tensor(leaf)
            if r is None:
                self.lines.append(f"{name}._grad = None")
            else:
                self.lines += [*self._new_tensor("g", r), f"{name}._grad = g"]

    def _new_tensor(self, target: str, r: Returned) -> list[str]:
        """Lines that make a tensor around a result of the plan."""
        array = f"o{r.what}" if r.strides is None else f"restrided(o{r.what}, {r.strides})"
        return [
            f"{target} = new({'Tensor' if r.cls is Tensor else self._constant(r.cls)})",
            f"{target}._array = {array}",
            f"{target}._fn = {target}._view = {target}._grad = {target}._hooks = None",
            *([f"{target}._fn = LEAF"] if r.grad == "leaf" else []),
        ]

    def _saved(self, x: Input | int) -> str:
        """What a node saves: an array as it was given, a place among the outputs, or a number."""
        if not isinstance(x, Input):
            return f"o{x}"
        if x.kind == "argument":
            return f"x{x.source}"
        return self._constant(self.fixed[x.number]) if x.number in self.fixed else f"v{x.number}"

    def _return_results(self) -> None:
        results: list[str] = []
        views: list[str] = []
        for k, r in enumerate(self.outputs.returned):
            if r.kind == "value":
                self.lines += self._new_tensor(f"r{k}", r)
                results.append(f"r{k}")
                continue
            of = {
                "argument": lambda r: self.tensors[r.what],
                "gradient": lambda r: f"{self._tensor(r.what)}._grad",
                "result": lambda r: results[r.what] if r.what < len(results) else f"r{r.what}",
                "number": lambda r: r.what,
            }.get(r.kind, lambda r: self._constant(r.what))(r)
            if r.views is not None:
                views.append(f"r{k} = view_of({of}, {self._constant(r.views)}, {r.grad!r})")
                of = f"r{k}"
            results.append(of)
        if self.derivative is not None:
            saved = "".join(f"{self._saved(x)}, " for x in self.derivative.places)
            recorded = ", ".join(results[k] for k in self.outputs.recorded)
            ends = "".join(
                f"{self.tensors[e] if e.__class__ is int else self._constant(e)}, " for e in self.derivative.ends
            )
            call = f"(args, kwargs, {'state' if self.derivative.is_random else None})"
            self.lines.append(f"derivative.attach(({saved}), {call}, [{recorded}], ({ends}))")
        self.lines += views
        nest = _nest(self.outputs.spec, iter(results)) or f"unflatten([{', '.join(results)}], RESULT)"
        self.lines.append(f"return {nest}")


def view_of(x: Tensor, views: Sequence[ViewCall], grad: str) -> Tensor:
    """A view of ``x``, by the same operations as in the traced call."""
    with thread_state.set_grad_enabled(grad == "recorded"):
        y = x
        for op, options, index in views:
            y = op.call(y, *options)
            y = y[index] if y.__class__ in (list, tuple) else y
        if y is x or y.requires_grad and grad in ("detached", "leaf"):
            y = y.detach()
    return y.requires_grad_() if grad == "leaf" else y


def restrided(array: ndarray, strides: tuple[int, ...]) -> ndarray:
    """A copy with other strides."""
    result: ndarray = np.ndarray(array.shape, array.dtype, np.empty(array.size, array.dtype), 0, strides)
    result[...] = array
    return result


def _return_miss_if(conditions: Sequence[str]) -> list[str]:
    """Lines that return if one of these holds, or can't be asked any more."""
    lines = [
        f"    if {' or '.join(conditions[i : i + CONDITIONS_PER_LINE])}: return MISS"
        for i in range(0, len(conditions), CONDITIONS_PER_LINE)
    ]
    return ["try:", "    pass", *lines, "except (AttributeError, IndexError, KeyError, ValueError): return MISS"]


def _nest(spec: TreeSpec, leaves: Iterator[str]) -> str:
    """The expression that builds a nest; empty if it takes more than lists and tuples."""
    if spec.type is None:
        return next(leaves)
    if spec.type not in (list, tuple):
        return ""
    parts = [_nest(c, leaves) for c in spec.children]
    if not all(parts):
        return ""
    return f"[{', '.join(parts)}]" if spec.type is list else f"({''.join(p + ', ' for p in parts)})"
