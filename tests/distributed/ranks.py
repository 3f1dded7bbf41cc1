"""Runs the cases of a test file on several ranks, in one launch.

A case is a function ``case_...(torch, dist)`` of the file, which all ranks call; it asserts what should hold. With
``judge`` the ranks are processes of PyTorch, whose backend is gloo; cases marked by :func:`ours` are left out there.
"""

import importlib.util
import json
import multiprocessing
import os
import subprocess
import sys
import tempfile
import traceback
from datetime import timedelta
from importlib.util import find_spec
from pathlib import Path

import pytest

SOURCE = Path(__file__).parents[2] / "src"
TIMEOUT = timedelta(seconds=40)
needs_mpi = pytest.mark.skipif(
    find_spec("mpi4py") is None, reason="several ranks need MPI: pip install 'pullback[distributed]'"
)


def ours(case):
    """Mark a case in which PyTorch's gloo differs, or fails."""
    case.ours = True
    return case


def names(file):
    """The names of a file's cases, in order."""
    return [line[4:].partition("(")[0] for line in Path(file).read_text().splitlines() if line.startswith("def case_")]


def cases_of(file, ranks):
    """A fixture and tests of a file's cases: each passes on that many ranks, and so does it under gloo."""

    @pytest.fixture(scope="module")
    def outcome():
        return results(file, ranks)

    @needs_mpi
    @pytest.mark.parametrize("name", names(file))
    def test_case(outcome, name):
        assert name in outcome, "a case before it failed"
        assert not outcome[name], "\n".join(outcome[name])

    @pytest.mark.torch
    def test_gloo_agrees():
        pytest.importorskip("torch")
        wrong = ["\n".join(errors) for errors in results(file, ranks, judge=True).values() if errors]
        assert not wrong, wrong[0]

    return outcome, test_case, test_gloo_agrees


def environment(**more):
    """The variables for processes that import this package."""
    folders = [str(SOURCE), str(SOURCE / "pullback" / "cli" / "_child") if more.pop("as_torch", False) else ""]
    path = os.pathsep.join(filter(None, [*folders, os.environ.get("PYTHONPATH", "")]))
    return os.environ | {"PYTHONPATH": path, "OMP_NUM_THREADS": "1"} | more


def launcher():
    """The path of ``mpiexec``."""
    from pullback.distributed.mpi_job import launcher

    return launcher()


def results(file, ranks, judge=False):
    """For each case that ran, the errors of the ranks: empty if it passed."""
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, __file__, str(file), folder, str(ranks), "judge" if judge else "own"]
        if not judge:
            command = [launcher(), "-n", str(ranks), *command]
        done = subprocess.run(command, env=environment(), capture_output=True, text=True, timeout=300)
        found = [json.loads(path.read_text()) for path in sorted(Path(folder).glob("*.json"))]
    assert len(found) == ranks, f"{len(found)} of {ranks} ranks have ended well\n{done.stdout}\n{done.stderr}"
    return {name: [f"rank {i}:\n{one[name]}" for i, one in enumerate(found) if one.get(name)] for name in found[0]}


def run(rank, file, folder, torch, cases):
    """One rank: call the cases until one fails, and write down what happened."""
    dist = torch.distributed
    said = {}
    for name, case in cases.items():
        torch.manual_seed(0)
        try:
            case(torch, dist)
            said[name] = ""
        except Exception:
            said[name] = traceback.format_exc()
        everywhere = [None] * dist.get_world_size()
        try:
            dist.all_gather_object(everywhere, said[name])
        except Exception as error:
            everywhere = [f"no answer from all ranks: {error}"]
        if any(everywhere):
            break
    Path(folder, f"{rank}.json").write_text(json.dumps(said))


def load(file, judge):
    spec = importlib.util.spec_from_file_location(Path(file).stem, file)
    module = importlib.util.module_from_spec(spec)
    sys.path.insert(0, str(Path(file).parent))
    spec.loader.exec_module(module)
    cases = {name: getattr(module, name) for name in names(file)}
    return {name: case for name, case in cases.items() if not (judge and getattr(case, "ours", False))}


def judged(rank, file, folder, ranks, store):
    import torch

    torch.set_num_threads(1)
    torch.distributed.init_process_group(
        "gloo", init_method=f"file://{store}", rank=rank, world_size=ranks, timeout=TIMEOUT
    )
    run(rank, file, folder, torch, load(file, True))
    torch.distributed.destroy_process_group()


def main(file, folder, ranks, how):
    if how == "judge":
        store = os.path.join(folder, "store")
        context = multiprocessing.get_context("spawn")
        processes = [
            context.Process(target=judged, args=(i, file, folder, int(ranks), store)) for i in range(int(ranks))
        ]
        for process in processes:
            process.start()
        for process in processes:
            process.join()
        return
    import pullback as torch

    torch.distributed.init_process_group("gloo", timeout=TIMEOUT)
    rank = torch.distributed.get_rank()
    run(rank, file, folder, torch, load(file, False))
    torch.distributed.destroy_process_group()


if __name__ == "__main__":
    main(*sys.argv[1:])
