"""``torch.functional``: re-exports of the ``torch`` functions that PyTorch defines there.

>>> import pullback as torch
>>> torch.functional.einsum is torch.einsum
True
"""

from __future__ import annotations

from typing import Any

from ..base.errors import no_attribute
from ..core import slots

NAMES = frozenset(
    """
    atleast_1d atleast_2d atleast_3d block_diag broadcast_shapes broadcast_tensors cartesian_prod cdist chain_matmul
    einsum lu meshgrid norm split stft tensordot unique unique_consecutive
""".split()
)


def __getattr__(name: str) -> Any:
    if name in NAMES:
        return getattr(slots.namespace, name)
    raise no_attribute(__name__, name)
