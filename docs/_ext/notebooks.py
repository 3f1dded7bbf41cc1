"""Puts the tutorial and the pages of ``understand`` together as notebooks that run in the browser: ``_built/lite``.

JupyterLite, because it is a site of files like ours, with a kernel on Pyodide. It comes with a wheel of Pullback, which
the first cell of each notebook installs; Pyodide itself is taken from ``PULLBACK_PYODIDE``, or where JupyterLite has
it from.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from sphinx.application import Sphinx

PAGES = ["tutorial.md", *(f"understand/{n}.md" for n in ("vjp", "functions", "hooks", "double-backward", "in-place"))]
PAGES += ["understand/forward-and-vmap.md", "understand/nan.md"]
BLOCK = re.compile(r"^```(\w+)\n(.*?)^```\n?", re.MULTILINE | re.DOTALL)
INSTALL = "%pip install -q --no-deps pullback\nimport numpy, rich  # so that Pyodide loads them"


def notebook(page: str) -> dict[str, Any]:
    """A page as a notebook: its Python blocks are cells, the text block behind one is what that cell printed."""
    cells, end = [cell("code", INSTALL)], 0
    for block in BLOCK.finditer(page):
        prose, end = page[end : block.start()].strip(), block.end()
        cells += [cell("markdown", prose)] if prose else []
        if block[1] == "python":
            cells.append(cell("code", block[2].rstrip()))
        elif block[1] == "text":
            cells[-1]["outputs"] = [{"output_type": "stream", "name": "stdout", "text": block[2]}]
    if rest := page[end:].strip():
        cells.append(cell("markdown", rest))
    kernel = {"name": "python", "display_name": "Python (Pyodide)", "language": "python"}
    return {"cells": cells, "metadata": {"kernelspec": kernel}, "nbformat": 4, "nbformat_minor": 4}


def cell(kind: str, source: str) -> dict[str, Any]:
    made: dict[str, Any] = {"cell_type": kind, "metadata": {}, "source": source}
    return made | {"execution_count": None, "outputs": []} if kind == "code" else made


def assemble(docs: Path, target: Path, base: str | None = None) -> None:
    """Make the site of notebooks in a folder; ``base`` is the address of Pyodide."""
    with tempfile.TemporaryDirectory() as folder:
        work, contents = Path(folder), Path(folder) / "contents"
        for name in PAGES:
            made = contents / name.replace(".md", ".ipynb")
            made.parent.mkdir(parents=True, exist_ok=True)
            made.write_text(json.dumps(notebook((docs / name).read_text("utf-8"))), "utf-8")
        shutil.copytree(docs / "tutorial", contents / "tutorial")  # its pictures
        run("hatchling", "build", "-t", "wheel", "-d", folder, folder=docs.parent)
        (wheel,) = work.glob("pullback-*.whl")
        if base:
            kernel = {"@jupyterlite/pyodide-kernel-extension:kernel": {"pyodideUrl": base.rstrip("/") + "/pyodide.js"}}
            settings = {"jupyter-lite-schema-version": 0, "jupyter-config-data": {"litePluginSettings": kernel}}
            (work / "jupyter-lite.json").write_text(json.dumps(settings), "utf-8")
        options = ["--contents", str(contents), "--piplite-wheels", str(wheel), "--apps", "notebooks", "--apps", "tree"]
        run("jupyter", "lite", "build", *options, "--no-sourcemaps", "--output-dir", str(target), folder=work)


def run(*command: str, folder: Path) -> None:
    """Run a module; what it says is shown if it fails."""
    done = subprocess.run([sys.executable, "-m", *command], cwd=folder, capture_output=True, text=True)
    if done.returncode:
        raise RuntimeError(f"{' '.join(command)}\n{done.stdout}{done.stderr}")


def build(app: Sphinx) -> None:
    docs = Path(app.srcdir)
    assemble(docs, docs / "_built" / "lite", os.environ.get("PULLBACK_PYODIDE"))


def setup(app: Sphinx) -> dict[str, bool]:
    app.connect("builder-inited", build)
    return {"parallel_read_safe": True}
