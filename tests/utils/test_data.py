"""``torch.utils.data``: datasets, samplers, collation, and loaders with and without worker processes."""

from __future__ import annotations

import gc
import itertools
import math
import multiprocessing
import os
import pickle
import random
import signal
import subprocess
import sys
import time
from collections import UserDict, namedtuple
from pathlib import Path
from types import MappingProxyType

import numpy as np
import pytest

import pullback as torch
from pullback.utils.data import (
    BatchSampler,
    ChainDataset,
    ConcatDataset,
    DataLoader,
    Dataset,
    DistributedSampler,
    IterableDataset,
    RandomSampler,
    SequentialSampler,
    StackDataset,
    Subset,
    SubsetRandomSampler,
    TensorDataset,
    WeightedRandomSampler,
    default_collate,
    default_convert,
    get_worker_info,
    random_split,
)

pytestmark = pytest.mark.filterwarnings("ignore:This DataLoader will create:UserWarning")
METHODS = [m for m in ("fork", "spawn") if m in multiprocessing.get_all_start_methods()]
Point = namedtuple("Point", "x y")


class Numbers(Dataset):
    """0, 1, 2 and so on, with something happening at one of them."""

    def __init__(self, size=10, at=None, event=None):
        self.size, self.at, self.event = size, at, event

    def __len__(self):
        return self.size

    def __getitem__(self, i):
        if i == self.at:
            if self.event == "kill":
                os.kill(os.getpid(), signal.SIGKILL)
            elif self.event == "exit":
                os._exit(3)
            elif self.event == "sleep":
                time.sleep(30)
            elif self.event == "unpicklable":
                return lambda: None
            else:
                raise self.event
        return i


class Stream(IterableDataset):
    """A stream of which each worker gives its share."""

    def __init__(self, size):
        self.size = size

    def __iter__(self):
        info = get_worker_info()
        first, step = (0, 1) if info is None else (info.id, info.num_workers)
        return iter(range(first, self.size, step))


class Twice(Exception):
    def __init__(self, a, b):
        super().__init__(a, b)


class Seeds(Dataset):
    """What a worker says of itself, and random numbers."""

    def __len__(self):
        return 4

    def __getitem__(self, i):
        info = get_worker_info()
        return (info.id, info.num_workers, info.seed, random.random(), float(np.random.rand()), torch.rand(1).item())


def same(batch):
    return batch


def announce(worker_id):
    get_worker_info().dataset.size = 100 + worker_id


class Sizes(Numbers):
    def __getitem__(self, i):
        return self.size


# --- datasets ---------------------------------------------------------------------------------------------------


def test_tensor_dataset():
    data = TensorDataset(torch.arange(3), torch.eye(3))
    assert len(data) == 3 and data[1][0].item() == 1 and data[1:][1].shape == (2, 3)
    with pytest.raises(AssertionError, match="Size mismatch between tensors"):
        TensorDataset(torch.zeros(2), torch.zeros(3))


def test_stack_dataset():
    stacked = StackDataset(range(3), Subset("abcd", [1, 2, 3]))
    assert stacked[2] == (2, "d") and len(stacked) == 3
    assert stacked.__getitems__([0, 2]) == [(0, "b"), (2, "d")]
    assert StackDataset(a=range(2), b="xy").__getitems__([1]) == [{"a": 1, "b": "y"}]
    for bad, words in (
        (lambda: StackDataset(), "At least one"),
        (lambda: StackDataset([1], a=[1]), "both types"),
        (lambda: StackDataset([1], [1, 2]), "Size mismatch"),
    ):
        with pytest.raises(ValueError, match=words):
            bad()


def test_stack_dataset_checks_what_its_parts_return():
    class Short(Numbers):
        def __getitems__(self, indices):
            return indices[1:]

    with pytest.raises(ValueError, match="Expected 2, got 1"):
        StackDataset(Short(), Numbers()).__getitems__([0, 1])


def test_concat_dataset():
    both = ConcatDataset([range(3), "", "ab"])
    assert [both[i] for i in range(5)] == [0, 1, 2, "a", "b"] and both[-1] == "b" and both.cumulative_sizes == [3, 3, 5]
    with pytest.raises(ValueError, match="absolute value of index"):
        both[-6]
    with pytest.raises(IndexError):
        both[5]
    for bad in ([], [Stream(2)]):
        with pytest.raises(AssertionError):
            ConcatDataset(bad)


def test_chain_dataset():
    chain = Stream(2) + Stream(3)
    assert isinstance(chain, ChainDataset) and list(chain) == [0, 1, 0, 1, 2]
    with pytest.raises(AssertionError, match="only supports IterableDataset"):
        list(ChainDataset([[1]]))


def test_subset():
    assert Subset(range(10), [3, 5])[1] == 5 and len(Subset("abc", [0])) == 1
    assert Subset(Subset(range(10), [3, 5, 7]), [2, 0]).__getitems__([0, 1]) == [7, 3]

    class Half(Subset):
        def __getitem__(self, i):
            return super().__getitem__(i) / 2

    with pytest.raises(NotImplementedError, match="__getitems__"):
        Half(range(3), [0])


@pytest.mark.parametrize(
    "lengths, sizes", [([3, 7], [3, 7]), ([0.75, 0.25], [8, 2]), ([1.0], [10]), ([0.35, 0.35, 0.3], [4, 3, 3])]
)
def test_random_split(lengths, sizes):
    parts = random_split(range(10), lengths, torch.Generator().manual_seed(42))
    assert [len(p) for p in parts] == sizes
    assert sorted(itertools.chain(*[p.indices for p in parts])) == list(range(10))
    assert parts[0].indices[:3] == [2, 6, 1]  # PyTorch's order for this seed


def test_random_split_refuses():
    with pytest.raises(ValueError, match="Sum of input lengths"):
        random_split(range(10), [3, 3])
    with pytest.raises(ValueError, match="Fraction at index 1"):
        random_split(range(10), [0.5, 1.5, -1.0])
    with pytest.warns(UserWarning, match="index 1 is 0"):
        random_split(range(1), [0.9, 0.1])


# --- samplers ---------------------------------------------------------------------------------------------------


def test_samplers_give_pytorchs_orders():
    torch.manual_seed(0)
    assert list(SequentialSampler("abc")) == [0, 1, 2]
    assert list(RandomSampler(range(6))) == [0, 1, 2, 3, 5, 4]
    assert list(RandomSampler(range(6), replacement=True, num_samples=8)) == [0, 3, 3, 2, 3, 3, 3, 1]
    assert list(RandomSampler(range(3), num_samples=7)) == [2, 0, 1, 2, 0, 1, 1]
    assert list(SubsetRandomSampler([5, 6, 7])) == [6, 7, 5]
    assert list(WeightedRandomSampler([0.1, 0.2, 3.0], 5)) == [2, 2, 2, 2, 2]
    assert list(WeightedRandomSampler([0.1, 0.2, 3.0], 3, replacement=False)) == [2, 1, 0]
    assert torch.rand(1).item() == pytest.approx(0.4194, abs=1e-4)


def test_random_sampler_is_lazy():
    for replacement in (True, False):
        sampler = RandomSampler(range(5), replacement, num_samples=int(1e10))
        assert len(sampler) == 10**10 and len(list(itertools.islice(sampler, 7))) == 7


@pytest.mark.parametrize(
    "make",
    [
        lambda: RandomSampler(range(0)),
        lambda: RandomSampler(range(3), num_samples=0),
        lambda: WeightedRandomSampler([1.0], 0),
        lambda: WeightedRandomSampler([[1.0]], 1),
        lambda: BatchSampler(range(3), 0, False),
        lambda: BatchSampler(range(3), 2, None),
        lambda: BatchSampler(range(3), True, False),
    ],
)
def test_samplers_refuse(make):
    with pytest.raises(ValueError, match="should be a"):
        make()


def test_batch_sampler():
    assert list(BatchSampler(iter(range(5)), 2, True)) == [[0, 1], [2, 3]]
    assert len(BatchSampler(range(5), 2, True)) == 2 and len(BatchSampler(range(5), 2, False)) == 3


@pytest.mark.parametrize(
    "size, replicas, drop_last", [(10, 3, False), (10, 3, True), (2, 5, False), (2, 5, True), (9, 3, False)]
)
def test_distributed_sampler_shares_all(size, replicas, drop_last):
    shares = []
    for rank in range(replicas):
        sampler = DistributedSampler(range(size), replicas, rank, drop_last=drop_last, seed=1)
        sampler.set_epoch(2)
        shares.append(list(sampler))
        assert len(shares[-1]) == len(sampler) == (size // replicas if drop_last else math.ceil(size / replicas))
    together = [i for row in zip(*shares) for i in row]
    order = torch.randperm(size, generator=torch.Generator().manual_seed(3)).tolist()
    assert together == list(itertools.islice(itertools.cycle(order), len(together)))


def test_distributed_sampler_refuses():
    with pytest.raises(ValueError, match="Invalid rank 3"):
        DistributedSampler(range(3), 3, 3)


# --- collation --------------------------------------------------------------------------------------------------


def test_default_collate():
    a = default_collate(
        [
            {"n": 1, "f": 1.5, "s": "a", "p": Point(1, [2.0]), "b": True, "y": b"q"},
            {"n": 2, "f": 2.5, "s": "b", "p": Point(3, [4.0]), "b": False, "y": b"r"},
        ]
    )
    assert a["n"].dtype == torch.int64 and a["f"].dtype == torch.float64 and a["b"].dtype == torch.bool
    assert a["s"] == ["a", "b"] and a["y"] == [b"q", b"r"]
    assert isinstance(a["p"], Point) and a["p"].x.tolist() == [1, 3] and a["p"].y[0].tolist() == [2, 4]
    assert default_collate([torch.ones(2), torch.zeros(2)]).tolist() == [[1, 1], [0, 0]]
    assert default_collate([np.ones(2, np.int16)] * 2).dtype == torch.int16
    assert default_collate([np.float32(1), np.float32(2)]).dtype == torch.float32
    assert (
        default_collate([np.float64(1)]).dtype == torch.float64
        and default_collate([np.bool_(True)]).dtype == torch.bool
    )
    assert [t.tolist() for t in default_collate([(0, 1), (2, 3)])] == [[0, 2], [1, 3]]
    assert [t.tolist() for t in default_collate([range(2), range(2)])] == [[0, 0], [1, 1]]
    assert type(default_collate([UserDict(a=1)])) is UserDict
    assert default_collate([MappingProxyType({"a": 1})])["a"].tolist() == [1]
    assert default_collate([{}, {}]) == {} and default_collate([[], []]) == []


@pytest.mark.parametrize(
    "batch, error, words",
    [
        ([object()], TypeError, "found <class 'object'>"),
        ([np.array(["a"])], TypeError, "default_collate: batch must contain"),
        ([[1], [1, 2]], RuntimeError, "each element in list of batch should be of equal size"),
        ([{"a": 1}, {"b": 1}], KeyError, "a"),
        ([torch.ones(1), torch.ones(2)], RuntimeError, "stack expects each tensor to be equal size"),
        ([None], TypeError, "NoneType"),
    ],
)
def test_default_collate_refuses(batch, error, words):
    with pytest.raises(error, match=words):
        default_collate(batch)


def test_default_convert():
    out = default_convert(
        {
            "a": np.arange(2),
            "s": np.array(["x"]),
            "l": [np.float32(1), "q"],
            "t": (1, np.ones(1)),
            "p": Point(1, np.ones(1)),
        }
    )
    assert (
        out["a"].tolist() == [0, 1]
        and isinstance(out["s"], np.ndarray)
        and out["l"][1] == "q"
        and out["l"][0].dtype == torch.float32
    )
    assert isinstance(out["t"], list) and isinstance(out["p"].y, torch.Tensor) and default_convert(np.str_("a")) == "a"


# --- loaders ----------------------------------------------------------------------------------------------------


def test_order_and_draws_are_pytorchs():
    torch.manual_seed(3)
    loader = DataLoader(range(7), batch_size=3, shuffle=True)
    assert [b.tolist() for b in loader] == [[3, 2, 5], [4, 1, 0], [6]]
    assert [b.tolist() for b in loader] == [[3, 1, 6], [0, 2, 4], [5]]
    assert torch.rand(1).item() == pytest.approx(0.5944, abs=1e-4)


def test_generator_leaves_the_default_stream_alone():
    torch.manual_seed(0)
    list(DataLoader(range(5), shuffle=True, generator=torch.Generator().manual_seed(1)))
    assert torch.rand(1).item() == pytest.approx(0.4963, abs=1e-4)


def test_batches_without_collation():
    assert list(DataLoader(Numbers(3), batch_size=None)) == [0, 1, 2]
    assert [b.tolist() for b in DataLoader(Numbers(4), batch_sampler=[[3, 0], [1]])] == [[3, 0], [1]]
    assert [b.tolist() for b in DataLoader(Stream(5), batch_size=2, drop_last=True)] == [[0, 1], [2, 3]]
    assert list(DataLoader(Stream(3), batch_size=None)) == [0, 1, 2]
    assert len(DataLoader(Numbers(5), batch_size=2, drop_last=True)) == 2


def test_getitems_is_preferred():
    class Fast(Numbers):
        def __getitems__(self, indices):
            return [-i for i in indices]

    assert [b.tolist() for b in DataLoader(Fast(3), batch_size=2)] == [[0, -1], [-2]]


@pytest.mark.parametrize(
    "options, words",
    [
        ({"num_workers": -1}, "num_workers option should be non-negative"),
        ({"timeout": -1}, "timeout option"),
        ({"prefetch_factor": 2}, "prefetch_factor option could only"),
        ({"persistent_workers": True}, "needs num_workers > 0"),
        ({"shuffle": True, "sampler": [0]}, "mutually exclusive with shuffle"),
        ({"batch_sampler": [[0]], "batch_size": 2}, "batch_sampler option"),
        ({"batch_size": None, "drop_last": True}, "batch_size=None"),
        ({"num_workers": 1, "multiprocessing_context": "no"}, "valid start method"),
        ({"multiprocessing_context": "spawn"}, "only be used with multi-process"),
    ],
)
def test_impossible_options(options, words):
    with pytest.raises(ValueError, match=words):
        DataLoader(Numbers(), **options)


def test_iterable_datasets_take_no_order():
    for option in ({"shuffle": True}, {"sampler": [0]}, {"batch_sampler": [[0]]}):
        with pytest.raises(ValueError, match="DataLoader with IterableDataset: expected unspecified"):
            DataLoader(Stream(2), **option)


def test_options_are_fixed():
    loader = DataLoader(Numbers(), pin_memory=True)
    with pytest.raises(ValueError, match="should not be set after DataLoader is initialized"):
        loader.batch_size = 3
    assert next(iter(loader)).tolist() == [0]


def test_a_stream_longer_than_promised():
    class Liar(Stream):
        def __len__(self):
            return 2

    loader = DataLoader(Liar(3))
    assert len(loader) == 2
    with pytest.warns(UserWarning, match="reported to be 2"):
        list(loader)


# --- workers ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("method", METHODS)
def test_workers_give_the_same_batches(method):
    plain, workers = [], []
    for out, options in (
        (plain, {}),
        (workers, {"num_workers": 2, "multiprocessing_context": method, "persistent_workers": True}),
    ):
        torch.manual_seed(0)
        loader = DataLoader(Numbers(11), batch_size=2, shuffle=True, **options)
        out += [b.tolist() for _ in range(2) for b in loader]
        out.append(torch.rand(2).tolist() if method == "fork" else None)
    assert plain[:6] == workers[:6] and sorted(sum(plain[6:12], [])) == sorted(sum(workers[6:12], []))
    loader._iterator._shutdown_workers()
    assert [b.tolist() for b in loader][0] != []  # and starts anew


def test_workers_seeds_are_pytorchs():
    torch.manual_seed(0)
    rows = list(DataLoader(Seeds(), batch_size=None, num_workers=2, collate_fn=same))
    base = rows[0][2]
    assert base == 900450186894289455  # as PyTorch draws it
    assert [r[:3] for r in rows] == [(i % 2, 2, base + i % 2) for i in range(4)]
    for w in (0, 1):
        drawn = random.Random(base + w)
        assert [r[3] for r in rows[w::2]] == [drawn.random(), drawn.random()]
        g = torch.Generator().manual_seed(base + w)
        assert [r[5] for r in rows[w::2]] == [torch.rand(1, generator=g).item() for _ in range(2)]
    assert rows[0][4] != rows[1][4]


def test_init_function_runs_in_each_worker():
    assert [b.tolist() for b in DataLoader(Sizes(4), num_workers=2, worker_init_fn=announce)] == [
        [100],
        [101],
        [100],
        [101],
    ]
    assert get_worker_info() is None


@pytest.mark.parametrize("batch_size, batches", [(None, [0, 1, 2, 3, 4]), (2, [[0, 2], [1, 3], [4]])])
def test_streams_are_shared_out(batch_size, batches):
    assert [
        b if batch_size is None else b.tolist() for b in DataLoader(Stream(5), batch_size=batch_size, num_workers=2)
    ] == batches
    loader = DataLoader(Stream(5), batch_size=batch_size, num_workers=2, persistent_workers=True)
    for _ in range(2):
        assert [b if batch_size is None else b.tolist() for b in loader] == batches


class Large(Dataset):
    def __len__(self):
        return 3

    def __getitem__(self, i):
        return {
            "a": np.full((300, 301), i, np.float32),
            "b": torch.full((200, 100), i, dtype=torch.bfloat16).t(),
            "n": i,
        }


def test_large_arrays_arrive_whole_and_writable():
    for i, batch in enumerate(DataLoader(Large(), batch_size=1, num_workers=2)):
        assert batch["a"].shape == (1, 300, 301) and bool((batch["a"] == i).all()) and bool((batch["b"] == i).all())
        batch["a"] += 1
        batch["b"].zero_()


@pytest.mark.parametrize(
    "error", [ValueError("no seven"), KeyError("seven"), Twice(1, 2), StopIteration(5)], ids=lambda e: type(e).__name__
)
def test_exceptions_come_with_the_workers_traceback(error):
    loader = DataLoader(Numbers(10, 7, error), batch_size=2, num_workers=2)
    expected = RuntimeError if isinstance(error, Twice) else type(error)
    it = iter(loader)
    got = [next(it).tolist() for _ in range(3)]
    with pytest.raises(expected) as caught:
        next(it)
    assert got == [[0, 1], [2, 3], [4, 5]]
    message = str(caught.value)
    assert message.startswith(
        f"Caught {type(error).__name__} in DataLoader worker process 1.\nOriginal Traceback (most recent call last):"
    )
    assert "raise self.event" in message
    assert next(it).tolist() == [8, 9]  # the others go on


def test_workers_end_with_their_exception():
    before = set(multiprocessing.active_children())
    gc.disable()  # nothing may wait for it
    try:
        try:
            list(DataLoader(Numbers(10, 7, ValueError("no seven")), batch_size=2, num_workers=2))
        except ValueError:
            pass
        assert not set(multiprocessing.active_children()) - before
    finally:
        gc.enable()


def test_exceptions_of_the_init_function():
    def fail(worker_id):
        raise ValueError(f"not {worker_id}")

    it = iter(
        DataLoader(
            Numbers(4),
            num_workers=1,
            worker_init_fn=fail,
            multiprocessing_context="fork" if "fork" in METHODS else None,
        )
    )
    for _ in range(2):
        with pytest.raises(ValueError, match="not 0"):
            next(it)


def test_what_cannot_be_pickled_is_an_exception():
    with pytest.raises(Exception, match="Caught .* in DataLoader worker process 0"):
        list(DataLoader(Numbers(4, 2, "unpicklable"), batch_size=None, num_workers=1))


@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="Windows has no SIGKILL")
@pytest.mark.parametrize("event, note", [("kill", "was killed by signal SIGKILL"), ("exit", "ended with exit code 3")])
def test_death_of_a_worker(event, note):
    it = iter(DataLoader(Numbers(10, 5, event), num_workers=2))
    workers = it._workers
    next(it)  # however long they take to start
    began = time.monotonic()
    with pytest.raises(RuntimeError, match=r"DataLoader worker \(pid\(s\) \d+\) exited unexpectedly") as caught:
        list(it)
    assert any(note in n for n in caught.value.__notes__)
    assert time.monotonic() - began < 10 and not any(w.is_alive() for w in workers)


def test_timeout():
    it = iter(DataLoader(Numbers(4, 1, "sleep"), batch_size=None, num_workers=1, timeout=60))
    assert next(it) == 0
    it._timeout = 0.3  # not from the start, which takes longer
    with pytest.raises(RuntimeError, match="DataLoader timed out after 0.3 seconds"):
        next(it)
    for w in it._workers:
        w.terminate()


def test_workers_end_with_their_iterator():
    it = iter(DataLoader(Numbers(1000), num_workers=2))
    next(it)
    workers = it._workers
    del it
    gc.collect()
    assert not any(w.is_alive() for w in workers)


def test_out_of_order():
    loader = DataLoader(Numbers(40), batch_size=2, num_workers=2, in_order=False)
    assert sorted(sum([b.tolist() for b in loader], [])) == list(range(40))


def test_a_pass_broken_off_leaves_nothing_behind():
    loader = DataLoader(Numbers(20), batch_size=2, num_workers=2, persistent_workers=True, prefetch_factor=3)
    next(iter(loader))
    assert [b.tolist() for b in loader] == [[i, i + 1] for i in range(0, 20, 2)]
    with pytest.raises(NotImplementedError, match="cannot be pickled"):
        pickle.dumps(iter(loader))


@pytest.mark.skipif("spawn" not in METHODS, reason="needs spawn")
def test_unpicklable_dataset_says_what_to_do():
    with pytest.raises(Exception) as caught:
        iter(DataLoader(Numbers(4), num_workers=1, collate_fn=lambda b: b, multiprocessing_context="spawn"))
    assert any("define what they are made of at the top of a module" in n for n in caught.value.__notes__)


PROGRAM = """
import signal, time, torch
class Slow(torch.utils.data.Dataset):
    def __len__(self): return 1000
    def __getitem__(self, i): time.sleep(0.05); return i
if __name__ == "__main__":
    signal.signal(signal.SIGINT, signal.default_int_handler)  # a job in a shell's background begins by ignoring it
    loader = torch.utils.data.DataLoader(Slow(), batch_size=2, num_workers=2, multiprocessing_context={method!r})
    for i, batch in enumerate(loader):
        if i == 1: print("ready", flush=True)
"""


@pytest.mark.skipif(sys.platform == "win32", reason="Ctrl-C cannot be sent to a group there")
@pytest.mark.parametrize("method", METHODS)
def test_ctrl_c(tmp_path, method):
    """One traceback, that of the main process, and no process left behind."""
    script = tmp_path / "program.py"
    script.write_text(PROGRAM.format(method=method))
    process = subprocess.Popen(
        [sys.executable, "-m", "pullback", "run", str(script)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    assert process.stdout.readline().startswith("ready")
    os.killpg(process.pid, signal.SIGINT)
    _, errors = process.communicate(timeout=300)
    assert errors.count("Traceback") == 1 and errors.rstrip().endswith("KeyboardInterrupt"), errors
    for _ in range(50):
        try:
            os.killpg(process.pid, 0)
        except ProcessLookupError:
            return
        time.sleep(0.1)
    pytest.fail("a worker is left")


ORPHANS = """
import os, sys, time, torch
from torch import multiprocessing as mp
class Stuck(torch.utils.data.Dataset):
    def __len__(self): return 1000
    def __getitem__(self, i): time.sleep(600 * {stuck}); return i
def stay(i):
    time.sleep(600)
if __name__ == "__main__":
    loader = torch.utils.data.DataLoader(Stuck(), num_workers=2, multiprocessing_context={method!r})
    batches = iter(loader)
    started = mp.start_processes(stay, nprocs=2, join=False, start_method={method!r})
    print(*[p.pid for p in batches._workers], *started.pids(), flush=True)
    {then}
"""


@pytest.mark.skipif(not os.path.isdir("/proc/self"), reason="looks into /proc")
@pytest.mark.parametrize("stuck, then", [(0, "time.sleep(600)"), (1, "os.kill(os.getpid(), 9)")])
@pytest.mark.parametrize("method", [*METHODS, "forkserver"])
def test_nobody_outlives_a_parent_that_is_killed(tmp_path, method, stuck, then):
    """Also if it dies before a child has begun to run, and while a child is busy."""
    script = tmp_path / "program.py"
    script.write_text(ORPHANS.format(method=method, stuck=stuck, then=then))
    command = [sys.executable, "-m", "pullback", "run", str(script)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as process:
        children = process.stdout.readline().split()
        process.kill()
    assert len(children) == 4
    deadline = time.monotonic() + 60
    while any(map(_runs, children)):
        assert time.monotonic() < deadline, "a child is left"
        time.sleep(0.1)


def _runs(pid):
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


# --- beside PyTorch ---------------------------------------------------------------------------------------------


@pytest.mark.torch
def test_beside_pytorch():
    theirs = pytest.importorskip("torch")

    def run(torch):
        data = torch.utils.data
        torch.manual_seed(5)
        out = []
        for options in (
            {"batch_size": 4, "shuffle": True},
            {"batch_size": None, "shuffle": True},
            {"batch_size": 3, "shuffle": True, "drop_last": True},
            {
                "batch_size": 3,
                "shuffle": True,
                "num_workers": 2,
                "multiprocessing_context": "fork" if "fork" in METHODS else "spawn",
            },
            {"batch_size": 2, "sampler": data.WeightedRandomSampler([0.1, 2, 3, 1], 9)},
            {"shuffle": True, "generator": torch.Generator().manual_seed(2)},
        ):
            loader = data.DataLoader(Numbers(10), **options)
            out += [b if isinstance(b, int) else b.tolist() for _ in range(2) for b in loader]
        out += [part.indices for part in data.random_split(range(20), [0.5, 0.3, 0.2])]
        out.append(list(data.DistributedSampler(range(10), 3, 1)))
        out.append(torch.rand(2).tolist())
        return out

    assert run(torch) == run(theirs)


@pytest.mark.torch
def test_numpys_seed_beside_pytorch():
    worker = pytest.importorskip("torch.utils.data._utils.worker")
    from pullback.utils.data._utils.worker import numpy_seed

    for base, number in ((0, 0), (2**63 - 1, 3), (1234567890123456789, 17)):
        assert numpy_seed(base, number).tolist() == worker._generate_state(base, number)


def test_a_batch_of_rows_is_what_collating_samples_gives():
    x, y = torch.arange(24.0).view(6, 4).t().contiguous().t(), torch.arange(6, dtype=torch.int16)
    plain = TensorDataset(x, y)
    for dataset in (plain, Subset(plain, [5, -6, 3]), Subset(Subset(plain, range(1, 6)), [4, 0])):
        for given, collate_fn in ((dataset, None), (list(dataset), None), (dataset, lambda samples: samples)):
            batches = list(DataLoader(given, batch_size=2, collate_fn=collate_fn))
            if collate_fn is None:
                assert all(type(b) is list and b[0].stride() == (4, 1) and b[1].dtype is torch.int16 for b in batches)
                assert [b[0].tolist() for b in batches] == [[r.tolist() for r, _ in s] for s in in_pairs(dataset)]
                assert [b[1].tolist() for b in batches] == [[n.item() for _, n in s] for s in in_pairs(dataset)]
            else:
                assert type(batches[0][0]) is tuple and len(batches[0][0]) == 2
    (recorded,) = next(iter(DataLoader(TensorDataset(x.requires_grad_()), batch_size=2)))
    assert recorded.grad_fn.name() == "StackBackward0"
    with pytest.raises(IndexError, match="index 6 is out of bounds for dimension 0 with size 6"):
        list(DataLoader(Subset(plain, [0, 6]), batch_size=2))


def in_pairs(dataset):
    samples = [dataset[i] for i in range(len(dataset))]
    return [samples[i : i + 2] for i in range(0, len(samples), 2)]


def test_a_pass_over_what_stands_for_a_loader():
    """Frameworks hand objects of their own, with the attributes of PyTorch's loaders, to the class of passes."""
    from itertools import count

    from pullback.utils.data.dataloader import _DatasetKind, _SingleProcessDataLoaderIter

    class Loader:
        dataset, _dataset_kind, _auto_collation, drop_last = (
            [torch.ones(2), torch.zeros(2)],
            _DatasetKind.Iterable,
            False,
            False,
        )
        _index_sampler, _IterableDataset_len_called, generator, num_workers = count(), None, None, 0
        timeout, pin_memory, prefetch_factor = 0, False, 2
        collate_fn = staticmethod(lambda x: x)

    assert [x.tolist() for x in _SingleProcessDataLoaderIter(Loader())] == [[1, 1], [0, 0]]
