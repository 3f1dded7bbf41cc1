"""What the printing tests print, and the recorder that asks PyTorch 2.13 for the text.

Run it where PyTorch is installed to write ``printing.json`` beside it; the table of cases needs only NumPy.
All values come from exact arithmetic, so that they are the same bits on every platform.
"""

from __future__ import annotations

import json
import warnings
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np

GOLDEN = Path(__file__).with_name("printing.json")

nan, inf = float("nan"), float("inf")
FLOATS = ("float64", "float32", "float16", "bfloat16")
INTEGERS = ("uint8", "int8", "int16", "int32", "int64", "uint16", "uint32", "uint64")
COMPLEX = ("complex64", "complex128")


@dataclass(frozen=True)
class Case:
    """One tensor to print, under print options and a default dtype."""

    name: str
    array: np.ndarray
    dtype: str = "float32"
    options: dict[str, Any] = field(default_factory=dict)
    default_dtype: str = "float32"
    requires_grad: bool = False
    grad_fn: str | None = None
    class_name: str = "tensor"
    tangent: np.ndarray | None = None


def numpy_dtype(dtype: str) -> np.dtype:
    """The NumPy dtype of a torch dtype's name."""
    return np.dtype(ml_dtypes.bfloat16 if dtype == "bfloat16" else dtype)


def filled(values: Any, dtype: str = "float32") -> np.ndarray:
    """``values`` rounded to ``dtype``, overflow to infinity included."""
    with np.errstate(over="ignore"):
        return np.array(values).astype(numpy_dtype(dtype))


def scattered(*shape: int, dtype: str = "float32", unit: float = 64) -> np.ndarray:
    """Values without visible order between -504 and 504, in steps of one over ``unit``."""
    steps = np.arange(np.prod(shape)) * 7919 % 1009 - 504
    if dtype in COMPLEX:
        return filled((steps + 1j * steps[::-1]) / unit, dtype).reshape(shape)
    return filled(steps / unit, dtype).reshape(shape)


def cases() -> Iterator[Case]:
    """Every case, with a name of its own."""
    yield from element_cases()
    yield from dtype_cases()
    yield from layout_cases()
    yield from summary_cases()
    yield from suffix_cases()


def element_cases() -> Iterator[Case]:
    """How one value is written, and how its neighbours change that."""
    rows = {
        "whole": [1, 2, 3],
        "whole of several widths": [1, 20, -300],
        "fractions": [0.5, 1.25, -2.75],
        "whole and fraction": [1, 2.5],
        "zeros": [0, 0],
        "negative zero": [-0.0, 0.0],
        "negative zero and fraction": [-0.0, 0.5],
        "negative zero and small": [-0.0, 0.0, 1e-5],
        "nan": [nan, nan],
        "infinities": [inf, -inf],
        "nan among whole": [1, nan, 22],
        "nan among fractions": [0.5, nan, -0.25],
        "infinity among whole": [1, -inf, inf],
        "infinity among fractions": [0.5, -inf],
        "infinity among large": [1e10, -inf, nan, 0],
        "zero and nan": [0, -0.0, nan],
        "ratio of a thousand": [0.5, 500],
        "ratio above a thousand": [0.5, 500.5],
        "whole ratio of a thousand": [1, 1000],
        "whole ratio above a thousand": [1, 1001],
        "a hundred million": [1e8],
        "above a hundred million": [1.00000008e8],
        "large whole": [1e10, 2e10],
        "ten-thousandth": [0.0001],
        "just a ten-thousandth": [0.00010001],
        "below a ten-thousandth": [0.00009999],
        "rounds to zero": [0.00004, 0.00003],
        "rounds up to whole": [0.99999, 1.0],
        "rounds up in scientific": [9.99999e-5, 1e-5],
        "wider after rounding": [9.99996, 1.5],
        "half way": [0.03125, 0.09375, 0.00625],
        "one denormal": [1e-45],
        "denormal and one": [1e-45, 1],
        "largest float32": [3.4028235e38, -3.4028235e38],
        "scientific negative": [-1e-6, 1e6],
        "third": [1 / 3, 2 / 3],
    }
    for dtype in ("float32", "float64"):
        for name, values in rows.items():
            yield Case(f"{dtype} {name}", filled(values, dtype), dtype)
    wide = {
        "first and last": [5e-324, 1.7e308],
        "three-digit exponents": [1e-100, 1.0],
        "sixteen digits": [1 / 3, 1e15],
    }
    for name, values in wide.items():
        yield Case(f"float64 {name}", filled(values, "float64"), "float64")
    for value in (3.0, 3.5, 0.0, -0.0, nan, inf, -inf, 1e-5, -123456789.0, 1e8, 0.1):
        yield Case(f"scalar {value}", filled(value))
        yield Case(f"scalar {value} in bfloat16", filled(value, "bfloat16"), "bfloat16")
    for sci_mode in (True, False):
        for name in (
            "whole",
            "fractions",
            "zeros",
            "large whole",
            "rounds to zero",
            "nan among whole",
            "one denormal",
        ):
            yield Case(f"{name}, sci_mode {sci_mode}", filled(rows[name]), options={"sci_mode": sci_mode})
        yield Case(f"scalar, sci_mode {sci_mode}", filled(2.5), options={"sci_mode": sci_mode})
        yield Case(f"int, sci_mode {sci_mode}", filled([1, 2], "int64"), "int64", options={"sci_mode": sci_mode})
    for precision in (0, 1, 2, 8, 20):
        for name in ("whole", "fractions", "third", "half way", "scientific negative", "nan among fractions"):
            yield Case(f"{name}, precision {precision}", filled(rows[name]), options={"precision": precision})
    pairs = {
        "whole": [1 + 2j, 3 - 4j],
        "fractions": [0.5 + 2j, -1.25 - 0.5j],
        "signs of zero": [complex(0.0, 0.0), complex(-0.0, -0.0), complex(0.0, -0.0)],
        "nan and infinity": [complex(nan, 1), complex(1, nan), complex(-inf, -inf), complex(1.5, inf)],
        "widths": [1 + 100j, -20 + 3j, 300.5 - 4j],
        "scientific real": [1e-8 + 1j, 1 + 2j],
        "scientific imaginary": [1 + 1e10j, 2 - 1j],
        "scientific both": [1e-8 + 1e9j, 1e9 - 1e-8j, -1e9 - 1e9j],
        "zeros": [0j, 0j],
    }
    for dtype in COMPLEX:
        for name, values in pairs.items():
            yield Case(f"{dtype} {name}", filled(values, dtype), dtype)
        yield Case(f"{dtype} scalar", filled(1.5 - 2j, dtype), dtype)
        yield Case(f"{dtype} conjugate", filled([1 + 0j, 2 + 3j], dtype).conj(), dtype)
    for options in ({"precision": 1}, {"sci_mode": True}, {"sci_mode": False}):
        yield Case(f"complex fractions, {options}", filled(pairs["fractions"], "complex64"), "complex64", options)


def dtype_cases() -> Iterator[Case]:
    """Every dtype, alone and beside every default dtype."""
    for dtype in INTEGERS:
        info = np.iinfo(dtype)
        yield Case(f"{dtype} extremes", np.array([info.min, 0, info.max], dtype), dtype)
        yield Case(f"{dtype} matrix", np.arange(12, dtype=dtype).reshape(3, 4), dtype)
        yield Case(f"{dtype} scalar", np.array(info.max, dtype), dtype)
    for dtype in FLOATS:
        info = ml_dtypes.finfo(numpy_dtype(dtype))
        yield Case(f"{dtype} extremes", np.array([info.tiny, info.max], numpy_dtype(dtype)), dtype)
        yield Case(f"{dtype} eps", filled([1 + float(info.eps), 1.0], dtype), dtype)
        yield Case(f"{dtype} tenths", filled([0.1, 0.2, 0.7, -1.1], dtype), dtype)
        yield Case(f"{dtype} overflow", filled([1e5, -1e39, nan, 0.3], dtype), dtype)
        yield Case(f"{dtype} matrix", scattered(3, 5, dtype=dtype), dtype)
    yield Case("bool", np.array([True, False]), "bool")
    yield Case("bool, all true", np.array([True, True]), "bool")
    yield Case("bool scalar", np.array(False), "bool")
    yield Case("bool matrix", np.eye(3, dtype=bool), "bool")
    for default in ("float64", "float16", "bfloat16"):
        for dtype in ("float32", "float64", "bfloat16", "int64", "int32", "bool", *COMPLEX):
            yield Case(f"{dtype}, default {default}", filled([0, 1], dtype), dtype, default_dtype=default)
        yield Case(f"empty float32, default {default}", filled([]), default_dtype=default)
        yield Case(f"empty, default {default}", filled([], default), default, default_dtype=default)


def layout_cases() -> Iterator[Case]:
    """Shapes, strides, line breaks."""
    for shape in ((0,), (0, 3), (3, 0), (2, 0, 5), (0, 0)):
        for dtype in ("float32", "int64", "bool", "complex64"):
            yield Case(f"empty {shape} {dtype}", np.empty(shape, dtype), dtype)
    for shape in (
        (1,),
        (1, 1),
        (2, 3),
        (2, 2, 3),
        (1, 1, 1, 1),
        (2, 1, 2, 3),
        (2, 1, 2, 1, 2),
        (4, 1),
        (1, 2, 1, 2, 1, 2),
    ):
        yield Case(f"shape {shape}", scattered(*shape))
        yield Case(f"shape {shape} int64", scattered(*shape, dtype="int64", unit=1), "int64")
    for length in (8, 9, 10, 25, 100):
        yield Case(f"line of {length}", scattered(length))
        yield Case(f"line of {length} zeros", np.zeros(length, "float32"))
        yield Case(f"line of {length} int64", scattered(length, dtype="int64", unit=1), "int64")
        yield Case(f"line of {length} complex", scattered(length, dtype="complex64"), "complex64")
    yield Case("wrapped rows", scattered(3, 12))
    yield Case("wrapped rows in three dimensions", scattered(2, 2, 15))
    yield Case("line of bool", np.arange(30) % 3 == 0, "bool")
    for linewidth in (1, 20, 40, 120, -5):
        for shape in ((12,), (3, 7), (2, 2, 4)):
            yield Case(f"{shape}, linewidth {linewidth}", scattered(*shape), options={"linewidth": linewidth})
    base = scattered(6, 8)
    yield Case("transposed", base.T)
    yield Case("every other", base[::2, 1::3])
    yield Case("reversed", base[::-1, ::-1])
    yield Case("diagonal", base.diagonal())
    yield Case("expanded", np.broadcast_to(base[0], (3, 8)))
    yield Case("overlapping", np.lib.stride_tricks.sliding_window_view(base[0], 4))
    yield Case("real of complex", scattered(2, 3, dtype="complex64").real)
    yield Case("imaginary of complex", scattered(2, 3, dtype="complex64").imag)


def summary_cases() -> Iterator[Case]:
    """Tensors over the threshold, which show their ends only."""
    for shape in (
        (1000,),
        (1001,),
        (40, 40),
        (4, 400),
        (400, 4),
        (10, 12, 13),
        (2, 600),
        (7, 6, 5, 8),
        (1100, 1, 1),
    ):
        yield Case(f"summary of {shape}", scattered(*shape))
    yield Case("summary of int64", np.arange(5000), "int64")
    yield Case("summary of complex", scattered(40, 30, dtype="complex64"), "complex64")
    yield Case("summary of bfloat16", scattered(2000, dtype="bfloat16"), "bfloat16")
    yield Case("summary of bool", np.arange(1500) % 7 == 0, "bool")
    yield Case("summary of zeros", np.zeros(5000, "float32"))
    yield Case("summary of a transpose", scattered(60, 50).T)
    yield Case("summary of an expansion", np.broadcast_to(filled(1.5), (1000, 1000, 1000)))
    hidden = np.ones(2000, "float32")
    hidden[1000] = 1e-9
    yield Case("what a summary hides has no say", hidden)
    for edgeitems in (0, 1, 2, 5, inf):
        for shape in ((), (1,), (4,), (11,), (5, 6), (6, 2), (3, 4, 5)):
            options = {"threshold": 3, "edgeitems": edgeitems}
            yield Case(f"{shape}, edgeitems {edgeitems}", scattered(*shape), options=options)
    yield Case("summary wraps", scattered(50), options={"threshold": 20, "edgeitems": 12})
    yield Case("the ellipsis begins a line", scattered(40), options={"threshold": 5, "edgeitems": 8})
    yield Case("threshold 0, scalar", filled(2.5), options={"threshold": 0})
    yield Case("threshold and edgeitems 0, scalar", filled(2.5), options={"threshold": 0, "edgeitems": 0})
    yield Case("threshold 0", filled([2.5]), options={"threshold": 0})
    yield Case("threshold below 0", scattered(8), options={"threshold": -1})
    yield Case("edgeitems 0 below the threshold", filled([1, 2]), options={"edgeitems": 0})
    yield Case("edgeitems 0, empty", filled([[]]), options={"edgeitems": 0})
    yield Case("edgeitems 0, dtype", np.arange(20, dtype="int8"), "int8", {"edgeitems": 0, "threshold": 5})
    for profile in ("short", "full", "default"):
        yield Case(f"profile {profile}", scattered(34, 31, unit=77), options={"profile": profile})
    yield Case("profile short, linewidth", scattered(30), options={"profile": "short", "linewidth": 50})


def suffix_cases() -> Iterator[Case]:
    """What follows the elements, and when it goes to the next line."""
    values = filled([1, 2.5])
    yield Case("requires_grad", values, requires_grad=True)
    yield Case("requires_grad scalar", filled(3.0), requires_grad=True)
    yield Case("requires_grad empty", filled([[]]), requires_grad=True)
    for grad_fn in ("<CloneBackward0>", "<ViewBackward0>", "<SelectBackward0>"):
        yield Case(f"grad_fn {grad_fn}", values, grad_fn=grad_fn)
        yield Case(f"grad_fn {grad_fn} and dtype", filled(values, "float64"), "float64", grad_fn=grad_fn)
    yield Case("grad_fn, complex", filled([1j], "complex128"), "complex128", grad_fn="<CloneBackward0>")
    for linewidth in range(20, 72, 3):
        array, options = np.empty((2, 0), "float64"), {"linewidth": linewidth}
        yield Case(f"size, dtype, grad_fn, {linewidth}", array, "float64", options, grad_fn="<ViewBackward0>")
    for linewidth in range(44, 57):
        array, options = filled([0.5, 0.5, 0.5], "float64"), {"linewidth": linewidth}
        yield Case(f"two suffixes, linewidth {linewidth}", array, "float64", options, requires_grad=True)
    yield Case("grad_fn, size", np.empty((2, 0), "float64"), "float64", grad_fn="<CloneBackward0>")
    for length in range(1, 10):
        array = filled([0.5] * length, "float64")
        yield Case(f"{length} elements, dtype and grad_fn", array, "float64", grad_fn="<CloneBackward0>")
        yield Case(f"{length} elements, requires_grad", filled(array), requires_grad=True)
        matrix = np.stack([array, array])
        yield Case(f"2x{length} elements, dtype and requires_grad", matrix, "float64", requires_grad=True)
    for linewidth in range(28, 48, 3):
        options = {"linewidth": linewidth}
        yield Case(
            f"suffixes, linewidth {linewidth}",
            filled(values, "bfloat16"),
            "bfloat16",
            options,
            requires_grad=True,
        )
    yield Case("subclass", scattered(2, 3), class_name="Weights")
    yield Case("subclass, wrapped", scattered(15), class_name="WeightsOfALayer", requires_grad=True)
    yield Case("subclass, suffix wrapped", filled([0.5] * 8, "float64"), "float64", class_name="Weights")
    yield Case("tangent", filled([1, 2]), tangent=filled([0.5, 3]))
    yield Case("tangent of another dtype", filled([1, 2], "float64"), "float64", tangent=filled([1, 3], "float64"))
    yield Case("tangent of many lines", scattered(3, 2), tangent=scattered(3, 2, unit=3))


FORMATTED: dict[str, tuple[np.ndarray, str]] = {
    f"{array.dtype.name} {array.item()} as {spec!r}": (array, spec)
    for array, specs in (
        (filled(3.14159), ("", ".4f", "10.2e", "+.1f", ",.0f", ">12", ".1%")),
        (filled(3.14159, "float64"), ("", ".10f")),
        (filled(1.1, "bfloat16"), ("", ".3f")),
        (filled(0.1, "float16"), ("", ".6g")),
        (filled(nan), ("", "6.2f")),
        (filled(12345, "int64"), ("", "d", "08d", ",", "x", ".2f", ">8")),
        (filled(200, "uint8"), ("", "b", "o")),
        (np.array(True), ("", "d", ".1f")),
        (filled(1.5 - 2j, "complex64"), ("", ".2f")),
    )
    for spec in specs
}

OPTION_CALLS: tuple[dict[str, Any], ...] = (
    {"precision": 2},
    {"sci_mode": True},
    {"threshold": 10, "linewidth": 100},
    {"profile": "short"},
    {"sci_mode": False, "edgeitems": 7},
    {"profile": "full", "precision": 6},
    {"profile": "unheard of"},
    {"profile": "default", "sci_mode": True},
    {},
)


def torch_tensor(array: np.ndarray, dtype: str) -> Any:
    """``array`` as a torch tensor of the same bits, with its strides where torch can have them."""
    import torch

    if any(stride < 0 for stride in array.strides):
        array = array.copy()
    if dtype == "bfloat16":
        return torch.from_numpy(array.view(np.int16)).view(torch.bfloat16)
    return torch.from_numpy(array)


def torch_text(case: Case) -> str:
    """What PyTorch prints for ``case``."""
    import torch
    from torch.autograd import forward_ad

    nodes = {
        "<CloneBackward0>": lambda x: x.clone(),
        "<ViewBackward0>": lambda x: x.view(x.shape),
        "<SelectBackward0>": lambda x: x[None][0],
    }
    x = torch_tensor(case.array, case.dtype)
    if case.class_name != "tensor":
        x = x.as_subclass(type(case.class_name, (torch.Tensor,), {}))
    if case.requires_grad or case.grad_fn:
        x.requires_grad_()
    if case.grad_fn:
        x = nodes[case.grad_fn](x)
    default_before = torch.get_default_dtype()
    torch.set_default_dtype(getattr(torch, case.default_dtype))
    try:
        with torch._tensor_str.printoptions(**case.options), forward_ad.dual_level():
            if case.tangent is not None:
                x = forward_ad.make_dual(x, torch_tensor(case.tangent, case.dtype))
            return repr(x)
    finally:
        torch.set_default_dtype(default_before)


def record() -> None:
    """Ask PyTorch for everything and write it down."""
    import torch

    warnings.filterwarnings("ignore", message="The given NumPy array is not writable")
    options = []
    for call in OPTION_CALLS:
        torch.set_printoptions(**call)
        options.append(torch._tensor_str.get_printoptions())
    torch.set_printoptions(profile="default")
    printed: dict[str, str] = {}
    for case in cases():
        if case.name in printed:
            raise ValueError(f"two cases are called {case.name!r}")
        printed[case.name] = torch_text(case)
    golden = {
        "torch": torch.__version__,
        "printed": printed,
        "formatted": {
            name: format(torch_tensor(array, array.dtype.name), spec) for name, (array, spec) in FORMATTED.items()
        },
        "options": options,
    }
    GOLDEN.write_text(json.dumps(golden, indent=1, ensure_ascii=True) + "\n", encoding="utf-8")
    print(f"{len(printed)} printed, {len(FORMATTED)} formatted: {GOLDEN}")


if __name__ == "__main__":
    record()
