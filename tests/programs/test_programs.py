"""PyTorch programs as people write them, run unmodified without PyTorch: each prints what it printed under PyTorch.

The programs are in ``scripts``, what PyTorch 2.13 made of them in ``tests/golden/scripts``. Words must agree to the
letter, numbers to what float32 leaves after some steps of training on another machine.
"""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

import pullback

HERE = Path(__file__).parent
PROGRAMS = sorted(path.stem for path in (HERE / "scripts").glob("*.py"))
NUMBER = re.compile(r"(?<![\w.])-?\d+\.\d*(?:e[+-]?\d+)?")


def words_and_numbers(line):
    """The line with its decimal fractions taken out, in which spaces are one, and those fractions."""
    line = re.sub(r"at 0x[0-9a-f]+", "at 0x", line)
    return " ".join(NUMBER.sub(" # ", line).split()), [float(number) for number in NUMBER.findall(line)]


@pytest.mark.parametrize("name", PROGRAMS)
def test_prints_what_it_printed_under_pytorch(name, tmp_path):
    variables = {**os.environ, "PYTHONPATH": str(Path(pullback.__file__).parent.parent), "PYTHONIOENCODING": "utf-8"}
    command = [sys.executable, "-m", "pullback", "run", str(HERE / "scripts" / f"{name}.py")]
    done = subprocess.run(
        command, cwd=tmp_path, env=variables, capture_output=True, text=True, encoding="utf-8", timeout=300
    )
    assert done.returncode == 0, done.stderr
    expected = (HERE.parent / "golden" / "scripts" / f"{name}.txt").read_text(encoding="utf-8")
    for got, want in zip(done.stdout.splitlines(), expected.splitlines(), strict=True):
        (words, numbers), (their_words, their_numbers) = words_and_numbers(got), words_and_numbers(want)
        assert words == their_words
        assert numbers == pytest.approx(their_numbers, rel=2e-3, abs=2e-4, nan_ok=True), f"{got}\n{want}"
