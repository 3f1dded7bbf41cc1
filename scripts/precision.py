"""Write ``docs/precision.md``: the errors of values and gradients against mpmath, beside PyTorch's on the same points.

pip install torch
python scripts/precision.py            # write the page
python scripts/precision.py --bounds   # print what tests/ops/test_precision.py would allow
"""

from __future__ import annotations

import math
import pathlib
import sys
import warnings
from typing import Any

import numpy as np

ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT), str(ROOT / "src")]

from tests.ops.precision import CASES, Case  # noqa: E402

import pullback  # noqa: E402

PAGE = ROOT / "docs" / "precision.md"
HEAD = """# Precision

The largest errors of values and gradients (of all arguments that have one), in units in the last place (ulp) of the
exact result, which mpmath computes; in each cell Pullback's, then PyTorch {torch}'s. Correct rounding is 0.5. The
points (`tests/ops/precision.py`) cover the whole range of each type, tiny and huge, and come close to zeros, poles and
limits of the domain. `inf`: overflowed, or NaN, where a number is right. Written by `scripts/precision.py` on
{machine}; a test keeps the errors below about twice these on every platform.

- *: counted in what one ulp of the arguments changes, if that is more: close to a zero that no number of the type hits,
  no digit of the value can be right, and far out on a wave neither.
- †: counted in ulp of numbers of at least the size 1, of gradients (sigmoid, tanh: `1 - out * out`), values
  (log_softmax), or both (tanhshrink).
- Results at the lower end of a type's range may be flushed to 0.

| function | float32 value | gradient | float64 value | gradient |
|---|---|---|---|---|
"""


def measured(case: Case, root: Any) -> list[float]:
    """Errors of values and gradients, in float32 and in float64."""
    found: list[float] = []
    for dtype in map(np.dtype, (np.float32, np.float64)):
        try:
            found += case.errors(root, dtype, case.exact(dtype))
        except (RuntimeError, NotImplementedError):  # not differentiable in PyTorch
            found += [math.nan, math.nan]
    return found


def shown(error: float) -> str:
    return (
        "–"
        if math.isnan(error)
        else f"{error:.1f}"
        if error < 100
        else f"{error:.1e}".replace("e+0", "e").replace("e+", "e")
    )


def row(case: Case, ours: list[float], theirs: list[float]) -> str:
    mark = "*" * case.conditioned + "†" * any(case.floors)
    cells = [f"{shown(a)} / {shown(b)}" for a, b in zip(ours, theirs)]
    return f"| `{case}`{mark} | {' | '.join(cells)} |"


def bound(error: float) -> float:
    """Twice the error, and at least 2, with two digits."""
    if not math.isfinite(error):
        return error
    twice = max(2 * error, 2)
    step = 10 ** max(math.floor(math.log10(twice)) - 1, 0)
    return math.ceil(twice / step) * step


def main(args: list[str]) -> int:
    if "--bounds" in args:
        for c in CASES:
            print(f'    "{c}": ({", ".join(str(bound(e)) for e in measured(c, pullback))}),', flush=True)
        return 0
    import platform

    import torch

    warnings.simplefilter("ignore")
    machine = f"{platform.system()} {platform.machine()}, NumPy {np.__version__}"
    lines = [row(c, measured(c, pullback), measured(c, torch)) for c in CASES]
    PAGE.write_text(
        HEAD.format(torch=torch.__version__.partition("+")[0], machine=machine) + "\n".join(lines) + "\n", "utf-8"
    )
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
