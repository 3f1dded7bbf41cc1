"""What compiled functions do for now: whether they run compiled, and what happens where no version holds."""

from __future__ import annotations

from typing import Any

STANCES = "default", "force_eager", "eager_on_recompile", "fail_on_recompile"
now = "default"


class set_stance:
    """Say what compiled functions do from now on, or in a ``with`` block, or in a decorated function.

    Args:
        stance: ``default``; ``force_eager``: they run as they are; ``eager_on_recompile``: so they do where no compiled
            version holds; ``fail_on_recompile``: that is an error.

    >>> import pullback as torch
    >>> f = torch.compile(lambda x: x * 2)
    >>> with torch.compiler.set_stance("force_eager"):
    ...     f(torch.ones(2))
    tensor([2., 2.])
    >>> f.versions
    []
    """

    def __init__(self, stance: str = "default", *, force_backend: Any = None) -> None:
        if stance not in STANCES:
            raise RuntimeError(f"invalid torch.compile stance '{stance}'\n  It is one of {', '.join(STANCES)}.")
        global now
        self._stance, self._before, now = stance, now, stance

    def __enter__(self) -> None:
        global now
        now = self._stance

    def __exit__(self, *exc: object) -> None:
        global now
        now = self._before

    def __call__(self, function: Any) -> Any:
        import functools

        self.__exit__()

        @functools.wraps(function)
        def in_stance(*args: Any, **kwargs: Any) -> Any:
            with set_stance(self._stance):
                return function(*args, **kwargs)

        return in_stance
