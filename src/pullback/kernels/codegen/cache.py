"""The on-disk cache of machine code: a program compiles its kernels once, and not at every start.

A file holds one object file behind its SHA-256. It is written under another name and moved into place, so several
processes may write at once; a file that does not match its checksum is ignored and written anew. When the folder grows
beyond :data:`LIMIT` bytes, the least recently used files are removed.

``PULLBACK_CACHE`` names another folder, or ``off``.
"""

from __future__ import annotations

import hashlib
import os
import pickle
import sys
import tempfile
from pathlib import Path
from typing import Any

LIMIT = 64 << 20
MAGIC = b"pullback kernel 1\n"
_room = 0  # bytes that this process may write until it looks again how much there is


def folder() -> Path | None:
    """Where the files are; None if there is to be no cache."""
    chosen = os.environ.get("PULLBACK_CACHE", "")
    if chosen.lower() in ("off", "0", "no"):
        return None
    if chosen:
        return Path(chosen)
    if sys.platform == "win32":
        base = os.environ.get("LOCALAPPDATA") or Path.home() / "AppData" / "Local"
    elif sys.platform == "darwin":
        base = Path.home() / "Library" / "Caches"
    else:
        base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(base) / "pullback" / "kernels"


def sources() -> bytes:
    """A digest of the code that writes kernels, all in ``kernels/`` and the folders in it; another each time, so that
    nothing is found, where it can't be read.
    """
    folder, digest = Path(__file__).parents[1], hashlib.sha256()
    try:
        for file in sorted(folder.rglob("*.py")):
            digest.update(hashlib.sha256(file.read_bytes()).digest())
    except OSError:  # such as in an archive
        digest.update(os.urandom(32))
    return digest.digest()


def key(*parts: Any) -> str:
    """The name of what these parts decide, of whatever can be pickled: the code, the processor, the versions."""
    return hashlib.sha256(pickle.dumps(parts, 5)).hexdigest()[:40]


def read(name: str) -> bytes | None:
    """What is stored under a name; None if there is nothing, or nothing whole."""
    try:
        place = folder()
        if place is None:
            return None
        path = place / name
        content = path.read_bytes()
        start = len(MAGIC)
        if content[:start] != MAGIC or hashlib.sha256(content[start + 32 :]).digest() != content[start : start + 32]:
            return None
        os.utime(path)  # used just now
        return content[start + 32 :]
    except (OSError, RuntimeError):  # RuntimeError: there is no home
        return None


def write(name: str, data: bytes) -> None:
    """Store under a name. A folder that can't be written to is no error."""
    global _room
    try:
        place = folder()
        if place is None:
            return
        place.mkdir(parents=True, exist_ok=True)
        handle, temporary = tempfile.mkstemp(dir=place, prefix=".new-")
        try:
            with os.fdopen(handle, "wb") as file:
                file.write(MAGIC + hashlib.sha256(data).digest() + data)
            os.replace(temporary, place / name)
        except BaseException:
            os.unlink(temporary)
            raise
        _room -= len(data)
        if _room < 0:
            _room = min(LIMIT - _shrink(place), LIMIT // 8)
    except (OSError, RuntimeError):
        pass


def _shrink(place: Path) -> int:
    """Remove the oldest files while there is too much; how many bytes are left."""
    files = []
    for path in place.iterdir():
        try:
            stat = path.stat()
            files.append((stat.st_mtime, stat.st_size, path))
        except OSError:  # another process removed it
            continue
    total = sum(size for _, size, _ in files)
    for _, size, path in sorted(files):
        if total <= LIMIT:
            break
        path.unlink(missing_ok=True)
        total -= size
    return total
