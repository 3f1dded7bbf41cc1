"""Other people's libraries: each in an environment of its own, running a small task without PyTorch.

    python scripts/libraries.py                       # all of them
    python scripts/libraries.py kornia captum         # some
    python scripts/libraries.py --judge               # and under PyTorch beside, comparing what they print
    python scripts/libraries.py --judge PYTHON        # PyTorch is that of this Python: nothing is installed for it
    python scripts/libraries.py --judge --page FILE   # write the table as a page, too

Each library is installed by pip into an environment that has Pullback and `pullback provide-torch`, so that no PyTorch
comes with it; with --judge PyTorch is installed into a second one. Its task, scripts/libraries/NAME.py, prints numbers.
They agree if they differ by less than one part in 10,000.
"""

from __future__ import annotations

import argparse
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).parent.parent
TASKS = Path(__file__).with_name("libraries")
NUMBER = re.compile(r"-?\d+\.?\d*(?:e[+-]?\d+)?|nan|inf")
TOLERANCE = 1e-4


def requirements(task: Path) -> list[str]:
    """What pip is to install: the task's first line says so."""
    first = task.read_text().splitlines()[0]
    return first.removeprefix("# pip install ").split()


def run(*command: str | Path, seconds: int = 900) -> subprocess.CompletedProcess[str]:
    variables = {k: v for k, v in os.environ.items() if k != "PYTHONPATH"} | {"PYTHONWARNINGS": "ignore"}
    try:
        return subprocess.run(command, capture_output=True, text=True, timeout=seconds, env=variables)
    except subprocess.TimeoutExpired:
        return subprocess.CompletedProcess(command, 1, "", f"longer than {seconds} seconds")


def environment(folder: Path, task: Path, judge: bool) -> Path:
    """The Python of an environment with the library; it is made if it is not there.

    Raises:
        RuntimeError: pip could not install it, or has brought PyTorch.
    """
    env = folder / f"{task.stem}{'-pytorch' if judge else ''}"
    python = env / ("Scripts/python.exe" if os.name == "nt" else "bin/python")
    done = env / "installed"
    if done.exists():
        return python
    first = ["torch==2.13.0"] if judge else [str(ROOT)]
    for command in (
        [sys.executable, "-m", "venv", "--clear", env],
        [python, "-m", "pip", "install", "--quiet", *first],
        *([] if judge else [[python, "-m", "pullback", "provide-torch"]]),
        [python, "-m", "pip", "install", "--quiet", *requirements(task)],
    ):
        got = run(*command)
        if got.returncode:
            raise RuntimeError(f"not installed: {last_line(got.stderr)}")
    version = run(python, "-c", "import importlib.metadata as m; print(m.version('torch'))").stdout.strip()
    if ("pullback" in version) is judge:
        raise RuntimeError(f"torch {version} was installed")
    done.touch()
    return python


def last_line(text: str) -> str:
    lines = [line for line in text.strip().splitlines() if line.strip()]
    return lines[-1].strip() if lines else ""


def difference(ours: str, theirs: str) -> str:
    """Nothing if two outputs agree, else where they do not."""
    for line, other in zip(ours.splitlines(), theirs.splitlines()):
        a, b = NUMBER.findall(line), NUMBER.findall(other)
        if len(a) != len(b) or NUMBER.sub("", line) != NUMBER.sub("", other):
            return f"`{line}` for `{other}`"
        for x, y in zip(map(float, a), map(float, b)):
            if x != y and not abs(x - y) <= TOLERANCE * max(abs(x), abs(y), 1e-3) and not (x != x and y != y):
                return f"`{line}` for `{other}`"
    return "" if len(ours.splitlines()) == len(theirs.splitlines()) else "lines are missing"


BEHIND = "import runpy, sys; sys.path.append(sys.argv[1]); runpy.run_path(sys.argv[2], run_name='__main__')"


def outcome(folder: Path, task: Path, judge: str | None) -> str:
    """How a library fares, in a few words.

    Args:
        judge: the Python that has PyTorch, or "" for one with a PyTorch to be installed; None for none.
    """
    try:
        python = environment(folder, task, False)
        got = run(python, "-P", task)  # not the folder of tasks, which are named as libraries are
        if got.returncode:
            return last_line(got.stderr)
        if judge is None:
            return f"runs: {last_line(got.stdout)}"
        if judge:
            site = run(python, "-c", "import sysconfig; print(sysconfig.get_path('purelib'))").stdout.strip()
            theirs = run(judge, "-c", BEHIND, site, task)
        else:
            theirs = run(environment(folder, task, True), "-P", task)
    except RuntimeError as error:
        return str(error)
    if theirs.returncode:
        return f"runs; PyTorch: {last_line(theirs.stderr)}"
    return difference(got.stdout, theirs.stdout) or "equal"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="*")
    parser.add_argument("--judge", nargs="?", const="", metavar="PYTHON")
    parser.add_argument("--page", type=Path)
    parser.add_argument("--folder", type=Path, help="where the environments are kept; a temporary one by default")
    given = parser.parse_args()
    tasks = [TASKS / f"{name}.py" for name in given.names] or sorted(TASKS.glob("*.py"))
    with tempfile.TemporaryDirectory() as temporary:
        folder = given.folder or Path(temporary)
        rows = []
        for task in tasks:
            rows.append((task.stem, " ".join(requirements(task)), outcome(folder, task, given.judge)))
            print(f"{rows[-1][0]:24} {rows[-1][2]}", flush=True)
    good = sum(row[2] == "equal" or row[2].startswith("runs") for row in rows)
    print(f"{good} of {len(rows)}")
    if given.page:
        table = "".join([f"| {name} | `{pip}` | {result.replace('|', '/')} |\n" for name, pip, result in rows])
        given.page.write_text(f"| task | installed | result |\n|---|---|---|\n{table}")


if __name__ == "__main__":
    main()
