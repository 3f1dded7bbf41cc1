"""``DeviceMesh``: the ranks as a grid, whose rows along each dimension are groups."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..core.record import wrap
from ..core.tensor import Tensor
from .process_group import ProcessGroup
from .world import default_group, new_group, resolved

__all__ = ["DeviceMesh", "init_device_mesh"]


class DeviceMesh:
    """A grid of ranks.

    Args:
        device_type: ``"cpu"``.
        mesh: the ranks, as a tensor or nested lists.
        mesh_dim_names: names of the dimensions.

    Raises:
        RuntimeError: a rank is there twice.

    >>> import pullback as torch, pullback.distributed as dist
    >>> dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
    >>> mesh = dist.init_device_mesh("cpu", (1,), mesh_dim_names=("dp",))
    >>> mesh["dp"].size(), mesh.get_local_rank(), mesh.get_coordinate()
    (1, 0, (0,))
    >>> dist.destroy_process_group()
    """

    def __init__(
        self, device_type: str, mesh: Any, *, mesh_dim_names: tuple[str, ...] | None = None, _groups: Any = None
    ) -> None:
        self.device_type = device_type
        self._ranks = np.asarray(mesh.numpy() if isinstance(mesh, Tensor) else mesh, dtype=np.int64)
        self.mesh_dim_names = None if mesh_dim_names is None else tuple(mesh_dim_names)
        if len(np.unique(self._ranks)) != self._ranks.size:
            raise RuntimeError(f"DeviceMesh: every rank may be there once, not as in {self._ranks.tolist()}")
        self._me = default_group().global_rank
        found = np.argwhere(self._ranks == self._me)
        self._coordinate = [int(i) for i in found[0]] if len(found) else None
        self._groups: list[ProcessGroup | None] = self._made() if _groups is None else list(_groups)
        self._root = self  # the mesh that this one is a part of

    def _made(self) -> list[ProcessGroup | None]:
        """The group of this rank along each dimension; all ranks make all groups."""
        if self._ranks.ndim == 1 and self._ranks.tolist() == default_group().ranks:
            return [default_group()]
        groups: list[ProcessGroup | None] = []
        for dim in range(self._ranks.ndim):
            rows = np.moveaxis(self._ranks, dim, -1).reshape(-1, self._ranks.shape[dim])
            own = None
            for row in rows:
                group = new_group(row.tolist())
                if self._me in row:
                    own = group
            groups.append(own)
        return groups

    @classmethod
    def from_group(
        cls,
        group: Any,
        device_type: str,
        mesh: Any = None,
        *,
        mesh_dim_names: tuple[str, ...] | None = None,
    ) -> DeviceMesh:
        """A mesh whose groups are there already."""
        groups = [resolved(one) for one in group] if isinstance(group, (list, tuple)) else [resolved(group)]
        ranks = groups[0].ranks if mesh is None else mesh
        return cls(device_type, ranks, mesh_dim_names=mesh_dim_names, _groups=groups)

    @property
    def mesh(self) -> Tensor:
        """The ranks."""
        return wrap(self._ranks.astype(np.int32))

    @property
    def ndim(self) -> int:
        """How many dimensions it has."""
        return self._ranks.ndim

    @property
    def shape(self) -> tuple[int, ...]:
        """The size of each dimension."""
        return tuple(self._ranks.shape)

    def size(self, mesh_dim: int | None = None) -> int:
        """How many ranks there are, along a dimension or in all."""
        return self._ranks.size if mesh_dim is None else self._ranks.shape[mesh_dim]

    def _dim(self, mesh_dim: int | str | None) -> int:
        if mesh_dim is None:
            if self.ndim > 1:
                raise RuntimeError(
                    f"Found the DeviceMesh have {self.ndim} dimensions. Optional kwarg `mesh_dim` needs to be "
                    "specified when device_mesh.ndim > 1."
                )
            return 0
        if isinstance(mesh_dim, str):
            names = self.mesh_dim_names or ()
            if mesh_dim not in names:
                raise KeyError(
                    f"Invalid mesh_dim_names {(mesh_dim,)} specified. Valid mesh_dim_names are {list(names)}."
                )
            return names.index(mesh_dim)
        return mesh_dim

    def get_group(self, mesh_dim: int | str | None = None) -> ProcessGroup:
        """The group of this rank along a dimension."""
        group = self._groups[self._dim(mesh_dim)]
        if group is None:
            raise RuntimeError(f"Rank {self._me} is not in the mesh {self}")
        return group

    def get_all_groups(self) -> list[ProcessGroup]:
        """The groups of this rank."""
        return [self.get_group(dim) for dim in range(self.ndim)]

    def get_local_rank(self, mesh_dim: int | str | None = None) -> int:
        """This rank's place along a dimension."""
        return self.get_group(mesh_dim).rank()

    def get_rank(self) -> int:
        """This rank's number in the program."""
        return self._me

    def get_coordinate(self) -> tuple[int, ...] | None:
        """This rank's place; None if it is not in the mesh."""
        return None if self._coordinate is None else tuple(self._coordinate)

    def __getitem__(self, names: str | tuple[str, ...]) -> DeviceMesh:
        """The part of the mesh along some dimensions that this rank is in.

        Raises:
            KeyError: there are no such names.
        """
        if self.mesh_dim_names is None:
            raise RuntimeError("Cannot slice a DeviceMesh without mesh_dim_names!")
        wanted = (names,) if isinstance(names, str) else tuple(names)
        dims = [self._dim(name) for name in wanted]
        at = self._coordinate or [0] * self.ndim
        index = tuple(slice(None) if d in dims else at[d] for d in range(self.ndim))
        ranks = self._ranks[index]
        order = np.argsort(np.argsort(dims))
        ranks = np.transpose(ranks, order) if ranks.ndim > 1 else ranks
        part = DeviceMesh(self.device_type, ranks, mesh_dim_names=wanted, _groups=[self._groups[d] for d in dims])
        part._root = self._root
        return part

    def joined_with(self, other: DeviceMesh) -> DeviceMesh:
        """The mesh of the dimensions of two, which are parts of one.

        Raises:
            ValueError: they are not.
        """
        if self._root is not other._root or self.mesh_dim_names is None or other.mesh_dim_names is None:
            raise ValueError(f"{self} and {other} have to be parts of one mesh, as mesh['dp'] and mesh['tp'] are")
        return self._root[(*self.mesh_dim_names, *other.mesh_dim_names)]

    def _flatten(self, mesh_dim_name: str | None = None) -> DeviceMesh:
        """The mesh as one of one dimension; all ranks of the program call this."""
        name = mesh_dim_name or "_".join(self.mesh_dim_names or ("flat",))
        return DeviceMesh(self.device_type, self._ranks.reshape(-1), mesh_dim_names=(name,))

    def __enter__(self) -> DeviceMesh:
        return self

    def __exit__(self, *exc: object) -> None: ...

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, DeviceMesh)
            and np.array_equal(self._ranks, other._ranks)
            and (self.mesh_dim_names == other.mesh_dim_names)
        )

    def __hash__(self) -> int:
        return hash((self._ranks.tobytes(), self.mesh_dim_names))

    def __repr__(self) -> str:
        names = self.mesh_dim_names
        sizes = [f"{name}={n}" for name, n in zip(names, self.shape)] if names else list(map(str, self.shape))
        shape = ", ".join(sizes) + ("," if len(sizes) == 1 and not names else "")
        strides = tuple(int(np.prod(self.shape[d + 1 :], dtype=np.int64)) for d in range(self.ndim))
        return f"DeviceMesh(({shape}), {self.device_type!r}, stride={strides})"


def init_device_mesh(
    device_type: str,
    mesh_shape: tuple[int, ...],
    *,
    mesh_dim_names: tuple[str, ...] | None = None,
    backend_override: Any = None,
) -> DeviceMesh:
    """The first ranks, usually all, as a grid of that shape, in order.

    Raises:
        RuntimeError: the shape has more places than there are ranks, or names do not fit.
    """
    if mesh_dim_names is not None:
        if len(set(mesh_dim_names)) != len(mesh_dim_names):
            raise RuntimeError(
                f"Each mesh_dim_name must be unique. Found repeated mesh_dim_name in mesh_dim_names {mesh_dim_names}"
            )
        if len(mesh_dim_names) != len(mesh_shape):
            raise RuntimeError(
                "mesh_shape and mesh_dim_names should have same length! "
                f"Found len(mesh_dim_names): {len(mesh_dim_names)} and len(mesh_shape):{len(mesh_shape)}."
            )
    if not mesh_shape:
        raise RuntimeError("device_mesh must have at least one dimension")
    ranks = default_group().size()
    size = int(np.prod(mesh_shape))
    if size > ranks:
        raise RuntimeError(f"Mesh should not be bigger than default world size {ranks}, but found {size} ranks!")
    return DeviceMesh(device_type, np.arange(size).reshape(mesh_shape), mesh_dim_names=mesh_dim_names)
