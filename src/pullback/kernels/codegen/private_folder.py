"""A folder that nobody else can write into, and files in it that are opened without surprises.

Whoever can put a file there decides what code this process runs. So the folder belongs to this user and is closed to
others, nobody else can exchange a folder on the way to it, and it stays open while files are read and written, so that
they are those of the folder that was looked at. (On Windows all of this is the user's profile's business.)
"""

from __future__ import annotations

import functools
import os
import secrets
import stat
from contextlib import suppress
from typing import Self

UNIX = os.name == "posix"
CAREFULLY = sum(getattr(os, flag, 0) for flag in ("O_NOFOLLOW", "O_NONBLOCK", "O_CLOEXEC", "O_BINARY"))


class NotPrivate(OSError):
    """Others could have written what is in a folder."""


class PrivateFolder:
    """An open folder; it is made if it is not there.

    Args:
        path: where it is.
        ours: whether nothing else uses it, so that it may be closed to others if it is open.

    Raises:
        NotPrivate: if others can, or could, write into it.
        OSError: if it can't be made or opened.
    """

    def __init__(self, path: str | os.PathLike[str], ours: bool) -> None:
        self.path = os.path.realpath(path)
        self._descriptor: int | None = None  # of the folder, where files can be named relative to it
        _make(self.path)
        if not UNIX:
            return
        _check_way(os.path.dirname(self.path), os.geteuid())
        self._descriptor = os.open(self.path, os.O_RDONLY | os.O_DIRECTORY | CAREFULLY)
        try:
            self._check(ours)
        except BaseException:
            os.close(self._descriptor)
            raise

    def _check(self, ours: bool) -> None:
        assert self._descriptor is not None
        found = os.fstat(self._descriptor)
        if found.st_uid != os.geteuid():
            raise NotPrivate(f"{self.path} belongs to another user")
        if ours and found.st_mode & 0o077:
            os.fchmod(self._descriptor, 0o700)
        elif found.st_mode & 0o022:
            raise NotPrivate(f"{self.path} can be written by other users")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc: object) -> None:
        if self._descriptor is not None:
            os.close(self._descriptor)

    def _name(self, name: str) -> str:
        return os.path.join(self.path, name) if self._descriptor is None else name

    def read(self, name: str, limit: int, use: bool = False) -> bytes | None:
        """What is in a file that only this user can open; None for any other, for pipes, and beyond ``limit`` bytes.

        Args:
            use: whether to note that the file was used just now.

            Raises:
                OSError: if there is none, or a link.
        """
        descriptor = os.open(self._name(name), os.O_RDONLY | CAREFULLY, dir_fd=self._descriptor)
        try:
            found = os.fstat(descriptor)
            if not stat.S_ISREG(found.st_mode) or found.st_size > limit:
                return None
            if UNIX and (found.st_uid != os.geteuid() or found.st_mode & 0o077):
                return None
            if use:
                os.utime(descriptor if os.utime in os.supports_fd else self._name(name))
            with open(descriptor, "rb", closefd=False) as file:
                return file.read(found.st_size)  # and no more: room for as much as is asked for is taken at once
        finally:
            os.close(descriptor)

    def write(self, name: str, data: bytes, replace: bool = True) -> None:
        """Store a file, whole or not at all. If it is there and not to be replaced, nothing happens."""
        temporary, at = self._name(f".new-{secrets.token_hex(8)}"), self._descriptor
        descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | CAREFULLY, 0o600, dir_fd=at)
        try:
            with open(descriptor, "wb") as file:
                file.write(data)
            if replace:
                os.replace(temporary, self._name(name), src_dir_fd=at, dst_dir_fd=at)
                return
            with suppress(FileExistsError):
                os.link(temporary, self._name(name), src_dir_fd=at, dst_dir_fd=at)
        except BaseException:
            self.remove(temporary)
            raise
        self.remove(temporary)

    def remove(self, name: str) -> None:
        """Remove a file."""
        os.unlink(self._name(name), dir_fd=self._descriptor)

    def files(self) -> list[tuple[float, int, str]]:
        """When each file was last used, its size, and its name."""
        result = []
        for name in os.listdir(self.path if self._descriptor is None else self._descriptor):
            try:
                found = os.stat(self._name(name), dir_fd=self._descriptor, follow_symlinks=False)
            except OSError:  # another process removed it
                continue
            if stat.S_ISREG(found.st_mode):
                result.append((found.st_mtime, found.st_size, name))
        return result


def _make(path: str) -> None:
    """Make a folder and what is missing on the way to it, closed to others."""
    if not os.path.isdir(path):
        _make(os.path.dirname(path))
        with suppress(FileExistsError):  # another process was quicker
            os.mkdir(path, 0o700)


@functools.cache
def _check_way(path: str, user: int) -> None:
    """Refuse a folder, resolved, if somebody else can exchange what is in it or in those above it."""
    while True:
        found = os.stat(path)
        writers = 0o002 if found.st_gid == found.st_uid else 0o022  # a group of that number is its user's alone
        if found.st_uid not in (0, user):
            raise NotPrivate(f"{path} belongs to another user")
        if found.st_mode & writers and not found.st_mode & stat.S_ISVTX:
            raise NotPrivate(f"{path} can be written by other users")
        if path == os.path.dirname(path):
            return
        path = os.path.dirname(path)
