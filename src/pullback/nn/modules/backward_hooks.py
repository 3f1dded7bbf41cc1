"""Backward hooks of modules (PyTorch's ``BackwardHook``): identity nodes around what a module's forward records.

    inputs ─► identity node ─► what forward recorded ─► identity node ─► outputs

In the backward pass the node at the outputs sees ``grad_output`` before the module's nodes run, and the node at the
inputs sees ``grad_input`` after they have.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

from ...autograd import Function
from ...base.thread_state import is_grad_enabled
from ...core.tensor import Tensor

Hook = Callable[..., Any]


class BackwardHookFunction(Function):
    """The identity, as a node of its own; under transforms, too."""

    generate_vmap_rule = True

    @staticmethod
    def forward(*args: Tensor) -> tuple[Tensor, ...]:
        return args

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Tensor, ...], output: tuple[Tensor, ...]) -> None:
        ctx.mark_non_differentiable(*(y for x, y in zip(inputs, output) if not x.requires_grad))

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor, ...]:
        return grads

    @staticmethod
    def jvp(ctx: Any, *tangents: Tensor | None) -> tuple[Tensor | None, ...]:
        return tuple([None if t is None else t.view_as(t) for t in tangents])


class BackwardHook:
    """The full backward hooks of one call of a module, registered on identity nodes around it."""

    def __init__(self, module: Any, hooks: list[Hook], pre_hooks: list[Hook]) -> None:
        self.module, self.hooks, self.pre_hooks = module, hooks, pre_hooks
        # What the outputs' node has seen and the inputs' node has yet to pass on.
        self.grad_outputs: tuple[Any, ...] | None = None
        # Which arguments, and which results, went through a node; None where there is none.
        self.inputs: Any = None
        self.outputs: Any = None

    def wrap_inputs(self, args: tuple[Any, ...]) -> tuple[Any, ...]:
        """Put the identity node before the module's inputs."""
        self.n_inputs = len(args)
        args, self.inputs = _insert_node(args, self._on_grad_input)
        return args

    def wrap_outputs(self, result: Any) -> Any:
        """Put the identity node behind the module's outputs."""
        values = result if isinstance(result, tuple) else (result,)
        self.n_outputs = len(values)
        values, self.outputs = _insert_node(values, self._on_grad_output)
        return values if isinstance(result, tuple) else values[0]

    def _on_grad_output(self, given: tuple[Any, ...], grads: tuple[Any, ...]) -> tuple[Any, ...] | None:
        below = given[len(self.outputs) :]  # of a forward-mode level, whose gradients are not the module's
        if any([g is not None for g in below]):
            return None
        grad_outputs = _at_positions(grads, self.outputs, self.n_outputs)
        for hook in self.pre_hooks:
            changed = hook(self.module, grad_outputs)
            if changed is not None:
                grad_outputs = _check_count(changed, self.n_outputs, "Backward pre hook", "grad_output")
        if self.inputs is None:
            warnings.warn(
                "Full backward hook is firing when gradients are computed with respect to module outputs "
                "since no inputs require gradients.",
                stacklevel=2,
            )
            for hook in self.hooks:
                changed = hook(self.module, (None,) * self.n_inputs, grad_outputs)
                if changed is not None and not (isinstance(changed, tuple) and all(c is None for c in changed)):
                    raise RuntimeError(
                        "Backward hook for Modules where no input requires gradient should always return "
                        "None or None for all gradients."
                    )
        else:
            self.grad_outputs = grad_outputs
        return (*[grad_outputs[i] for i in self.outputs], *below)

    def _on_grad_input(self, grads: tuple[Any, ...], _: Any) -> tuple[Any, ...] | None:
        if self.grad_outputs is None:  # a gradient that came round the outputs, as in double backward
            return None
        grad_inputs = _at_positions(grads, self.inputs, self.n_inputs)
        for hook in self.hooks:
            changed = hook(self.module, grad_inputs, self.grad_outputs)
            if changed is not None:
                grad_inputs = _check_count(changed, self.n_inputs, "Backward hook", "grad_input")
        self.grad_outputs = None
        return (*[grad_inputs[i] for i in self.inputs], *grads[len(self.inputs) :])


def _check_count(changed: Any, expected: int, what: str, name: str) -> tuple[Any, ...]:
    changed = (changed,) if isinstance(changed, Tensor) and expected == 1 else changed
    if len(changed) != expected:
        raise RuntimeError(f"{what} returned an invalid number of {name}, got {len(changed)}, but expected {expected}")
    return changed


def _at_positions(grads: tuple[Any, ...], positions: Any, size: int) -> tuple[Any, ...]:
    """Gradients at their positions among `size` values, None elsewhere."""
    spread = [None] * size
    for i, g in zip(positions, grads):
        spread[i] = g
    return tuple(spread)


def _insert_node(values: tuple[Any, ...], hook: Hook) -> tuple[tuple[Any, ...], list[int] | None]:
    """Send the tensors among `values` through one identity node with `hook` on it, if autograd is at work.

    Returns the values, and the positions of the tensors (None: there is no node).
    """
    positions = [i for i, v in enumerate(values) if isinstance(v, Tensor)]
    if not (is_grad_enabled() and any(values[i].requires_grad for i in positions)):
        return values, None
    passed = BackwardHookFunction.apply(*(values[i] for i in positions))
    next(t.grad_fn for t in passed if t.grad_fn is not None).register_hook(hook)
    through: Any = list(values)
    for i, t in zip(positions, passed):
        through[i] = t
    through = tuple(through) if type(values) is tuple else type(values)(*through)  # a named tuple stays one
    return through, positions


def register_on_last_node(hooks: list[Hook], args: tuple[Any, ...], result: Any) -> None:
    """Register non-full (deprecated) backward hooks on the ``grad_fn`` of the (first) output."""
    first = result
    while not isinstance(first, Tensor):
        first = next(iter(first.values())) if isinstance(first, dict) else first[0]
    node = first.grad_fn
    if node is None:
        return
    for hook in hooks:
        node.register_hook(hook)
    sources = {t.grad_fn for t in args if isinstance(t, Tensor) and t.grad_fn is not None}
    if not isinstance(result, Tensor) or sources != {n for n, _ in node.next_functions}:
        warnings.warn(
            "Using a non-full backward hook when the forward contains multiple autograd Nodes is deprecated "
            "and will be removed in future versions. This hook will be missing some grad_input. Please use "
            "register_full_backward_hook to get the documented behavior.",
            FutureWarning,
            stacklevel=4,
        )
