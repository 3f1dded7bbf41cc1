"""The main loop of a ``DataLoader`` worker process, and how batches get from there to the main process.

A worker is told ``(number, indices)`` through its pipe and answers ``(number, batch)``. Answers are pickled here, where
an object that cannot be pickled is an exception like any other, and sent by a thread, so that the next batch is fetched
meanwhile. Large arrays are not copied into the pickle: they follow it, byte for byte.
"""

from __future__ import annotations

import pickle
import random
import signal
import struct
import threading
from collections.abc import Callable
from dataclasses import dataclass
from io import BytesIO
from itertools import islice
from multiprocessing.connection import Connection
from multiprocessing.reduction import ForkingPickler
from queue import SimpleQueue
from typing import Any

import numpy as np

from ....base.device import strided
from ....base.errors import ExceptionWrapper
from ....core.tensor import Tensor
from ....multiprocessing.parent import end_with
from ....ops.random import manual_seed
from ..dataset import Subset, TensorDataset
from .collate import collate_tensor_fn, default_collate, default_collate_fn_map

CHECK = 5.0  # seconds after which the main process, if it hears nothing, looks whether the others still live
LARGE = 1 << 16  # bytes of an array from which on it travels by itself
RESUME = "resume"  # sent instead of a number: start another pass


@dataclass(frozen=True, slots=True)
class WorkerInfo:
    """Information about a worker, for itself: its number, how many there are, its seed and its copy of the dataset."""

    id: int
    num_workers: int
    seed: int
    dataset: Any
    worker_method: str = "multiprocessing"


@dataclass(frozen=True, slots=True)
class EndOfStream:
    """A worker's answer when its copy of an iterable dataset is exhausted."""


@dataclass(frozen=True, slots=True)
class Fetcher:
    """Samples from a dataset, and batches from samples.

    Attributes:
        iterable: whether the dataset can only be iterated over.
        batches: whether what is asked for are lists of indices, whose samples are to be collated.
    """

    dataset: Any
    iterable: bool
    batches: bool
    collate_fn: Callable[[Any], Any]
    drop_last: bool

    def start(self) -> Callable[[Any], Any]:
        """A function from indices to a batch, or from an index to a sample, for one pass; at its end it raises
        StopIteration.
        """
        return _Stream(self).fetch if self.iterable else self.fetch

    def fetch(self, index: Any) -> Any:
        dataset = self.dataset
        if self.batches and self.collate_fn is default_collate:
            rows = collated_rows(dataset, index)
            if rows is not None:
                return rows
        if not self.batches:
            samples = dataset[index]
        elif getattr(dataset, "__getitems__", None):
            samples = dataset.__getitems__(index)
        else:
            samples = [dataset[i] for i in index]
        return self.collate_fn(samples)


def collated_rows(dataset: Any, indices: list[Any]) -> list[Tensor] | None:
    """The batch that ``default_collate`` makes of samples of a :class:`TensorDataset`, or of a subset of one, by one
    indexing of each tensor; None for other datasets.
    """
    while type(dataset) is Subset:
        indices, dataset = [dataset.indices[i] for i in indices], dataset.dataset
    if type(dataset) is not TensorDataset or default_collate_fn_map[Tensor] is not collate_tensor_fn:
        return None
    plain = all([type(t) is Tensor and not t.requires_grad and t.layout is strided for t in dataset.tensors])
    return [t[indices] for t in dataset.tensors] if plain and all([type(i) is int for i in indices]) else None


class _Stream:
    """One pass over an iterable dataset; which indices are asked for does not matter, only how many."""

    def __init__(self, fetcher: Fetcher) -> None:
        self.fetcher, self.rest, self.ended = fetcher, iter(fetcher.dataset), False

    def fetch(self, index: Any) -> Any:
        if not self.fetcher.batches:
            return self.fetcher.collate_fn(next(self.rest))
        samples = [] if self.ended else list(islice(self.rest, len(index)))
        self.ended = len(samples) < len(index)
        if not samples or self.ended and self.fetcher.drop_last:
            raise StopIteration
        return self.fetcher.collate_fn(samples)


_worker_info: WorkerInfo | None = None


def get_worker_info() -> WorkerInfo | None:
    """In a worker process of a loader what it is: ``id``, ``num_workers``, ``seed``, ``dataset``. None in the main
    process.

    >>> get_worker_info() is None
    True
    """
    return _worker_info


def numpy_seed(base_seed: int, worker_id: int) -> Any:
    """The four words that PyTorch seeds NumPy's global stream with in a worker."""
    entropy = [worker_id, base_seed & 0xFFFFFFFF, base_seed >> 32, 0]
    return np.random.SeedSequence(entropy).generate_state(4)


def worker_loop(
    pipe: Connection,
    fetcher: Fetcher,
    worker_id: int,
    num_workers: int,
    base_seed: int,
    init_fn: Callable[[int], Any] | None,
    parent: tuple[int, bool],
) -> None:
    """Answer until told to stop (None) or left alone by the main process. Ctrl-C is the main process's business."""
    global _worker_info
    end_with(parent)
    if threading.current_thread() is threading.main_thread():
        signal.signal(signal.SIGINT, lambda *_: None)
    seed = base_seed + worker_id
    random.seed(seed)
    manual_seed(seed)
    np.random.seed(numpy_seed(base_seed, worker_id))
    _worker_info = WorkerInfo(worker_id, num_workers, seed, fetcher.dataset)
    where = f"in DataLoader worker process {worker_id}"

    outbox: SimpleQueue[list[Any]] = SimpleQueue()
    threading.Thread(target=_post, args=(pipe, outbox), daemon=True).start()

    failed = None
    try:
        if init_fn is not None:
            init_fn(worker_id)
    except Exception:
        failed = ExceptionWrapper(where=where)

    fetch, ended = None, False
    while (task := _next_task(pipe)) is not None:
        number, index = task
        if number == RESUME:
            fetch, ended = None, False
            outbox.put(packed((RESUME, None)))
        elif failed is not None:
            outbox.put(packed((number, failed)))
        elif not ended:
            try:
                fetch = fetch or fetcher.start()
                answer = packed((number, fetch(index)))
            except Exception as error:
                ended = fetcher.iterable and isinstance(error, StopIteration)
                answer = packed((number, EndOfStream() if ended else ExceptionWrapper(where=where)))
            outbox.put(answer)
            del answer  # for its memory


def _next_task(pipe: Connection) -> Any:
    """The next request of the main process; None when there will be no more."""
    try:
        return pipe.recv()
    except (EOFError, OSError):
        return None


def _post(pipe: Connection, outbox: SimpleQueue[list[Any]]) -> None:
    try:
        while True:
            for part in outbox.get():
                pipe.send_bytes(part)
    except OSError:
        pass  # nobody reads any more: the loop will notice too


# --- messages ---------------------------------------------------------------------------------------------------


def packed(message: Any) -> list[Any]:
    """A message as bytes to send: the sizes of what follows, the pickle, then the large arrays in it."""
    arrays: list[Any] = []

    def keep_apart(buffer: pickle.PickleBuffer) -> bool:
        raw = buffer.raw()
        if raw.nbytes < LARGE:
            return True
        arrays.append(raw)
        return False

    body = BytesIO()
    ForkingPickler(body, 5, True, keep_apart).dump(message)
    sizes = [array.nbytes for array in arrays]
    return [struct.pack(f"<{len(sizes)}Q", *sizes), body.getvalue(), *arrays]


def receive(pipe: Connection) -> Any:
    """The next message that the other side has packed and sent.

    Raises:
        EOFError, OSError: if it is no longer there.
    """
    sizes = pipe.recv_bytes()
    body = pipe.recv_bytes()
    arrays = [bytearray(size) for (size,) in struct.iter_unpack("<Q", sizes)]
    for array in arrays:
        pipe.recv_bytes_into(array)
    return pickle.loads(body, buffers=arrays)
