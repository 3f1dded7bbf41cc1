"""``torch.nn.functional``: stateless functions of networks: convolutions, activations, norms, pooling, losses.

Each is an operation of :mod:`pullback.ops`; the modules of :mod:`pullback.nn` call them.
"""

from __future__ import annotations

from ..core.public import publish
from ..ops import (
    activation,
    attention,
    avg_pool,
    convolution,
    cross_entropy,
    ctc,
    distance,
    dropout,
    embedding,
    fold,
    grid_sample,
    interpolate,
    linear,
    loss,
    margin,
    norm,
    normalization,
    pad,
    pool,
    softmax,
)
from ..ops.pointwise import sigmoid
from ..ops.trigonometry import tanh

__all__ = ["sigmoid", "tanh"]
_FAMILIES = (
    activation,
    attention,
    avg_pool,
    convolution,
    cross_entropy,
    ctc,
    distance,
    dropout,
    embedding,
    fold,
    grid_sample,
    linear,
    loss,
    margin,
    norm,
    normalization,
    pad,
    pool,
    interpolate,
    softmax,
)
for _family in _FAMILIES:
    for _name in _family.__all_functional__:
        globals()[_name] = getattr(_family, _name)
        __all__.append(_name)
publish(globals(), f"{__name__.partition('.')[0]}.ops.")
__all__.sort()
