"""Stores keep what they are told, whoever asks; and give up in time."""

import os
import subprocess
import sys
import threading
import time
from datetime import timedelta

import pytest
from ranks import environment

import pullback.distributed as dist

SOON = timedelta(seconds=0.05)


@pytest.fixture(params=["hash", "file", "tcp", "prefix"])
def store(request, tmp_path):
    if request.param == "file":
        return dist.FileStore(str(tmp_path / "store"), 1)
    if request.param == "tcp":
        return dist.TCPStore("localhost", 0, is_master=True, wait_for_workers=False)
    return dist.PrefixStore("part", dist.HashStore()) if request.param == "prefix" else dist.HashStore()


def test_values(store):
    before = store.num_keys()
    store.set("a", "1")
    store.set("b", b"\0\xff")
    assert store.get("a") == b"1" and store.get("b") == b"\0\xff"
    assert store.num_keys() == before + 2
    assert store.check(["a", "b"]) and not store.check(["a", "c"])
    assert store.delete_key("a") and not store.delete_key("a") and not store.check(["a"])
    store.append("text", "x")
    store.append("text", "yz")
    assert store.get("text") == b"xyz"
    store.multi_set(["m", "n"], ["1", "2"])
    assert store.multi_get(["n", "m"]) == [b"2", b"1"]


def test_numbers_and_exchange(store):
    assert [store.add("n", 3), store.add("n", -1), store.get("n")] == [3, 2, b"2"]
    assert store.compare_set("k", "x", "1") == b"x" and not store.check(["k"])
    assert store.compare_set("k", "", "1") == b"1"
    assert store.compare_set("k", "1", "2") == b"2"
    assert store.compare_set("k", "1", "3") == b"2"


def test_queues(store):
    store.queue_push("q", "a")
    store.queue_push("q", "b")
    assert store.queue_len("q") == 2 and store.queue_pop("q") == b"a" and store.queue_pop("q") == b"b"
    with pytest.raises(dist.QueueEmptyError, match="queue is empty"):
        store.queue_pop("q", block=False)


def test_what_is_not_there_is_waited_for_in_vain(store):
    with pytest.raises(dist.DistStoreError, match="wait timeout after 50ms, keys: /.*nothing"):
        store.wait(["nothing"], SOON)
    store.set_timeout(SOON)
    assert store.timeout == SOON
    with pytest.raises(RuntimeError, match="nothing"):
        store.get("nothing")


def test_what_comes_is_waited_for(store):
    other = store.clone()
    thread = threading.Thread(target=lambda: (time.sleep(0.05), other.set("late", "x")))
    thread.start()
    assert store.get("late") == b"x"
    thread.join()


def test_several_threads_count(store):
    def count():
        for _ in range(20):
            store.add("n", 1)

    threads = [threading.Thread(target=count) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert store.get("n") == b"80"


def test_wrong_arguments(store):
    for call in (lambda: store.set("a", 3), lambda: store.add("a", "q"), lambda: store.get(3)):
        with pytest.raises(TypeError):
            call()


def test_processes_share(tmp_path):
    program = """
import sys, pullback.distributed as dist
kind, where = sys.argv[1:]
store = dist.FileStore(where, 2) if kind == "file" else dist.TCPStore("localhost", int(where), 2, False)
store.set("from child", store.get("from parent"))
"""
    for kind in ("file", "tcp"):
        if kind == "file":
            store = dist.FileStore(str(tmp_path / "shared"), 2)
            where = str(tmp_path / "shared")
        else:
            store = dist.TCPStore("localhost", 0, 2, True, wait_for_workers=False)
            where = str(store.port)
        child = subprocess.Popen([sys.executable, "-c", program, kind, where], env=environment())
        store.set("from parent", "x")
        assert store.get("from child") == b"x" and child.wait(30) == 0
    del store
    assert not os.path.exists(tmp_path / "shared")


def test_nobody_listens():
    with pytest.raises(dist.DistNetworkError, match="timed out after 200ms while trying to connect"):
        dist.TCPStore("localhost", 1, 2, False, timedelta(seconds=0.2))
    store = dist.TCPStore("localhost", 0, 1, True)
    with pytest.raises(dist.DistNetworkError, match="failed to bind"):
        dist.TCPStore("localhost", store.port, 1, True)
    with pytest.raises(dist.DistStoreError, match="1/2 clients joined"):
        dist.TCPStore("localhost", 0, 2, True, SOON)


def test_a_group_of_one(tmp_path):
    for how in (
        {"store": dist.HashStore(), "rank": 0, "world_size": 1},
        {"init_method": f"file://{tmp_path / 'one'}", "rank": 0, "world_size": 1},
    ):
        dist.init_process_group("gloo", **how)
        assert dist.get_rank() == 0 and dist.get_world_size() == 1 and dist.get_backend() == "gloo"
        with pytest.raises(ValueError, match="twice"):
            dist.init_process_group("gloo", **how)
        found = [None]
        dist.all_gather_object(found, "x")
        dist.barrier()
        assert found == ["x"] and dist.group.WORLD.size() == 1
        dist.destroy_process_group()
        assert not dist.is_initialized()


def test_what_is_refused(monkeypatch):
    for name in ("RANK", "WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT"):
        monkeypatch.delenv(name, raising=False)
    with pytest.raises(ValueError, match="environment variable RANK expected, but not set"):
        dist.init_process_group("gloo")
    with pytest.raises(ValueError, match="environment variable WORLD_SIZE expected"):
        dist.init_process_group(rank=0)
    with pytest.raises(ValueError, match="using tcp:// rendezvous: rank parameter missing"):
        dist.init_process_group(init_method="tcp://localhost:29500")
    with pytest.raises(RuntimeError, match="No rendezvous handler for foo://"):
        dist.init_process_group(init_method="foo://x")
    with pytest.raises(RuntimeError, match="doesn't have NCCL built in"):
        dist.init_process_group("nccl", store=dist.HashStore(), rank=0, world_size=1)
    with pytest.raises(AssertionError, match="Unknown backend type zzz"):
        dist.init_process_group("zzz", store=dist.HashStore(), rank=0, world_size=1)
    for ask in (dist.get_rank, dist.barrier, dist.get_world_size, lambda: dist.new_group([0])):
        with pytest.raises(ValueError, match="Default process group has not been initialized"):
            ask()


def test_without_mpi(monkeypatch):
    from pullback.distributed import mpi_job

    monkeypatch.setattr(mpi_job, "is_installed", lambda: False)
    monkeypatch.setattr(mpi_job, "_mpi", None)
    with pytest.raises(RuntimeError, match="doesn't have MPI built in") as caught:
        dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=2)
    assert "pip install 'pullback[distributed]'" in "".join(caught.value.__notes__)
    assert not dist.is_initialized()
