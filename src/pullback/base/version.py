"""``torch.version``: the PyTorch version whose API this is, with Pullback's own behind the ``+``; ``TorchVersion``.

Programs decide by ``torch.__version__`` which features to expect, so it is PyTorch's.
"""

from __future__ import annotations

import re
from typing import Any

__all__ = ["TorchVersion", "__version__", "cuda", "debug", "git_version", "hip", "pullback", "rocm", "xpu"]

_PARTS = re.compile(
    r"v?(\d+(?:\.\d+)*)[._-]?(a|b|rc|alpha|beta)?[._-]?(\d*)(?:\.?dev(\d+))?(?:\+([a-z0-9._-]+))?", re.IGNORECASE
)


def _key(version: Any) -> tuple[Any, ...] | None:
    """The sort key of a version (PEP 440); None if it is not a version."""
    text = ".".join(map(str, version)) if isinstance(version, tuple) else str(version).strip()
    found = _PARTS.fullmatch(text)
    if found is None:
        return None
    release, stage, number, dev, local = found.groups()
    numbers = tuple(map(int, re.sub(r"(\.0+)*$", "", release).split(".")))
    early = (stage[0].lower(), int(number or 0)) if stage else ("~" if dev is None else "", 0)
    return numbers, early, float("inf") if dev is None else int(dev), local or ""


class TorchVersion(str):
    """A version that compares as versions do, with strings, tuples and ``packaging.version.Version``.

    >>> import pullback as torch
    >>> torch.__version__ >= "1.10", torch.__version__ < (3,), str(torch.__version__)[:4]
    (True, True, '2.13')
    """

    def _compare(self, other: Any, method: str) -> bool:
        mine, theirs = _key(self), _key(other)
        if mine is None or theirs is None:
            return getattr(str, method)(self, other)
        return getattr(mine, method)(theirs)

    def __lt__(self, other: Any) -> bool:
        return self._compare(other, "__lt__")

    def __le__(self, other: Any) -> bool:
        return self._compare(other, "__le__")

    def __gt__(self, other: Any) -> bool:
        return self._compare(other, "__gt__")

    def __ge__(self, other: Any) -> bool:
        return self._compare(other, "__ge__")

    def __eq__(self, other: Any) -> bool:
        return self._compare(other, "__eq__")

    def __ne__(self, other: Any) -> bool:
        return not self == other

    __hash__ = str.__hash__


pullback = "0.1.0"
__version__ = TorchVersion(f"2.13.0+pullback.{pullback}")
debug = False
cuda = hip = rocm = xpu = None  # versions of the toolkits that PyTorch was built with
git_version = "unknown"
