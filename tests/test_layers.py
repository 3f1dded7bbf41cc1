"""Imports only go down. The layers, from the ground up, are those of ``docs/architecture.md``, which a test compares.

Every import counts, those inside functions too, but not those for type checkers alone; so do uses of a module through
its package (``from .. import ops`` and then ``ops.reduce.sum_to``). There are no circles between files, nor through the
packages that they are in, but inside ``ops/``, where a rule names a sibling family when it runs (see
``ops/__init__.py``).
"""

import ast
import functools
import re
from collections import defaultdict
from pathlib import Path

PACKAGE = Path(__file__).parents[1] / "src" / "pullback"
PAGE = Path(__file__).parents[1] / "docs" / "architecture.md"
LAYERS = [
    "base return_types",
    "kernels rng",
    "core",
    "ops",
    "engine",
    "levels",
    "autograd",
    "amp distributions library masked multiprocessing nn optim overrides serialization testing utils",
    "compiler explain func fx onnx",
    "compat",
    "distributed",
    "__init__",  # the names that users see
    "__main__ cli",
]
FLOOR = {name: number for number, names in enumerate(LAYERS) for name in names.split()}
PROGRAMS = ("cli/demos/", "cli/_child/")  # files that are run, not imported
Edges = dict[str, dict[str, list[int]]]  # module -> module that it needs -> the lines that say so


def modules() -> dict[str, Path]:
    """Every module of the package, by its dotted name inside of it; the package itself is ``__init__``."""
    found = {}
    for file in PACKAGE.rglob("*.py"):
        path = file.relative_to(PACKAGE)
        if not path.as_posix().startswith(PROGRAMS):
            parts = path.with_suffix("").parts
            found[".".join(parts[:-1] if parts[-1] == "__init__" and len(parts) > 1 else parts)] = file
    return found


class Imports(ast.NodeVisitor):
    """What one file imports, with the lines."""

    def __init__(self, name: str, file: Path, known: dict[str, Path]) -> None:
        self.known, self.found = known, defaultdict(list)
        self.package = [] if name == "__init__" else name.split(".")[: None if file.name == "__init__.py" else -1]
        self.aliases: dict[str, str] = {}  # local name -> the package that it stands for
        self.visit(ast.parse(file.read_text(encoding="utf-8")))

    def visit_If(self, node: ast.If) -> None:
        if "TYPE_CHECKING" not in ast.unparse(node.test):
            self.generic_visit(node)
        else:
            for part in node.orelse:
                self.visit(part)

    def visit_Import(self, node: ast.Import) -> None:
        for alias in node.names:
            top, _, rest = alias.name.partition(".")
            if top == "pullback":
                self.add(rest or "__init__", node.lineno)
                self.aliases[alias.asname or "pullback"] = rest if alias.asname else "__init__"

    def visit_ImportFrom(self, node: ast.ImportFrom) -> None:
        if node.level:
            path = [*self.package[: len(self.package) + 1 - node.level], *(node.module or "").split(".")]
        elif node.module is not None and node.module.partition(".")[0] == "pullback":
            path = node.module.split(".")[1:]
        else:
            return
        base = ".".join(filter(None, path))
        for alias in node.names:
            inside = f"{base}.{alias.name}".lstrip(".")
            if inside in self.known:
                self.aliases[alias.asname or alias.name] = inside
            self.add(inside if inside in self.known else base or "__init__", node.lineno)

    def visit_Attribute(self, node: ast.Attribute) -> None:
        names, value = [node.attr], node.value
        while isinstance(value, ast.Attribute):
            names.append(value.attr)
            value = value.value
        sibling = self.package[:1] == ["ops"] and isinstance(value, ast.Name) and self.aliases.get(value.id) == "ops"
        if isinstance(value, ast.Name) and value.id in self.aliases and not sibling:
            at = "" if self.aliases[value.id] == "__init__" else self.aliases[value.id]
            for name in reversed(names):
                at = f"{at}.{name}".lstrip(".")
                if at not in self.known:
                    break
                self.add(at, node.lineno)
        self.generic_visit(node)

    def add(self, name: str, line: int) -> None:
        self.found[name].append(line)


@functools.cache
def edges() -> Edges:
    known = modules()
    return {name: Imports(name, file, known).found for name, file in known.items()}


def with_packages(name: str) -> list[str]:
    """The module and the packages that it is in: to import ``x.y`` runs ``x/__init__.py``."""
    parts = name.split(".")
    return [".".join(parts[:end]) for end in range(len(parts), 0, -1)]


def top(name: str) -> str:
    return name.partition(".")[0]


def circles(graph: Edges) -> list[list[str]]:
    """Groups of files that need each other (Tarjan 1972), without recursion on the depth of the package."""
    number: dict[str, int] = {}
    low: dict[str, int] = {}
    stack: list[str] = []
    found = []

    def visit(name: str) -> None:
        number[name] = low[name] = len(number)
        stack.append(name)
        for other in graph.get(name, ()):
            if other not in number:
                visit(other)
                low[name] = min(low[name], low[other])
            elif other in stack:
                low[name] = min(low[name], number[other])
        if low[name] == number[name]:
            group = stack[stack.index(name) :]
            del stack[stack.index(name) :]
            if len(group) > 1:
                found.append(sorted(group))

    for name in graph:
        if name not in number:
            visit(name)
    return found


def test_every_file_has_a_layer() -> None:
    assert {top(name) for name in modules()} == set(FLOOR)


def test_imports_only_go_down() -> None:
    wrong = [
        f"{name} imports {other}, line {lines[0]}"
        for name, needed in edges().items()
        for other, lines in needed.items()
        if FLOOR[top(other)] > FLOOR[top(name)]
    ]
    assert not wrong, "\n".join(wrong)


def test_there_are_no_circles() -> None:
    graph: Edges = {
        name: {
            other: lines
            for inner, lines in needed.items()
            for other in with_packages(inner)
            if other != name and not name.startswith(f"{other}.")  # a package is there before what is in it
        }
        for name, needed in edges().items()
        if name != "__init__"
    }
    assert circles(graph) == []


# --- the page ---------------------------------------------------------------------------------------------------


def named(heading: str) -> list[list[str]]:
    """What the rows of the table under a heading of the page name in their first column."""
    section = PAGE.read_text(encoding="utf-8").partition(f"\n## {heading}\n")[2].partition("\n## ")[0]
    cells = [line.split(" | ")[0] for line in section.splitlines() if line.startswith("| `")]
    return [re.findall(r"`(.*?)`", cell) for cell in cells]


def test_the_page_shows_these_layers() -> None:
    assert named("Layers") == [sorted(names.split()) for names in LAYERS]


def test_the_page_says_what_every_folder_holds() -> None:
    files = {p.relative_to(PACKAGE).parts for p in PACKAGE.rglob("*.py")}  # a folder of stubs alone is an address
    entries = {top[0] + "/" * bool(inside) for top, inside in ((parts[:1], parts[1:]) for parts in files)}
    assert sorted(name for names in named("Folders") for name in names) == sorted(entries - {"__pycache__/"})


def test_the_page_says_when_every_slot_is_called() -> None:
    slots = ast.parse((PACKAGE / "core" / "slots.py").read_text(encoding="utf-8"))
    declared = [node.target.id for node in slots.body if isinstance(node, ast.AnnAssign)]  # type: ignore[union-attr]
    assert sorted(name for names in named("Late-bound slots") for name in names) == sorted(declared)
