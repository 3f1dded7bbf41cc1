"""Translates a rule's Python source to a formula; see :mod:`pullback.explain.formulas`."""

from __future__ import annotations

import ast
import copy
import inspect
import linecache
import math
import textwrap
from collections import Counter
from collections.abc import Callable, Sequence
from functools import lru_cache
from types import CodeType, FunctionType
from typing import Any

import numpy as np

from ..core.public import function_of
from ..core.tensor import Tensor
from ..ops import interpolate, reduce, slices, sparse
from ..ops.compare import zero_gradient
from ..ops.complex import is_complex
from ..ops.create import zeros_like
from ..ops.pointwise import sqrt
from ..ops.trigonometry import of_tanh, of_tanhs_result
from ..ops.view import expand, reshape, squeeze, unsqueeze
from ..ops.where import where

CONSTANTS = {
    math.log(2): "ln 2",
    math.log(10): "ln 10",
    math.pi: "π",
    math.sqrt(2 * math.pi): "√2π",
    math.sqrt(0.5): "√½",
}


def names_in_source(*functions: Any) -> frozenset[str]:
    """The names by which rules call these functions."""
    return frozenset(getattr(fn, "__wrapped__", fn).__name__.strip("_") for fn in functions)


ZEROS = names_in_source(zero_gradient, zeros_like)
RESHAPES = names_in_source(unsqueeze, squeeze, reshape)  # left out of operands: shapes broadcast
# shown with their first argument alone, without shapes
FIRST_ARGUMENT = RESHAPES | names_in_source(
    expand,
    reduce.spread,
    slices.place_part,
    sparse.coo_value,
    interpolate.place,
    slices.view_part,
    slices.read_part,
    reduce.sum_to,
)
WHERE, SQRT = names_in_source(where), names_in_source(sqrt)
TYPE_AND_SIZE = names_in_source(isinstance, is_complex, len)  # calls that do not depend on an argument's elements
DERIVATIVES = of_tanh, of_tanhs_result  # ops that are another op's derivative: what they compute is shown instead
ATTRIBUTES = {"mT": "ᵀ", "T": "ᵀ", "mH": "ᴴ", "H": "ᴴ"}
SUPERSCRIPT = str.maketrans("0123456789-.", "⁰¹²³⁴⁵⁶⁷⁸⁹⁻·")
OPERATORS: dict[type, tuple[str, int]] = {
    ast.BitOr: (" or ", 1),
    ast.BitXor: (" xor ", 1),
    ast.BitAnd: (" and ", 2),
    ast.Add: (" + ", 4),
    ast.Sub: (" - ", 4),
    ast.Mult: (" · ", 5),
    ast.Div: (" / ", 5),
    ast.MatMult: (" @ ", 5),
    ast.FloorDiv: (" // ", 5),
    ast.Mod: (" mod ", 5),
    ast.Pow: ("^", 7),
}
COMPARISONS: dict[type, str] = {
    ast.Lt: "<",
    ast.LtE: "≤",
    ast.Gt: ">",
    ast.GtE: "≥",
    ast.Eq: "=",
    ast.NotEq: "≠",
    ast.Is: "is",
    ast.IsNot: "is not",
    ast.In: "in",
    ast.NotIn: "not in",
}
ATOM = 9  # binds tighter than every operator


class Unreadable(Exception):
    """A rule that is not a formula."""


# --- source -----------------------------------------------------------------------------------------------------


@lru_cache(maxsize=64)
def functions_in(filename: str) -> dict[int, list[Any]]:
    """Every lambda and function of a source file, by its first line; none if the file is not Python (a page with code
    in it).
    """
    found: dict[int, list[Any]] = {}
    try:
        tree = ast.parse("".join(linecache.getlines(filename)))
    except SyntaxError:
        return found
    for node in ast.walk(tree):
        if isinstance(node, ast.Lambda | ast.FunctionDef):
            first = (
                node.decorator_list[0].lineno
                if isinstance(node, ast.FunctionDef) and node.decorator_list
                else node.lineno
            )
            found.setdefault(first, []).append(node)
    return found


def definition(code: CodeType) -> Any:
    """The AST of the lambda or function that a code object was compiled from.

    Raises:
        Unreadable: its source is not at hand.
    """
    parameters = code.co_varnames[: code.co_argcount]
    where = {(line, column) for line, _, column, _ in code.co_positions() if line is not None and column is not None}
    nodes = functions_in(code.co_filename).get(code.co_firstlineno, ())
    nodes = [node for node in nodes if tuple(a.arg for a in node.args.args) == parameters]
    for node in nodes:
        if isinstance(node, ast.FunctionDef) or (node.body.lineno, node.body.col_offset) in where:
            return node
    if len(nodes) == 1 and isinstance(nodes[0].body, ast.Constant):  # to return it has no column in Python 3.12
        return nodes[0]
    block = "".join(inspect.getblock(linecache.getlines(code.co_filename)[code.co_firstlineno - 1 :]))
    for node in ast.walk(ast.parse(textwrap.dedent(block))):
        if (
            isinstance(node, ast.FunctionDef)
            and node.name == code.co_name
            and tuple(a.arg for a in node.args.args) == parameters
        ):
            return node
    raise Unreadable


@lru_cache(maxsize=1024)
def uses_in(tree: ast.AST) -> Counter[str]:
    """How often each name is read in a function."""
    return Counter(n.id for n in ast.walk(tree) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Load))


# --- reading ----------------------------------------------------------------------------------------------------


class Reader:
    """Reads one rule.

    Args:
        rule: the function.
        values: what the node kept, by the names of the rule's parameters.
        symbols: how to write some of these names.
        together: whether the rule gives the gradients of all inputs at once; then that of ``slot`` is meant.
    """

    follows = True
    missing: Sequence[Any] = ()  # zeros for results that no gradient reached

    def __init__(
        self,
        rule: Callable,
        values: dict[str, Any],
        symbols: dict[str, str],
        joint: bool = False,
        slot: int = 0,
        inputs: int = 1,
    ) -> None:
        self.definition = definition(rule.__code__)
        self.slot = slot if joint else None
        self.reusable = True  # False once a branch depended on an array's elements
        self.symbols = symbols
        self.values: dict[str, Any] = {**rule.__globals__, **values}
        if rule.__closure__:
            self.values.update(zip(rule.__code__.co_freevars, (c.cell_contents for c in rule.__closure__)))
        self.values["wanted"] = [i == slot for i in range(inputs)]
        self.symbolic = {rule.__code__.co_varnames[0], *(n for n in values if is_array(values[n]))}
        # intermediate results: expression, and how it is written
        self.local: dict[str, tuple[ast.expr, str]] = {}
        self.uses: dict[str, int] = {}

    def text(self) -> str:
        body = self.definition.body
        expression = self.follow(body) if isinstance(body, list) else body
        if expression is None:
            return "none"
        if self.slot is not None:
            if not isinstance(expression, ast.Tuple):
                raise Unreadable
            expression = expression.elts[self.slot]
        result = self.show(expression)[0]
        where: list[str] = []
        shown: set[str] = set()
        while len(shown) < len(self.uses):
            for name in [n for n in self.uses if n not in shown]:
                shown.add(name)
                where.append(f"{self.local[name][1]} = {self.show(self.local[name][0])[0]}")
        return result + (", where " + ", ".join(where) if where else "")

    # --- statements

    def follow(self, statements: Sequence[ast.stmt]) -> ast.expr | None:
        """The expression that a function returns for the values at hand; assigned names are remembered."""
        for s in statements:
            while isinstance(s, ast.Assign) and isinstance(s.value, ast.IfExp):
                chosen = s.value.body if self.holds(s.value.test) else s.value.orelse
                s = ast.copy_location(ast.Assign(s.targets, chosen), s)
            match s:
                case ast.Return(value=value):
                    return value
                case ast.Expr(value=ast.Constant()):
                    pass
                case ast.If(test=test, body=body, orelse=otherwise):
                    returned = self.follow(body if self.holds(test) else otherwise)
                    if returned is not None:
                        return returned
                case ast.Assign(targets=[ast.Name(id=name)], value=value) if not isinstance(
                    value, ast.GeneratorExp | ast.Lambda
                ):
                    self.assign(s, [(name, value)])
                case ast.Assign(targets=[ast.Tuple(elts=names)], value=ast.Tuple(elts=values)) if len(names) == len(
                    values
                ):
                    if not all(isinstance(target, ast.Name) for target in names):
                        raise Unreadable
                    self.assign(s, [(target.id, value) for target, value in zip(names, values)])  # type: ignore[attr-defined]
                case ast.FunctionDef() | ast.Import() | ast.ImportFrom() | ast.Assign() | ast.AnnAssign():
                    self.run(s)  # its results keep their names
                    self.symbolic.update(
                        n.id
                        for n in ast.walk(s)
                        if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store) and is_array(self.values.get(n.id))
                    )
                    self.local.update(
                        (n, (ast.Constant(0), n))
                        for n in self.symbolic
                        if any(self.values.get(n) is m for m in self.missing)
                    )
                case _:
                    raise Unreadable
        return None

    def assign(self, statement: ast.stmt, pairs: Sequence[tuple[str, ast.expr]]) -> None:
        """Assign to names, all at once. A name's old value is substituted first; a parameter goes on under another
        name.
        """
        known = self.symbolic | set(self.local)
        old: dict[str, ast.expr] = {}
        for name, _ in pairs:
            if name in self.local:
                old[name] = self.local[name][0]
            elif name in self.symbolic:
                old[name] = ast.Name(name + "·", ast.Load())
                self.symbolic.add(name + "·")
                self.symbols = {**self.symbols, name + "·": self.symbols.get(name, name)}
                self.values[name + "·"] = self.values.get(name)
            elif self.follows and isinstance(self.values.get(name), int | float):
                old[name] = ast.Constant(self.values[name])
        made = [
            (name, ast.fix_missing_locations(substitute(value, old)), bool(elements_read(value) & known))
            for name, value in pairs
        ]
        self.run(statement)
        for name, value, symbolic in made:
            self.symbolic.discard(name)
            self.local.pop(name, None)
            if symbolic and not (self.follows and literal(self.values.get(name)) is not None):
                self.local[name] = value, name + "′" if name + "·" in self.symbolic else name

    def run(self, statement: ast.stmt) -> None:
        """Execute a statement on the values, too: later branches may depend on them."""
        if self.follows:
            exec(compile(ast.Module([statement], []), "<rule>", "exec"), self.values)

    def free(self, e: ast.AST) -> set[str]:
        return {n.id for n in ast.walk(e) if isinstance(n, ast.Name)}

    def holds(self, test: ast.expr) -> bool:
        """Whether a condition holds, which may depend on the elements of arrays."""
        if isinstance(test, ast.BoolOp):
            parts = map(self.holds, test.values)
            return all(parts) if isinstance(test.op, ast.And) else any(parts)
        if elements_read(test) & (self.symbolic | set(self.local)):
            self.reusable = False
        return bool(self.evaluate(test))

    def evaluate(self, e: ast.expr) -> Any:
        try:
            return eval(compile(ast.Expression(e), "<rule>", "eval"), self.values)
        except Exception as error:
            raise Unreadable from error

    # --- expressions

    def number(self, e: ast.expr) -> str | None:
        """The text of an expression whose value is known and not an array."""
        if elements_read(e) & (self.symbolic | set(self.local)):
            return None
        try:
            value = self.evaluate(e)
        except Unreadable:
            return None
        return literal(value)

    def show(self, e: ast.expr) -> tuple[str, int]:
        """An expression as text, and how tightly it binds."""
        e = without_cast(e)
        known = None if isinstance(e, ast.Name | ast.Lambda) and self.is_symbolic_name(e) else self.number(e)
        if known is not None:
            return known, 5 if "/" in known else 6 if known.startswith("-") else ATOM
        match e:
            case ast.Name(id=name):
                if name in self.local:
                    value, text = self.local[name]
                    if self.worth_naming(name):
                        self.uses.setdefault(name, 1)
                        return text, ATOM
                    return self.show(value)
                return self.symbols.get(name, name), ATOM
            case ast.BinOp(left=left, op=operator, right=right):
                return self.binary(left, operator, right)
            case ast.UnaryOp(op=ast.USub(), operand=operand):
                return "-" + self.operand(operand, 5), 5
            case ast.UnaryOp(op=ast.Invert() | ast.Not(), operand=operand):
                return "not " + self.operand(operand, 3), 3
            case ast.Compare(left=left, ops=[operator], comparators=[right]):
                left, right = self.without_reshape(left), self.without_reshape(right)
                return f"{self.operand(left, 4)} {COMPARISONS[type(operator)]} {self.operand(right, 4)}", 3
            case ast.IfExp(test=test, body=body, orelse=otherwise):
                return self.show(body if self.holds(test) else otherwise)
            case ast.Attribute(value=value, attr=attribute) if attribute in ATTRIBUTES:
                return self.operand(value, ATOM) + ATTRIBUTES[attribute], ATOM
            case ast.Attribute(value=value, attr=attribute):
                return f"{self.operand(value, ATOM)}.{attribute}", ATOM
            case ast.Call(func=function, args=arguments, keywords=keywords):
                return self.call(function, arguments, keywords)
            case ast.Subscript(value=value, slice=index):
                return f"{self.operand(value, ATOM)}[{ast.unparse(index)}]", ATOM
            case ast.Tuple(elts=elements):
                return "(" + ", ".join(self.show(v)[0] for v in elements) + ")", ATOM
            case ast.Constant(value=value):
                return repr(value), ATOM
        raise Unreadable

    def is_symbolic_name(self, e: ast.expr) -> bool:
        return isinstance(e, ast.Name) and (e.id in self.symbolic or e.id in self.local)

    def operand(self, e: ast.expr, level: int) -> str:
        """An operand's text, in parentheses unless it binds at least as tightly as ``level``."""
        text, binds = self.show(e)
        return text if binds >= level else f"({text})"

    def binary(self, left: ast.expr, operator: ast.operator, right: ast.expr) -> tuple[str, int]:
        sign, level = OPERATORS[type(operator)]
        left, right = self.without_reshape(left), self.without_reshape(right)
        if isinstance(operator, ast.Mult) and ast.dump(left) == ast.dump(right) and isinstance(left, ast.Name):
            return self.operand(left, ATOM) + "²", 8
        a, b = self.show(left), self.show(right)
        if isinstance(operator, ast.Pow):
            base = a[0] if a[1] >= ATOM else f"({a[0]})"
            if b[0] == "1":
                return a
            plain = b[0].lstrip("-").isdigit()
            return (
                base + b[0].translate(SUPERSCRIPT) if plain else f"{base}^{b[0] if b[1] >= ATOM else f'({b[0]})'}"
            ), 8
        if isinstance(operator, ast.Mult) and "1" in (a[0], b[0]):
            return b if a[0] == "1" else a
        if (
            isinstance(operator, ast.Mult)
            and b[0].lstrip("-").replace(".", "").isdigit()
            and not a[0].lstrip("-").isdigit()
            and a[0] != "g"
        ):
            a, b = b, a  # 2 · x, not x · 2
        if isinstance(operator, ast.MatMult):  # beside products of elements it needs its parentheses
            return f"{self.operand(left, 6) if not self.is_product(left) else a[0]} @ {self.operand(right, 6)}", level
        if "0" in (a[0], b[0]) and sign == " · ":
            return "0", ATOM
        if b[0] == "0" and isinstance(operator, ast.Add | ast.Sub):
            return a
        if a[0] == "0" and isinstance(operator, ast.Add):
            return b
        if sign == " · " and b[0].startswith("1/"):
            sign, b = " / ", (b[0][2:], ATOM)
        first = a[0] if a[1] >= level and " @ " not in a[0] else f"({a[0]})"
        exact = isinstance(operator, ast.Sub | ast.Div | ast.Mod) or sign == " · " and ("/" in b[0] or " @ " in b[0])
        second = b[0] if b[1] >= level + exact else f"({b[0]})"
        return first + sign + second, level

    def without_reshape(self, operand: ast.expr) -> ast.expr:
        """An operand without reshapes: shapes broadcast."""
        match operand:
            case ast.Call(func=ast.Name(id=name), args=[inner, *_]) if name in RESHAPES:
                return self.without_reshape(inner)
        return operand

    def is_product(self, e: ast.expr) -> bool:
        """Whether an expression is written as a matrix product."""
        return isinstance(e, ast.BinOp) and isinstance(e.op, ast.MatMult)

    def call(
        self, function: ast.expr, arguments: Sequence[ast.expr], keywords: Sequence[ast.keyword]
    ) -> tuple[str, int]:
        name = function.attr if isinstance(function, ast.Attribute) else ast.unparse(function)
        name = name.strip("_")
        if isinstance(function, ast.IfExp):
            name = ast.unparse(function.body if self.holds(function.test) else function.orelse).strip("_")
        if name in ZEROS:
            return "0", ATOM
        inner = self.inlined(function, arguments) if not keywords else None
        if inner is not None:
            return self.show(inner)
        if name in FIRST_ARGUMENT:
            return f"{name}({self.show(arguments[0])[0]})", ATOM
        if name in WHERE and len(arguments) == 3:
            a, b = (self.show(v)[0] for v in arguments[1:])
            return f"{{{a} if {self.show(arguments[0])[0]} else {b}}}", ATOM
        if name in SQRT:
            return "√" + self.operand(arguments[0], ATOM), 8
        shown = []
        for e in [*arguments, *(k.value for k in keywords)]:
            if isinstance(e, ast.Starred) or isinstance(e, ast.Attribute) and e.attr == "shape":
                continue
            text = self.show(e)[0]
            if text not in ("none", "true", "false", "None", "True", "False"):
                shown.append(text)
        return f"{name}({', '.join(shown)})", ATOM

    def inlined(self, function: ast.expr, arguments: Sequence[ast.expr]) -> ast.expr | None:
        """The body of a helper that only does arithmetic, in terms of the arguments."""
        called: Any = self.values.get(function.id) if isinstance(function, ast.Name) else None
        called = function_of(called)
        if any(called is fn for fn in DERIVATIVES):
            called = closure_value(called.op.impl, "compute") or called.op.impl
        if (
            not isinstance(called, FunctionType)
            or hasattr(called, "op")
            or not called.__module__.startswith("pullback.ops")
        ):
            return None
        body = definition(called.__code__).body
        body = body[1:] if isinstance(body, list) and isinstance(body[0], ast.Expr) else body
        if not isinstance(body, list) or len(body) != 1 or not isinstance(body[0], ast.Return) or body[0].value is None:
            return None
        for name, value in called.__globals__.items():
            self.values.setdefault(name, value)
        names = called.__code__.co_varnames[: called.__code__.co_argcount]
        result = substitute(body[0].value, dict(zip(names, arguments)))
        while isinstance(result, ast.IfExp):
            result = result.body if self.holds(result.test) else result.orelse
        return result if isinstance(result, ast.BinOp | ast.UnaryOp) or result in arguments else None

    def worth_naming(self, name: str) -> bool:
        """Whether an intermediate result is shown by its name: used more than once, and longer than a name."""
        value = without_cast(self.local[name][0])
        if (
            isinstance(value, ast.Name | ast.Constant | ast.Attribute)
            or isinstance(value, ast.Call)
            and ast.unparse(value.func) in FIRST_ARGUMENT
        ):
            return False
        return uses_in(self.definition)[name] > 1


def without_cast(e: ast.expr) -> ast.expr:
    """An expression without conversions to other types, which are no matter of formulas."""
    match e:
        case ast.Call(func=ast.Attribute(value=value, attr="to")):
            return without_cast(value)
    return e


class Substitution(ast.NodeTransformer):
    """Replaces names by expressions."""

    def __init__(self, expressions: dict[str, ast.expr]) -> None:
        self.expressions = expressions

    def visit_Name(self, node: ast.Name) -> ast.expr:
        return self.expressions.get(node.id, node)


def substitute(e: ast.expr, expressions: dict[str, ast.expr]) -> Any:
    """A copy of an expression with names replaced by expressions."""
    return Substitution(expressions).visit(copy.deepcopy(e))


def is_array(value: Any) -> bool:
    kinds = (np.ndarray, Tensor)
    return isinstance(value, kinds) or isinstance(value, list | tuple) and any(isinstance(v, kinds) for v in value)


def elements_read(e: ast.AST) -> set[str]:
    """The names whose values an expression depends on, without those that it asks only for type and size."""
    if isinstance(e, ast.Attribute) and e.attr in ("shape", "ndim", "dtype", "__class__"):
        return set()
    if isinstance(e, ast.Call) and isinstance(e.func, ast.Name) and e.func.id in TYPE_AND_SIZE:
        return set()
    if isinstance(e, ast.Compare) and isinstance(e.ops[0], ast.Is | ast.IsNot):
        return set()
    if isinstance(e, ast.Name):
        return {e.id}
    return {name for child in ast.iter_child_nodes(e) for name in elements_read(child)}


def literal(value: Any) -> str | None:
    """A known value as text, if it is a number or a word."""
    if value is None or isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, float) and value in CONSTANTS:
        return CONSTANTS[value]
    if isinstance(value, float) and 1e-5 < value < 0.4 and abs(1 / value - round(1 / value)) < 1e-6 / value:
        return f"1/{round(1 / value)}"
    if isinstance(value, int | float):
        return {math.inf: "∞", -math.inf: "-∞"}.get(value) or f"{value:.6g}"
    if isinstance(value, str):
        return value
    if isinstance(value, tuple) and all(isinstance(v, int) for v in value):
        return str(tuple(value))
    return None


def closure_value(function: Any, name: str) -> Any:
    """The value of a function's closure variable."""
    names = function.__code__.co_freevars if isinstance(function, FunctionType) else ()
    return function.__closure__[names.index(name)].cell_contents if name in names else None


# --- custom Functions -------------------------------------------------------------------------------------------


class FunctionReader(Reader):
    """Reads a custom Function's ``backward`` without running it: it may have side effects."""

    follows = False

    def __init__(self, tree: ast.FunctionDef, code: CodeType, position: int) -> None:
        self.definition = tree
        self.slot = position
        self.reusable = True
        self.symbols = {}
        context, *grads = code.co_varnames[: code.co_argcount]
        self.context = context
        self.values = {}
        self.symbolic = {
            *grads,
            *(n.id for n in ast.walk(tree) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Load)),
        }
        self.local = {}
        self.uses = {}
        self.names = {grads[0]: "g"} if len(grads) == 1 else {n: f"g{i}" for i, n in enumerate(grads)}

    def text(self) -> str:
        body = self.definition.body
        if any(isinstance(s, ast.If | ast.For | ast.While | ast.With | ast.Try) for s in body):
            raise Unreadable
        last = body[-1]
        if isinstance(last, ast.Return) and not isinstance(last.value, ast.Tuple):
            self.slot = None
        return super().text()

    def follow(self, statements: Sequence[ast.stmt]) -> ast.expr | None:
        kept = [s for s in statements if not (isinstance(s, ast.Assign) and self.saved(s.value))]
        return super().follow([s for s in kept if not isinstance(s, ast.Expr)])

    def saved(self, e: ast.expr) -> bool:
        """Whether an expression takes saved tensors from the context: they keep the names that they are assigned to."""
        return isinstance(e, ast.Attribute) and isinstance(e.value, ast.Name) and e.value.id == self.context

    def show(self, e: ast.expr) -> tuple[str, int]:
        if isinstance(e, ast.Name) and e.id in self.names and e.id not in self.local:
            return self.names[e.id], ATOM
        if self.saved(e):
            return e.attr, ATOM  # type: ignore[attr-defined]
        if isinstance(e, ast.Call) and isinstance(e.func, ast.Attribute) and e.func.attr == "clone" and not e.args:
            return self.show(e.func.value)
        return super().show(e)
