"""The benchmarks run: each is started once, for little."""

from __future__ import annotations

import pathlib
import runpy
import sys

import numpy as np
import pytest

import pullback
from pullback.cli import bench

BENCHMARKS = pathlib.Path(__file__).resolve().parents[1] / "benchmarks"


@pytest.mark.parametrize("name", bench.PROGRAMS)
def test_each_program_runs_compiled_as_it_does_eagerly(name: str) -> None:
    eager, compiled = list(bench.contenders(name, None).values())
    for _ in range(3):
        a, b = eager(), compiled()
        assert np.isfinite(a.detach().numpy()).all()
        np.testing.assert_allclose(a.detach(), b.detach(), rtol=1e-4, atol=1e-6)


def test_a_line_shows_each_contender(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "torch", None)  # type: ignore[arg-type]  # importing it fails
    threads = pullback.get_num_threads()
    try:
        bench.main(["product", "hessian"], 0.01, 1)
    finally:
        pullback.set_num_threads(threads)
    shown = capsys.readouterr()
    assert [line.split()[0] for line in shown.out.splitlines()] == ["product", "hessian"]
    assert (
        all("pullback" in line and "compiled" in line for line in shown.out.splitlines())
        and "pip install torch" in shown.err
    )


@pytest.mark.torch
def test_ratios_to_pytorch() -> None:
    (line,) = bench.lines(["mlp-small-sgd"], 0.01, pytest.importorskip("torch"))
    assert line.count("(") == 2


@pytest.mark.torch
@pytest.mark.filterwarnings("ignore")
def test_operations_beside_pytorch(capsys: pytest.CaptureFixture[str]) -> None:
    """Two operations of tens of elements, with and without gradients: ratios, sorted, and their means."""
    torch = pytest.importorskip("torch")
    threads = torch.get_num_threads(), pullback.get_num_threads()
    benchmark = runpy.run_path(str(BENCHMARKS / "operations.py"))
    try:
        options = ["--sizes", "tens", "--dtypes", "float32", "bfloat16", "--layouts", "contiguous", "--rounds", "1"]
        assert benchmark["main"](["--only", "tanh", "cumsum", *options]) == 0
    finally:
        torch.set_num_threads(threads[0])
        pullback.set_num_threads(threads[1])
    lines = capsys.readouterr().out.splitlines()
    ratios = [float(line.split()[0]) for line in lines[:12]]
    assert ratios == sorted(ratios, reverse=True) and ratios[-1] > 0
    means = {line.split()[0]: line.split()[1] for line in lines[13:]}
    assert means["all"] == "12" and means["bfloat16"] == means["gradients"] == "6"


def test_short_programs_train() -> None:
    threads = pullback.get_num_threads()
    benchmark = runpy.run_path(str(BENCHMARKS / "around.py"))
    try:
        assert min(benchmark["short"]("pullback", "perceptron")) > 0
        for make in benchmark["PROGRAMS"].values():
            make(pullback)()
    finally:
        pullback.set_num_threads(threads)


def test_explaining_a_step_costs_at_most_three(capsys: pytest.CaptureFixture[str]) -> None:
    threads = pullback.get_num_threads()
    try:
        runpy.run_path(str(BENCHMARKS / "explain.py"))["main"](["CNN", "a seed"], rounds=5, seconds=0.005)
    finally:
        pullback.set_num_threads(threads)
    head, *lines = capsys.readouterr().out.splitlines()
    assert head.split()[0] == "program" and [line.split()[0] for line in lines] == ["x", "CNN"]
    assert float(lines[1].split()[3]) < 3  # 1.3 where nothing else runs
