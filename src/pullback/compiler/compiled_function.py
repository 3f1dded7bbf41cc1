"""``compile`` and what it returns: a function with a list of compiled versions, each behind its guards."""

from __future__ import annotations

import functools
import warnings
from collections.abc import Callable
from typing import Any

from ..base import forks, thread_state
from ..base.holding import holding
from ..base.pytree import tree_flatten
from ..core.graph import LEAF
from ..core.tensor import Tensor
from ..nn.modules.module import Module
from ..ops.random import default_generator
from .differentiable import Derivative, has_history, leaves_behind
from .guards import SCALARS, Environment, Guard, random_states
from .ir import Program
from .outputs import Outputs
from .plan import Plan
from .trace import CannotCompile, Trace, TracedValue, cannot_compile
from .wrapper_code import MISS, WrapperCode

MAX_VERSIONS = 8
TRACING = forks.lock(forks.Order.TRACING)  # tensors hold other values while a function is traced


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
            model, CompiledFunction(model.forward if type(model).__call__ is Module.__call__ else model, fallback)
        )
    return (
        functools.wraps(model, updated=())(CompiledFunction(model, fallback))
        if hasattr(model, "__name__")
        else CompiledFunction(model, fallback)
    )


class CompiledFunction:
    """A function that runs the first of its compiled versions whose guards hold, or is traced for a new one.

    Attributes:
        function: the function itself.
        versions: what has been compiled, the most recently used first.
    """

    def __init__(self, function: Callable, fallback: bool) -> None:
        self.function = self.__wrapped__ = function
        self.fallback = fallback
        self.versions: list[Version] = []
        self._given_up = ""

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        for i, version in enumerate(self.versions):
            result = version.run(args, kwargs)
            if result is not MISS:
                if i:
                    # other threads go through the list
                    self.versions = [version, *[v for v in self.versions if v is not version]]
                return result
        return self._call_uncompiled(args, kwargs)

    def __reduce__(self) -> tuple[Any, ...]:
        """A copy compiles anew."""
        return functools.partial(compile, fallback=self.fallback), (self.function,)

    def __get__(self, instance: Any, owner: Any = None) -> Any:
        return self if instance is None else functools.partial(self, instance)

    def _call_uncompiled(self, args: tuple, kwargs: dict[str, Any]) -> Any:
        """A call for which no version's guards hold: compile one, or run the function as it is."""
        if self._given_up or thread_state.local.trace is not None or thread_state.function_modes:
            return self.function(*args, **kwargs)
        result = holding(TRACING, self._call_compiling, args, kwargs)
        if result is not MISS:
            return result
        warnings.warn(f"compile: {_name(self.function)} runs uncompiled from now on: {self._given_up}", stacklevel=3)
        return self.function(*args, **kwargs)

    def _call_compiling(self, args: tuple, kwargs: dict[str, Any]) -> Any:
        """The result by a version, perhaps a new one; ``MISS`` where there can be none."""
        for version in self.versions:  # guards also fail while another thread is tracing
            result = version.run(args, kwargs)
            if result is not MISS:
                return result
        if len(self.versions) >= MAX_VERSIONS:
            self._given_up = f"it was compiled {MAX_VERSIONS} times, for other shapes, types or modes at each"
            return MISS
        try:
            new, result = trace_call(self.function, args, kwargs)
        except CannotCompile as error:
            if not self.fallback:
                raise
            self._given_up = str(error).removeprefix("compile: ")
            return MISS
        self.versions = [*([new] if new is not None else []), *self.versions]
        return result

    # --- looking inside -----------------------------------------------------------------------------------------

    def _latest(self) -> Version:
        if not self.versions:
            raise RuntimeError(
                "nothing is compiled yet: call the function first" + (f" ({self._given_up})" if self._given_up else "")
            )
        return self.versions[0]

    def ir(self) -> str:
        """The program as it was traced, with the user's lines."""
        return str(self._latest().program)

    def plan(self) -> str:
        """The steps that run: loops, products, kernels, calls of ops."""
        return str(self._latest().plan)

    def llvm(self) -> str:
        """The LLVM IR of the native parts."""
        return self._latest().plan.llvm()


class CompiledModule(Module):
    """A module whose calls are compiled; in everything else it is the module."""

    def __init__(self, module: Module, compiled: CompiledFunction) -> None:
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


class StateBefore:
    """What a traced call may change, to be restored if it can't be compiled.

    Attributes:
        history: the tensors that the function can reach, arguments first, and their nodes.
        behind: arguments that have a history, which the function must not see, and their nodes.
    """

    def __init__(self, arguments: list[Tensor], environment: Environment) -> None:
        grad_mode = thread_state.is_grad_enabled()
        self.environment, self.random = environment, default_generator.get_state()
        self.behind = [(x, x._fn) for x in arguments if x._fn is not None and x._fn is not LEAF and grad_mode]
        for x, _ in self.behind:
            x._fn = LEAF
        self.history = [(x, x._fn) for x in (*arguments, *[x for x, _ in environment.tensors.values()])]
        self.grads = {id(x): (x, x._grad) for x, _ in self.history}

    def reattach(self) -> None:
        """Give arguments their history back."""
        for x, e in self.behind:
            x._fn = e

    def restore(self, can_run_eagerly: bool) -> None:
        """Put gradients and history back, and if the function is to run once more, Python's variables, too."""
        if can_run_eagerly:
            self.environment.restore()
            default_generator.set_state(self.random)
        for x, g in self.grads.values():
            x._grad = g
        for x, e in (*self.history, *self.behind):
            x._fn = e


def trace_call(function: Callable, args: tuple, kwargs: dict[str, Any]) -> tuple[Version | None, Any]:
    """Run a function while tracing it.

    Returns:
        a version for later calls (None if there can be no other like this one), and the result.
    """
    leaves, spec = tree_flatten((args, kwargs))
    arguments = [x for x in leaves if isinstance(x, Tensor)]
    environment = Environment(function, *[x for x in leaves if not isinstance(x, (Tensor, *SCALARS))])
    if environment.iterator:
        raise cannot_compile(
            f"an iterator ({environment.iterator}) would go on in the first call only", "Hand over what it gives."
        )
    trace, before = Trace(), StateBefore(arguments, environment)
    try:
        with trace:
            _track_inputs(trace, arguments, environment, before)
            result = function(*args, **kwargs)
            version = Version(function, trace, environment, arguments, before.history, result)
            if any(id(x) in trace.accumulated for x, _ in before.behind):
                raise cannot_compile(
                    "backward() would go on into the history of an argument",
                    "Hand over x.detach(), or return the loss.",
                )
    except BaseException as error:
        if before.behind and "leaf Variable that requires grad" in str(error):
            error = cannot_compile("an argument that has a history is written into")
        trace.restore_contents()
        trace.release()
        before.restore(can_run_eagerly=isinstance(error, CannotCompile))
        raise error
    before.reattach()
    results = tree_flatten(result)[0]
    for y in results:
        if isinstance(y, Tensor) and isinstance(y._array, TracedValue):
            y._array = y._array.value
    if version.derivative is not None:
        recorded = [y for y, live in zip(results, version.outputs.has_history) if live]
        version.derivative.attach(args, kwargs, before.random, recorded)
    version.compile(leaves, spec, environment, before.history)
    for _, _, taken in trace.per_call:
        taken()
    trace.release()
    # the function makes a leaf with a gradient, which somebody keeps: each call has to make another one
    is_kept = any(leaf() is not None for leaf in version.outputs.inner_leaves)
    return (None if trace.single_use or is_kept else version), result


def _track_inputs(trace: Trace, arguments: list[Tensor], environment: Environment, before: StateBefore) -> None:
    """Let arguments, and all tensors of the environment, hold traced values."""
    for i, x in enumerate(arguments):
        trace.lift_tensor(x, "argument", i, f"argument {i}")
    for x, g in list(before.grads.values()):
        if g is not None:
            trace.lift_tensor(g, "gradient", x, "gradient")
            if id(g) in environment.tensors:
                environment.guards.append(Guard(x, "{}._grad", g, "gradient"))
    for x, name in environment.tensors.values():
        trace.lift_tensor(x, "tensor", x, name)


class Version:
    """What a function does for arguments of certain shapes and types, as long as its guards hold.

    Attributes:
        program: what is computed.
        plan: how.
        outputs: where it goes.
        derivative: the vjp of the whole function, if results require grad.
        run: the function of ``args, kwargs`` that does it.
    """

    program: Program
    plan: Plan
    run: Callable[[tuple, dict[str, Any]], Any]

    def __init__(
        self,
        function: Callable,
        trace: Trace,
        environment: Environment,
        arguments: list[Tensor],
        history: list[tuple[Tensor, Any]],
        result: Any,
    ) -> None:
        self.trace, self.program = trace, trace.program
        _refuse_side_effects(trace, environment)
        self.outputs = Outputs(trace, arguments, result)
        self.derivative: Derivative | None = None
        recorded = [y for y in tree_flatten(result)[0] if has_history(y)]
        if recorded:
            places = {id(x): i for i, x in enumerate(arguments)}
            ends = [places.get(id(x), x) for x in leaves_behind(recorded)]
            written = [x.value for x in trace.roots if x.version and x.input.kind in ("argument", "tensor", "gradient")]
            self.derivative = Derivative(
                function, ends, written, self.program.has_random_values(), lambda f: CompiledFunction(f, False)
            )
        for x, e in history:
            if x._fn is not e:
                raise cannot_compile("a tensor from outside is given a history, or requires_grad is changed")

    def compile(
        self, leaves: list[Any], spec: Any, environment: Environment, history: list[tuple[Tensor, Any]]
    ) -> None:
        """Make the plan and the function that runs it; see :mod:`.wrapper_code`."""
        code = WrapperCode(self.trace, self.outputs, self.derivative, leaves, spec, environment, history)
        del self.trace  # and the first call's arrays with it
        self.plan, self.run = code.plan, code.compile()


def _refuse_side_effects(trace: Trace, environment: Environment) -> None:
    """Raise if the function changed Python variables, options or generators: a plan would not do it again."""
    for group, before in (*environment.options, *trace.option_snapshots):
        if any(group[k] is not v and group[k] != v for k, v in before.items()):
            raise cannot_compile(
                "the options of an optimizer are changed", "Call scheduler.step() outside of the compiled function."
            )
    changed = environment.changes()
    if changed:
        raise cannot_compile(
            f"a variable is changed by each call ({changed[0]})",
            "What is to be kept from call to call has to be in a tensor, written in place.",
        )
    if random_states() != environment.random:
        raise cannot_compile(
            "random numbers of Python's or NumPy's would be drawn in the first call only",
            "Draw them by torch.rand, or hand them over.",
        )
