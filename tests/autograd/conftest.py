"""Behaviour is stated once, and checked of Pullback and, where it is installed, of PyTorch."""

from __future__ import annotations

from typing import Any

import pytest


@pytest.fixture(params=["pullback", pytest.param("torch", marks=pytest.mark.torch)])
def torch(request: Any) -> Any:
    """The library under test: Pullback, and PyTorch as the judge of what the test says."""
    return pytest.importorskip(request.param)
