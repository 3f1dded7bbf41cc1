"""The first call of a compiled function: it runs while it is traced, and becomes a version for later calls."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ..base import thread_state
from ..base.pytree import tree_flatten, tree_unflatten
from ..core.graph import LEAF
from ..core.tensor import Tensor
from ..ops.random import default_generator
from .calls import CallWatcher
from .differentiable import Derivative
from .guards import SCALARS, Environment, Guard, random_states
from .ir import Program
from .outputs import Outputs
from .plan import Plan
from .refusal import CannotCompile, cannot_compile
from .segments import Segment
from .sym_item import SymItem
from .trace import Trace
from .traced_value import TracedValue
from .wrapper_code import MISS, WrapperCode, view_of


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

    def restore(self) -> None:
        """Put back all that the call has changed, so that the function can run once more."""
        self.environment.restore()
        default_generator.set_state(self.random)
        for x, g in self.grads.values():
            x._grad = g
        for x, e in (*self.history, *self.behind):
            x._fn = e


def trace_call(
    function: Callable,
    args: tuple,
    kwargs: dict[str, Any],
    may_cut: bool,
    any_size: bool,
    others: Sequence[Version],
) -> tuple[Version | None, Any]:
    """Run a function while tracing it.

    Args:
        may_cut: whether the version may hold for certain values in tensors only.
        any_size: whether sizes vary from call to call.
        others: versions to share segments with.

    Returns:
        a version for later calls (None if there can be no other like this one), and the result: ``MISS`` if the
        function has to run as it is.
    """
    leaves, spec = tree_flatten((args, kwargs))
    arguments = [x for x in leaves if isinstance(x, Tensor)]
    environment = Environment((args, kwargs), function, *[x for x in leaves if not isinstance(x, (Tensor, *SCALARS))])
    if environment.unguarded:
        raise cannot_compile(f"it can't be seen whether this stays as it is: {environment.unguarded}")
    if any([x.__dict__ for x in arguments]):
        raise cannot_compile("an argument is a tensor with attributes of its own")
    trace, before, calls = Trace(may_cut, any_size), StateBefore(arguments, environment), CallWatcher()
    trace.last_c_function, trace.types_are_read = lambda: calls.last_c_function, environment.reads_types
    types_were_read = environment.reads_types()
    trace.hidden = {id(x) for x, _ in before.behind}
    trace.outside = {id(x) for x in environment.objects()}
    lifted: list[tuple[Tensor, Any]] = []
    try:
        with trace:
            _track_inputs(trace, arguments, environment, before)
            lifted += [(x, x._array) for x, _ in trace.known_tensors.values()]
            with calls.watching():
                result = function(*args, **kwargs)
            if trace.refusal is not None:  # which the function caught
                raise trace.refusal
            environment.add_calls(calls)
            if trace.items and environment.reads_types() and not types_were_read:
                trace.refuse_value()
            if any([x._array is not value for x, value in lifted]):
                raise cannot_compile("a tensor from outside gets another shape or other memory")
            if any([x.__dict__ for x in arguments]):
                raise cannot_compile("an argument gets attributes")
            if environment.unguarded:
                raise cannot_compile(f"it can't be seen whether this stays as it is: {environment.unguarded}")
            version = Version(function, trace, environment, arguments, before.history, result)
            if any(id(x) in trace.accumulated for x, _ in before.behind):
                raise cannot_compile(
                    "backward() would go on into the history of an argument",
                    "Hand over x.detach(), or return the loss.",
                )
    except BaseException as error:
        if before.behind and "leaf Variable that requires grad" in str(error):
            error = cannot_compile("an argument that has a history is written into")
        failed = bool(trace.items) and isinstance(error, Exception)  # perhaps as a symbolic number is no float
        if failed or isinstance(error, CannotCompile):
            trace.restore_contents()
            before.restore()
        else:  # the user's own: what was done stays done
            before.reattach()
            for _, _, taken in trace.per_call:
                taken()
        trace.release()
        if error.this_call_only if isinstance(error, CannotCompile) else failed:
            return None, MISS
        raise error
    before.reattach()
    results = tree_flatten(result)[0]
    for y in results:
        if isinstance(y, Tensor) and isinstance(y._array, TracedValue):
            y._array = y._array.value
    if version.derivative is not None:
        recorded = [results[k] for k in version.outputs.recorded]
        ends = version.derivative.tensors(args, kwargs)
        version.derivative.attach(version.derivative.first_values(), (args, kwargs, before.random), recorded, ends)
    _retake_views(version.outputs, arguments, results)
    version.compile(leaves, spec, environment, before.history, others)
    for _, _, taken in trace.per_call:
        taken()
    trace.release()
    # the function makes a leaf with a gradient, which somebody keeps: each call has to make another one
    is_kept = any(leaf() is not None for leaf in version.outputs.inner_leaves)
    if version.outputs.numbers:
        result = tree_unflatten([x.value if type(x) is SymItem else x for x in results], version.outputs.spec)
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


def _retake_views(outputs: Outputs, arguments: list[Tensor], results: list[Any]) -> None:
    """Let results that are views be views of what has been attached to its history since."""
    for y, r in zip(results, outputs.returned):
        if r.views is not None:
            base = {"argument": arguments, "result": results}[r.kind][r.what] if r.what.__class__ is int else r.what
            new = view_of(base._grad if r.kind == "gradient" else base, r.views, r.grad)
            y._array, y._fn, y._view = new._array, new._fn, new._view


class Version:
    """What a function does for arguments of certain shapes and types, as long as its guards hold.

    Attributes:
        program: what is computed.
        plan: how.
        outputs: where it goes.
        segments, cuts: what runs before the plan, and what is asked after each; see :mod:`.segments`.
        branches: the user's line at which it first came to depend on values.
        derivative: the vjp of the whole function, if results require grad.
        guarded: the names of variables, attributes and tensors that have guards.
        run: the function of ``args, kwargs`` that does it.
    """

    program: Program
    plan: Plan
    segments: list[Segment]
    run: Callable[[tuple, dict[str, Any], Any], Any]

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
        self.guarded = environment.names()
        self.outputs = Outputs(trace, arguments, result, environment.objects())
        self.derivative: Derivative | None = None
        leaves = tree_flatten(result)[0]
        if self.outputs.recorded:
            recorded = [leaves[k] for k in self.outputs.recorded]
            self.derivative = Derivative(function, trace, arguments, recorded, self.outputs)
        self.outputs.close()
        for x, e in history:
            if x._fn is not e:
                raise cannot_compile("a tensor from outside is given a history, or requires_grad is changed")

    def compile(
        self,
        leaves: list[Any],
        spec: Any,
        environment: Environment,
        history: list[tuple[Tensor, Any]],
        others: Sequence[Version],
    ) -> None:
        """Make the plan and the function that runs it; see :mod:`.wrapper_code`."""
        code = WrapperCode(
            self.trace, self.outputs, self.derivative, leaves, spec, environment, history, [v.segments for v in others]
        )
        self.segments, self.cuts, self.branches = code.segments, self.trace.cuts, self.trace.branches
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
