"""``Explanation``: one backward pass, as plain data and in every form it can be shown in."""

from __future__ import annotations

import json
import linecache
from collections.abc import Iterator, Sequence
from functools import cached_property
from pathlib import Path as FilePath
from typing import Any

import numpy as np

from ..autograd.engine import capture_key
from ..autograd.graph import GradientEdge
from ..complaint import noted
from ..storage import edge_of
from ..tensor import Tensor
from . import formulas
from .names import Names
from .paths import Path, Paths, paths_to
from .record import Finding, Handed, Kept, Leaf, Root, Step, Use, Values, name_of, plain
from .recorder import Pass, Recorder, Turn
from .replay import Key, key_of
from .seed import Effect, effect

FORMAT = 1  # the version of what `to_dict` gives; see schema.json


class Explanation:
    """What a backward pass did, step by step.

    :func:`pullback.explain` makes one. As a context manager it watches all that happens in the block; it then speaks of
    the last backward pass, and :attr:`passes` has them all.

    >>> import pullback as torch
    >>> x = torch.tensor([1.0, 2.0], requires_grad=True)
    >>> e = torch.explain((x * x).sum(), inputs=x)
    >>> [(step.title, step.downstream[0].rule) for step in e.steps]
    [('Sum', 'dx = expand(g)'), ('Mul', 'da = g · b')]
    >>> e.leaves[0].gradient.values
    [2.0, 4.0]
    """

    def __init__(self, recorder: Recorder, recorded: Pass | None = None) -> None:
        self._recorder = recorder
        self._fixed = recorded
        self._watching: Any = None

    # --- watching -----------------------------------------------------------------------------------------------

    def __enter__(self) -> Explanation:
        if self._watching is not None:
            raise RuntimeError("this explanation is watching already")
        self._watching = self._recorder.watching()
        self._watching.__enter__()
        return self

    def __exit__(self, *problem: Any) -> None:
        watching, self._watching = self._watching, None
        watching.__exit__(None, None, None)

    @property
    def recorded(self) -> Pass:
        """The raw recording of the pass that this explains: the last one, unless it is one of :attr:`passes`."""
        if self._fixed is not None:
            return self._fixed
        if not self._recorder.passes:
            raise noted(RuntimeError("no backward pass was seen"),
                        "Call backward() (or autograd.grad) inside the `with pullback.explain()` block.")  # fmt: skip
        return self._recorder.passes[-1]

    @property
    def passes(self) -> list[Explanation]:
        """One explanation for each backward pass seen, the newest 16 of them."""
        return [Explanation(self._recorder, p) for p in self._recorder.passes]

    @property
    def number(self) -> int:
        """Which backward pass this is, counted from 1."""
        return self.recorded.number

    @property
    def _parts(self) -> Parts:
        recorded = self.recorded
        parts: Parts | None = recorded.__dict__.get("parts")
        if parts is None or not recorded.complete:
            parts = recorded.__dict__["parts"] = Parts(recorded, self._recorder)
        return parts

    # --- data ---------------------------------------------------------------------------------------------------

    @property
    def steps(self) -> list[Step]:
        """Every node that ran, in the order visited."""
        return self._parts.steps

    @property
    def leaves(self) -> list[Leaf]:
        """The leaves that a gradient reached."""
        return self._parts.leaves

    @property
    def roots(self) -> list[Root]:
        """The outputs that gradients entered at, and their seeds."""
        return self._parts.roots

    @property
    def findings(self) -> list[Finding]:
        """What is, or may be, wrong: see :mod:`pullback.explain.findings`."""
        return self._parts.findings

    @property
    def place(self) -> tuple[str, int] | None:
        """File and line of the call of ``backward``."""
        return self.recorded.place

    def __iter__(self) -> Iterator[Step]:
        return iter(self.steps)

    def gradient(self, where: Any) -> np.ndarray | None:
        """The gradient that reached a tensor, leaf or not: no ``retain_grad()`` is needed beforehand.

        Args:
            where: a tensor, or the name of the variable that holds it.

        >>> import pullback as torch
        >>> x = torch.tensor(3.0, requires_grad=True)
        >>> h = x * x
        >>> torch.explain(h * 5).gradient(h)
        array(5., dtype=float32)
        """
        key = self._parts.key(where)
        leaf = self._parts.leaf_at.get(key)
        return self._parts.arrived(key) if leaf is None else self.recorded.leaves[leaf][0]

    def paths(self, x: Any, limit: int = 100, by: str = "path") -> Paths:
        """What the paths through the graph contribute to a gradient, the largest first. They add up to it.

        Args:
            x: a tensor, leaf or not, or the name of the variable that holds it.
            limit: about how many contributions to tell apart. Where there are more paths, the smaller ones stay in groups.
            by: ``"path"``, or ``"use"`` for one contribution a place where ``x`` was used: the time steps or layers that share a
                weight.

        Raises:
            KeyError: no gradient reached ``x``.

        >>> import pullback as torch
        >>> x = torch.tensor(2.0, requires_grad=True)
        >>> e = torch.explain(x.exp() + 3 * x)
        >>> [round(p.contribution.item(), 4) for p in e.paths(x)]
        [7.3891, 3.0]
        """
        parts = self._parts
        key, name = parts.key(x), parts.name(x)
        found, whole = paths_to(self.recorded, key, 0 if by == "use" else limit)
        if whole is None:
            raise KeyError(f"no gradient reached {name} in this backward pass")
        made = []
        for group, count, share in found:
            steps = tuple(position + 1 for position, _ in group.tail)
            arguments = tuple(formulas.argument(parts.turns[position].node, slot) for position, slot in group.tail)
            made.append(Path(steps, arguments, count, group.contribution, share, group.hooked))
        return Paths(name, made, whole, parts.describe)

    def seed(self, x: Any) -> Effect:
        """What the seed did to one gradient: the Jacobian, the seed, their product, and what each output element contributed.

        Args:
            x: a tensor, leaf or not, or the name of the variable that holds it.

        Raises:
            ValueError: the outputs have more than 256 elements.

        >>> import pullback as torch
        >>> x = torch.tensor([2.0, 3.0], requires_grad=True)
        >>> s = torch.explain(x * x, torch.tensor([1.0, 0.5])).seed(x)
        >>> s.jacobian.tolist(), s.seed.tolist(), s.gradient.tolist()
        ([[4.0, 0.0], [0.0, 6.0]], [1.0, 0.5], [4.0, 3.0])
        """
        parts = self._parts
        key = parts.key(x)
        g = self.gradient(x)
        if g is None:
            raise KeyError(f"no gradient reached {parts.name(x)} in this backward pass")
        return effect(self.recorded, key, g.shape, g.dtype, parts.name(x), [r.name for r in parts.roots])

    # --- forms --------------------------------------------------------------------------------------------------

    def to_dict(self) -> dict[str, Any]:
        """All of it as dicts, lists, numbers and strings, of the form that ``schema.json`` in this package describes."""
        place = self.place
        return plain({
            "format": FORMAT,
            "pass": self.number,
            "file": place and place[0],
            "line": place and place[1],
            "roots": self.roots,
            "steps": self.steps,
            "leaves": self.leaves,
            "findings": self.findings,
        })  # fmt: skip

    def to_json(self, indent: int | None = None) -> str:
        """:meth:`to_dict` as JSON."""
        return json.dumps(self.to_dict(), indent=indent, ensure_ascii=False, allow_nan=False)

    def save(self, path: str | FilePath) -> None:
        """Write a file, of the kind that the name's ending says: ``.html``, ``.svg``, ``.json``, ``.dot``, ``.mmd`` (Mermaid) or ``.txt``.

        The page is one file that needs no network.
        """
        path = FilePath(path)
        forms = {".html": self.to_html, ".htm": self.to_html, ".svg": self.to_svg, ".json": self.to_json, ".dot": self.to_dot,
                 ".gv": self.to_dot, ".mmd": self.to_mermaid, ".txt": self.__str__}  # fmt: skip
        if path.suffix not in forms:
            raise ValueError(f"can't tell a format from {path.suffix!r}; there are: {', '.join(forms)}")
        path.write_text(forms[path.suffix](), encoding="utf-8")

    def to_html(self) -> str:
        """The interactive page."""
        from .page import page

        return page(self)

    def to_svg(self) -> str:
        """The graph as a picture. Modules are closed into boxes where it would be too large otherwise."""
        from .draw import svg

        return svg(self)

    def to_dot(self) -> str:
        """The graph in Graphviz's language."""
        from .draw import dot

        return dot(self)

    def to_mermaid(self) -> str:
        """The graph in Mermaid's language, which Markdown viewers draw."""
        from .draw import mermaid

        return mermaid(self)

    def print(self, console: Any = None, steps: int = 60) -> None:
        """Print the steps, the leaves and the findings.

        Args:
            console: a ``rich`` console; by default one on standard output.
            steps: how many steps to show.
        """
        from rich.console import Console

        from .text import explanation_text

        (console or Console()).print(explanation_text(self, steps))

    def __str__(self) -> str:
        from .text import explanation_text, rendered

        return rendered(explanation_text(self))

    def __repr__(self) -> str:
        if self._fixed is None and not self._recorder.passes:
            return "<Explanation: nothing seen yet>"
        return f"<Explanation of backward pass {self.number}: {len(self.steps)} steps, {len(self.leaves)} leaves, {len(self.findings)} findings>"

    def _repr_html_(self) -> str:
        """In Jupyter: the page, in a frame of its own."""
        from .page import framed

        return framed(self)

    def _mime_(self) -> tuple[str, str]:
        """In marimo: likewise."""
        return "text/html", self._repr_html_()

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> dict[str, str]:
        return {"text/plain": str(self), "text/html": self._repr_html_()}


class Parts:
    """A recorded pass, worked out: made once, when first asked for."""

    def __init__(self, recorded: Pass, recorder: Recorder) -> None:
        self.pass_, self.recorder, self.turns = recorded, recorder, recorded.turns
        self.limited = recorded.limited  # whether only some of the gradients were asked for
        self.names = Names(recorded, recorder.calls)
        self.position: dict[int, int] = {t.node._seq: i for i, t in enumerate(recorded.turns)}
        self.leaf_at = {key_of(leaf): leaf for leaf in recorded.leaves}
        self._measured: dict[int, Values] = {}

    def measured(self, array: Any) -> Values | None:
        """An array's numbers, worked out once: what one step hands on is what the next receives."""
        if not isinstance(array, np.ndarray):
            return None
        found = self._measured.get(id(array))
        if found is None:
            found = self._measured[id(array)] = Values.of(array)
        return found

    # --- finding things

    def key(self, where: Any) -> Key:
        """Where in the graph a tensor is, or what a variable of that name held."""
        if isinstance(where, str):
            for leaf in self.pass_.leaves:
                if self.names.leaf(leaf) == where:
                    return key_of(leaf)
            value = self.pass_.variables.get(where)
            if not isinstance(value, Tensor):
                raise KeyError(f"the program has no variable {where!r} that a gradient could reach")
            where = value
        edge = where.edge if isinstance(where, GradientEdge) else edge_of(where)
        if edge is None:
            raise KeyError("this tensor does not require grad: no gradient can reach it")
        return key_of(edge)

    def name(self, where: Any) -> str:
        if isinstance(where, str):
            return where
        key = self.key(where)
        leaf = self.leaf_at.get(key)
        return (self.names.leaf(leaf) if leaf is not None else self.names.value(key)) or "the tensor"

    def arrived(self, key: Key) -> np.ndarray | None:
        """The gradient that reached an inner place of the graph."""
        position = self.position.get(-key[0])
        if position is not None:
            return self.turns[position].received[max(key[1], 0)]
        total = None
        for turn in self.turns:
            for e, r in zip(turn.node._edges, turn.handed):
                if e is not None and r is not None and capture_key(e) == key:
                    total = r if total is None else total + r
        return total

    def describe(self, number: int) -> str:
        """A step in few words: its operation and where it is."""
        step = self.steps[number - 1]
        where = step.module + (f" (call {step.call})" if step.call and step.call > 1 else "") if step.module else ""
        return f"#{number} {step.title}" + (f" {where}" if where else f" line {step.line}" if step.line else "")

    # --- the plain data

    @cached_property
    def steps(self) -> list[Step]:
        return [self._step(i, turn) for i, turn in enumerate(self.turns)]

    def _step(self, i: int, turn: Turn) -> Step:
        node = turn.node
        file, line = node.location or (None, None)
        module, call = self.names.module(node)
        several = node._shape.__class__ is list
        seq = -node._seq
        names = [self.names.value((seq, k if several else -1)) for k in range(len(turn.received))]
        return Step(
            number=i + 1,
            op=node.name().rpartition("::")[2],
            name=next((n for n in names if n is not None), None),
            module=module,
            call=call,
            file=file,
            line=line,
            code=linecache.getline(file, line).strip() if file and line else "",
            shape=list(node._shape) if several else node._shape,
            dtype=[name_of(d) for d in node._dtype] if several else name_of(node._dtype),
            upstream=[self.measured(g) for g in turn.received],
            downstream=[self._handed(turn, k, e, r) for k, (e, r) in enumerate(zip(node._edges, turn.handed)) if e is not None],
            kept=kept(turn),
            hooks=hooks_of(node),
        )

    def _handed(self, turn: Turn, slot: int, e: Any, r: Any) -> Handed:
        leaf = e._seq == 0
        target = getattr(e, "node", e)
        return Handed(
            argument=formulas.argument(turn.node, slot),
            step=None if leaf or target._seq not in self.position else self.position[target._seq] + 1,
            output=getattr(e, "index", 0),
            leaf=self.names.leaf(e) if leaf else None,
            rule=formulas.formula(turn.node, slot, turn.saved, turn.received),
            gradient=self.measured(r),
        )

    @cached_property
    def leaves(self) -> list[Leaf]:
        uses: dict[int, list[Use]] = {}
        for i, turn in enumerate(self.turns):
            for slot, (e, r) in enumerate(zip(turn.node._edges, turn.handed)):
                if e is not None and e._seq == 0 and isinstance(r, np.ndarray):
                    measured = self.measured(r)
                    uses.setdefault(id(e), []).append(Use(i + 1, formulas.argument(turn.node, slot), measured))  # type: ignore[arg-type]
        made = []
        for leaf, (g, before) in self.pass_.leaves.items():
            array = leaf._array
            made.append(Leaf(self.names.leaf(leaf), array.shape, name_of(array.dtype), self.measured(g), before, uses.get(id(leaf), [])))  # type: ignore[arg-type]
        return made

    @cached_property
    def roots(self) -> list[Root]:
        made = []
        for e, seed in self.pass_.roots:
            key = key_of(e)
            position = self.position.get(-key[0])
            name = self.names.leaf(e) if e._seq == 0 else self.names.value(key)
            given = not (isinstance(seed, np.ndarray) and seed.size == 1 and seed.reshape(-1)[0] == 1)
            made.append(Root(name, None if position is None else position + 1, max(key[1], 0), self.measured(seed), given))  # type: ignore[arg-type]
        return made

    @cached_property
    def findings(self) -> list[Finding]:
        from .findings import findings

        return findings(self)


def kept(turn: Turn) -> list[Kept]:
    """The arrays that a node kept for its rule."""
    op = turn.node._op
    found = []
    for i, value in enumerate(turn.saved):
        name = op.saved_names[i] if op is not None and i < len(op.saved_names) else f"saved_tensors[{i}]"
        for a in value if value.__class__ in (list, tuple) else (value,):
            if isinstance(a, np.ndarray):
                found.append(Kept(name, a.shape, name_of(a.dtype), a.nbytes))
    return found


def hooks_of(node: Any) -> list[str]:
    """The names of the hooks on a node and on its results."""
    hooks = node._hooks
    if hooks is None:
        return []
    groups: Sequence[Any] = [*hooks.tensor.values(), hooks.pre, hooks.post]
    return [getattr(fn, "__name__", type(fn).__name__) for group in groups for fn in list(group.values())]
