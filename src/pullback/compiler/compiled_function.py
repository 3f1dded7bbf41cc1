"""``compile``: functions that are traced once and from then on run as a plan."""

from __future__ import annotations

import functools
import threading
import warnings
import weakref
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ..base import dtypes, thread_state
from ..base.pytree import tree_flatten, tree_unflatten
from ..core import versions
from ..core.graph import LEAF, hooked_leaves
from ..core.tensor import Tensor
from ..nn.modules.module import Module
from ..ops.random import default_generator
from .differentiable import Derivative, differentiable, leaves_behind
from .guards import PLAIN, Check, Surroundings, differs, random_states, same
from .ir import Program
from .plan import Plan
from .trace import CannotCompile, Trace, Traced, refuse

ndarray = np.ndarray
MISS: Any = object()
MOST_VERSIONS = 8
MANY = 1000  # things in a list, beyond which they are not compared one by one
TRACING = threading.RLock()  # tensors hold other values while a function is traced


def compile(
    model: Any = None,
    *,
    fallback: bool | None = None,
    mode: Any = None,
    backend: Any = None,
    fullgraph: Any = None,
    dynamic: Any = None,
    options: Any = None,
    disable: bool = False,
    name: Any = None,
) -> Any:
    """A function, or a module, that is traced at its first call and from then on runs as one plan of native code.

    A whole training step can be compiled: forward, backward, the optimizer's step. What it reads without being given it
    (parameters, buffers, the optimizer's state, learning rates) is read anew at each call, what it writes is written,
    and random numbers are drawn anew. A version is compiled for each combination of shapes, types and modes; after
    eight the function runs as it is.

    Args:
        model: the function or module. None: a decorator.
        fallback: run what can't be compiled as it is, with one warning, instead of raising. By default so where
            Pullback stands in PyTorch's place (:func:`pullback.install`), as PyTorch does, unless ``fullgraph`` says
            otherwise.
        mode, backend, dynamic, options, name: accepted for compatibility.
        disable: give back ``model`` itself.

    Raises:
        CannotCompile: (when called) if something depends on values, such as ``.item()`` or ``if x > 0``.

    >>> import pullback as torch
    >>> w = torch.tensor([1.0, 2.0], requires_grad=True)
    >>> optimizer = torch.optim.SGD([w], lr=0.1)
    >>> @torch.compile
    ... def step(x):
    ...     optimizer.zero_grad()
    ...     loss = (w * x).sum()
    ...     loss.backward()
    ...     optimizer.step()
    ...     return loss.detach()
    >>> x = torch.tensor([1.0, 1.0])
    >>> [round(step(x).item(), 3) for _ in range(3)]
    [3.0, 2.8, 2.6]
    """
    if fallback is None:
        fallback = not fullgraph and thread_state.as_torch
    if model is None:
        return functools.partial(compile, fallback=fallback, disable=disable)
    if disable:
        return model
    if isinstance(model, Module):
        return CompiledModule(
            model, Compiled(model.forward if type(model).__call__ is Module.__call__ else model, fallback)
        )
    return (
        functools.wraps(model, updated=())(Compiled(model, fallback))
        if hasattr(model, "__name__")
        else Compiled(model, fallback)
    )


class Compiled:
    """A compiled function.

    Attributes:
        function: the function itself.
        versions: what has been compiled, the most recently used first.
    """

    def __init__(self, function: Callable, fallback: bool) -> None:
        self.function = self.__wrapped__ = function
        self.fallback = fallback
        self.versions: list[Version] = []
        self._eager = ""

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        for i, version in enumerate(self.versions):
            result = version.run(args, kwargs)
            if result is not MISS:
                if i:
                    # other threads go through the list
                    self.versions = [version, *[v for v in self.versions if v is not version]]
                return result
        return self._first(args, kwargs)

    def __reduce__(self) -> tuple[Any, ...]:
        """A copy compiles anew."""
        return functools.partial(compile, fallback=self.fallback), (self.function,)

    def __get__(self, instance: Any, owner: Any = None) -> Any:
        return self if instance is None else functools.partial(self, instance)

    def _first(self, args: tuple, kwargs: dict[str, Any]) -> Any:
        """A call that no version serves: trace it, or run it as it is."""
        if self._eager or thread_state.local.trace is not None or thread_state.function_modes:
            return self.function(*args, **kwargs)
        with TRACING:
            for version in self.versions:  # it may have missed because another thread was tracing
                result = version.run(args, kwargs)
                if result is not MISS:
                    return result
            if len(self.versions) >= MOST_VERSIONS:
                self._eager = f"it was compiled {MOST_VERSIONS} times, for other shapes, types or modes at each"
            else:
                try:
                    made, result = traced(self.function, args, kwargs)
                    self.versions = [*([made] if made is not None else []), *self.versions]
                    return result
                except CannotCompile as error:
                    if not self.fallback:
                        raise
                    self._eager = str(error).removeprefix("compile: ")
        warnings.warn(f"compile: {_name(self.function)} runs uncompiled from now on: {self._eager}", stacklevel=3)
        return self.function(*args, **kwargs)

    # --- looking inside -----------------------------------------------------------------------------------------

    def _newest(self) -> Version:
        if not self.versions:
            raise RuntimeError(
                "nothing is compiled yet: call the function first" + (f" ({self._eager})" if self._eager else "")
            )
        return self.versions[0]

    def ir(self) -> str:
        """The program as it was traced, with the user's lines."""
        return str(self._newest().program)

    def plan(self) -> str:
        """What runs: the kernels, the calls, the memory."""
        return str(self._newest().plan)

    def llvm(self) -> str:
        """The LLVM IR of the native parts."""
        return self._newest().plan.llvm()


class CompiledModule(Module):
    """A module whose calls are compiled; in everything else it is the module."""

    def __init__(self, module: Module, compiled: Compiled) -> None:
        super().__init__()
        self.__dict__["_compiled"] = compiled
        self._orig_mod = module

    def __reduce__(self) -> tuple[Any, ...]:
        return functools.partial(compile, fallback=self._compiled.fallback), (self._orig_mod,)

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        return self._compiled(*args, **kwargs)

    def __getattr__(self, name: str) -> Any:
        try:
            return super().__getattr__(name)
        except AttributeError:
            if name in ("ir", "plan", "llvm"):
                return getattr(self.__dict__["_compiled"], name)
            if name == "dynamo_ctx":  # by which libraries tell a compiled module
                return self.__dict__["_compiled"]
            return getattr(super().__getattr__("_orig_mod"), name)


def _name(function: Any) -> str:
    return getattr(function, "__qualname__", type(function).__name__)


# --- the first call ---------------------------------------------------------------------------------------------


def traced(function: Callable, args: tuple, kwargs: dict[str, Any]) -> tuple[Version | None, Any]:
    """Run a function while tracing it.

    Returns:
        what is to run from now on (None if this call was like no later one), and the result.
    """
    leaves, spec = tree_flatten((args, kwargs))
    given = [x for x in leaves if isinstance(x, Tensor)]
    around = Surroundings(function, *[x for x in leaves if not isinstance(x, (Tensor, *PLAIN))])
    if around.iterator:
        raise refuse(f"an iterator ({around.iterator}) would go on in the first call only", "Hand over what it gives.")
    trace = Trace()
    behind = [(x, x._fn) for x in given if x._fn is not None and x._fn is not LEAF and thread_state.is_grad_enabled()]
    for x, _ in behind:  # what is behind an argument is no concern of the function's
        x._fn = LEAF
    history = [(x, x._fn) for x in given] + [(x, x._fn) for x, _ in around.tensors.values()]
    grads = {id(x): (x, x._grad) for x, _ in history}
    state = default_generator.get_state()
    try:
        with trace:
            for i, x in enumerate(given):
                trace.know(x, "argument", i, f"argument {i}")
            for x, g in list(grads.values()):
                if g is not None:
                    trace.know(g, "gradient", x, "gradient")
                    if id(g) in around.tensors:
                        around.checks.append(Check(x, "{}._grad", g, "gradient"))
            for x, name in around.tensors.values():
                trace.know(x, "tensor", x, name)
            result = function(*args, **kwargs)
            version = Version(function, trace, around, leaves, spec, history, result)
            if any(id(x) in trace.leaves for x, _ in behind):
                raise refuse(
                    "backward() would go on into the history of an argument",
                    "Hand over x.detach(), or return the loss.",
                )
    except BaseException as error:
        if behind and "leaf Variable that requires grad" in str(error):
            error = refuse("an argument that has a history is written into")
        trace.undo()
        trace.forget()
        if isinstance(error, CannotCompile):
            around.restore()
            default_generator.set_state(state)
        for x, g in grads.values():
            x._grad = g
        for x, e in (*history, *behind):
            x._fn = e
        raise error
    for x, e in behind:
        x._fn = e
    results = tree_flatten(result)[0]
    for y in results:
        if isinstance(y, Tensor) and isinstance(y._array, Traced):
            y._array = y._array.value
    if version.derivative is not None:
        version.derivative.attach(args, kwargs, state, [y for y, live in zip(results, version.live) if live])
    version.finish(leaves, around, history)
    for _, _, taken in trace.advances:
        taken()
    trace.forget()
    kept = any(leaf() is not None for leaf in version.inner)
    return (None if trace.once or kept else version), result


class Version:
    """What a function does for arguments of certain shapes and types, in certain surroundings.

    Attributes:
        program: what is computed.
        plan: how.
        inner: the leaves that the function made itself and gave gradients to.
    """

    program: Program
    plan: Plan

    def __init__(
        self,
        function: Callable,
        trace: Trace,
        around: Surroundings,
        leaves: list[Any],
        spec: Any,
        history: Any,
        result: Any,
    ) -> None:
        self.trace, self.program, self.spec = trace, trace.program, spec
        wanted = self.program.wanted
        self._changed(around)

        # what is returned
        outputs, self.result_spec = tree_flatten(result)
        self.results: list[tuple[str, Any]] = []
        arguments = [x for x in leaves if isinstance(x, Tensor)]
        for y in outputs:
            if not isinstance(y, Tensor):
                self.results.append(("thing", y))
                continue
            place = next((i for i, x in enumerate(arguments) if x is y), None)
            if place is not None:
                self.results.append(("argument", place))
            elif id(y) in trace.tensors_known:
                of = next((i.what for i in self.program.inputs if i.kind == "gradient" and i.what._grad is y), None)
                self.results.append(("thing", y) if of is None else ("gradient", of))
            else:
                x = y._array if isinstance(y._array, Traced) else trace.known(y._array)
                self.results.append(("value", len(wanted)))
                wanted.append(x.number)

        self.derivative: Derivative | None = None
        live = [y for y in outputs if differentiable(y)]
        if live:
            places = {id(x): i for i, x in enumerate(arguments)}
            ends = [places.get(id(x), x) for x in leaves_behind(live)]
            written = [x.value for x in trace.roots if x.writes and x.source.kind in ("argument", "tensor", "gradient")]
            self.derivative = Derivative(function, ends, written, self.program.draws(), lambda f: Compiled(f, False))
        self.live = [differentiable(y) for y in outputs]

        # what is written
        self.writes: list[tuple[int, Any]] = []  # (place in wanted, the input whose memory is written)
        for x in trace.roots:
            if x.writes and x.source.kind in ("argument", "tensor", "gradient"):
                self.writes.append((len(wanted), x.source))
                wanted.append(x._number)
        self.grads: list[tuple[Tensor, int | None]] = []  # (tensor, place in wanted of its new gradient)
        leaves_of = {**trace.cleared, **{k: x for k, (x, _) in trace.leaves.items()}}
        self.inner: list[weakref.ref[Tensor]] = []
        for k, leaf in leaves_of.items():
            if k not in trace.tensors_known:  # its gradient is nobody's concern once the function has returned
                if any(leaf is y for y in outputs):
                    raise refuse(
                        "a tensor that the function made is returned with its .grad", "Return x.detach() and x.grad."
                    )
                self.inner.append(weakref.ref(leaf))
                trace.leaves.pop(k, None)
                continue
            g = leaf._grad
            if g is None:
                self.grads.append((leaf, None))
            elif id(g) not in trace.tensors_known:
                value = g._array if isinstance(g._array, Traced) else trace.known(g._array)
                self.grads.append((leaf, len(wanted)))
                wanted.append(value.number)
        for x, e in history:
            if x._fn is not e:
                raise refuse("a tensor from outside is given a history, or requires_grad is changed")

    def _changed(self, around: Surroundings) -> None:
        """Refuse what the function did to Python's variables: a plan would not do it again."""
        for group, before in (*around.options, *self.trace.settings):
            if any(group[k] is not v and group[k] != v for k, v in before.items()):
                raise refuse(
                    "the options of an optimizer are changed", "Call scheduler.step() outside of the compiled function."
                )
        changed = around.changed()
        if changed:
            raise refuse(
                f"a variable is changed by each call ({changed[0]})",
                "What is to be kept from call to call has to be in a tensor, written in place.",
            )
        if random_states() != around.random:
            raise refuse(
                "random numbers of Python's or NumPy's would be drawn in the first call only",
                "Draw them by torch.rand, or hand them over.",
            )

    def _aliases(self, arguments: list[ndarray], others: list[ndarray], constant: Callable[[Any], str]) -> list[str]:
        """Conditions: arguments lie in memory of other tensors where they did, and nowhere else if something is written
        there.
        """
        written = [i for _, i in self.writes]
        changed = {i.what for i in written if i.kind == "argument"}
        conditions = []
        for k, x in enumerate(arguments):
            for j, y in enumerate(arguments[:k]):
                if x is y:
                    conditions.append(f"x{k} is not x{j}")
                elif {j, k} & changed:
                    conditions.append(f"shares(x{k}, x{j})")
            conditions += [f"x{k} is not {constant(y)}" for y in others if x is y]
        alone = [y for y in others if not any(x is y for x in arguments)]
        owners = frozenset(
            [
                id(versions.owner_of(y))
                for y in alone
                if changed or any(i.kind == "tensor" and i.what._array is y for i in written)
            ]
        )
        return conditions + [
            f"id(x{k} if x{k}.base is None else owner_of(x{k})) in {constant(owners)}"
            for k in range(len(arguments))
            if owners
        ]

    def finish(self, leaves: list[Any], around: Surroundings, history: Any) -> None:
        """Make the plan, and the function that checks whether this version serves, runs it, and puts everything in its
        place.
        """
        trace, program = self.trace, self.program
        sinks: dict[int, Any] = dict(self.writes)
        fixed = {
            i.number: i.what if i.kind == "constant" else trace.tensors_known[id(i.what)][1]
            for i in program.inputs
            if i.kind in ("constant", "tensor")
        }
        self.plan = Plan(program, sinks, fixed)
        used = self.plan.inputs
        names: dict[str, Any] = {
            "MISS": MISS,
            "Tensor": Tensor,
            "ndarray": ndarray,
            "new": object.__new__,
            "contiguous": np.ascontiguousarray,
            "lock": threading.RLock(),
            "local": thread_state.local,
            "thread_state": thread_state,
            "dtypes": dtypes,
            "hooked": hooked_leaves,
            "differs": differs,
            "same": same,
            "shares": np.may_share_memory,
            "owner_of": versions.owner_of,
            "written": versions.bump_version,
            "flatten": tree_flatten,
            "SPEC": self.spec,
            "unflatten": tree_unflatten,
            "RESULT": self.result_spec,
            **trace.names,
        }
        named: dict[int, str] = {}

        def constant(value: Any) -> str:
            name = named.setdefault(id(value), f"k{len(names)}")
            names[name] = value
            return name

        def of(x: Tensor) -> str:
            """What a tensor from outside is called: an argument is another one at each call."""
            return next((f"a{k}" for k, leaf in enumerate(leaves) if leaf is x), "") or constant(x)

        def changed(expression: str, value: Any) -> str:
            """The condition that a value is another one."""
            if expression.startswith("len("):
                return f"{expression} != {value}" if value else expression[4:-1]
            if value is None or isinstance(value, bool) or not isinstance(value, PLAIN):
                return f"{expression} is not {constant(value)}"
            return f"(now := {expression}) is not {constant(value)} and differs(now, {constant(value)})"

        grad, inference = thread_state.local.grad, thread_state.local.inference
        # a thread's own modes take longer to ask for
        silent = "thread_state.no_grad_threads and " if grad and not inference else ""
        lines = [
            f"if {silent}(local.grad is not {grad} or local.inference is not {inference}) "
            "or thread_state.slow_path_reasons and (local.trace is not None or thread_state.function_modes) "
            f"or dtypes._default is not {constant(dtypes._default)}: return MISS"
        ]
        plain = self.spec.children[1].num_leaves == 0 and all(c.type is None for c in self.spec.children[0].children)
        arguments = [f"a{i}" for i in range(len(leaves))]
        listed = "".join(f"{a}, " for a in arguments)
        if plain:
            lines.append(f"if kwargs or len(args) != {len(leaves)}: return MISS")
        else:
            lines += ["leaves, spec = flatten((args, kwargs))", "if spec != SPEC: return MISS"]
        if leaves:
            lines.append(f"({listed}) = {'args' if plain else 'leaves'}")
        conditions: list[str] = []
        tensors: list[str] = []  # the arguments that are tensors
        scattered: list[int] = []  # which of these do not lie in rows
        for a, x in zip(arguments, leaves):
            if isinstance(x, Tensor):
                array, name = trace.tensors_known[id(x)][1], f"x{len(tensors)}"
                tensors.append(a)
                lines += [f"if {a}.__class__ is not {constant(x.__class__)}: return MISS", f"{name} = {a}._array"]
                if not array.flags.c_contiguous:
                    scattered.append(len(tensors) - 1)
                conditions += [
                    f"{name}.__class__ is not ndarray",
                    f"{name}.shape != {array.shape}",
                    f"{name}.dtype is not {constant(array.dtype)}",
                    f"{name}.flags.c_contiguous is not {array.flags.c_contiguous}",
                    f"{a}._fn is not {constant(x._fn)}"
                    if x._fn in (None, LEAF)
                    else f"{a}._fn in {constant((None, LEAF))}",
                ]
            else:
                conditions.append(changed(a, x))
        conditions += self._aliases(
            [trace.tensors_known[id(x)][1] for x in leaves if isinstance(x, Tensor)],
            [a for x, a in trace.tensors_known.values() if id(x) in around.tensors],
            constant,
        )
        conditions += [changed(c.how.format(constant(c.owner)), c.value) for c in around.checks]
        for x, copy, _ in around.copies:
            name = constant(x)
            if not len(copy):
                conditions.append(name)
            elif isinstance(x, list) and len(copy) <= MANY:
                conditions += [f"len({name}) != {len(copy)}", *[changed(f"{name}[{i}]", v) for i, v in enumerate(copy)]]
            else:
                conditions.append(f"not same({name}, {constant(copy)})")
        for x, e in history[len(tensors) :]:
            if any(i.what is x and i.number in used for i in program.inputs):
                name = constant(x)
                conditions += [
                    f"{name}._array is not {constant(trace.tensors_known[id(x)][1])}",
                    f"{name}._fn is not {constant(e)}",
                ]
        leaves_hooks = ", ".join(
            [*[f"{a}._hooks" for a in tensors], *[f"{constant(x)}._hooks" for x, _ in history[len(tensors) :]]]
        )
        hooks = [x._hooks for x, _ in history]
        conditions.append(f"hooked and [{leaves_hooks}] != {constant(hooks)}")
        for x, before in trace.leaves.values():
            if id(x) not in trace.cleared:
                conditions.append(f"{of(x)}._grad is {'not ' if before is None else ''}None")
        conditions += [f"{of(x)}._grad is not None" for x in trace.without.values()]
        lines += _missed(conditions)
        for name, count, _ in trace.advances:
            lines.append(f"{name}, {name}_taken = {constant(count)}()")
        if trace.conditions:
            lines += _missed([f"not ({' and '.join(dict.fromkeys(trace.conditions))})"])

        if self.derivative is not None:
            names["derivative"] = self.derivative
            lines.append("state = derivative.state()")
        variables: dict[int, str] = {}
        written = {i.number for _, i in self.writes}
        for i in sorted(program.inputs, key=lambda i: i.kind == "random"):  # drawn when nothing is missed any more
            if i.number not in used:
                continue
            v = variables[i.number] = f"v{i.number}"
            if i.kind == "argument":
                lines.append(f"{v} = x{i.what}")
            elif i.kind == "gradient":
                lines += [
                    f"{v} = {of(i.what)}._grad",
                    f"if {v} is None: return MISS",
                    f"{v} = {v}._array",
                    f"if {v}.shape != {program.values[i.number].shape}: return MISS",
                ]
            elif i.kind == "random":
                lines.append(f"{v} = {constant(i.what)}()")
            elif i.kind == "number":
                lines.append(f"{v} = {i.what}")
            else:
                variables[i.number] = constant(fixed[i.number])
            if i.number in written - fixed.keys():
                lines.append(f"if not {v}.flags.c_contiguous: return MISS")
            elif i.kind in ("gradient", "random") or i.kind == "argument" and i.what in scattered:
                lines.append(f"if not {v}.flags.c_contiguous: {v} = contiguous({v})")
        steps = self.plan.lines(variables, names)
        alone = sum("= empty(" not in line for line in steps) < 2  # else threads would share the memory between steps
        lines += steps if alone else ["with lock:", *[f"    {line}" for line in steps]]
        for name, _, _ in trace.advances:
            lines.append(f"{name}_taken()")
        if self.writes:
            records = [
                constant(versions.version_counter(fixed[i.number])) if i.number in fixed else variables[i.number]
                for _, i in self.writes
            ]
            lines.append(f"written({', '.join(records)})")

        def tensor(target: str, place: int) -> list[str]:
            return [
                f"{target} = new(Tensor)",
                f"{target}._array = o{place}",
                f"{target}._fn = {target}._view = {target}._grad = {target}._hooks = None",
            ]

        for leaf, place in self.grads:
            name = of(leaf)
            if place is None:
                lines.append(f"{name}._grad = None")
            else:
                lines += [*tensor("g", place), f"{name}._grad = g"]
        shown = []
        for k, (kind, what) in enumerate(self.results):
            if kind == "value":
                lines += tensor(f"r{k}", what)
            shown.append(
                f"r{k}"
                if kind == "value"
                else tensors[what]
                if kind == "argument"
                else f"{of(what)}._grad"
                if kind == "gradient"
                else constant(what)
            )
        if self.derivative is not None:
            lines.append(
                f"derivative.attach(args, kwargs, state, [{', '.join(r for r, live in zip(shown, self.live) if live)}])"
            )
        listed = ", ".join(shown)
        lines.append(f"return {_built(self.result_spec, iter(shown)) or f'unflatten([{listed}], RESULT)'}")
        self.source = "def run(args, kwargs):\n" + "".join(f"    {line}\n" for line in lines)
        exec(self.source, names)  # noqa: S102
        del self.trace  # and the first call's arrays with it
        self.run = names["run"]


def _missed(conditions: Sequence[str]) -> list[str]:
    lines = [f"    if {' or '.join(conditions[i : i + 40])}: return MISS" for i in range(0, len(conditions), 40)]
    return ["try:", "    pass", *lines, "except (AttributeError, IndexError, KeyError, ValueError): return MISS"]


def _built(spec: Any, leaves: Any) -> str:
    """The expression that builds a nest; empty if it takes more than lists and tuples."""
    if spec.type is None:
        return next(leaves)
    if spec.type not in (list, tuple):
        return ""
    parts = [_built(c, leaves) for c in spec.children]
    if not all(parts):
        return ""
    return f"[{', '.join(parts)}]" if spec.type is list else f"({''.join(p + ', ' for p in parts)})"
