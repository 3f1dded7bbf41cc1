"""Writes ``reference/<module>.rst`` before a build: every public name of every public module, from its docstring.

Below the docstring of an operation stand its derivative rules, as the source states them.
"""

from __future__ import annotations

import ast
import importlib
import inspect
from pathlib import Path
from typing import Any

from sphinx.application import Sphinx

from pullback.explain.source_to_formula import Unreadable, definition

MODULES = """
    pullback amp autograd autograd.forward_ad autograd.functional autograd.graph autograd.profiler compiler
    distributed distributions explain fft func fx jit library linalg masked multiprocessing nn nn.functional nn.init
    nn.utils onnx optim optim.lr_scheduler overrides quasirandom random serialization sparse special testing
    utils.checkpoint utils.data
""".split()
HEADER = "..  Written by docs/_ext/reference.py\n\n"


def public_names(module: Any) -> list[str]:
    """What ``__all__`` lists, and for the package itself all that it publishes."""
    names = getattr(module, "__all__", None)
    if module.__name__ == "pullback":
        names = [name for name in dir(module) if name not in {"inf", "nan", "pi", "e", "annotations"}]
    elif not names:
        names = [n for n, v in vars(module).items() if getattr(v, "__module__", None) == module.__name__]
    return sorted({name for name in names if not name.startswith("_")})


def entry(address: str, value: Any) -> str:
    """The directive that documents one name; nothing for a module."""
    if inspect.ismodule(value) or value is None or isinstance(value, type) and value.__name__ != address.split(".")[-1]:
        return ""
    if isinstance(value, type):
        return f".. autoclass:: {address}\n   :members:\n\n"
    if callable(value) and inspect.getdoc(value):
        return f".. autofunction:: {address}\n\n"
    return ""


def page(address: str, documented: dict[Any, str]) -> str:
    """A module's page. What another page has already is only named."""
    module = importlib.import_module(address)
    parts, elsewhere = [], []
    for name in public_names(module):
        value, place = getattr(module, name), f"{address}.{name}"
        home = documented.setdefault(value if value.__hash__ else id(value), place)
        if home == place:
            parts.append(entry(place, value))
        elif callable(value):
            elsewhere.append(f"- ``{name}``: :py:obj:`{home}`\n")
    if elsewhere:
        parts.append("Also here:\n\n" + "".join(elsewhere))
    return f"{HEADER}{address}\n{'=' * len(address)}\n\n.. automodule:: {address}\n\n{''.join(parts)}"


def write(app: Sphinx) -> None:
    folder = Path(app.srcdir) / "reference"
    documented: dict[Any, str] = {}
    for name in MODULES:
        address = name if name == "pullback" else f"pullback.{name}"
        text = page(address, documented)
        path = folder / f"{address}.rst"
        if not path.exists() or path.read_text("utf-8") != text:
            path.write_text(text, "utf-8")


def rules(value: Any) -> list[str]:
    """The derivative rules of an operation, as lines of reStructuredText."""
    found = []
    for name, rule in getattr(getattr(value, "op", None), "rules", {}).items():
        try:
            node = definition(rule.__code__)
        except (AttributeError, Unreadable):
            continue
        if isinstance(node, ast.Lambda):
            found.append(f"- ``{name}``: ``{ast.unparse(node.body)}``")
    return ["", "Derivative, where ``g`` is the gradient that arrives:", "", *found, ""] if found else []


def add_facts(app: Sphinx, what: str, name: str, value: Any, options: Any, lines: list[str]) -> None:
    lines += rules(value)
    own = getattr(value, "__name__", None)  # of an object that is called, None
    if what == "function" and own is not None and own != name.rpartition(".")[2]:  # viewcode does not find it
        lines += ["", f"Source: ``{own}`` in ``{value.__module__.replace('.', '/')}.py``.", ""]


def skip(app: Sphinx, what: str, name: str, value: Any, skipped: bool, options: Any) -> bool | None:
    """Tables and descriptors of distributions, which have no signature or docstring of their own."""
    return True if name == "arg_constraints" or type(value).__name__ == "lazy_property" else None


def setup(app: Sphinx) -> dict[str, bool]:
    app.connect("builder-inited", write)
    app.connect("autodoc-process-docstring", add_facts, priority=400)
    app.connect("autodoc-skip-member", skip)
    return {"parallel_read_safe": True}
