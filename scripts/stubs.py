"""Write the stubs (``.pyi``) of the modules whose names are made at run time, for type checkers and editors.

    python scripts/stubs.py            # write them
    python scripts/stubs.py --check    # exit with 1 if one is not up to date (a test does this)

Ops become functions and methods where they are declared, and façades like ``pullback/__init__.py`` collect them; no
type checker can follow that. Their signatures are read off the registry and the functions here, with the first lines of
their docstrings. ``signatures.pyi`` has by hand those of ops that take several forms. Everything else says its types in
its source, which a stub would hide.
"""

from __future__ import annotations

import ast
import functools
import importlib
import inspect
import pathlib
import re
import sys
import textwrap
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Any

ROOT = pathlib.Path(__file__).resolve().parent.parent
PACKAGE = ROOT / "src" / "pullback"
sys.path[:0] = [str(ROOT / "src")]

import pullback  # noqa: E402
from pullback import return_types  # noqa: E402
from pullback.base.addresses import ADDRESSES, FURTHER, home_of  # noqa: E402
from pullback.compat.tensor_types import TensorType  # noqa: E402
from pullback.core.op import METHODS  # noqa: E402
from pullback.core.public import function_of  # noqa: E402
from pullback.nn import functional  # noqa: E402
from pullback.ops.storage import TypedStorage  # noqa: E402

WRITTEN = "# Written by scripts/stubs.py.\n"
WIDTH = 120
# Where names in signatures come from: modules, with a dot those of the package.
VOCABULARY = {
    **dict.fromkeys("bool complex float int object property slice str tuple list type dict".split(), "builtins"),
    **dict.fromkeys("Any Literal NamedTuple Self TypeAlias overload SupportsIndex".split(), "typing"),
    **dict.fromkeys(["Callable", "Iterator", "Sequence"], "collections.abc"),
    "EllipsisType": "types",
    "np": "numpy",
    "Tensor": ".core.tensor",
    "Size": ".base.shape",
    "dtype": ".base.dtypes",
    **dict.fromkeys(["Layout", "MemoryFormat", "device"], ".base.device"),
    "Generator": ".ops.random",
    **dict.fromkeys(["TypedStorage", "UntypedStorage"], ".ops.storage"),
    "return_types": ".",
    **dict.fromkeys(["Device", "Dims", "Index", "Number", "Operand", "Outs"], ".core.tensor_methods"),
}
ALIASES = """
Device: TypeAlias = device | str | int
Dims: TypeAlias = int | Sequence[int]
Number: TypeAlias = complex | np.number | np.bool
Operand: TypeAlias = Tensor | Number | np.ndarray
Index: TypeAlias = SupportsIndex | slice | EllipsisType | None | Tensor | np.ndarray | list[Any] | tuple[Any, ...]
Outs: TypeAlias = tuple[Tensor, ...] | list[Tensor]
"""
SAME = {
    "Ints": "Sequence[int]",
    "Shape": "Sequence[int]",
    "Streams": "Generator",
    "dtypes.dtype": "dtype",
    "list[Tensor]": "Sequence[Tensor]",
}
# What a parameter takes whose annotation is Any, by its name; None, too, if that is its default.
TAKES = {
    **dict.fromkeys("dim dims kernel_size stride padding dilation shifts source destination".split(), "Dims"),
    **dict.fromkeys(["size", "s"], "Sequence[int]"),
    **dict.fromkeys("alpha beta fill_value dx start end step initial tol".split(), "Number"),
    **dict.fromkeys("other value src input exponent min max weight high atol rtol rcond".split(), "Tensor | Number"),
    **dict.fromkeys(["scale_factor", "output_ratio"], "float | Sequence[float]"),
    **dict.fromkeys(["input_lengths", "target_lengths"], "Tensor | Sequence[int]"),
    **dict.fromkeys(["p", "ord"], "float | str"),
    "correction": "float",
    "device": "Device",
    "dtype": "dtype",
    "generator": "Generator",
    "indices_or_sections": "int | Sequence[int] | Tensor",
    "layout": "Layout",
    "memory_format": "MemoryFormat",
    "output_size": "int | Sequence[int | None]",
    "q": "float | Tensor",
    "weights": "Tensor",
}
# Modules that hold functions made of ops, and no others, and the classes of their names in signatures.pyi.
STUBBED = {"nn.functional": "functional", "compat.fft": "fft", "compat.linalg": "linalg", "compat.special": "special"}
FACTORY = "dtype layout device requires_grad pin_memory"  # what **options stand for

POSITIONAL, BOTH, VARIADIC, KEYWORD, KEYWORDS = map(inspect._ParameterKind, range(5))


@dataclass(frozen=True)
class Parameter:
    """A parameter; the annotation and the default as text, the latter empty if there is none."""

    name: str
    kind: inspect._ParameterKind
    annotation: str = "Any"
    default: str = ""

    def __str__(self) -> str:
        stars = {VARIADIC: "*", KEYWORDS: "**"}.get(self.kind, "")
        return f"{stars}{self.name}: {self.annotation}" + (f" = {self.default}" if self.default else "")


@dataclass(frozen=True)
class Form:
    """One of the forms in which a function may be called."""

    parameters: tuple[Parameter, ...]
    result: str
    decorator: str = ""

    def without(self, *names: str) -> Form:
        return replace(self, parameters=tuple(p for p in self.parameters if p.name not in names))


# == what implementations say ====================================================================================
def read(function: Callable[..., Any]) -> Form:
    """The form that a function's own signature has."""
    op = getattr(function, "op", None)
    signature = inspect.signature(function)
    result = same(str(signature.return_annotation if signature.return_annotation is not signature.empty else "Any"))
    if op is not None and op.outputs:
        result = f"return_types.{op.name}"
    parameters = []
    for p in signature.parameters.values():
        annotation = "Any" if p.annotation is p.empty else same(str(p.annotation))
        default = "" if p.default is p.empty else shown(p.default)
        if p.name == "out" and annotation == "Any":
            annotation = "Tensor" if result == "Tensor" else "Outs"
        elif annotation == "Any" and p.kind not in (VARIADIC, KEYWORDS):
            annotation = TAKES.get(p.name, "Any")
        elif annotation == "Tensor" and parameters and op is not None and op.kind == "elementwise":
            annotation = "Tensor | Number"
        if default == "None" and annotation != "Any" and annotation.split(" | ")[-1] != "None":
            annotation += " | None"
        if p.kind is KEYWORDS and p.name == "options":
            given = signature.parameters
            parameters += [option(n) for n in FACTORY.split() if n not in given]
        elif not (p.kind is KEYWORDS and p.name in ("numpy_names", "named")) and (p.name[0] != "_" or not default):
            parameters.append(Parameter(p.name, p.kind, annotation, default))
    if op is not None and op.kind != "view":
        parameters.append(Parameter("out", KEYWORD, "Outs | None" if op.outputs else "Tensor | None", "None"))
    return Form(tuple(parameters), result)


def same(annotation: str) -> str:
    """An annotation in the words of the vocabulary."""
    for name, meaning in SAME.items():
        annotation = re.sub(rf"\b{re.escape(name)}(?!\w)", meaning, annotation)
    return annotation


def option(name: str) -> Parameter:
    """A keyword of functions that make tensors."""
    flag = name in ("requires_grad", "pin_memory")
    return Parameter(name, KEYWORD, *(("bool", "False") if flag else (f"{TAKES[name]} | None", "None")))


def shown(default: Any) -> str:
    """A default as a stub shows it."""
    plain = default is None or isinstance(default, (bool, int, str, tuple))
    plain = plain or isinstance(default, float) and len(repr(default)) < 10 and default - default == 0
    return repr(default).replace("'", '"') if plain else "..."


def summary(function: Any) -> str:
    """The first paragraph of a docstring, without the marks of references."""
    text = (inspect.getdoc(function) or "").partition("\n\n")[0]
    return re.sub(r":\w+:`~?([^`]*)`", r"`\1`", " ".join(text.split()))


# == signatures written by hand ==================================================================================
def written() -> dict[str, dict[str, list[Form]]]:
    """The forms in ``signatures.pyi`` by namespace, "" for torch, and name."""
    tree = ast.parse(pathlib.Path(__file__).with_name("signatures.pyi").read_text("utf-8"))
    spaces: dict[str, dict[str, list[Form]]] = {"": {}}
    for node in tree.body:
        name, body = (node.name, node.body) if isinstance(node, ast.ClassDef) else ("", [node])
        space = spaces.setdefault(name, {})
        for statement in body:
            if isinstance(statement, ast.FunctionDef):
                space.setdefault(statement.name, []).append(form_of(statement))
            elif isinstance(statement, ast.Assign) and isinstance(statement.value, ast.Name):
                forms = space.get(statement.value.id) or spaces[""][statement.value.id]
                space |= {target.id: forms for target in statement.targets if isinstance(target, ast.Name)}
    return spaces


def form_of(node: ast.FunctionDef) -> Form:
    a = node.args
    positional = [*a.posonlyargs, *a.args]
    defaults = [None] * (len(positional) - len(a.defaults)) + a.defaults
    parameters = [
        Parameter(p.arg, POSITIONAL if p in a.posonlyargs else BOTH, text(p.annotation), text(d))
        for p, d in zip(positional, defaults)
    ]
    parameters += [Parameter(a.vararg.arg, VARIADIC, text(a.vararg.annotation))] if a.vararg else []
    parameters += [Parameter(p.arg, KEYWORD, text(p.annotation), text(d)) for p, d in zip(a.kwonlyargs, a.kw_defaults)]
    parameters += [Parameter(a.kwarg.arg, KEYWORDS, text(a.kwarg.annotation))] if a.kwarg else []
    decorators = [text(d) for d in node.decorator_list if text(d) != "overload"]
    return Form(tuple(parameters), text(node.returns), *decorators)


def text(node: ast.expr | None) -> str:
    return "" if node is None else ast.unparse(node).replace("'", '"')


BY_HAND = written()


def complete(form: Form, function: Any) -> Form:
    """``**_`` filled in with the keyword-only parameters of the implementation.

    Raises:
        ValueError: a name in the form is none of the implementation's, if that names all.
    """
    own = read(function)
    kinds = {p.kind for p in own.parameters}
    if not kinds & {VARIADIC, KEYWORDS}:
        known = {p.name for p in own.parameters} | set(inspect.signature(function).parameters)
        unknown = {p.name for p in form.parameters if p.kind in (BOTH, KEYWORD)} - known
        if unknown - {"self"}:
            raise ValueError(f"signatures.pyi: {function.__name__} has no {sorted(unknown)}")
    if form.parameters[-1:] != (Parameter("_", KEYWORDS, ""),):
        return form
    given = {p.name for p in form.parameters}
    rest = [p for p in own.parameters if p.kind is KEYWORD and p.name not in given]
    outs = "Tensor | None" if form.result in ("Tensor", "Self") else "Outs | None"
    rest = [replace(p, annotation=outs) if p.name == "out" else p for p in rest]
    return replace(form, parameters=(*form.parameters[:-1], *rest))


# == functions and methods =======================================================================================
def forms_of_function(space: str, name: str, function: Any) -> list[Form]:
    """In which forms a function of a namespace may be called."""
    function = function_of(function)
    by_hand = BY_HAND.get(space, {}).get(name) or torch_forms(name, function)
    if by_hand:
        return [complete(form, function) for form in by_hand]
    if name.endswith("_") and takes_anything(function):
        return [
            replace(f, parameters=(Parameter("input", BOTH, "Tensor"), *f.parameters[1:]), result="Tensor")
            for f in forms_of_method(name, METHODS.get(name, function))
        ]
    return [read(function)]


def forms_of_method(name: str, function: Any) -> list[Form]:
    """In which forms a method of Tensor may be called; the first parameter is ``self``."""
    inplace = name.endswith("_") and not name.endswith("__")
    if name in BY_HAND["Tensor"]:
        forms = [complete(form, function) if callable(function) else form for form in BY_HAND["Tensor"][name]]
    elif inplace and takes_anything(function):
        base = METHODS.get(name[:-1]) or getattr(pullback, name[:-1], None) or getattr(functional, name[:-1])
        forms = [f.without("inplace") for f in forms_of_method(name[:-1], function_of(base))]
    else:
        forms = [complete(form, function) for form in torch_forms(name, function)] or [read(function)]
    me = Parameter("self", BOTH, "")
    return [
        replace(f, parameters=(me, *f.parameters[1:]), result="Self" if inplace else f.result).without("out")
        for f in forms
    ]


def torch_forms(name: str, function: Any) -> list[Form]:
    """The forms by hand of the function of that name in torch, if it is this one."""
    torchs = function_of(getattr(pullback, name, None))
    return BY_HAND[""].get(name, []) if inspect.unwrap(function) is inspect.unwrap(torchs) else []


def takes_anything(function: Any) -> bool:
    return any(p.kind is VARIADIC for p in inspect.signature(function).parameters.values())


# == writing =====================================================================================================
class Stub:
    """The text of one stub.

    Args:
        module: the module's name, inside of the package.
        taken: the names that it defines, which therefore mean something else in it.
        shared: the names that it exports and that mean what they mean everywhere.
    """

    def __init__(self, module: str, taken: Iterable[str] = (), shared: Iterable[str] = ()) -> None:
        self.path = PACKAGE / (module.replace(".", "/") + ".pyi")
        self.depth = module.count(".") + 1
        self.taken, self.shared = set(taken) - set(shared), set(shared)
        self.used: set[str] = set()
        self.lines: list[str] = []

    def relative(self, module: str) -> str:
        """A module of the package, ``.core.tensor``, as this one imports it."""
        return "." * (self.depth - 1) + module

    def type(self, annotation: str) -> str:
        """An annotation in this module, whose words are noted.

        Raises:
            ValueError: for a word that the vocabulary lacks.
        """

        def word(found: re.Match[str]) -> str:
            name = found[0]
            if name in ("None", "True", "False"):
                return name
            if name not in VOCABULARY:
                raise ValueError(f"{self.path.name}: there is no {name} in the vocabulary")
            self.used.add(name)
            return f"_{name}" if name in self.taken else name

        return re.sub(r"(?<![\w.])[A-Za-z_]\w*", word, annotation)

    def define(self, name: str, forms: list[Form], says: str, indent: str = "", note: str = "") -> None:
        """A function with its forms; the docstring is that of the first, where editors look."""
        for i, form in enumerate(forms):
            if len(forms) > 1 and not form.decorator:
                self.lines.append(f"{indent}@{self.type('overload')}")
            if form.decorator:
                self.lines.append(f"{indent}@{form.decorator}")
            self.lines += self.head(name, form, indent, note if says and not i else f" ...{note}")
            if says and not i:
                self.lines += docstring(says, indent + "    ")

    def head(self, name: str, form: Form, indent: str, end: str) -> list[str]:
        parts = []
        kinds = [p.kind for p in form.parameters]
        for i, p in enumerate(form.parameters):
            if p.kind is KEYWORD and VARIADIC not in kinds[:i] and KEYWORD not in kinds[:i]:
                parts.append("*")
            parts.append(str(replace(p, annotation=self.type(p.annotation))) if p.annotation else p.name)
            if p.kind is POSITIONAL and (i + 1 == len(kinds) or kinds[i + 1] is not POSITIONAL):
                parts.append("/")
        tail = f") -> {self.type(form.result)}:{end}"
        line = f"{indent}def {name}({', '.join(parts)}{tail}"
        if len(line) <= WIDTH:
            return [line]
        return [f"{indent}def {name}(", *[f"{indent}    {part}," for part in parts], f"{indent}{tail}"]

    def imports(self) -> Iterator[str]:
        """What the words in annotations need, by module; builtins only where they have another name here."""
        modules: dict[str, list[str]] = defaultdict(list)
        for name in sorted(self.used - self.shared):
            module, alias = VOCABULARY[name], f"{name} as _{name}" if name in self.taken else name
            if module[0] == ".":
                home = PACKAGE / (module[1:].replace(".", "/") + ".pyi")
                module, alias = self.relative(module), alias if self.path != home else ""
            if alias and (module != "builtins" or name in self.taken):
                modules[module].append(alias)
        for module in sorted(modules, key=lambda m: (m[0] == ".", m)):
            names = ", ".join(modules[module])
            yield f"import {module} as {names}" if module == "numpy" else f"from {module} import {names}"

    def text(self, says: str) -> str:
        parts = [says and f'"""{says}"""', "\n".join(self.imports()), "\n".join(self.lines)]
        return WRITTEN + "\n\n".join(filter(None, parts)) + "\n"


def docstring(says: str, indent: str) -> list[str]:
    says = says.replace("\\", "\\\\").replace('"""', r"\"\"\"")
    says += " " * says.endswith('"')
    lines = textwrap.wrap(says, WIDTH - len(indent) - 6, break_long_words=False, break_on_hyphens=False)
    return [f'{indent}"""{lines[0]}', *[indent + line for line in lines[1:]]][: len(lines) - 1] + [
        f'{indent}"""{lines[0]}"""' if len(lines) == 1 else f'{indent}{lines[-1]}"""'
    ]


# == the stubs ===================================================================================================
def tensor_methods() -> tuple[pathlib.Path, str]:
    """Everything of ``Tensor`` that is not in the text of its class."""
    source = ast.parse((PACKAGE / "core" / "tensor.py").read_text("utf-8"))
    (own,) = [node for node in source.body if isinstance(node, ast.ClassDef) and node.name == "Tensor"]
    static = {n.name for n in own.body if isinstance(n, ast.FunctionDef)} | set(pullback.Tensor.__slots__)
    static |= {t.id for node in own.body if isinstance(node, ast.Assign) for t in node.targets if hasattr(t, "id")}
    static |= {n.target.id for n in own.body if isinstance(n, ast.AnnAssign)}
    dynamic = {n for n in vars(pullback.Tensor) if not n.startswith("__")} | METHODS.keys() | BY_HAND["Tensor"].keys()
    names = dynamic - static
    stub = Stub("core.tensor_methods", names)
    for line in ALIASES.strip().splitlines():
        stub.used |= {word for word in re.findall(r"[A-Za-z_]\w*", line) if word in VOCABULARY}
        stub.lines.append(line)
    stub.lines += ["", "class TensorMethods:"]
    for name in sorted(names):
        value = vars(pullback.Tensor)[name]
        note = "  # type: ignore[override]" * (name in ("__eq__", "__ne__"))
        stub.define(name, forms_of_method(name, value), summary(value), "    ", note)
    return stub.path, stub.text(
        "What operations add to ``Tensor`` where they are declared: its base, to type checkers."
    )


def results() -> tuple[pathlib.Path, str]:
    """The named tuples of operations with several results."""
    types = {n: t for n, t in vars(return_types).items() if isinstance(t, type) and hasattr(t, "_fields")}
    stub = Stub("return_types", types)
    stub.define("named", [read(return_types.named)], summary(return_types.named))
    for name, kind in sorted(types.items()):
        fields = [
            f"    {field}: {stub.type('tuple[Tensor, ...]' if field == 'bin_edges' and name[-1] == 'd' else 'Tensor')}"
            for field in kind._fields
        ]
        stub.lines += [f"class {name}({stub.type('NamedTuple')}):", *fields]
    return stub.path, stub.text(return_types.__doc__)


def imported(file: str) -> Iterator[tuple[str, str, str]]:
    """What a file imports from modules of the package: the name it has here, the module, its name there."""
    for node in ast.parse((PACKAGE / file).read_text("utf-8")).body:
        if isinstance(node, ast.ImportFrom) and node.level == file.count("/") + 1 and node.module:
            yield from ((alias.asname or alias.name, f".{node.module}", alias.name) for alias in node.names)


def functions(module: str, space: str) -> tuple[pathlib.Path, str]:
    """A module that holds functions made of operations, and no other."""
    home = importlib.import_module(f"pullback.{module}")
    stub = Stub(module, home.__all__)
    sources = {name: place for name, place, _ in imported(f"{module.replace('.', '/')}.py")}
    for name in sorted(home.__all__):
        value = getattr(home, name)
        if isinstance(value, type):
            stub.lines.append(f"from {stub.relative(sources[name])} import {name} as {name}")
        else:
            stub.define(name, forms_of_function(space, name, value), summary(function_of(value)))
    return stub.path, stub.text(summary(home))


def names() -> tuple[pathlib.Path, str]:
    """The public names of ``import pullback as torch``."""
    places = {name: (module, there) for name, module, there in imported("__init__.py") if name[0] not in "_*"}
    places["__version__"] = ".base.version", "__version__"
    for name, module in pullback._LATER.items():
        places[name] = "." + (home_of(f"pullback.{module}") or f"pullback.{module}").partition(".")[2], name
    starred = [module for name, module, _ in imported("__init__.py") if name == "*"]
    made = {n: getattr(pullback, n) for m in starred for n in importlib.import_module(f"pullback{m}").__all__}
    made = {name: value for name, value in made.items() if name not in places}
    made |= {n: v for n, v in vars(pullback).items() if isinstance(v, (pullback.dtype, pullback.layout, float))}
    made |= {n: getattr(pullback, n) for n, (module, there) in places.items() if there not in bound_in(module[1:])}
    made |= {"newaxis": None}
    shared = {n for n in VOCABULARY if n in places and places[n][0] == VOCABULARY[n]} | {"Generator", "return_types"}
    stub = Stub("__init__", places.keys() | made.keys(), shared)
    for name in sorted({*pullback._SUBMODULES, "autograd", "kernels", "ops"}):
        stub.lines.append(f"from .{'compat' if name[0] == '_' else ''} import {name} as {name}")
    for name, (module, there) in sorted(places.items()):
        if name not in made and name == there:
            stub.lines.append(f"from {module} import {name} as {name}")
        elif name not in made:
            stub.lines.append(f"{name} = {stub.type(there)}")
    for name, value in sorted(made.items()):
        function = function_of(value)
        if line := made_class(stub, name, value):
            stub.lines.append(line)
        elif isinstance(value, type):
            stub.lines.append(f"from .{value.__module__.partition('.')[2]} import {name} as {name}")
        elif callable(function) and not isinstance(value, pullback.dtype):
            stub.define(name, forms_of_function("", name, value), summary(function))
        else:
            kind = "None" if value is None else "dtype" if isinstance(value, pullback.dtype) else type(value).__name__
            stub.lines.append(f"{name}: {stub.type(kind)}")
    return stub.path, stub.text(summary(pullback))


def addresses() -> Iterator[tuple[pathlib.Path, str]]:
    """PyTorch's public addresses of modules that are elsewhere: folders, where type checkers find their names."""
    homes = {
        address: home
        for address, home in (ADDRESSES | FURTHER).items()
        if "_" not in (p[0] for p in address.split("."))
    }
    for address, home in list(homes.items()):
        files = sorted((PACKAGE / home.replace(".", "/")).rglob("*.py")) if home.startswith("compat.") else []
        inside = [".".join(f.relative_to(PACKAGE).with_suffix("").parts).removesuffix(".__init__") for f in files]
        homes |= {address + module.removeprefix(home): module for module in inside if "._" not in module}
    for address, home in sorted(homes.items()):
        stub = Stub(f"{address}.__init__")
        stub.lines.append(f"from {stub.relative('.' + home)} import *")
        inside = [a.rpartition(".")[2] for a in sorted(homes) if a.rpartition(".")[0] == address]
        stub.lines += [f"from . import {name} as {name}" for name in inside if name not in bound_in(home)]
        module = importlib.import_module(f"pullback.{home}")
        if home not in STUBBED:
            for name, value in sorted(vars(module).items()):
                if name[0] != "_" and callable(value) and name not in bound_in(home):
                    stub.lines.append(made_class(stub, name, value) or f"{name}: {stub.type('Any')}")
        if address == "functional":  # it looks its names up in torch
            stub.lines += [f"from .. import {name} as {name}" for name in sorted(module.NAMES)]
        yield stub.path, stub.text("")


@functools.cache
def bound_in(module: str) -> frozenset[str]:
    """The names that the text of a module mentions, outside of strings; those it has besides are made at run time."""
    found = importlib.import_module(f"pullback.{module}")
    return frozenset(found.__spec__.loader.get_code(found.__name__).co_names)  # type: ignore[union-attr]


def made_class(stub: Stub, name: str, value: Any) -> str:
    """The line for a class that is made at run time: a kind of tensors or storages; empty for anything else."""
    base = "Tensor" if isinstance(value, TensorType) else "TypedStorage"
    is_one = isinstance(value, TensorType) or isinstance(value, type) and issubclass(value, TypedStorage)
    return f"class {name}({stub.type(base)}): ..." if is_one else ""


def stubs() -> dict[pathlib.Path, str]:
    """The text of every stub by its path."""
    return dict([names(), tensor_methods(), results(), *[functions(*m) for m in STUBBED.items()], *addresses()])


def main(args: list[str]) -> int:
    """Write, or compare, also that there is no stub besides."""
    wanted, there = stubs(), set(PACKAGE.rglob("*.pyi"))
    if "--check" in args:
        stale = [p for p in there | wanted.keys() if p not in there or p.read_text("utf-8") != wanted.get(p)]
        print(*sorted(stale), sep="\n", file=sys.stderr)
        return bool(stale)
    for path in there - wanted.keys():
        path.unlink()
    for path, content in wanted.items():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content, "utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
