"""Tests find the recorders in ``golden`` by their bare names, as these find each other when they are run by hand."""

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent / "golden"))
pytest.register_assert_rewrite("recorded")
