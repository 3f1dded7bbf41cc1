"""Forked children work, whatever other threads of the parent were doing."""

from __future__ import annotations

import functools
import os
import re
import subprocess
import sys
import threading
from pathlib import Path

import pytest

import pullback as torch
from pullback.base import forks

PACKAGE = Path(torch.__file__).parent
needs_fork = pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork here")

BUSY = """
import itertools, os, signal, sys, threading, time, warnings
import numpy as np
import pullback as torch
from pullback import kernels

warnings.simplefilter("ignore")  # Python 3.12 warns of forks beside threads
w = torch.rand(300, 300, requires_grad=True)
plan = torch.compile(lambda x: (torch.sigmoid(x) * x).sum() + torch.rand(3).sum())
numbers, ended = itertools.count(), False

def backward():
    (torch.sigmoid(w * w) + torch.softmax(w, 1)).sum().backward()

def compiled():
    plan(w.detach())

def tracing():
    n = next(numbers)
    torch.compile(lambda x: torch.tanh(x + n).sum())(torch.ones(70, 70))

def drawing():
    torch.randn(200_000), np.random.random(1000)

def building():
    from pullback.kernels.codegen import jit
    jit.load(lambda: "define i64 @f.$$() { ret i64 1 }", "busy", os.getpid(), next(numbers))

def importing():
    for name in [n for n in sys.modules if n.startswith("pullback.kernels.") and n.count(".") == 2]:
        del sys.modules[name]
    kernels._functions.clear()
    backward()

def looking_up():
    torch.ops.aten.__dict__.pop("add", None)
    torch.ops.aten.add.Tensor(torch.ones(2), 1)

def in_futures():
    future = torch.futures.Future()
    future.then(lambda f: None)
    future.set_result(1)

def loop(work):
    while not ended:
        work()

def child():
    "Everything once, with what all threads hold."
    signal.alarm(60)
    backward()
    assert w.grad.isfinite().all()
    torch.compile(lambda x: torch.tanh(x).sum())(torch.ones(70, 70))
    for work in (compiled, drawing, building, looking_up, in_futures):
        work()
    from pullback.ops import bessel
    np.random.seed(1)
    shared.set_result(1) if not shared.done() else None
    assert shared.wait() == 1

shared = torch.futures.Future()
backward()
threads = [threading.Thread(target=loop, args=(work,), daemon=True) for work in WORK]
[t.start() for t in threads]
failed = []
for i in range(CHILDREN):
    time.sleep(0.003 * (i % 7))
    pid = os.fork()
    if pid == 0:
        code = 1
        try:
            child()
            code = 0
        finally:
            os._exit(code)
    code = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    failed += [code] if code else []
ended = True
print(failed, flush=True)
os._exit(0)
"""


def busy(work: str, children: int, cache: Path) -> str:
    """What the exit codes of children were that did not end well, where a thread loops in each of these functions."""
    text = BUSY.replace("WORK", f"({work},)").replace("CHILDREN", str(children))
    environment = os.environ | {"PULLBACK_KERNELS": "on", "PULLBACK_CACHE": str(cache)}
    ran = subprocess.run([sys.executable, "-c", text], env=environment, capture_output=True, text=True, timeout=900)
    return ran.stdout.strip() or ran.stderr[-2000:]


@needs_fork
@pytest.mark.parametrize(
    "work", ["backward, compiled", "tracing", "drawing", "building", "looking_up, in_futures", "importing"]
)
def test_children_of_a_busy_parent(work: str, tmp_path: Path) -> None:
    pytest.importorskip("pullback.kernels.codegen.jit", exc_type=ImportError)
    assert busy(work, 12, tmp_path) == "[]"


def test_a_lock_that_is_never_let_go(monkeypatch: pytest.MonkeyPatch) -> None:
    """The fork goes ahead, and the child's lock is free; the parent's is as it was."""
    monkeypatch.setattr(forks, "PATIENCE", 0.05)
    lock, held, done = forks.lock(forks.Order.STATE), threading.Event(), threading.Event()

    def hold() -> None:
        with lock:
            held.set()
            done.wait()

    thread = threading.Thread(target=hold)
    thread.start()
    held.wait()
    if hasattr(os, "fork"):
        pid = os.fork()
        if pid == 0:
            os._exit(0 if lock.acquire(blocking=False) else 1)
        assert os.waitpid(pid, 0)[1] == 0
    assert not lock.acquire(blocking=False)
    done.set()
    thread.join()


@needs_fork
def test_who_forks_may_hold_locks() -> None:
    lock = forks.lock(forks.Order.STATE)
    with lock:
        pid = os.fork()
        if pid == 0:
            lock.release()
            os._exit(0 if not lock._is_owned() else 1)
    assert os.waitpid(pid, 0)[1] == 0


def test_every_lock_is_known() -> None:
    """Locks are made in one place, and so are properties that lock before Python 3.12, and hooks."""
    made = re.compile(
        r"threading\.R?Lock\(|threading\.Condition\(\)|functools\.cached_property|register_at_fork|"
        r"from functools import .*cached_property|Semaphore\(|allocate_lock"
    )
    found = {path.name for path in PACKAGE.rglob("*.py") if made.search(path.read_text())}
    assert found == {"forks.py"}
    assert isinstance(forks.cached_property(len), functools.cached_property)
