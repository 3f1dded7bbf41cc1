"""``docs/operations.md`` says what the table of samples says."""

from __future__ import annotations

import importlib.util
import pathlib

import pytest


@pytest.mark.filterwarnings("ignore")
def test_the_page_of_operations_is_up_to_date() -> None:
    path = pathlib.Path(__file__).resolve().parents[2] / "scripts" / "operations.py"
    spec = importlib.util.spec_from_file_location("operations_script", path)
    assert spec is not None and spec.loader is not None
    script = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(script)
    assert script.PAGE.read_text("utf-8") == script.page(), "run python scripts/operations.py"
