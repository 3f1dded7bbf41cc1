"""Tensor parallel styles: how a layer's parameters, inputs and outputs lie on the ranks (Shoeybi and others 2019).

A layer cut by columns gives each rank a part of the output's features; one cut by rows takes such a part, and adds up.
Between the two nothing has to travel. Activations are the ranks' own tensors; where their placement changes, the
gradient goes back by the opposite collective.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

from ....core.tensor import Tensor
from ....nn import functional as F
from ....nn.modules.linear import Linear
from ....nn.modules.module import Module
from ....nn.modules.sparse import Embedding
from ....nn.parameter import Parameter
from ....ops.where import where
from ...device_mesh import DeviceMesh
from ...nn.functional import reduce_scatter
from ..dtensor import DTensor, distribute_tensor
from ..layouts import Add, Gather, Split, entered
from ..placement_types import Partial, Placement, Replicate, Shard, part_of

__all__ = [
    "ColwiseParallel",
    "ParallelStyle",
    "PrepareModuleInput",
    "PrepareModuleInputOutput",
    "PrepareModuleOutput",
    "RowwiseParallel",
    "SequenceParallel",
]


def moved(x: Tensor, now: Placement, wanted: Placement, mesh: DeviceMesh, length: int | None = None) -> Tensor:
    """A rank's own tensor after its placement has changed.

    Args:
        length: of the whole along the dimension that it is cut along; by default all parts are equal.

    Raises:
        RuntimeError: to ``Partial``.
    """
    group = mesh.get_group()
    if now == wanted:
        return x
    if isinstance(now, Partial) and isinstance(wanted, Shard):
        dim = wanted.dim % x.ndim
        if dim == 0 and x.shape[0] % group.size() == 0:
            return reduce_scatter(x[: x.shape[0] // group.size()], x.chunk(group.size()), group=group)
        return Split.apply(Add.apply(x, now.reduce_op, group), dim, group)
    if isinstance(now, Partial):
        return Add.apply(x, now.reduce_op, group)
    if isinstance(now, Shard):
        dim = now.dim % x.ndim
        x = Gather.apply(x, dim, x.shape[dim] * group.size() if length is None else length, group)
    if isinstance(wanted, Shard):
        return Split.apply(x, wanted.dim % x.ndim, group)
    if isinstance(wanted, Partial):
        raise RuntimeError(f"Can not redistribute from {now} to {wanted}!")
    return x


def own(x: Any, placement: Placement | None, mesh: DeviceMesh) -> Any:
    """A rank's own tensor, of a ``DTensor`` or of one that lies so already."""
    if isinstance(x, DTensor):
        return x.redistribute(placements=[placement]).to_local() if placement is not None else x.to_local()
    return x


class ParallelStyle(ABC):
    """How a module is spread over the ranks of a mesh."""

    src_data_rank: int | None = 0

    @abstractmethod
    def _apply(self, module: Module, device_mesh: DeviceMesh) -> Module:
        """Change the module in place."""


def _cut_parameters(module: Module, mesh: DeviceMesh, places: dict[str, Placement], source: int | None) -> None:
    parameters: list[tuple[str, Any]] = list(module._parameters.items())
    for name, p in parameters:
        if p is not None and not isinstance(p, DTensor):
            part = distribute_tensor(p.detach(), mesh, [places.get(name, Replicate())], src_data_rank=source)
            module.register_parameter(name, Parameter(part, p.requires_grad))


def _local(module: Module, name: str) -> Any:
    p: Any = module._parameters.get(name)
    return p.to_local() if isinstance(p, DTensor) else p


def _wrap(x: Tensor, placement: Placement, mesh: DeviceMesh, local: bool) -> Any:
    return x if local else DTensor.from_local(x, mesh, [placement])


def _set_forward(module: Module, forward: Any) -> None:
    module.__dict__["forward"] = forward


class ColwiseParallel(ParallelStyle):
    """A ``Linear`` or ``Embedding`` whose output features are cut.

    Args:
        input_layouts: how the input lies; by default whole on each rank.
        output_layouts: how the output is to lie; by default cut along the last dimension.
        use_local_output: whether the output is the rank's own tensor, or a ``DTensor``.
    """

    def __init__(
        self,
        *,
        input_layouts: Placement | None = None,
        output_layouts: Placement | None = None,
        use_local_output: bool = True,
    ) -> None:
        self.input_layout = input_layouts or Replicate()
        self.output_layout = output_layouts or Shard(-1)
        self.use_local_output = use_local_output

    def _apply(self, module: Module, device_mesh: DeviceMesh) -> Module:
        group = device_mesh.get_group()
        if isinstance(module, Linear):
            _cut_parameters(module, device_mesh, {"weight": Shard(0), "bias": Shard(0)}, self.src_data_rank)
            features = module.out_features
        elif isinstance(module, Embedding):
            _cut_parameters(module, device_mesh, {"weight": Shard(1)}, self.src_data_rank)
            features = module.embedding_dim
        else:
            raise NotImplementedError("ColwiseParallel currently only support nn.Linear and nn.Embedding!")

        def forward(input: Any) -> Any:
            x = moved(own(input, self.input_layout, device_mesh), self.input_layout, Replicate(), device_mesh)
            if isinstance(module, Linear):
                y = F.linear(entered(x, group), _local(module, "weight"), _local(module, "bias"))
            else:
                y = F.embedding(x, _local(module, "weight"), module.padding_idx)
            last = y.ndim - 1
            if self.output_layout not in (Shard(-1), Shard(last)):
                y = moved(y, Shard(last), self.output_layout, device_mesh, features)
            return _wrap(y, self.output_layout, device_mesh, self.use_local_output)

        _set_forward(module, forward)
        return module


class RowwiseParallel(ParallelStyle):
    """A ``Linear`` whose input features are cut, or an ``Embedding`` whose rows are.

    Args:
        input_layouts: how the input lies; by default cut along the last dimension (of an embedding: whole).
        output_layouts: how the output is to lie; by default whole on each rank.
        use_local_output: whether the output is the rank's own tensor, or a ``DTensor``.
    """

    def __init__(
        self,
        *,
        input_layouts: Placement | None = None,
        output_layouts: Placement | None = None,
        use_local_output: bool = True,
    ) -> None:
        self.input_layout, self.output_layout = input_layouts, output_layouts or Replicate()
        self.use_local_output = use_local_output

    def _apply(self, module: Module, device_mesh: DeviceMesh) -> Module:
        group = device_mesh.get_group()
        if isinstance(module, Linear):
            _cut_parameters(module, device_mesh, {"weight": Shard(1)}, self.src_data_rank)
        elif isinstance(module, Embedding):
            _cut_parameters(module, device_mesh, {"weight": Shard(0)}, self.src_data_rank)
        else:
            raise NotImplementedError("RowwiseParallel currently only support nn.Linear and nn.Embedding!")

        def linear(input: Any) -> Tensor:
            now = self.input_layout or Shard(-1)
            x = own(input, now, device_mesh)
            if now not in (Shard(-1), Shard(x.ndim - 1)):
                x = moved(x, now, Shard(x.ndim - 1), device_mesh)
            return F.linear(x, _local(module, "weight"))

        def rows(input: Any) -> Tensor:
            now = self.input_layout or Replicate()
            x = moved(own(input, now, device_mesh), now, Replicate(), device_mesh)
            layer: Any = module
            begin, end = part_of(layer.num_embeddings, group.size(), group.rank())
            inside = (x >= begin) & (x < end)
            if end == begin:
                return x.new_zeros((*x.shape, layer.embedding_dim), dtype=layer.weight.dtype)
            found = F.embedding(where(inside, x - begin, 0), _local(module, "weight"))
            return found * inside.unsqueeze(-1)

        def forward(input: Any) -> Any:
            y = linear(input) if isinstance(module, Linear) else rows(input)
            y = moved(y, Partial(), self.output_layout, device_mesh)
            bias = _local(module, "bias") if isinstance(module, Linear) else None
            if bias is not None:  # whole on all ranks, as the output is; of a cut output, each adds to its part
                cut = isinstance(self.output_layout, Shard)
                y = y + (entered(bias, group) if cut else bias)
            return _wrap(y, self.output_layout, device_mesh, self.use_local_output)

        _set_forward(module, forward)
        return module


class SequenceParallel(ParallelStyle):
    """A layer that works on each position by itself (``LayerNorm``, ``RMSNorm``, ``Dropout``), of which each rank has a
    part of the sequence, along ``sequence_dim``. Its parameters are whole on each rank.
    """

    def __init__(self, *, sequence_dim: int = 1, use_local_output: bool = False) -> None:
        self.sequence_dim, self.use_local_output = sequence_dim, use_local_output

    def _apply(self, module: Module, device_mesh: DeviceMesh) -> Module:
        group, kind = device_mesh.get_group(), type(module)
        _cut_parameters(module, device_mesh, {}, self.src_data_rank)
        placement = Shard(self.sequence_dim)

        def forward(input: Any) -> Any:
            x = own(input, placement, device_mesh)
            parameters = dict(module._parameters)
            try:
                for name, p in parameters.items():
                    if p is not None:
                        module._parameters[name] = entered(_local(module, name), group)  # type: ignore[assignment]
                y = kind.forward(module, x)
            finally:
                module._parameters.update(parameters)
            return _wrap(y, placement, device_mesh, self.use_local_output)

        _set_forward(module, forward)
        return module


def _as_tuple(value: Any) -> tuple[Any, ...]:
    return value if isinstance(value, tuple) else (value,)


class PrepareModuleInput(ParallelStyle):
    """Change how the inputs of a module lie.

    Args:
        input_layouts, desired_input_layouts: for each argument, now and then; None: left alone.
        input_kwarg_layouts, desired_input_kwarg_layouts: the same by name.
        use_local_output: whether the module gets the rank's own tensors, or ``DTensor`` objects.
    """

    def __init__(
        self,
        *,
        input_layouts: Any = None,
        desired_input_layouts: Any = None,
        input_kwarg_layouts: dict[str, Placement] | None = None,
        desired_input_kwarg_layouts: dict[str, Placement] | None = None,
        use_local_output: bool = False,
    ) -> None:
        self.now, self.wanted = _as_tuple(input_layouts), _as_tuple(desired_input_layouts)
        if len(self.now) != len(self.wanted):
            raise AssertionError("input_layouts and desired_input_layouts should have same length!")
        self.named, self.named_wanted = input_kwarg_layouts or {}, desired_input_kwarg_layouts or {}
        self.use_local_output = use_local_output

    def _change(self, x: Any, now: Placement | None, wanted: Placement | None, mesh: DeviceMesh) -> Any:
        if now is None or wanted is None or not isinstance(x, Tensor):
            return x
        x = moved(own(x, now, mesh), now, wanted, mesh)
        return _wrap(x, wanted, mesh, self.use_local_output)

    def _apply(self, module: Module, device_mesh: DeviceMesh) -> Module:
        def before(_: Any, args: Any, kwargs: Any) -> Any:
            if self.now != (None,):
                if len(args) != len(self.now):
                    raise ValueError("module inputs and input_layouts should have same length!")
                args = tuple(self._change(x, a, b, device_mesh) for x, a, b in zip(args, self.now, self.wanted))
            kwargs = {
                name: self._change(x, self.named.get(name), self.named_wanted.get(name), device_mesh)
                for name, x in kwargs.items()
            }
            return args, kwargs

        module.register_forward_pre_hook(before, with_kwargs=True)
        return module


class PrepareModuleOutput(ParallelStyle):
    """Change how the outputs of a module lie.

    Args:
        output_layouts, desired_output_layouts: for each output, now and then.
        use_local_output: whether they are the rank's own tensors, or ``DTensor`` objects.
    """

    def __init__(self, *, output_layouts: Any, desired_output_layouts: Any, use_local_output: bool = True) -> None:
        self.now, self.wanted = _as_tuple(output_layouts), _as_tuple(desired_output_layouts)
        self.use_local_output = use_local_output

    def _apply(self, module: Module, device_mesh: DeviceMesh) -> Module:
        def after(_: Any, args: Any, outputs: Any) -> Any:
            values = _as_tuple(outputs)
            if len(values) != len(self.now):
                raise ValueError("module outputs and output_layouts should have same length!")
            changed = []
            for x, now, wanted in zip(values, self.now, self.wanted):
                if now is not None and wanted is not None and isinstance(x, Tensor):
                    x = _wrap(
                        moved(own(x, now, device_mesh), now, wanted, device_mesh),
                        wanted,
                        device_mesh,
                        self.use_local_output,
                    )
                changed.append(x)
            return tuple(changed) if isinstance(outputs, tuple) else changed[0]

        module.register_forward_hook(after)
        return module


class PrepareModuleInputOutput(ParallelStyle):
    """Change how the inputs and the outputs of a module lie."""

    def __init__(
        self,
        *,
        input_layouts: Any = None,
        desired_input_layouts: Any = None,
        input_kwarg_layouts: dict[str, Placement] | None = None,
        desired_input_kwarg_layouts: dict[str, Placement] | None = None,
        use_local_input: bool = False,
        output_layouts: Any,
        desired_output_layouts: Any,
        use_local_output: bool = True,
    ) -> None:
        self.input = PrepareModuleInput(
            input_layouts=input_layouts,
            desired_input_layouts=desired_input_layouts,
            input_kwarg_layouts=input_kwarg_layouts,
            desired_input_kwarg_layouts=desired_input_kwarg_layouts,
            use_local_output=use_local_input,
        )
        self.output = PrepareModuleOutput(
            output_layouts=output_layouts,
            desired_output_layouts=desired_output_layouts,
            use_local_output=use_local_output,
        )

    def _apply(self, module: Module, device_mesh: DeviceMesh) -> Module:
        self.input._apply(module, device_mesh)
        return self.output._apply(module, device_mesh)
