"""Schedules: in which order the stages of a pipeline compute the parts of a batch, and pull gradients back."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import Any

from ...base import thread_state
from ...core.tensor import Tensor
from ...ops.concat import cat
from ..errors import refuse_options
from .stage import PipelineStage

__all__ = [
    "PipelineScheduleMulti",
    "PipelineScheduleSingle",
    "Schedule1F1B",
    "ScheduleGPipe",
    "ScheduleInterleaved1F1B",
    "ScheduleLoopedBFS",
    "get_schedule_class",
]


class _Schedule(ABC):
    """A schedule of the stages that a rank has.

    Args:
        stages: this rank's, in order.
        n_microbatches: into how many parts a batch is cut, along the first dimension.
        loss_fn: ``loss_fn(output, target)``, for the last stage; without one there is no backward.
        scale_grads: whether gradients are divided by the number of parts, as those of the mean over the batch are.
    """

    def __init__(
        self,
        stages: Sequence[PipelineStage],
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
        self._stages, self._n_microbatches, self._loss_fn = list(stages), n_microbatches, loss_fn
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
            The output, on the last stage, unless ``return_outputs`` is False; None on others.
        """
        output = self._run(args, kwargs, target, losses, self._has_backward)
        return output if return_outputs else None

    def eval(self, *args: Any, target: Any = None, losses: list[Any] | None = None, **kwargs: Any) -> Any:
        """Run a batch forward only."""
        with thread_state.set_grad_enabled(False):
            return self._run(args, kwargs, target, losses, False)

    def _run(self, args: Any, kwargs: Any, target: Any, losses: list[Any] | None, training: bool) -> Any:
        number = self._n_microbatches
        self._args = [self._cut(args, i) for i in range(number)]
        self._kwargs = [dict(zip(kwargs, self._cut(tuple(kwargs.values()), i))) for i in range(number)]
        self._targets = [None if target is None else self._cut((target,), i)[0] for i in range(number)]
        self._outputs: list[Any] = []
        self._losses: list[Any] = []
        self._order(training)
        for stage in self._stages:
            stage.settle()
            if training and self._scale:
                stage.scale_grads(number)
        if losses is not None and self._outputs:
            losses[:] = self._losses
        return self._merged() if self._outputs else None

    def _cut(self, values: tuple[Any, ...], i: int) -> tuple[Any, ...]:
        return tuple(v.tensor_split(self._n_microbatches)[i] if isinstance(v, Tensor) else v for v in values)

    def _merged(self) -> Any:
        first = self._outputs[0]
        if isinstance(first, (list, tuple)):
            return type(first)(cat([out[i] for out in self._outputs]) for i in range(len(first)))
        return cat(self._outputs)

    def _forward(self, stage: PipelineStage, i: int, training: bool) -> None:
        output = stage.forward_one(i, self._args[i] if stage.is_first else (), self._kwargs[i], training)
        if stage.is_last:
            self._outputs.append(output.detach() if isinstance(output, Tensor) else output)
            if self._loss_fn is not None and self._targets[i] is not None:
                self._losses.append(self._loss_fn(output, self._targets[i]))

    def _backward(self, stage: PipelineStage, i: int) -> None:
        stage.backward_one(i, self._losses[i] if stage.is_last else None)

    @abstractmethod
    def _order(self, training: bool) -> None:
        """Compute all parts, forward and backward."""


# --- one stage a rank -------------------------------------------------------------------------------------------


class PipelineScheduleSingle(_Schedule):
    """A schedule of one stage a rank.

    Args:
        stage: this rank's.
    """

    def __init__(self, stage: PipelineStage, n_microbatches: int, *args: Any, **kwargs: Any) -> None:
        super().__init__([stage], n_microbatches, *args, **kwargs)
        self._stage = stage


class ScheduleGPipe(PipelineScheduleSingle):
    """All parts forward, then all backward (Huang and others 2019)."""

    def _order(self, training: bool) -> None:
        for i in range(self._n_microbatches):
            self._forward(self._stage, i, training)
        if training:
            for i in range(self._n_microbatches):
                self._backward(self._stage, i)


class Schedule1F1B(PipelineScheduleSingle):
    """As many parts forward as there are stages from here on, then one backward and one forward in turns, so that few
    are kept (Narayanan and others 2019).

    Raises:
        ValueError: there are fewer parts than stages.
    """

    def __init__(self, stage: PipelineStage, n_microbatches: int, *args: Any, **kwargs: Any) -> None:
        super().__init__(stage, n_microbatches, *args, **kwargs)
        if n_microbatches < stage.num_stages:
            raise ValueError(
                f"Number of microbatches ({n_microbatches}) must be greater than or equal to the number of stages "
                f"({stage.num_stages})."
            )

    def _order(self, training: bool) -> None:
        number, stage = self._n_microbatches, self._stage
        ahead = min(stage.num_stages - stage.stage_index, number) if training else number
        for i in range(ahead):
            self._forward(stage, i, training)
        if training:
            for i in range(number):
                self._backward(stage, i)
                if ahead + i < number:
                    self._forward(stage, ahead + i, training)


# --- several stages a rank --------------------------------------------------------------------------------------


class PipelineScheduleMulti(_Schedule):
    """A schedule of several stages a rank: of ``n`` ranks, rank ``r`` has the stages ``r``, ``r + n``, ``r + 2 n``, ...

    Args:
        stages: this rank's, in order.

    Raises:
        ValueError: there is but one stage a rank.
    """

    def __init__(self, stages: Sequence[PipelineStage], n_microbatches: int, *args: Any, **kwargs: Any) -> None:
        super().__init__(stages, n_microbatches, *args, **kwargs)
        if len(stages) <= 1:
            raise ValueError(f"Multi-stage schedule expects at least two stages but got {len(stages)}")


class ScheduleLoopedBFS(PipelineScheduleMulti):
    """Each stage computes all parts before the rank's next one does (Lamy-Poirier 2022)."""

    def _order(self, training: bool) -> None:
        for stage in self._stages:
            for i in range(self._n_microbatches):
                self._forward(stage, i, training)
        if training:
            for stage in reversed(self._stages):
                for i in range(self._n_microbatches):
                    self._backward(stage, i)


class ScheduleInterleaved1F1B(PipelineScheduleMulti):
    """One forward and one backward in turns, the rank's stages taking turns too (Narayanan and others 2021).

    Raises:
        ValueError: the parts cannot be divided into rounds.
    """

    def __init__(self, stages: Sequence[PipelineStage], n_microbatches: int, *args: Any, **kwargs: Any) -> None:
        super().__init__(stages, n_microbatches, *args, **kwargs)
        rounds = max(1, n_microbatches // stages[0].group_size)
        if n_microbatches % rounds:
            raise ValueError(
                "Interleaved 1F1B requires the number of microbatches to be a multiple of the number of rounds "
                f"({rounds}), but got {n_microbatches}."
            )
        self._round = n_microbatches // rounds  # parts that a stage computes before the next has its turn

    def _order(self, training: bool) -> None:
        stages, number = self._stages, self._n_microbatches
        count, total = len(stages), len(stages) * number
        after = stages[0].group_size - 1 - stages[0].group_rank
        ahead = min((count - 1) * self._round + 2 * after, total) if training else total
        done = [[0] * count, [0] * count]

        def turn(k: int, back: int) -> None:
            at = k // self._round % count
            at = count - 1 - at if back else at
            i, done[back][at] = done[back][at], done[back][at] + 1
            if back:
                self._backward(stages[at], i)
            else:
                self._forward(stages[at], i, training)

        for k in range(ahead):
            turn(k, 0)
        if training:
            for k in range(total):
                if ahead + k < total:
                    turn(ahead + k, 0)
                turn(k, 1)


def get_schedule_class(schedule_name: str) -> type[_Schedule]:
    """The schedule of that name: ``"GPipe"``, ``"1F1B"``, ``"Interleaved1F1B"``, ``"LoopedBFS"``.

    Raises:
        ValueError: there is none.
    """
    known: dict[str, type[_Schedule]] = {
        "1f1b": Schedule1F1B,
        "gpipe": ScheduleGPipe,
        "interleaved1f1b": ScheduleInterleaved1F1B,
        "loopedbfs": ScheduleLoopedBFS,
    }
    if schedule_name.lower() not in known:
        raise ValueError(f"Unknown schedule name '{schedule_name}'. The valid options are {list(known)}")
    return known[schedule_name.lower()]
