"""``torch.hub``: models from a folder with a ``hubconf.py``, and downloads of weights.

Code is run from this machine's folders only: ``source="local"``, or a repository that has been put into
:func:`get_dir` by hand, as ``OWNER_REPO_REF``.
"""

from __future__ import annotations

import builtins
import hashlib
import importlib.util
import os
import re
import sys
import tempfile
from types import ModuleType
from typing import Any
from urllib.parse import urlparse

from ..base.errors import with_notes

__all__ = ["download_url_to_file", "get_dir", "help", "list", "load", "load_state_dict_from_url", "set_dir"]

_dir: str | None = None


def get_dir() -> str:
    """The folder of downloads: what :func:`set_dir` was told, else ``$TORCH_HOME/hub``, else ``~/.cache/torch/hub``."""
    return _dir or os.path.join(_get_torch_home(), "hub")


def _get_torch_home() -> str:
    """The folder of everything that is kept: ``$TORCH_HOME``, else ``~/.cache/torch``."""
    cache = os.getenv("XDG_CACHE_HOME", "~/.cache")
    return os.path.expanduser(os.getenv("TORCH_HOME", os.path.join(cache, "torch")))


def set_dir(d: str | os.PathLike[str]) -> None:
    """Set the folder of downloads."""
    global _dir
    _dir = os.path.expanduser(os.fspath(d))


# --- entry points -------------------------------------------------------------------------------------------


def load(
    repo_or_dir: str | os.PathLike[str],
    model: str,
    *args: Any,
    source: str = "github",
    trust_repo: Any = None,
    force_reload: bool = False,
    verbose: bool = True,
    skip_validation: bool = False,
    **kwargs: Any,
) -> Any:
    """``model(*args, **kwargs)`` of a repository's ``hubconf.py``.

    Args:
        repo_or_dir: the folder, with ``source="local"``; ``"owner/repo[:ref]"`` otherwise, see the module.
        model: the name of a function in ``hubconf.py``.
        source: ``"local"`` or ``"github"``.
        trust_repo, force_reload, verbose, skip_validation: for downloads, of which there are none.

    Raises:
        ValueError: the source is another.
        RuntimeError: the repository is not there, lacks what it depends on, or has no such function.
    """
    return _entry(_hubconf(repo_or_dir, source), model)(*args, **kwargs)


def list(
    github: str | os.PathLike[str],
    force_reload: bool = False,
    skip_validation: bool = False,
    trust_repo: Any = None,
    verbose: bool = True,
    *,
    source: str = "github",
) -> builtins.list[str]:
    """The functions in a repository's ``hubconf.py``; see :func:`load`."""
    members = vars(_hubconf(github, source)).items()
    return [name for name, value in members if callable(value) and not name.startswith("_")]


def help(
    github: str | os.PathLike[str],
    model: str,
    force_reload: bool = False,
    skip_validation: bool = False,
    trust_repo: Any = None,
    *,
    source: str = "github",
) -> str | None:
    """The docstring of a function in a repository's ``hubconf.py``; see :func:`load`."""
    return _entry(_hubconf(github, source), model).__doc__


def _folder(repo: str | os.PathLike[str], source: str) -> str:
    if source.lower() == "local":
        return os.path.expanduser(os.fspath(repo))
    if source.lower() != "github":
        raise ValueError(f'Unknown source: "{source}". Allowed values: "github" | "local".')
    name, _, ref = os.fspath(repo).partition(":")
    for branch in [ref] if ref else ["main", "master"]:
        folder = os.path.join(get_dir(), "_".join([name, branch]).replace("/", "_"))
        if os.path.isdir(folder):
            return folder
    raise with_notes(
        RuntimeError(f"torch.hub: {os.fspath(repo)} is not on this machine, and Pullback downloads no code to run."),
        f"git clone https://github.com/{name}, and torch.hub.load(folder, model, source='local').",
    )


def _hubconf(repo: str | os.PathLike[str], source: str) -> ModuleType:
    """A repository's ``hubconf.py``, run anew with its folder on ``sys.path``."""
    folder = _folder(repo, source)
    sys.path.insert(0, folder)
    try:
        spec: Any = importlib.util.spec_from_file_location("hubconf", os.path.join(folder, "hubconf.py"))
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
    finally:
        sys.path.remove(folder)
    missing = [
        name
        for name in getattr(module, "dependencies", None) or ()
        if name != "torch" and importlib.util.find_spec(name) is None
    ]
    if missing:
        raise RuntimeError(f"Missing dependencies: {', '.join(missing)}")
    return module


def _entry(module: ModuleType, model: str) -> Any:
    if not isinstance(model, str):
        raise ValueError("Invalid input: model should be a string of function name")
    entry = getattr(module, model, None)
    if entry is None or not callable(entry):
        raise RuntimeError(f"Cannot find callable {model} in hubconf")
    return entry


# --- weights ------------------------------------------------------------------------------------------------


def download_url_to_file(url: str, dst: str, hash_prefix: str | None = None, progress: bool = True) -> None:
    """Fetch a file.

    Args:
        url: where from. dst: the path to write to, which is touched only when all is there and right.
        hash_prefix: how its SHA-256 has to begin.
        progress: show how far it is, on a terminal.

    Raises:
        RuntimeError: the hash is another one.
        OSError: it cannot be fetched.
    """
    from urllib.request import Request, urlopen

    from rich.progress import wrap_file

    digest, folder = hashlib.sha256(), os.path.dirname(os.path.abspath(os.path.expanduser(dst)))
    with urlopen(Request(url, headers={"User-Agent": "torch.hub"})) as source:
        length = source.headers.get("Content-Length")
        part = tempfile.NamedTemporaryFile(dir=folder, delete=False)
        try:
            shown: dict[str, Any] = {
                "description": os.path.basename(dst),
                "disable": not progress or not sys.stderr.isatty(),
            }
            with part, wrap_file(source, int(length or 0), **shown) as stream:
                while chunk := stream.read(1 << 17):
                    part.write(chunk)
                    digest.update(chunk)
            if hash_prefix and not digest.hexdigest().startswith(hash_prefix):
                raise RuntimeError(f'invalid hash value (expected "{hash_prefix}", got "{digest.hexdigest()}")')
            os.replace(part.name, os.path.expanduser(dst))
        except BaseException:
            os.unlink(part.name)
            raise


def load_state_dict_from_url(
    url: str,
    model_dir: str | None = None,
    map_location: Any = None,
    progress: bool = True,
    check_hash: bool = False,
    file_name: str | None = None,
    weights_only: bool = True,
) -> Any:
    """``torch.load`` of a file from the net, which is fetched the first time and kept.

    Args:
        url: where it is. model_dir: the folder to keep it in, by default ``checkpoints`` in :func:`get_dir`.
        map_location, weights_only: for ``torch.load``. progress: show how far it is, on a terminal.
        check_hash: the name ends in ``-HASH.ext``, and the file's SHA-256 has to begin so.
        file_name: the name to keep it under.
    """
    from ..serialization.save_load import load as load_file

    folder = os.path.join(get_dir(), "checkpoints") if model_dir is None else model_dir
    os.makedirs(folder, exist_ok=True)
    name = file_name or os.path.basename(urlparse(url).path)
    path = os.path.join(folder, name)
    if not os.path.exists(path):
        found = re.search(r"-([a-f0-9]*)\.", name) if check_hash else None
        download_url_to_file(url, path, found[1] if found else None, progress)
    return load_file(path, map_location=map_location, weights_only=weights_only)
