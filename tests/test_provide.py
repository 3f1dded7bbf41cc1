"""``pullback provide-torch``: installers and ``import`` find a torch, which is Pullback."""

import importlib.util
import os
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

import pullback

SOURCE = Path(pullback.__file__).parent.parent
NEEDED = (
    "typing_extensions.py",
    "numpy",
    "numpy.libs",
    "click",
    "scipy",
    "scipy.libs",
    "ml_dtypes",
    "threadpoolctl.py",
)
VERSION = str(pullback.__version__)
FACTS = """
import importlib.metadata as m, sys
import functorch, torch.nn as nn, torch
print(torch.ones(2).sum().item(), nn.Linear(1, 1).weight.shape == (1, 1), sys.modules["torch"] is torch, functorch.vmap)
print(m.version("torch"), "torch" in {d.name for d in m.distributions()}, m.packages_distributions()["torch"])
print(m.requires("torch"), len(m.files("torch")))
"""


def python(*arguments, env, ok=True):
    variables = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    got = subprocess.run([env, *arguments], capture_output=True, text=True, timeout=120, env=variables)
    assert not ok or got.returncode == 0, got.stderr
    return got


@pytest.fixture(scope="module")
def fresh(tmp_path_factory):
    """The Python of a new environment that holds Pullback and what it needs; not PyTorch."""
    folder = tmp_path_factory.mktemp("fresh")
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", folder / "env"], check=True, timeout=120)
    env = folder / "env" / ("Scripts/python.exe" if os.name == "nt" else "bin/python")
    site = Path(python("-c", "import sysconfig; print(sysconfig.get_path('purelib'))", env=env).stdout.strip())
    here = Path(importlib.util.find_spec("numpy").origin).parent.parent
    for name in (*NEEDED, *[path.name for path in here.glob("typing_extensions-*.dist-info")]):
        if (here / name).is_dir():
            try:
                (site / name).symlink_to(here / name)
            except OSError:  # as Windows may refuse it
                shutil.copytree(here / name, site / name)
        elif (here / name).exists():
            shutil.copy(here / name, site / name)
    if not (site / "typing_extensions.py").exists():  # which PyTorch needs
        (site / "typing_extensions.py").write_text("")
        (site / "typing_extensions-4.15.dist-info").mkdir()
        (site / "typing_extensions-4.15.dist-info" / "METADATA").write_text(
            "Metadata-Version: 2.1\nName: typing_extensions\nVersion: 4.15\n"
        )
    (site / "pullback.pth").write_text(str(SOURCE))
    info = site / "pullback-0.1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: pullback\nVersion: 0.1.0\n")
    return env


def test_installers_and_imports_find_it_until_it_is_removed(fresh, tmp_path):
    pip = pytest.importorskip("pip") and [sys.executable, "-m", "pip", "--disable-pip-version-check", "--python", fresh]
    library = tmp_path / "needs_torch-1.0-py3-none-any.whl"
    with zipfile.ZipFile(library, "w") as wheel:
        info = "needs_torch-1.0.dist-info"
        wheel.writestr("needs_torch.py", "import torch\nx = torch.arange(3).sum()\n")
        wheel.writestr(
            f"{info}/METADATA", "Metadata-Version: 2.1\nName: needs-torch\nVersion: 1.0\nRequires-Dist: torch>=2.1\n"
        )
        wheel.writestr(
            f"{info}/WHEEL", "Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
        )
        wheel.writestr(f"{info}/RECORD", "")

    said = python("-m", "pullback", "provide-torch", env=fresh).stdout
    assert said.startswith(f"torch {VERSION} is Pullback ")
    subprocess.run([*pip, "install", "--quiet", "--no-index", library], check=True, timeout=120)
    assert "No broken requirements" in subprocess.run([*pip, "check"], capture_output=True, text=True).stdout
    assert python("-c", "import needs_torch; print(needs_torch.x)", env=fresh).stdout == "tensor(3)\n"
    first, second, third = python("-c", FACTS, env=fresh).stdout.splitlines()
    assert first.startswith("2.0 True True <function vmap")
    assert second == f"{VERSION} True ['torch']"
    assert third.startswith("['pullback', 'typing-extensions>=4.10'] ")
    under_run = python("-m", "pullback", "run", "-c", FACTS, env=fresh).stdout.splitlines()
    assert under_run[1:] == [second, third]

    python("-m", "pullback", "provide-torch", env=fresh)  # again: nothing is left of the first
    assert python("-m", "pullback", "provide-torch", "--uninstall", env=fresh).stdout == "Removed torch.\n"
    assert "No module named 'torch'" in python("-c", "import torch", env=fresh, ok=False).stderr
    again = python("-m", "pullback", "provide-torch", "--uninstall", env=fresh).stdout
    assert again == "There is no torch of Pullback's to remove.\n"


@pytest.mark.parametrize("with_metadata", [True, False])
def test_pytorch_is_never_replaced(fresh, tmp_path, with_metadata):
    site = next(fresh.parent.parent.rglob("site-packages"))
    (site / "torch").mkdir()
    (site / "torch" / "__init__.py").write_text("real = True\n")
    info = site / "torch-2.9.0.dist-info"
    if with_metadata:
        info.mkdir()
        (info / "METADATA").write_text("Metadata-Version: 2.1\nName: torch\nVersion: 2.9.0\n")
    try:
        for option in [], ["--uninstall"]:
            got = python("-m", "pullback", "provide-torch", *option, env=fresh, ok=False)
            assert got.returncode == (0 if option else 1)
            assert python("-c", "import torch; print(torch.real)", env=fresh).stdout == "True\n"
        what = "PyTorch 2.9.0 is installed here" if with_metadata else "no installer has put there"
        assert what in python("-m", "pullback", "provide-torch", env=fresh, ok=False).stderr
    finally:
        for path in sorted([*(site / "torch").rglob("*"), site / "torch", *info.glob("*"), info], reverse=True):
            if path.is_dir():
                path.rmdir()
            elif path.exists():
                path.unlink()
