"""The tutorial's code is run, and prints what the tutorial shows; its pictures are those that it describes."""

from __future__ import annotations

import re
from pathlib import Path

from tests.pages import outputs

TUTORIAL = Path(__file__).parents[2] / "docs" / "tutorial.md"


def test_every_block_prints_what_the_page_shows():
    pairs = outputs(TUTORIAL.read_text(encoding="utf-8"), "tutorial.md")
    assert len(pairs) >= 10
    for printed, shown in pairs:
        assert printed.rstrip() == shown.rstrip()


def test_its_pictures_are_there():
    pictures = re.findall(r"!\[.*?\]\((.*?)\)", TUTORIAL.read_text(encoding="utf-8"))
    assert {p.rpartition(".")[2] for p in pictures} == {"svg", "png"}
    for picture in pictures:
        start = b"<svg" if picture.endswith(".svg") else b"\x89PNG"
        assert (TUTORIAL.parent / picture).read_bytes().startswith(start)
