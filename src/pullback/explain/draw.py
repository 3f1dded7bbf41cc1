"""Draws the graph: Graphviz DOT, Mermaid and SVG.

Passes of more than 60 steps are grouped by module, at the deepest level that 60 boxes allow: one box for each
consecutive stay in a module, which keeps the picture free of cycles. If these are too many, one box for each module;
thousands of modules are merged in runs.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from html import escape
from itertools import groupby
from typing import TYPE_CHECKING, Any

from ..base.errors import with_notes
from .schema import Step
from .text import brief, number, size

if TYPE_CHECKING:
    from .explanation import Explanation

MAX_BOXES = 60  # boxes in a picture
MIN_GROUPS = 6  # fewer groups than this are split further
MAX_CHARACTERS = 28  # characters in a line of a box


@dataclass
class Box:
    """Something drawn: a step, a group of steps, a leaf or an output."""

    kind: str
    lines: tuple[str, str]
    steps: list[Step] = field(default_factory=list)


@dataclass
class Link:
    """An edge from producer to consumer, with the norm of the gradient that flows back along it."""

    source: int
    target: int
    squares: float = 0.0

    @property
    def norm(self) -> float:
        return math.sqrt(self.squares)


def drawing(e: Explanation) -> tuple[list[Box], list[Link]]:
    """The boxes to draw, and the links between them by index."""
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
                lines = step_label(step, len(modules[step.file, step.line]) == 1)
                boxes.append(Box("step", (shorten(lines[0]), shorten(lines[1]))))
            else:
                boxes.append(Box("group", (shorten(key[0] if isinstance(key, tuple) else key), "")))
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
            boxes.append(Box("leaf", (shorten(leaf.name), shape_text(leaf.shape))))
    for step, key in zip(e.steps, keys):
        for d in step.downstream:
            norm = d.gradient.norm if d.gradient is not None else 0.0
            if d.step is not None:
                connect(place[keys[d.step - 1]], place[key], norm)
            elif d.leaf in leaf_place:
                connect(leaf_place[d.leaf], place[key], norm)
    for root in e.roots:
        boxes.append(Box("output", (root.name or "output", "seed " + shorten(brief(root.seed), 22))))
        source = leaf_place.get(root.name or "") if root.step is None else place[keys[root.step - 1]]
        if source is not None:
            connect(source, len(boxes) - 1, root.seed.norm)
    return boxes, list(links.values())


Group = str | tuple[str, int]  # a group's name; of several that have it, with the number of the first step


def step_label(step: Step, own: bool) -> tuple[str, str]:
    """The two lines of a step's box: with the code, if the line has one step (a line that calls a module has many)."""
    first = f"#{step.number} {step.title}" + (f" → {step.name}" if step.name else "")
    where = ".".join(step.module.split(".")[-2:]) + "  " if step.module else ""
    return first, f"line {step.line}: {step.code}" if step.line and own else where + shape_text(step.shape)


def shape_text(shape: Any) -> str:
    """A shape, said to be one."""
    text = size(shape)
    return text if text == "scalar" else f"shape {text}"


def grouping(steps: list[Step]) -> list[int | Group]:
    """For each step its number, if it gets a box of its own, or the group whose box it is in."""
    if len(steps) <= MAX_BOXES:
        return [s.number for s in steps]
    deepest = max((s.module.count(".") + 1 for s in steps if s.module), default=0)
    for depth in range(deepest, 0, -1):
        times = group_consecutive(modules_at(steps, depth))
        if MIN_GROUPS <= len(set(times)) <= MAX_BOXES:
            return times
    for depth in range(deepest, 0, -1):
        keys = modules_at(steps, depth)
        if len(set(keys)) <= MAX_BOXES:
            break
    else:
        return group_in_runs(modules_at(steps, 1))
    finer = modules_at(steps, depth + 1)
    return group_in_runs(finer) if len(set(keys)) < MIN_GROUPS < len(set(finer)) else [*keys]


def modules_at(steps: list[Step], depth: int) -> list[str]:
    """Each step's module path, cut to so many levels; its line, outside of modules."""
    return [".".join(s.module.split(".")[:depth]) if s.module else f"line {s.line}" for s in steps]


def group_consecutive(keys: list[str]) -> list[int | Group]:
    """Consecutive steps of one name as groups; single ones by their numbers."""
    found: list[int | Group] = []
    for name, same in groupby(keys):
        first, count = len(found) + 1, len([*same])
        found += [(name, first) if count > 1 else first] * count
    return found


def group_in_runs(keys: list[str]) -> list[int | Group]:
    """Modules merged in order of appearance, until a picture holds them."""
    order = [key for key in dict.fromkeys(keys) if not key.startswith("line ")]
    size = max(1, -(-len(order) // (MAX_BOXES // 2)))
    runs = [order[k : k + size] for k in range(0, len(order), size)]
    name = {key: run[0] if len(run) == 1 else f"{run[-1]} to {run[0]}" for run in runs for key in run}
    return [name.get(key, key) for key in keys]


def shorten(text: str, most: int = MAX_CHARACTERS) -> str:
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
    """Text escaped for Mermaid's quotes, by character entities."""
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
    low, high = log_range([k.norm for k in links])
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
        parts.append(f'<path class="data" d="{curve(x1 - 4, y1, x2 - 4, y2 - down)}" marker-end="url(#down)"/>')
        share = (math.log10(k.norm) - low) / (high - low) if high > low and 0 < k.norm < math.inf else 0.4
        dash = ' stroke-dasharray="2 4"' if k.norm == 0 else ""
        parts.append(
            f'<path class="gradient" d="{curve(x2 + 5, y2, x1 + 5, y1 - up)}" '
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
    """The centre of each box, and the size of the picture."""
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
    for i in range(count):  # boxes without links
        if i not in positions:
            positions[i] = (offset, 0.0)
            offset += WIDTH + GAP_X
    at = [(positions[i][0] + WIDTH / 2 + 12, positions[i][1] + HEIGHT / 2 + 12) for i in range(count)]
    return at, max(x for x, _ in at) + WIDTH / 2 + 12, max(y for _, y in at) + HEIGHT / 2 + 12


def log_range(norms: list[float]) -> tuple[float, float]:
    logs = [math.log10(n) for n in norms if 0 < n < math.inf]
    return (min(logs), max(logs)) if logs else (0.0, 0.0)


def curve(x1: float, y1: float, x2: float, y2: float) -> str:
    middle = (y1 + y2) / 2
    return f"M{x1:.1f} {y1:.1f}C{x1:.1f} {middle:.1f} {x2:.1f} {middle:.1f} {x2:.1f} {y2:.1f}"


def marker(name: str, style: str, width: int) -> str:
    return (
        f'<marker id="{name}" viewBox="0 0 10 10" refX="0.5" refY="5" markerWidth="{HEAD}" markerHeight="{width}" '
        f'markerUnits="userSpaceOnUse" preserveAspectRatio="none" orient="auto">'
        f'<path class="{style}" d="M0 0L10 5L0 10z"/></marker>'
    )
