"""Pages whose code is run. What a block of Python prints, or the error in which it ends, is the text block below it."""

from __future__ import annotations

import io
import linecache
import re
import traceback
import warnings
from contextlib import redirect_stdout

BLOCK = re.compile(r"^```(python|text)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def outputs(page: str, name: str) -> list[tuple[str, str]]:
    """What each Python block printed, and the text block that follows it, or nothing. Lines count from the top."""
    space: dict[str, object] = {"__name__": name.removesuffix(".md")}
    linecache.cache[name] = len(page), None, page.splitlines(keepends=True), name
    pairs: list[tuple[str, str]] = []
    for block in BLOCK.finditer(page):
        if block[1] == "text":
            if pairs:
                pairs[-1] = pairs[-1][0], block[2]
            continue
        before = page.count("\n", 0, block.start(2))
        with redirect_stdout(io.StringIO()) as out, warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                exec(compile("\n" * before + block[2], name, "exec"), space)
            except Exception as error:
                print("".join(traceback.format_exception_only(error)), end="")
        pairs.append((out.getvalue(), ""))
    return pairs


def with_outputs(page: str, name: str) -> str:
    """The page, with text blocks that show what its code prints: in the place of the old ones, or new."""
    shown = iter([printed.rstrip() for printed, _ in outputs(page, name)])
    bare = re.sub(r"(?ms)(^```python\n(?:(?!^```$).)*^```$)\n+```text\n.*?^```$", r"\1", page)

    def show(block: re.Match[str]) -> str:
        printed = next(shown) if block[1] == "python" else ""
        return f"{block[0]}\n\n```text\n{printed}\n```" if printed else block[0]

    return BLOCK.sub(show, bare)
