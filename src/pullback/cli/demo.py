"""The demo programs: what each prints, and its backward pass as a table, a row a step.

The programs under ``demos/`` are ordinary PyTorch programs. One runs as ``pullback run`` would run it, while
:func:`pullback.engine.engine.observe` notes every node the engine visits.
"""

from __future__ import annotations

import io
from collections.abc import Iterator
from contextlib import redirect_stdout
from dataclasses import dataclass, field
from functools import partial
from linecache import getline
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ..core.graph import next_function

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

PROGRAMS = {
    "1_scalar_loss.py": "A scalar loss: the seed is 1",
    "2_no_gradient.py": "A vector loss without a seed is refused",
    "3_gradient_given.py": "A vector loss and its seed: a weight for each element",
    "4_linear_layer.py": "Back through a loss and a linear layer",
    "5_custom_function.py": "A function with a backward of its own",
    "6_seeded_by_hand.py": "A network's output, seeded by hand",
}
SMALL = 4  # arrays of so many elements are shown in full
SOURCE = 18  # columns for a line of the program, which stands above in full


@dataclass(frozen=True)
class Step:
    """One node's turn: the gradient that reached it and what it made of it, copied."""

    node: Any
    grad_outputs: tuple[np.ndarray | None, ...]
    grad_inputs: tuple[np.ndarray | None, ...]


@dataclass
class Performance:
    """A program that has run: what it printed, its steps, and the names of the leaves it held, by ``id``."""

    path: Path
    output: str = ""
    steps: list[Step] = field(default_factory=list)
    leaves: dict[int, str] = field(default_factory=dict)


def perform(path: Path, seed: int) -> Performance:
    """Run a program after ``manual_seed(seed)``, with Pullback as its torch, and watch its backward."""
    import pullback

    from ..engine.hooks import observe

    done = Performance(path)

    def note(node: Any, grad_outputs: tuple[Any, ...], grad_inputs: tuple[Any, ...]) -> None:
        copies = [tuple(g if g is None else g.copy() for g in gs) for gs in (grad_outputs, grad_inputs)]
        done.steps.append(Step(node, *copies))

    program: dict[str, Any] = {"__name__": "__main__", "__file__": str(path)}
    code = compile(path.read_bytes(), str(path), "exec", dont_inherit=True)
    pullback.install()
    pullback.manual_seed(seed)
    with redirect_stdout(io.StringIO()) as printed, observe(note):
        exec(code, program)
    done.output = printed.getvalue()
    done.leaves = dict(leaves_in(program))
    return done


def leaves_in(program: dict[str, Any]) -> Iterator[tuple[int, str]]:
    """What a program's variables call the leaves: ``x``, ``layer.weight``."""
    from .. import Tensor
    from ..nn import Module

    for name, value in program.items():
        if isinstance(value, Tensor) and value.is_leaf:
            yield id(value), name
        elif isinstance(value, Module):
            for inner, parameter in value.named_parameters():
                yield id(parameter), f"{name}.{inner}"


# == as text =================================================================================================
def show(number: int, seed: int, console: Console | None = None) -> None:
    """Print a demo program (they count from 1), its output and its backward pass."""
    from rich.console import Console
    from rich.rule import Rule
    from rich.syntax import Syntax
    from rich.text import Text

    console = console or Console()
    file, title = list(PROGRAMS.items())[number - 1]
    performance = perform(Path(__file__).with_name("demos") / file, seed)
    out = partial(console.print, markup=False, highlight=False)
    out(Rule(f"{number}  {title}"))
    code = performance.path.read_text(encoding="utf-8").rstrip()
    out(Syntax(code, "python", line_numbers=True, word_wrap=True, background_color="default"))
    out(Text(f"\nOutput, after manual_seed({seed}):", style="bold"))
    out(performance.output, soft_wrap=True)
    if performance.steps:
        out(Text("Backward, in the order the engine visited the nodes:", style="bold"))
        out(table(performance))
    else:
        out(Text("Backward: no node was visited.", style="bold"))
    out()


def table(performance: Performance) -> Table:
    """The steps of a backward pass, a row each, numbered."""
    from rich import box
    from rich.table import Table

    grid = Table(box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False, padding=(0, 1, 0, 0))
    grid.add_column("#", justify="right")
    grid.add_column("op", no_wrap=True)
    grid.add_column("source line", no_wrap=True)
    grid.add_column("upstream gradient", overflow="fold")
    grid.add_column("hands to each input", overflow="fold")
    names = {id(step.node): f"#{row}" for row, step in enumerate(performance.steps, 1)} | performance.leaves
    for row, step in enumerate(performance.steps, 1):
        file, line = step.node.location or ("", 0)
        source = f"{line} {getline(file, line).strip()}" if line else ""
        grid.add_row(
            str(row),
            step.node.name().rpartition("::")[2],
            source if len(source) <= SOURCE else source[: SOURCE - 3] + "...",
            "\n".join(map(brief, step.grad_outputs)),
            "\n".join(handed(step, names)),
        )
    return grid


def handed(step: Step, names: dict[int, str]) -> Iterator[str]:
    """What a node hands on, a line an input that takes part: to the row of a node, to a leaf by its name."""
    if hasattr(step.node, "variable"):  # the end of the way
        leaf = step.node.variable
        yield f"{names.get(id(leaf), 'leaf')}.grad: {brief(leaf.grad.numpy())}"
    for (receiver, _), gradient in zip(map(next_function, step.node._edges), step.grad_inputs):
        if receiver is not None and gradient is not None:
            to = getattr(receiver, "variable", receiver)
            yield f"{names.get(id(to)) or names.get(id(receiver), receiver.name())}: {brief(gradient)}"


def brief(gradient: np.ndarray | None) -> str:
    """A gradient in a few words: its values if they are few, else its shape and norm."""
    if gradient is None:
        return "none"
    gradient = gradient.astype(complex if gradient.dtype.kind == "c" else float)
    if 0 < gradient.size <= SMALL:
        text = np.array2string(gradient, separator=", ", formatter={"all": "{:.4g}".format})
        return text.replace("\n", "")
    return f"{'x'.join(map(str, gradient.shape))}, norm {np.linalg.norm(gradient):.4g}"
