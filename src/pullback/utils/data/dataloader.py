"""``DataLoader``: batches of a dataset, made in this process or in workers.

The numbers that decide orders and seeds are drawn as PyTorch draws them: each pass draws a ``base_seed`` when its
iterator is made, whether or not there are workers, and the sampler draws when the first batch is asked for.
"""

from __future__ import annotations

import multiprocessing
import os
import warnings
import weakref
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import cycle, repeat
from typing import Any, Generic, TypeVar

from ...base.errors import ExceptionWrapper
from ._utils.collate import default_collate, default_convert
from ._utils.crew import Crew
from ._utils.worker import RESUME, EndOfStream, Fetcher, get_worker_info
from .dataset import Dataset, IterableDataset
from .sampler import BatchSampler, RandomSampler, Sampler, SequentialSampler, draw_seed

__all__ = ["DataLoader", "default_collate", "default_convert", "get_worker_info"]

T_co = TypeVar("T_co", covariant=True)


class _InfiniteConstantSampler(Sampler[None]):
    """The indices of an iterable dataset, which has none."""

    def __iter__(self) -> Iterator[None]:
        return repeat(None)


class _DatasetKind:
    """Whether a dataset is asked by index or iterated over."""

    Map, Iterable = 0, 1


class DataLoader(Generic[T_co]):
    """Iterates over a dataset in batches; each ``for`` over it is one pass.

    Args:
        dataset: anything with ``__getitem__`` and ``__len__``, or an :class:`~pullback.utils.data.IterableDataset`.
        batch_size: samples per batch; None gives single samples.
        shuffle: visit the samples in a new random order at every pass.
        sampler: the order, as an iterable of indices; instead of ``shuffle``.
        batch_sampler: an iterable of lists of indices, one list a batch; instead of the three above and ``drop_last``.
        num_workers: how many processes fetch batches ahead; 0 fetches in this process.
        collate_fn: makes a batch of a list of samples (default: ``default_collate``).
        pin_memory, pin_memory_device: accepted and without effect, as memory here is the CPU's.
        drop_last: leave out a last batch that would be smaller.
        timeout: seconds to wait for a batch from workers; 0 waits for ever.
        worker_init_fn: called with the worker's number in each worker before anything is fetched.
        multiprocessing_context: how processes are started: ``"fork"``, ``"spawn"``, ``"forkserver"`` or a context.
        generator: what random orders and the workers' seeds are drawn from (default: what ``manual_seed`` seeds).
        prefetch_factor: batches that each worker is asked for in advance (default: 2).
        persistent_workers: keep the processes from one pass to the next.
        in_order: give batches in the order of the sampler, even if later ones are ready sooner.

    Raises:
        ValueError, TypeError: for options that are impossible, or exclude each other.

    Worker ``w`` seeds ``random``, NumPy and :func:`~pullback.manual_seed` by the pass's base seed and ``w``. An
    exception in a worker is raised again here, with the worker's traceback in its message.

    >>> import pullback as torch
    >>> _ = torch.manual_seed(0)
    >>> loader = torch.utils.data.DataLoader(range(5), batch_size=2, shuffle=True)
    >>> len(loader), list(loader)
    (3, [tensor([1, 4]), tensor([2, 3]), tensor([0])])
    """

    __initialized = False

    def __init__(
        self,
        dataset: Dataset[T_co] | Sequence[T_co],
        batch_size: int | None = 1,
        shuffle: bool | None = None,
        sampler: Iterable[Any] | None = None,
        batch_sampler: Iterable[Any] | None = None,
        num_workers: int = 0,
        collate_fn: Callable[[Any], Any] | None = None,
        pin_memory: bool = False,
        drop_last: bool = False,
        timeout: float = 0,
        worker_init_fn: Callable[[int], Any] | None = None,
        multiprocessing_context: Any = None,
        generator: Any = None,
        *,
        prefetch_factor: int | None = None,
        persistent_workers: bool = False,
        pin_memory_device: str = "",
        in_order: bool = True,
    ) -> None:
        if num_workers < 0:
            raise ValueError("num_workers option should be non-negative; use num_workers=0 to disable multiprocessing.")
        if timeout < 0:
            raise ValueError("timeout option should be non-negative")
        if num_workers == 0 and prefetch_factor is not None:
            raise ValueError(
                "prefetch_factor option could only be specified in multiprocessing."
                "let num_workers > 0 to enable multiprocessing, otherwise set prefetch_factor to None."
            )
        if prefetch_factor is not None and prefetch_factor < 0:
            raise ValueError("prefetch_factor option should be non-negative")
        if persistent_workers and num_workers == 0:
            raise ValueError("persistent_workers option needs num_workers > 0")

        iterable = isinstance(dataset, IterableDataset)
        if iterable:
            for option, value in (("shuffle", shuffle or None), ("sampler", sampler), ("batch_sampler", batch_sampler)):
                if value is not None:
                    raise ValueError(
                        f"DataLoader with IterableDataset: expected unspecified {option} option, but got "
                        f"{option}={value}"
                    )
        if sampler is not None and shuffle:
            raise ValueError("sampler option is mutually exclusive with shuffle")
        if batch_sampler is not None:
            if batch_size != 1 or shuffle or sampler is not None or drop_last:
                raise ValueError(
                    "batch_sampler option is mutually exclusive with batch_size, shuffle, sampler, and drop_last"
                )
            batch_size = None
        elif batch_size is None and drop_last:
            raise ValueError("batch_size=None option disables auto-batching and is mutually exclusive with drop_last")

        if sampler is None:
            if iterable:
                sampler = _InfiniteConstantSampler()
            else:
                sized: Any = dataset
                sampler = RandomSampler(sized, generator=generator) if shuffle else SequentialSampler(sized)
        if batch_size is not None:
            batch_sampler = BatchSampler(sampler, batch_size, drop_last)  # type: ignore[arg-type]

        self.dataset, self.batch_size, self.drop_last = dataset, batch_size, drop_last
        self.sampler, self.batch_sampler, self.generator = sampler, batch_sampler, generator
        self.num_workers, self.timeout, self.worker_init_fn = num_workers, timeout, worker_init_fn
        self.prefetch_factor = 2 if num_workers and prefetch_factor is None else prefetch_factor
        self.multiprocessing_context = multiprocessing_context
        self.persistent_workers, self.in_order = persistent_workers, in_order
        self.pin_memory, self.pin_memory_device = pin_memory, pin_memory_device
        self.collate_fn = collate_fn or (default_collate if self._auto_collation else default_convert)
        self._dataset_kind = _DatasetKind.Iterable if iterable else _DatasetKind.Map
        self._IterableDataset_len_called: int | None = None
        self._iterator: _MultiProcessingDataLoaderIter | None = None
        self.__initialized = True
        self.check_worker_number_rationality()

    def __setattr__(self, name: str, value: Any) -> None:
        fixed = ("batch_size", "batch_sampler", "sampler", "drop_last", "dataset", "persistent_workers")
        if self.__initialized and name in fixed:
            raise ValueError(f"{name} attribute should not be set after {type(self).__name__} is initialized")
        super().__setattr__(name, value)

    @property
    def multiprocessing_context(self) -> Any:
        """How worker processes are started; None for Python's default."""
        return self.__multiprocessing_context

    @multiprocessing_context.setter
    def multiprocessing_context(self, context: Any) -> None:
        if context is not None:
            if not self.num_workers:
                raise ValueError(
                    "multiprocessing_context can only be used with multi-process loading (num_workers > 0), but got "
                    f"num_workers={self.num_workers}"
                )
            if isinstance(context, str):
                methods = multiprocessing.get_all_start_methods()
                if context not in methods:
                    raise ValueError(
                        f"multiprocessing_context option should specify a valid start method in {methods!r}, but got "
                        f"multiprocessing_context={context!r}"
                    )
                context = multiprocessing.get_context(context)
            if not isinstance(context, multiprocessing.context.BaseContext):
                raise TypeError(
                    "multiprocessing_context option should be a valid context object or a string specifying the start "
                    f"method, but got multiprocessing_context={context}"
                )
        self.__multiprocessing_context = context

    @property
    def _auto_collation(self) -> bool:
        return self.batch_sampler is not None

    @property
    def _index_sampler(self) -> Any:
        return self.sampler if self.batch_sampler is None else self.batch_sampler

    def __iter__(self) -> _BaseDataLoaderIter:
        if not self.num_workers:
            return _SingleProcessDataLoaderIter(self)
        if not self.persistent_workers:
            return _MultiProcessingDataLoaderIter(self)
        if self._iterator is None or self._iterator._stopped:
            self._iterator = _MultiProcessingDataLoaderIter(self)
        else:
            self._iterator._reset(self)
        return self._iterator

    def __len__(self) -> int:
        """How many batches a pass gives: for an iterable dataset, what its ``__len__`` promises."""
        if self._dataset_kind == _DatasetKind.Map:
            return len(self._index_sampler)
        length = self._IterableDataset_len_called = len(self.dataset)  # type: ignore[arg-type]
        if self.batch_size is None:
            return length
        return length // self.batch_size if self.drop_last else -(-length // self.batch_size)

    def check_worker_number_rationality(self) -> None:
        """Warn if there will be more worker processes than CPUs."""
        cpus = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
        if cpus is not None and self.num_workers > cpus:
            warnings.warn(
                f"This DataLoader will create {self.num_workers} worker processes in total. Our suggested max number "
                f"of worker in current system is {cpus}, which is smaller than what this DataLoader is going to "
                "create. Please be aware that excessive worker creation might get DataLoader running slow or even "
                "freeze, lower the worker number to avoid potential slowness/freeze if necessary.",
                stacklevel=3,
            )


# --- one pass ---------------------------------------------------------------------------------------------------


class _BaseDataLoaderIter:
    """One pass over a loader."""

    def __init__(self, loader: DataLoader[Any]) -> None:
        self._dataset, self._num_workers = loader.dataset, loader.num_workers
        self._dataset_kind, self._index_sampler = loader._dataset_kind, loader._index_sampler
        iterable = self._dataset_kind == _DatasetKind.Iterable
        self._fetcher = Fetcher(loader.dataset, iterable, loader._auto_collation, loader.collate_fn, loader.drop_last)
        self._begin(loader)
        self._base_seed = draw_seed(loader.generator)

    def _begin(self, loader: DataLoader[Any]) -> None:
        self._sampler_iter = iter(self._index_sampler)
        self._num_yielded = 0
        self._promised = loader._IterableDataset_len_called

    def __iter__(self) -> _BaseDataLoaderIter:
        return self

    def _next_data(self) -> Any:
        raise NotImplementedError

    def __next__(self) -> Any:
        data = self._next_data()
        self._num_yielded += 1
        if self._promised is not None and self._num_yielded > self._promised:
            message = (
                f"Length of IterableDataset {self._dataset} was reported to be {self._promised} (when accessing "
                f"len(dataloader)), but {self._num_yielded} samples have been fetched. "
            )
            if self._num_workers:
                message += (
                    "For multiprocessing data-loading, this could be caused by not properly configuring the "
                    "IterableDataset replica at each worker: let its __iter__ choose a part by get_worker_info()."
                )
            warnings.warn(message, stacklevel=2)
        return data

    def __len__(self) -> int:
        return len(self._index_sampler)

    def __getstate__(self) -> Any:
        raise NotImplementedError(f"{type(self).__name__} cannot be pickled")


class _SingleProcessDataLoaderIter(_BaseDataLoaderIter):
    """A pass that fetches batches when they are asked for."""

    def __init__(self, loader: DataLoader[Any]) -> None:
        super().__init__(loader)
        if loader.timeout:
            raise AssertionError("timeout only applies with num_workers > 0")
        self._fetch = self._fetcher.start()

    def _next_data(self) -> Any:
        return self._fetch(next(self._sampler_iter))


class _MultiProcessingDataLoaderIter(_BaseDataLoaderIter):
    """A pass whose batches worker processes fetch in advance.

    Batches are numbered in the order of the sampler and dealt out to the workers in turn, ``prefetch_factor`` ahead to
    each; whenever one arrives the next is dealt.
    """

    def __init__(self, loader: DataLoader[Any]) -> None:
        super().__init__(loader)
        assert loader.prefetch_factor
        self._ahead = loader.prefetch_factor * loader.num_workers
        self._timeout, self._in_order, self._persistent_workers = (
            loader.timeout,
            loader.in_order,
            loader.persistent_workers,
        )
        context = loader.multiprocessing_context or multiprocessing.get_context()
        self._crew = Crew(context, loader.num_workers, self._fetcher, self._base_seed, loader.worker_init_fn)
        self._stop = weakref.finalize(self, self._crew.stop)  # also when the program ends
        self._deal_first()

    def _reset(self, loader: DataLoader[Any]) -> None:
        """Begin another pass with the same workers."""
        self._begin(loader)
        waiting = set(range(self._num_workers))
        for worker in waiting:
            self._crew.send(worker, (RESUME, None))
        while waiting:  # what comes before is left over from a pass that was broken off
            worker, (number, _) = self._answer(list(waiting))
            if number == RESUME:
                waiting.remove(worker)
        self._deal_first()

    def _deal_first(self) -> None:
        self._dealt = self._wanted = 0  # the numbers of the batches to deal and to give next
        self._owner: dict[int, int] = {}  # of batches that have not arrived: whose task they are
        self._arrived: dict[int, Any] = {}  # ahead of their turn
        self._active = [True] * self._num_workers
        self._turns = cycle(range(self._num_workers))
        for _ in range(self._ahead):
            self._deal()

    @property
    def _stopped(self) -> bool:
        return not self._stop.alive

    @property
    def _workers(self) -> list[Any]:
        return self._crew.processes

    def _shutdown_workers(self) -> None:
        self._stop()

    def _deal(self) -> None:
        """Give the next batch's number and indices to the worker whose turn it is."""
        try:
            index = next(self._sampler_iter)
        except StopIteration:
            return
        for _ in range(self._num_workers):
            worker = next(self._turns)
            if self._active[worker] and (self._in_order or self._has_room(worker)):
                break
        else:
            return
        self._crew.send(worker, (self._dealt, index))
        self._owner[self._dealt] = worker
        self._dealt += 1

    def _has_room(self, worker: int) -> bool:
        return list(self._owner.values()).count(worker) < self._ahead // sum(self._active)

    def _answer(self, workers: list[int]) -> tuple[int, Any]:
        try:
            answer = self._crew.hear(workers, self._timeout)
        except RuntimeError:
            self._stop()
            raise
        if answer is None:
            raise RuntimeError(f"DataLoader timed out after {self._timeout} seconds")
        return answer

    def _given_up(self, number: int) -> bool:
        """Whether a batch will not arrive: its worker's stream has ended, or it was given out of turn."""
        return number not in self._arrived and not (number in self._owner and self._active[self._owner[number]])

    def _next_data(self) -> Any:
        while not self._stopped:
            while self._wanted < self._dealt and self._given_up(self._wanted):
                self._owner.pop(self._wanted, None)
                self._wanted += 1
            if self._wanted == self._dealt:
                if not self._persistent_workers:
                    self._stop()
                break
            if self._wanted in self._arrived:
                self._wanted += 1
                return self._given(self._arrived.pop(self._wanted - 1))

            worker, (number, data) = self._answer([w for w in range(self._num_workers) if self._active[w]])
            del self._owner[number]
            if isinstance(data, EndOfStream):
                self._active[worker] = False
                if not self._persistent_workers:
                    self._crew.send(worker, None)
                self._deal()
            elif number == self._wanted or not self._in_order:
                self._wanted += number == self._wanted
                return self._given(data)
            else:
                self._arrived[number] = data
        raise StopIteration

    def _given(self, data: Any) -> Any:
        self._deal()
        if isinstance(data, ExceptionWrapper):
            data.reraise()
        return data
