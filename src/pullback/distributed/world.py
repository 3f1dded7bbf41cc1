"""The groups of this process: the one of all ranks, those of some of them, and what belongs to all."""

from __future__ import annotations

import atexit
import multiprocessing.util
import os
import sys
import traceback
import warnings
from collections.abc import Sequence
from datetime import timedelta
from types import TracebackType
from typing import Any

from ..multiprocessing.spawn import on_failure
from . import mpi_job
from .backend import Backend, check_backend
from .communicator import Alone
from .compare_calls import comparing
from .errors import PeerEnded, not_initialized
from .peers import Peers
from .process_group import ProcessGroup
from .rendezvous import DEFAULT_TIMEOUT, rendezvous
from .store import PrefixStore, Store

__all__ = [
    "GroupMember",
    "destroy_process_group",
    "get_backend",
    "get_backend_config",
    "get_global_rank",
    "get_group_rank",
    "get_node_local_rank",
    "get_pg_count",
    "get_process_group_ranks",
    "get_rank",
    "get_world_size",
    "group",
    "init_process_group",
    "is_initialized",
    "is_torchelastic_launched",
    "new_group",
    "new_subgroups",
    "new_subgroups_by_enumeration",
    "split_group",
]

AGAIN = 5.0  # seconds for which ranks that destroy their groups wait for each other


class _World:
    """What this process knows of its groups."""

    def __init__(self) -> None:
        self.default: ProcessGroup | None = None
        self.groups: dict[str, ProcessGroup] = {}
        self.made = 0  # groups so far: all ranks count alike
        self.peers: Peers | None = None
        self.watching = False
        self.failed = False
        self.pid = os.getpid()


_world = _World()


class _Member(type):
    @property
    def WORLD(cls) -> ProcessGroup | None:
        """The group of all ranks; None before there is one."""
        return _world.default

    @WORLD.setter
    def WORLD(cls, group: ProcessGroup | None) -> None:
        _world.default = group


class GroupMember(metaclass=_Member):
    """The group of all ranks, and what stands for a group to those that do not belong to it."""

    NON_GROUP_MEMBER = -100


group = GroupMember


# --- beginning and end ------------------------------------------------------------------------------------------


def init_process_group(
    backend: str | None = None,
    init_method: str | None = None,
    timeout: timedelta | None = None,
    world_size: int = -1,
    rank: int = -1,
    store: Store | None = None,
    group_name: str = "",
    pg_options: Any = None,
    device_id: Any = None,
) -> None:
    """Make this process a rank of the group of all processes, which then may call collectives.

    Args:
        backend: ``"gloo"`` and ``"mpi"``, which both mean MPI here.
        init_method: where the processes find each other: ``"env://"``, the default, says that the environment has
            ``RANK``, ``WORLD_SIZE``, ``MASTER_ADDR`` and ``MASTER_PORT`` (under ``mpiexec`` it need not);
            ``"tcp://host:port"`` and ``"file:///path"`` need ``rank`` and ``world_size``.
        timeout: how long a collective may take; 30 minutes by default.
        store: a store to find each other by, instead of ``init_method``.

    Raises:
        ValueError: there is a group already; or the rank or the world size is not known.
        RuntimeError: for several processes, if MPI is not installed.

    >>> import pullback.distributed as dist
    >>> dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
    >>> dist.get_rank(), dist.get_world_size(), dist.get_backend()
    (0, 1, 'gloo')
    >>> dist.destroy_process_group()
    """
    if _world.default is not None:
        raise ValueError("trying to initialize the default process group twice!")
    if store is not None and init_method is not None:
        raise AssertionError("Cannot specify both init_method and store.")
    if timeout is not None and not isinstance(timeout, timedelta):
        raise TypeError(
            f"Expected timeout argument to be of type datetime.timedelta, got {timeout} of type {type(timeout)}"
        )
    name = check_backend(backend)
    limit = DEFAULT_TIMEOUT if timeout is None else timeout
    if store is None:
        store, rank, world_size = next(
            rendezvous(init_method or "env://", rank=rank, world_size=world_size, timeout=limit)
        )
        store.set_timeout(limit)
    else:
        if world_size <= 0:
            raise AssertionError("world_size must be positive if using store")
        if rank < 0:
            raise AssertionError("rank must be non-negative if using store")
    store = PrefixStore("default_pg", store)
    communicator = mpi_job.world(store, rank, world_size)
    _world.peers = Peers(store, rank, world_size) if world_size > 1 else None
    _world.default = ProcessGroup(
        communicator, range(world_size), "0", name, store, limit, _world.peers, group_name or "default_pg"
    )
    _world.default.compare = comparing()
    _world.groups["0"] = _world.default
    _world.made, _world.pid = 1, os.getpid()
    if world_size > 1:
        _watch()


def destroy_process_group(group: Any = None) -> None:
    """Leave a group: that of all ranks, and with it every other, or the one given.

    Raises:
        AssertionError: there is none.
    """
    if group is GroupMember.NON_GROUP_MEMBER:
        return
    if group is not None and group is not _world.default:
        if _world.groups.pop(group.group_name, None) is None:
            raise AssertionError("Invalid process group specified")
        group.shutdown()
        return
    if _world.default is None:
        raise AssertionError("Process group cannot be None")
    groups = list(_world.groups.values())
    for one in groups:
        one.finish()
    peers = _world.peers
    if peers is not None:
        mpi_job.settle(lambda: not peers.broken(), AGAIN)
        peers.left({one.group_name: one.count for one in groups})
    _world.groups.clear()
    _world.default = _world.peers = None


def _watch() -> None:
    """See to it that this process does not end without a word."""
    if _world.watching:
        return
    _world.watching = True
    atexit.register(_end)
    on_failure.append(fail)
    if multiprocessing.parent_process() is not None:
        multiprocessing.util.Finalize(None, _process_ends, exitpriority=0)
    before = sys.excepthook

    def hook(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
        if _world.pid != os.getpid() or _world.failed:
            before(kind, error, trace)
            return
        fail(error, trace)
        rank = _rank()
        if isinstance(error, PeerEnded) and error.report:
            print(f"[rank{rank}]: This rank ends because rank {error.rank} failed:", file=sys.stderr)
            print(error.report, file=sys.stderr, flush=True)
        elif before is sys.__excepthook__:
            print(_report(rank, kind, error, trace), file=sys.stderr, flush=True)
        else:
            before(kind, error, trace)

    sys.excepthook = hook


def _process_ends() -> None:
    """At the end of a process of ``multiprocessing``, which itself deals with what its function raised."""
    error = sys.exc_info()[1]
    if error is not None and not (isinstance(error, SystemExit) and not error.code):
        fail(error)


def _rank() -> int:
    return int(os.environ.get("RANK", 0)) if _world.default is None else _world.default.global_rank


def _report(rank: int, kind: Any, error: BaseException, trace: TracebackType | None) -> str:
    text = "".join(traceback.format_exception(kind, error, trace))
    return "\n".join(f"[rank{rank}]: {line}" for line in text.splitlines())


def fail(error: BaseException, trace: TracebackType | None = None) -> None:
    """Tell the other ranks that this one ends because of an error."""
    if _world.pid != os.getpid() or _world.failed:
        return
    _world.failed = True
    if _world.peers is not None and not (isinstance(error, PeerEnded) and error.report):
        _world.peers.failed(_report(_rank(), type(error), error, error.__traceback__ if trace is None else trace))


def _end() -> None:
    """At the end of the program: let the others get what was sent to them, unless something went wrong."""
    if _world.pid != os.getpid():
        return
    peers, came = _world.peers, False
    if not _world.failed:
        if peers is not None:
            peers.left({one.group_name: one.count for one in _world.groups.values()})
            came = mpi_job.settle(lambda: not peers.broken())
        elif mpi_job.is_started_by_launcher():
            came = mpi_job.settle(lambda: True)
    mpi_job.leave(came)


# --- which groups there are -------------------------------------------------------------------------------------


def is_initialized() -> bool:
    """Whether this process belongs to a group of all processes."""
    return _world.default is not None


def default_group() -> ProcessGroup:
    """The group of all ranks.

    Raises:
        ValueError: there is none.
    """
    if _world.default is None:
        raise not_initialized()
    return _world.default


def resolved(group: Any) -> ProcessGroup:
    """A group as it is given to functions: by name, by itself, or None for that of all ranks."""
    if group is None or group is GroupMember:
        return default_group()
    if isinstance(group, str):
        if group not in _world.groups:
            raise ValueError(f"The given group does not exist: {group}")
        return _world.groups[group]
    if not isinstance(group, ProcessGroup):
        inner = getattr(group, "get_group", None)  # a mesh of one dimension
        if inner is None:
            raise TypeError(f"group must be a ProcessGroup, not {type(group).__name__}")
        return inner()
    return group


def is_outside(group: Any, name: str) -> bool:
    """Whether this rank does not belong to a group: what it calls there does nothing but warn."""
    if group is not GroupMember.NON_GROUP_MEMBER:
        return False
    warnings.warn(f"Running {name} on global rank {get_rank()} which does not belong to the given group.", stacklevel=3)
    return True


def get_rank(group: Any = None) -> int:
    """This process's rank; -1 in a group that it does not belong to.

    Raises:
        ValueError: there is no group.
    """
    if group is GroupMember.NON_GROUP_MEMBER:
        return -1
    default_group()
    return resolved(group).rank()


def get_world_size(group: Any = None) -> int:
    """How many ranks there are; -1 in a group that this process does not belong to."""
    if group is GroupMember.NON_GROUP_MEMBER:
        return -1
    default_group()
    return resolved(group).size()


def get_backend(group: Any = None) -> str:
    """The name of a group's backend."""
    if group is GroupMember.NON_GROUP_MEMBER:
        raise ValueError("Invalid process group specified")
    default_group()
    return Backend(resolved(group).backend)


def get_backend_config(group: Any = None) -> str:
    """The backend for each kind of device, as text."""
    name = get_backend(group)
    return f"cpu:{name},cuda:{name}"


def get_process_group_ranks(group: Any = None) -> list[int]:
    """The numbers that the ranks of a group have in the whole program."""
    return list(resolved(group).ranks)


def get_group_rank(group: Any, global_rank: int) -> int:
    """The number in a group of a rank of the program.

    Raises:
        ValueError: it does not belong to it.
    """
    if group is GroupMember.WORLD:
        return global_rank
    found = resolved(group)
    if global_rank not in found.ranks:
        raise ValueError(f"Global rank {global_rank} is not part of group {found}")
    return found.ranks.index(global_rank)


def get_global_rank(group: Any, group_rank: int) -> int:
    """The number in the program of a rank of a group.

    Raises:
        ValueError: the group has no such rank.
    """
    found = resolved(group)
    if not 0 <= group_rank < found.size():
        raise ValueError(f"Group rank {group_rank} is not part of group {found}")
    return found.ranks[group_rank]


def get_node_local_rank(fallback_rank: int | None = None) -> int:
    """This process's number among those of its machine, from ``LOCAL_RANK``.

    Raises:
        RuntimeError: that is not set, and nothing else given.
    """
    if "LOCAL_RANK" in os.environ:
        return int(os.environ["LOCAL_RANK"])
    if fallback_rank is not None:
        return int(fallback_rank)
    raise RuntimeError(
        "LOCAL_RANK is not in the environment. Consider passing fallback_rank to allow `get_node_local_rank` to work, "
        "assuming you are not running in a multi-device context and want the code to run locally instead."
    )


def get_pg_count() -> int:
    """How many groups there are."""
    return len(_world.groups)


def is_torchelastic_launched() -> bool:
    """Whether ``torchrun`` (or ``pullback run --nproc``) started this process."""
    return "TORCHELASTIC_RUN_ID" in os.environ


# --- making more ------------------------------------------------------------------------------------------------


def new_group(
    ranks: Sequence[int] | None = None,
    timeout: timedelta | None = None,
    backend: str | None = None,
    pg_options: Any = None,
    use_local_synchronization: bool = False,
    group_desc: str | None = None,
    device_id: Any = None,
) -> Any:
    """A group of some ranks. All ranks of the program call this alike, also those that do not belong to it.

    Args:
        ranks: their numbers; None: all.
        use_local_synchronization: only the ranks of the group call it.

    Returns:
        The group; to ranks outside of it ``GroupMember.NON_GROUP_MEMBER``.

    Raises:
        ValueError: a rank that does not exist, or twice the same.
    """
    default = default_group()
    if ranks is None:
        chosen = list(range(default.size()))
    else:
        chosen = sorted(int(rank) for rank in ranks)
        if len(set(chosen)) != len(chosen):
            raise ValueError(f"ranks list must not contain duplicate entries, got {list(ranks)}")
        for rank in chosen:
            if not 0 <= rank < default.size():
                raise ValueError(
                    f"Rank {rank} is out of range. Valid ranks are 0 to {default.size() - 1} "
                    f"(world_size={default.size()})"
                )
    name, number = _next_name(chosen, use_local_synchronization)
    if default.global_rank not in chosen:
        if use_local_synchronization:
            return None
        return GroupMember.NON_GROUP_MEMBER
    return _part(default, chosen, name, number, timeout, backend, group_desc or "")


def _next_name(ranks: Sequence[int], local: bool) -> tuple[str, int]:
    """The name of a new group, and a number; the same on all ranks that have to know."""
    if local:
        head = "local_" + "_".join(map(str, ranks))
        number = sum(name.startswith(head + ":") for name in _world.groups)
        return f"{head}:{number}", 8192 + hash((tuple(ranks), number)) % 8000
    _world.made += 1
    return str(_world.made - 1), _world.made - 1


def _part(
    default: ProcessGroup,
    ranks: list[int],
    name: str,
    number: int,
    timeout: timedelta | None,
    backend: str | None,
    description: str,
) -> ProcessGroup:
    communicator = default.communicator.part(ranks, number) if len(ranks) > 1 else Alone()
    limit = timedelta(seconds=default.timeout) if timeout is None else timeout
    made = ProcessGroup(
        communicator,
        ranks,
        name,
        default.backend if backend is None else check_backend(backend),
        default.store.underlying_store,
        limit,
        default.peers,
        description,
    )
    made.compare = comparing()
    _world.groups[name] = made
    return made


def new_subgroups(
    group_size: int | None = None,
    group: Any = None,
    timeout: timedelta | None = None,
    backend: str | None = None,
    pg_options: Any = None,
    group_desc: str | None = None,
) -> tuple[Any, list[Any]]:
    """Groups of ``group_size`` ranks each, in order; by default of the ranks of a machine.

    Returns:
        The one that this rank belongs to, and all.

    Raises:
        ValueError: the world size is not a multiple of the group size.
    """
    whole = resolved(group)
    size = int(os.environ.get("LOCAL_WORLD_SIZE", whole.size())) if group_size is None else group_size
    if size <= 0:
        raise ValueError(f"The arg 'group_size' ({size}) must be positive")
    if whole.size() < size:
        raise ValueError(f"The arg 'group_size' ({size}) must not exceed the world size ({whole.size()})")
    if whole.size() % size:
        raise ValueError(f"The world size ({whole.size()}) must be divisible by '{size=}'")
    members = [whole.ranks[i : i + size] for i in range(0, whole.size(), size)]
    return new_subgroups_by_enumeration(members, timeout, backend, pg_options, group_desc)


def new_subgroups_by_enumeration(
    ranks_per_subgroup_list: Sequence[Sequence[int]],
    timeout: timedelta | None = None,
    backend: str | None = None,
    pg_options: Any = None,
    group_desc: str | None = None,
) -> tuple[Any, list[Any]]:
    """Groups of the ranks given, none of which may be in two.

    Returns:
        The one that this rank belongs to, None if it is in none, and all.
    """
    if not ranks_per_subgroup_list:
        raise ValueError("The arg 'ranks_per_subgroup_list' cannot be empty")
    seen: set[int] = set()
    for ranks in ranks_per_subgroup_list:
        for rank in ranks:
            if rank in seen:
                raise ValueError(f"Rank {rank} has appeared in more than one subgroup")
            seen.add(rank)
    groups = [
        new_group(ranks, timeout, backend, pg_options, group_desc=group_desc) for ranks in ranks_per_subgroup_list
    ]
    own = next((g for g, ranks in zip(groups, ranks_per_subgroup_list) if get_rank() in ranks), None)
    return own, groups


def split_group(
    parent_pg: Any = None,
    split_ranks: Sequence[Sequence[int]] | None = None,
    timeout: timedelta | None = None,
    pg_options: Any = None,
    group_desc: str | None = None,
) -> ProcessGroup | None:
    """Split a group; only its ranks call this.

    Args:
        split_ranks: the ranks of each part, by their numbers in the group.

    Returns:
        The part that this rank belongs to, or None.
    """
    parent = resolved(parent_pg)
    if not split_ranks:
        raise ValueError("split_ranks cannot be None or empty")
    seen: set[int] = set()
    for ranks in split_ranks:
        if len(set(ranks)) != len(ranks) or seen & set(ranks):
            raise ValueError("the split group cannot have duplicate ranks")
        seen |= set(ranks)
        for rank in ranks:
            if not 0 <= rank < parent.size():
                raise ValueError(f"Rank {rank} is out of range of the parent group, which has {parent.size()} ranks")
    parent.parts += 1
    mine = next((sorted(ranks) for ranks in split_ranks if parent.rank() in ranks), None)
    if mine is None:
        return None
    name = f"{parent.group_name}:split:{parent.parts}:{mine[0]}"
    communicator = parent.communicator.part(mine, 4096 + parent.parts) if len(mine) > 1 else Alone()
    made = ProcessGroup(
        communicator,
        [parent.ranks[rank] for rank in mine],
        name,
        parent.backend,
        parent.store.underlying_store,
        timedelta(seconds=parent.timeout) if timeout is None else timeout,
        parent.peers,
        group_desc or "",
    )
    made.compare = comparing()
    _world.groups[name] = made
    return made
