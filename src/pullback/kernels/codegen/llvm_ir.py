"""An LLVM IR builder: values with operators, loops and branches, one function at a time.

    f = Function("scale", [("array", PTR), ("n", I64), ("by", F32)])
    with f.loop(0, f["n"]) as i:
        p = f.at(f["array"], i, F32)
        f.store(f.load(p, F32) * f["by"], p)
    text = f.text()

Values are typed; operators choose the instruction by the type, and Python numbers become constants. Values that change
in loops are variables on the stack (:meth:`Function.variable`), which LLVM's sroa pass promotes to registers: that is
the only pass run on most kernels, so the instructions are those written here, in this order.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple


class Type(NamedTuple):
    """An element type, of one value or (``lanes`` > 0) a vector of them."""

    name: str
    bits: int
    lanes: int = 0

    @property
    def is_float(self) -> bool:
        return self.name in FLOATS

    @property
    def llvm(self) -> str:
        return f"<{self.lanes} x {self.name}>" if self.lanes else self.name

    @property
    def suffix(self) -> str:
        """The type in an intrinsic's name."""
        short = FLOATS.get(self.name, "p0" if self.name == "ptr" else self.name)
        return f"v{self.lanes}{short}" if self.lanes else short

    def of(self, lanes: int) -> Type:
        """A vector of so many of these."""
        return Type(self.name, self.bits, lanes)

    @property
    def scalar(self) -> Type:
        return self.of(0)

    @property
    def integers(self) -> Type:
        """Integers of the same size."""
        return Type(f"i{self.bits}", self.bits, self.lanes)

    @property
    def bools(self) -> Type:
        return Type("i1", 1, self.lanes)


FLOATS = {"float": "f32", "double": "f64", "half": "f16", "bfloat": "bf16"}
F16, BF16, F32, F64 = Type("half", 16), Type("bfloat", 16), Type("float", 32), Type("double", 64)
I1, I8, I16, I32, I64, PTR = (*(Type(f"i{n}", n) for n in (1, 8, 16, 32, 64)), Type("ptr", 64))


def literal(value: Any, type: Type) -> str:
    """A constant in LLVM's syntax."""
    if type.is_float:
        if type.name == "float":
            value = struct.unpack("<f", struct.pack("<f", _single(value)))[0]
        text = f"0x{struct.unpack('<Q', struct.pack('<d', float(value)))[0]:016X}"
    else:
        text = str(int(value))
    return f"splat ({type.name} {text})" if type.lanes else text


def _single(value: float) -> float:
    try:
        struct.pack("<f", value)
        return value
    except OverflowError:
        return float("inf") if value > 0 else float("-inf")


class Value:
    """A value in a function: its text in the IR, and its type."""

    __slots__ = ("f", "text", "type")

    def __init__(self, f: Function, text: str, type: Type) -> None:
        self.f, self.text, self.type = f, text, type

    def __add__(self, other: Any) -> Value:
        return self if _is(other, 0) and not self.type.is_float else self.f.binary("add", self, other)

    def __sub__(self, other: Any) -> Value:
        return self if _is(other, 0) and not self.type.is_float else self.f.binary("sub", self, other)

    def __rsub__(self, other: Any) -> Value:
        return self.f.binary("sub", self.f.constant(other, self.type), self)

    def __mul__(self, other: Any) -> Value:
        return self if _is(other, 1) else self.f.binary("mul", self, other)

    def __truediv__(self, other: Any) -> Value:
        return self.f.binary("div", self, other)

    def __rtruediv__(self, other: Any) -> Value:
        return self.f.binary("div", self.f.constant(other, self.type), self)

    def __floordiv__(self, other: Any) -> Value:
        return self if _is(other, 1) else self.f.binary("sdiv", self, other)

    def __mod__(self, other: Any) -> Value:
        return self.f.binary("srem", self, other)

    def __and__(self, other: Any) -> Value:
        return self.f.binary("and", self, other)

    def __or__(self, other: Any) -> Value:
        return self.f.binary("or", self, other)

    def __xor__(self, other: Any) -> Value:
        return self.f.binary("xor", self, other)

    def __lshift__(self, other: Any) -> Value:
        return self.f.binary("shl", self, other)

    def __rshift__(self, other: Any) -> Value:
        return self.f.binary("ashr", self, other)

    def __neg__(self) -> Value:
        if self.type.is_float:
            return self.f.emit(f"fneg {self.type.llvm} {self.text}", self.type)
        return self.f.binary("sub", self.f.constant(0, self.type), self)

    def __invert__(self) -> Value:
        return self.f.binary("xor", self, -1 if self.type.bits > 1 else 1)

    def __lt__(self, other: Any) -> Value:
        return self.f.compare("lt", self, other)

    def __le__(self, other: Any) -> Value:
        return self.f.compare("le", self, other)

    def __gt__(self, other: Any) -> Value:
        return self.f.compare("gt", self, other)

    def __ge__(self, other: Any) -> Value:
        return self.f.compare("ge", self, other)

    def equals(self, other: Any) -> Value:
        return self.f.compare("eq", self, other)

    def differs(self, other: Any) -> Value:
        return self.f.compare("ne", self, other)

    __radd__, __rmul__ = __add__, __mul__


def _is(x: Any, number: int) -> bool:
    return x.__class__ in (int, float) and x == number


class Variable:
    """A mutable value: a stack slot that the sroa pass promotes to a register."""

    __slots__ = ("f", "name", "type")

    def __init__(self, f: Function, name: str, type: Type) -> None:
        self.f, self.name, self.type = f, name, type

    def get(self) -> Value:
        return self.f.emit(f"load {self.type.llvm}, ptr {self.name}", self.type)

    def set(self, value: Any) -> None:
        self.f.line(f"store {self.type.llvm} {self.f.constant(value, self.type).text}, ptr {self.name}")


class Function:
    """A function being written.

    Args:
        name: its name in the module.
        params: names and types; ``f["name"]`` is the value.
        internal: whether it is called from the same module only.
        returns: the type of the result, a value that :meth:`text` takes.
    """

    def __init__(
        self,
        name: str,
        params: Sequence[tuple[str, Type]],
        internal: bool = False,
        returns: Type | None = None,
        attributes: str = "",
    ) -> None:
        self.name, self.returns = name, returns
        self.params = {p: Value(self, f"%{p}", t) for p, t in params}
        listed = ", ".join(f"{t.llvm}{attributes if t is PTR else ''} %{p}" for p, t in params)
        result = returns.llvm if returns else "void"
        self.head = f"define {'internal ' if internal else ''}{result} @{name}({listed}) #0 {{"
        self.allocas: list[str] = []
        self.lines: list[str] = []
        self.declared: set[str] = set()
        self.count = 0

    def __getitem__(self, name: str) -> Value:
        return self.params[name]

    # --- instructions -------------------------------------------------------------------------------------------

    def line(self, text: str) -> None:
        self.lines.append(text)

    def emit(self, text: str, type: Type) -> Value:
        self.count += 1
        self.lines.append(f"%v{self.count} = {text}")
        return Value(self, f"%v{self.count}", type)

    def constant(self, value: Any, type: Type) -> Value:
        """A Python number as a value; values are returned as they are."""
        return value if value.__class__ is Value else Value(self, literal(value, type), type)

    def binary(self, name: str, a: Value, b: Any) -> Value:
        b = self.constant(b, a.type)
        if a.type.is_float and name in ("add", "sub", "mul", "div"):
            name = "f" + name
        return self.emit(f"{name} {a.type.llvm} {a.text}, {b.text}", a.type)

    def compare(self, relation: str, a: Value, b: Any) -> Value:
        """An ordered comparison (false for NaN), but for ``ne``, and unordered ones by their full name, such as
        ``ult``.
        """
        b = self.constant(b, a.type)
        if a.type.is_float:
            prefix = "" if len(relation) > 2 else "u" if relation == "ne" else "o"
            return self.emit(f"fcmp {prefix}{relation} {a.type.llvm} {a.text}, {b.text}", a.type.bools)
        prefix = "" if relation in ("eq", "ne") or len(relation) > 2 else "s"
        return self.emit(f"icmp {prefix}{relation} {a.type.llvm} {a.text}, {b.text}", a.type.bools)

    def select(self, condition: Value, a: Any, b: Any) -> Value:
        known = a if a.__class__ is Value else b
        a, b = self.constant(a, known.type), self.constant(b, known.type)
        return self.emit(
            f"select {condition.type.llvm} {condition.text}, {a.type.llvm} {a.text}, {a.type.llvm} {b.text}", a.type
        )

    def intrinsic(self, name: str, *args: Value, type: Type | None = None, overloads: int = 1) -> Value:
        """An LLVM intrinsic overloaded on its first argument, or so many of them."""
        type = type or args[0].type
        full = f"@llvm.{name}.{'.'.join([a.type.suffix for a in args[:overloads]])}"
        self.declared.add(f"declare {type.llvm} {full}({', '.join(a.type.llvm for a in args)})")
        return self.emit(f"call {type.llvm} {full}({', '.join(f'{a.type.llvm} {a.text}' for a in args)})", type)

    def fma(self, a: Value, b: Any, c: Any) -> Value:
        """``a * b + c``, rounded once."""
        return self.intrinsic("fma", a, self.constant(b, a.type), self.constant(c, a.type))

    def convert(self, instruction: str, value: Value, type: Type) -> Value:
        """A conversion: bitcast, sext, trunc, sitofp, ..."""
        return self.emit(f"{instruction} {value.type.llvm} {value.text} to {type.llvm}", type)

    def smaller(self, a: Value, b: Any) -> Value:
        """The smaller one; b if a is NaN."""
        return self.select(a < b, a, b)

    def larger(self, a: Value, b: Any) -> Value:
        return self.select(a > b, a, b)

    # --- vectors ------------------------------------------------------------------------------------------------

    def splat(self, value: Value, lanes: int) -> Value:
        type = value.type.of(lanes)
        first = self.emit(f"insertelement {type.llvm} poison, {value.type.llvm} {value.text}, i64 0", type)
        return self.emit(
            f"shufflevector {type.llvm} {first.text}, {type.llvm} poison, <{lanes} x i32> zeroinitializer", type
        )

    def shuffle(self, a: Value, b: Value | None, order: Sequence[int]) -> Value:
        """Lanes of two vectors, numbered through."""
        other = b.text if b is not None else "poison"
        lanes = ", ".join(f"i32 {i}" for i in order)
        return self.emit(
            f"shufflevector {a.type.llvm} {a.text}, {a.type.llvm} {other}, <{len(order)} x i32> <{lanes}>",
            a.type.of(len(order)),
        )

    def fence(self, value: Value) -> Value:
        """The value itself, through which LLVM does not look: simplifying shuffles of shuffles takes it too long."""
        return self.intrinsic("arithmetic.fence", value) if value.type.is_float else value

    def lane(self, vector: Value, i: int) -> Value:
        return self.emit(f"extractelement {vector.type.llvm} {vector.text}, i64 {i}", vector.type.scalar)

    def with_lane(self, vector: Value | None, i: int, value: Value, lanes: int) -> Value:
        type = value.type.of(lanes)
        old = vector.text if vector is not None else "poison"
        return self.emit(f"insertelement {type.llvm} {old}, {value.type.llvm} {value.text}, i64 {i}", type)

    def iota(self, type: Type) -> Value:
        """The vector 0, 1, 2, ..."""
        return Value(self, "<" + ", ".join(f"{type.name} {i}" for i in range(type.lanes)) + ">", type)

    def mask_below(self, n: Value, lanes: int) -> Value:
        """True in the first n lanes."""
        short = self.convert("trunc", self.smaller(n, lanes), I32)
        return self.iota(I32.of(lanes)) < self.splat(short, lanes)

    def mask_of(self, on: Sequence[bool]) -> Value:
        return Value(self, "<" + ", ".join(f"i1 {int(b)}" for b in on) + ">", I1.of(len(on)))

    def sum_lanes(self, vector: Value) -> Value:
        """The sum over lanes, halves first: the same on every machine."""
        n = vector.type.lanes
        while n > 1:
            n //= 2
            vector = self.shuffle(vector, None, range(n)) + self.shuffle(vector, None, range(n, 2 * n))
        return self.lane(vector, 0)

    def fold_lanes(self, vector: Value, fold: Callable[[Value, Value], Value]) -> Value:
        """One value from all lanes, by a function of two vectors."""
        n = vector.type.lanes
        while n > 1:
            n //= 2
            vector = fold(self.shuffle(vector, None, range(n)), self.shuffle(vector, None, range(n, 2 * n)))
        return self.lane(vector, 0)

    def transposed(self, rows: Sequence[Value]) -> list[Value]:
        """The transpose of a square of vectors: neighbours exchange elements, then pairs, and so on."""
        made, n, step = list(rows), len(rows), 1
        while step < n:
            upper = [n + i - step if i & step else i for i in range(n)]
            lower = [n + i if i & step else i + step for i in range(n)]
            for i in range(n):
                if not i & step:
                    a, b = made[i], made[i + step]
                    made[i], made[i + step] = (self.fence(self.shuffle(a, b, order)) for order in (upper, lower))
            step *= 2
        return made

    # --- memory -------------------------------------------------------------------------------------------------

    def at(self, pointer: Value, index: Any, type: Type) -> Value:
        """The address of an element."""
        if _is(index, 0):
            return pointer
        index = self.constant(index, I64)
        return self.emit(f"getelementptr {type.scalar.name}, ptr {pointer.text}, i64 {index.text}", PTR)

    def load(
        self, pointer: Value, type: Type, mask: Value | None = None, fill: Value | None = None, align: int = 0
    ) -> Value:
        align = align or type.bits // 8
        if mask is None:
            return self.emit(f"load {type.llvm}, ptr {pointer.text}, align {align}", type)
        full = f"@llvm.masked.load.{type.suffix}.p0"
        self.declared.add(f"declare {type.llvm} {full}(ptr, i32, {mask.type.llvm}, {type.llvm})")
        rest = "zeroinitializer" if fill is None else fill.text
        return self.emit(
            f"call {type.llvm} {full}(ptr {pointer.text}, i32 {align}, {mask.type.llvm} {mask.text}, {type.llvm} "
            f"{rest})",
            type,
        )

    def store(self, value: Value, pointer: Value, mask: Value | None = None, align: int = 0) -> None:
        type = value.type
        align = align or type.bits // 8
        if mask is None:
            self.line(f"store {type.llvm} {value.text}, ptr {pointer.text}, align {align}")
            return
        full = f"@llvm.masked.store.{type.suffix}.p0"
        self.declared.add(f"declare void {full}({type.llvm}, ptr, i32, {mask.type.llvm})")
        self.line(
            f"call void {full}({type.llvm} {value.text}, ptr {pointer.text}, i32 {align}, {mask.type.llvm} {mask.text})"
        )

    def prefetch(self, pointer: Value) -> None:
        """Prefetch a cache line that will be written."""
        self.declared.add("declare void @llvm.prefetch.p0(ptr, i32, i32, i32)")
        self.line(f"call void @llvm.prefetch.p0(ptr {pointer.text}, i32 1, i32 3, i32 1)")

    def clear(self, pointer: Value, count: Any, byte: int = 0) -> None:
        """Set so many bytes."""
        self.declared.add("declare void @llvm.memset.p0.i64(ptr, i8, i64, i1)")
        self.line(
            f"call void @llvm.memset.p0.i64(ptr {pointer.text}, i8 {byte}, i64 {self.constant(count, I64).text}, i1 "
            f"false)"
        )

    def copy(self, target: Value, source: Value, count: Any) -> None:
        """Copy so many bytes."""
        self.declared.add("declare void @llvm.memcpy.p0.p0.i64(ptr, ptr, i64, i1)")
        self.line(
            f"call void @llvm.memcpy.p0.p0.i64(ptr {target.text}, ptr {source.text}, i64 "
            f"{self.constant(count, I64).text}, i1 false)"
        )

    def call(self, name: str, *args: Value, returns: Type | None = None, external: bool = False) -> Any:
        """Call a function of this module, or an external one."""
        if external:
            self.declared.add(
                f"declare {returns.llvm if returns else 'void'} @{name}({', '.join(a.type.llvm for a in args)})"
            )
        listed = ", ".join(f"{a.type.llvm} {a.text}" for a in args)
        if returns:
            return self.emit(f"call {returns.llvm} @{name}({listed})", returns)
        self.line(f"call void @{name}({listed})")

    def symbol(self, name: str) -> Value:
        """The address of a function."""
        return Value(self, f"@{name}", PTR)

    def gather(self, base: Value, index: Value, type: Type, mask: Value | None = None) -> Value:
        """The elements of memory at a vector of numbers."""
        lanes = index.type.lanes
        places = self.emit(f"getelementptr {type.name}, ptr {base.text}, {index.type.llvm} {index.text}", PTR.of(lanes))
        vector, mask = type.of(lanes), mask or self.mask_of([True] * lanes)
        full = f"@llvm.masked.gather.{vector.suffix}.{places.type.suffix}"
        self.declared.add(f"declare {vector.llvm} {full}({places.type.llvm}, i32, {mask.type.llvm}, {vector.llvm})")
        return self.emit(
            f"call {vector.llvm} {full}({places.type.llvm} {places.text}, i32 {type.bits // 8}, {mask.type.llvm} "
            f"{mask.text}, {vector.llvm} zeroinitializer)",
            vector,
        )

    # --- control ------------------------------------------------------------------------------------------------

    def variable(self, value: Any, type: Type | None = None) -> Variable:
        type = type or value.type
        self.count += 1
        place = Variable(self, f"%p{self.count}", type)
        self.allocas.append(f"{place.name} = alloca {type.llvm}")
        place.set(value)
        return place

    def stack_array(self, count: int, type: Type) -> Value:
        """Memory for so many elements on the stack (alloca), aligned for vectors."""
        self.count += 1
        self.allocas.append(f"%p{self.count} = alloca [{count} x {type.name}], align 64")
        return Value(self, f"%p{self.count}", PTR)

    def _labels(self, n: int) -> list[str]:
        self.count += 1
        return [f"L{self.count}.{i}" for i in range(n)]

    @contextmanager
    def loop(self, low: Any, high: Any, step: Any = 1) -> Iterator[Value]:
        """``for i in range(low, high, step)``."""
        head, body, end = self._labels(3)
        index = self.variable(low, I64)
        self.lines += [f"br label %{head}", f"{head}:"]
        i = index.get()
        more = i < high
        self.lines += [f"br i1 {more.text}, label %{body}, label %{end}", f"{body}:"]
        yield i
        index.set(i + step)
        self.lines += [f"br label %{head}", f"{end}:"]

    @contextmanager
    def if_then(self, condition: Value) -> Iterator[None]:
        body, end = self._labels(2)
        self.lines += [f"br i1 {condition.text}, label %{body}, label %{end}", f"{body}:"]
        yield
        self.lines += [f"br label %{end}", f"{end}:"]

    def if_else(self, condition: Value, then: Callable[[], Any], otherwise: Callable[[], Any]) -> None:
        one, other, end = self._labels(3)
        self.lines += [f"br i1 {condition.text}, label %{one}, label %{other}", f"{one}:"]
        then()
        self.lines += [f"br label %{end}", f"{other}:"]
        otherwise()
        self.lines += [f"br label %{end}", f"{end}:"]

    def text(self, result: Value | None = None) -> str:
        """The finished function."""
        end = f"ret {result.type.llvm} {result.text}" if result is not None else "ret void"
        return "\n".join([self.head, "entry:", *self.allocas, *self.lines, end, "}\n"])


def module(*functions: tuple[Function, Value | None] | Function, also: Sequence[str] = ()) -> str:
    """The text of a module of these functions, with what they declare."""
    bodies, declared = [], set()
    for f in functions:
        f, result = f if isinstance(f, tuple) else (f, None)
        bodies.append(f.text(result))
        declared |= f.declared
    return "\n".join([*also, *bodies, *sorted(declared)])
