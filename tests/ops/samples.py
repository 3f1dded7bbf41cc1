"""One table of samples, which every generic test reads (``test_rules.py``).

A line of a ``samples_<family>.py`` file reads

    sample("softmax", (2, 5), dim=-1)
    sample("atan2", (2, 3), (3,))
    sample("nn.functional.nll_loss", (3, 4), ints(4, 3), low=-3, high=0)
    refuse("matmul", (8, 3), (4, 5), match="cannot be multiplied")

A tuple is the shape of a random tensor that takes part in differentiation; anything else is handed over as it is.
Names are looked up in the package, ``Tensor.NAME`` for a method.
"""

from __future__ import annotations

import functools
import importlib
import pathlib
from dataclasses import dataclass, field
from typing import Any

import numpy as np

import pullback

SAMPLES: list[Sample] = []
REFUSALS: list[Refusal] = []


@dataclass
class Sample:
    """One call of one operation.

    Attributes:
        low, high: the range of the random values (kept away from kinks by choosing it well).
        distinct: make all values of a tensor differ by a margin, for sorts and maxima.
        complex: also run it on complex numbers.
        second: whether second derivatives are checked (False only where PyTorch has none either).
        inplace: also run ``name_`` on a clone.
        tolerance: of the comparison with finite differences.
    """

    name: str
    args: tuple[Any, ...]
    kwargs: dict[str, Any] = field(default_factory=dict)
    low: float = -2.0
    high: float = 2.0
    distinct: bool = False
    complex: bool = False
    second: bool = True
    inplace: bool = False
    tolerance: float = 1e-5

    def __str__(self) -> str:
        parts = [str(a).replace(" ", "") if isinstance(a, tuple) else _short(a) for a in self.args]
        return f"{self.name}({','.join(parts + [f'{k}={_short(v)}' for k, v in self.kwargs.items()])})"

    def function(self, root: Any = pullback) -> Any:
        return functools.reduce(getattr, self.name.split("."), root)

    def arrays(self, dtype: Any) -> list[Any]:
        """The arguments, with a random array for each shape; the same at every call."""
        rng = np.random.default_rng(sum(map(ord, str(self))))
        return _map(self.args, lambda shape: self._values(rng, shape, dtype))

    def _values(self, rng: np.random.Generator, shape: tuple[int, ...], dtype: Any) -> np.ndarray:
        n = int(np.prod(shape))
        if self.distinct:
            a = rng.permutation(np.linspace(self.low, self.high, n)).reshape(shape)
        else:
            a = rng.uniform(self.low, self.high, shape)
        if np.dtype(dtype).kind == "c":
            a = a + 1j * rng.uniform(self.low, self.high, shape)
        return np.asarray(a, dtype)


@dataclass
class Refusal:
    """A call that must raise before anything is changed."""

    name: str
    args: tuple[Any, ...]
    kwargs: dict[str, Any]
    match: str
    error: type[Exception]

    def __str__(self) -> str:
        return f"{self.name}{self.args}{self.kwargs or ''}"


def _short(v: Any) -> str:
    return f"array{v.shape}" if isinstance(v, np.ndarray) else str(v).replace(" ", "")


def is_shape(a: Any) -> bool:
    return type(a) is tuple and all(type(n) is int for n in a)


def _map(args: Any, make: Any) -> list[Any]:
    """Replace shapes by what ``make`` returns, also inside lists."""
    return [
        make(a) if is_shape(a) else _map(a, make) if isinstance(a, list) and a and is_shape(a[0]) else a for a in args
    ]


def sample(
    name: str,
    *args: Any,
    low: float = -2.0,
    high: float = 2.0,
    distinct: bool = False,
    complex: bool = False,
    second: bool = True,
    inplace: bool = False,
    tolerance: float = 1e-5,
    **kwargs: Any,
) -> None:
    """Add a line to the table; the options are those of :class:`Sample`, the rest goes to the operation."""
    SAMPLES.append(Sample(name, args, kwargs, low, high, distinct, complex, second, inplace, tolerance))


def refuse(name: str, *args: Any, match: str, error: type[Exception] = RuntimeError, **kwargs: Any) -> None:
    """Add a call that must be refused with these words."""
    REFUSALS.append(Refusal(name, args, kwargs, match, error))


def ints(high: int, *shape: int, low: int = 0) -> np.ndarray:
    """Random integers, such as labels and indices; repeated ones are likely."""
    return np.random.default_rng(sum(shape) + high).integers(low, high, shape)


for _file in sorted(pathlib.Path(__file__).parent.glob("samples_*.py")):
    importlib.import_module(f"{__package__}.{_file.stem}" if __package__ else _file.stem)
