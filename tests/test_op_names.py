"""What is known of an operation is keyed by the operation, not by its name as a string.

``op.name`` is for people: error messages, printed programs, names of machine code. Code that decides by it, in a
comparison or by looking it up in a table, silently does something else once the operation is renamed; an import of the
operation fails. So a table is a :class:`pullback.core.op.OpTable`, filled with ``@batch_rule(softmax)``, and a fact is
a trait in the operation's declaration.

Lists of names that only look like operations' names are in ``OTHER_NAMES``, each with its reason.
"""

import ast
import pkgutil
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path

import pytest

import pullback
from pullback.core.op import REGISTRY

PACKAGE = Path(pullback.__file__).parent
for _module in pkgutil.iter_modules([str(PACKAGE / "ops")]):
    import_module(f"pullback.ops.{_module.name}")  # some families are imported when they are first needed
NAMES = frozenset(REGISTRY)
PROGRAMS = ("cli/demos/", "cli/_child/")  # files that are run, not imported
OPERATIONS = {"op", "operation"}  # variables that hold operations, with those that end in _op
FUNCTIONS = {"call", "fn", "func", "function"}  # and their functions
LOOKUPS = {"get", "pop", "setdefault", "__contains__", "__getitem__"}

# Tables of names that are no table of operations: (file, variable) -> whose names they are.
OTHER_NAMES = {
    ("compat/foreach.py", "_BINARY"): "PyTorch's torch._foreach_*; the file refuses names that are no method",
    ("compat/foreach.py", "_UNARY"): "PyTorch's torch._foreach_*; the file refuses names that are no method",
    ("compiler/fusion.py", "CHEAP"): "instructions of scalar expressions, see kernels/codegen/scalar.py",
    ("compiler/sym_float.py", "for (_name, _sign)"): "Python's methods, __add__ and so on",
    ("compiler/sym_item.py", "for (_name, _sign)"): "likewise",
    ("compiler/sym_item.py", "_SIGNS"): "likewise",
    ("distributed/tensor/names.py", "ALONG"): "PyTorch's functions, as __torch_function__ is handed them",
    ("distributed/tensor/names.py", "AWAY"): "likewise",
    ("distributed/tensor/names.py", "REDUCTIONS"): "likewise",
    ("distributed/tensor/names.py", "RULES"): "likewise",
    ("kernels/codegen/scalar.py", "FORMS"): "functions of scalar expressions, which operations declare as scalar=",
    ("kernels/codegen/scalar.py", "FAST_IN_NUMPY"): "instructions of scalar expressions",
    ("kernels/codegen/vector_math.py", "ERRORS"): "functions of this file",
    ("kernels/eager/small_operators.py", "EXACT"): "instructions of scalar expressions",
    ("kernels/recurrent.py", "CELLS"): "cells, which the operations name when they call a kernel",
    ("ops/arithmetic.py", "OPERATORS"): "Python's methods, __add__ and so on",
    ("ops/compare.py", "COMPARISONS"): "Python's methods, __eq__ and so on",
    ("ops/scatter_reduce.py", "REDUCTIONS"): "what the argument reduce= may be",
    ("ops/special.py", "(_erf, _erfc, _erfcx, _ndtr)"): "SciPy's functions",
}


class Offenders(ast.NodeVisitor):
    """The places of one file that decide by an operation's name, as (line, what is wrong)."""

    def __init__(self, source: str, file: str = "") -> None:
        self.file = file
        self.found: list[tuple[int, str]] = []
        self.allowed: set[tuple[str, str]] = set()  # entries of OTHER_NAMES that were met
        self.depth = 0  # of functions
        self.variables: list[set[str]] = [set()]  # by scope: those that hold an operation's name,
        self.own: list[set[str]] = []  # those that are assigned in the function,
        self.tables: list[set[str]] = []  # and those of them that hold a table of names
        self.visit(ast.parse(source))

    def wrong(self, node: ast.AST, what: str) -> None:
        self.found.append((node.lineno, what))  # type: ignore[attr-defined]

    # --- what an expression is ----------------------------------------------------------------------------------

    def is_name(self, e: ast.AST) -> bool:
        """Whether it is the name of an operation: ``op.name``, ``node._op.name``, ``fn.__name__``."""
        if isinstance(e, ast.Name):
            return any(e.id in scope for scope in self.variables)
        if isinstance(e, ast.NamedExpr):
            return self.is_name(e.value)
        of = last_part(e.value) if isinstance(e, ast.Attribute) else ""
        if isinstance(e, ast.Attribute) and e.attr == "name":
            return of in OPERATIONS or of.endswith("_op")
        return isinstance(e, ast.Attribute) and e.attr == "__name__" and of in FUNCTIONS

    def has_name(self, e: ast.AST) -> bool:
        return any(map(self.is_name, ast.walk(e)))

    def is_table(self, e: ast.expr) -> bool:
        """Whether it is a table of names, or something of a module, which may be one: no other local variable."""
        if operations_in(e):
            return True
        while isinstance(e, ast.Attribute):
            e = e.value
        if not isinstance(e, ast.Name) or e.id == "self":
            return False
        return any(e.id in scope for scope in self.tables) or not any(e.id in scope for scope in self.own)

    # --- tables -------------------------------------------------------------------------------------------------

    def table(self, node: ast.AST, variable: str, value: ast.expr) -> None:
        """A module's set, list or dict of names, however it is written, that are for the most part operations'."""
        known = operations_in(value)
        if self.depth or len(known) < 2 or 2 * len(known) < len(list(strings(value))) or variable.startswith("__all"):
            return
        if (self.file, variable) in OTHER_NAMES:
            self.allowed.add((self.file, variable))
        else:
            self.wrong(node, f"{variable} is a table of operations' names: {', '.join(known[:5])}")

    def assigned(self, node: ast.AST, target: ast.expr, value: ast.expr) -> None:
        names = {n.id for n in ast.walk(target) if isinstance(n, ast.Name)}
        if self.is_name(value):
            self.variables[-1] |= names
        if self.depth and operations_in(value):
            self.tables[-1] |= names
        self.table(node, ast.unparse(target), value)
        self.generic_visit(node)

    def visit_Assign(self, node: ast.Assign) -> None:
        self.assigned(node, node.targets[0], node.value)

    def visit_AnnAssign(self, node: ast.AnnAssign) -> None:
        if node.value is not None:
            self.assigned(node, node.target, node.value)

    def visit_AugAssign(self, node: ast.AugAssign) -> None:
        self.assigned(node, node.target, node.value)

    def visit_NamedExpr(self, node: ast.NamedExpr) -> None:
        self.assigned(node, node.target, node.value)

    def visit_For(self, node: ast.For) -> None:
        self.table(node, f"for {ast.unparse(node.target)}", node.iter)
        self.generic_visit(node)

    def visit_Expr(self, node: ast.Expr) -> None:
        if isinstance(node.value, ast.Call):
            self.table(node, ast.unparse(node.value.func), node.value)
        self.generic_visit(node)

    def visit_FunctionDef(self, node: ast.FunctionDef) -> None:
        for decorator in node.decorator_list:
            for argument in decorator.args if isinstance(decorator, ast.Call) else ():
                if operations_in(argument):
                    self.wrong(decorator, f"registered by name: {ast.unparse(decorator)}")
        self.depth += 1
        self.variables.append(set())
        self.own.append({n.id for n in ast.walk(node) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)})
        self.tables.append(set())
        self.generic_visit(node)
        for scopes in (self.variables, self.own, self.tables):
            scopes.pop()
        self.depth -= 1

    # --- decisions ----------------------------------------------------------------------------------------------

    def visit_Compare(self, node: ast.Compare) -> None:
        sides = [node.left, *node.comparators]
        others = [e for e in sides if not self.is_name(e)]
        if len(others) < len(sides):
            looked_up = any(isinstance(o, ast.In | ast.NotIn) for o in node.ops) and any(map(self.is_table, others))
            if looked_up or any(map(operations_in, others)):
                self.wrong(node, ast.unparse(node))
        self.generic_visit(node)

    def visit_Match(self, node: ast.Match) -> None:
        if self.is_name(node.subject):
            self.wrong(node, f"match {ast.unparse(node.subject)}")
        self.generic_visit(node)

    def visit_Subscript(self, node: ast.Subscript) -> None:
        if last_part(node.value) == "REGISTRY" or self.has_name(node.slice) and self.is_table(node.value):
            self.wrong(node, ast.unparse(node))
        self.generic_visit(node)

    def visit_Call(self, node: ast.Call) -> None:
        fn = node.func
        if isinstance(fn, ast.Attribute) and node.args:
            looked_up = last_part(fn.value) == "REGISTRY" or self.has_name(node.args[0]) and self.is_table(fn.value)
            if fn.attr in LOOKUPS and looked_up or fn.attr in ("startswith", "endswith") and self.is_name(fn.value):
                self.wrong(node, ast.unparse(node))
        elif isinstance(fn, ast.Name) and fn.id in ("getattr", "hasattr") and any(map(self.has_name, node.args[1:2])):
            self.wrong(node, ast.unparse(node))
        self.generic_visit(node)


def last_part(e: ast.expr) -> str:
    return e.attr if isinstance(e, ast.Attribute) else getattr(e, "id", "")


def strings(e: ast.expr | None) -> Iterator[str]:
    """The strings that an expression is made of: elements, keys of dicts, words of ``"...".split()``."""
    match e:
        case ast.Constant(value=str(text)):
            yield text
        case ast.Call(func=ast.Attribute(value=ast.Constant(value=str(text)), attr="split")):
            yield from text.split()
        case ast.Call(func=ast.Attribute(value=table, attr="items" | "keys" | "copy")):
            yield from strings(table)
        case ast.Dict():
            for key, value in zip(e.keys, e.values):
                yield from strings(value if key is None else key)
        case ast.Call() | ast.Set() | ast.List() | ast.Tuple():
            for part in e.args if isinstance(e, ast.Call) else e.elts:
                yield from strings(part)
        case ast.BinOp(left=left, right=right):
            yield from strings(left)
            yield from strings(right)
        case ast.Starred(value=value):
            yield from strings(value)


def operations_in(e: ast.expr) -> list[str]:
    return [s for s in strings(e) if s in NAMES]


def sources() -> Iterator[tuple[str, str]]:
    for file in sorted(PACKAGE.rglob("*.py")):
        path = file.relative_to(PACKAGE).as_posix()
        if not path.startswith(PROGRAMS):
            yield path, file.read_text(encoding="utf-8")


def test_nothing_is_decided_by_the_name_of_an_operation() -> None:
    wrong = [
        f"{path}:{line}: {what}"
        for path, source in sources()
        for line, what in Offenders(source, path).found
        if (path, what) != ("core/op.py", "REGISTRY[self.name]")  # the declaration itself
    ]
    assert not wrong, "\n".join(wrong)


def test_other_names_are_still_there() -> None:
    met = {entry for path, source in sources() for entry in Offenders(source, path).allowed}
    assert met >= set(OTHER_NAMES)


@pytest.mark.parametrize(
    "source",
    [
        'def f(op):\n    if op.name == "softmax": ...',
        'def f(node): return node._op.name in ("softmax", "log_softmax")',
        'def f(step): return step.op.name not in {"softmax"}',
        "def f(op): return op.name in SOFTMAXES",
        "def f(op): return RULES[op.name]",
        "def f(op): return batch_rules.RULES.get(op.name)",
        'def f(op): return {"softmax": 1}.get(op.name, 0)',
        'def f(op):\n    known = {"softmax": 1}\n    return known[op.name]',
        'def f(op):\n    name = op.name\n    return name == "softmax"',
        'def f(fn): return fn.__name__ == "softmax"',
        'def f(op): return getattr(self, f"lower_{op.name}")',
        'def f(op): return op.name.startswith("linalg_")',
        'def f(op):\n    match op.name:\n        case "softmax": ...',
        'softmax = REGISTRY["softmax"]',
        'softmax = op.REGISTRY.get("softmax")',
        'ALONG = {"softmax", "log_softmax"}',
        'ALONG: frozenset[str] = frozenset("softmax log_softmax cumsum".split())',
        'RULES = {"softmax": rule, **dict.fromkeys(("exp", "log"), other)}',
        'RULES |= {"softmax": rule, "exp": other}',
        'RULES.update({"softmax": rule, "exp": other})',
        'for name in ("softmax", "log_softmax"): RULES[name] = rule',
        'class Level:\n    rules = {"softmax": rule, "exp": other}',
        '@rule("softmax")\ndef f(op, x): ...',
    ],
)
def test_a_decision_by_name_is_found(source: str) -> None:
    assert Offenders(source).found


@pytest.mark.parametrize(
    "source",
    [
        '__all__ = ["softmax", "log_softmax"]',
        '@op.general(name="softmax", outputs="values indices")\ndef f(input): ...',
        'def f(op): raise TypeError(f"{op.name}() takes no strings")',
        "def f(op): return softmax_rule.get(op)",
        "def f(op):\n    counts = {}\n    counts[op.name] = 1",
        'def f(reduction): return reduction in ("mean", "sum")',
        'def f(x): return x.dtype.name == "float"',
        'NONLINEARITIES = {"linear", "conv1d", "conv2d", "conv3d", "tanh_", "relu_"}',
    ],
)
def test_other_uses_of_names_are_fine(source: str) -> None:
    assert not Offenders(source).found
