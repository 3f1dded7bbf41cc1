"""The benchmarks run: each is started once, for little."""

from __future__ import annotations

import pathlib
import runpy

import pytest


@pytest.mark.torch
@pytest.mark.filterwarnings("ignore")
def test_operations_beside_pytorch(capsys: pytest.CaptureFixture[str]) -> None:
    """Two operations of sixteen elements have four ratios, positive and sorted."""
    torch = pytest.importorskip("torch")
    threads = torch.get_num_threads()
    benchmark = runpy.run_path(str(pathlib.Path(__file__).resolve().parents[1] / "benchmarks" / "operations.py"))
    try:
        assert benchmark["main"](["tanh", "sum", "--size", "16", "--seconds", "0.01"]) == 0
    finally:
        torch.set_num_threads(threads)
    head, *lines = capsys.readouterr().out.splitlines()
    assert "of 4 programs" in head and "0 operations do not scale" in head
    ratios = [float(line.split()[0]) for line in lines]
    assert len(ratios) == 4 and ratios == sorted(ratios, reverse=True) and ratios[-1] > 0
