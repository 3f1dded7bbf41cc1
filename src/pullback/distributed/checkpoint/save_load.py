"""``save`` and ``load``: states whose tensors lie on several ranks, in a folder, to be loaded on as many or others.

Each rank writes its parts into a file of its own. When all have, rank 0 writes the index, ``.metadata``, under another
name first: so a folder always has a whole checkpoint, the old one until the new one is complete. To load, each rank
reads the parts that overlap with those that it wants.
"""

from __future__ import annotations

import os
import pickle
import uuid
from concurrent.futures import Future as PythonFuture
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from typing import Any

import numpy as np

from ...base.dtypes import NAMES, dtype, of_numpy
from ...base.errors import with_notes
from ...base.shape import Size
from ...core.tensor import Tensor
from ...core.versions import bump_version
from ..object_collectives import gathered, sent
from ..process_group import ProcessGroup
from ..world import is_initialized, resolved
from .boxes import box_of, flattened, is_mine_to_save, memory_of, name_of, overlap, slices
from .metadata import BytesStorageMetadata, Chunk, Metadata, TensorStorageMetadata
from .planner import may_be_missing

__all__ = ["CheckpointException", "FileSystemReader", "FileSystemWriter", "async_save", "load", "save"]

INDEX, DATA = ".metadata", ".distcp"


class CheckpointException(Exception):
    """A checkpoint could not be written or read."""


class FileSystemWriter:
    """Writes to a folder."""

    def __init__(self, path: Any, *args: Any, **kwargs: Any) -> None:
        self.path = os.fspath(path)


class FileSystemReader:
    """Reads from a folder."""

    def __init__(self, path: Any, *args: Any, **kwargs: Any) -> None:
        self.path = os.fspath(path)

    def read_metadata(self) -> Metadata:
        """The index of the checkpoint there.

        Raises:
            CheckpointException: there is none.
        """
        try:
            with open(os.path.join(self.path, INDEX), "rb") as file:
                return pickle.load(file)
        except FileNotFoundError:
            raise with_notes(
                CheckpointException(f"There is no checkpoint in {self.path!r}"), f"A checkpoint has a file {INDEX}."
            ) from None


def _folder(checkpoint_id: Any, storage: Any) -> str:
    path = getattr(storage, "path", None) if checkpoint_id is None else os.fspath(checkpoint_id)
    if path is None:
        raise CheckpointException("Where? Give checkpoint_id, or a storage_writer or storage_reader.")
    return path


def _ranks(process_group: Any, no_dist: bool) -> ProcessGroup | None:
    return None if no_dist or not is_initialized() else resolved(process_group)


def save(
    state_dict: dict[str, Any],
    *,
    checkpoint_id: Any = None,
    storage_writer: Any = None,
    planner: Any = None,
    process_group: Any = None,
    no_dist: bool = False,
    use_collectives: bool = True,
) -> Metadata:
    """Save a state; all ranks call it with theirs. What was saved there before is whole until this is.

    Args:
        state_dict: tensors and other values, in nested dicts and lists; objects with ``state_dict()`` are asked for it.
        checkpoint_id: a folder, which is made.

    Returns:
        The index.

    Raises:
        CheckpointException: some rank could not write.

    >>> import pullback as torch, tempfile
    >>> import pullback.distributed.checkpoint as dcp
    >>> folder = tempfile.TemporaryDirectory()
    >>> _ = dcp.save({"w": torch.arange(3.0), "step": 7}, checkpoint_id=folder.name)
    >>> state = {"w": torch.zeros(3), "step": 0}
    >>> dcp.load(state, checkpoint_id=folder.name); state
    {'w': tensor([0., 1., 2.]), 'step': 7}
    >>> folder.cleanup()
    """
    may_be_missing(planner)
    folder, group = _folder(checkpoint_id, storage_writer), _ranks(process_group, no_dist)
    rank = 0 if group is None else group.rank()
    mark = uuid.uuid4().hex[:12]
    if group is not None:
        mark = sent(group, mark, 0, "checkpoint")
    index, problem = Metadata(), ""
    try:
        os.makedirs(folder, exist_ok=True)
        _write_parts(_asked(state_dict), folder, f"__{rank}_{mark}{DATA}", rank, index)
    except Exception as error:
        problem = f"rank {rank}: {type(error).__name__}: {error}"
    everyones = [(index, problem)] if group is None else gathered(group, (index, problem), "checkpoint")
    problems = [text for _, text in everyones if text]
    if problems:
        raise CheckpointException("CheckpointException: " + "; ".join(problems))
    whole = _merged([one for one, _ in everyones])
    if rank == 0:
        temporary = os.path.join(folder, f"{INDEX}.{mark}.tmp")
        with open(temporary, "wb") as file:
            pickle.dump(whole, file)
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, os.path.join(folder, INDEX))
        _remove_old(folder, mark)
    if group is not None:
        group.start("checkpoint", [group.communicator.barrier], [], None, {}).wait()
    return whole


def _asked(state: dict[str, Any]) -> dict[str, Any]:
    """A state with what objects say of theirs."""
    return {
        key: value.state_dict() if hasattr(value, "state_dict") and not isinstance(value, Tensor) else value
        for key, value in state.items()
    }


def _write_parts(state: dict[str, Any], folder: str, name: str, rank: int, index: Metadata) -> None:
    with open(os.path.join(folder, name), "wb") as file:
        for path, value, _, _ in flattened(state):
            key = name_of(path)
            index.paths[key] = path
            if isinstance(value, Tensor):
                array = memory_of(value)
                entry = TensorStorageMetadata(of_numpy(array.dtype).name, Size(value.shape))
                index.state_dict_metadata[key] = entry
                offsets, sizes = box_of(value)
                if is_mine_to_save(value, rank) and (array.size or not entry.size):
                    entry.chunks.append(Chunk(offsets, sizes, name, file.tell()))
                    file.write(np.ascontiguousarray(array).tobytes())
            elif rank == 0:
                index.state_dict_metadata[key] = BytesStorageMetadata()
                index.objects[key] = pickle.dumps(value)
        file.flush()
        os.fsync(file.fileno())


def _merged(indices: list[Metadata]) -> Metadata:
    whole = Metadata()
    for index in indices:
        whole.objects.update(index.objects)
        whole.paths.update(index.paths)
        for key, entry in index.state_dict_metadata.items():
            if isinstance(entry, BytesStorageMetadata):
                whole.state_dict_metadata[key] = entry
                continue
            known: Any = whole.state_dict_metadata.setdefault(key, TensorStorageMetadata(entry.dtype, entry.size))
            known.chunks += entry.chunks
    return whole


def _remove_old(folder: str, mark: str) -> None:
    for name in os.listdir(folder):
        if name.endswith((DATA, ".tmp")) and mark not in name:
            with suppress(OSError):
                os.unlink(os.path.join(folder, name))


def load(
    state_dict: dict[str, Any],
    *,
    checkpoint_id: Any = None,
    storage_reader: Any = None,
    planner: Any = None,
    process_group: Any = None,
    no_dist: bool = False,
) -> None:
    """Load a state that was saved, on any number of ranks, into the tensors that are there.

    Args:
        state_dict: the tensors to fill; other values are replaced. Objects with ``load_state_dict`` are given theirs.
        checkpoint_id: the folder.

    Raises:
        CheckpointException: there is no checkpoint, or it lacks something, or has another shape of it.
    """
    optional, folder = may_be_missing(planner), _folder(checkpoint_id, storage_reader)
    index = FileSystemReader(folder).read_metadata()
    for key, value in list(state_dict.items()):
        if hasattr(value, "load_state_dict") and not isinstance(value, Tensor):
            state = value.state_dict()
            _fill({key: state}, folder, index, optional)
            value.load_state_dict(state)
    plain = {k: v for k, v in state_dict.items() if not hasattr(v, "load_state_dict")}
    _fill(plain, folder, index, optional)
    state_dict.update(plain)
    group = _ranks(process_group, no_dist)
    if group is not None:  # nobody saves anew before all have read
        group.start("checkpoint", [group.communicator.barrier], [], None, {}).wait()


def _fill(state: dict[str, Any], folder: str, index: Metadata, optional: bool) -> None:
    for path, value, container, place in list(flattened(state)):
        key = name_of(path)
        if optional and key not in index.state_dict_metadata:
            continue
        if isinstance(value, Tensor):
            _read(key, value, folder, index)
        elif key in index.objects:
            container[place] = object_of(index, key)
        elif not isinstance(value, (dict, list)):
            raise CheckpointException(f"Missing key in checkpoint state_dict: {key}.")


def object_of(index: Metadata, key: str) -> Any:
    """What a checkpoint has that is no tensor."""
    return pickle.loads(index.objects[key])


def dtype_of(entry: TensorStorageMetadata) -> dtype:
    """The type of a tensor in a checkpoint."""
    return NAMES[entry.dtype]


def _read(key: str, value: Tensor, folder: str, index: Metadata) -> None:
    entry = index.tensors().get(key)
    if entry is None:
        raise with_notes(
            CheckpointException(f"Missing key in checkpoint state_dict: {key}."),
            f"It has {', '.join(sorted(index.state_dict_metadata)[:8])} ...",
        )
    if tuple(entry.size) != tuple(value.shape):
        raise CheckpointException(
            f"Size mismatch between saved {tuple(entry.size)} and current {tuple(value.shape)} for {key}"
        )
    target, own = memory_of(value), box_of(value)
    saved = dtype_of(entry).numpy
    for chunk in entry.chunks:
        box = chunk.offsets, chunk.sizes
        common = overlap(own, box) if entry.size else own
        if common is None:
            continue
        size = int(np.prod(chunk.sizes, dtype=np.int64))
        data = np.memmap(os.path.join(folder, chunk.file), np.uint8, "r", chunk.place, (size * saved.itemsize,))
        part = data.view(saved).reshape(chunk.sizes)
        target[slices(common, own)] = part[slices(common, box)]
    bump_version(target)


_writer: ThreadPoolExecutor | None = None


def async_save(
    state_dict: dict[str, Any],
    *,
    checkpoint_id: Any = None,
    storage_writer: Any = None,
    planner: Any = None,
    process_group: Any = None,
    **options: Any,
) -> PythonFuture:
    """:func:`save` a copy of the state in the background, with a group of its own; returns a future of the index.

    All ranks have to wait for one before they start another.
    """
    global _writer
    may_be_missing(planner)
    from ..world import new_group

    if _writer is None:
        _writer = ThreadPoolExecutor(1, "checkpoint")
    copy = _copied(_asked(state_dict))
    group = new_group(resolved(process_group).ranks) if is_initialized() else None
    return _writer.submit(
        save,
        copy,
        checkpoint_id=checkpoint_id,
        storage_writer=storage_writer,
        process_group=group,
        no_dist=group is None,
    )


def _copied(value: Any) -> Any:
    from copy import deepcopy

    if isinstance(value, Tensor):
        return deepcopy(value.detach())
    if isinstance(value, dict):
        return {key: _copied(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return type(value)(_copied(item) for item in value)
    return value
