"""``GradScaler``: dynamic loss scaling, against underflow of half-precision gradients (Micikevicius et al. 2018)."""

from __future__ import annotations

import warnings
from collections import defaultdict
from collections.abc import Iterable
from enum import Enum
from typing import Any

from ..base.dtypes import float16, float32, int32
from ..base.thread_state import no_grad
from ..core.tensor import Tensor
from ..ops.create import full

__all__ = ["GradScaler", "OptState"]


class OptState(Enum):
    """How far an optimizer is since the last :meth:`GradScaler.update`."""

    READY = 0
    UNSCALED = 1
    STEPPED = 2


def _ready() -> dict[str, Any]:
    return {"stage": OptState.READY, "found_inf": None}


class GradScaler:
    """Scales losses, unscales gradients, skips steps whose gradients are not finite, and adapts the scale.

    Args:
        device: ``"cpu"``; for ``"cuda"``, which there is not, it disables itself with a warning.
        init_scale: the scale to begin with.
        growth_factor: what multiplies it after ``growth_interval`` steps without infinities.
        backoff_factor: what multiplies it after a step with them.
        growth_interval: see above.
        enabled: if False, every method does what there would be without scaling.

    >>> import pullback as torch
    >>> w = torch.ones(1, requires_grad=True)
    >>> optimizer, scaler = torch.optim.SGD([w], lr=0.5), torch.amp.GradScaler("cpu", init_scale=8.0)
    >>> scaler.scale(w.sum()).backward(); w.grad
    tensor([8.])
    >>> scaler.step(optimizer); scaler.update(); w
    tensor([0.5000], requires_grad=True)
    """

    def __init__(
        self,
        device: str = "cuda",
        init_scale: float = 2.0**16,
        growth_factor: float = 2.0,
        backoff_factor: float = 0.5,
        growth_interval: int = 2000,
        enabled: bool = True,
    ) -> None:
        self._device = device
        if enabled and device == "cuda":
            warnings.warn("torch.cuda.amp.GradScaler is enabled, but CUDA is not available.  Disabling.", stacklevel=2)
            enabled = False
        self._enabled = enabled
        if not enabled:
            return
        if growth_factor <= 1.0:
            raise AssertionError("The growth factor must be > 1.0.")
        if backoff_factor >= 1.0:
            raise AssertionError("The backoff factor must be < 1.0.")
        self._init_scale, self._init_growth_tracker = init_scale, 0
        self._growth_factor, self._backoff_factor, self._growth_interval = (
            growth_factor,
            backoff_factor,
            growth_interval,
        )
        self._scale: Tensor | None = None
        self._growth_tracker: Tensor | None = None
        self._per_optimizer_states: dict[int, dict[str, Any]] = defaultdict(_ready)

    def _begun(self, method: str) -> tuple[Tensor, Tensor]:
        if self._scale is None or self._growth_tracker is None:
            raise AssertionError(
                f"Attempted {method} but _scale is None.  This may indicate your script did not use "
                "scaler.scale(loss or outputs) earlier in the iteration."
            )
        return self._scale, self._growth_tracker

    def scale(self, outputs: Any) -> Any:
        """A tensor, or the tensors of an iterable, multiplied by the scale."""
        if not self._enabled:
            return outputs
        if isinstance(outputs, Tensor):
            if self._scale is None:
                self._scale = full((), self._init_scale, dtype=float32)
                self._growth_tracker = full((), self._init_growth_tracker, dtype=int32)
            return outputs * self._scale
        if not isinstance(outputs, Iterable):
            raise ValueError("outputs must be a Tensor or an iterable of Tensors")
        return (
            type(outputs)(map(self.scale, outputs)) if isinstance(outputs, list | tuple) else map(self.scale, outputs)
        )

    def unscale_(self, optimizer: Any) -> None:
        """Divide the gradients of an optimizer's parameters by the scale, in place: to clip them, say.

        Raises:
            RuntimeError: they are unscaled already.
            ValueError: a gradient is of float16.
        """
        if not self._enabled:
            return
        scale, _ = self._begun("unscale_")
        state = self._per_optimizer_states[id(optimizer)]
        if state["stage"] is OptState.UNSCALED:
            raise RuntimeError("unscale_() has already been called on this optimizer since the last update().")
        if state["stage"] is OptState.STEPPED:
            raise RuntimeError("unscale_() is being called after step().")
        inverse, found = scale.double().reciprocal().float(), False
        with no_grad():
            for param in (p for group in optimizer.param_groups for p in group["params"] if p.grad is not None):
                if param.grad.dtype is float16:
                    raise ValueError("Attempting to unscale FP16 gradients.")
                found = found or not bool(param.grad.isfinite().all())
                param.grad.mul_(inverse)
                state["found_inf"] = found
        state["stage"] = OptState.UNSCALED

    def step(self, optimizer: Any, *args: Any, **kwargs: Any) -> Any:
        """``optimizer.step(*args, **kwargs)`` with unscaled gradients, or nothing if they are not finite.

        Raises:
            RuntimeError: it is the second step since :meth:`update`, or has a closure.
        """
        if not self._enabled:
            return optimizer.step(*args, **kwargs)
        if "closure" in kwargs:
            raise RuntimeError("Closure use is not currently supported if GradScaler is enabled.")
        self._begun("step")
        state = self._per_optimizer_states[id(optimizer)]
        if state["stage"] is OptState.STEPPED:
            raise RuntimeError("step() has already been called since the last update().")
        if state["stage"] is OptState.READY:
            self.unscale_(optimizer)
        if state["found_inf"] is None:
            raise AssertionError("No inf checks were recorded for this optimizer.")
        result = None if state["found_inf"] else optimizer.step(*args, **kwargs)
        state["stage"] = OptState.STEPPED
        return result

    def update(self, new_scale: Any = None) -> None:
        """Adapt the scale after the steps of an iteration, or set it."""
        if not self._enabled:
            return
        scale, tracker = self._begun("update")
        if new_scale is not None:
            if isinstance(new_scale, Tensor) and (new_scale.numel() != 1 or new_scale.requires_grad):
                raise AssertionError(
                    "new_scale should be a float or a 1-element torch.cuda.FloatTensor or "
                    "torch.FloatTensor with requires_grad=False."
                )
            scale.fill_(new_scale)
        else:
            found = [s["found_inf"] for s in self._per_optimizer_states.values() if s["found_inf"] is not None]
            if not found:
                raise AssertionError("No inf checks were recorded prior to update.")
            if any(found):
                scale.mul_(self._backoff_factor)
                tracker.fill_(0)
            elif tracker.add_(1) == self._growth_interval:
                grown = scale * self._growth_factor
                scale.copy_(grown if grown.isfinite() else scale)
                tracker.fill_(0)
        self._per_optimizer_states = defaultdict(_ready)

    def get_scale(self) -> float:
        """The scale; 1.0 if disabled."""
        if not self._enabled:
            return 1.0
        return self._init_scale if self._scale is None else self._scale.item()

    def get_growth_factor(self) -> float:
        """See the class."""
        return self._growth_factor

    def set_growth_factor(self, new_factor: float) -> None:
        """See the class."""
        self._growth_factor = new_factor

    def get_backoff_factor(self) -> float:
        """See the class."""
        return self._backoff_factor

    def set_backoff_factor(self, new_factor: float) -> None:
        """See the class."""
        self._backoff_factor = new_factor

    def get_growth_interval(self) -> int:
        """See the class."""
        return self._growth_interval

    def set_growth_interval(self, new_interval: int) -> None:
        """See the class."""
        self._growth_interval = new_interval

    def _get_growth_tracker(self) -> int:
        if not self._enabled:
            return 0
        return self._init_growth_tracker if self._growth_tracker is None else int(self._growth_tracker)

    def is_enabled(self) -> bool:
        """Whether it does anything."""
        return self._enabled

    def state_dict(self) -> dict[str, Any]:
        """The scale and how it grows, as numbers; empty if disabled."""
        if not self._enabled:
            return {}
        return {
            "scale": self.get_scale(),
            "growth_factor": self._growth_factor,
            "backoff_factor": self._backoff_factor,
            "growth_interval": self._growth_interval,
            "_growth_tracker": self._get_growth_tracker(),
        }

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Go on from what :meth:`state_dict` gave.

        Raises:
            RuntimeError: it is empty.
        """
        if not self._enabled:
            return
        if len(state_dict) == 0:
            raise RuntimeError(
                "The source state dict is empty, possibly because it was saved from a disabled instance of GradScaler."
            )
        self._init_scale, self._init_growth_tracker = state_dict["scale"], state_dict["_growth_tracker"]
        self._growth_factor, self._backoff_factor = state_dict["growth_factor"], state_dict["backoff_factor"]
        self._growth_interval = state_dict["growth_interval"]
        if self._scale is not None and self._growth_tracker is not None:
            self._scale.fill_(self._init_scale)
            self._growth_tracker.fill_(self._init_growth_tracker)

    def __getstate__(self) -> dict[str, Any]:
        state = self.__dict__.copy()
        if self._enabled:
            if self._per_optimizer_states:
                raise AssertionError(
                    "A GradScaler instance may only be pickled at the beginning of an iteration, "
                    "or at the end after scaler.update()."
                )
            state.update(
                _init_scale=self.get_scale(),
                _init_growth_tracker=self._get_growth_tracker(),
                _scale=None,
                _growth_tracker=None,
            )
        return state
