"""``torch.__config__``: build information.

>>> import pullback as torch
>>> "CUDA" in torch.__config__.show()
False
"""

from __future__ import annotations

__all__ = ["parallel_info", "show"]


def show() -> str:
    """The versions of its parts, a line each."""
    from ..utils.collect_env import get_pretty_env_info

    facts = [line for line in get_pretty_env_info().splitlines() if not line.startswith("CUDA")]
    return "Pullback built with:\n" + "".join([f"  - {fact}\n" for fact in facts])


def parallel_info() -> str:
    """How many threads compute.

    >>> import pullback as torch
    >>> torch.__config__.parallel_info().splitlines()[0] == f"at::get_num_threads() : {torch.get_num_threads()}"
    True
    """
    from .settings import get_num_interop_threads, get_num_threads

    return f"at::get_num_threads() : {get_num_threads()}\nat::get_num_interop_threads() : {get_num_interop_threads()}\n"
