"""Native code for runs of steps, and lines of Python that call it in turn with the operations that have none.

Memory: inputs and results are arrays of their own. A result that replaces the contents of an input is computed right
there, if nobody reads the old contents afterwards and nothing can fail any more. All else shares one block, in which
places are used again once what was there has been read for the last time.
"""

from __future__ import annotations

from itertools import chain
from types import BuiltinFunctionType
from typing import Any

import numpy as np

from ..kernels.codegen.entry import load_function
from ..kernels.codegen.llvm_ir import Function, Value, module
from ..kernels.embedding import largest_kernel
from .calls import caller, own
from .fusion import Fusion
from .gemm import product, room
from .ir import Input, Program, refs
from .loop_ir import Table, Walk, entry, loop
from .schedule import OF, Call, Check, Kernel, Loop, Memory, Product

ndarray = np.ndarray
ALIGNED = 64


class Segments:
    """The native functions of a program, and the lines that call them.

    Attributes:
        fusion: the steps.
        texts: the LLVM IR of each native function.
        bytes: the size of the block for what lies between steps.
    """

    def __init__(self, program: Program, sinks: dict[int, Input], fixed: dict[int, ndarray], used: set[int]) -> None:
        self.program, self.sinks, self.fixed = program, sinks, fixed
        self.fusion = fusion = Fusion(program, fixed)
        self.values = program.values
        self.homes: dict[int, Any] = {}  # roots that are not in the block: the number of an input, or ("out", place)
        self.moves: list[tuple[str, Any]] = []  # lines for what Python has to copy at the end: (target, number)
        self.outs: dict[int, int] = {}  # places of wanted values that are arrays of their own -> their root
        self.calls = [i for i, s in enumerate(fusion.steps) if s.__class__ in (Call, Check)]
        memories = [fusion.in_memory(n) for n in program.wanted]
        self.given = {i.number: i for i in program.inputs if i.number in used and i.kind != "number"}
        targets = {source.number for source in sinks.values()}
        at_end = {m.root for m in memories}
        self.writers: dict[int, list[int]] = {}  # the steps that write into a root
        self.last_reader: dict[int, int] = {}
        for i, step in enumerate(fusion.steps):
            for r in step.writes():
                self.writers.setdefault(r, []).append(i)
            self.last_reader.update(dict.fromkeys(step.reads(), i))
        last: list[tuple[Memory, int]] = []
        for place, (number, m) in enumerate(zip(program.wanted, memories)):
            if (
                place in sinks
                and m.root != sinks[place].number
                and self._can_be(number, m, sinks[place].number, at_end)
            ):
                self.homes[number] = sinks[place].number
        for place, (number, m) in enumerate(zip(program.wanted, memories)):
            v = self.values[number]
            if place in sinks:
                target = sinks[place].number
                if self.homes.get(number) != target and number != target:
                    if m.root in targets or m.root in self.homes:
                        m = self._copied(m, v)
                    last.append((m, target))
                continue
            step = fusion.home[m.root]
            if (
                number == m.root
                and number not in self.homes
                and step >= 0
                and m.like.flags.c_contiguous
                and fusion.steps[step].__class__ is not Call
            ):
                self.homes[number] = ("out", place)
                self.outs[place] = number
            elif v.dtype in OF and v.shape and 0 not in v.shape or v.dtype in OF and v.shape == ():
                root = self._copied(m, v).root
                self.homes[root] = ("out", place)
                self.outs[place] = root
            else:
                self.moves.append((f"o{place}", m))
        for m, target in last:
            v = self.values[target]
            if v.dtype in OF and 0 not in v.shape:
                self._copied(m, v, fusion.memory[target])
            else:
                self.moves.append((f"#{target}", m))
        self._lay_out()
        self._compile()

    def _can_be(self, number: int, m: Memory, target: int, at_end: set[int]) -> bool:
        """Whether a value can be computed in the memory of the input that it replaces."""
        fusion, there = self.fusion, self.fusion.memory[target].like
        at = fusion.home[m.root]
        if (
            m.root != number
            or at < 0
            or number in self.homes
            or there.strides != m.like.strides
            or there.dtype != m.like.dtype
        ):
            return False
        if (
            self.calls
            and self.calls[-1] >= at
            or target in at_end
            or self.writers.get(number) != [at]
            or self.last_reader.get(target, -1) > at
        ):
            return False
        step = fusion.steps[at]
        if step.__class__ is Product:
            return target not in step.reads()
        if step.__class__ is Kernel:
            return False
        own = next((w for _, w in step.stores if w.root == number), None)
        return own is not None and all(
            (k[1], k[2]) == (0, own.key[2]) for k, (_, r) in step.loads.items() if r.root == target
        )

    def _copied(self, m: Memory, v: Any, target: Memory | None = None) -> Memory:
        """A copy of what is in memory, made at the end."""
        step = Loop(v.shape, next(t for t in (OF[v.dtype], OF[np.dtype(np.float32)]) if t.bits > 1))
        if target is None:
            number = self.fusion.fresh(v.shape, v.dtype)
            target = self.fusion._own(number, np.empty(v.shape, v.dtype), len(self.fusion.steps))
        step.stores.append((step.load(m), target))
        self.fusion.steps.append(step)
        return target

    # --- memory -------------------------------------------------------------------------------------------------

    def _lay_out(self) -> None:
        """Give what lies between steps its places in the block."""
        first: dict[int, int] = {}
        final: dict[int, int] = {}
        steps = self.fusion.steps
        python = {r for s in steps if s.__class__ is Call for r in s.writes()}
        for i, step in enumerate(steps):
            for r in step.writes():
                first.setdefault(r, i)
                final[r] = i
            for r in step.reads():
                final[r] = i
        for _, m in self.moves:
            final[m.root] = len(steps)
        free: list[tuple[int, int]] = []  # (offset, size) of holes
        end = 0
        self.offsets: dict[Any, int] = {}
        living: list[tuple[int, int, int]] = []
        for r in sorted(first, key=first.__getitem__):
            if r in self.given or r in self.homes or r in python:
                continue
            now = first[r]
            for gone in [x for x in living if x[0] < now]:
                living.remove(gone)
                free.append(gone[1:])
            free = _joined(free)
            like = self.fusion.memory[r].like
            size = -(-max(1, like.nbytes) // ALIGNED) * ALIGNED
            hole = min((h for h in free if h[1] >= size), key=lambda h: h[1], default=None)
            if hole is None:
                offset, end = end, end + size
            else:
                free.remove(hole)
                offset = hole[0]
                if hole[1] > size:
                    free.append((offset + size, hole[1] - size))
            self.offsets[r] = offset
            living.append((final[r], offset, size))
        self.offsets["room"] = end
        needed = [room(s) for s in steps if isinstance(s, Product)] + [
            Walk(s).room for s in steps if isinstance(s, Loop)
        ]
        self.bytes = end + max(needed, default=0)
        raw = np.empty(self.bytes + 2 * ALIGNED, np.uint8)
        skip = -raw.__array_interface__["data"][0] % ALIGNED
        self.block = raw[skip : skip + self.bytes + ALIGNED]

    def array(self, m: Memory) -> ndarray:
        """What lies in the block, as an array."""
        return np.ndarray(m.like.shape, m.like.dtype, self.block, self.offsets[m.root] + m.offset, m.like.strides)

    # --- code ---------------------------------------------------------------------------------------------------

    def _compile(self) -> None:
        steps, table = self.fusion.steps, Table()
        sizes = {r: m.like.nbytes for r, m in self.fusion.memory.items() if m.root == r}
        runs: list[list[int]] = []
        for i, step in enumerate(steps):
            if step.__class__ in (Call, Check, Kernel):
                continue
            if runs and runs[-1][-1] == i - 1:
                runs[-1].append(i)
            else:
                runs.append([i])
        written: list[list[list[Function]]] = []  # of a step the function that is called is the last
        for run in runs:
            written.append(
                [
                    loop(f"step{i}.$$", steps[i], table, sizes, -1)
                    if steps[i].__class__ is Loop
                    else [product(f"step{i}.$$", steps[i], table, -1)]
                    for i in run
                ]
            )
        self.texts: list[str] = []
        self.functions: dict[int, tuple[Any, list[tuple[str, Any]]]] = {}
        self.table = np.zeros(len(table.places) + 1, np.int64)
        base, passed = self.block.__array_interface__["data"][0], {}  # passed by whom calls
        for key, place in table.places.items():
            home = self._home(key)
            if home[0] == "block":
                self.table[place] = base + self.offsets["room" if key == -1 else key]
            elif home[0] == "fixed":
                self.table[place] = self.fixed[home[1]].__array_interface__["data"][0]
            else:
                passed[key] = place, home
        for run, parts in zip(runs, written):
            dynamic: list[tuple[str, int]] = []
            what: list[tuple[str, Any]] = []
            reached = set().union(*[steps[i].reads() | steps[i].writes() for i in run])
            reached |= {("number", n) for i in run if steps[i].__class__ is Loop for n in steps[i].numbers}
            for key in [key for key in passed if key in reached]:
                place, home = passed.pop(key)
                dynamic.append(("f" if home[0] == "number" else "a", place))
                what.append(home)
            names = [own[-1].name for own in parts]
            made: list[tuple[Function, Value | None] | Function] = [*chain(*parts), entry(names, dynamic)]
            text = module(*made)
            self.texts.append(text)
            self.functions[run[0]] = load_function("run", text.__str__, text), what
        self.ends = {run[0]: run[-1] for run in runs}

    def _home(self, key: Any) -> tuple[str, Any]:
        """Where the memory of a root is, or a number comes from."""
        if key.__class__ is tuple:
            return "number", key[1]
        home = self.homes.get(key, key)
        if home.__class__ is tuple:
            return home
        if home in self.given:
            return ("fixed", home) if home in self.fixed else ("given", home)
        return ("block", home) if key in self.offsets or key == -1 else ("call", key)

    def lines(self, variables: dict[int, str], names: dict[str, Any]) -> list[str]:
        """Lines of Python that run the program, given the variables of its inputs; ``o3`` is then result 3."""

        names.update(
            empty=np.empty,
            contiguous=np.ascontiguousarray,
            own=own,
            table=self.table,
            view=np.ndarray,
            block=self.block,
        )
        lines: list[str] = []

        def constant(value: Any) -> str:
            name = f"p{len(names)}"
            names[name] = value
            return name

        reached: set[int] = set()
        for step in self.fusion.steps:
            if step.__class__ is not Call:
                reached |= step.reads() | step.writes()
        for place, root in self.outs.items():
            made = self.values[root]
            lines.append(f"o{place} = empty({made.shape}, {constant(made.dtype)})")

        def variable(home: tuple[str, Any]) -> str:
            kind, key = home
            return f"o{key}" if kind == "out" else variables[key]

        def array(m: Memory) -> str:
            """The expression of what is in memory."""
            home = self._home(m.root)
            if home[0] == "block":
                return constant(self.array(m))
            name, root = variable(home), self.fusion.memory[m.root]
            if m.offset == 0 and m.like.shape == root.like.shape and m.like.strides == root.like.strides:
                return name
            return f"view({m.like.shape}, {constant(m.like.dtype)}, {name}, {m.offset}, {m.like.strides})"

        def address(m: Memory) -> str:
            """The same for machine code, which only looks where it begins."""
            home = self._home(m.root)
            return variable(home) if home[0] != "block" and m.offset == 0 else array(m)

        for i, step in enumerate(self.fusion.steps):
            if step.__class__ is Call:
                given = [
                    variables[n] if n in self.fusion.numbers else array(self.fusion.memory[n])
                    for n in dict.fromkeys(refs(step.step.args))
                ]
                outs = step.step.outs
                variables.update({n: f"v{n}" for n in outs})
                call = constant(caller(step.step, self.program))
                lines.append(f"{', '.join(f'v{n}' for n in outs)}{',' * (len(outs) > 1)} = {call}({', '.join(given)})")
                for n in outs:
                    lines.append(f"v{n} = own(v{n}, ({''.join(g + ', ' for g in given)}))")
                    if n in reached:
                        lines.append(f"if not v{n}.flags.c_contiguous: v{n} = contiguous(v{n})")
            elif step.__class__ is Check:
                look, largest = constant(step.function), array(step.largest)
                lines.append(
                    f"{constant(largest_kernel())}(1, {step.given.like.size}, {address(step.given)}, {largest})"
                )
                lines.append(
                    f"if {largest}[0] >= {step.below}: "
                    f"{look}({', '.join([array(step.given), *map(repr, (step.below, *step.options))])})"
                )
            elif step.__class__ is Kernel:
                of = address if step.function.__class__ is BuiltinFunctionType else array
                given = [of(x) if x.__class__ is Memory else repr(x) for x in step.given]
                lines.append(f"{constant(step.function)}({', '.join(given)})")
            elif i in self.functions:
                function, what = self.functions[i]
                given = [variable(home) if home[0] != "number" else variables[home[1]] for home in what]
                lines.append(f"{constant(function)}(table{''.join(', ' + g for g in given)})")
        for target, m in self.moves:
            source = array(m)
            lines.append(
                f"{target} = {source}.copy()" if target[0] == "o" else f"{variables[int(target[1:])]}[...] = {source}"
            )
        return lines


def _joined(free: list[tuple[int, int]]) -> list[tuple[int, int]]:
    """Holes, neighbours as one."""
    joined: list[tuple[int, int]] = []
    for offset, size in sorted(free):
        if joined and joined[-1][0] + joined[-1][1] == offset:
            joined[-1] = joined[-1][0], joined[-1][1] + size
        else:
            joined.append((offset, size))
    return joined
