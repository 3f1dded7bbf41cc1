"""Run the tests on every interpreter found, with the oldest dependencies and without kernels, and print a table.

python scripts/everywhere.py                                    # all of them, one after the other
python scripts/everywhere.py --list                             # what would be run
python scripts/everywhere.py --only 3.12,oldest -- tests/ops    # some, and what pytest is to be told
python scripts/everywhere.py --root /srv/sid --root /srv/arm64  # also the interpreters of other Debian trees

Interpreters are looked for on the PATH, among pyenv's, and in the trees given as ``--root``, which debootstrap makes
(with ``--include=python3-venv``; ``--arch=arm64`` where qemu-user-static is installed) and chroot enters, so that takes
root's rights. Each environment has its own copy of the project and its own virtual environment, which are kept in
``--folder`` for the next time, beside ``log.txt``, what pytest said. The exit status is 1 if any test failed anywhere.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

PROJECT = Path(__file__).resolve().parent.parent
OLDEST, NEWEST = 11, 15  # of Python 3
NOT_BUILT = {"13t": ("llvmlite", "fast-sugiyama"), "14t": ("fast-sugiyama",), "15t": ("fast-sugiyama",)}
VERSION = """
import sys, sysconfig, venv
print(f"{sys.version_info[1]}{'t' * bool(sysconfig.get_config_var('Py_GIL_DISABLED'))}")
"""
WHAT_RUNS = """
import importlib.metadata as m, platform, pullback
info = pullback.kernels.info()
names = "numpy", "scipy", "llvmlite", "ml_dtypes"
print(platform.python_version(), platform.machine())
print(*[f"{n} {m.version(n)}" for n in names if any(True for _ in m.Distribution.discover(name=n))], sep=", ")
print(f"for {info['processor']}, {info['vector']} bytes" if info["running"] else "none: " + info["reason"])
"""
COLUMNS = "environment", "Python", "dependencies", "kernels", "passed", "failed", "skipped", "minutes"


@dataclass
class Environment:
    """One row of the table.

    Attributes:
        python: the interpreter; a path inside of the root, if there is one.
        root: another system's tree.
        pins: requirements besides the project's own.
        without: packages that are left out.
        variables: of the environment.
    """

    name: str
    python: str
    root: Path | None = None
    pins: list[str] = field(default_factory=list)
    without: tuple[str, ...] = ()
    variables: dict[str, str] = field(default_factory=dict)

    def run(self, *command: str, project: str = "/", log: Path | None = None) -> tuple[int, str]:
        """Run a command in the copy of the project, a path inside of the root: its status, and what it prints."""
        variables = self.variables | {"PYTHONDONTWRITEBYTECODE": "1"}
        if self.root is None:
            variables = {**os.environ, **variables}
        else:
            variables = {"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "HOME": "/root", "LANG": "C.UTF-8"} | variables
            command = "chroot", str(self.root), "/bin/sh", "-c", 'cd "$0" && exec "$@"', project, *command
        with open(log, "w+") if log else tempfile.TemporaryFile("w+") as out:
            ran = subprocess.run(
                command, cwd=None if self.root else project, env=variables, stdout=out, stderr=subprocess.STDOUT
            )
            out.seek(0)
            return ran.returncode, out.read()


def interpreters(roots: list[Path]) -> Iterator[Environment]:
    """One environment for each version found, newest dependencies, the same version in several places once a tree."""
    seen = set()
    folders = [Path(p) for p in os.environ.get("PATH", "").split(os.pathsep)]
    folders += sorted(Path.home().glob(".pyenv/versions/*/bin"))
    places = [(None, folder) for folder in folders] + [(root, root / "usr/bin") for root in roots]
    for root, folder in places:
        for path in sorted(folder.glob("python3.*")):
            if not re.fullmatch(r"python3\.\d+t?", path.name):
                continue
            found = Environment("", f"/usr/bin/{path.name}" if root else str(path), root)
            status, version = found.run(found.python, "-c", VERSION)
            if status:  # pyenv has scripts under the names of versions that are not installed, too
                continue
            version = version.strip()
            found.name = f"{root.name}-3.{version}" if root else f"3.{version}"
            found.without = NOT_BUILT.get(version, ())
            if OLDEST <= int(version.rstrip("t")) <= NEWEST and found.name not in seen:
                seen.add(found.name)
                yield found


def requirements() -> tuple[list[str], list[str]]:
    """What the project needs, and what its tests need besides."""
    project = tomllib.loads((PROJECT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    extras = project["optional-dependencies"]
    return project["dependencies"], extras["explain"] + [r for r in extras["test"] if not r.startswith("pullback")]


def variants(python: str) -> Iterator[Environment]:
    """What else to run on one interpreter."""
    yield Environment("oldest", python, pins=[r.replace(">=", "==") for r in requirements()[0]])
    yield Environment("no-llvmlite", python, without=("llvmlite",))
    for mode in ("off", "always"):
        yield Environment(f"kernels-{mode}", python, variables={"PULLBACK_KERNELS": mode})


def place(environment: Environment, folder: Path) -> Path:
    """Where the environment is."""
    return (environment.root or Path("/")) / folder.relative_to("/") / environment.name


def prepare(environment: Environment, folder: Path) -> tuple[str, str]:
    """Make or refresh the environment; the paths of its copy of the project and of its interpreter."""
    project, venv = folder / "project", folder / "venv"
    shutil.rmtree(project, ignore_errors=True)
    listed = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    for name in subprocess.run(listed, cwd=PROJECT, capture_output=True, text=True, check=True).stdout.split("\0"):
        if name and (PROJECT / name).is_file():
            (project / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(PROJECT / name, project / name)
    inside = [Path("/") / p.relative_to(environment.root or "/") for p in (project, venv)]
    python = str(inside[1] / "bin/python")
    wanted = [r for part in requirements() for r in part if not r.startswith(environment.without)]
    steps = [] if venv.exists() else [[environment.python, "-m", "venv", str(inside[1])]]
    steps += [[python, "-m", "pip", "install", "-q", *wanted, *environment.pins]]
    steps += [[python, "-m", "pip", "install", "-q", "--no-deps", "-e", "."]]
    for step in steps:
        status, said = environment.run(*step, project=str(inside[0]))
        if status:
            raise RuntimeError(f"{' '.join(step)}:\n{said}")
    return str(inside[0]), python


def row(*cells: object) -> str:
    return f"| {' | '.join(map(str, cells))} |"


def test(environment: Environment, folder: Path, options: list[str]) -> tuple[bool, str]:
    """Run the tests: whether all passed, and a row of the table with what failed below it."""
    start = time.monotonic()
    try:
        project, python = prepare(environment, folder)
    except RuntimeError as error:
        return False, f"{row(environment.name, 'not made', *[''] * (len(COLUMNS) - 2))}\n{error}"
    runs = environment.run(python, "-c", WHAT_RUNS, project=project)[1].splitlines()
    command = [python, "-m", "pytest", "-q", *(options or ["-n", "auto"])]
    status, said = environment.run(*command, project=project, log=folder / "log.txt")
    lines = said.splitlines()
    summary = next((x for x in reversed(lines) if re.search(r"\d+ (passed|failed|error)", x)), "")
    passed, failed, errors, skipped = (
        sum(map(int, re.findall(rf"(\d+) {outcome}", summary))) for outcome in ("passed", "failed", "error", "skipped")
    )
    counts = (passed, failed + errors, skipped) if summary else ("", f"crashed, status {status}", "")
    failures = [x for x in lines if x.startswith(("FAILED", "ERROR"))] or (lines[-30:] if status else [])
    minutes = f"{(time.monotonic() - start) / 60:.0f}"
    cells = environment.name, *(runs if len(runs) == 3 else [*runs[-1:], "", ""]), *counts, minutes
    return status == 0, "\n".join([row(*cells), *failures])


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", default="", help="names of environments, with commas")
    parser.add_argument("--root", type=Path, action="append", default=[], help="the tree of another Debian system")
    parser.add_argument("--folder", type=Path, default=Path(tempfile.gettempdir()) / "pullback-everywhere")
    parser.add_argument("--list", action="store_true", help="name the environments, and run nothing")
    parser.add_argument("options", nargs="*", help="for pytest, after --")
    given = parser.parse_args()
    environments = [*interpreters([root.resolve() for root in given.root]), *variants(sys.executable)]
    if unknown := set(filter(None, given.only.split(","))) - {e.name for e in environments}:
        parser.error(f"no environment called {', '.join(sorted(unknown))}; there are {[e.name for e in environments]}")
    chosen = [e for e in environments if not given.only or e.name in given.only.split(",")]
    if given.list:
        print(*[f"{e.name}: {e.root or ''}{e.python}" for e in chosen], sep="\n")
        return 0
    signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell's jobs in the background ignore it; tests do not
    print(row(*COLUMNS), row(*["---"] * len(COLUMNS)), sep="\n", flush=True)
    passed = True
    for environment in chosen:
        ok, report = test(environment, place(environment, given.folder.resolve()), given.options)
        passed = passed and ok
        print(report, flush=True)
    return 0 if passed else 1


if __name__ == "__main__":
    sys.exit(main())
