"""Records PyTorch 2.13's result types: ``python tests/golden/record_promotion.py``."""

import json
import pathlib

import torch

NAMES = [
    "bool",
    "uint8",
    "int8",
    "int16",
    "int32",
    "int64",
    "float16",
    "bfloat16",
    "float32",
    "float64",
    "complex32",
    "complex64",
    "complex128",
]
SCALARS = {"True": True, "2": 2, "2.5": 2.5, "1j": 1j}


def result(a: object, b: object) -> str:
    return str(torch.result_type(a, b))


tensors = {
    (n, rank): torch.ones((2,) if rank == "dims" else (), dtype=getattr(torch, n))
    for n in NAMES
    for rank in ("dims", "zero")
}


golden = {
    "tensors": {f"{a} {ra} {b} {rb}": result(x, y) for (a, ra), x in tensors.items() for (b, rb), y in tensors.items()},
    "scalars": {f"{a} {ra} {s}": result(x, v) for (a, ra), x in tensors.items() for s, v in SCALARS.items()},
    "can_cast": {f"{a} {b}": torch.can_cast(getattr(torch, a), getattr(torch, b)) for a in NAMES for b in NAMES},
    "operators": {},
}
for name in (
    "add",
    "sub",
    "mul",
    "div",
    "floor_divide",
    "remainder",
    "pow",
    "maximum",
    "atan2",
    "eq",
    "lt",
    "bitwise_and",
    "where",
):
    for (a, ra), x in tensors.items():
        for (b, rb), y in tensors.items():
            if ra == "zero" and rb == "zero":
                continue
            try:
                out = torch.where(torch.tensor(True), x, y) if name == "where" else getattr(torch, name)(x, y)
                golden["operators"][f"{name} {a} {ra} {b} {rb}"] = str(out.dtype)
            except Exception as error:
                golden["operators"][f"{name} {a} {ra} {b} {rb}"] = type(error).__name__
for name in (
    "sin",
    "exp",
    "sqrt",
    "neg",
    "abs",
    "sigmoid",
    "floor",
    "sign",
    "reciprocal",
    "sum",
    "mean",
    "prod",
    "cumsum",
    "relu",
    "square",
):
    for (a, ra), x in tensors.items():
        try:
            golden["operators"][f"{name} {a} {ra}"] = str(
                (torch.cumsum(x, 0) if name == "cumsum" else getattr(torch, name)(x)).dtype
            )
        except Exception as error:
            golden["operators"][f"{name} {a} {ra}"] = type(error).__name__
path = pathlib.Path(__file__).with_name("promotion.json")
path.write_text(json.dumps(golden, indent=0) + "\n")
