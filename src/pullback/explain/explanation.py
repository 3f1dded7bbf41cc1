"""``Explanation``, the result of ``explain``: one backward pass as data, and in every form that shows it."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack
from html import escape
from pathlib import Path as FilePath
from typing import Any

import numpy as np

from ..base.errors import with_notes
from ..core.tensor import Tensor
from ..engine.plan import capture_key
from ..ops.reduce import sum_to
from . import formulas
from .analysis import Analysis
from .compare import differences, where_runs_part
from .findings import findings, raised
from .measure import Values
from .page import iframe, page
from .paths import Path, Paths, paths_to
from .recorder import Pass, Recorder
from .replay import replay, to_dense
from .schema import Finding, Leaf, Operand, Root, Step, plain
from .seed import Effect, effect

FORMAT = 1  # the version of what `to_dict` gives; see schema.json
FORMS = {
    ".html": "to_html",
    ".htm": "to_html",
    ".svg": "to_svg",
    ".json": "to_json",
    ".dot": "to_dot",
    ".gv": "to_dot",
    ".mmd": "to_mermaid",
    ".txt": "__str__",
}


def writer_of(path: FilePath) -> str:
    """The method that writes a file of this suffix.

    Raises:
        ValueError: its ending tells none.
    """
    if path.suffix not in FORMS:
        raise ValueError(f"can't tell a format from {path.suffix!r}; there are: {', '.join(FORMS)}")
    return FORMS[path.suffix]


class Explanation:
    """What a backward pass did, step by step.

    :func:`pullback.explain` makes one. As a context manager it watches all that happens in the block; it then speaks of
    the last backward pass, and :attr:`passes` has them all.

    >>> import pullback as torch
    >>> x = torch.tensor([1.0, 2.0], requires_grad=True)
    >>> e = torch.explain((x * x).sum(), inputs=x)
    >>> [(step.title, step.downstream[0].rule) for step in e.steps]
    [('sum', 'dx = expand(g)'), ('mul', 'da = g · b')]
    >>> e.leaves[0].gradient.values
    [2.0, 4.0]
    """

    def __init__(
        self,
        recorder: Recorder,
        recorded: Pass | None = None,
        whole: bool | None = None,
        around: Sequence[Callable[[], AbstractContextManager[None]]] = (),
    ) -> None:
        self._recorder = recorder
        self._around = around  # what else holds while watching
        self._fixed = recorded
        self._whole = recorded is None if whole is None else whole  # whether findings speak of the whole course
        self._watching: Any = None
        self._cached_analysis: Analysis | None = None
        self._found: tuple[Any, list[Finding]] | None = None  # the findings, and what they rest on
        self._others: dict[int, Explanation] = {}  # of single passes, by the ids of these

    # --- watching -----------------------------------------------------------------------------------------------

    def __enter__(self) -> Explanation:
        if self._watching is not None:
            raise RuntimeError("this explanation is watching already")
        self._watching = ExitStack()
        for make in (*self._around, self._recorder.watching):
            self._watching.enter_context(make())
        return self

    def __exit__(self, *problem: Any) -> None:
        watching, self._watching = self._watching, None
        watching.close()
        if problem and problem[1] is not None:
            self._recorder.note_error(problem[1])

    @property
    def recorded(self) -> Pass:
        """The raw recording of the pass that this explains: the first bad one (not finite, or with a loss far above the
        first), else the last; or, of :attr:`passes`, its own.
        """
        if self._fixed is not None:
            return self._fixed
        if self._recorder.first_bad is not None:
            return self._recorder.first_bad
        if not self._recorder.passes:
            raise with_notes(
                RuntimeError("no backward pass was seen"),
                "Call backward() (or autograd.grad) inside the `with pullback.explain()` block. A compiled step makes "
                "none when it is run again: call the function that was compiled.",
            )
        return self._recorder.passes[-1]

    @property
    def passes(self) -> list[Explanation]:
        """One explanation for each backward pass seen, the newest 16 of them, each followed by those that ran inside of
        it.
        """
        seen = [p for outer in self._recorder.passes for p in (outer, *outer.inside)]
        self._others = {id(p): self._others.get(id(p)) or Explanation(self._recorder, p) for p in seen}
        return [*self._others.values()]

    @property
    def kept(self) -> list[Explanation]:
        """The passes of a run that are kept whole, in order: the first one, the first bad one, the one with the largest
        gradient, and the newest; of the others there are figures.
        """
        return [self if p is self.recorded else Explanation(self._recorder, p) for p in self._recorder.kept]

    @property
    def number(self) -> int:
        """Which backward pass this is, counted from 1."""
        return self.recorded.number

    @property
    def complete(self) -> bool:
        """Whether it ran to its end; an error may have broken it off."""
        return self.recorded.complete

    @property
    def _analysis(self) -> Analysis:
        recorded, analysis = self.recorded, self._cached_analysis
        if analysis is None or analysis.pass_ is not recorded or not recorded.complete:
            analysis = self._cached_analysis = Analysis(recorded, self._recorder, whole=self._whole)
        return analysis

    # --- data ---------------------------------------------------------------------------------------------------

    @property
    def steps(self) -> list[Step]:
        """Every node that ran, in the order visited."""
        return self._analysis.steps

    @property
    def forward_values(self) -> list[tuple[list[Operand], Values | None]]:
        """For each step the operands of its operation and the result, as far as nodes kept them or they can be computed
        of what was kept.

        >>> import pullback as torch
        >>> x = torch.tensor([2.0, 3.0], requires_grad=True)
        >>> ((a, b), out), = torch.explain(x * x, torch.ones(2)).forward_values
        >>> a.symbol, a.name, a.value.values, out.values
        ('a', 'x', [2.0, 3.0], [4.0, 9.0])
        """
        return self._analysis.forward_values

    @property
    def leaves(self) -> list[Leaf]:
        """The leaves that a gradient reached."""
        return self._analysis.leaves

    @property
    def roots(self) -> list[Root]:
        """The outputs that gradients entered at, and their seeds."""
        return self._analysis.roots

    @property
    def findings(self) -> list[Finding]:
        """What is, or may be, wrong, in this pass or in the course of all passes up to it: see
        :mod:`pullback.explain.findings`. Also where an error of this package ended the program before any pass.
        """
        if not self._any and self._recorder.raised is not None:
            return [*raised(self._recorder)]
        state = self._analysis, len(self._recorder.course.events), self._recorder.raised
        if self._found is None or self._found[0] != state:
            self._found = state, findings(self._analysis)
        return self._found[1]

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
        key = self._analysis.key(where)
        leaf = self._analysis.leaf_at.get(key)
        return to_dense(self._analysis.gradient_at(key) if leaf is None else self.recorded.leaves[leaf][0])

    def paths(self, x: Any, limit: int = 100, by: str = "path") -> Paths:
        """What the paths through the graph contribute to a gradient, the largest first. They add up to it.

        Args:
            x: a tensor, leaf or not, or the name of the variable that holds it.
            limit: about how many contributions to tell apart. Where there are more paths, the smaller ones stay in
                groups.
            by: ``"path"``, or ``"use"`` for one contribution a place where ``x`` was used: the time steps or layers
                that share a weight.

        Raises:
            KeyError: no gradient reached ``x``.

        >>> import pullback as torch
        >>> x = torch.tensor(2.0, requires_grad=True)
        >>> e = torch.explain(x.exp() + 3 * x)
        >>> [round(p.contribution.item(), 4) for p in e.paths(x)]
        [7.3891, 3.0]
        """
        analysis = self._analysis
        key, name = analysis.key(x), analysis.name(x)
        found, whole = paths_to(self.recorded, key, 0 if by == "use" else limit)
        if whole is None:
            raise KeyError(f"no gradient reached {name} in this backward pass")
        made = []
        for group, count, share in found:
            steps = tuple(position + 1 for position, _ in group.tail)
            nodes = [(analysis.visits[position].node, slot) for position, slot in group.tail]
            arguments = tuple(formulas.argument_name(node, slot) for node, slot in nodes)
            made.append(Path(steps, arguments, count, group.contribution, share, group.hooked))
        return Paths(name, made, whole, analysis.describe)

    def seed(self, x: Any) -> Effect:
        """What the seed did to one gradient: the Jacobian, the seed, their product, and what each output element
        contributed.

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
        analysis = self._analysis
        key = analysis.key(x)
        g = self.gradient(x)
        if g is None:
            raise KeyError(f"no gradient reached {analysis.name(x)} in this backward pass")
        return effect(self.recorded, key, g.shape, g.dtype, analysis.name(x), [r.name for r in analysis.roots])

    def what_if(self, x: Any, seed: Any = None, without: int | Sequence[int] = ()) -> np.ndarray:
        """The gradient of a tensor as it would have been, by running the rules again: hooks do not run.

        Args:
            x: a leaf, or the name of the variable that holds it.
            seed: another seed, or one for each output; by default that of the pass.
            without: the numbers of steps that let the gradient pass as if they were not there, such as that of a clamp.

        Raises:
            ValueError: a step of ``without`` has operands of another shape than its result.
            KeyError: no gradient reached ``x``.

        >>> import pullback as torch
        >>> x = torch.tensor([0.5, 2.0], requires_grad=True)
        >>> e = (x.clamp(max=1) * 3).sum().explain()
        >>> e.gradient(x).tolist(), e.what_if(x, without=3).tolist(), e.what_if(x, seed=torch.tensor(10.0)).tolist()
        ([3.0, 0.0], [3.0, 3.0], [30.0, 0.0])
        """
        numbers = (without,) if isinstance(without, int) else without
        for n in numbers:
            node = self.recorded.visits[n - 1].node
            if any(e is not None and formulas.edge_shape(e) != node._shape for e in node._edges):
                raise with_notes(
                    ValueError(f"step {n}, {self.steps[n - 1].title}, changes the shape, so it can't be left out"),
                    "Steps of one operand of the result's shape can: clamp, relu, tanh, a multiplication.",
                )
        seeds = [given for _, given in self.recorded.roots]
        if seed is not None:
            given = seed if isinstance(seed, (list, tuple)) else [seed]
            seeds = [np.asarray(s._array if isinstance(s, Tensor) else s, old.dtype) for s, old in zip(given, seeds)]
            for new, (_, old) in zip(seeds, self.recorded.roots):
                if new.shape != old.shape:
                    raise ValueError(f"the seed has shape {[*new.shape]}, and the output {[*old.shape]}")
        key = self._analysis.key(x)
        found = replay(self.recorded, seeds, without=frozenset(n - 1 for n in numbers)).get(key)
        if found is None:
            raise KeyError(f"no gradient reached {self._analysis.name(x)} in this backward pass")
        shape = next((leaf._array.shape for leaf in self.recorded.leaves if capture_key(leaf) == key), found.shape)
        return sum_to(np.asarray(found), shape)

    def compare(self, other: Explanation) -> list[Finding]:
        """What differs between this pass and another one, in the order of the program: a good run against a bad one.

        The first entry is where they part: another operation, else the first value of the forward pass that differs,
        else the first gradient. Of two runs of several passes the first pass is taken whose figures differ.

        >>> import pullback as torch
        >>> x = torch.tensor([1.0, 4.0], requires_grad=True)
        >>> good, bad = (torch.explain((x - shift).sqrt().sum()) for shift in (0.0, 1.0))
        >>> good.compare(bad)[0].text.partition(",")[0]
        'The result of sqrt'
        """
        if self._fixed is not None or other._fixed is not None or self._recorder.seen == other._recorder.seen == 1:
            return [*differences(self, other)]
        parting = where_runs_part(self._recorder.course, other._recorder.course)
        if parting is None:
            return [*differences(self, other)]
        number, finding = parting
        pairs = [Explanation(e._recorder, p) for e in (self, other) for p in e._recorder.kept if p.number == number]
        return [finding, *(differences(*pairs) if len(pairs) == 2 else ())]

    # --- forms --------------------------------------------------------------------------------------------------

    def to_dict(self) -> dict[str, Any]:
        """All of it as dicts, lists, numbers and strings, of the form that ``schema.json`` in this package
        describes.
        """
        place = self.place
        return plain(
            {
                "format": FORMAT,
                "pass": self.number,
                "complete": self.complete,
                "file": place and place[0],
                "line": place and place[1],
                "roots": self.roots,
                "steps": self.steps,
                "leaves": self.leaves,
                "findings": self.findings,
            }
        )

    def to_json(self, indent: int | None = None) -> str:
        """:meth:`to_dict` as JSON."""
        return json.dumps(self.to_dict(), indent=indent, ensure_ascii=False, allow_nan=False)

    def save(self, path: str | FilePath) -> None:
        """Write a file, of the kind that the name's ending says: ``.html``, ``.svg``, ``.json``, ``.dot``, ``.mmd``
        (Mermaid) or ``.txt``.

        The page is one file that needs no network.
        """
        path = FilePath(path)
        path.write_text(getattr(self, writer_of(path))(), encoding="utf-8")

    def to_html(self) -> str:
        """The interactive page."""
        return page(self)

    def to_svg(self) -> str:
        """The graph as a picture. Modules are closed into boxes where it would be too large otherwise."""
        # deferred: rich is slow to import
        from .draw import svg

        return svg(self)

    def to_dot(self) -> str:
        """The graph in Graphviz's language."""
        # deferred: rich is slow to import
        from .draw import dot

        return dot(self)

    def to_mermaid(self) -> str:
        """The graph in Mermaid's language, which Markdown viewers draw."""
        # deferred: rich is slow to import
        from .draw import mermaid

        return mermaid(self)

    def print(self, console: Any = None, steps: int = 60) -> None:
        """Print the steps, the leaves and the findings.

        Args:
            console: a ``rich`` console; by default one on standard output.
            steps: how many steps, and leaves, to show.
        """
        # deferred: rich is slow to import
        from rich.console import Console

        from .text import explanation_text

        (console or Console()).print(explanation_text(self, steps))

    def __str__(self) -> str:
        # deferred: rich is slow to import
        from .text import explanation_text, rendered

        return rendered(explanation_text(self)) if self._any else repr(self)

    @property
    def _any(self) -> bool:
        """Whether there is a pass to show."""
        return self._fixed is not None or bool(self._recorder.passes)

    def __repr__(self) -> str:
        if not self._any:
            return "<Explanation: nothing seen yet>"
        counts = f"{len(self.steps)} steps, {len(self.leaves)} leaves, {len(self.findings)} findings"
        return f"<Explanation of backward pass {self.number}: {counts}>"

    def _repr_html_(self) -> str:
        """In Jupyter: the page, in a frame of its own."""
        return iframe(self) if self._any else escape(repr(self))

    def _mime_(self) -> tuple[str, str]:
        """In marimo: likewise."""
        return "text/html", self._repr_html_()

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> dict[str, str]:
        return {"text/plain": str(self), "text/html": self._repr_html_()}
