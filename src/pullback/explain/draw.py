"""The graph as Graphviz's DOT, as Mermaid and as an SVG picture.

Passes of more than 60 steps are drawn by module, as deep into the modules as 60 boxes allow: a box for each time that
the program was in a module, so that nothing goes in circles. Where these are too many, a box for each module; thousands
of modules, in runs.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from html import escape
from itertools import groupby
from typing import TYPE_CHECKING, Any

from ..base.errors import with_notes
from .record import Step
from .text import brief, number, size

if TYPE_CHECKING:
    from .explanation import Explanation

MOST = 60  # boxes in a picture
FEW = 6  # and with fewer groups than this it says little
LONG = 28  # characters in a line of a box


@dataclass
class Box:
    """Something drawn: a step, a group of steps, a leaf or an output."""

    kind: str
    lines: tuple[str, str]
    steps: list[Step] = field(default_factory=list)


@dataclass
class Link:
    """Data from one box to another, and the norm of the gradient that goes back."""

    source: int
    target: int
    squares: float = 0.0

    @property
    def norm(self) -> float:
        return math.sqrt(self.squares)


def drawing(e: Explanation) -> tuple[list[Box], list[Link]]:
    """What to draw: boxes, and links between them by their numbers."""
    keys = grouping(e.steps)
    modules: dict[object, set[str | None]] = {}
    for step in e.steps:
        modules.setdefault((step.file, step.line), set()).add(step.module)
    boxes: list[Box] = []
    place: dict[object, int] = {}
    for step, key in zip(e.steps, keys):
        if key not in place:
            place[key] = len(boxes)
            if isinstance(key, int):
                lines = words(step, len(modules[step.file, step.line]) == 1)
                boxes.append(Box("step", (short(lines[0]), short(lines[1]))))
            else:
                boxes.append(Box("group", (short(key[0] if isinstance(key, tuple) else key), "")))
        boxes[place[key]].steps.append(step)
    for box in boxes:
        if box.kind == "group":
            n = len(box.steps)
            box.lines = box.lines[0], f"{n} step{'s' * (n > 1)}"
    links: dict[tuple[int, int], Link] = {}

    def connect(source: int, target: int, norm: float) -> None:
        if source != target:
            link = links.setdefault((source, target), Link(source, target))
            link.squares += norm * norm

    several = len(boxes) < len(e.steps)
    leaf_place: dict[str, int] = {}
    for leaf in e.leaves:
        if not several or len(leaf.uses) > 1 or not leaf.uses or not e.steps[leaf.uses[0].step - 1].module:
            leaf_place[leaf.name] = len(boxes)
            boxes.append(Box("leaf", (short(leaf.name), size(leaf.shape))))
    for step, key in zip(e.steps, keys):
        for d in step.downstream:
            norm = d.gradient.norm if d.gradient is not None else 0.0
            if d.step is not None:
                connect(place[keys[d.step - 1]], place[key], norm)
            elif d.leaf in leaf_place:
                connect(leaf_place[d.leaf], place[key], norm)
    for root in e.roots:
        boxes.append(Box("output", (root.name or "output", "seed " + short(brief(root.seed), 22))))
        source = leaf_place.get(root.name or "") if root.step is None else place[keys[root.step - 1]]
        if source is not None:
            connect(source, len(boxes) - 1, root.seed.norm)
    return boxes, list(links.values())


Group = str | tuple[str, int]  # a group's name; of several that have it, with the number of the first step


def words(step: Step, own: bool) -> tuple[str, str]:
    """What the box of a step says: its line, if that is its own; the call of a module says little."""
    first = f"#{step.number} {step.title}" + (f" → {step.name}" if step.name else "")
    where = ".".join(step.module.split(".")[-2:]) + "  " if step.module else ""
    return first, f"{step.line}  {step.code}" if step.line and own else where + size(step.shape)


def grouping(steps: list[Step]) -> list[int | Group]:
    """For each step its number, if it is drawn by itself, or the group that it is drawn in."""
    if len(steps) <= MOST:
        return [s.number for s in steps]
    deepest = max((s.module.count(".") + 1 for s in steps if s.module), default=0)
    for depth in range(deepest, 0, -1):
        times = in_time(names_at(steps, depth))
        if FEW <= len(set(times)) <= MOST:
            return times
    for depth in range(deepest, 0, -1):
        keys = names_at(steps, depth)
        if len(set(keys)) <= MOST:
            break
    else:
        return in_runs(names_at(steps, 1))
    finer = names_at(steps, depth + 1)
    return in_runs(finer) if len(set(keys)) < FEW < len(set(finer)) else [*keys]


def names_at(steps: list[Step], depth: int) -> list[str]:
    """The module of each step, to so many levels; its line, where it is in none."""
    return [".".join(s.module.split(".")[:depth]) if s.module else f"line {s.line}" for s in steps]


def in_time(keys: list[str]) -> list[int | Group]:
    """Steps that follow each other under one name put together; those that stand alone by their numbers."""
    found: list[int | Group] = []
    for name, same in groupby(keys):
        first, count = len(found) + 1, len([*same])
        found += [(name, first) if count > 1 else first] * count
    return found


def in_runs(keys: list[str]) -> list[int | Group]:
    """Modules put together, in the order in which they come, until a picture holds them."""
    order = [key for key in dict.fromkeys(keys) if not key.startswith("line ")]
    size = max(1, -(-len(order) // (MOST // 2)))
    runs = [order[k : k + size] for k in range(0, len(order), size)]
    name = {key: run[0] if len(run) == 1 else f"{run[-1]} to {run[0]}" for run in runs for key in run}
    return [name.get(key, key) for key in keys]


def short(text: str, most: int = LONG) -> str:
    return text if len(text) <= most else text[: most - 1] + "…"


# --- text formats -------------------------------------------------------------------------------------------------


def quoted(text: str) -> str:
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n") + '"'


def dot(e: Explanation) -> str:
    """DOT: solid edges are data, dashed ones the gradient, labelled by its norm."""
    boxes, links = drawing(e)
    shapes = {"step": "box", "group": "box3d", "leaf": "ellipse", "output": "box"}
    lines = [
        "digraph backward {",
        "  rankdir=TB; node [fontname=Helvetica, fontsize=11]; edge [fontname=Helvetica, fontsize=9];",
    ]
    for i, box in enumerate(boxes):
        style = ", style=dashed" if box.kind == "output" else ""
        lines.append(
            f"  n{i} [label={quoted(chr(10).join(filter(None, box.lines)))}, shape={shapes[box.kind]}{style}];"
        )
    for k in links:
        lines.append(f"  n{k.source} -> n{k.target};")
        lines.append(
            f"  n{k.target} -> n{k.source} [color=chocolate, fontcolor=chocolate, style=dashed, constraint=false, "
            f"label={quoted(number(k.norm))}];"
        )
    return "\n".join([*lines, "}", ""])


def mermaid(e: Explanation) -> str:
    """Mermaid: an edge carries the norm of the gradient that goes back along it."""
    boxes, links = drawing(e)
    brackets = {"step": ("[", "]"), "group": ("[[", "]]"), "leaf": ("([", "])"), "output": ("{{", "}}")}
    lines = ["flowchart TD"]
    for i, box in enumerate(boxes):
        a, b = brackets[box.kind]
        text = "<br>".join(mermaid_text(line) for line in box.lines if line)
        lines.append(f'  n{i}{a}"{text}"{b}')
    lines += [f'  n{k.source} -- "{number(k.norm)}" --> n{k.target}' for k in links]
    return "\n".join([*lines, ""])


def mermaid_text(text: str) -> str:
    """Text in Mermaid's quotes: what means something there is written as its entity."""
    return "".join(f"#{ord(c)};" if c in '"#<>&;`' else c for c in text)


# --- SVG ----------------------------------------------------------------------------------------------------------

WIDTH, HEIGHT, GAP_X, GAP_Y = 206, 44, 24, 46
HEAD = 8  # the length of an arrowhead; across it is wider than a line can be
STYLE = """\
text{font:12.5px system-ui,sans-serif;fill:#1c1f24;text-anchor:middle}.small{font:10.5px ui-monospace,Menlo,Consolas,monospace;fill:#626873}
rect{fill:#fff;stroke:#8a93a0;stroke-width:1.2}.leaf rect{fill:#e7f5ec;stroke:#2f855a}.group rect{fill:#f1f3f6}.output rect{stroke-dasharray:4 3}
.data{stroke:#8a93a0;stroke-width:1.1;fill:none}.gradient{stroke:#c2410c;fill:none;opacity:.8}.arrow{fill:#c2410c}.point{fill:#8a93a0}
@media(prefers-color-scheme:dark){text{fill:#e6e8ec}.small{fill:#9aa1ad}rect{fill:#1d2027;stroke:#69717d}.leaf rect{fill:#173425;stroke:#5fbf8a}
.group rect{fill:#22262e}.gradient{stroke:#fb923c}.arrow{fill:#fb923c}}"""  # noqa: E501


def svg(e: Explanation) -> str:
    """An SVG picture, laid out in layers: data flows down, and beside it the gradient up, the wider the larger its
    norm.

    Raises:
        ModuleNotFoundError: the layout library is missing; it comes with ``pip install "pullback[explain]"``.
    """
    boxes, links = drawing(e)
    at, width, height = layout(len(boxes), links)
    low, high = extent([k.norm for k in links])
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:.0f} {height:.0f}" width="{width:.0f}" '
        f'height="{height:.0f}" role="img" '
        f'aria-label="Graph of backward pass {e.number}">',
        f"<style>{STYLE}</style>",
        "<defs>" + marker("down", "point", HEAD) + marker("up", "arrow", HEAD + 4) + "</defs>",
    ]
    for k in links:
        (x1, y1), (x2, y2) = at[k.source], at[k.target]
        y1, y2 = y1 + HEIGHT / 2, y2 - HEIGHT / 2
        down, up = (HEAD, -HEAD) if y1 < y2 else (-HEAD, HEAD)  # arrowheads begin where lines end
        parts.append(f'<path class="data" d="{bend(x1 - 4, y1, x2 - 4, y2 - down)}" marker-end="url(#down)"/>')
        share = (math.log10(k.norm) - low) / (high - low) if high > low and 0 < k.norm < math.inf else 0.4
        dash = ' stroke-dasharray="2 4"' if k.norm == 0 else ""
        parts.append(
            f'<path class="gradient" d="{bend(x2 + 5, y2, x1 + 5, y1 - up)}" '
            f'stroke-width="{1.6 + 5 * share:.2f}"{dash} '
            f'marker-end="url(#up)"><title>gradient norm {number(k.norm)}</title></path>'
        )
    for box, (x, y) in zip(boxes, at):
        parts.append(
            f'<g class="{box.kind}"><rect x="{x - WIDTH / 2:.1f}" y="{y - HEIGHT / 2:.1f}" width="{WIDTH}" '
            f'height="{HEIGHT}" '
            f'rx="{22 if box.kind == "leaf" else 7}"/><text x="{x:.1f}" y="{y - 4:.1f}">{escape(box.lines[0])}</text>'
            f'<text class="small" x="{x:.1f}" y="{y + 12:.1f}">{escape(box.lines[1])}</text></g>'
        )
    return "\n".join([*parts, "</svg>", ""])


def layout(count: int, links: list[Link]) -> tuple[list[tuple[float, float]], float, float]:
    """The middle of each box, and the size of the picture."""
    try:
        from fast_sugiyama import from_edges
    except ModuleNotFoundError as error:
        raise with_notes(
            error,
            'The SVG picture needs a layout library: pip install "pullback[explain]".',
            "The page, DOT and Mermaid need none.",
        ) from None
    positions: dict[int, tuple[float, float]] = {}
    offset = 0.0
    components: Any = from_edges([(k.source, k.target) for k in links], vertex_spacing=100) if links else ()
    for spots, *_ in components:
        left, top = min(x for _, (x, _) in spots), max(y for _, (_, y) in spots)
        for i, (x, y) in spots:
            positions[i] = (offset + (x - left) / 100 * (WIDTH + GAP_X), (top - y) / 100 * (HEIGHT + GAP_Y))
        offset = max(x for x, _ in positions.values()) + WIDTH + GAP_X
    for i in range(count):  # what is connected to nothing
        if i not in positions:
            positions[i] = (offset, 0.0)
            offset += WIDTH + GAP_X
    at = [(positions[i][0] + WIDTH / 2 + 12, positions[i][1] + HEIGHT / 2 + 12) for i in range(count)]
    return at, max(x for x, _ in at) + WIDTH / 2 + 12, max(y for _, y in at) + HEIGHT / 2 + 12


def extent(norms: list[float]) -> tuple[float, float]:
    logs = [math.log10(n) for n in norms if 0 < n < math.inf]
    return (min(logs), max(logs)) if logs else (0.0, 0.0)


def bend(x1: float, y1: float, x2: float, y2: float) -> str:
    middle = (y1 + y2) / 2
    return f"M{x1:.1f} {y1:.1f}C{x1:.1f} {middle:.1f} {x2:.1f} {middle:.1f} {x2:.1f} {y2:.1f}"


def marker(name: str, style: str, width: int) -> str:
    return (
        f'<marker id="{name}" viewBox="0 0 10 10" refX="0.5" refY="5" markerWidth="{HEAD}" markerHeight="{width}" '
        f'markerUnits="userSpaceOnUse" preserveAspectRatio="none" orient="auto">'
        f'<path class="{style}" d="M0 0L10 5L0 10z"/></marker>'
    )
