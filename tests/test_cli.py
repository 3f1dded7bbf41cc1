"""The command line: which command does what, and what it loads."""

import os
import subprocess
import sys
import tomllib
from importlib.metadata import EntryPoint
from pathlib import Path

import pytest

import pullback

SOURCE = Path(pullback.__file__).parent.parent


def cli(*arguments, cwd=None, flags=(), **variables):
    env = {**os.environ, "PYTHONPATH": str(SOURCE), "COLUMNS": "80", **variables}
    command = [sys.executable, *flags, "-m", "pullback", *arguments]
    how = {"capture_output": True, "text": True, "timeout": 60}
    return subprocess.run(command, env=env, cwd=cwd, **how)


def test_the_installed_command_is_this_command_line():
    project = tomllib.loads((SOURCE.parent / "pyproject.toml").read_text("utf-8"))["project"]
    for name, where in project["scripts"].items():
        assert callable(EntryPoint(name, where, "console_scripts").load())


def test_version():
    got = cli("--version")
    assert (got.stdout, got.stderr) == (f"pullback {pullback.version.pullback}\n", "")


@pytest.mark.parametrize("arguments", [["--version"], ["run", "-c", "import torch"]], ids=" ".join)
def test_starting_loads_little(arguments):
    times = cli(*arguments, flags=["-Ximporttime"]).stderr
    loaded = {line.rpartition("|")[2].strip() for line in times.splitlines()}
    assert "numpy" in loaded
    assert not loaded & {"scipy", "rich", "llvmlite"}
    assert ("click" in loaded) == (arguments == ["--version"])


def test_help_names_the_commands():
    got = cli("--help")
    assert got.returncode == 0
    assert "run " in got.stdout
    assert "demo " in got.stdout


def test_run_passes_arguments_through_untouched(tmp_path):
    (tmp_path / "program.py").write_text("import sys; print(sys.argv)")
    got = cli("run", "program.py", "--version", "-h", "--", "--seed=3", "", cwd=tmp_path)
    assert got.stdout == "['program.py', '--version', '-h', '--', '--seed=3', '']\n"


def test_run_keeps_exit_codes_and_exceptions_from_click(tmp_path):
    code = "import click\ntry:\n    1 / 0\nfinally:\n    print('out')"
    got = cli("run", "-c", code)
    assert (got.returncode, got.stdout) == (1, "out\n")
    assert got.stderr.endswith("ZeroDivisionError: division by zero\n")
    assert "cli.py" not in got.stderr


@pytest.mark.parametrize("number", ["0", "7", "x"])
def test_demo_refuses_a_number_it_has_not(number):
    got = cli("demo", number)
    assert got.returncode == 2
    assert "Invalid value for '[NUMBER]'" in got.stderr


def test_demo_runs_one():
    got = cli("demo", "3", "--seed", "5")
    assert got.returncode == 0, got.stderr
    assert "after manual_seed(5)" in got.stdout
    assert "tensor([4., 3.])" in got.stdout
    assert "MulBackward0" in got.stdout
    assert max(map(len, got.stdout.splitlines())) <= 80


def test_errors_lists_the_pages_and_prints_one():
    listed = cli("errors").stdout
    assert "scalar-outputs            grad can be implicitly created only for scalar outputs\n" in listed
    got = cli("errors", "scalar-outputs")
    assert got.returncode == 0, got.stderr
    assert got.stdout.startswith("# grad can be implicitly created only for scalar outputs\n")
    assert "\n```python\nimport pullback as torch\n" in got.stdout
    refused = cli("errors", "scalar-output")
    assert refused.returncode == 2 and "Did you mean scalar-outputs?" in refused.stderr


def test_errors_prints_in_any_encoding():
    got = cli("errors", "vanishing", PYTHONIOENCODING="ascii")
    assert got.returncode == 0, got.stderr
    assert "linear 8?8" in got.stdout
