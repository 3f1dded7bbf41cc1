"""Which names under ``torch`` other people's libraries use, by how many of them, and which of these Pullback lacks.

    python scripts/library_names.py FOLDER          # wheels, as `pip download --no-deps -d FOLDER NAME` leaves them
    python scripts/library_names.py                 # of the names in library_names.txt, those that are lacking

With a folder it writes library_names.txt beside this file: each name that several libraries use, and how many do. The
sources are parsed, not imported: imports of torch, and attributes of what they bind.
"""

from __future__ import annotations

import ast
import importlib
import sys
import zipfile
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

DATA = Path(__file__).with_name("library_names.txt")
ENOUGH = 3  # libraries


def names_in(source: str) -> Iterator[str]:
    """The dotted names under ``torch`` that a module imports or reads."""
    bound: dict[str, str] = {}  # what a local name stands for
    tree = ast.parse(source)
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                if alias.name.partition(".")[0] == "torch":
                    yield alias.name
                    bound[alias.asname or "torch"] = alias.name if alias.asname else "torch"
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            if node.module.partition(".")[0] == "torch":
                yield node.module
                for alias in node.names:
                    if alias.name != "*":
                        yield f"{node.module}.{alias.name}"
                        bound[alias.asname or alias.name] = f"{node.module}.{alias.name}"
    stored = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load)}
    for node in ast.walk(tree):
        path = []
        while isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Load):
            path.append(node.attr)
            node = node.value
        if path and isinstance(node, ast.Name) and node.id in bound and node.id not in stored:
            name = bound[node.id]
            for part in reversed(path):
                name += f".{part}"
                yield name


def libraries_by_name(folder: Path) -> dict[str, set[str]]:
    """For each name, the libraries whose wheels in a folder use it; their own tests do not count."""
    found: defaultdict[str, set[str]] = defaultdict(set)
    for wheel in sorted(folder.glob("*.whl")):
        library = wheel.name.partition("-")[0].lower()
        with zipfile.ZipFile(wheel) as archive:
            for path in archive.namelist():
                if path.endswith(".py") and not {"test", "tests", "testing"} & set(path.split("/")):
                    try:
                        names = set(names_in(archive.read(path).decode("utf-8", "replace")))
                    except SyntaxError:
                        continue
                    for name in names:
                        found[name].add(library)
    return found


def there(name: str) -> bool:
    """Whether a name under ``torch`` is in Pullback, be it a module or something in one."""
    module = importlib.import_module("pullback")
    rest = name.replace("torch.torch", "torch").split(".")[1:]  # which is there under PyTorch's name only
    value: object = module
    for end, part in enumerate(rest, 1):
        try:
            value = getattr(value, part)
        except AttributeError:
            try:
                value = importlib.import_module(".".join(["pullback", *rest[:end]]))
            except ImportError:
                return False
    return True


def read() -> dict[str, int]:
    """The names of library_names.txt, and how many libraries use each."""
    lines = DATA.read_text().splitlines()
    return {name: int(count) for name, count in (line.split() for line in lines if not line.startswith("#"))}


def main() -> None:
    if sys.argv[1:]:
        found = libraries_by_name(Path(sys.argv[1]))
        count = len({library for libraries in found.values() for library in libraries})
        ranked = sorted((-len(libraries), name) for name, libraries in found.items() if len(libraries) >= ENOUGH)
        head = (
            f"# Names under torch that at least {ENOUGH} of {count} libraries use, and how many do: library_names.py.\n"
        )
        DATA.write_text(head + "".join([f"{name} {-n}\n" for n, name in ranked]))
    for name, n in read().items():
        if not there(name):
            print(f"{n:4} {name}")


if __name__ == "__main__":
    main()
