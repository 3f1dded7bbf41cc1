"""``PipelineStage``: the part of a model that one rank has, and what it exchanges with the ranks before and after."""

from __future__ import annotations

from typing import Any

from ...base.dtypes import NAMES
from ...core.tensor import Tensor
from ...engine.api import backward
from ...nn.modules.module import Module
from ...ops.create import empty, zeros_like
from ..point_to_point import irecv, isend, recv_object_list, send_object_list
from ..process_group import ProcessGroup
from ..work import Work
from ..world import resolved

__all__ = ["PipelineStage"]


def as_tuple(value: Any) -> tuple[Any, ...]:
    """Several values, also of one."""
    return tuple(value) if isinstance(value, (list, tuple)) else (value,)


class PipelineStage:
    """A part of a model, the outputs of which are the inputs of the next.

    Args:
        submodule: the part.
        stage_index, num_stages: which part it is, and how many there are; of ``n`` ranks, rank ``stage_index % n`` has
            it.
        device: ``"cpu"``.
        input_args, output_args: accepted: shapes are told with the first micro-batch.
        group: the ranks; by default all.

    Raises:
        ValueError: the index is beyond them, or not all ranks have equally many stages.
    """

    def __init__(
        self,
        submodule: Module,
        stage_index: int,
        num_stages: int,
        device: Any = "cpu",
        input_args: Any = None,
        output_args: Any = None,
        group: Any = None,
        dw_builder: Any = None,
    ) -> None:
        self.group: ProcessGroup = resolved(group)
        if num_stages < self.group.size():
            raise ValueError(
                f"Pipeline group size {self.group.size()} cannot be larger than number of stages {num_stages}"
            )
        if num_stages % self.group.size():
            raise NotImplementedError(f"{num_stages} stages on {self.group.size()} ranks: not as many on each")
        if not 0 <= stage_index < num_stages:
            raise ValueError(f"Stage index {stage_index} is out of range of {num_stages}")
        self.submod, self.stage_index, self.num_stages = submodule, stage_index, num_stages
        self.group_rank, self.group_size = self.group.rank(), self.group.size()
        self._before, self._after = ((stage_index + step) % self.group_size for step in (-1, 1))
        self._forms: list[tuple[tuple[int, ...], str, bool]] | None = None  # of the inputs, once they are told
        self._told = False
        self._kept: dict[int, tuple[tuple[Any, ...], tuple[Any, ...]]] = {}
        self._under_way: list[tuple[Work, Tensor]] = []

    @property
    def is_first(self) -> bool:
        """Whether the inputs are the program's."""
        return self.stage_index == 0

    @property
    def is_last(self) -> bool:
        """Whether the outputs are the program's."""
        return self.stage_index == self.num_stages - 1

    # --- between the ranks --------------------------------------------------------------------------------------

    def _send(self, tensors: list[Tensor], to: int, tag: int) -> None:
        for i, tensor in enumerate(tensors):
            work = isend(tensor, group=self.group, group_dst=to, tag=tag + i)
            if work is not None:
                self._under_way.append((work, tensor))  # it must stay as it is until then

    def _receive(self, source: int, tag: int, like: list[Tensor]) -> list[Tensor]:
        for i, tensor in enumerate(like):
            work = irecv(tensor, group=self.group, group_src=source, tag=tag + i)
            if work is not None:
                work.wait()
        return like

    def settle(self) -> None:
        """Wait for what was sent."""
        for work, _ in self._under_way:
            work.wait()
        self._under_way.clear()

    # --- computing ----------------------------------------------------------------------------------------------

    def forward_one(self, number: int, args: tuple[Any, ...], kwargs: dict[str, Any], training: bool) -> Any:
        """Compute a micro-batch: of the program's arguments on the first stage, else of what the one before sent."""
        tag = 64 * number
        inputs = args
        if not self.is_first:
            if self._forms is None:
                told: list[Any] = [None]
                recv_object_list(told, group=self.group, group_src=self._before)
                self._forms = told[0]
            received = [empty(shape, dtype=NAMES[kind]) for shape, kind, _ in self._forms]
            self._receive(self._before, tag, received)
            inputs = tuple(
                x.requires_grad_(floating and training) for x, (_, _, floating) in zip(received, self._forms)
            )
        result = self.submod(*inputs, **kwargs)
        outputs = as_tuple(result)
        if not self.is_last:
            if not self._told:
                forms = [(tuple(x.shape), str(x.dtype).rpartition(".")[2], x.is_floating_point()) for x in outputs]
                send_object_list([forms], group=self.group, group_dst=self._after)
                self._told = True
            self._send([x.detach().contiguous() for x in outputs], self._after, tag)
        self._kept[number] = inputs, outputs
        return result

    def backward_one(self, number: int, loss: Tensor | None) -> None:
        """Pull the gradient of a micro-batch back: of the loss on the last stage, else what the one after sent."""
        inputs, outputs = self._kept.pop(number)
        tag = 64 * number + 32
        if loss is not None:
            loss.backward()
        else:
            wanted = [x for x in outputs if x.requires_grad]
            grads = self._receive(self._after, tag, [zeros_like(x.detach()).contiguous() for x in wanted])
            backward(wanted, grads)
        if not self.is_first:
            floating = [x for x in inputs if x.requires_grad]
            back = [zeros_like(x.detach()) if x.grad is None else x.grad for x in floating]
            self._send([x.contiguous() for x in back], self._before, tag)

    def scale_grads(self, factor: int) -> None:
        """Divide the gradients of the parameters."""
        if factor != 1:
            for p in self.submod.parameters():
                if p.grad is not None:
                    p.grad.div_(factor)
