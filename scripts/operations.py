"""Write ``docs/operations.md``: every operation in the table of samples, and what the generic tests prove of it.

    python scripts/operations.py            # write the page
    python scripts/operations.py --check    # exit with 1 if it is not up to date (a test does this)

A tick stands for a test that runs on every sample of the operation (``tests/ops/test_rules.py``) and passes.
"""

from __future__ import annotations

import pathlib
import sys
from collections import defaultdict

ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT), str(ROOT / "src")]

from tests.ops.samples import SAMPLES, Sample  # noqa: E402
from tests.ops.test_rules import as_function  # noqa: E402

import pullback  # noqa: E402
from pullback.core.op import REGISTRY  # noqa: E402
from pullback.levels.batch_rules import rule_for  # noqa: E402

PAGE = ROOT / "docs" / "operations.md"
HEAD = """# Operations

Every operation in the table of samples that the generic tests run (`tests/ops`), and what they prove of it. This page
is written by `scripts/operations.py`; a test compares it with the table.

- **gradient**: equals finite differences. **second**: so does the gradient of the gradient. **complex**: on complex numbers
  too.
- **forward**: forward mode is the transpose of reverse mode, `⟨u, J t⟩ = ⟨Jᵀ u, t⟩`.
- **vmap**: a batch, with its gradients, equals its examples. *at once*: elementwise, or by a batching rule; *parts*: made
  of operations that have one, or run for each example.
- **in place**: `name_` equals the operation.
- An operation without a gradient (comparisons, indices) has its value tested, against PyTorch where it is installed.

| operation | samples | gradient | second | complex | forward | vmap | in place |
|---|---|---|---|---|---|---|---|
"""  # noqa: E501


def differentiable(sample: Sample) -> bool:
    f, leaves = as_function(sample)
    return bool(leaves) and bool(f(*leaves))


def row(name: str, samples: list[Sample]) -> str:
    grads = [s for s in samples if differentiable(s)]
    tick = lambda chosen: "✓" if chosen else ""  # noqa: E731
    op = REGISTRY.get(name.replace(".", "_")) or REGISTRY.get(name.rpartition(".")[2])
    batch = (
        ""
        if not grads
        else "at once"
        if op is not None and (op.kind == "elementwise" or rule_for(op) is not None)
        else "parts"
    )
    second = [s for s in grads if s.second]
    cells = [
        f"`{name}`",
        str(len(samples)),
        tick(grads),
        tick(second),
        tick([s for s in grads if s.complex]),
        tick(second),
        batch,
        tick([s for s in samples if s.inplace]),
    ]
    return f"| {' | '.join(cells)} |"


def page() -> str:
    by_name: dict[str, list[Sample]] = defaultdict(list)
    for s in SAMPLES:
        by_name[s.name].append(s)
    return HEAD + "\n".join(row(name, by_name[name]) for name in sorted(by_name, key=str.lower)) + "\n"


def main(args: list[str]) -> int:
    pullback.manual_seed(0)
    text = page()
    if "--check" in args:
        return 0 if PAGE.read_text("utf-8") == text else 1
    PAGE.write_text(text, "utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
