"""Native functions for runs of steps, a memory plan, and the lines of Python that call them in order.

Memory: inputs and outputs are arrays of their own. An output that replaces the contents of an input is computed right
there (JAX: buffer donation), if nobody reads the old contents afterwards and nothing can fail any more. All else shares
one block, in which a place is used again once what was there has been read for the last time.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterable
from types import BuiltinFunctionType
from typing import Any

import numpy as np

from ..kernels.codegen.llvm_ir import F32
from ..kernels.embedding import largest_kernel
from .eager_calls import evaluator, unaliased
from .gemm import MatMulEmitter
from .gemm import scratch_bytes as matmul_scratch_bytes
from .ir import Input, Program, refs
from .loop_ir import IterationSpace, LoopEmitter
from .lowering import lower
from .schedule import SCALAR_TYPES, EagerCall, KernelCall, LoopNest, MatMul, MemRef, RangeCheck
from .step_functions import Emitter, compile_steps, compiled, descriptor, runner

ndarray = np.ndarray
ALIGNMENT = 64
SCRATCH = -1  # the key of memory that is used within a step, behind all that lives between steps


class NativeCode:
    """The native functions of a program, the memory between them, and the lines that call them.

    Attributes:
        fusion: the steps.
        functions: of its steps.
        bytes: the size of the block.
        placement: roots that are not in the block: the number of the input in whose memory they are, or ``("out",
            place)``.
        output_roots: the roots of outputs that are arrays of their own, by place.
        final_copies: what Python has to copy at the end: pairs of a target, ``o3`` or ``#`` and the number of an input,
            and memory.
    """

    def __init__(self, program: Program, sinks: dict[int, Input], fixed: dict[int, ndarray], used: set[int]) -> None:
        self.program, self.sinks, self.fixed = program, sinks, fixed
        self.fusion = lower(program, fixed)
        self.values = program.values
        self.given = {i.number: i for i in program.inputs if i.number in used and i.kind != "number"}
        self.placement: dict[int, Any] = {}
        self.output_roots: dict[int, int] = {}
        self.final_copies: list[tuple[str, MemRef]] = []
        memories = [self.fusion.materialize(n) for n in program.outputs]
        self._reuse_inputs(memories)
        self._place_outputs(memories)
        self._plan_memory()
        self._compile()

    # --- outputs ------------------------------------------------------------------------------------------------

    def _reuse_inputs(self, memories: list[MemRef]) -> None:
        """Let outputs that replace the contents of an input be computed in its memory, where they can."""
        writers: dict[int, list[int]] = {}
        last_read: dict[int, int] = {}
        stored: dict[tuple[int, int], MemRef] = {}  # by loops: by the step's index, and the root
        loaded: dict[tuple[int, int], list[MemRef]] = {}
        fallible = -1  # the last step that may raise: until then inputs have to be as they were
        for i, step in enumerate(self.fusion.steps):
            for r in step.writes():
                writers.setdefault(r, []).append(i)
            last_read.update(dict.fromkeys(step.reads(), i))
            if step.__class__ in (EagerCall, RangeCheck):
                fallible = i
            elif step.__class__ is LoopNest:
                for _, m in step.stores:
                    stored.setdefault((i, m.root), m)
                for _, m in step.loads.values():
                    loaded.setdefault((i, m.root), []).append(m)
        returned = {m.root for m in memories}
        for place, (number, m) in enumerate(zip(self.program.outputs, memories)):
            if place not in self.sinks:
                continue
            target = self.sinks[place].number
            at = self.fusion.defined_at[m.root]
            if (
                m.root == number != target
                and at > fallible
                and number not in self.placement
                and target not in returned
                and writers.get(number) == [at]
                and last_read.get(target, -1) <= at
                and self._is_safe_in_place(at, m, target, stored.get((at, m.root)), loaded.get((at, target), ()))
            ):
                self.placement[number] = target

    def _is_safe_in_place(
        self, at: int, m: MemRef, target: int, stored: MemRef | None, loaded: Iterable[MemRef]
    ) -> bool:
        """Whether a step that writes into a target's memory still reads all that it needs from there.

        Args:
            stored, loaded: by a loop: of ``m``, and of the target.
        """
        step, there = self.fusion.steps[at], self.fusion.memory[target].like
        if there.strides != m.like.strides or there.dtype != m.like.dtype:
            return False
        if step.__class__ is MatMul:
            return target not in step.reads()
        # a loop may read each element before it writes the same one
        return stored is not None and all([r.key[1:3] == (0, stored.key[2]) for r in loaded])

    def _place_outputs(self, memories: list[MemRef]) -> None:
        """Let outputs be computed in arrays of their own, or else be copied there or into their sinks at the end."""
        fusion = self.fusion
        sink_numbers = {target.number for target in self.sinks.values()}
        into_sinks: list[tuple[MemRef, int]] = []
        for place, (number, m) in enumerate(zip(self.program.outputs, memories)):
            v = self.values[number]
            if place in self.sinks:
                target = self.sinks[place].number
                if self.placement.get(number) != target and number != target:
                    if m.root in sink_numbers or m.root in self.placement:  # which another copy may overwrite before
                        m = self._append_copy(m, v)
                    into_sinks.append((m, target))
                continue
            step = fusion.defined_at[m.root]
            if (
                number == m.root
                and number not in self.placement
                and step >= 0
                and m.like.flags.c_contiguous
                and fusion.steps[step].__class__ is not EagerCall
            ):
                self.placement[number] = ("out", place)
                self.output_roots[place] = number
            elif v.dtype in SCALAR_TYPES and 0 not in v.shape:
                root = self._append_copy(m, v).root
                self.placement[root] = ("out", place)
                self.output_roots[place] = root
            else:
                self.final_copies.append((f"o{place}", m))
        for m, target in into_sinks:
            v = self.values[target]
            if v.dtype in SCALAR_TYPES and 0 not in v.shape:
                self._append_copy(m, v, fusion.memory[target])
            else:
                self.final_copies.append((f"#{target}", m))

    def _append_copy(self, m: MemRef, v: Any, target: MemRef | None = None) -> MemRef:
        """Append a loop that copies what is in memory to a target, or to memory of its own."""
        step = LoopNest(v.shape, next(t for t in (SCALAR_TYPES[v.dtype], F32) if t.bits > 1))
        if target is None:
            target = self.fusion.scratch(v.shape, v.dtype)
        step.stores.append((step.load(m), target))
        self.fusion.steps.append(step)
        return target

    # --- memory -------------------------------------------------------------------------------------------------

    def _plan_memory(self) -> None:
        """Give each root that lives between steps a place in the block: the smallest hole that it fits in."""
        steps = self.fusion.steps
        made_by_python = {r for s in steps if s.__class__ is EagerCall for r in s.writes()}
        first, last = self._lifetimes()
        self.offsets: dict[int, int] = {}
        holes: list[tuple[int, int]] = []  # (offset, size)
        living: list[tuple[int, int, int]] = []  # (last step, offset, size), the one that ends first on top
        end = 0
        for r in sorted(first, key=first.__getitem__):
            if r in self.given or r in self.placement or r in made_by_python:
                continue
            while living and living[0][0] < first[r]:
                holes.append(heapq.heappop(living)[1:])
            holes = _coalesce(holes)
            size = _round_up(max(1, self.fusion.memory[r].like.nbytes))
            hole = min((h for h in holes if h[1] >= size), key=lambda h: h[1], default=None)
            if hole is None:
                offset, end = end, end + size
            else:
                holes.remove(hole)
                offset = hole[0]
                if hole[1] > size:
                    holes.append((offset + size, hole[1] - size))
            self.offsets[r] = offset
            heapq.heappush(living, (last[r], offset, size))
        self.offsets[SCRATCH] = end
        scratch = [matmul_scratch_bytes(s) for s in steps if isinstance(s, MatMul)]
        self.spaces = {i: IterationSpace(s) for i, s in enumerate(steps) if isinstance(s, LoopNest)}
        scratch += [space.scratch_bytes for space in self.spaces.values()]
        self.bytes = end + max(scratch, default=0)
        raw = np.empty(self.bytes + 2 * ALIGNMENT, np.uint8)
        skip = -raw.__array_interface__["data"][0] % ALIGNMENT
        self.block = raw[skip : skip + self.bytes + ALIGNMENT]

    def _lifetimes(self) -> tuple[dict[int, int], dict[int, int]]:
        """The first step that writes each root, and the last one that reads or writes it."""
        first: dict[int, int] = {}
        last: dict[int, int] = {}
        for i, step in enumerate(self.fusion.steps):
            for r in step.writes():
                first.setdefault(r, i)
            last.update(dict.fromkeys([*step.writes(), *step.reads()], i))
        last.update({m.root: len(self.fusion.steps) for _, m in self.final_copies})
        return first, last

    def array(self, m: MemRef) -> ndarray:
        """The array of memory in the block."""
        return np.ndarray(m.like.shape, m.like.dtype, self.block, self.offsets[m.root] + m.offset, m.like.strides)

    def home(self, key: Any) -> tuple[str, Any]:
        """Where the memory of a root is: a kind, and a number or place."""
        home = self.placement.get(key, key)
        if home.__class__ is tuple:
            return home
        if home in self.given:
            return ("fixed", home) if home in self.fixed else ("given", home)
        return ("block", home) if key in self.offsets else ("call", key)

    # --- code ---------------------------------------------------------------------------------------------------

    def _compile(self) -> None:
        """The functions of steps that have code, a table for all, and for each run of such steps what is called."""
        runs: list[list[int]] = []
        for i, step in enumerate(self.fusion.steps):
            if step.__class__ in (EagerCall, RangeCheck, KernelCall):
                continue
            if runs and runs[-1][-1] == i - 1:
                runs[-1].append(i)
            else:
                runs.append([i])
        sizes = {r: m.like.nbytes for r, m in self.fusion.memory.items() if m.root == r}
        emitters = [[self._emitter(i, sizes) for i in run] for run in runs]
        functions = iter(compile_steps([e for run in emitters for e in run]))

        slots: list[tuple[Any, Any]] = []  # what is in the table, see StepTable
        starts: list[int] = []
        calls: list[list[tuple[int, int]]] = []
        for run in emitters:
            starts.append(len(slots))
            calls.append([])
            for e in run:
                calls[-1].append((next(functions).address, len(slots)))
                slots += e.table.keys

        # fixed addresses are in the table from now on; the run that first needs another one is handed it
        self.table = np.zeros(len(slots) + 1, np.int64)
        base = self.block.__array_interface__["data"][0]
        unset: dict[Any, list[tuple[int, int]]] = {}
        for slot, (key, offset) in enumerate(slots):
            kind, what = self._source(key, offset)
            if kind == "block":
                self.table[slot] = base + self.offsets[key] + offset
            elif kind == "fixed":
                self.table[slot] = self.fixed[what].__array_interface__["data"][0] + offset
            elif kind == "integer":
                self.table[slot] = offset
            elif kind == "float":
                self.table.view(np.float64)[slot] = offset
            else:
                unset.setdefault((kind, what), []).append((slot, offset))

        # by the first step: what the run is told, and its arguments
        self.runs: dict[int, tuple[ndarray, list[tuple[str, Any]]]] = {}
        for k, (start, end) in enumerate(zip(starts, [*starts[1:], len(slots)])):
            reached = dict.fromkeys([self._source(*slot) for slot in slots[start:end]])
            arguments = [home for home in reached if home in unset]
            arrays, numbers = [], []
            for place, home in enumerate(arguments, 1):
                for slot, offset in unset.pop(home):
                    if home[0] == "number":
                        numbers.append((place, slot))
                    else:
                        arrays.append((place, offset, slot))
            self.runs[runs[k][0]] = descriptor(self.table, arrays, numbers, calls[k]), arguments
        self.functions = [compiled[key] for key in dict.fromkeys([e.key for run in emitters for e in run])]

    def _source(self, key: Any, n: Any) -> tuple[str, Any]:
        """Where what is in a slot of the table comes from."""
        return (key, n) if key.__class__ is str else self.home(key)

    def _emitter(self, i: int, sizes: dict[int, int]) -> Emitter:
        """What writes the function of a step: for its own size if that is all that comes, or was compiled before."""
        step = self.fusion.steps[i]

        def emitter(any_size: bool) -> Emitter:
            if step.__class__ is LoopNest:
                return LoopEmitter(step, self.spaces[i], sizes, SCRATCH, any_size)
            return MatMulEmitter(step, SCRATCH, any_size)

        specialized = emitter(False)
        return emitter(True) if self.program.any_size and specialized.key not in compiled else specialized

    def lines(self, variables: dict[int, str], names: dict[str, Any]) -> list[str]:
        """Lines of Python that run the program, given the variables of its inputs; ``o3`` is then output 3."""
        return LineWriter(self, variables, names).lines()


class LineWriter:
    """Writes the lines of Python that run native code, kernels and eager calls in turn.

    Attributes:
        variables: the Python variables of inputs and of results of eager calls, by number.
        names: the objects that lines refer to.
    """

    def __init__(self, native: NativeCode, variables: dict[int, str], names: dict[str, Any]) -> None:
        self.native, self.fusion, self.variables, self.names = native, native.fusion, variables, names
        names.update(
            empty=np.empty,
            contiguous=np.ascontiguousarray,
            unaliased=unaliased,
            table=native.table,  # to whose memory descriptors refer
            view=np.ndarray,
            block=native.block,
            run_steps=runner(),
        )

    def lines(self) -> list[str]:
        lines: list[str] = []
        for place, root in self.native.output_roots.items():
            v = self.native.values[root]
            lines.append(f"o{place} = empty({v.shape}, {self._constant(v.dtype)})")
        for i, step in enumerate(self.fusion.steps):
            if step.__class__ is EagerCall:
                lines += self._eager_call(step)
            elif step.__class__ is RangeCheck:
                lines += self._range_check(step)
            elif step.__class__ is KernelCall:
                lines.append(self._kernel_call(step))
            elif i in self.native.runs:
                lines.append(self._native_call(*self.native.runs[i]))
        for target, m in self.native.final_copies:
            source = self._array(m)
            is_output = target[0] == "o"
            lines.append(
                f"{target} = {source}.copy()" if is_output else f"{self.variables[int(target[1:])]}[...] = {source}"
            )
        return lines

    def _eager_call(self, step: EagerCall) -> list[str]:
        outs = step.instruction.outs
        operands = [
            self.variables[n] if n in self.fusion.numbers else self._array(self.fusion.memory[n])
            for n in dict.fromkeys(refs(step.instruction.args))
        ]
        self.variables.update({n: f"v{n}" for n in outs})
        call = self._constant(evaluator(step.instruction, self.native.program, self.fusion.numbers))
        targets = ", ".join(f"v{n}" for n in outs) + "," * (len(outs) > 1)
        lines = [f"{targets} = {call}({', '.join(operands)})"]
        for n in outs:
            lines.append(f"v{n} = unaliased(v{n}, ({''.join(x + ', ' for x in operands)}))")
            lines.append(f"if not v{n}.flags.c_contiguous: v{n} = contiguous(v{n})")
        return lines

    def _range_check(self, step: RangeCheck) -> list[str]:
        check, largest = self._constant(step.function), self._array(step.largest)
        kernel, address = self._constant(largest_kernel()), self._address(step.operand)
        args = ", ".join([self._array(step.operand), *map(repr, (step.below, *step.options))])
        return [
            f"{kernel}(1, {step.operand.like.size}, {address}, {largest})",
            f"if {largest}[0] >= {step.below}: {check}({args})",
        ]

    def _kernel_call(self, step: KernelCall) -> str:
        as_argument = self._address if step.function.__class__ is BuiltinFunctionType else self._array
        args = [as_argument(x) if x.__class__ is MemRef else repr(x) for x in step.args]
        return f"{self._constant(step.function)}({', '.join(args)})"

    def _native_call(self, told: ndarray, homes: list[tuple[str, Any]]) -> str:
        args = [self._variable(home) if home[0] != "number" else self.variables[home[1]] for home in homes]
        return f"run_steps({', '.join([self._constant(told), *args])})"

    def _constant(self, value: Any) -> str:
        name = f"p{len(self.names)}"
        self.names[name] = value
        return name

    def _variable(self, home: tuple[str, Any]) -> str:
        kind, key = home
        return f"o{key}" if kind == "out" else self.variables[key]

    def _array(self, m: MemRef) -> str:
        """The expression of memory as an array."""
        home = self.native.home(m.root)
        if home[0] == "block":
            return self._constant(self.native.array(m))
        name, root = self._variable(home), self.fusion.memory[m.root]
        if m.offset == 0 and all(getattr(m.like, a) == getattr(root.like, a) for a in ("shape", "strides", "dtype")):
            return name
        return f"view({m.like.shape}, {self._constant(m.like.dtype)}, {name}, {m.offset}, {m.like.strides})"

    def _address(self, m: MemRef) -> str:
        """An array for machine code, which only reads its address."""
        home = self.native.home(m.root)
        return self._variable(home) if home[0] != "block" and m.offset == 0 else self._array(m)


def _round_up(size: int) -> int:
    return -(-size // ALIGNMENT) * ALIGNMENT


def _coalesce(holes: list[tuple[int, int]]) -> list[tuple[int, int]]:
    """Holes as ``(offset, size)``, neighbours as one."""
    merged: list[tuple[int, int]] = []
    for offset, size in sorted(holes):
        if merged and merged[-1][0] + merged[-1][1] == offset:
            merged[-1] = merged[-1][0], merged[-1][1] + size
        else:
            merged.append((offset, size))
    return merged
