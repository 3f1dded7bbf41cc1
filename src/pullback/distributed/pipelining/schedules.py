"""Schedules: in which order the stages of a pipeline compute the parts of a batch, and pull gradients back."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any

from ...base import thread_state
from ...core.tensor import Tensor
from ...ops.concat import cat
from ..errors import refuse_options
from .stage import PipelineStage

__all__ = ["Schedule1F1B", "ScheduleGPipe"]


class _Schedule(ABC):
    """A schedule of one stage a rank.

    Args:
        stage: this rank's.
        n_microbatches: into how many parts a batch is cut, along the first dimension.
        loss_fn: ``loss_fn(output, target)``, for the last stage; without one there is no backward.
        scale_grads: whether gradients are divided by the number of parts, as those of the mean over the batch are.
    """

    def __init__(
        self,
        stage: PipelineStage,
        n_microbatches: int,
        loss_fn: Callable[..., Tensor] | None = None,
        args_chunk_spec: Any = None,
        kwargs_chunk_spec: Any = None,
        output_merge_spec: Any = None,
        scale_grads: bool = True,
    ) -> None:
        refuse_options(
            type(self).__name__,
            args_chunk_spec=args_chunk_spec,
            kwargs_chunk_spec=kwargs_chunk_spec,
            output_merge_spec=output_merge_spec,
        )
        self._stage, self._n_microbatches, self._loss_fn = stage, n_microbatches, loss_fn
        self._scale = scale_grads
        self._has_backward = loss_fn is not None

    def step(
        self,
        *args: Any,
        target: Any = None,
        losses: list[Any] | None = None,
        return_outputs: bool = True,
        **kwargs: Any,
    ) -> Any:
        """Run a batch through the pipeline: all ranks call this.

        Args:
            args: of the first stage; None on others.
            target: of the loss; on the last stage.
            losses: is filled with the losses of the parts, on the last stage.

        Returns:
            The output, on the last stage; None on others.
        """
        return self._run(args, kwargs, target, losses, self._has_backward)

    def eval(self, *args: Any, target: Any = None, losses: list[Any] | None = None, **kwargs: Any) -> Any:
        """Run a batch forward only."""
        with thread_state.set_grad_enabled(False):
            return self._run(args, kwargs, target, losses, False)

    def _run(self, args: Any, kwargs: Any, target: Any, losses: list[Any] | None, training: bool) -> Any:
        stage, number = self._stage, self._n_microbatches
        self._args = [self._cut(args, i) for i in range(number)] if stage.is_first else [()] * number
        self._kwargs = [dict(zip(kwargs, self._cut(tuple(kwargs.values()), i))) for i in range(number)]
        self._targets = [None if target is None else self._cut((target,), i)[0] for i in range(number)]
        self._outputs: list[Any] = []
        self._losses: list[Any] = []
        self._order(training)
        stage.settle()
        if training and self._scale:
            stage.scale_grads(number)
        if losses is not None and stage.is_last:
            losses[:] = self._losses
        return self._merged() if stage.is_last else None

    def _cut(self, values: tuple[Any, ...], i: int) -> tuple[Any, ...]:
        return tuple(v.tensor_split(self._n_microbatches)[i] if isinstance(v, Tensor) else v for v in values)

    def _merged(self) -> Any:
        first = self._outputs[0]
        if isinstance(first, (list, tuple)):
            return type(first)(cat([out[i] for out in self._outputs]) for i in range(len(first)))
        return cat(self._outputs)

    def _forward(self, i: int, training: bool) -> None:
        output = self._stage.forward_one(i, self._args[i], self._kwargs[i], training)
        if self._stage.is_last:
            self._outputs.append(output.detach() if isinstance(output, Tensor) else output)
            if self._loss_fn is not None and self._targets[i] is not None:
                self._losses.append(self._loss_fn(output, self._targets[i]))

    def _backward(self, i: int) -> None:
        self._stage.backward_one(i, self._losses[i] if self._stage.is_last else None)

    @abstractmethod
    def _order(self, training: bool) -> None:
        """Compute all parts, forward and backward."""


class ScheduleGPipe(_Schedule):
    """All parts forward, then all backward (Huang and others 2019)."""

    def _order(self, training: bool) -> None:
        for i in range(self._n_microbatches):
            self._forward(i, training)
        if training:
            for i in range(self._n_microbatches):
                self._backward(i)


class Schedule1F1B(_Schedule):
    """As many parts forward as there are stages from here on, then one backward and one forward in turns, so that few
    are kept (Narayanan and others 2019).
    """

    def _order(self, training: bool) -> None:
        number = self._n_microbatches
        ahead = min(self._stage.num_stages - self._stage.stage_index, number) if training else number
        for i in range(ahead):
            self._forward(i, training)
        if training:
            for i in range(number):
                self._backward(i)
                if ahead + i < number:
                    self._forward(ahead + i, training)
