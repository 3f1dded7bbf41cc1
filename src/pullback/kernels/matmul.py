"""GEMM: packed, register-tiled and cache-blocked (K. Goto and R. van de Geijn, *Anatomy of high-performance matrix
multiplication*, ACM TOMS 34, 2008).

Panels of columns of the second matrix are packed, so that the vectors of a tile are contiguous; elements of the first
are broadcast from where they are. A tile of the result stays in registers through a block of the depth. All rows of
tiles use some panels before the next ones are packed. Panels differ in width by one vector at most, so that none is
mostly empty.

If that would mean to transpose the larger of the two matrices, the transposed product is computed, and transposed as it
is written.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from .codegen import jit, threads
from .codegen.entry import ENTRY, as_function, entry_point
from .codegen.kernel_builder import TYPES
from .codegen.llvm_ir import I64, PTR, Function, Type, Value, module

TILES = {1: 8, 2: 8, 3: 8, 4: 6} if jit.REGISTERS == 32 else {1: 8, 2: 6}  # rows for so many vectors
WIDEST = max(TILES)
BLOCK = 1280  # about so much of the depth is one block; a quarter if rows of the first matrix are not contiguous
NEAR = 1 << 19  # bytes of the first matrix that stay in the cache for panel after panel, in the latter case
# Bytes between columns of the first matrix beyond which they are packed: each is in another cache line, and soon page.
FAR = 1 << 9
SPAN = 1 << 19  # bytes of panels that are packed, and used, together: they fit the L2 cache
TOGETHER = 8  # tiles whose columns are packed at once, as they share cache lines
ALONE = 1 << 20  # multiplications that are too few for several threads

# The arguments of a task. "biased" is the depth, or -1 if there is no bias.
INTEGERS = (
    "m",
    "n",
    "depth",
    "biased",
    "block",
    "chunk",
    "chunks",
    "group",
    "groups",
    "span",
    "wide",
    "panels",
    "inner",
    "row_a",
    "step_a",
    "pitch_b",
    "pitch_out",
    *(f"{which}_{x}" for x in ("a", "b", "out") for which in ("outer", "inner")),
)
ARRAYS = ("a", "b", "bias", "out")
TASK = "task.$$"


class Form(NamedTuple):
    """The parameters of a kernel's code.

    Attributes:
        rows, vectors: of a tile.
        uneven: whether there are panels narrower by a vector.
        copied: whether columns of the first matrix, which lie together in memory, are copied.
        along: whether rows of the second matrix lie together in memory, rather than columns.
        turned: whether the product is the transpose of what is wanted.
    """

    rows: int
    vectors: int
    uneven: bool
    copied: bool
    along: bool
    turned: bool


class Task:
    """The functions of a kernel. Its items are matrices of the batch, groups of panels and chunks of rows.

    Attributes:
        functions: the task, whose slots have what :data:`INTEGERS` and :data:`ARRAYS` name, and those that it calls.
    """

    def __init__(self, type: Type, form: Form) -> None:
        self.type, self.form = type, form
        self.lanes = jit.WIDTH * 8 // type.bits
        self.vector, self.width = type.of(self.lanes), self.lanes * form.vectors
        self.f = f = Function(TASK, [("slots", PTR), ("from", I64), ("to", I64)])
        self.args = {n: f.load(f.at(f["slots"], i, I64), I64) for i, n in enumerate(INTEGERS)}
        self.args |= {n: f.load(f.at(f["slots"], i, I64), PTR) for i, n in enumerate(ARRAYS, len(INTEGERS))}
        self._items()
        self.functions = [self._tile(v) for v in range(form.vectors - form.uneven, form.vectors + 1)] + [f]

    def _items(self) -> None:
        f, g, form = self.f, self.args, self.form
        self.tall = g["chunk"] + self.lanes
        sizes = {"panels": g["block"] * g["span"] * self.width}
        if form.copied:
            sizes["columns"] = (g["block"] + self.lanes) * (g["chunk"] + TOGETHER * form.rows)
        if form.turned:
            sizes["turned"] = self.tall * g["group"] * self.width
        sizes = {name: elements * (self.type.bits // 8) for name, elements in sizes.items()}
        zero = f.constant(0, I64)
        self.rooms = {
            name: f.call("pullback_take", zero, size, returns=PTR, external=True) for name, size in sizes.items()
        }
        with f.loop(f["from"], f["to"]) as item:
            chunk, rest = item % g["chunks"], item // g["chunks"]
            group, batch = rest % g["groups"], rest // g["groups"]
            outer, inner = batch // g["inner"], batch % g["inner"]
            self.a, self.b, self.out = (
                self._at(g[x], outer * g[f"outer_{x}"] + inner * g[f"inner_{x}"]) for x in ("a", "b", "out")
            )
            self.begin, self.first = chunk * g["chunk"], group * g["group"]
            self.end, self.last = (
                f.smaller(self.begin + g["chunk"], g["m"]),
                f.smaller(self.first + g["group"], g["panels"]),
            )
            with f.loop(0, g["depth"], g["block"]) as k:
                deep = f.smaller(g["depth"] - k, g["block"])
                if form.copied:
                    self._pack_columns(k, deep)
                with f.loop(self.first, self.last, g["span"]) as low:
                    self._span(k, deep, low, f.smaller(low + g["span"], self.last))
            if form.turned:
                with f.loop(self.first, self.last) as panel:
                    self._write_transposed(panel)
        for name, size in sizes.items():
            f.call("pullback_give", zero, self.rooms[name], size, external=True)

    def _span(self, k: Value, deep: Value, low: Value, high: Value) -> None:
        """A block of some panels times all rows of the item."""
        f, g, form = self.f, self.args, self.form
        start = self._column(low)
        # Pack the panels of this span.
        with f.loop(low, high) as panel:
            column = self._column(panel)
            self._pack(k, deep, panel, column, self._at(self.rooms["panels"], (column - start) * deep))
        # Then rows of tiles, each through all panels, so that what a row reads of the first matrix stays in L1.
        with f.loop(self.begin, self.end, form.rows) as i:
            if form.copied:
                line, step = (
                    self._at(self.rooms["columns"], (i - self.begin) * (deep + self.lanes)),
                    f.constant(form.rows, I64),
                )
            else:
                line, step = self._at(self.a, i * g["row_a"] + k * g["step_a"]), g["step_a"]
            with f.loop(low, high) as panel:
                column = self._column(panel)
                if form.turned:
                    target = self._at(
                        self.rooms["turned"], ((panel - self.first) * self.tall + i - self.begin) * self.width
                    )
                    pitch, left, biased = (f.constant(x, I64) for x in (self.width, self.lanes, -1))
                else:
                    target = self._at(self.out, i * g["pitch_out"] + column)
                    pitch, left, biased = g["pitch_out"], self._left(panel, column), g["biased"]
                given = (
                    line,
                    self._at(self.rooms["panels"], (column - start) * deep),
                    self._at(g["bias"], column),
                    target,
                )
                numbers = pitch, g["row_a"], step, self.end - i, left, k, deep, biased
                self._by_width(panel, lambda vectors: f.call(f"tile{vectors}.$$", *given, *numbers))

    def _at(self, pointer: Value, index: Any) -> Value:
        return self.f.at(pointer, index, self.type)

    def _column(self, panel: Value) -> Value:
        """The first column of a panel."""
        wide, narrow = self.form.vectors, self.form.vectors - self.form.uneven
        vectors = panel * narrow + self.f.smaller(panel, self.args["wide"]) if wide != narrow else panel * wide
        return vectors * self.lanes

    def _left(self, panel: Value, column: Value) -> Value:
        """How many columns there are for a panel's last vector."""
        return self.args["n"] - self._column(panel + 1) + self.lanes

    def _by_width(self, panel: Value, write: Callable[[int], None]) -> None:
        """Code that depends on how many vectors wide a panel is."""
        wide = self.form.vectors
        if self.form.uneven:
            self.f.if_else(panel < self.args["wide"], lambda: write(wide), lambda: write(wide - 1))
        else:
            write(wide)

    def _tile(self, vectors: int) -> Function:
        """A function of its own, so that it has the registers for itself."""
        type, vector, lanes, rows = self.type, self.vector, self.lanes, range(self.form.rows)
        numbers = "pitch", "row_a", "step_a", "count", "left", "k", "deep", "biased"
        f = Function(f"tile{vectors}.$$", [*((x, PTR) for x in ARRAYS), *((x, I64) for x in numbers)], internal=True)
        places = [f.smaller(f["count"] - 1, r) for r in rows]
        lines = [f.at(f["a"], p * f["row_a"], type) for p in places]
        targets = [f.at(f["out"], p * f["pitch"], type) for p in places]
        for target in targets:
            for v in range(vectors):
                f.prefetch(f.at(target, v * lanes, type))
        sums = [[f.variable(0.0, vector) for _ in range(vectors)] for _ in rows]
        with f.loop(0, f["deep"]) as d:
            line = f.at(f["b"], d * (vectors * lanes), type)
            by = [f.load(f.at(line, v * lanes, type), vector) for v in range(vectors)]
            offset = d * f["step_a"]
            for r in rows:
                factor = f.splat(f.load(f.at(lines[r], offset, type), type), lanes)
                for v in range(vectors):
                    sums[r][v].set(f.fma(factor, by[v], sums[r][v].get()))
        masks = [None] * (vectors - 1) + [f.mask_below(f["left"], lanes)]
        with f.if_then(f["k"] > 0):
            for r in rows:
                for v in range(vectors):
                    sums[r][v].set(sums[r][v].get() + f.load(f.at(targets[r], v * lanes, type), vector, masks[v]))
        with f.if_then((f["k"] + f["deep"]).equals(f["biased"])):
            for v in range(vectors):
                bias = f.load(f.at(f["bias"], v * lanes, type), vector, masks[v])
                for r in rows:
                    sums[r][v].set(sums[r][v].get() + bias)
        for r in reversed(rows):  # those behind the last row are overwritten by it
            for v in range(vectors):
                f.store(sums[r][v].get(), f.at(targets[r], v * lanes, type), masks[v])
        return f

    def _pack_columns(self, k: Value, deep: Value) -> None:
        """Tiles of the first matrix, (deep, rows) each and something behind them; several at once, which shares cache
        lines.
        """
        f, rows, pitch = self.f, self.form.rows, self.args["step_a"]
        vector, size = self.type.of(8), (deep + self.lanes) * rows
        with f.loop(self.begin, self.end, TOGETHER * rows) as i:
            masks = [f.mask_below(self.end - i - t * rows, 8) for t in range(TOGETHER)]
            source, target = (
                self._at(self.a, k * pitch + i),
                self._at(self.rooms["columns"], (i - self.begin) * (deep + self.lanes)),
            )
            targets = [self._at(target, size * t) for t in range(TOGETHER)]
            with f.loop(0, deep) as d:
                line, at = self._at(source, d * pitch), d * rows
                for t, mask in enumerate(masks):
                    f.store(f.load(self._at(line, t * rows), vector, mask), self._at(targets[t], at))

    def _pack(self, k: Value, deep: Value, panel: Value, column: Value, room: Value) -> None:
        """A panel of the second matrix, (deep, width), with something behind the last column."""
        f, lanes, vector, pitch = self.f, self.lanes, self.vector, self.args["pitch_b"]
        if self.form.along:
            source, mask = self._at(self.b, k * pitch + column), f.mask_below(self._left(panel, column), lanes)

            def move(vectors: int) -> None:
                with f.loop(0, deep) as d:
                    line, target = self._at(source, d * pitch), self._at(room, d * (vectors * lanes))
                    for v in range(vectors):
                        f.store(
                            f.load(self._at(line, v * lanes), vector, mask if v == vectors - 1 else None),
                            self._at(target, v * lanes),
                        )

            self._by_width(panel, move)
            return
        width, end = self._column(panel + 1) - column, self.args["n"] - 1
        whole = deep // lanes * lanes
        with f.loop(0, width, lanes) as j:
            lines = [self._at(self.b, f.smaller(column + j + i, end) * pitch + k) for i in range(lanes)]
            with f.loop(0, whole, lanes) as d:
                for i, row in enumerate(f.transposed([f.load(self._at(line, d), vector) for line in lines])):
                    f.store(row, self._at(room, (d + i) * width + j))
            with f.loop(whole, deep) as d:
                for i, line in enumerate(lines):
                    f.store(f.load(self._at(line, d), self.type), self._at(room, d * width + j + i))

    def _write_transposed(self, panel: Value) -> None:
        """Write a panel's result, (rows, width), to the wanted one, (columns, rows)."""
        f, g, lanes = self.f, self.args, self.lanes
        column = self._column(panel)
        count = f.smaller(self._column(panel + 1), g["n"]) - column
        room = self._at(self.rooms["turned"], (panel - self.first) * self.tall * self.width)
        with f.loop(self.begin, self.end, lanes) as i:
            mask = f.mask_below(self.end - i, lanes)
            bias = f.variable(0.0, self.vector)
            with f.if_then(g["biased"] > 0):
                bias.set(f.load(self._at(g["bias"], i), self.vector, mask))
            with f.loop(0, count, lanes) as j:
                source = self._at(room, (i - self.begin) * self.width + j)
                target = self._at(self.out, (column + j) * g["pitch_out"] + i)
                for c, row in enumerate(
                    f.transposed([f.load(self._at(source, r * self.width), self.vector) for r in range(lanes)])
                ):
                    inside = f.select(count - j > c, mask, f.constant(0, mask.type))
                    f.store(row + bias.get(), self._at(target, g["pitch_out"] * c), inside)


class Plan(NamedTuple):
    """How a product is computed.

    Attributes:
        form: of the kernel.
        items: how many there are.
        numbers: the values of :data:`INTEGERS`.
    """

    form: Form
    items: int
    numbers: tuple[int, ...]


def make_plan(
    size: int,
    shape: tuple[int, int, int],
    a: tuple[int, int],
    b: tuple[int, int],
    pitch: int,
    bias: bool,
    threads: int,
    batch: tuple[tuple[int, int, int, int], ...] = (),
) -> Plan | None:
    """How to compute a product of matrices; None if there is no way here.

    Args:
        size: bytes of an element.
        shape: rows, columns and depth.
        a: strides of the first matrix, in elements like all that follow.
        b: strides of the second.
        pitch: between rows of the result.
        bias: whether something is added to rows.
        threads: how many may take part.
        batch: leading dimensions, two at most: their sizes, and strides of the first matrix, the second and the result.
    """
    lanes = jit.WIDTH // size
    m, n, depth = shape
    a, b = (1 if m == 1 else a[0], 1 if depth == 1 else a[1]), (1 if depth == 1 else b[0], 1 if n == 1 else b[1])

    def cost(m: int, n: int, a: tuple[int, int], b: tuple[int, int], turned: bool) -> float:
        """In multiplications of vectors, about: lanes left empty, copies, and reading across the lines of the
        caches.
        """
        if 1 not in b:
            return math.inf
        vectors = -(-n // lanes)
        return (
            depth * (m * vectors + vectors * lanes * (1 if b[1] == 1 else 4) + 3 * m * (a[1] != 1)) + 3 * m * n * turned
        )

    plain, other = cost(m, n, a, b, False), cost(n, m, b[::-1], a[::-1], True)
    if math.isinf(min(plain, other)) or len(batch) > 2:
        return None
    if turned := other < plain:
        m, n, a, b = n, m, b[::-1], a[::-1]
        batch = tuple([(count, y, x, z) for count, x, y, z in batch])

    count = -(-n // lanes)
    panels = -(-count // WIDEST)
    vectors = -(-count // panels)
    wide = count - panels * (vectors - 1)
    most = TILES[vectors]
    rows = (
        max(range(max(1, most - 3), most + 1), key=lambda r: (m / (-(-m // r) * r) * r / (r + 1), r)) if m > most else m
    )
    block = -(-depth // max(1, round(depth / BLOCK * (1 if a[1] == 1 else 4))))
    copied = a[0] == 1 and a[1] * size > FAR and panels > 1 and m >= TOGETHER and depth > 128

    (outer, *outers), (inner, *inners) = [(1, 0, 0, 0)] * (2 - len(batch)) + list(batch)
    parts = 1 if threads == 1 or outer * inner * m * n * depth < ALONE else -(-2 * threads // (outer * inner))
    group = -(-panels // min(panels, parts))
    groups = -(-panels // group)
    span = min(group, max(1, SPAN // (block * vectors * jit.WIDTH)))
    chunk = -(-m // -(-parts // groups))
    if a[1] != 1:
        chunk = min(chunk, NEAR // (block * size))
    chunk = max(-(-chunk // rows), TOGETHER) * rows
    chunks = -(-m // chunk)

    strides = [x for pair in zip(outers, inners) for x in pair]
    pitch_b = b[0] if b[1] == 1 else b[1]
    numbers = (
        m,
        n,
        depth,
        depth if bias else -1,
        block,
        chunk,
        chunks,
        group,
        groups,
        span,
        wide,
        panels,
        inner,
        *a,
        pitch_b,
        pitch,
        *strides,
    )
    return Plan(Form(rows, vectors, wide < panels, copied, b[1] == 1, turned), outer * inner * groups * chunks, numbers)


@lru_cache(None)
def kernel(d: np.dtype, form: Form) -> tuple[Callable, str]:
    """A kernel as a function for Python, and the name of its task for other machine code."""

    def write() -> str:
        task = Task(TYPES[d], form)
        return module(*task.functions, entry_point(TASK, "i" * len(INTEGERS) + "a" * len(ARRAYS), 1))

    address = jit.load(write, "product", d, form)
    name = "_".join(["pullback_product", TYPES[d].suffix, *[str(int(x)) for x in form]])
    jit.add_symbol(name, address(TASK))
    return as_function("product", address(ENTRY)), name


@lru_cache(4096)
def _call(
    d: np.dtype,
    other: np.dtype,
    shape: tuple[int, ...],
    strides: tuple[int, ...],
    shape_b: tuple[int, ...],
    strides_b: tuple[int, ...],
    bias: bool,
    threads: int,
) -> tuple[Callable, bool, tuple[int, ...], tuple[int, ...]] | None:
    """A kernel for arrays of such layouts, whether it takes the factors in reverse order, its integer arguments, and
    the result's shape.
    """
    size = d.itemsize
    if (
        d not in TYPES
        or other != d
        or not len(shape) == len(shape_b) == 2
        or shape[1] != shape_b[0]
        or 0 in shape + shape_b
    ):
        return None
    if any([s % size for s in strides + strides_b]):
        return None
    (m, depth), (_, n), a, b = shape, shape_b, [s // size for s in strides], [s // size for s in strides_b]
    plan = make_plan(size, (m, n, depth), (a[0], a[1]), (b[0], b[1]), n, bias, threads)
    return plan and (kernel(d, plan.form)[0], plan.form.turned, (plan.items, *plan.numbers), (m, n))


def product(a: np.ndarray, b: np.ndarray, bias: np.ndarray | None = None) -> np.ndarray | None:
    """``a @ b + bias`` of two matrices."""
    d = a.dtype
    found = _call(d, b.dtype, a.shape, a.strides, b.shape, b.strides, bias is not None, threads.count())
    if found is None:
        return None
    call, turned, numbers, shape = found
    if bias is not None:
        if bias.dtype != d or bias.shape != shape[1:]:
            return None
        bias = np.ascontiguousarray(bias)
    out = np.empty(shape, d)
    if turned:
        a, b = b, a
    return call(*numbers, a, b, out if bias is None else bias, out)
