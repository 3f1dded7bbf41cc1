"""L-BFGS, a quasi-Newton method with an optional strong Wolfe line search."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from ..base.dtypes import COMPLEX_KINDS
from ..base.thread_state import enable_grad, no_grad
from ..core.record import wrap
from ..core.tensor import Tensor
from ..core.versions import bump_version
from .flat_params import real
from .optimizer import Optimizer, ParamsT, check_options, dense, number

__all__ = ["LBFGS"]


class LBFGS(Optimizer):
    """Newton's method with curvature estimated from the latest steps, for smooth losses without noise.

    A call of :meth:`step` makes up to ``max_iter`` iterations (Nocedal and Wright 2006, algorithms 7.4 and 7.5)
    and needs a closure, which it calls at least once each. All parameters form one vector.

    Args:
        params: parameters; one group only.
        lr: the learning rate, a number or a one-element tensor; with a line search, the first step tried.
        max_iter: iterations in a step.
        max_eval: calls of the closure in a step; None: a quarter more than iterations.
        tolerance_grad: stop when no element of the gradient is larger.
        tolerance_change: stop when neither the parameters nor the loss change by more.
        history_size: how many steps to remember.
        line_search_fn: None for steps of fixed length, or ``"strong_wolfe"``.

    Raises:
        ValueError: for a negative learning rate, or more than one group.

    >>> import pullback as torch
    >>> w = torch.tensor([-1.2, 1.0], requires_grad=True)
    >>> optimizer = torch.optim.LBFGS([w], max_iter=60, line_search_fn="strong_wolfe")
    >>> def rosenbrock():
    ...     optimizer.zero_grad()
    ...     loss = (1 - w[0]) ** 2 + 100 * (w[1] - w[0] ** 2) ** 2
    ...     loss.backward()
    ...     return loss
    >>> _ = optimizer.step(rosenbrock); w
    tensor([1.0000, 1.0000], requires_grad=True)
    """

    def __init__(
        self,
        params: ParamsT,
        lr: float | Tensor = 1,
        max_iter: int = 20,
        max_eval: int | None = None,
        tolerance_grad: float = 1e-7,
        tolerance_change: float = 1e-9,
        history_size: int = 100,
        line_search_fn: str | None = None,
    ) -> None:
        check_options(lr=lr)
        super().__init__(
            params,
            {
                "lr": lr,
                "max_iter": max_iter,
                "max_eval": max_iter * 5 // 4 if max_eval is None else max_eval,
                "tolerance_grad": tolerance_grad,
                "tolerance_change": tolerance_change,
                "history_size": history_size,
                "line_search_fn": line_search_fn,
            },
        )
        if len(self.param_groups) != 1:
            raise ValueError("LBFGS doesn't support per-parameter options (parameter groups)")

    @property
    def _params(self) -> list[Tensor]:
        return self.param_groups[0]["params"]

    @no_grad()
    def step(self, closure: Callable[[], Any]) -> Any:  # type: ignore[override]
        """Make up to ``max_iter`` iterations.

        Args:
            closure: computes the gradients anew and returns the loss.

        Returns:
            the first loss.
        """
        closure = enable_grad()(closure)
        o, state = self.param_groups[0], self.state[self._params[0]]
        lr = o["lr"].squeeze() if isinstance(o["lr"], Tensor) else o["lr"]
        state.setdefault("func_evals", 0)
        state.setdefault("n_iter", 0)

        first_loss = closure()
        loss, g, evaluations = float(first_loss), self._gradient(), 1
        state["func_evals"] += 1
        if g.abs().max() <= o["tolerance_grad"]:
            return first_loss

        d, t = state.get("d"), state.get("t")
        for iteration in range(1, o["max_iter"] + 1):
            state["n_iter"] += 1
            d = self._direction(state, g, d, t)
            state["prev_flat_grad"], state["prev_loss"] = g.clone(), loss
            first = state["n_iter"] == 1
            total: Any = g.abs().sum()
            t = min(1.0, 1.0 / total) * lr if first else lr
            slope = g.dot(d)
            if slope > -o["tolerance_change"]:
                break
            calls = 0
            if o["line_search_fn"] is not None:
                if o["line_search_fn"] != "strong_wolfe":
                    raise RuntimeError("only 'strong_wolfe' is supported")
                start = Point(0, loss, g, slope)
                search = StrongWolfe(self._line(closure, d), start, o["max_eval"] - evaluations)
                (t, loss, g, _), calls = search(t, d.abs().max()), search.calls
                self._move(t, d)
            else:
                self._move(t, d)
                if iteration != o["max_iter"]:  # the gradient after the last step is for the next call
                    loss, g, calls = float(closure()), self._gradient(), 1
            evaluations += calls
            state["func_evals"] += calls
            if (
                evaluations >= o["max_eval"]
                or g.abs().max() <= o["tolerance_grad"]
                or d.mul(t).abs().max() <= o["tolerance_change"]
                or abs(loss - state["prev_loss"]) < o["tolerance_change"]
            ):
                break
        state["d"], state["t"] = d, t
        return first_loss

    def _direction(self, state: dict[str, Any], g: Tensor, d: Any, t: Any) -> Tensor:
        """Minus the inverse Hessian times the gradient, after a step of length ``t`` along ``d``."""
        if state["n_iter"] == 1:
            state |= {"old_dirs": [], "old_stps": [], "ro": [], "H_diag": 1}
            return g.neg()
        old_y, old_s, ro = state["old_dirs"], state["old_stps"], state["ro"]
        y, s = g.sub(state["prev_flat_grad"]), d.mul(t)
        ys = y.dot(s)
        if ys > 1e-10:
            size = self.param_groups[0]["history_size"]
            for history, new in ((old_y, y), (old_s, s), (ro, 1.0 / ys)):
                if len(history) == size:
                    history.pop(0)
                history.append(new)
            state["H_diag"] = ys / y.dot(y)
        al = state.setdefault("al", [None] * self.param_groups[0]["history_size"])
        steps = [(s._array, y._array, rho._array[()]) for s, y, rho in zip(old_s, old_y, ro)]
        r = -g._array
        for i, (s, y, rho) in reversed(list(enumerate(steps))):
            part = s.dot(r) * rho
            r -= part * y
            al[i] = wrap(np.asarray(part))
        r *= number(state["H_diag"])
        for (s, y, rho), part in zip(steps, al):
            r += (part._array - y.dot(r) * rho) * s
        return wrap(r)

    def _line(self, closure: Callable[[], Any], d: Tensor) -> Callable[[Any], Point]:
        """The loss along ``d``, as a function of the distance from here."""
        start = [p._array.copy() for p in self._params]

        def at(t: Any) -> Point:
            self._move(t, d)
            loss, g = float(closure()), self._gradient()
            for p, array in zip(self._params, start):
                p._array[...] = array
            bump_version(*[p._array for p in self._params])
            return Point(t, loss, g, g.dot(d))

        return at

    def _gradient(self) -> Tensor:
        """The gradients of all parameters as one vector; complex numbers as pairs of real ones."""
        parts = []
        for p in self._params:
            part = (np.zeros_like(p._array) if p._grad is None else dense(p)).ravel()
            parts.append(real(part))
        return wrap(np.concatenate(parts))

    def _move(self, t: Any, d: Tensor) -> None:
        """Move the parameters by ``t`` along ``d``."""
        start, t = 0, float(t)
        for p in self._params:
            array = p._array
            stop = start + array.size * (1 + (array.dtype.kind in COMPLEX_KINDS))
            step = d._array[start:stop].view(array.dtype).reshape(array.shape)
            np.add(array, t * step, array, casting="unsafe")
            start = stop
        bump_version(*[p._array for p in self._params])


class Point(NamedTuple):
    """A point on a line: where it is, the loss, the gradient and the slope there."""

    t: Any
    loss: float
    g: Tensor
    slope: Any


class StrongWolfe:
    """Line search for a point that has descended enough and is flat enough.

    (Nocedal and Wright 2006, algorithms 3.5 and 3.6.) That is: ``loss <= start.loss + c1 t start.slope`` and
    ``|slope| <= c2 |start.slope|``.

    Attributes:
        calls: how often the loss was computed.
    """

    c1, c2, tolerance = 1e-4, 0.9, 1e-9

    def __init__(self, line: Callable[[Any], Point], start: Point, most: int) -> None:
        self.line, self.start, self.most = line, start, most
        self.calls = 0

    def __call__(self, t: Any, length: Any) -> Point:
        """Search, beginning at ``t``; ``length`` is the largest element of the direction."""
        bracket = self._bracket(t)
        low = _lower(bracket)
        if len(bracket) == 1:
            return bracket[0]
        stuck = False
        while self.calls <= self.most and abs(bracket[1].t - bracket[0].t) * length >= self.tolerance:
            t = _minimum(bracket[0], bracket[1])
            left, right = min(p.t for p in bracket), max(p.t for p in bracket)
            margin = 0.1 * (right - left)
            near = min(right - t, t - left) < margin
            if near and (stuck or t >= right or t <= left):  # too near an end, twice: keep away from it
                t = right - margin if abs(t - right) < abs(t - left) else left + margin
                near = False
            stuck = near
            new = self._at(t)
            if self._too_high(new) or new.loss >= bracket[low].loss:
                bracket[1 - low] = new
                low = _lower(bracket)
            else:
                if self._flat(new):
                    return new
                if new.slope * (bracket[1 - low].t - bracket[low].t) >= 0:
                    bracket[1 - low] = bracket[low]
                bracket[low] = new
        return bracket[low]

    def _bracket(self, t: Any) -> list[Point]:
        """Two points with a good one between them, or a good one alone."""
        before, new = self.start, self._at(t)
        while self.calls <= self.most:
            if self._too_high(new) or (self.calls > 2 and new.loss >= before.loss):
                return [before, new]
            if self._flat(new):
                return [new]
            if new.slope >= 0:
                return [before, new]
            t = _minimum(before, new, (new.t + 0.01 * (new.t - before.t), new.t * 10))
            before, new = new, self._at(t)
        return [self.start, new]

    def _at(self, t: Any) -> Point:
        self.calls += 1
        return self.line(t)

    def _too_high(self, p: Point) -> bool:
        return bool(p.loss > self.start.loss + self.c1 * p.t * self.start.slope)

    def _flat(self, p: Point) -> bool:
        return bool(abs(p.slope) <= -self.c2 * self.start.slope)


def _lower(bracket: list[Point]) -> int:
    return 0 if bracket[0].loss <= bracket[-1].loss else 1


def _minimum(a: Point, b: Point, bounds: tuple[Any, Any] | None = None) -> Any:
    """Where the cubic through two points with slopes is least (Nocedal and Wright 2006, equation 3.59)."""
    if a.t > b.t:
        a, b = b, a
    lowest, highest = bounds or (a.t, b.t)
    d1 = a.slope + b.slope - 3 * (a.loss - b.loss) / (a.t - b.t)
    square = d1**2 - a.slope * b.slope
    if not square >= 0:
        return (lowest + highest) / 2.0
    d2 = square.sqrt()
    t = b.t - (b.t - a.t) * ((b.slope + d2 - d1) / (b.slope - a.slope + 2 * d2))
    return min(max(t, lowest), highest)


def _strong_wolfe(
    obj_func: Callable[..., tuple[float, Tensor]],
    x: Any,
    t: Any,
    d: Tensor,
    f: float,
    g: Tensor,
    gtd: Any,
    c1: float = 1e-4,
    c2: float = 0.9,
    tolerance_change: float = 1e-9,
    max_ls: int = 25,
) -> tuple[float, Tensor, Any, int]:
    """The line search as a function, as libraries of optimizers import it: the loss, the gradient, the step and the
    calls.
    """

    def at(t: Any) -> Point:
        loss, gradient = obj_func(x, t, d)
        return Point(t, loss, gradient, gradient.dot(d))

    search = StrongWolfe(at, Point(0, f, g, gtd), max_ls)
    search.c1, search.c2, search.tolerance = c1, c2, tolerance_change
    t, loss, gradient, _ = search(t, d.abs().max())
    return loss, gradient, t, search.calls


def _cubic_interpolate(
    x1: Any, f1: Any, g1: Any, x2: Any, f2: Any, g2: Any, bounds: tuple[Any, Any] | None = None
) -> Any:
    """Where the cubic through two points with slopes is least, between them or the bounds."""
    return _minimum(Point(x1, f1, g1, g1), Point(x2, f2, g2, g2), bounds)
