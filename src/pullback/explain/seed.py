"""The effect of the seed on one gradient: the Jacobian, the product vᵀJ, and each output element's contribution.

``y.backward(gradient=v)`` computes the row vector vᵀJ, where ``J[i, j]`` is the derivative of the i-th element of y
with respect to the j-th of x. Each element of the seed multiplies one row of J, and the gradient is the sum of these
rows.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..base.errors import with_notes
from .recorder import Pass
from .replay import Key, replay

ROWS = 256  # outputs of more elements are refused: each takes one pass


@dataclass(frozen=True, repr=False)
class Effect:
    """The effect of a seed on one tensor's gradient.

    Attributes:
        name: the tensor.
        elements: names for the elements of the output, such as ``y[0]``.
        seed: shape ``(n,)``.
        jacobian: shape ``(n, m)`` for a tensor of m elements.
        shape: of the tensor.
    """

    name: str
    elements: list[str]
    seed: np.ndarray
    jacobian: np.ndarray
    shape: tuple[int, ...]

    @property
    def contributions(self) -> np.ndarray:
        """What each element of the output adds to the gradient, shape ``(n, *shape)``: the rows of J, times the seed's
        elements.
        """
        return (self.seed[:, None] * self.jacobian).reshape(len(self.seed), *self.shape)

    @property
    def gradient(self) -> np.ndarray:
        """``vᵀJ``, in the tensor's shape."""
        return (self.seed @ self.jacobian).reshape(self.shape)

    def __str__(self) -> str:
        # deferred: rich is slow to import
        from .text import effect_text, rendered

        return rendered(effect_text(self))

    def __repr__(self) -> str:
        return str(self)


def effect(
    recorded: Pass, target: Key, shape: tuple[int, ...], dtype: Any, name: str, outputs: list[str | None]
) -> Effect:
    """The effect of a pass's seeds on the gradient of one tensor.

    Raises:
        ValueError: the outputs have more than 256 elements in all.
    """
    sizes = [seed.size for _, seed in recorded.roots]
    n = sum(sizes)
    if n > ROWS:
        raise with_notes(
            ValueError(f"the outputs have {n} elements, and the Jacobian takes a backward pass for each"),
            "Explain a part of the output, such as y[:4], or ask for paths(x), which takes one pass.",
        )
    rows = []
    for k, (_, seed) in enumerate(recorded.roots):
        for i in range(seed.size):
            one = [np.zeros_like(s) for _, s in recorded.roots]
            one[k].reshape(-1)[i] = 1
            g = replay(recorded, one).get(target)
            rows.append(np.zeros(shape, dtype) if g is None else g)
    seeds = np.concatenate([seed.reshape(-1) for _, seed in recorded.roots])
    return Effect(name, element_names(recorded.roots, outputs), seeds, np.stack(rows).reshape(n, -1), shape)


def element_names(roots: Sequence[tuple[Any, Any]], outputs: Sequence[str | None]) -> list[str]:
    """Names for the elements of the outputs, such as ``y[0]``."""
    found = []
    for (_, seed), output in zip(roots, outputs):
        for index in np.ndindex(*seed.shape):
            found.append((output or "output") + (f"[{', '.join(map(str, index))}]" if index else ""))
    return found
