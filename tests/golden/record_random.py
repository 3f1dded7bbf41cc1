"""What the generator tests draw, and the recorder that asks PyTorch 2.13 for the numbers.

Run it where PyTorch is installed, on an x86-64 with AVX2, to write ``random.json`` beside it. For every draw
it holds the bytes of the array and a checksum of PyTorch's generator state after it. The table of draws needs
only NumPy until its PyTorch side is called.
"""

from __future__ import annotations

import json
import math
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np

GOLDEN = Path(__file__).with_name("random.json")

FLOATS = ("float32", "float64", "float16", "bfloat16")
WIDE = ("float32", "float64")
COMPLEX = ("complex64", "complex128")
INTEGERS = ("int64", "int32", "int16", "int8", "uint8")
UNSIGNED = ("uint16", "uint32", "uint64")
FULL = ("int64", "float64", "float32", "bfloat16")


def numpy_dtype(name: str) -> np.dtype:
    return np.dtype(ml_dtypes.bfloat16 if name == "bfloat16" else name)


@dataclass(frozen=True)
class Draw:
    """One way to draw: the dtypes it has, how PyTorch does it, and how our ``Generator`` does."""

    name: str
    dtypes: tuple[str, ...]
    pytorch: Callable[[Any, Any, tuple[int, ...], Any], Any]  # torch, generator, shape, dtype
    ours: Callable[[Any, tuple[int, ...], np.dtype], np.ndarray]  # generator, shape, dtype
    shapes: str = "any"  # or "matrix": 1-d and 2-d with a last dimension; or "matrix only"

    def takes(self, shape: tuple[int, ...]) -> bool:
        if self.shapes == "any":
            return True
        return len(shape) in ((1, 2) if self.shapes == "matrix" else (2,)) and shape[-1] > 0


def filling(method: str, dtypes: tuple[str, ...], *arguments: float) -> Draw:
    """``Tensor.method_(*arguments)``, and the method of the generator."""
    return Draw(
        f"{method}{arguments}",
        dtypes,
        lambda torch, g, shape, dtype: getattr(torch.empty(shape, dtype=dtype), f"{method}_")(*arguments, generator=g),
        lambda g, shape, dtype: getattr(g, method)(shape, dtype, *arguments),
    )


def spread(shape: tuple[int, ...], scale: float = 1.0) -> np.ndarray:
    """Multiples of 1/64 in [0, 1), times ``scale``, without visible order; the first is not 0."""
    return (np.arange(1, math.prod(shape) + 1) * 37 % 64 / 64 * scale).reshape(shape)


def given(
    name: str,
    dtypes: tuple[str, ...],
    pytorch: Callable[..., Any],
    ours: Callable[..., np.ndarray],
    *parameters: Callable[[tuple[int, ...]], np.ndarray],
    shapes: str = "any",
) -> Draw:
    """A draw from arrays: ``pytorch(torch, generator, *tensors)`` and ``ours(generator, *arrays)``."""
    return Draw(
        name,
        dtypes,
        lambda torch, g, shape, dtype: pytorch(
            torch, g, *(torch.tensor(p(shape), dtype=torch.float64).to(dtype) for p in parameters)
        ),
        lambda g, shape, dtype: ours(g, *(p(shape).astype(dtype) for p in parameters)),
        shapes,
    )


def draws() -> Iterator[Draw]:
    for bounds in ((), (0.0, 0.3), (-0.7, 0.7), (0.1, 2.7), (100.1, 103.3), (1.0, 1.0)):
        yield filling("uniform", FLOATS + COMPLEX, *bounds)
    for parameters in ((), (0.0, 1.7), (-0.3, 1.0), (0.3, 1.7), (2.0, 0.0)):
        yield filling("normal", FLOATS + COMPLEX, *parameters)
    yield Draw(
        "normal, not contiguous",
        FLOATS,
        lambda torch, g, s, dtype: torch.empty(s + (2,), dtype=dtype)[..., 0].normal_(0.3, 1.7, generator=g),
        lambda g, shape, dtype: g.normal(shape, dtype, 0.3, 1.7, contiguous=False),
    )
    for what, scale in (("", 1.0), (" of rates", 30.0)):
        yield given(
            f"poisson{what}",
            FLOATS,
            lambda torch, g, rate: torch.poisson(rate, generator=g),
            lambda g, rate: g.poisson(rate),
            lambda shape, scale=scale: spread(shape, scale),
        )
        yield given(
            f"standard_gamma{what}",
            WIDE,
            lambda torch, g, alpha: torch._standard_gamma(alpha, generator=g),
            lambda g, alpha: g.standard_gamma(alpha),
            lambda shape, scale=scale: spread(shape, scale),
        )
        yield given(
            f"binomial{what}",
            WIDE,
            lambda torch, g, count, prob: torch.binomial(count, prob, generator=g),
            lambda g, count, prob: g.binomial(count, prob),
            lambda shape, scale=scale: np.floor(spread(shape, 8 * scale)),
            spread,
        )
    yield given(
        "normal, mean and std",
        FLOATS,
        lambda torch, g, mean, std: torch.normal(mean, std, generator=g),
        lambda g, mean, std: g.normal_around(mean, std),
        lambda shape: spread(shape, 3.0),
        spread,
    )
    yield given(
        "normal, mean",
        FLOATS,
        lambda torch, g, mean: torch.normal(mean, 0.7, generator=g),
        lambda g, mean: g.normal_around(mean, 0.7),
        spread,
    )
    yield given(
        "normal, std",
        FLOATS,
        lambda torch, g, std: torch.normal(0.3, std, generator=g),
        lambda g, std: g.normal_around(0.3, std),
        spread,
    )
    yield filling("random", FLOATS + INTEGERS + ("bool",))
    yield filling("random", FLOATS + INTEGERS + UNSIGNED, 0, 10)
    yield filling("random", FLOATS + INTEGERS[:-1], -5, 100)
    yield filling("random", FLOATS + INTEGERS + UNSIGNED[:2], 5, None)
    yield filling("random", FLOATS + INTEGERS[:-1], -5, None)
    yield filling("random", ("bool",), 0, 2)
    for high in (2**28 - 1, 2**28):
        yield filling("random", FULL + ("int32", "uint32"), 0, high)
    for high in (2**32, 2**33 + 7, 2**62, 2**63 - 1):
        yield filling("random", FULL + ("uint64",), 0, high)
        yield filling("random", FULL, -(2**40) - 3, high)
        yield filling("random", FULL, -(2**63), high)
    yield filling("random", FULL, -(2**63), None)
    yield filling("random", ("float16",), -65504, 65503)
    for digits, dtypes in ((24, ("float32",)), (11, ("float16",)), (8, ("bfloat16",))):
        bound = 2 ** (digits + 1) + 7  # one below it rounds to one above it
        yield filling("random", dtypes, -bound, bound)
    for n in (0, 1, 2, 3, 16, 100):
        yield Draw(
            f"randperm({n})",
            FLOATS + INTEGERS,
            lambda torch, g, shape, dtype, n=n: torch.randperm(n, dtype=dtype, generator=g),
            lambda g, shape, dtype, n=n: g.randperm(n, dtype),
        )
    for p in (0.0, 0.3, 0.5, 1.0):
        yield Draw(
            f"bernoulli({p})",
            FLOATS + INTEGERS + ("bool",),
            lambda torch, g, shape, dtype, p=p: torch.empty(shape, dtype=dtype).bernoulli_(p, generator=g),
            lambda g, shape, dtype, p=p: g.bernoulli(p, shape, dtype),
        )
    yield given(
        "bernoulli, array",
        FLOATS,
        lambda torch, g, p: torch.bernoulli(p, generator=g),
        lambda g, p: g.bernoulli(p),
        spread,
    )
    yield Draw(
        "bernoulli, broadcast",
        FLOATS + INTEGERS + ("bool",),
        lambda torch, g, shape, dtype: torch.empty(shape, dtype=dtype).bernoulli_(
            torch.tensor(0.3, dtype=torch.float64), generator=g
        ),
        lambda g, shape, dtype: g.bernoulli(np.array(0.3), shape, dtype),
    )
    yield filling("exponential", FLOATS, 1.0)
    yield filling("exponential", FLOATS, 0.3)
    yield filling("cauchy", FLOATS, 0.3, 1.7)
    yield filling("log_normal", FLOATS, 0.3, 1.7)
    yield filling("geometric", FLOATS + INTEGERS, 0.1)
    for count, replacement in ((1, False), (1, True), (2, False), (2, True)):
        yield given(
            f"multinomial({count}, {replacement})",
            WIDE,
            lambda torch, g, p, c=count, r=replacement: torch.multinomial(p, min(c, p.shape[-1]), r, generator=g),
            lambda g, p, c=count, r=replacement: g.multinomial(p, min(c, p.shape[-1]), r),
            spread,
            shapes="matrix",
        )
    yield given(
        "multinomial, many",
        FLOATS,
        lambda torch, g, p: torch.multinomial(p, 40, True, generator=g),
        lambda g, p: g.multinomial(p, 40, True),
        spread,
        shapes="matrix",
    )
    yield given(
        "multinomial, turned",
        WIDE,
        lambda torch, g, p: torch.multinomial(p.t().contiguous().t(), 1, generator=g),
        lambda g, p: g.multinomial(np.asfortranarray(p), 1),
        spread,
        shapes="matrix only",
    )


SHAPES = ((5,), (2, 9))
SEED = 20260813


def cases() -> Iterator[tuple[str, Draw, str, tuple[int, ...]]]:
    """The recorded draws: name, draw, dtype and shape. All start at ``SEED``."""
    for draw in draws():
        for dtype in draw.dtypes:
            for shape in SHAPES:
                if draw.takes(shape) and not (draw.name.startswith("randperm") and shape != SHAPES[0]):
                    yield f"{draw.name} {dtype} {shape}", draw, dtype, shape


LARGE = (
    ("uniform()", ("float32", "float16", "bfloat16")),
    ("uniform(-0.7, 0.7)", ("float32", "float16", "bfloat16")),
    ("normal()", ("float32", "float16", "bfloat16")),
    ("normal(0.3, 1.7)", ("float32", "float16", "bfloat16")),
    ("random(0, 10)", ("int64", "float32")),
    ("random(0, 268435456)", ("int64", "float32")),
    ("bernoulli(0.3)", ("float32", "bool")),
)
LARGE_COUNT = 100_007


def as_numpy(tensor: Any) -> np.ndarray:
    """A tensor's elements, with bfloat16 as ``ml_dtypes`` has it."""
    import torch

    if tensor.dtype is torch.bfloat16:
        return tensor.contiguous().view(torch.int16).numpy().view(ml_dtypes.bfloat16)
    return tensor.numpy()


def checksum(values: np.ndarray) -> int:
    """Of the bytes; a zero counts as positive."""
    values = values.copy()
    values[values == 0] = 0
    return zlib.crc32(values.tobytes())


def record() -> None:
    import torch

    recorded = {}
    for name, draw, dtype, shape in cases():
        generator = torch.Generator().manual_seed(SEED)
        values = as_numpy(draw.pytorch(torch, generator, shape, getattr(torch, dtype)))
        state = zlib.crc32(generator.get_state().numpy().tobytes())
        recorded[name] = [values.dtype.name, list(values.shape), values.tobytes().hex(), state]
    named, checksums = {draw.name: draw for draw in draws()}, {}
    for name, dtypes in LARGE:
        for dtype in dtypes:
            generator = torch.Generator().manual_seed(SEED)
            values = named[name].pytorch(torch, generator, (LARGE_COUNT,), getattr(torch, dtype))
            checksums[f"{name} {dtype}"] = checksum(as_numpy(values))
    lines = ",\n".join(f"{json.dumps(name)}: {json.dumps(entry)}" for name, entry in recorded.items())
    text = f'{{"torch": "{torch.__version__}", "large": {json.dumps(checksums)}, "draws": {{\n{lines}\n}}}}\n'
    GOLDEN.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    import warnings

    warnings.simplefilter("ignore")  # PyTorch's about integers that float32 does not hold exactly
    record()
