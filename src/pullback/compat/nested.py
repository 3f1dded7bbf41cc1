"""``torch.nested``: tensors of differing shapes in one; there are none here."""

from __future__ import annotations

from typing import Any, NoReturn

from ..base.errors import with_notes

__all__ = ["as_nested_tensor", "nested_tensor", "nested_tensor_from_jagged"]


def nested_tensor(*args: Any, **kwargs: Any) -> NoReturn:
    """Refused."""
    raise with_notes(
        NotImplementedError("torch.nested: there are no nested tensors in Pullback"),
        "torch.nn.utils.rnn.pad_sequence makes one tensor of several; a mask says what is padding.",
    )


as_nested_tensor = nested_tensor_from_jagged = nested_tensor
