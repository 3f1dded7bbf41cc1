"""``torch.save`` and ``torch.load``, as ``weights_only=True``; files are PyTorch's, read and written without it.

``load`` always is what PyTorch calls ``weights_only=True``: nothing in a file is executed, and a class that
is not known to be harmless is refused by name, until the program allows it (:func:`add_safe_globals`). ``save`` writes
files that PyTorch's ``load`` reads in that mode. See :mod:`pullback.serialization` for how.
"""

from __future__ import annotations

import errno
import io
import os
import pickletools
import stat
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from functools import partial
from pathlib import Path
from typing import Any

from ..base.device import check_device, device
from ..base.errors import with_notes
from ..ops.storage import StorageBase, UntypedStorage
from . import legacy, type_names
from .archive import Reader, Writer
from .memory import Memory, checked
from .pickler import Pickler
from .unpickler import LoadError, Machine

__all__ = [
    "LoadError",
    "add_safe_globals",
    "clear_safe_globals",
    "get_safe_globals",
    "get_unsafe_globals_in_checkpoint",
    "load",
    "location_tag",
    "safe_globals",
    "save",
    "skip_data",
]

DEFAULT_PROTOCOL = 2
_skipping: ContextVar[bool] = ContextVar("skipping", default=False)


# --- writing ----------------------------------------------------------------------------------------------------


def save(
    obj: Any,
    f: Any,
    pickle_module: Any = None,
    pickle_protocol: int = DEFAULT_PROTOCOL,
    _use_new_zipfile_serialization: bool = True,
) -> None:
    """Write an object to a file, in PyTorch's zip format.

    Tensors that share memory share it in the file; all of the memory that they are windows onto is written. A file at a
    path is replaced only when the new one is complete.

    Args:
        obj: tensors, numbers, strings, and lists, tuples and dicts of such; a ``state_dict``; a module, or anything
            else that can be pickled, which :func:`load` will refuse unless its class is allowed.
        f: a path, or a file open for writing.
        pickle_module, pickle_protocol: without effect: what a file says is not left to another pickler.
        _use_new_zipfile_serialization: False for the format before PyTorch 1.6, of which a file may hold several.

    Raises:
        RuntimeError: if the folder does not exist, or tensors of different types share memory.
        PermissionError: if there is a file already, and it is read-only.
        OSError: if not all could be written.

    >>> import io, pullback as torch
    >>> file = io.BytesIO()
    >>> torch.save({"weight": torch.eye(2), "epoch": 3}, file)
    >>> _ = file.seek(0); torch.load(file)
    {'weight': tensor([[1., 0.],
            [0., 1.]]), 'epoch': 3}
    """
    write = (_pickled if _use_new_zipfile_serialization else legacy.pickled)(obj)
    if not isinstance(f, (str, os.PathLike)):
        if not hasattr(f, "write"):
            raise AttributeError(
                f"expected 'f' to be string, path, or a file-like object with a 'write' attribute, not "
                f"{type(f).__name__}"
            )
        write(f.write, "archive")
        getattr(f, "flush", int)()  # by which objects that stand for files know the end
        return
    with replacing(f) as file:
        write(file.write, Path(os.fspath(f)).stem or "archive", partial(_rewrite, file) if file.seekable() else None)


def _rewrite(file: Any, at: int, data: bytes) -> None:
    """Write bytes at a place in what was written into a file."""
    end = file.tell()
    file.seek(at)
    file.write(data)
    file.seek(end)


def _pickled(obj: Any) -> Callable[..., None]:
    """What writes an object, pickled now, as an archive: given what :class:`~.archive.Writer` takes."""
    code = io.BytesIO()
    pickler = Pickler(code)
    pickler.dump(obj)

    def write(write: Callable[[Any], Any], folder: str, rewrite: Any = None) -> None:
        archive = Writer(write, folder, rewrite)
        archive.add("data.pkl", code.getvalue())
        archive.add(".format_version", b"1")
        archive.add(".storage_alignment", b"64")
        archive.add("byteorder", sys.byteorder.encode())
        for kept in pickler.kept.values():
            archive.add(f"data/{kept.key}", bytes(kept.data.nbytes) if _skipping.get() else kept.data)
        archive.add("version", b"3\n")
        archive.close()

    return write


def location_tag(storage: StorageBase) -> str:
    """What a file says of where a storage is."""
    return storage.device.type


class skip_data:
    """Inside, ``save`` writes zeros in place of the elements of tensors, for programs that fill them in later.

    >>> import io, pullback as torch
    >>> file = io.BytesIO()
    >>> with torch.serialization.skip_data(): torch.save(torch.ones(2), file)
    >>> _ = file.seek(0); torch.load(file)
    tensor([0., 0.])
    """

    def __init__(self, materialize_fake_tensors: bool = False) -> None:
        pass

    def __enter__(self) -> None:
        self._before = _skipping.set(True)

    def __exit__(self, *exc: object) -> None:
        _skipping.reset(self._before)


@contextmanager
def replacing(path: Any) -> Iterator[Any]:
    """A new file beside ``path`` that takes its place when the block has ended well, and else leaves no trace."""
    target = os.path.realpath(path)
    if os.path.exists(target) and not stat.S_ISREG(os.stat(target).st_mode):  # /dev/null, a pipe
        with open(target, "wb") as file:
            yield file
        return
    folder = os.path.dirname(target)
    if os.path.exists(target):
        os.close(os.open(target, os.O_WRONLY))  # raises where writing is not permitted
        if not os.stat(target).st_mode & 0o222:  # nor meant to be, though the administrator may do anything
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), os.fspath(path))
    if not os.path.isdir(folder):
        raise RuntimeError(f"Parent directory {os.path.dirname(os.fspath(path))} does not exist.")
    handle, name = tempfile.mkstemp(prefix=f".{os.path.basename(target)}.", suffix=".tmp", dir=folder)
    try:
        with open(handle, "wb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        os.chmod(name, stat.S_IMODE(os.stat(target).st_mode) if os.path.exists(target) else 0o666 & ~_umask())
        os.replace(name, target)
    except BaseException as error:
        os.unlink(name)
        if sys.platform == "win32" and isinstance(error, PermissionError):
            with_notes(
                error,
                "Windows replaces no file that is open, or mapped into memory, as by load(mmap=True).",
                "Close it, and let go of such tensors first (clone what is still needed), or save under another name.",
            )
        raise


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask


# --- reading ----------------------------------------------------------------------------------------------------


def load(
    f: Any,
    map_location: Any = None,
    pickle_module: Any = None,
    *,
    weights_only: bool | None = None,
    mmap: bool | None = None,
    encoding: str = "utf-8",
    **pickle_load_args: Any,
) -> Any:
    """Read what ``torch.save`` wrote, here or in PyTorch. Nothing in the file is executed.

    Args:
        f: a path; or a file open for reading, or anything else with ``read``, ``tell`` and ``seek``, which is read from
            where it is.
        map_location: where storages go: ``"cpu"``, ``"meta"``, a device, a dict from device names to such, or
            a function of a storage and its device's name, which returns a storage or None.
        weights_only: False also allows ``torch.nn``'s own modules and functions, values of NumPy and of Python's
            library (arrays, paths, namespaces, dates, ...), and modules, dataclasses, named tuples and enumerations of
            the program, whose Python modules must be imported: they are made without running any of their code.
            Other classes must be allowed by :func:`add_safe_globals` in either case.
        mmap: whether to leave tensors in the file until they are used, and map it into memory, copy-on-write. On
            Windows the file cannot be replaced as long as one of them is there.
        encoding: of the strings that Python 2 wrote.
        pickle_module: without effect, as no pickle is run.

    Raises:
        LoadError: if the file is damaged, cut off or no such file, or contains a class that is not allowed. It is a
            ``RuntimeError`` and a ``pickle.UnpicklingError``.
        RuntimeError: if a storage was on a device that is not here, and ``map_location`` does not say where it should
            go.
    """
    if pickle_module is not None and weights_only:
        raise RuntimeError("Can not safely load weights when explicit pickle_module is specified")
    names_ = type_names.Table(modules=weights_only is False)
    located = _locator(map_location)
    if isinstance(f, (str, os.PathLike)):
        with open(f, "rb") as file:
            return _load(file, names_, located, bool(mmap), encoding, f"{os.fspath(f)}: ")
    if mmap:
        raise ValueError("f must be a string or os.PathLike object in order to use mmap=True")
    file, start = _as_file(f)
    begins = file.tell()
    value = _load(file, names_, located, False, encoding, "")
    if file is not f:
        f.seek(start + file.tell() - begins)
    return value


def _as_file(f: Any) -> tuple[Any, int]:
    """A file at the same place, with the same bytes after it, which surely has all methods of one; and that place.

    Raises:
        AttributeError, io.UnsupportedOperation: if it cannot be read, or not be sought in.
    """
    try:
        seek, start = f.seek, f.tell()
        seek(start)
        if isinstance(f.read(0), str):
            raise AttributeError("the file was opened as text: open it with mode 'rb'")
        whole = type(f) in (io.BytesIO, io.BufferedReader, io.BufferedRandom, io.FileIO)
        return f if whole else io.BytesIO(f.read()), start
    except (io.UnsupportedOperation, AttributeError) as error:
        if "opened as text" in str(error):
            raise
        raise type(error)(
            f"{error}. You can only torch.load from a file that is seekable. Please pre-load the data into a buffer "
            "like io.BytesIO and try to load from it instead."
        ) from None


def _load(
    file: Any, table: type_names.Table, located: Callable[[Any, Any], None], mapped: bool, encoding: str, where: str
) -> Any:
    start = file.tell()
    try:
        head = file.read(4)
        file.seek(start)
        if head == b"PK\3\4":
            return _load_archive(file, table, located, mapped, encoding)
        if mapped:
            raise RuntimeError(
                "mmap can only be used with files saved with `torch.save(_use_new_zipfile_serialization=True)`, "
                "please torch.save your checkpoint with this option in order to use mmap."
            )
        code = file.read()
        if not code:
            raise LoadError("Ran out of input: the file is empty")
        value, length = legacy.load(code, table, located, encoding)
        file.seek(start + length)  # another object may follow
        return value
    except LoadError as error:
        raise with_notes(
            LoadError(f"Weights only load failed. {where}{error}"), *_ways_out(str(error)), page="weights-only"
        ) from error.__cause__


def _ways_out(message: str) -> list[str]:
    if "Unsupported global" in message:
        return [
            "Nothing in a file is executed here, whatever weights_only says. With weights_only=False, values of NumPy "
            "and of Python's library are loaded, and modules, dataclasses, named tuples and enumerations whose Python "
            "modules this program has imported.",
            "Allow other classes by add_safe_globals: they are then used as they are in this program. Or save the "
            "state_dict() rather than the object.",
        ]
    if "without running its code" in message:
        return [
            "Allow the class by add_safe_globals: its code then runs. Or save the state_dict() rather than the object."
        ]
    return []


def _load_archive(
    file: Any, table: type_names.Table, located: Callable[[Any, Any], None], mapped: bool, encoding: str
) -> Any:
    archive = Reader(file, mapped)
    if "constants.pkl" in archive:
        raise LoadError("the file is a TorchScript archive, which holds code: torch.jit programs cannot be loaded")
    little = "byteorder" not in archive or archive.read("byteorder").tobytes().strip() != b"big"
    storages: dict[str, Memory] = {}

    def storage(pid: Any) -> Memory:
        kind, key, location, count = checked(pid)
        size = count * (kind.dtype.itemsize if kind.dtype else 1)
        if archive.size(f"data/{key}") != size:
            raise LoadError(f"storage {key} has {archive.size(f'data/{key}')} bytes rather than {size}")
        if key not in storages:
            storages[key] = Memory(UntypedStorage(archive.read(f"data/{key}")), kind.dtype).in_this_order(little)
            located(storages[key], location)
        elif storages[key].of is not kind.dtype:
            raise LoadError(f"storage {key} is said to be of two types")
        return storages[key]

    value = Machine(archive.read("data.pkl").tobytes(), table, storage, encoding=encoding).run()
    for memory in storages.values():
        memory.finish()
    return value


def _locator(map_location: Any) -> Callable[[Any, Any], None]:
    """A function of a storage and its device's name that refuses storages which would end up on a device that is not
    here.
    """

    def located(memory: Memory, location: Any) -> None:
        place = location
        if isinstance(map_location, dict):
            place = map_location.get(location, location)
        elif callable(map_location):
            moved = map_location(memory.untyped(), location)
            place = location if moved is None else "cpu"
        elif map_location is not None:
            place = map_location
        where = device(place if isinstance(place, (str, device)) else "cpu")
        memory.hollow = where.type == "meta"
        if where.type != "cpu" and place is location:
            kind = where.type.upper()
            raise RuntimeError(
                f"Attempting to deserialize object on a {kind} device but torch.{where.type}.is_available() is False. "
                "If you are running on a CPU-only machine, please use torch.load with "
                "map_location=torch.device('cpu') to map your storages to the CPU."
            )
        try:
            check_device(where)
        except AssertionError as error:
            raise RuntimeError(
                f"Attempting to deserialize object on {where}, which is not available: {error}"
            ) from None

    return located


# --- what may be in a file --------------------------------------------------------------------------------------


def add_safe_globals(safe_globals: list[Any]) -> None:
    """Allow classes and functions in files: they are then used as they are in this program.

    Args:
        safe_globals: classes or functions, or tuples of one and the path under which files name it.

    >>> import pullback as torch
    >>> torch.serialization.add_safe_globals([torch.nn.Linear])
    >>> torch.serialization.get_safe_globals()
    [<class 'pullback.nn.modules.linear.Linear'>]
    >>> torch.serialization.clear_safe_globals()
    """
    type_names.allowed += [entry for entry in safe_globals if entry not in type_names.allowed]


def get_safe_globals() -> list[Any]:
    """The classes and functions allowed by :func:`add_safe_globals`."""
    return list(type_names.allowed)


def clear_safe_globals() -> None:
    """Allow nothing beyond what always is."""
    type_names.allowed.clear()


class safe_globals:
    """Allows classes and functions in files inside a block; see :func:`add_safe_globals`.

    >>> import io, pullback as torch
    >>> file = io.BytesIO(); torch.save(torch.nn.ReLU(), file); _ = file.seek(0)
    >>> with torch.serialization.safe_globals([torch.nn.ReLU]): torch.load(file)
    ReLU()
    """

    def __init__(self, safe_globals: list[Any]) -> None:
        self.safe_globals = safe_globals

    def __enter__(self) -> None:
        self._before = list(type_names.allowed)
        add_safe_globals(self.safe_globals)

    def __exit__(self, *exc: object) -> None:
        type_names.allowed[:] = self._before


def get_unsafe_globals_in_checkpoint(f: Any) -> list[str]:
    """The paths of the classes and functions in a file that :func:`load` would refuse.

    Raises:
        ValueError: for files of the old format.
        LoadError: if it is damaged.
    """
    if isinstance(f, (str, os.PathLike)):
        with open(f, "rb") as file:
            return get_unsafe_globals_in_checkpoint(file)
    start = f.tell()
    head = f.read(4)
    f.seek(start)
    if head != b"PK\3\4":
        raise ValueError(
            "Expected input to be a checkpoint returned by torch.save but got a torchscript checkpoint or a file of "
            "the format before PyTorch 1.6"
        )
    code = Reader(f).read("data.pkl").tobytes()
    f.seek(start)
    table, strings = type_names.Table(), [""]
    found: dict[str, None] = {}
    try:
        for instruction, value, _ in pickletools.genops(code):
            if isinstance(value, str) and instruction.name != "GLOBAL":
                strings.append(value)
            elif instruction.name in ("GLOBAL", "STACK_GLOBAL"):
                path = ".".join(str(value).split(" ", 1) if instruction.name == "GLOBAL" else strings[-2:])
                path = path.replace("__builtin__.", "builtins.")
                if not table.knows(path):
                    found[path] = None
    except ValueError as error:
        raise LoadError(f"the pickle is damaged: {error}") from None
    return list(found)
