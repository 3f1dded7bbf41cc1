"""``ZeroRedundancyOptimizer`` (Rajbhandari and others 2020, stage 1): each rank keeps the state of its parameters only.

Each parameter belongs to one rank, so that all have about as many elements. A rank steps its own, and gives the new
values to all.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ...core.tensor import Tensor
from ...optim.optimizer import Optimizer
from ..algorithms.join import Join, Joinable, JoinHook
from ..collectives import start_broadcast
from ..object_collectives import gathered
from ..process_group import ProcessGroup
from ..world import get_group_rank, resolved

__all__ = ["ZeroRedundancyOptimizer"]


class ZeroRedundancyOptimizer(Optimizer, Joinable):
    """An optimizer that keeps the state of a part of the parameters, and steps these; the other ranks do the rest.

    Args:
        params: parameters or groups of them, the same on all ranks.
        optimizer_class: that of the optimizer of each part, such as ``torch.optim.Adam``.
        process_group: the ranks; by default all.
        parameters_as_bucket_view, overlap_with_ddp: accepted; values travel as they are, after the step.
        defaults: options of the optimizer.

    Raises:
        TypeError, ValueError: there are no parameters, or no tensors among them.

    >>> import pullback as torch, pullback.distributed as dist
    >>> from pullback.distributed.optim import ZeroRedundancyOptimizer
    >>> dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
    >>> model = torch.nn.Linear(2, 2)
    >>> optimizer = ZeroRedundancyOptimizer(model.parameters(), torch.optim.Adam, lr=0.1)
    >>> model(torch.ones(1, 2)).sum().backward(); optimizer.step(); len(optimizer.optim.state)
    2
    >>> dist.destroy_process_group()
    """

    def __init__(
        self,
        params: Any,
        optimizer_class: type[Optimizer],
        process_group: Any = None,
        parameters_as_bucket_view: bool = False,
        overlap_with_ddp: bool = False,
        **defaults: Any,
    ) -> None:
        if isinstance(params, Tensor):
            raise TypeError("`params` argument should be an iterable of Tensors, but got torch.Tensor")
        params = list(params)
        if not params:
            raise ValueError("ZeroRedundancyOptimizer got an empty parameter list")
        self.process_group = resolved(process_group)
        self._class, self._options = optimizer_class, defaults
        self.initialized = False
        Optimizer.__init__(self, params, dict(defaults))
        Joinable.__init__(self)
        self._gathered: list[Any] = []
        self._divide()
        self.initialized = True

    def _divide(self) -> None:
        """Give each parameter to a rank: large ones first, each to the rank that has the least so far."""
        size = self.process_group.size()
        everyone = [p for group in self.param_groups for p in group["params"]]
        load = [0] * size
        self._owner: dict[Tensor, int] = {}
        for p in sorted(everyone, key=lambda p: -p.numel()):
            rank = int(np.argmin(load))
            load[rank] += p.numel()
            self._owner[p] = rank
        self._index = {p: i for i, p in enumerate(everyone)}
        mine = []
        for group in self.param_groups:
            own = [p for p in group["params"] if self._owner[p] == self.process_group.rank()]
            mine.append({**{k: v for k, v in group.items() if k != "params"}, "params": own})
        self.optim = self._class(mine, **self._options)
        for group, local in zip(self.param_groups, self.optim.param_groups):
            for name, value in local.items():
                group.setdefault(name, value)

    def _sync_options(self, to_local: bool) -> None:
        for group, local in zip(self.param_groups, self.optim.param_groups):
            source, target = (group, local) if to_local else (local, group)
            target.update({name: value for name, value in source.items() if name != "params"})

    def add_param_group(self, param_group: dict[str, Any]) -> None:
        """Add a group of parameters."""
        super().add_param_group(param_group)
        if self.initialized:
            state = self.optim.state
            self._divide()
            self.optim.state.update({p: state[p] for p in state if self._owner[p] == self.process_group.rank()})

    def step(self, closure: Callable[[], Any] | None = None, **kwargs: Any) -> Any:
        """Step the parameters of this rank, and get the values of the others."""
        Join.notify_join_context(self)
        self._sync_options(True)
        loss = self.optim.step(**({} if closure is None else {"closure": closure}), **kwargs)
        self._sync_options(False)
        self._share()
        return loss

    def _share(self) -> None:
        """Give all ranks the values of the parameters that each has stepped."""
        works = []
        for rank in range(self.process_group.size()):
            kinds: dict[Any, list[Tensor]] = {}
            for p, owner in self._owner.items():
                if owner == rank:
                    kinds.setdefault(p.dtype, []).append(p.detach())
            works += [start_broadcast(self.process_group, alike, rank) for alike in kinds.values()]
        for work in works:
            work.wait()

    def consolidate_state_dict(self, to: int = 0) -> None:
        """Gather the state of all ranks on rank ``to``, where :meth:`state_dict` then returns it."""
        state = {self._index[p]: own for p, own in self.optim.state.items()}
        parts = gathered(self.process_group, state, "consolidate_state_dict")
        root = get_group_rank(self.process_group, to)
        self._gathered = parts if self.process_group.rank() == root else []

    def state_dict(self) -> dict[str, Any]:
        """The state of all parameters.

        Raises:
            RuntimeError: it was not gathered here by :meth:`consolidate_state_dict`.
        """
        if not self._gathered:
            raise RuntimeError(
                "Optimizer state has not been consolidated on this rank. Please call "
                f"`consolidate_state_dict(to={self.process_group.global_rank})` on all ranks beforehand if you meant "
                "to save the global state."
            )
        state = super().state_dict()
        merged: dict[int, Any] = {}
        for part in self._gathered:
            merged.update(part)
        state["state"] = {i: merged[i] for i in sorted(merged)}
        return state

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Take over the state of this rank's parameters from that of all."""
        everyone = list(self._index)
        places = {p: i for i, p in enumerate(p for group in self.optim.param_groups for p in group["params"])}
        known = state_dict["state"]
        groups = []
        for local, saved in zip(self.optim.param_groups, state_dict["param_groups"]):
            groups.append({**saved, "params": [places[p] for p in local["params"]]})
        state = {places[p]: known[i] for i, p in enumerate(everyone) if p in places and i in known}
        self.optim.load_state_dict({"state": state, "param_groups": groups})
        self._sync_options(False)

    def join_hook(self, **kwargs: Any) -> JoinHook:
        """What this rank does when it has no more inputs: step on with the last gradients."""
        return _Steps(self)

    @property
    def join_device(self) -> Any:
        return next(iter(self._index)).device

    @property
    def join_process_group(self) -> ProcessGroup:
        return self.process_group


class _Steps(JoinHook):
    def __init__(self, optimizer: ZeroRedundancyOptimizer) -> None:
        self.optimizer = optimizer

    def main_hook(self) -> None:
        self.optimizer.step()
