"""Checkpoints as files of ``torch.save``, and back; in one process."""

from __future__ import annotations

from typing import Any

from ...core.record import wrap
from ...ops.create import empty
from ...serialization import load as load_file
from ...serialization import save as save_file
from .metadata import Metadata
from .save_load import FileSystemReader, dtype_of, load, object_of, save

__all__ = ["dcp_to_torch_save", "torch_save_to_dcp"]


def dcp_to_torch_save(dcp_checkpoint_dir: Any, torch_save_path: Any) -> None:
    """Write a checkpoint, whole, into a file that ``torch.load`` reads."""
    index = FileSystemReader(dcp_checkpoint_dir).read_metadata()
    flat = {key: empty(entry.size, dtype=dtype_of(entry)) for key, entry in index.tensors().items()}
    load(flat, checkpoint_id=dcp_checkpoint_dir, no_dist=True)
    save_file(_nested(index, flat), torch_save_path)


def torch_save_to_dcp(torch_save_path: Any, dcp_checkpoint_dir: Any) -> None:
    """Write the state in a file of ``torch.save`` as a checkpoint."""
    save(load_file(torch_save_path, weights_only=False), checkpoint_id=dcp_checkpoint_dir, no_dist=True)


def _nested(index: Metadata, flat: dict[str, Any]) -> Any:
    """The state as it was given to ``save``: dicts and lists, one in another."""
    root: Any = {}
    for key, path in index.paths.items():
        value = wrap(flat[key]._array) if key in flat else object_of(index, key)
        place, steps = root, list(path)
        for step, following in zip(steps, steps[1:]):
            place = _entry(place, step, [] if isinstance(following, int) else {})
        _entry(place, steps[-1], value)
    return root


def _entry(place: Any, step: Any, value: Any) -> Any:
    """What a dict or list has at a place; the value given, if there is nothing."""
    if isinstance(place, dict):
        return place.setdefault(step, value)
    if step == len(place):
        place.append(value)
    return place[step]
