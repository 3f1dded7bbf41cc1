"""Base class of optimizers with an elementwise update rule: in kernels, in NumPy, recorded, or traced.

The rule is one formula, written once in a subclass of :class:`Elementwise`, with operators and public functions. Called
with arrays it computes, a block of parameters at a time (:mod:`.flat_params`); called with tensors it records, for
gradients through the step (``differentiable=True``); traced with scalars it becomes a kernel.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from functools import partial
from typing import Any, ClassVar

import numpy as np

from .. import kernels
from ..base import thread_state
from ..base.dtypes import COMPLEX_KINDS
from ..base.errors import with_notes
from ..base.thread_state import no_grad, set_grad_enabled
from ..core.record import wrap
from ..core.tensor import Tensor
from ..core.versions import bump_version
from ..ops.complex import view_as_real
from ..ops.where import where
from .flat_params import Pack, Packs, counting, work_type
from .optimizer import Options, Stepper, number, rows

__all__ = ["Elementwise", "average", "blend"]


class Elementwise(Stepper):
    """An optimizer given by one formula for all elements.

    Weight decay and ``maximize`` are dealt with here: ``g`` is the gradient after both. Decoupled weight decay
    (the option ``decoupled_weight_decay``) goes round the formula: ``p -= lr * weight_decay * p``.

    Attributes:
        update: the formula, a static method: ``update(g, state, *coefficients)`` returns what is subtracted from
            the parameter. It changes arrays of ``state`` in place (:func:`average`) or replaces them.
        reads_values: whether it wants the parameter itself, as ``state["value"]``.
    """

    update: ClassVar[Callable[..., Any]]
    reads_values: ClassVar[bool] = False

    def __init__(self, params: Any, defaults: dict[str, Any]) -> None:
        super().__init__(params, defaults)
        self._packs = Packs()

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)
        self._packs = Packs()
        for group in self.param_groups:
            for own in [self.state[p] for p in group["params"] if p in self.state]:
                for name in self.counters(group) if own else ():
                    if not isinstance(own[name], Tensor):  # saved by an old PyTorch
                        own[name] = wrap(np.array(own[name], counting()))

    # --- what a subclass defines ----------------------------------------------------------------------------

    def memory(self, o: Options) -> dict[str, float]:
        """Tensors of the parameter's shape kept for each parameter, with the number that fills them at first."""
        raise NotImplementedError

    def coefficients(self, o: Options, t: float, count: dict[str, Any]) -> tuple[Any, ...]:
        """The numbers in the formula at step ``t``.

        Args:
            o: the group's options.
            t: counts from 1.
            count: the counters. New values may be stored there, and are read back in the type they are kept in.

        Numbers derived from options belong here, where arithmetic is in double precision; in the formula it may be in
        single. A bool decides about the form of the formula.
        """
        raise NotImplementedError

    def state_shapes(self, p: Tensor, o: Options) -> dict[str, tuple[int, ...]]:
        shapes: dict[str, tuple[int, ...]] = dict.fromkeys(self.counters(o), ())
        return shapes | dict.fromkeys(self.memory(o), p._array.shape)

    # --- stepping -------------------------------------------------------------------------------------------

    def step_group(self, group: Options) -> None:
        """Update the parameters of a group."""
        params = [p for p in group["params"] if p._grad is not None]
        if group.get("capturable") or group.get("fused"):
            refuse_switches(group, params)
        if group["differentiable"]:
            with set_grad_enabled(True):
                for p in params:
                    self._record(p, group, self._advance_alone(p, group))
            return
        if thread_state.local.trace is not None:
            with no_grad():
                self._trace(thread_state.local.trace, params, group)
            return
        o = in_numbers(group)
        for some in _rounds(params):
            for p in [p for p in some if p._grad.is_sparse]:
                self.step_rows(p, o)
                del some[p]
            for pack in self._packs.of(some, group, self.state, self.counters(o), self.memory(o)):
                self._step_pack(pack, o)

    def _step_pack(self, pack: Pack, o: Options) -> None:
        count = {name: array[0] for name, array in pack.counters.items()}
        coefficients = self._advance(o, count)
        for name, array in pack.counters.items():
            array[...] = count[name]
        homes = {id(shared): home for shared, home in pack.shared}
        jobs = ([homes.get(id(a), a) for a in [t._array for t in self._tensors(p, pack)]] for p in pack.params)
        if kernels.run("optimizer", "step", pack.size, self, pack.names, jobs, *self._numbers(o, coefficients)):
            pack.written()
            return
        for block in pack.blocks:
            state = block.state()
            update = self._change(o["maximize"], _decay(o), coefficients, block.gradients(), state, block.values)
            block.store(update, state, _shrink(o))
        pack.written()

    def _tensors(self, p: Tensor, pack: Pack) -> list[Any]:
        """A parameter, its gradient, and its state tensors."""
        return [p, p._grad, *[self.state[p][name] for name in pack.names]]

    def _trace(self, trace: Any, params: list[Tensor], group: Options) -> None:
        """Trace the update for a compiled step, which advances the counters at each call."""
        o = trace.options(self, group)
        for some in _rounds(params):
            for pack in self._packs.of(some, group, self.state, self.counters(group), self.memory(group)):
                self._trace_pack(trace, pack, group, o)

    def _trace_pack(self, trace: Any, pack: Pack, group: Options, o: Options) -> None:
        coefficients = trace.compute_per_call(partial(self._count, pack, group))
        for p in pack.params:
            trace.guard_state(self, p, self.memory(group), pack.counters)
        numbers = self._numbers(in_numbers(group), trace.concrete(coefficients))
        trace.foreach(
            [self._tensors(p, pack) for p in pack.params],
            lambda i: self._record(pack.params[i], o, coefficients),
            lambda jobs: kernels.run("optimizer", "step", pack.size, self, pack.names, jobs, *numbers),
        )

    def _numbers(self, o: Options, coefficients: tuple[Any, ...]) -> tuple[Any, ...]:
        """What a kernel is told of a group."""
        return o["maximize"], coefficients, _decay(o), _shrink(o)

    def _count(self, pack: Pack, group: Options) -> tuple[tuple[Any, ...], Callable[[], None]]:
        """The coefficients of a pack's next step, and a function that stores the counters once it is taken."""
        count = {name: array[0] for name, array in pack.counters.items()}

        def taken() -> None:
            for name, array in pack.counters.items():
                array[...] = count[name]

        return self._advance(in_numbers(group), count), taken

    def _record(self, p: Tensor, o: Options, coefficients: tuple[Any, ...]) -> None:
        """Update one parameter with recorded ops."""
        p, g, *own = map(_real, (p, p.grad, *(self.state[p][name] for name in self.memory(o))))
        state = {name: tensor.clone() for name, tensor in zip(self.memory(o), own)}
        update = self._change(o["maximize"], _decay(o), coefficients, g, state, p.clone)
        for tensor, new in zip(own, state.values()):
            tensor.copy_(new)
        shrink = _shrink(o)
        if shrink is not None:
            p.mul_(shrink)
        p.sub_(update)

    def step_rows(self, p: Tensor, o: Options) -> None:
        """Update a parameter whose gradient is sparse."""
        raise RuntimeError(f"{type(self).__name__} does not support sparse gradients")

    def change_rows(self, p: Tensor, o: Options, coefficients: tuple[Any, ...]) -> None:
        """Apply the formula to those elements of a parameter and of its state that a sparse gradient holds."""
        where, values = rows(p._grad)
        work = work_type(p._array.dtype)
        tensors = {name: self.state[p][name]._array for name in self.memory(o)}
        state = {name: array[where].astype(work) for name, array in tensors.items()}
        g, form = values.astype(work), (o["maximize"], _decay(o))
        p._array[where] -= self._change(*form, coefficients, g, state, lambda: p._array[where])
        for name, array in tensors.items():
            array[where] = state[name]
        bump_version(p._array)

    def _change(
        self,
        maximize: bool,
        decay: Any,
        coefficients: tuple[Any, ...],
        g: Any,
        state: dict[str, Any],
        values: Callable[[], Any],
    ) -> Any:
        """The update to subtract from a parameter of these ``values``, for the gradient ``g``."""
        if maximize:
            g = -g
        if decay is not None:
            g = g + decay * values()
        if self.reads_values:
            state["value"] = values()
        return self.update(g, state, *coefficients)

    def _advance(self, o: Options, count: dict[str, Any]) -> tuple[Any, ...]:
        count["step"] += 1
        return self.coefficients(o, float(count["step"]), count)

    def _advance_alone(self, p: Tensor, o: Options) -> tuple[Any, ...]:
        """Advance the counters of one parameter, whose state is created if need be."""
        own = self.state[p]
        for name, start in self.counters(o).items():
            own.setdefault(name, wrap(np.array(start, counting())))
        for name, start in self.memory(o).items():
            own.setdefault(name, filled(p, start))
        count = {name: own[name]._array[()] for name in self.counters(o)}
        coefficients = self._advance(o, count)
        for name, value in count.items():
            own[name]._array[...] = value
        return coefficients


def average(state: dict[str, Any], name: str, x: Any, keep: Any, weight: Any) -> Any:
    """Move a running average on, ``a = keep * a + weight * x``, and return it."""
    a = state[name]
    if isinstance(a, np.ndarray):
        a *= keep
        a += weight * x
    else:  # operations recorded before may still need it as it was
        a = state[name] = keep * a + weight * x
    return a


def blend(state: dict[str, Any], name: str, x: Any, weight: Any) -> Any:
    """Move a running average towards ``x`` by a weighted part of the way, and return it.

    This is :func:`average` with ``weight = 1 - keep``, rounded as PyTorch's ``lerp`` rounds it.
    """
    a = state[name]
    change = x - a
    mostly_new = weight >= 0.5  # the larger of a and x is the one that is not multiplied away
    if hasattr(mostly_new, "__pullback_op__"):  # in a kernel, which decides when it runs
        a = where(mostly_new, x - (1 - weight) * change, a + weight * change)
    elif mostly_new:
        a = x - (1 - weight) * change
    elif isinstance(a, np.ndarray):
        a += weight * change
    else:
        a = a + weight * change
    state[name] = a
    return a


def filled(p: Tensor, start: float) -> Tensor:
    """A tensor like the parameter, of one number; of complex type: in the real and the imaginary part."""
    dtype = p._array.dtype
    if p.is_meta:
        return p.detach().clone()
    return wrap(np.full(p._array.shape, complex(start, start) if dtype.kind in COMPLEX_KINDS else start, dtype))


def in_numbers(group: Options) -> Options:
    """Options without one-element tensors."""
    betas = group.get("betas", ())
    if Tensor not in {group["lr"].__class__, group.get("weight_decay").__class__, *map(type, betas)}:
        return group
    return {name: number(value) for name, value in group.items()} | {"betas": tuple(map(number, betas))}


def refuse_switches(group: Options, params: list[Tensor]) -> None:
    """Raise PyTorch's errors for ``capturable`` and ``fused`` on the CPU."""
    if group.get("capturable") and params:
        raise with_notes(
            AssertionError(
                "If capturable=True, params and state_steps must be on supported devices: "
                "['cuda', 'xpu', 'hpu', 'privateuseone', 'xla']."
            ),
            "Leave capturable out on the CPU.",
        )
    for p in params:
        if group.get("fused") and not p.is_floating_point():
            raise RuntimeError(
                "`fused=True` requires all the params to be floating point Tensors of supported devices: "
                f"['mps', 'cuda', 'xpu', 'hpu', 'cpu', 'mtia', 'privateuseone'] but {p.dtype} and cpu"
            )


def _rounds(params: list[Tensor]) -> list[dict[Tensor, None]]:
    """Parameters in rounds: each once, then those that are listed twice, and so on."""
    once = dict.fromkeys(params)
    if len(once) == len(params):
        return [once]
    times = Counter(params)
    return [{p: None for p in once if times[p] > i} for i in range(max(times.values()))]


def _decay(o: Options) -> Any:
    """The weight decay that is added to the gradient, if there is any."""
    decay = o.get("weight_decay", 0)
    there = (isinstance(decay, Tensor) or decay != 0) and not o.get("decoupled_weight_decay")
    return decay if there else None


def _shrink(o: Options) -> Any:
    """The factor of decoupled weight decay, if there is any."""
    return 1 - o["lr"] * o["weight_decay"] if o.get("decoupled_weight_decay") and o["weight_decay"] != 0 else None


def _real(t: Any) -> Any:
    return view_as_real(t) if t.is_complex() else t
