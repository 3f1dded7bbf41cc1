"""The on-disk cache of machine code: a program compiles its kernels once, and not at every start.

A file holds one object file behind its seal: a digest of the file's name and content, keyed with a secret of this user,
that lies in the folder, too (``.key``). So what runs is what this user's processes wrote under that name, and the name
says which code wrote it, for which processor. The folder is private (:mod:`.private_folder`); one that is not is not
used, with a warning. A file is written under another name and moved into place, so several processes may write at once;
a file that does not match its seal is ignored and written anew. When the folder grows beyond :data:`LIMIT` bytes, the
least recently used files are removed.

``PULLBACK_CACHE`` names another folder, or ``off``.
"""

from __future__ import annotations

import hashlib
import hmac
import os
import pickle
import secrets
import sys
import warnings
from contextlib import suppress
from pathlib import Path
from typing import Any

from .private_folder import NotPrivate, PrivateFolder

LIMIT = 64 << 20
KIND = b"pullback kernel "
MAGIC = KIND + b"2\n"
SEAL = 32
KEY = ".key"
_room = 0  # bytes that this process may write until it looks again how much there is
_warned = False


def folder() -> Path | None:
    """Where the files are; None if there is to be no cache."""
    chosen = os.environ.get("PULLBACK_CACHE", "")
    if chosen.lower() in ("off", "0", "no"):
        return None
    if chosen:
        return Path(chosen)
    if sys.platform == "win32":
        named, usual = "LOCALAPPDATA", Path.home() / "AppData" / "Local"
    elif sys.platform == "darwin":
        named, usual = "", Path.home() / "Library" / "Caches"
    else:
        named, usual = "XDG_CACHE_HOME", Path.home() / ".cache"
    base = Path(os.environ.get(named, ""))
    if not base.is_absolute():
        base = usual
    return base / "pullback" / "kernels" if base.is_absolute() else None


def _opened() -> PrivateFolder | None:
    """The folder; None if there is none to be used. That it is not private is said once."""
    global _warned
    try:
        place = folder()
        return None if place is None else PrivateFolder(place, ours=not os.environ.get("PULLBACK_CACHE"))
    except NotPrivate as error:
        if not _warned:
            _warned = True
            try:
                warnings.warn(
                    f"machine code is not kept on disk, and compiled anew by each process: {error}\n"
                    "  Make the folder and those above it yours alone (chmod 700), or name another one by "
                    "PULLBACK_CACHE (off: none).",
                    RuntimeWarning,
                    stacklevel=3,
                )
            except RuntimeWarning:  # where warnings are errors: programs run all the same
                pass
    except (OSError, RuntimeError):  # RuntimeError: there is no home
        pass
    return None


def files() -> list[Path]:
    """The code that writes kernels: all in ``kernels/`` and the folders in it."""
    return sorted(Path(__file__).parents[1].rglob("*.py"))


def sources() -> bytes:
    """A digest of that code; another each time, so that nothing is found, where it can't be read."""
    digest = hashlib.sha256()
    try:
        for file in files():
            digest.update(hashlib.sha256(file.read_bytes()).digest())
    except OSError:  # such as in an archive
        digest.update(os.urandom(32))
    return digest.digest()


def stamp(files: list[Path]) -> Any:
    """When files were written, and their sizes: quicker to compare than what is in them."""
    try:
        return [(s.st_mtime_ns, s.st_size) for s in map(os.stat, files)]
    except OSError:
        return os.urandom(32)


def key(*parts: Any) -> str:
    """The name of what these parts decide, of whatever can be pickled: the code, the processor, the versions."""
    return hashlib.sha256(pickle.dumps(parts, 5)).hexdigest()[:40]


def _seal(place: PrivateFolder, name: str, data: bytes) -> bytes:
    """What only this user's processes can put before that data under that name."""
    secret = _secret(place)
    if secret is None:
        with suppress(FileNotFoundError):
            place.remove(KEY)
        place.write(KEY, secrets.token_bytes(SEAL), replace=False)  # another process may have been quicker
        secret = _secret(place)
        if secret is None:
            raise OSError("there is no key")
    return hmac.digest(secret, MAGIC + name.encode() + b"\n" + data, "sha256")


def _secret(place: PrivateFolder) -> bytes | None:
    with suppress(OSError):
        found = place.read(KEY, 2 * SEAL)
        if found is not None and len(found) == SEAL:
            return found
    return None


def where() -> str | None:
    """The folder that is used; None if there is none."""
    opened = _opened()
    if opened is None:
        return None
    with opened as place:
        return place.path


def read(name: str) -> bytes | None:
    """What is stored under a name; None if there is nothing, or nothing whole."""
    try:
        opened = _opened()
        if opened is None:
            return None
        with opened as place:
            content = place.read(name, LIMIT, use=True)
            start = len(MAGIC) + SEAL
            if content is None or content[: len(MAGIC)] != MAGIC:
                return None
            if not hmac.compare_digest(content[len(MAGIC) : start], _seal(place, name, content[start:])):
                return None
            return content[start:]
    except OSError:
        return None


def write(name: str, data: bytes) -> None:
    """Store under a name. A folder that can't be written to is no error."""
    global _room
    try:
        opened = _opened()
        if opened is None:
            return
        with opened as place:
            place.write(name, MAGIC + _seal(place, name, data) + data)
            _room -= len(data)
            if _room < 0:
                _room = min(LIMIT - _shrink(place), LIMIT // 8)
    except OSError:
        pass


def _shrink(place: PrivateFolder) -> int:
    """Remove the oldest files of ours while there is too much; how many bytes are left."""
    files = place.files()
    total = sum(size for _, size, _ in files)
    for _, size, name in sorted(files):
        if total <= LIMIT:
            break
        if (place.read(name, LIMIT) or b"").startswith(KIND):
            place.remove(name)
            total -= size
    return total
