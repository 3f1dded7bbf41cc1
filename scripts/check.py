"""Run what every change must pass: ruff, mypy and pytest, or those named on the command line.

python scripts/check.py
python scripts/check.py ruff mypy
"""

import subprocess
import sys
from pathlib import Path

# Where mypy reads the stub beside it instead.
BEHIND_STUBS = [
    f"src/pullback/{name}.py" for name in ("__init__", "nn/functional", "compat/fft", "compat/linalg", "compat/special")
]
CHECKS = {
    "ruff": ["ruff", "check", "."],
    "format": ["ruff", "format", "--check", "."],
    "mypy": ["mypy"],
    "behind-stubs": ["mypy", "--follow-imports=silent", "--cache-dir=.mypy_cache/behind_stubs", *BEHIND_STUBS],
    "pytest": ["pytest", "-n", "auto"],
}


def main(names: list[str]) -> int:
    if unknown := set(names) - set(CHECKS):
        print(f"no check called {', '.join(sorted(unknown))}; there are {', '.join(CHECKS)}", file=sys.stderr)
        return 2
    root = Path(__file__).resolve().parent.parent
    failed = []
    for name in names or CHECKS:
        print(f"== {name}", flush=True)
        if subprocess.run([sys.executable, "-m", *CHECKS[name]], cwd=root).returncode:
            failed.append(name)
    print(f"failed: {', '.join(failed)}" if failed else "all passed")
    return bool(failed)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
