"""Explanations as text for the terminal, 80 columns wide, with ``rich``."""

from __future__ import annotations

import io
import math
from collections.abc import Iterator, Sequence
from statistics import median
from typing import TYPE_CHECKING, Any

import numpy as np
from rich import box
from rich.console import Console, Group, RenderableType
from rich.padding import Padding
from rich.rule import Rule
from rich.table import Table
from rich.text import Text

from .in_numbers import in_numbers, sum_of_uses, written
from .measure import Values
from .schema import Finding, Leaf, Operand, Step

if TYPE_CHECKING:
    from .explanation import Explanation
    from .paths import Paths
    from .seed import Effect
    from .summary import Summary
    from .watch import Watch

WIDTH = 80
FEW = 6  # arrays of so many elements are shown in full
MATRIX = 8  # matrices of so many rows and columns are drawn
MARKS = {"error": ("✗", "bold red"), "warning": ("!", "bold yellow"), "note": ("·", "bold blue")}
UP, DOWN = "magenta", "cyan"  # what arrives and what goes out


def rendered(content: RenderableType, width: int = WIDTH) -> str:
    """Plain text, without colours."""
    console = Console(
        width=width, color_system=None, file=io.StringIO(), record=True, legacy_windows=False, force_jupyter=False
    )
    console.print(content)
    return "\n".join(line.rstrip() for line in console.export_text().splitlines())


def number(x: Any) -> str:
    """A number in at most four digits."""
    if isinstance(x, complex):
        return f"{x:.4g}"
    x = float(x)
    return f"{x:.4g}" if math.isfinite(x) else {math.inf: "inf", -math.inf: "-inf"}.get(x, "nan")


def nested(values: Any) -> str:
    """Nested lists of numbers."""
    return "[" + ", ".join(map(nested, values)) + "]" if isinstance(values, list) else number(values)


def size(shape: Sequence[Any]) -> str:
    """A shape, or that of an operation's first result."""
    shape = shape[0] if shape.__class__ is list and shape and not isinstance(shape[0], int) else shape
    return "×".join(map(str, shape)) if len(shape) else "scalar"


def brief(v: Values | None, shape: bool = True) -> str:
    """An array in a few words: its elements if they are few, else shape, norm, zeros and NaN."""
    if v is None:
        return "none"
    if v.size <= FEW and v.elements is not None:
        return nested(v.values)
    words = [size(v.shape)] * shape + [f"norm {number(v.norm)}"]
    if v.stored is not None:
        words.append(f"sparse, {v.stored} stored")
    if v.zeros >= 0.005:
        words.append(f"{v.zeros:.0%} zeros")
    words += [f"{count} {word}" for count, word in ((v.nan, "nan"), (v.inf, "inf")) if count]
    return ", ".join(words)


def memory(count: int) -> str:
    """A number of bytes."""
    for unit in ("B", "kB", "MB", "GB"):
        if count < 1000 or unit == "GB":
            return f"{count:.3g} {unit}" if unit != "B" else f"{count} B"
        count /= 1000  # type: ignore[assignment]
    return ""


def short_path(file: str | None) -> str:
    return "" if file is None else file.replace("\\", "/").rpartition("/")[2]


# --- a whole pass -------------------------------------------------------------------------------------------------


def explanation_text(e: Explanation, limit: int = 60) -> RenderableType:
    """Findings, seeds, the steps in the order visited, and the leaves."""
    parts: list[RenderableType] = [heading(e)]
    for f in e.findings:
        parts.append(finding_text(f))
    if e.findings:
        parts.append(Text())
    for root in e.roots:
        given = "seed" if root.given else "seed (left out: 1)"
        to = f" → #{root.step}" if root.step else ""
        parts.append(Text.assemble((f"{root.name or 'output'}", "bold"), f"  {given} ", (brief(root.seed), UP), to))
    forward = e.forward_values
    module: str | None = None
    hidden = len(e.steps) - limit
    for step in e.steps[:limit]:
        if step.module != module:
            module = step.module
            parts.append(Rule(Text(module or "outside of modules", style="bold"), align="left", style="dim"))
        parts += step_text(step, "returned" if e.complete else "broken off", *forward[step.number - 1])
    if hidden > 0:
        parts.append(Text(f"... and {hidden} more steps", style="dim"))
    if e.leaves:
        parts.append(Rule(Text("leaves", style="bold"), align="left", style="dim"))
        parts.append(leaves_table(e.leaves[:limit]))
    if len(e.leaves) > limit:
        parts.append(Text(f"... and {len(e.leaves) - limit} more leaves", style="dim"))
    return Group(*parts)


def heading(e: Explanation) -> Text:
    place = e.place
    kept = sum(s.bytes for s in e.steps)
    name = f"Backward pass {e.number}" + ("" if e.complete else ", broken off")
    counts = f": {plural(len(e.steps), 'step')}, {plural(len(e.leaves), 'leaf')}, {memory(kept)} kept for it"
    text = Text.assemble((name, "bold"), counts)
    if place is not None:
        text.append(f"\nfrom {short_path(place[0])}:{place[1]}", style="dim")
    return text


def plural(n: int, word: str) -> str:
    return f"{n} {word if n == 1 else {'leaf': 'leaves'}.get(word, word + 's')}"


def finding_text(f: Finding) -> Table:
    mark, style = MARKS[f.severity]
    grid = Table.grid(padding=(0, 1))
    grid.add_row(Text(mark, style=style), Text.assemble(f.text, (f"  [pullback errors {f.page}]", "dim")))
    return grid


def step_text(step: Step, beyond: str, operands: Sequence[Operand], out: Values | None) -> Iterator[RenderableType]:
    """One step: op and line, the values of the forward pass if they are few, grad outputs, and for each input rule and
    gradient, with the numbers in the rule; ``beyond`` labels gradients that no step receives.
    """
    line = f"{short_path(step.file)}:{step.line}" if step.line else ""
    head = Text.assemble(
        (f"#{step.number:<3}", "dim"),
        (step.title, "bold"),
        f" → {step.name}" if step.name else "",
        (f"  {line}  {step.code}", "dim"),
        no_wrap=True,
        overflow="ellipsis",
    )
    yield head
    grid = Table.grid(padding=(0, 1))
    grid.add_column(no_wrap=True)
    grid.add_column(overflow="fold")
    if values := forward_text(operands, out):
        grid.add_row("", Text(values, style="dim"))
    several = len(step.upstream) - step.upstream.count(None) > 1
    for i, v in enumerate(step.upstream):
        if v is not None or len(step.upstream) == 1:
            grid.add_row(Text(f"g{i if several else ''} =", style=UP), Text(brief(v), style=UP))
    defined = max((d.rule.partition(", where ")[2] for d in step.downstream), key=len, default="")
    for d in step.downstream:
        name, separator, rule = d.rule.partition(" = ")
        if not separator:
            name, _, rule = d.rule.partition(": ")
        rule, where, definitions = rule.partition(", where ")
        rule += f", where {definitions}" if where and definitions not in defined else ""
        to = (
            d.leaf if d.leaf is not None else f"#{d.step}" if d.step else "not needed" if d.gradient is None else beyond
        )
        figures = in_numbers(d.rule, step.upstream[0], operands, out) if len(step.upstream) == 1 else None
        middle = [f"  =  {figures}"] if figures is not None else []
        equals = "  =  " if separator else "  gives  "
        cell = Text.assemble(rule, *middle, equals, (brief(d.gradient), DOWN), f"  → {to}")
        grid.add_row(Text(f"{name} ="), cell)
    if defined:
        grid.add_row("where", Text(defined))
    if step.hooks:
        grid.add_row("hooks", Text(", ".join(step.hooks), style="yellow"))
    yield Padding(grid, (0, 0, 0, 5))


def forward_text(operands: Sequence[Operand], out: Values | None) -> str:
    """The values of a step's operation, where all are few: ``a = x = [2, 3], b = x, out = [4, 9]``."""
    words, told = [], set()
    for o in operands:
        value = written(o.value)
        if value is None:
            return ""
        name = f" = {o.name}" if o.name and o.name != o.symbol else ""
        words.append(f"{o.symbol}{name}" + (f" = {value}" if not o.name or o.name not in told else ""))
        told.add(o.name)
    result = written(out)
    return ", ".join([*words, *([f"out = {result}"] if result is not None else [])]) if words else ""


def leaves_table(leaves: Sequence[Leaf]) -> RenderableType:
    shared = any(len(leaf.uses) > 1 for leaf in leaves)
    grid = Table(box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False, padding=(0, 1, 0, 0))
    grid.add_column("leaf", overflow="fold", no_wrap=all(len(leaf.name) <= WIDTH // 2 for leaf in leaves))
    grid.add_column("shape", no_wrap=True)
    if shared:
        grid.add_column("uses", justify="right")
    grid.add_column("gradient of this pass", overflow="fold")
    grid.add_column("rms", justify="right", no_wrap=True)
    for leaf in leaves:
        uses = [str(len(leaf.uses) or 1)] * shared
        cells = (
            leaf.name,
            size(leaf.shape),
            *uses,
            sum_of_uses(leaf) or brief(leaf.gradient, shape=False),
            number(leaf.gradient.rms),
        )
        grid.add_row(*map(Text, cells))  # as strings, "[nan]" would be a style
    return grid


# --- paths and seeds ------------------------------------------------------------------------------------------------


def paths_text(paths: Paths, limit: int = 20) -> RenderableType:
    """Contributions, largest first, and the check that they add up."""
    grid = Table(box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False)
    grid.add_column("share", justify="right", no_wrap=True)
    grid.add_column("contribution", overflow="fold")
    grid.add_column("path, from the output", overflow="fold")
    for p in list(paths)[:limit]:
        way = " → ".join("…" if s is None else paths.describe(s) for s in shortened(p.steps))
        way += f" ({p.arguments[-1]})" if p.arguments else ""
        if p.hooked:
            way = f"a hook changed the gradient at: {way}"
        elif p.count > 1:
            way = f"{p.count} paths by way of {way}"
        grid.add_row(f"{p.share:.1%}", Text(brief(p.values)), Text(way or "the output itself"))
    head = Text.assemble(
        ("Where the gradient of ", ""), (paths.name, "bold"), " comes from: ", brief(Values.of(paths.total))
    )
    rest = [Text(f"... and {len(paths) - limit} more", style="dim")] if len(paths) > limit else []
    check = Text(f"They add up to the gradient (difference {number(paths.residue)}).", style="dim")
    return Group(head, grid, *rest, check)


def shortened(steps: Sequence[int], most: int = 6) -> list[int | None]:
    """The beginning and end of a long path, with None between."""
    return list(steps) if len(steps) <= most else [*steps[: most // 2], None, *steps[-most // 2 :]]


def effect_text(effect: Effect) -> RenderableType:
    """vᵀJ as matrices and each output element's contribution; of large ones the norms."""
    n, m = effect.jacobian.shape
    parts: list[RenderableType] = []
    if n <= MATRIX and m <= MATRIX:
        columns = [str(i) for i in np.ndindex(*effect.shape)] if effect.shape else [""]
        columns = [f"{effect.name}[{c.strip('(),')}]" if c else effect.name for c in columns]
        parts.append(Text("J, how each output element (row) depends on each input element (column):"))
        grid = Table(box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False)
        grid.add_column("seed v", justify="right", style=UP)
        grid.add_column("", no_wrap=True)
        for c in columns:
            grid.add_column(Text(c), justify="right", no_wrap=True)
        for v, name, row in zip(effect.seed, effect.elements, effect.jacobian):
            grid.add_row(number(v), Text(name), *map(number, row))
        grid.add_section()
        grid.add_row("", Text("vᵀJ", style="bold"), *[Text(number(x), style=DOWN) for x in effect.gradient.reshape(-1)])
        parts.append(grid)
    parts.append(Text(f"\nWhat each output element adds to the gradient of {effect.name}:"))
    grid = Table(box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False)
    grid.add_column("element", no_wrap=True)
    grid.add_column("seed", justify="right", style=UP)
    grid.add_column("seed × its row of J", overflow="fold", style=DOWN)
    for v, name, row in list(zip(effect.seed, effect.elements, effect.contributions))[:20]:
        grid.add_row(Text(name), number(v), Text(brief(Values.of(np.asarray(row)))))
    if n > 20:
        grid.add_row(f"... {n - 20} more")
    grid.add_section()
    grid.add_row(Text("sum", style="bold"), "", Text(brief(Values.of(np.asarray(effect.gradient)))))
    parts.append(grid)
    return Group(*parts)


# --- models and training --------------------------------------------------------------------------------------------


def count(n: float) -> str:
    """A large number in three digits."""
    for unit in ("", "k", "M", "G"):
        if n < 1000:
            return f"{n:.3g}{unit}" if unit else f"{n:.0f}"
        n /= 1000
    return f"{n:.3g}T"


def summary_text(s: Summary) -> RenderableType:
    """Layers, and their sums."""
    grid = Table(box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False, padding=(0, 1, 0, 0))
    grid.add_column("layer", overflow="fold")
    grid.add_column("output", overflow="fold")
    for name in ("parameters", "forward", "backward", "kept"):
        grid.add_column(name, justify="right", no_wrap=True)
    for r in s.rows:
        name = "  " * r.depth + (r.path.rpartition(".")[2] + " " if r.path else "")
        cell = Text.assemble(
            (name, "bold"), r.kind, " (not called)" if not r.calls else f" ×{r.calls}" if r.calls > 1 else ""
        )
        blank = lambda n, text: text if n else ""  # noqa: E731
        grid.add_row(
            cell,
            ", ".join(size(o) for o in r.outputs),
            blank(r.parameters, count(r.parameters)),
            blank(r.forward, count(r.forward)),
            blank(r.backward, count(r.backward)),
            blank(r.kept, memory(r.kept)),
        )
    grid.add_section()
    grid.add_row(
        Text("in all", style="bold"), "", count(s.parameters), count(s.forward), count(s.backward), memory(s.kept)
    )
    return Group(
        grid,
        Text(
            f"{s.trainable:,} of {s.parameters:,} parameters are trainable; forward and backward count floating-point "
            f"operations.",
            style="dim",
        ),
    )


def watch_text(w: Watch) -> RenderableType:
    """The newest record of each layer, beside the median."""
    grid = Table(box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False)
    for name in ("layer", "gradient", "median", "update", "update / value"):
        grid.add_column(name, justify="left" if name == "layer" else "right")
    for layer, last in {layer: r for r in w.records for layer in r.gradients}.items():
        norm, size_, update = last.gradients[layer], last.values[layer], last.updates[layer]
        usual = median(r.gradients[layer] for r in w.records if layer in r.gradients)
        grid.add_row(layer, number(norm), number(usual), number(update), number(update / size_) if size_ else "")
    head = Text(f"{w.steps} steps, {len(w.records)} of them recorded")
    return Group(head, grid, *[finding_text(f) for f in w.findings])
