"""The interactive HTML page: one self-contained file that needs no network.

It is assembled from ``page.html``, ``page.css``, ``data.js`` (what to show), ``graph.js`` (the picture), ``panels.js``
(the numbers and the code), ``film.js`` (the course of a run) and ``page.js`` (stepping, searching, keys). Dagre (MIT
license, included as published) lays out the graph in the browser, so modules can be opened and closed.
"""

from __future__ import annotations

import html
import json
import linecache
import math
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..film import film
from ..live import units
from ..measure import Values, rounded
from ..schema import plain

if TYPE_CHECKING:
    from ..explanation import Explanation

HERE = Path(__file__).parent
ELEMENTS = 64  # Jacobians are shown of leaves up to this size,
ROWS = 16  # if the outputs have at most so many elements
SCRIPTS = "data.js", "graph.js", "panels.js", "film.js", "page.js"
STEPS = 300  # and the pass at most so many steps
MANY = 500  # with more steps than this, only the smallest gradients are shown element by element


@cache
def asset(name: str) -> str:
    return (HERE / name).read_text(encoding="utf-8")


def page(e: Explanation) -> str:
    """The page of an explanation."""
    return fill_template(
        "page.html",
        {
            "title": f"Backward pass {e.number}",
            "css": asset("page.css"),
            "dagre": f"/*! dagre, MIT license\n{asset('dagre.LICENSE.txt')}*/\n{asset('dagre.min.js')}",
            "script": "\n".join(asset(name) for name in SCRIPTS),
            "data": script_json(bundle(e)),
        },
    )


def bundle(e: Explanation) -> dict[str, Any]:
    """The data of a pass; of a run that of the other passes that are kept whole, too, and of its course."""
    course = film(e)
    shown = [e]
    if course is not None:
        numbers = {number for number, _ in course["kept"]}
        shown += [other for other in e.kept if other.number in numbers and other.number != e.number]
    return {"passes": [page_data(one) for one in shown], "film": course}


def page_data(e: Explanation) -> dict[str, Any]:
    """The page's data, compactly: rows instead of objects, each text and each array's numbers once. ``data.js`` unpacks
    it.
    """
    texts: dict[str | None, int] = {}
    numbers: dict[int, int] = {}
    rows: list[Any] = []
    few = 64 if len(e.steps) <= MANY else 4

    def text(value: str | None) -> int:
        return texts.setdefault(value, len(texts))

    def number(v: Values | None) -> int:
        if v is None:
            return -1
        if id(v) not in numbers:
            numbers[id(v)] = len(rows)
            values = rounded(v.values) if v.size <= few else None
            rows.append(
                [
                    v.shape,
                    text(v.dtype),
                    *map(rounded, (v.norm, v.mean, v.min, v.max, v.zeros)),
                    v.nan,
                    v.inf,
                    values,
                    v.stored,
                ]
            )
        return numbers[id(v)]

    def kinds(dtype: Any) -> Any:
        return [text(d) for d in dtype] if isinstance(dtype, list) else text(dtype)

    forward: Any = e.forward_values if len(e.steps) <= MANY else [([], None)] * len(e.steps)
    steps = [
        [
            text(s.op),
            text(s.title),
            text(s.name),
            text(s.module),
            s.call,
            text(s.file),
            s.line,
            text(s.code),
            s.shape,
            kinds(s.dtype),
            [number(v) for v in s.upstream],
            [[text(d.argument), d.step, text(d.leaf), text(d.rule), number(d.gradient)] for d in s.downstream],
            [[text(k.name), k.shape, k.bytes] for k in s.kept],
            s.hooks,
            [[text(o.symbol), text(o.name), number(o.value)] for o in operands],
            number(out),
        ]
        for s, (operands, out) in zip(e.steps, forward)
    ]
    leaves = [
        [
            text(leaf.name),
            leaf.shape,
            text(leaf.dtype),
            number(leaf.gradient),
            rounded(leaf.before),
            [[u.step, number(u.gradient)] for u in leaf.uses],
        ]
        for leaf in e.leaves
    ]
    roots = [{"name": r.name, "step": r.step, "seed": number(r.seed), "given": r.given} for r in e.roots]
    found = units(e)
    live = found and {
        "elements": found.elements,
        "seed": found.seed,
        "units": {numbers[key]: rounded(rows_) for key, rows_ in found.gradients.items() if key in numbers},
    }
    file, line = e.place or (None, None)
    return {
        "pass": e.number,
        "complete": e.complete,
        "file": file,
        "line": line,
        "roots": roots,
        "steps": steps,
        "leaves": leaves,
        "findings": plain(e.findings),
        "numbers": rows,
        "texts": list(texts),
        "sources": sources(e),
        "seeds": plain(seeds(e)),
        "live": live,
    }


def fill_template(template: str, parts: dict[str, str]) -> str:
    """A template with ``<!--name-->`` and ``/*name*/`` replaced."""
    text = asset(template)
    for name, value in parts.items():
        for mark in (f"<!--{name}-->", f"/*{name}*/"):
            text = text.replace(mark, html.escape(value) if name == "title" else value)
    return text


def script_json(data: Any) -> str:
    """JSON escaped to stand inside a ``<script>`` element."""
    text = json.dumps(data, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    return text.replace("<", "\\u003c").replace("\u2028", "\\u2028").replace("\u2029", "\\u2029")


def sources(e: Explanation) -> dict[str, list[str]]:
    """The source lines of the program's files that steps are in."""
    files = dict.fromkeys(f for s in e.steps if (f := s.file) is not None)
    return {f: [line.rstrip("\n") for line in linecache.getlines(f)] for f in files}


def seeds(e: Explanation) -> list[dict[str, Any]]:
    """The Jacobian, seed and product for small leaves of small passes."""
    count = sum(r.seed.size for r in e.roots)
    if count > ROWS or count < 2 or len(e.steps) > STEPS:
        return []  # of a scalar the only row is the gradient itself
    made = []
    for leaf, record in zip(e.recorded.leaves, e.leaves):
        if record.gradient.size <= ELEMENTS and record.gradient.dtype.startswith("float"):
            try:
                effect = e.seed(leaf)
            except RuntimeError:  # what the rules need was overwritten since
                return []
            made.append(
                {
                    "leaf": record.name,
                    "shape": effect.shape,
                    "elements": effect.elements,
                    "seed": effect.seed.tolist(),
                    "jacobian": effect.jacobian.tolist(),
                    "gradient": effect.gradient.reshape(-1).tolist(),
                }
            )
    return made


def iframe(e: Explanation, height: int = 640) -> str:
    """The page in an iframe, for a notebook's output."""
    text = html.escape(page(e), quote=True)
    style = f"width:100%;height:{height}px;border:0"
    return f'<iframe srcdoc="{text}" style="{style}" title="Backward pass {e.number}"></iframe>'
