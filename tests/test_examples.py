"""The programs in ``examples/``: each runs for a few steps, and says what it says under PyTorch."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

import pullback

EXAMPLES = Path(__file__).parent.parent / "examples"
ARGUMENTS = {
    "char_gpt": ["--steps", "5"],
    "digits_cnn": ["--steps", "5"],
    "neural_ode": ["--steps", "5"],
    "pinn": ["--steps", "5", "--finish", "1"],
    "vae": ["--steps", "5", "--picture", "samples.png"],
    "wgan_gp": ["--steps", "5", "--plot", "samples.png"],
}
NUMBER = re.compile(r"-?\d+\.\d+(?:e[+-]\d+)?")


def output(name, folder, *how, arguments=()):
    variables = {**os.environ, "PYTHONPATH": str(Path(pullback.__file__).parent.parent), "OMP_NUM_THREADS": "1"}
    command = [sys.executable, *how, str(EXAMPLES / f"{name}.py"), *(arguments or ARGUMENTS[name])]
    done = subprocess.run(
        command, cwd=folder, env=variables, capture_output=True, text=True, encoding="utf-8", timeout=300
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def under_pullback(name, folder, **more):
    return output(name, folder, "-m", "pullback", "run", **more)


def losses(text):
    """The numbers of the lines that report steps, by line."""
    return [[float(number) for number in NUMBER.findall(line)] for line in text.splitlines() if line.startswith("step")]


def test_every_example_is_here():
    assert {path.stem for path in EXAMPLES.glob("*.py")} == {*ARGUMENTS, "progress"}


@pytest.mark.parametrize("name", ARGUMENTS)
def test_runs(name, tmp_path):
    reported = losses(under_pullback(name, tmp_path))
    assert len(reported) == 5 + (name == "pinn")
    assert (tmp_path / "samples.png").exists() == ("samples.png" in ARGUMENTS[name])


def test_the_digits_are_read(tmp_path):
    text = under_pullback("digits_cnn", tmp_path, arguments=["--steps", "100"])
    assert float(re.search(r"test accuracy ([\d.]+) %", text)[1]) > 98


def test_the_heat_equation_is_solved(tmp_path):
    text = under_pullback("pinn", tmp_path, arguments=["--steps", "200", "--finish", "8"])
    assert float(re.search(r"mean (\S+)", text)[1]) < 5e-3


@pytest.mark.torch
@pytest.mark.parametrize("name", ARGUMENTS)
def test_prints_what_it_prints_under_pytorch(name, tmp_path):
    pytest.importorskip("torch")
    ours, pytorchs = under_pullback(name, tmp_path), output(name, tmp_path)
    for got, expected in zip(losses(ours), losses(pytorchs), strict=True):
        # A difference of means that is near 0 is compared with the size of what it was made of.
        assert got == pytest.approx(expected, rel=1e-5, abs=1e-6)
