"""Programs as PyTorch's tutorials have them run unchanged, and print what PyTorch has printed (``recorded.json``)."""

import json
import subprocess
import sys
from pathlib import Path

import pytest
from ranks import environment, needs_mpi

from pullback.distributed.start_ranks import free_port

PROGRAMS = sorted(path.stem for path in (Path(__file__).parent / "programs").glob("*.py"))
RECORDED = json.loads((Path(__file__).parent / "programs" / "recorded.json").read_text())


@needs_mpi
@pytest.mark.parametrize("program", PROGRAMS)
def test_program(program):
    path = Path(__file__).parent / "programs" / f"{program}.py"
    command = [sys.executable, "-m", "pullback", "run", str(path), str(free_port())]
    done = subprocess.run(command, env=environment(), capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines() == RECORDED[program]
