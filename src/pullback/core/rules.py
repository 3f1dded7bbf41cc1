"""``Rules``: the derivative formulas of an operation, what its nodes save for them, and the classes of its nodes."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from ..base.dtypes import COMPLEX_HALF, COMPLEX_KINDS, HALVES
from ..base.errors import with_notes
from ..kernels.dispatch import wide
from .boundary import lift_vjp
from .graph import NUMBERS, Node, apply_vjps
from .signature import Signature

COMPLEX, HALF = "complex", "half"  # varieties of results whose rules are adapted; complex32 is both


class Rules(Signature):
    """The derivative formulas of an operation.

    Attributes:
        rules: the formulas by the names of their arguments, as they were stated.
        array_rules: the same, where something is faster on arrays than the formula.
        vjps: the formulas as functions of (g, saved), one a tensor argument.
        half_vjps: the same for results in half precision.
        joint_vjp: one formula for all arguments instead.
        kernel_vjps, accumulating_vjps: the formulas as kernels, once asked for; and as kernels that add to a gradient
            that is there already.
        linear, added: arguments that the operation is linear in, one by one; terms that are merely added.
        holomorphic: whether formulas are conjugated for complex results.
        pointwise: whether an element's gradients depend on nothing but that element of all arguments.
        zero_second_derivative_nodes: how the names of nodes begin whose recorded gradient depends on the input with
            derivative 0.
        saved_names, saved_spec: what a node saves: names; for each how to get it, ("value", argument), ("shape",
            argument) or ("out", result), and which gradients need it, a bit for each tensor argument.
        fixed_saved_order: saved values that stand in a fixed order, so that a call needs no loop.
        node_name: the name of the node, or a function of the arguments that gives it; ``node_at`` is then the argument
            that does, or -1.
        edge_order: the inputs in PyTorch's order, by the node's name, where that differs.
        saves_numbers: whether a number that was saved is let go after backward, as a tensor would be.
    """

    kind: str  # which Op states

    def __init__(
        self,
        node: Any,
        holomorphic: bool,
        pointwise: bool,
        linear: str,
        edge_order: Mapping[str, tuple[int, ...]] | None,
        saves_numbers: bool,
    ) -> None:
        self.rules: dict[str, Callable] = {}
        self.array_rules: dict[str, Callable] = {}
        self.vjps: tuple[Any, ...] = (None,) * len(self.tensors)
        self.half_vjps: tuple[Any, ...] = self.vjps
        self.joint_vjp: Callable | None = None
        self.kernel_vjps: tuple[Callable, ...] | None = None
        self.accumulating_vjps: tuple[Callable | None, ...] = ()
        linear, _, added = linear.partition(",")
        self.linear, self.added = tuple(linear.split()), tuple(added.split())
        self.holomorphic, self.pointwise, self.saves_numbers = holomorphic, pointwise, saves_numbers
        # whether rules compute in float32 for half precision: those that do more than move the gradient
        self.widens = len(self.linear) != 1 and self.kind != "view"
        self.zero_second_derivative_nodes: tuple[str, ...] = ()
        self.saved_names: tuple[str, ...] = ()
        self.saved_spec: tuple[tuple[str, int, int], ...] = ()
        self.fixed_saved_order: tuple[str, ...] = ()
        self.on_saved_spec_change: list[Callable[[], None]] = []
        self.node_at = self.params.index(node) if node in self.params else -1
        self.node_name: Any = node or camel_case(self.name) + "Backward0"
        if self.node_at >= 0:
            self.node_name = lambda *args: args[self.node_at]
        self.edge_order = edge_order or {}
        self.nodes: dict[tuple[str, str, bool], type[Node]] = {}

    def vjp(self, **rules: Callable) -> None:
        """State the derivative formula of each argument, by its name."""
        self.rules, self.kernel_vjps = rules, None
        of_tensors = [rules.get(self.params[p]) for p in self.tensors]
        asked = [_rule_arguments(rule) for rule in of_tensors]
        names = list(self.fixed_saved_order)  # which may name an argument twice: `out` of the rule of tanh
        for rule in rules.values():
            names += [n for n in _rule_arguments(rule) if n not in names]
        self._set_saved_spec(names, {n: {i for i, of in enumerate(asked) if n in of} for n in names})
        self.install_vjps(tuple([self.bind_rule(rule, p) for rule, p in zip(of_tensors, self.tensors)]))

    def vjp_all(self, rule: Callable) -> Callable:
        """State one rule for all arguments: ``rule(g, wanted, ...)`` returns a gradient (or None) for each of them."""
        asked = _rule_arguments(rule)[1:]
        names = [*self.fixed_saved_order, *(n for n in asked if n not in self.fixed_saved_order)]
        self._set_saved_spec(names, {n: set(range(len(self.tensors) or 64)) if n in asked else set() for n in names})
        self.joint_vjp_at = [names.index(n) for n in asked]
        self.joint_vjp = rule
        self._install()
        return rule

    def _set_saved_spec(self, names: Sequence[str], users: Mapping[str, set[int]]) -> None:
        """Fix the order of a node's saved values.

        Args:
            users: the tensor arguments whose gradients need a value.

        Raises:
            TypeError: for a name that is neither an argument nor a result.
        """
        spec = []
        for n in names:
            mask = sum(1 << i for i in users[n])
            if n in self.params:
                i = self.params.index(n)
                spec.append(("value", i, mask if i in self.tensors else -1))
            elif n == "out":
                spec.append(("out", -1, mask))
            elif n in self.outputs:
                spec.append(("out", self.outputs.index(n), mask))
            elif n.endswith("_shape") and n[:-6] in self.params:
                spec.append(("shape", self.params.index(n[:-6]), mask))
            else:
                raise TypeError(f"{self.name}: a rule asks for {n!r}, which is neither an argument nor a result")
        self.saved_names, self.saved_spec = tuple(names), tuple(spec)
        for fn in self.on_saved_spec_change:
            fn()

    def bind_rule(self, rule: Callable | None, param: int) -> Callable:
        """The rule as a function of (g, saved)."""
        if rule is None:
            return missing_rule(self.name, self.params[param])
        at = [self.saved_names.index(n) for n in _rule_arguments(rule)]
        if len(at) == 0:
            return lambda g, saved: rule(g)
        if len(at) == 1:
            (i,) = at
            return lambda g, saved: rule(g, saved[i])
        if len(at) == 2:
            i, j = at
            return lambda g, saved: rule(g, saved[i], saved[j])
        return lambda g, saved: rule(g, *[saved[i] for i in at])

    def install_vjps(self, vjps: tuple[Callable, ...]) -> None:
        """Let nodes use these functions of (g, saved), one a tensor argument."""
        self.vjps = self.half_vjps = vjps
        if self.widens:
            # squares overflow early; the engine rounds the gradient, once
            self.half_vjps = tuple([_widened(vjp, self.pointwise) for vjp in vjps])
        self._install()

    def vjps_for(self, dtype: np.dtype) -> tuple[Any, ...]:
        """The rules for results of a type."""
        return self.half_vjps if HALF in variety_of(dtype) else self.vjps

    def _install(self) -> None:
        for (_, variety, is_lifted), cls in self.nodes.items():
            self._install_on(cls, variety, is_lifted)

    def _install_on(self, cls: type[Node], variety: str, is_lifted: bool) -> None:
        """Give a node class the operation's rules."""
        cls._vjps = self.half_vjps if HALF in variety else self.vjps
        keeps = any([kind != "shape" and (users > 0 or i in self.index_params) for kind, i, users in self.saved_spec])
        cls._keeps = NUMBERS if keeps and self.saves_numbers else keeps
        if self.joint_vjp is not None:
            joint, at = self.joint_vjp, self.joint_vjp_at
            cls._vjps = None
            cls._vjp = lambda node, g, saved, edges: joint(g, [e is not None for e in edges], *[saved[i] for i in at])  # type: ignore[assignment]
            if HALF in variety:
                cls._vjp = lambda node, g, saved, edges: joint(  # type: ignore[assignment]
                    wide(g), [e is not None for e in edges], *[wide(saved[i]) for i in at]
                )
        if COMPLEX in variety and self.holomorphic:
            cls._vjp = conjugate_vjp(cls._vjp, cls._vjps)  # type: ignore[method-assign]
            cls._vjps = None
        if is_lifted:
            vjps = cls._vjps
            vjp = cls._vjp if vjps is None else lambda node, g, saved, edges: apply_vjps(vjps, g, saved, edges)
            cls._vjp = lift_vjp(vjp)  # type: ignore[method-assign]
            cls._vjps = None

    def node_type(self, name: str, variety: str = "", is_lifted: bool = False) -> type[Node]:
        """The class of this operation's nodes: one a name, and others for varieties of results and for level values."""
        if not self.widens:
            variety = variety.removesuffix(HALF)
        key = name, variety, is_lifted
        cls = self.nodes.get(key)
        if cls is None:
            members = {"__slots__": (), "__module__": "pullback.autograd", "_op": self}
            cls = self.nodes[key] = type(name, (Node,), {**members, "_edge_order": self.edge_order.get(name)})
            self._install_on(cls, variety, is_lifted)
        return cls


def _widened(vjp: Callable[..., Any], pointwise: bool) -> Callable[..., Any]:
    """A rule in float32 for half precision. Not of complex32 if it may look for a result among absolute values, as
    these round.
    """

    def widened(g: Any, saved: tuple[Any, ...]) -> Any:
        if not pointwise and any([getattr(v, "dtype", None) == COMPLEX_HALF for v in saved]):
            return vjp(g, saved)
        return vjp(wide(g), tuple(map(wide, saved)))

    return widened


def variety_of(dtype: np.dtype) -> str:
    """Which variety of an operation's nodes is for results of a type."""
    if dtype == COMPLEX_HALF:
        return COMPLEX + HALF
    return COMPLEX if dtype.kind == "c" else HALF if dtype in HALVES else ""


def camel_case(name: str) -> str:
    return "".join(part.capitalize() for part in name.strip("_").split("_"))


def _rule_arguments(rule: Callable | None) -> list[str]:
    """What a rule asks for beside ``g``."""
    return list(rule.__code__.co_varnames[1 : rule.__code__.co_argcount]) if rule is not None else []


def missing_rule(name: str, param: str) -> Callable:
    def refuse(g: Any, saved: Any) -> Any:
        raise with_notes(
            NotImplementedError(f"the derivative for '{param}' of '{name}' is not implemented."),
            f"Detach that argument, or state {name}.vjp({param}=...).",
        )

    return refuse


def conj(g: Any) -> Any:
    """The conjugate of a cotangent, an array or a tensor: new, and itself where it is real."""
    if isinstance(g, (np.ndarray, np.generic)):
        return np.conjugate(g) if g.dtype.kind in COMPLEX_KINDS else g
    return g.conj_physical()


def conjugate_vjp(pull: Callable, pulls: Sequence[Callable] | None) -> Callable:
    """The rule of a holomorphic function, for complex values, from the formula written as if for real ones."""

    def conjugated(node: Node, g: Any, saved: tuple[Any, ...], edges: Sequence[Any]) -> Any:
        g = tuple(conj(v) for v in g) if g.__class__ is tuple else conj(g)
        if pulls is None:
            results = pull(node, g, saved, edges)
        else:
            results = apply_vjps(pulls, g, saved, edges)
        return [None if r is None else conj(r) for r in results]

    return conjugated
