"""``torch.multiprocessing``: tensors between processes, and functions run in several."""

from __future__ import annotations

import gc
import multiprocessing
import os
import pathlib
import sys
import time

import pytest

import pullback as torch
from pullback import multiprocessing as mp
from pullback.multiprocessing import ProcessExitedException, ProcessRaisedException

METHOD = "fork" if "fork" in mp.get_all_start_methods() else "spawn"


def put(rank, queue):
    queue.put((rank, torch.full((2, 2), float(rank)).t(), torch.nn.Linear(2, 1)))


def fail(rank, how):
    if rank == 0:
        time.sleep(60)
    if how == "raise":
        raise ValueError("seven")
    os._exit(5)


def test_tensors_and_modules_pass_through_queues():
    queue = mp.get_context(METHOD).SimpleQueue()
    context = mp.start_processes(put, (queue,), nprocs=2, join=False, start_method=METHOD)
    got = sorted([queue.get(), queue.get()], key=lambda g: g[0])
    while not context.join():
        pass
    assert [g[1].tolist() for g in got] == [[[0, 0], [0, 0]], [[1, 1], [1, 1]]] and got[0][2].weight.requires_grad


def test_history_does_not_pass():
    queue = mp.get_context(METHOD).SimpleQueue()
    with pytest.raises(RuntimeError, match="Cowardly refusing to serialize non-leaf tensor which requires_grad"):
        queue.put(torch.ones(2, requires_grad=True) * 2)


@pytest.mark.parametrize(
    "how, error, words",
    [
        ("raise", ProcessRaisedException, "-- Process 1 terminated with the following error:\n(.|\n)*seven"),
        ("exit", ProcessExitedException, "process 1 terminated with exit code 5"),
    ],
)
def test_a_failure_stops_the_others(how, error, words):
    began = time.monotonic()
    with pytest.raises(error, match=words) as caught:
        mp.start_processes(fail, (how,), nprocs=2, start_method=METHOD)
    assert caught.value.error_index == 1 and time.monotonic() - began < 30


def test_spawn_starts_fresh_interpreters(tmp_path):
    import subprocess

    script = tmp_path / "program.py"
    script.write_text(
        "import os, torch\n"
        "def work(rank, x): os.write(1, f'{rank} {torch.__name__} {x.sum().item()}\\n'.encode())  # at once\n"
        "if __name__ == '__main__': torch.multiprocessing.spawn(work, (torch.ones(3),), nprocs=2)\n"
    )
    run = subprocess.run(
        [sys.executable, "-m", "pullback", "run", str(script)], capture_output=True, text=True, timeout=60
    )
    assert sorted(run.stdout.split("\n")) == ["", "0 torch 3.0", "1 torch 3.0"], run.stderr


def test_sharing_strategies():
    mp.set_sharing_strategy("file_descriptor")
    assert mp.get_sharing_strategy() in mp.get_all_sharing_strategies()
    with pytest.raises(AssertionError, match="invalid sharing strategy"):
        mp.set_sharing_strategy("none")


SHARING = """
import sys, torch
import torch.multiprocessing as mp

def work(model, queue, rank, lock):
    with lock, torch.no_grad():
        for p in model.parameters():
            p.add_(rank + 1)
    queue.put((rank, model.weight.is_shared()))

if __name__ == "__main__":
    context = mp.get_context(sys.argv[1])
    model = torch.nn.Linear(3, 2)
    torch.nn.init.zeros_(model.weight)
    weight = model.weight
    assert model.share_memory() is model and model.weight is weight and weight.is_leaf and weight.requires_grad
    queue, lock = context.Queue(), context.Lock()
    children = [context.Process(target=work, args=(model, queue, rank, lock)) for rank in range(2)]
    for child in children:
        child.start()
    print(sorted(queue.get() for _ in children))
    for child in children:
        child.join()
    print(weight.tolist())
    model(torch.ones(1, 3)).sum().backward()
    torch.optim.SGD(model.parameters(), lr=1.0).step()
    print(weight.tolist(), weight.is_shared())
    t = torch.zeros(2, 3).t().share_memory_()
    queue.put(t[1:])
    other = queue.get()
    other[0, 1] = 5
    print(t.tolist(), t.stride())
"""


@pytest.mark.parametrize("method", multiprocessing.get_all_start_methods())
def test_processes_write_into_shared_memory(tmp_path, method):
    import subprocess

    script = tmp_path / "program.py"
    script.write_text(SHARING)
    run = subprocess.run(
        [sys.executable, "-m", "pullback", "run", str(script), method], capture_output=True, text=True, timeout=120
    )
    assert run.stdout.splitlines() == [
        "[(0, True), (1, True)]",
        "[[3.0, 3.0, 3.0], [3.0, 3.0, 3.0]]",
        "[[2.0, 2.0, 2.0], [2.0, 2.0, 2.0]] True",
        "[[0.0, 0.0], [0.0, 5.0], [0.0, 0.0]] (1, 3)",
    ], run.stderr


STATE = """
import sys, torch
import torch.multiprocessing as mp

def work(model, optimizer, lock):
    for _ in range(5):
        with lock:
            for p in model.parameters():
                p.grad = torch.ones_like(p)
            optimizer.step()

if __name__ == "__main__":
    model = torch.nn.Linear(3, int(sys.argv[2])).share_memory()
    optimizer = torch.optim.Adam(model.parameters(), lr=0.5)
    for p in model.parameters():
        torch.nn.init.zeros_(p)
        optimizer.state[p].update(step=torch.zeros(1), exp_avg=torch.zeros_like(p), exp_avg_sq=torch.zeros_like(p))
        for t in optimizer.state[p].values():
            t.share_memory_()
    context, lock = mp.get_context(sys.argv[1]), mp.get_context(sys.argv[1]).Lock()
    processes = [context.Process(target=work, args=(model, optimizer, lock)) for _ in range(2)]
    for process in processes:
        process.start()
    for process in processes:
        process.join()
    print([round(w, 3) for w in model.weight[-1].tolist()], [s["step"].item() for s in optimizer.state.values()])
    print([round(s["exp_avg"].mean().item(), 4) for s in optimizer.state.values()], optimizer.state[model.weight]["exp_avg"].is_shared())
"""  # noqa: E501


@pytest.mark.parametrize("units", [1, 40_000])  # the second is large enough for kernels
@pytest.mark.parametrize("method", multiprocessing.get_all_start_methods())
def test_processes_share_the_state_of_an_optimizer(tmp_path, method, units):
    import subprocess

    script = tmp_path / "program.py"
    script.write_text(STATE)
    run = subprocess.run(
        [sys.executable, "-m", "pullback", "run", str(script), method, str(units)],
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert run.stdout.splitlines() == ["[-5.0, -5.0, -5.0] [10.0, 10.0]", "[0.6513, 0.6513] True"], run.stderr


def test_shared_memory_goes_with_its_tensor():
    from pullback.multiprocessing import shared

    x = torch.arange(6.0).reshape(2, 3)
    assert (
        not x.is_shared()
        and x.share_memory_() is x
        and x.is_shared()
        and x[1].is_shared()
        and not x.clone().is_shared()
    )
    path = shared.mapping_of(x._array).path
    assert sys.platform == "win32" or pathlib.Path(path).exists()
    assert x.share_memory_().tolist() == [[0, 1, 2], [3, 4, 5]]
    assert shared.mapping_of(x._array).path == path  # once is enough
    empty = torch.zeros(0, 3).share_memory_()
    assert empty.is_shared() and empty.shape == (0, 3)
    del x
    gc.collect()
    assert not pathlib.Path(path).exists()
    with pytest.raises(RuntimeError, match="Cannot access storage"):
        torch.vmap(lambda x: x.share_memory_())(torch.zeros(2))
