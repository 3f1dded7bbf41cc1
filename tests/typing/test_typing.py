"""What type checkers make of programs: those in ``programs`` are right, but for the marked lines of ``wrong.py``.

They are checked in strict mode, as they are and with ``import torch``; so is every call in the table of samples.
"""

from __future__ import annotations

import importlib.util
import json
import math
import os
import re
import runpy
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import pullback
from pullback.cli.stubs import NotWritten, write
from tests.ops.samples import SAMPLES, is_shape

ROOT = Path(__file__).resolve().parents[2]
PROGRAMS = sorted((Path(__file__).parent / "programs").glob("*.py"))
Found = set[tuple[str, int]]  # the file and the line of each error


def test_stubs_are_up_to_date():
    """``python scripts/stubs.py`` writes them."""
    done = subprocess.run(
        [sys.executable, ROOT / "scripts" / "stubs.py", "--check"], capture_output=True, text=True, timeout=300
    )
    assert done.returncode == 0, f"run python scripts/stubs.py for\n{done.stdout}{done.stderr}"


@pytest.mark.parametrize("path", [p for p in PROGRAMS if p.stem != "wrong"], ids=lambda path: path.stem)
def test_programs_run(path, capsys):
    runpy.run_path(str(path), run_name="__main__")
    assert capsys.readouterr().out


def shown(value: Any) -> str:
    """An argument of the table, as a program would write it."""
    if isinstance(value, list):
        return f"[{', '.join(map(shown, value))}]"
    if is_shape(value) or isinstance(value, (np.ndarray, pullback.Tensor)):
        return "x"
    if isinstance(value, float) and not math.isfinite(value):
        return "torch.inf"
    return repr(value) if isinstance(value, (int, float, str, type(None), slice, pullback.dtype)) else "anything"


def calls() -> str:
    """The table of samples as a program."""
    lines = ["from typing import Any", "import pullback as torch", "x = torch.rand(2)", "anything: Any = None"]
    for sample in SAMPLES:
        options = [f"{k}={v if is_shape(v) else shown(v)}" for k, v in sample.kwargs.items()]
        lines.append(f"torch.{sample.name}({', '.join([*map(shown, sample.args), *options])})")
    return "\n".join(dict.fromkeys(lines)) + "\n"


@pytest.fixture(scope="module")
def folders(tmp_path_factory):
    """The programs in a folder, in another one for ``import torch``, and where the stubs for that are."""
    ours, torchs, stubs = (tmp_path_factory.mktemp(name) for name in ("ours", "torchs", "stubs"))
    for name, text in {path.name: path.read_text("utf-8") for path in PROGRAMS}.items() | {"calls.py": calls()}.items():
        (ours / name).write_text(text, "utf-8")
        renamed = re.sub(r"\bpullback\b", "torch", text.replace("import pullback as torch", "import torch"))
        (torchs / name).write_text(renamed, "utf-8")
    command = [sys.executable, "-m", "pullback", "stubs", "--as", "torch", "--out", str(stubs)]
    said = subprocess.run(command, env=environment(stubs), capture_output=True, text=True, timeout=300, check=True)
    assert said.stdout == f"The types of torch are Pullback's, in {stubs / 'torch-stubs'}.\n"
    return ours, torchs, stubs


def environment(stubs: Path) -> dict[str, str]:
    variables = {k: v for k, v in os.environ.items() if k != "MYPYPATH"}
    return variables | {"PYTHONPATH": os.pathsep.join([str(ROOT / "src"), str(stubs)])}


def marked() -> Found:
    (wrong,) = (path for path in PROGRAMS if path.stem == "wrong")
    lines = wrong.read_text("utf-8").splitlines()
    return {("wrong.py", number) for number, line in enumerate(lines, 1) if line.endswith("# wrong")}


@pytest.mark.skipif(importlib.util.find_spec("mypy") is None, reason="mypy is not installed")
def test_mypy(folders, tmp_path):
    *both, stubs = folders
    for folder in both:
        command = [sys.executable, "-m", "mypy", "--strict", "--config-file=", "--cache-dir", str(tmp_path), "."]
        done = subprocess.run(
            command, cwd=folder, env=environment(stubs), capture_output=True, text=True, encoding="utf-8", timeout=300
        )
        found = {(file, int(line)) for file, line in re.findall(r"^(\w+\.py):(\d+): error:", done.stdout, re.M)}
        assert found == marked(), done.stdout + done.stderr


def pyright_works() -> bool:
    """It may have to be downloaded at its first run, which fails without a network."""
    path = shutil.which("pyright")
    return path is not None and subprocess.run([path, "--version"], capture_output=True, timeout=300).returncode == 0


def test_pyright(folders):
    if not pyright_works():
        pytest.skip("pyright is not installed")
    *both, stubs = folders
    for folder in both:
        (folder / "pyrightconfig.json").write_text('{"typeCheckingMode": "strict"}', "utf-8")
        done = subprocess.run(
            [shutil.which("pyright"), "--outputjson", "--pythonpath", sys.executable, "-p", "."],
            cwd=folder,
            env=environment(stubs),
            capture_output=True,
            text=True,
            encoding="utf-8",
            timeout=300,
        )
        found = {
            (Path(d["file"]).name, d["range"]["start"]["line"] + 1)
            for d in json.loads(done.stdout)["generalDiagnostics"]
            # an expression that is not used, and a module that is there in stubs alone, are no errors of types
            if d["severity"] == "error" and d["rule"] not in ("reportUnusedExpression", "reportMissingModuleSource")
        }
        assert found == marked(), done.stdout


def test_stubs_of_others_are_left_alone(tmp_path):
    write("torch", tmp_path)
    write("torch", tmp_path)
    (tmp_path / "torch-stubs" / "__init__.pyi").write_text("x: int\n")
    with pytest.raises(NotWritten, match="has not written it"):
        write("torch", tmp_path)
