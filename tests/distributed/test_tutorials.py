"""Programs as PyTorch's tutorials have them run unchanged, and print what they print with PyTorch."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from ranks import environment, needs_mpi

from pullback.distributed.start_ranks import free_port

PROGRAMS = sorted(path.stem for path in (Path(__file__).parent / "programs").glob("*.py"))
RECORDED = json.loads((Path(__file__).parent / "programs" / "recorded.json").read_text())


def output(program, *before, **more):
    path = Path(__file__).parent / "programs" / f"{program}.py"
    done = subprocess.run(
        [sys.executable, *before, str(path), str(free_port())],
        env=more or {k: v for k, v in os.environ.items() if k != "PYTHONPATH"},
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


@needs_mpi
@pytest.mark.parametrize("program", PROGRAMS)
def test_program(program):
    assert output(program, "-m", "pullback", "run", **environment()) == RECORDED[program]


@pytest.mark.torch
@pytest.mark.parametrize("program", PROGRAMS)
def test_pytorch(program):
    pytest.importorskip("torch")
    assert output(program) == RECORDED[program]
