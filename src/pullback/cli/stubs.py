"""``pullback stubs``: a package ``torch-stubs``, in which type checkers find Pullback's types for ``import torch``.

Each of its modules is of a few lines, which hand on the names of one of Pullback's. Type checkers look for a stub
package (PEP 561) among the installed ones before they look at the package itself.
"""

from __future__ import annotations

import importlib
import importlib.util
import pkgutil
import sys
import sysconfig
from collections.abc import Iterator
from pathlib import Path

from ..base.addresses import ADDRESSES, FURTHER, ROOT, address_of

MARK = "# Pullback in the place of PyTorch: written by `pullback stubs`.\n"


class NotWritten(Exception):
    """The stubs can't be written; the message says why."""


def write(name: str, folder: Path | None = None) -> Path:
    """Write the package ``NAME-stubs``, in place of the one that an earlier call wrote.

    Args:
        folder: where to; by default among the installed packages of this Python.

    Returns:
        the folder of the package.

    Raises:
        NotWritten: PyTorch is installed there, another ``NAME-stubs`` is in the way, or the folder is read-only.
    """
    if folder is None:
        from .provide import installed, ours

        folder = Path(sysconfig.get_path("purelib"))
        if others := [found for found in installed() if not ours(found)]:
            raise NotWritten(
                f"PyTorch {others[0].version} is installed here, whose own types these would hide.\n"
                "  Say --out FOLDER, or choose another environment."
            )
    package = folder / f"{name}-stubs"
    top = package / "__init__.pyi"
    if package.exists() and not (top.is_file() and top.read_text("utf-8").startswith(MARK)):
        raise NotWritten(f"{package} is there already, and `pullback stubs` has not written it.")
    try:
        for address, text in modules():
            file = package.joinpath(*address.split(".")[1:], "__init__.pyi")
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(MARK + text, "utf-8", newline="\n")
        (package / "py.typed").touch()
    except OSError as error:
        raise NotWritten(f"{folder} can't be written into: {error.strerror}.\n  Say --out FOLDER.") from None
    return package


def modules() -> Iterator[tuple[str, str]]:
    """The modules that PyTorch has, too: each with its address, and a text that hands on its names."""
    package = importlib.import_module(ROOT)
    homes = {f"{ROOT}.{address}": f"{ROOT}.{home}" for address, home in (ADDRESSES | FURTHER).items()}
    for found in pkgutil.walk_packages(package.__path__, f"{ROOT}.", onerror=lambda name: None):
        homes.setdefault(address_of(found.name), found.name)
    libraries = {*package._SUBMODULES, "autograd"}
    homes = {address: home for address, home in homes.items() if address.split(".")[1] in libraries}
    for home in homes.values():
        try:
            importlib.import_module(home)
        except ImportError:  # of a package that is not installed
            continue
    for name, module in list(sys.modules.items()):  # some give their modules further names themselves
        if name.startswith(f"{ROOT}.") and name.split(".")[1] in libraries:
            homes.setdefault(name, module.__name__)
    yield ROOT, f"from {ROOT} import *\nfrom {ROOT} import __version__ as __version__\n"
    for address, home in sorted(homes.items()):
        yield address, text(address, home)


def text(address: str, home: str) -> str:
    """The text that hands on the names of a module: all of ``__all__`` by name, however the module makes the list."""
    stub = Path(importlib.import_module(ROOT).__path__[0]).joinpath(*address.split(".")[1:], "__init__.pyi")
    source = address if stub.is_file() else home
    names = getattr(sys.modules.get(home), "__all__", ())
    lines = [f"from {source} import *", *[f"from {source} import {name} as {name}" for name in sorted(names)]]
    return "\n".join(lines) + "\n"
