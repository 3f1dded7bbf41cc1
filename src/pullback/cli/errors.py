"""``pullback errors``: the pages about errors and findings, in the terminal.

They are those of the site, docs/errors. A wheel has a copy of them, so that a message can lead to its page where there
is no network.
"""

from __future__ import annotations

import re
import sys
from difflib import get_close_matches
from pathlib import Path

import click


def folder() -> Path:
    """Where the pages are: within the installed package, or in the documentation beside a checkout's sources."""
    installed = Path(__file__).with_name("error_pages")
    return installed if installed.is_dir() else Path(__file__).parents[3] / "docs" / "errors"


def pages() -> dict[str, Path]:
    """The pages by name: first those of errors, then those of findings."""
    return {
        page.stem: page
        for pattern in ("*.md", "findings/*.md")
        for page in sorted(folder().glob(pattern))
        if page.stem != "index"
    }


def show(name: str | None) -> None:
    """Print a page, or the names and titles of all.

    Raises:
        click.BadParameter: there is no such page; the message names those with a similar name.
    """
    known = pages()
    if name is None:
        for each, page in known.items():
            printable(f"{each:<25} {title(page)}")
        return
    if name not in known:
        close = [each for each in known if name in each] or get_close_matches(name, known)
        meant = f" Did you mean {' or '.join(close)}?" if close else ""
        raise click.BadParameter(f"there is no page {name!r}.{meant} Without a name, all are listed.")
    text = readable(known[name])
    if not sys.stdout.isatty():
        printable(text)
        return
    from rich.console import Console
    from rich.markdown import Markdown

    Console().print(Markdown(text))


def title(page: Path) -> str:
    """The heading of a page."""
    with page.open(encoding="utf-8") as lines:
        return next(lines).removeprefix("# ").rstrip()


def readable(page: Path) -> str:
    """A page without what only the site can follow: its links, but for those to other pages of these, and its menu."""
    known = {other.resolve() for other in pages().values()}

    def plain(link: re.Match[str]) -> str:
        words, other = link[1], page.parent.joinpath(link[2]).resolve()
        return f"{words} (`pullback errors {other.stem}`)" if other in known and other.stem not in words else words

    text = re.sub(r"\n```\{toctree\}.*?\n```\n", "", page.read_text("utf-8"), flags=re.DOTALL)
    return re.sub(r"\[([^\]]+)\]\(([\w./-]+\.md)(?:#[\w-]+)?\)", plain, text).rstrip()


def printable(text: str) -> None:
    """Print what the encoding of the output has characters for."""
    encoding = sys.stdout.encoding or "utf-8"
    click.echo(text.encode(encoding, "replace").decode(encoding))
