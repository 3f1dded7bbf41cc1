"""Functions of neural networks, without state: convolutions, activations, norms, pooling, losses.

Each is an operation of :mod:`pullback.ops`; the modules of :mod:`pullback.nn` call them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..ops import activation, convolution, index, join, layer, loss, matmul, normalize, pointwise, pool, resample

_FAMILIES = (activation, convolution, join, layer, loss, matmul, normalize, pointwise, pool, resample, index)
__all__: list[str] = []
for _family in _FAMILIES:
    for _name in getattr(_family, "__all_functional__", ()):
        globals()[_name] = getattr(_family, _name)
        __all__.append(_name)
__all__.sort()

if TYPE_CHECKING:

    def __getattr__(name: str) -> Any: ...
