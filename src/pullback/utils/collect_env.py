"""``python -m pullback.utils.collect_env``: environment information for bug reports."""

from __future__ import annotations

import platform
import sys
from importlib.metadata import PackageNotFoundError, version

from ..base.version import __version__

__all__ = ["get_pretty_env_info", "main"]

PACKAGES = ("numpy", "scipy", "ml_dtypes", "llvmlite")


def get_pretty_env_info() -> str:
    """Versions of Pullback, Python and what it computes with, a line each."""
    facts = {
        "Pullback version": f"{__version__} (in the place of PyTorch)",
        "CUDA": "not supported",
        "OS": platform.platform(),
        "Python version": sys.version.replace("\n", " "),
        "CPU": platform.processor() or platform.machine(),
    }
    for name in PACKAGES:
        try:
            facts[name] = version(name)
        except PackageNotFoundError:
            facts[name] = "not installed"
    return "\n".join([f"{name}: {fact}" for name, fact in facts.items()])


def main() -> None:
    """Print it."""
    print(get_pretty_env_info())


if __name__ == "__main__":
    main()
