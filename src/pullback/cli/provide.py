"""``pullback provide-torch``: a distribution named ``torch`` in this environment, for installers and for ``import``.

Libraries require ``torch``, so installing one would bring PyTorch. The distribution holds two modules of a line each,
which hand over to Pullback, and what installers look at: its name, its version and that it needs ``pullback``. It is
laid out as the unpacking of a wheel leaves it (PEP 427), so that any installer lists, checks and removes it. It also
requires ``typing-extensions``, as PyTorch does: libraries use it without saying so, and pip brings it with the first.
"""

from __future__ import annotations

import base64
import hashlib
import importlib
import os
import sys
import sysconfig
from importlib.machinery import PathFinder
from importlib.metadata import Distribution, DistributionFinder, MetadataPathFinder

from ..base.version import __version__

MODULES = ("torch", "functorch")
INFO = f"torch-{__version__}.dist-info"
MODULE = '''\
"""Pullback in the place of PyTorch: written by `pullback provide-torch`, removed by its `--uninstall`."""

from pullback.cli.provide import hand_over

hand_over(__name__)
'''
METADATA = f"""\
Metadata-Version: 2.1
Name: torch
Version: {__version__}
Summary: Pullback in the place of PyTorch
Requires-Python: >=3.11
Requires-Dist: pullback
Requires-Dist: typing-extensions>=4.10
"""
WHEEL = """\
Wheel-Version: 1.0
Generator: pullback provide-torch
Root-Is-Purelib: true
Tag: py3-none-any
"""


class NotProvided(Exception):
    """``torch`` can't be provided in this environment, or is not there to be removed; the message says why."""


def hand_over(name: str) -> None:
    """Let Pullback take the place of the module of that name, which is being imported."""
    from . import run

    sys.modules.pop(name, None)
    run.install()
    importlib.import_module(name)


def provide() -> str:
    """Install the distribution ``torch`` in the environment of this Python; does nothing where it is already.

    Returns:
        the folder that it is in.

    Raises:
        NotProvided: PyTorch is there, or the folder can't be written into.
    """
    folder = sysconfig.get_path("purelib")
    for found in installed():
        if not ours(found):
            raise NotProvided(
                f"PyTorch {found.version} is installed here, in {found.locate_file('')}.\n"
                "  Remove it first (`pip uninstall torch`), or choose another environment."
            )
    spec = PathFinder.find_spec("torch")
    if spec is not None and not installed():
        raise NotProvided(f"There is a torch here that no installer has put there: {spec.origin}.")
    remove()
    files = {f"{name}/__init__.py": MODULE for name in MODULES}
    files |= {f"{INFO}/METADATA": METADATA, f"{INFO}/WHEEL": WHEEL, f"{INFO}/INSTALLER": "pullback\n"}
    files[f"{INFO}/top_level.txt"] = "".join([f"{name}\n" for name in MODULES])
    files[f"{INFO}/RECORD"] = "".join([record(path, text) for path, text in files.items()]) + f"{INFO}/RECORD,,\n"
    try:
        for path, text in files.items():
            target = os.path.join(folder, *path.split("/"))
            os.makedirs(os.path.dirname(target), exist_ok=True)
            with open(target, "w", encoding="utf-8", newline="\n") as file:
                file.write(text)
    except OSError as error:
        raise NotProvided(
            f"{folder} can't be written into: {error.strerror}.\n  Use a virtual environment: python -m venv FOLDER."
        ) from None
    return folder


def remove() -> bool:
    """Remove what :func:`provide` has installed; whether there was anything.

    Raises:
        NotProvided: it can't be removed.
    """
    found = [distribution for distribution in installed() if ours(distribution)]
    for distribution in found:
        folders = set()
        for file in distribution.files or ():
            path = os.path.abspath(str(distribution.locate_file(file)))
            folders.add(os.path.dirname(path))
            try:
                os.remove(path)
            except FileNotFoundError:
                pass
            except OSError as error:
                raise NotProvided(f"{path} can't be removed: {error.strerror}.") from None
        for folder in sorted(folders, reverse=True):
            cache = os.path.join(folder, "__pycache__")
            for compiled in os.listdir(cache) if os.path.isdir(cache) else ():
                os.remove(os.path.join(cache, compiled))
            for empty in (cache, folder):
                if os.path.isdir(empty) and not os.listdir(empty):
                    os.rmdir(empty)
    return bool(found)


def installed() -> list[Distribution]:
    """The distributions named ``torch`` that this Python finds in files."""
    importlib.invalidate_caches()
    return list(MetadataPathFinder.find_distributions(DistributionFinder.Context(name="torch")))


def ours(distribution: Distribution) -> bool:
    return distribution.version.partition("+")[2].startswith("pullback")


def record(path: str, text: str) -> str:
    """A line of RECORD: the path, the digest and the size of a file."""
    data = text.encode()
    digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
    return f"{path},sha256={digest},{len(data)}\n"
