"""Programs that once did something else compiled than eagerly, in ``programs.txt``: both ways, in one process each."""

from __future__ import annotations

import pathlib
import subprocess
import sys

import pytest

SOURCE = pathlib.Path(__file__).with_name("programs.txt").read_text(encoding="utf-8")
PROGRAMS = dict(part.split("\n", 1) for part in SOURCE.split("### ")[1:])
RUN = """
import sys, warnings
import pullback as torch
warnings.simplefilter("ignore")
compile = torch.compile if sys.argv[1] == "compiled" else lambda f: f
for part in sys.stdin.read().split("### ")[1:]:
    name, source = part.split("\\n", 1)
    print("###", name)
    try:
        exec(source, {"__name__": "m", "torch": torch, "compile": compile})
    except Exception as error:
        print(type(error).__name__, error)
"""


@pytest.fixture(scope="module")
def printed() -> list[dict[str, str]]:
    outputs = []
    for way in ("eager", "compiled"):
        run = subprocess.run([sys.executable, "-c", RUN, way], input=SOURCE, capture_output=True, text=True)
        assert run.returncode == 0, run.stderr
        outputs.append(dict(part.split("\n", 1) for part in run.stdout.split("### ")[1:]))
    return outputs


@pytest.mark.parametrize("name", PROGRAMS)
def test_prints_the_same_compiled(printed: list[dict[str, str]], name: str) -> None:
    eager, compiled = (output[name] for output in printed)
    assert compiled == eager
