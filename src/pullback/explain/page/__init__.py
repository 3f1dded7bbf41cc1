"""The page: one HTML file with everything in it, which needs no network.

It is put together from ``page.html``, ``page.css``, ``data.js`` (what to show), ``graph.js`` (the picture), ``panels.js``
(the numbers and the code) and ``page.js`` (stepping, searching, keys). The graph is laid out in the browser by dagre
(MIT license, included as published), so modules can be opened and closed.
"""

from __future__ import annotations

import html
import json
import linecache
import math
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..record import plain

if TYPE_CHECKING:
    from ..explanation import Explanation

HERE = Path(__file__).parent
ELEMENTS = 64  # a leaf of so many elements gets its Jacobian shown,
ROWS = 16  # if the outputs have no more elements than this,
STEPS = 300  # and the pass no more steps than this
MANY = 500  # with more steps than this, only the smallest gradients are shown element by element


@cache
def asset(name: str) -> str:
    return (HERE / name).read_text(encoding="utf-8")


def page(e: Explanation) -> str:
    """The page of an explanation."""
    data = e.to_dict()
    few = 64 if len(e.steps) <= MANY else 4
    data = {**data, "steps": slim(data["steps"], few), "leaves": slim(data["leaves"], few)}
    rules: dict[str, int] = {}
    for step in data["steps"]:
        for handed in step["downstream"]:
            handed["rule"] = rules.setdefault(handed["rule"], len(rules))
    data["rules"] = list(rules)
    data["sources"] = sources(e)
    data["seeds"] = plain(seeds(e))
    return filled("page.html", {
        "title": f"Backward pass {e.number}",
        "css": asset("page.css"),
        "dagre": f"/*! dagre, MIT license\n{asset('dagre.LICENSE.txt')}*/\n{asset('dagre.min.js')}",
        "script": "\n".join(asset(name) for name in ("data.js", "graph.js", "panels.js", "page.js")),
        "data": embedded(data),
    })  # fmt: skip


def slim(data: Any, few: int) -> Any:
    """In six digits, and without the elements of arrays of more than a few."""
    if isinstance(data, list):
        return [slim(v, few) for v in data]
    if isinstance(data, float):
        return float(f"{data:.6g}")
    if not isinstance(data, dict):
        return data
    if "norm" in data and math.prod(data["shape"]) > few:
        data = {**data, "values": None}
    return {k: v if k in ("shape", "dtype") else slim(v, few) for k, v in data.items()}


def filled(template: str, parts: dict[str, str]) -> str:
    """A template with ``<!--name-->`` and ``/*name*/`` replaced."""
    text = asset(template)
    for name, value in parts.items():
        for mark in (f"<!--{name}-->", f"/*{name}*/"):
            text = text.replace(mark, html.escape(value) if name == "title" else value)
    return text


def embedded(data: Any) -> str:
    """Data as JSON that can stand inside a ``<script>`` element."""
    text = json.dumps(data, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    return text.replace("<", "\\u003c").replace("\u2028", "\\u2028").replace("\u2029", "\\u2029")


def sources(e: Explanation) -> dict[str, list[str]]:
    """The text of the program's files that the steps are in."""
    files = dict.fromkeys(f for s in e.steps if (f := s.file) is not None)
    return {f: [line.rstrip("\n") for line in linecache.getlines(f)] for f in files}


def seeds(e: Explanation) -> list[dict[str, Any]]:
    """The Jacobian, seed and product for small leaves of small passes."""
    if sum(r.seed.size for r in e.roots) > ROWS or len(e.steps) > STEPS:
        return []
    made = []
    for leaf, record in zip(e.recorded.leaves, e.leaves):
        if record.gradient.size <= ELEMENTS and record.gradient.dtype.startswith("float"):
            try:
                effect = e.seed(leaf)
            except RuntimeError:  # what the rules need was overwritten since
                return []
            made.append({"leaf": record.name, "shape": effect.shape, "elements": effect.elements, "seed": effect.seed.tolist(),
                         "jacobian": effect.jacobian.tolist(), "gradient": effect.gradient.reshape(-1).tolist()})  # fmt: skip
    return made


def framed(e: Explanation, height: int = 640) -> str:
    """The page inside a notebook's output, apart from the notebook's own styles and scripts."""
    text = html.escape(page(e), quote=True)
    return f'<iframe srcdoc="{text}" style="width:100%;height:{height}px;border:0" title="Backward pass {e.number}"></iframe>'
