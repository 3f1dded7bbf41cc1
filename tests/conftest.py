"""Tests find the recorders in ``golden`` by their bare names, as these find each other when they are run by hand."""

import gc
import sys
from collections.abc import Generator
from pathlib import Path
from typing import Any

import pytest

sys.path.insert(0, str(Path(__file__).parent / "golden"))
pytest.register_assert_rewrite("recorded")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """A function that classes which intervene see whole shows its examples twice: at home, and where programs find it.

    There the line is not known, and names that the examples use, such as ``float``, are types of tensors.
    """
    items[:] = [
        i
        for i in items
        if not isinstance(i, pytest.DoctestItem) or i.dtest.lineno is not None or i.name.endswith("__call__")
    ]


@pytest.hookimpl(wrapper=True)
def pytest_pyfunc_call() -> Generator[None, Any, Any]:
    """Where a package is missing that WebAssembly need not have, a test that comes to need it is skipped."""
    try:
        return (yield)
    except ModuleNotFoundError as error:
        if error.name in ("scipy", "ml_dtypes"):
            pytest.skip(str(error))
        raise


def pytest_collection_finish() -> None:
    """Let the garbage collector pass over what is there by now: many tests ask it to look, and then it takes a third of
    a second.
    """
    gc.collect()
    gc.freeze()
