"""What WebAssembly lacks is not needed: a part of ``tests/wasm.txt`` runs without it, here in a process of its own.

``scripts/wasm.mjs`` runs the whole list in WebAssembly.
"""

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parent.parent
FILES = "tests/test_tensor.py tests/autograd/test_function.py tests/nn/test_container.py tests/explain/test_explain.py"
POOR = """
import _thread, os, sys

MISSING = {"llvmlite", "ml_dtypes", "scipy", "multiprocessing", "_multiprocessing", "mmap", "sqlite3"}


class Missing:
    def find_spec(self, name, path=None, target=None):
        if name in MISSING:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)


sys.meta_path.insert(0, Missing())


def start_new_thread(*args, **kwargs):
    raise RuntimeError("can't start new thread")


_thread.start_new_thread = _thread.start_joinable_thread = start_new_thread
for name in ("fork", "register_at_fork", "sched_getaffinity"):
    if hasattr(os, name):
        delattr(os, name)
"""


def run_poor(program: str) -> subprocess.CompletedProcess[str]:
    env = {**os.environ, "PYTHONPATH": str(ROOT / "src"), "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
    return subprocess.run(
        [sys.executable, "-c", POOR + program], cwd=ROOT, env=env, capture_output=True, text=True, timeout=600
    )


def test_the_core_runs() -> None:
    lines = [line for line in (ROOT / "tests" / "wasm.txt").read_text().splitlines() if line and line[0] != "#"]
    assert set(FILES.split()) <= set(lines)
    options = [line for line in lines if not line.endswith(".py")]
    arguments = ["-q", "-p", "no:cacheprovider", "--tb=short", *options, *FILES.split()]
    ran = run_poor(f"import pytest\nsys.exit(pytest.main({arguments}))")
    assert ran.returncode == 0, ran.stdout[-5000:] + ran.stderr[-5000:]


REFUSED = {
    "ml_dtypes": """torch.zeros(2, dtype=torch.bfloat16)
        torch.zeros(2).bfloat16()
        torch.zeros(2).half() * 1j
        torch.complex(torch.zeros(2).half(), torch.zeros(2).half())
        torch.view_as_complex(torch.zeros(2).half())
        torch.nn.Linear(2, 2, dtype=torch.bfloat16)
        torch.BFloat16Tensor(2)
        torch.finfo(torch.bfloat16)
        torch.finfo(torch.float8_e5m2)""",
    "scipy": """torch.erf(torch.zeros(2))
        torch.nn.functional.gelu(torch.zeros(2))
        torch.fft.fft(torch.zeros(4))""",
}


def test_what_is_lacking_is_said_when_it_is_used() -> None:
    lines = [(package, line.strip()) for package, lines in REFUSED.items() for line in lines.splitlines()]
    ran = run_poor(f"""
import pullback as torch
for package, line in {lines}:
    try:
        eval(line)
    except ModuleNotFoundError as error:
        assert f"needs the package {{package}}, which is not installed" in str(error), (line, error)
        assert f"pip install {{package}}" in error.__notes__[0] and error.name == package
    else:
        raise AssertionError(line)
""")
    assert ran.returncode == 0, ran.stderr
