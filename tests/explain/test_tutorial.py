"""The tutorial's code is run, and prints what the tutorial shows; its pictures are those that it describes."""

from __future__ import annotations

import io
import linecache
import re
from contextlib import redirect_stdout
from pathlib import Path

TUTORIAL = Path(__file__).parents[2] / "docs" / "tutorial.md"
BLOCK = re.compile(r"^```(python|text)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def outputs(page: str) -> list[tuple[str, str]]:
    """What each python block printed, and the text block that follows it (or nothing). Line numbers are the page's
    own.
    """
    space: dict[str, object] = {"__name__": "tutorial"}
    linecache.cache["tutorial.md"] = len(page), None, page.splitlines(keepends=True), "tutorial.md"
    pairs: list[tuple[str, str]] = []
    for block in BLOCK.finditer(page):
        if block[1] == "text":
            pairs[-1] = pairs[-1][0], block[2]
            continue
        before = page.count("\n", 0, block.start(2))
        with redirect_stdout(io.StringIO()) as out:
            exec(compile("\n" * before + block[2], "tutorial.md", "exec"), space)
        pairs.append((out.getvalue(), ""))
    return pairs


def test_every_block_prints_what_the_page_shows():
    pairs = outputs(TUTORIAL.read_text(encoding="utf-8"))
    assert len(pairs) >= 10
    for printed, shown in pairs:
        assert printed.rstrip() == shown.rstrip()


def test_its_pictures_are_there():
    pictures = re.findall(r"!\[.*?\]\((.*?)\)", TUTORIAL.read_text(encoding="utf-8"))
    assert {p.rpartition(".")[2] for p in pictures} == {"svg", "png"}
    for picture in pictures:
        start = b"<svg" if picture.endswith(".svg") else b"\x89PNG"
        assert (TUTORIAL.parent / picture).read_bytes().startswith(start)
