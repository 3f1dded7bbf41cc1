"""Puts the playground together before a build: ``_built/playground``, with Pullback as an archive and its programs.

``PULLBACK_PYODIDE`` is where the page gets Pyodide from, by default its content delivery network. The editor was
bundled by ``esbuild --bundle --minify --format=esm`` from one file, which exports the names that ``playground.js``
imports from the packages codemirror, @codemirror/state, view, lint, lang-python and theme-one-dark.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import zipfile
from pathlib import Path
from typing import TYPE_CHECKING

import pullback

if TYPE_CHECKING:
    from sphinx.application import Sphinx

PACKAGE = Path(pullback.__file__).parent


def title(program: Path) -> str:
    return program.stem.lstrip("0123456789_").replace("_", " ").capitalize()


def assemble(docs: Path, target: Path, base: str | None = None) -> None:
    """Make the playground in a folder; ``base`` is the address of Pyodide."""
    shutil.copytree(docs / "playground", target, dirs_exist_ok=True)
    if base:
        page = target / "index.html"
        text = page.read_text("utf-8")
        page.write_text(re.sub(r'(name="pyodide" content=")[^"]*', lambda m: m[1] + base, text), "utf-8")
    programs = [*sorted((PACKAGE / "cli" / "demos").glob("[0-9]*.py")), *sorted((docs / "gallery").glob("*.py"))]
    entries = [{"title": title(p), "code": p.read_text("utf-8")} for p in programs]
    (target / "programs.json").write_text(json.dumps(entries), "utf-8")
    with zipfile.ZipFile(target / "pullback.zip", "w", zipfile.ZIP_DEFLATED) as archive:
        for path in sorted(PACKAGE.rglob("*")):
            if path.is_file() and "__pycache__" not in path.parts:
                archive.write(path, Path("pullback") / path.relative_to(PACKAGE))


def build(app: Sphinx) -> None:
    docs = Path(app.srcdir)
    assemble(docs, docs / "_built" / "playground", os.environ.get("PULLBACK_PYODIDE"))


def setup(app: Sphinx) -> dict[str, bool]:
    app.connect("builder-inited", build)
    return {"parallel_read_safe": True}
