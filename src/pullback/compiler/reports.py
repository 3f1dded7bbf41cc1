"""What ``compile`` made of a call, in words: on request, or logged."""

from __future__ import annotations

import os
from typing import Any

from .compiled_function import CompiledFunction, compile
from .first_call import Version


def explain(function: Any, *args: Any, **kwargs: Any) -> str:
    """What ``compile`` makes of a call: how much is compiled and what is guarded, or why the function runs as it is.

    The function is called.

    >>> import pullback as torch
    >>> scale = 2.0
    >>> print(torch.compiler.explain(lambda x: x * scale, torch.ones(3)))
    compiled: 1 instruction, guards on scale
    """
    compiled = function if isinstance(function, CompiledFunction) else compile(function)
    compiled(*args, **kwargs)
    return report(getattr(compiled, "_compiled", compiled))


def report(compiled: CompiledFunction) -> str:
    """What has become of a compiled function so far."""
    if not compiled.versions:
        lines = [f"runs as it is: {compiled.given_up or 'each call differs'}"]
        lines += [f"  {type(m).__name__}: {report(f)}" for m, f in compiled.modules.compiled.items()]
        return "\n".join(lines)
    return "\n".join([_of_version(v) for v in compiled.versions])


def _of_version(version: Version) -> str:
    count, names = len(version.program.instructions), ", ".join(version.guarded)
    lines = [
        f"compiled: {count} instruction{'s' * (count != 1)}, "
        + (f"guards on {names}" if names else "no guards besides the arguments")
    ]
    for cut in version.cuts:
        lines += [f"  goes on at {cut.place} if {condition}" for condition in cut.conditions]
    return "\n".join(lines)


def set_logs(**kinds: Any) -> None:
    """Log what ``compile`` does (``recompiles``, ``graph_breaks``, ``guards`` and other names of PyTorch's: all one).

    The environment variable ``TORCH_LOGS`` does the same for a whole program. Records go to the logger
    ``pullback.compiler``.
    """
    import logging

    log = logging.getLogger("pullback.compiler")
    log.setLevel(logging.INFO if any(kinds.values()) else logging.WARNING)
    if not log.handlers:
        log.addHandler(logging.StreamHandler())


if os.environ.get("TORCH_LOGS"):
    set_logs(all=True)
