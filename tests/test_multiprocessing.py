"""``torch.multiprocessing``: tensors between processes, and functions run in several."""

from __future__ import annotations

import os
import sys
import time

import pytest

import pullback as torch
from pullback import multiprocessing as mp
from pullback.multiprocessing import ProcessExitedException, ProcessRaisedException

METHOD = "fork" if "fork" in mp.get_all_start_methods() else "spawn"
pytestmark = pytest.mark.filterwarnings("ignore:This process .* is multi-threaded:DeprecationWarning")


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


@pytest.mark.parametrize("how, error, words", [("raise", ProcessRaisedException, "-- Process 1 terminated with the following error:\n(.|\n)*seven"),
                                               ("exit", ProcessExitedException, "process 1 terminated with exit code 5")])  # fmt: skip
def test_a_failure_stops_the_others(how, error, words):
    began = time.monotonic()
    with pytest.raises(error, match=words) as caught:
        mp.start_processes(fail, (how,), nprocs=2, start_method=METHOD)
    assert caught.value.error_index == 1 and time.monotonic() - began < 30


def test_spawn_starts_fresh_interpreters(tmp_path):
    import subprocess

    script = tmp_path / "program.py"
    script.write_text("import os, torch\n"
                      "def work(rank, x): os.write(1, f'{rank} {torch.__name__} {x.sum().item()}\\n'.encode())  # at once\n"
                      "if __name__ == '__main__': torch.multiprocessing.spawn(work, (torch.ones(3),), nprocs=2)\n")  # fmt: skip
    run = subprocess.run([sys.executable, "-m", "pullback", "run", str(script)], capture_output=True, text=True, timeout=60)
    assert sorted(run.stdout.split("\n")) == ["", "0 pullback 3.0", "1 pullback 3.0"], run.stderr


def test_sharing_strategies():
    mp.set_sharing_strategy("file_descriptor")
    assert mp.get_sharing_strategy() in mp.get_all_sharing_strategies()
    with pytest.raises(AssertionError, match="invalid sharing strategy"):
        mp.set_sharing_strategy("none")
