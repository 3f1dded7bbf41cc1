"""Every public operation and method says what it does; what needs more than a line for that shows it, too."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

import pullback
from pullback.core.op import METHODS

NAMESPACES = {
    "torch": pullback,
    "torch.nn.functional": pullback.nn.functional,
    "torch.linalg": pullback.linalg,
    "torch.fft": pullback.fft,
    "torch.special": pullback.special,
    "torch.masked": pullback.masked,
    "torch.sparse": pullback.sparse,
}


def operations(namespace: Any) -> Iterator[tuple[str, Any]]:
    for name in getattr(namespace, "__all__", None) or [name for name in dir(namespace) if not name.startswith("_")]:
        thing = getattr(namespace, name, None)
        if (
            callable(thing)
            and not isinstance(thing, type)
            and str(getattr(thing, "__module__", "")).startswith("pullback.ops")
        ):
            yield name, thing


@pytest.mark.parametrize("where", NAMESPACES)
def test_every_operation_has_a_docstring_and_a_long_one_an_example(where: str) -> None:
    for name, function in operations(NAMESPACES[where]):
        text = (function.__doc__ or "").strip()
        assert text, f"{where}.{name}"
        assert ">>> " in text or "\n" not in text, f"{where}.{name} is explained at length, but not shown"


def test_every_method_has_a_docstring() -> None:
    assert [name for name, method in METHODS.items() if not (method.__doc__ or "").strip()] == []
