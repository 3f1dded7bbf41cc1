"""``docs/architecture.md`` shows which functions of the package a backward pass runs: they are traced and compared.

``python tests/test_architecture.py`` writes the traces into the page. Files that pages name have to exist.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

import pullback

ROOT = Path(__file__).resolve().parents[1]
PAGE = ROOT / "docs" / "architecture.md"
# Runs in a process of its own, where nothing is warm yet; prints the two traces.
PROGRAM = """
import json, sys
import pullback as torch

PACKAGE = torch.__path__[0].replace("\\\\", "/") + "/"

def forward():
    global y
    y = x * x

def backward():
    y.backward(g)

def traced(line):
    entries, depth = [], 0

    def note(frame, event, function):
        nonlocal depth
        file = frame.f_code.co_filename.replace("\\\\", "/")
        inside = file.startswith(PACKAGE)
        if event == "call" and inside:
            depth += 1
            entries.append((depth, file.removeprefix(PACKAGE), frame.f_code.co_qualname.replace("<locals>.", "")))
        elif event == "return" and inside:
            depth -= 1
        elif event == "c_call" and inside and getattr(function, "__self__", function) is None:
            entries.append((depth + 1, "(machine code)", function.__name__))

    sys.setprofile(note)
    try:
        line()
    finally:
        sys.setprofile(None)
    return entries

x = torch.tensor([2.0, 3.0], requires_grad=True)
g = torch.tensor([1.0, 0.5])
forward(), backward()  # the first op of a file also notes that the file is the user's
traces = []
for recorded in (0, 5000):
    for _ in range(recorded):
        x * x
    x.grad = None
    traces.append([("y = x * x", traced(forward)), ("y.backward(g)", traced(backward))])
    assert x.grad.tolist() == [4.0, 3.0]
print(json.dumps(traces))
"""


def traces() -> list[str]:
    """The blocks of the page: cold and warm."""
    environment = {k: v for k, v in os.environ.items() if not k.startswith("PULLBACK_")}
    environment["PYTHONPATH"] = str(ROOT / "src")
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM], env=environment, capture_output=True, text=True, timeout=300, check=True
    )
    blocks = []
    for trace in json.loads(done.stdout):
        lines = []
        for title, entries in trace:
            lines.append(title)
            lines += [f"  {file:<26}{'  ' * (depth - 1)}{name}" for depth, file, name in entries]
        blocks.append("```text\n" + "\n".join(lines) + "\n```")
    return blocks


SHOWN = re.compile(r"```text\ny = x \* x\n.*?```", re.DOTALL)


@pytest.mark.skipif(not pullback.kernels.info()["running"], reason="there is no machine code here")
def test_the_page_shows_what_a_backward_pass_runs() -> None:
    assert SHOWN.findall(PAGE.read_text("utf-8")) == traces(), "run python tests/test_architecture.py"


PAGES = sorted([*ROOT.glob("docs/**/*.md"), *(page for page in ROOT.glob("*.md") if page.name != "CHANGELOG.md")])
FENCED = re.compile(r"^```.*?^```$", re.DOTALL | re.MULTILINE)
FILES = re.compile(r"`((?:[\w.]+/)+(?:[\w.]+\.\w+)?)`")
LINKS = re.compile(r"\]\(([^)#:\s]+)(?:#[^)]*)?\)")
PATHS = [
    f"/{p.relative_to(ROOT).as_posix()}" + "/" * p.is_dir()
    for top in ("src", "tests", "docs", "scripts", "benchmarks", "changes", "examples")
    for p in [ROOT / top, *(ROOT / top).rglob("*")]
]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_files_that_pages_name_and_link_to_exist(page: Path) -> None:
    text = FENCED.sub("", page.read_text("utf-8"))
    files = [name for name in FILES.findall(text) if not any(path.endswith(f"/{name}") for path in PATHS)]
    links = [link for link in LINKS.findall(text) if not (page.parent / link).exists()]
    assert files + links == []


if __name__ == "__main__":
    blocks = iter(traces())
    PAGE.write_text(SHOWN.sub(lambda _: next(blocks), PAGE.read_text("utf-8")), "utf-8", newline="\n")
