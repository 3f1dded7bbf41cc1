"""Explains the programs of the gallery before a build: ``_built/gallery/<program>.html``, which are whole pages."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from sphinx.application import Sphinx


def explain(app: Sphinx) -> None:
    folder = Path(app.srcdir)
    # The second demo is refused before its pass begins.
    demos = Path(__import__("pullback").__file__).parent / "cli" / "demos"
    for program in [*sorted(demos.glob("[!2_]*.py")), *sorted((folder / "gallery").glob("*.py"))]:
        page = folder / "_built" / "gallery" / f"{program.stem}.html"
        page.parent.mkdir(parents=True, exist_ok=True)
        if not page.exists() or page.stat().st_mtime < program.stat().st_mtime:
            command = [sys.executable, "-m", "pullback", "explain", program.name, "--out", str(page)]
            subprocess.run(command, check=True, cwd=program.parent, stdout=subprocess.DEVNULL, timeout=300)


def setup(app: Sphinx) -> dict[str, bool]:
    app.connect("builder-inited", explain)
    return {"parallel_read_safe": True}
