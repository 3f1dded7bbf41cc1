"""Programs become several ranks in all the ways that PyTorch's do; and when one fails, all end and say why."""

import os
import subprocess
import sys

import pytest
from ranks import environment, needs_mpi

pytestmark = needs_mpi
PROGRAM = """
import os, signal, sys, time
import torch, torch.distributed as dist

def main(rank=None, size=None, address=None):
    how = sys.argv[1]
    given = {} if rank is None else {"rank": rank, "world_size": size, "init_method": address}
    dist.init_process_group("gloo", **given)
    rank = dist.get_rank()
    x = torch.ones(2) * (rank + 1)
    dist.all_reduce(x)
    assert x.tolist() == [3, 3], x
    if how == "ranks":
        assert (os.environ["RANK"], os.environ["WORLD_SIZE"], os.environ["LOCAL_RANK"]) == (str(rank), "2", str(rank))
    if how == "again":
        dist.destroy_process_group()
        dist.init_process_group("gloo", **given)
        dist.all_reduce(x)
        assert x.tolist() == [6, 6], x
    if rank == 1 and how == "raise":
        raise ValueError("the error of one")
    if rank == 1 and how == "kill":
        os.kill(os.getpid(), signal.SIGKILL)
    if rank == 1 and how == "exit":
        sys.exit(5)
    if rank == 1 and how == "leave":
        return
    if how in ("raise", "kill", "exit", "leave"):
        dist.all_reduce(x)
    if how == "mismatch":
        dist.all_reduce(torch.ones(2 + rank))
    sys.stdout.write(f"rank {rank} is done\\n")
    sys.stdout.flush()
    if how != "open":
        dist.destroy_process_group()

if __name__ == "__main__":
    if len(sys.argv) > 2:
        import torch.multiprocessing as mp
        if how_started := sys.argv[3:]:
            context = mp.get_context(*how_started)
            processes = [context.Process(target=main, args=(i, 2, sys.argv[2])) for i in range(2)]
            for process in processes:
                process.start()
            for process in processes:
                process.join()
            print([process.exitcode for process in processes])
        else:
            mp.spawn(main, (2, sys.argv[2]), nprocs=2)
    else:
        main()
"""


@pytest.fixture(scope="module")
def program(tmp_path_factory):
    path = tmp_path_factory.mktemp("launch") / "program.py"
    path.write_text(PROGRAM)
    return str(path)


def run(*command, **more):
    before = leftovers()
    done = subprocess.run(
        [sys.executable, *command], env=environment(**more), capture_output=True, text=True, timeout=120
    )
    assert leftovers() <= before
    return done


def leftovers():
    return {name for name in os.listdir("/dev/shm") if "mpich" in name} if os.path.isdir("/dev/shm") else set()


def check(done):
    assert done.returncode == 0, done.stdout + done.stderr
    assert sorted(done.stdout.splitlines()) == ["rank 0 is done", "rank 1 is done"]


def test_pullback_run(program):
    check(run("-m", "pullback", "run", "--nproc", "2", program, "ranks"))


@pytest.mark.parametrize("command", [["-m", "torch.distributed.run"], ["torchrun"]], ids=["module", "torchrun"])
def test_torchrun(program, command):
    check(run("-m", "pullback", "run", *command, "--nproc_per_node=2", program, "open"))


def test_a_child_of_a_program(program):
    check(run("-m", "torch.distributed.run", "--nproc-per-node", "2", program, "ranks", as_torch=True))


def test_spawn(program, tmp_path):
    check(run("-m", "pullback", "run", program, "again", f"file://{tmp_path / 'store'}"))
    failed = run("-m", "pullback", "run", program, "raise", f"file://{tmp_path / 'other'}")
    assert failed.returncode == 1 and "Process 1 terminated" in failed.stderr
    assert failed.stderr.rstrip().endswith("ValueError: the error of one")


@pytest.mark.parametrize(
    "how, codes, last",
    [
        ("raise", "[1, 1]", "ValueError: the error of one"),
        ("kill", "[1, -9]", "Rank 1 has ended without a word: it was killed, or it crashed."),
    ],
)
def test_processes_that_fail(program, tmp_path, how, codes, last):
    from pullback.distributed.start_ranks import free_port

    done = run("-m", "pullback", "run", program, how, f"tcp://localhost:{free_port()}", "spawn")
    assert done.stdout.strip().endswith(codes) and done.stderr.rstrip().endswith(last), done.stderr


def test_processes_started_by_hand(program):
    from pullback.distributed.start_ranks import free_port

    address = {"MASTER_ADDR": "localhost", "MASTER_PORT": str(free_port()), "WORLD_SIZE": "2"}
    ranks = [
        subprocess.Popen(
            [sys.executable, "-m", "pullback", "run", program, "open"],
            env=environment(**address, RANK=str(rank)),
            stdout=subprocess.PIPE,
            text=True,
        )
        for rank in range(2)
    ]
    assert [rank.communicate(timeout=300)[0] for rank in ranks] == ["rank 0 is done\n", "rank 1 is done\n"]


@pytest.mark.parametrize(
    "how, code, last",
    [
        ("raise", 1, "[rank1]: ValueError: the error of one"),
        ("exit", 5, ""),
        ("leave", 1, "PeerEnded: Rank 1 has ended, and will not come."),
        ("kill", 9, "(SIGKILL); the others were ended."),
    ],
)
def test_one_fails(program, how, code, last):
    done = run("-m", "pullback", "run", "--nproc", "2", program, how)
    assert done.returncode == code and "is done" not in done.stdout
    assert done.stderr.rstrip().endswith(last), done.stderr
    assert how != "kill" or done.stderr.startswith("Rank 1 (process")


def test_calls_that_differ(program):
    done = run("-m", "pullback", "run", "--nproc", "2", program, "mismatch", TORCH_DISTRIBUTED_DEBUG="DETAIL")
    assert done.returncode == 1 and "Detected mismatch between collectives on ranks" in done.stderr
    for part in ("Rank 0", "Rank 1", "[2] float32", "[3] float32", "program.py:31"):
        assert part in done.stderr
