"""Tests find the recorders in ``golden`` by their bare names, as these find each other when they are run by hand."""

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent / "golden"))
pytest.register_assert_rewrite("recorded")


@pytest.fixture(autouse=True)
def no_leaf_was_ever_hooked(monkeypatch: pytest.MonkeyPatch) -> None:
    """From the first hook on a leaf on backward goes another way; each test begins as a program does."""
    from pullback.autograd import graph

    monkeypatch.setattr(graph, "hooked_leaves", False)
