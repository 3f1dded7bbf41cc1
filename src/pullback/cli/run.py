"""PyTorch's name in this process: ``import torch`` gives Pullback.

``python -m pullback run script.py`` runs an unmodified PyTorch program, and :func:`install` does the same
inside a running one. A finder in front of ``sys.meta_path`` answers for ``torch[.x.y]`` with
``pullback[.x.y]`` itself, so that there is one of everything: classes are identical under both names, and
pickles agree. Python processes that the program starts do likewise, through ``_child/sitecustomize.py``,
which ``PYTHONPATH`` leads them to (all but those that ignore it: ``python -I``, ``-E``, ``-S``).

A name that Pullback lacks fails where it is used, not where it is imported: see :class:`Missing`. A program
that is prepared to do without it, by ``hasattr`` or ``try: import ... except ImportError``, is told at once.
"""

from __future__ import annotations

import builtins
import importlib
import os
import sys
from collections.abc import Callable, Sequence
from functools import partial
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import BuiltinImporter, ModuleSpec, SourceFileLoader
from importlib.util import decode_source
from types import CodeType, FrameType, ModuleType, TracebackType
from typing import Any, NoReturn

from ..base import thread_state
from ..base.addresses import address_of
from ..base.errors import with_notes
from .import_statements import importing, importing_frame, unguarded

CHILD = os.path.join(os.path.dirname(os.path.abspath(__file__)), "_child")
SHOWN = frozenset(
    """
    amp autograd cpu cuda distributed distributions func futures fx jit multiprocessing nn optim profiler return_types
    testing utils
""".split()
)
LAUNCHERS = {"PMI_RANK", "PMIX_RANK", "OMPI_COMM_WORLD_RANK"}  # variables by which MPI's launcher numbers processes
USAGE = """\
usage: python -m pullback run script.py [argument ...]
       python -m pullback run -m module [argument ...]
       python -m pullback run -c code [argument ...]
       python -m pullback run - [argument ...]          (the program is read from standard input)

Runs a PyTorch program as Python would, with Pullback in the place of PyTorch.
With `--nproc N` in front as N ranks of torch.distributed, with `--hosts A,B` on those machines.
"""


def install() -> None:
    """Let ``import torch``, and that of every module under it, give Pullback from now on, in this process.

    Does nothing when it is in force already. :func:`uninstall` undoes it.

    Raises:
        RuntimeError: PyTorch itself has been imported already.

    Example::

        import pullback
        pullback.install()
        import torch            # the very module object that `pullback` is
        import torch.nn as nn   # and `pullback.nn`
    """
    if _finder in sys.meta_path:
        return
    if (torch := sys.modules.get("torch")) is not None:
        raise RuntimeError(
            f"PyTorch is already imported, from {getattr(torch, '__file__', None) or 'an unknown place'}.\n"
            "  Call pullback.install() before the first `import torch`, or start the program with"
            " `python -m pullback run`."
        )
    sys.meta_path.insert(0, _finder)
    thread_state.as_torch = True


def uninstall() -> None:
    """Undo :func:`install`: names already bound stay, a later ``import torch`` looks for PyTorch."""
    if _finder not in sys.meta_path:
        return
    sys.meta_path.remove(_finder)
    thread_state.as_torch = False
    _finder.unname()
    for name in [name for name in sys.modules if name.partition(".")[0] in ("torch", "functorch")]:
        del sys.modules[name]
    _finder.unwatch()


# == finding ================================================================================================
class _Finder(MetaPathFinder, Loader):
    """Finder and loader of ``torch[.x.y]``, which is ``pullback[.x.y]`` where that exists, and of ``functorch``."""

    def __init__(self) -> None:
        self.watched: dict[ModuleType, dict[str, Any]] = {}  # and what each had before
        self.named: dict[type, str] = {}  # classes that say they are PyTorch's, and what they are of
        self.searched: set[str] = set()  # modules whose classes do

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> ModuleSpec | None:
        if name.partition(".")[0] not in ("torch", "functorch"):
            return None
        module: Any = counterpart(name)
        if module is None:
            frame = importing_frame(sys._getframe(1))
            if frame is None or importing(frame) == "torch" or not unguarded(frame):
                return None  # `from torch import name` goes on to ask the module itself
            module = Missing(name, frame)
        sys.modules.pop(name, None)  # its name may have been given on the way: importlib would load it anew
        spec = ModuleSpec(name, self)
        spec.loader_state = module
        return spec

    def find_distributions(self, context: Any) -> list[Any]:
        """What ``importlib.metadata`` is told of the package ``torch``: libraries ask it for the version."""
        if context.name != "torch":
            return []
        from importlib.metadata import Distribution, MetadataPathFinder

        from ..base.version import __version__

        class Named(Distribution):
            def read_text(self, filename: str) -> str | None:
                return (
                    f"Metadata-Version: 2.1\nName: torch\nVersion: {__version__}\n" if filename == "METADATA" else None
                )

            def locate_file(self, path: Any) -> Any:
                return os.path.join(os.path.dirname(os.path.dirname(os.path.dirname(CHILD))), path)

        provided = any([found.version == __version__ for found in MetadataPathFinder.find_distributions(context)])
        return [] if provided else [Named()]  # the one of `pullback provide-torch` says more

    def get_code(self, name: str) -> CodeType | None:
        """The code of a module that is run as a program: ``python -m torch.distributed.run``."""
        module = counterpart(name)
        loader: Any = None if module is None or module.__spec__ is None else module.__spec__.loader
        return None if loader is None or module is None else loader.get_code(module.__name__)

    def exec_module(self, module: ModuleType) -> None:
        """Put what was found in the place of the empty module that importlib has made."""
        name, found = module.__spec__.name, module.__spec__.loader_state  # type: ignore[union-attr]
        sys.modules[name] = found
        if not isinstance(found, Missing) and found not in self.watched:
            self.watch(found, name)
        self.name()

    def name(self) -> None:
        """Let the modules loaded so far, and their classes, go by PyTorch's names: programs print them, and compare."""
        import pullback

        pullback.__name__ = "torch"
        vars(pullback)["torch"] = pullback  # PyTorch has its own name in itself
        for kind in (pullback.Tensor, pullback.Size, pullback.device, pullback.dtype, pullback.finfo, pullback.iinfo):
            self.call(kind, "torch")
        for path, module in list(sys.modules.items()):
            path = address_of(path)
            top, _, rest = path.partition(".")
            if top != "pullback" or rest.partition(".")[0] not in SHOWN or path in self.searched:
                continue
            if getattr(module.__spec__, "_initializing", False):  # its classes are not there yet
                continue
            self.searched.add(path)
            name = f"torch.{rest}"
            if sys.modules.setdefault(name, module) is module and module not in self.watched:
                self.watch(module, name)
            for value in list(vars(module).values()):
                if isinstance(value, type) and self.belongs(value, module, path):
                    self.call(value, "torch.optim.lr_scheduler" if rest.startswith("optim.lr_scheduler.") else name)

    def belongs(self, kind: type, module: ModuleType, path: str) -> bool:
        """Whether PyTorch has a class at this path, at which `module` answers."""
        home = address_of(self.named.get(kind, kind.__module__))
        if home == address_of(module.__name__):
            # One of several paths of a module, distributions.normal, has the class that it is named after.
            return home == path or kind.__name__.lower() == path.rpartition(".")[2].replace("_", "").lower()
        # A class that has its home where PyTorch has no module is where it is exported: autograd.graph.Node.
        top, _, rest = home.partition(".")
        unshown = top == "pullback" and rest.partition(".")[0] not in SHOWN
        return unshown and kind not in self.named and kind.__name__ in getattr(module, "__all__", ())

    def call(self, kind: type, module: str) -> None:
        self.named.setdefault(kind, kind.__module__)
        name_module(kind, module)

    def unname(self) -> None:
        """Give modules and classes their own names back."""
        import pullback

        pullback.__name__ = "pullback"
        vars(pullback).pop("torch", None)
        for kind, module in self.named.items():
            name_module(kind, module)
        self.named.clear()
        self.searched.clear()

    def watch(self, module: ModuleType, name: str) -> None:
        """Be asked for what `module` lacks, be it a name in it or a module under it."""
        space = vars(module)
        self.watched[module] = {key: space[key] for key in ("__getattr__", "__path__") if key in space}
        space["__getattr__"] = partial(absent, name, module, space.get("__getattr__"))
        space.setdefault("__path__", [])  # without one, importlib would not ask for modules under it
        for child, value in list(space.items()):
            # behind a function of its own name, such as gradcheck:
            hidden = sys.modules.get(f"{module.__name__}.{child}")
            # if importlib loaded it, it would put it in the function's place
            if hidden is not None and hidden is not value:
                sys.modules[f"{name}.{child}"] = hidden
                self.watch(hidden, f"{name}.{child}")

    def unwatch(self) -> None:
        """Leave the watched modules as they were."""
        for module, before in self.watched.items():
            space = vars(module)
            missing = [key for key, value in space.items() if isinstance(value, Missing)]
            for key in ("__getattr__", "__path__", *missing):
                del space[key]
            space.update(before)
        self.watched.clear()


def name_module(kind: type, module: str) -> None:
    """Set ``__module__``, and keep the line at which ``inspect`` finds the class: Python 3.13 forgets it then."""
    line = vars(kind).get("__firstlineno__")
    kind.__module__ = module
    if line is not None:
        kind.__firstlineno__ = line  # type: ignore[attr-defined]


def counterpart(name: str) -> ModuleType | None:
    """Pullback's module for a name under ``torch``, imported; None where it has none."""
    parent, _, child = name.rpartition(".")
    known = getattr(sys.modules.get(parent), child, None)
    if isinstance(known, ModuleType) and known.__name__.startswith("pullback."):
        return known
    if known is not None:
        return None  # a class or function: importlib would put the module in its place
    return imported(name)


def imported(name: str) -> ModuleType | None:
    """Pullback's module for a name under ``torch``, whatever has that name now."""
    real = f"pullback.{name}" if name.startswith("functorch") else "pullback" + name.removeprefix("torch")
    try:
        return importlib.import_module(real)
    except ModuleNotFoundError as error:
        if error.name is None or not f"{real}.".startswith(f"{error.name}."):
            raise  # it exists, but something that it needs does not
    return None


def absent(path: str, module: ModuleType, own: Callable[[str], Any] | None, name: str) -> Any:
    """The ``__getattr__`` of a module that is known as `path`; `own` is the one that it has of itself."""
    if own is not None:
        try:
            value = own(name)  # which may have imported more
        except AttributeError:
            pass
        else:
            _finder.name()
            return value
    if path != "torch" and not name.startswith("__"):
        submodule = imported(f"{path}.{name}")  # PyTorch has imported most of its own by then
        if submodule is not None:
            return submodule
    frame = sys._getframe(1)
    if (importing(frame) or "").partition(".")[0] == "torch" and unguarded(frame):
        return Missing(f"{path}.{name}", frame)
    error = AttributeError(
        f"module {path!r} has no attribute {name!r}\n  {lacks(f'{path}.{name}')}, used at {place(frame)}",
        name=name,
        obj=module,  # from these two, Python makes its "Did you mean"
    )
    raise with_notes(error, page="no-attribute") from None


# == what Pullback lacks ====================================================================================
class NotInPullback(NotImplementedError, AttributeError):
    """A name of PyTorch's that Pullback lacks was used.

    Also an ``AttributeError``, so that ``hasattr`` and ``getattr`` with a default find the name absent.
    """


class Missing:
    """Stands for a name under ``torch`` that Pullback lacks, from its import until its use.

    Calling it, asking it for an attribute and making an instance of a class derived from it raise
    :class:`NotInPullback`, with the line of the import and that of the use. To stand in an annotation, to be
    derived from and to be asked for by ``isinstance`` (nothing is one) is not a use.
    """

    def __init__(self, name: str, frame: FrameType) -> None:
        self.__name__ = name
        self.__path__: list[str] = []  # `import torch.x.y` works on
        self.__spec__ = None
        self._asked = place(frame)

    def _used(self, name: str) -> NoReturn:
        error = NotInPullback(
            f"{lacks(name)}\n  asked for at {self._asked} (the import), used at {place(sys._getframe(2))}.\n"
            "  A program that can do without it says so with `try: import ... except ImportError`."
        )
        raise with_notes(error, page="no-attribute")

    def __getattr__(self, name: str) -> NoReturn:
        if name == "__all__":
            raise ImportError(f"cannot import * from {self.__name__}: {lacks(self.__name__)}")
        self._used(f"{self.__name__}.{name}")

    def __call__(self, *args: Any, **kwargs: Any) -> NoReturn:
        self._used(self.__name__)

    def __mro_entries__(self, bases: tuple[Any, ...]) -> tuple[type]:
        name = self.__name__
        return (
            type(
                name.rpartition(".")[2],
                (),
                {"__new__": lambda cls, *args, **kwargs: self._used(name), "__module__": "torch"},
            ),
        )

    def __instancecheck__(self, instance: Any) -> bool:
        return False

    def __subclasscheck__(self, subclass: Any) -> bool:
        return False

    def __reduce_ex__(self, protocol: Any) -> NoReturn:  # to pickle or copy it
        self._used(self.__name__)

    def __or__(self, other: Any) -> Missing:
        return self

    __ror__ = __getitem__ = __or__

    def __repr__(self) -> str:
        return f"<{lacks(self.__name__)}, asked for at {self._asked}>"


def lacks(name: str) -> str:
    from ..base.version import pullback

    return f"{name} is not in Pullback {pullback}"


def place(frame: FrameType) -> str:
    """File, from the current folder where it is under it, and line."""
    return f"{frame.f_code.co_filename.removeprefix(os.getcwd() + os.sep)}:{frame.f_lineno}"


# == running a program ======================================================================================
def main(arguments: Sequence[str]) -> None:
    """Run a program as ``python`` would: ``script.py``, ``-m module``, ``-c code`` or ``-``, then arguments.

    ``sys.argv``, ``sys.path[0]``, ``__main__``, exit codes and tracebacks are the program's own.
    """
    option: str
    ranks, hosts, arguments = several(list(arguments))
    if ranks:
        from ..distributed.start_ranks import launch

        sys.exit(launch(arguments, ranks, hosts))
    if arguments[:1] == ["torchrun"] and not os.path.exists("torchrun"):
        arguments[:1] = ["-m", "torch.distributed.run"]
    match arguments:
        case [("-m" | "-c") as option, what, *rest]:
            sys.argv = [option, *rest]
        case [what, *rest] if what == "-" or not what.startswith("-"):
            option = "-" if what == "-" else "file"
            sys.argv = [what, *rest]
        case given:
            asked = given in (["-h"], ["--help"])
            print(USAGE, end="", file=sys.stdout if asked else sys.stderr)
            sys.exit(0 if asked else 2)

    install()
    folders = os.environ.get("PYTHONPATH")
    if folders is None or CHILD not in folders.split(os.pathsep):
        os.environ["PYTHONPATH"] = CHILD + os.pathsep + folders if folders else CHILD

    if not LAUNCHERS.isdisjoint(os.environ):
        from ..distributed.start_ranks import take_place

        take_place()

    program = sys.modules["__main__"] = ModuleType("__main__")
    vars(program).update(__builtins__=builtins, __loader__=BuiltinImporter)
    try:
        START[option](what, program)
    except BaseException as error:
        # Only here is it known whether the program has set a hook of its own.
        hook, traceback = sys.excepthook, without_ours(error.__traceback__)
        sys.excepthook = lambda kind, value, _: hook(kind, value.with_traceback(traceback), traceback)
        if isinstance(error, SystemExit) and error.code and (world := sys.modules.get("pullback.distributed.world")):
            world.fail(error)
        raise


def several(arguments: list[str]) -> tuple[int, str | None, list[str]]:
    """The number of ranks and the machines asked for in front of a program, 0 and None if not; and the rest."""
    ranks, hosts = 0, None
    while arguments and arguments[0].partition("=")[0] in ("--nproc", "--hosts"):
        name, equals, value = arguments.pop(0).partition("=")
        if not equals:
            value = arguments.pop(0) if arguments else ""
        if name == "--hosts":
            hosts = value
        elif value.isdigit() and int(value):
            ranks = int(value)
        else:
            print(f"pullback run: --nproc needs a number of ranks, not {value!r}", file=sys.stderr)
            sys.exit(2)
    return ranks or (hosts is not None and hosts.count(",") + 1) or 0, hosts, arguments


def run_file(path: str, program: ModuleType) -> None:
    import pkgutil
    import runpy

    if pkgutil.get_importer(path) is not None:  # a folder or an archive, with a __main__.py in it
        search_first(os.path.abspath(path))
        runpy._run_module_as_main("__main__", alter_argv=False)  # type: ignore[attr-defined]
        return
    full = os.path.abspath(path)
    loader = SourceFileLoader("__main__", full)
    try:
        source = loader.get_data(full)
    except OSError as error:
        reason = f"[Errno {error.errno}] {error.strerror}"
        print(f"{sys.executable}: can't open file {full!r}: {reason}", file=sys.stderr)
        sys.exit(2)
    search_first(os.path.dirname(os.path.realpath(path)))
    vars(program).update(__file__=full, __cached__=None, __loader__=loader)
    exec(loader.source_to_code(source, full), vars(program))


def run_module(name: str, program: ModuleType) -> None:
    import runpy

    search_first(os.getcwd())
    runpy._run_module_as_main(name)  # type: ignore[attr-defined]  # what `python -m` itself calls


def run_string(source: str, program: ModuleType, filename: str = "<string>") -> None:
    import linecache

    search_first("")
    linecache.cache[filename] = len(source), None, source.splitlines(keepends=True), filename
    exec(compile(source, filename, "exec", dont_inherit=True), vars(program))


def run_standard_input(_: str, program: ModuleType) -> None:
    vars(program)["__file__"] = "<stdin>"
    run_string(decode_source(sys.stdin.buffer.read()), program, "<stdin>")


START: dict[str, Callable[[str, ModuleType], None]] = {
    "file": run_file,
    "-m": run_module,
    "-c": run_string,
    "-": run_standard_input,
}


def search_first(folder: str) -> None:
    """Put `folder` where Python put that of the command that started Pullback (not with ``python -P``)."""
    if not sys.flags.safe_path:
        sys.path[0] = folder


def without_ours(traceback: TracebackType | None) -> TracebackType | None:
    """A traceback that begins and ends with the program's own lines."""
    here = main.__code__.co_filename
    while traceback is not None and traceback.tb_frame.f_code.co_filename.startswith((here, "<frozen ")):
        traceback = traceback.tb_next
    last = step = traceback
    while step is not None:
        if step.tb_frame.f_code.co_filename != here:
            last = step
        step = step.tb_next
    if last is not None:
        last.tb_next = None
    return traceback


_finder = _Finder()
