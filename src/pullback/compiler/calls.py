"""Which functions a traced call calls, and which of them a plan cannot stand for.

While the function runs, Python's profile hook tells of every call in this thread, of Python functions and of those in
C. What users' code may call freely is listed here: what has no effects and depends on nothing but its arguments (or on
what is guarded). All else, such as ``print``, a clock, or a file, has to happen at each call, so the function is not
compiled.
"""

from __future__ import annotations

import gc
import os
import sys
import sysconfig
from contextlib import contextmanager
from functools import lru_cache
from types import CodeType, FrameType
from typing import TYPE_CHECKING, Any

import numpy as np

from .. import kernels
from ..core.graph import ROOT, is_users
from .refusal import cannot_compile

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

STDLIB = os.path.dirname(os.__file__) + os.sep
SITE_PACKAGES = tuple({sysconfig.get_path(p) + os.sep for p in ("purelib", "platlib")})
# libraries that the package itself computes with
OUR_LIBRARIES = tuple(
    [os.path.join(p, name) + os.sep for p in SITE_PACKAGES for name in ("scipy", "llvmlite", "ml_dtypes")]
)
OUR_LIBRARIES += (os.path.dirname(np.__file__) + os.sep,)

# modules in C and of Python's library whose functions have no effects and depend on their arguments alone
PURE_MODULES = {
    *("math", "cmath", "itertools", "operator", "_operator", "functools", "_functools", "collections", "_collections"),
    *("_collections_abc", "abc", "_abc", "numbers", "enum", "dataclasses", "types", "typing", "_typing", "contextlib"),
    *("string", "_string", "re", "_sre", "copy", "copyreg", "weakref", "_weakref", "_weakrefset", "heapq", "_heapq"),
    *("bisect", "_bisect", "statistics", "_statistics", "fractions", "decimal", "_decimal", "struct", "_struct"),
    *("inspect", "warnings", "_warnings", "textwrap", "reprlib", "keyword", "posixpath", "ntpath"),
    *("builtins", "array", "datetime", "numpy", "scipy", "ml_dtypes", "llvmlite", "torch", __name__.partition(".")[0]),
    *("annotationlib", "_contextvars", "contextvars", "dis", "_opcode", "ast", "_ast", "token", "tokenize"),
    "linecache",
}
IMPURE = {
    *("builtins.breakpoint", "builtins.compile", "builtins.eval", "builtins.exec", "builtins.globals", "builtins.id"),
    *("builtins.input", "builtins.locals", "builtins.print", "_warnings.warn"),
}
IMPURE_METHODS = {
    *("datetime.now", "datetime.today", "datetime.utcnow", "date.today", "ContextVar.set", "ContextVar.reset"),
}
# functions of these modules read what is guarded besides
ENVIRONMENT_FUNCTIONS = {"__getitem__", "__contains__", "get", "getenv", "encode", "decode", "encodekey", "check_str"}
# parts of the package that do more than compute
OUTSIDE_WORLD = tuple(
    os.path.join(ROOT, name)
    for name in ("serialization", "cli", "explain", "hub", "multiprocessing", "distributed", "profiler", "onnx")
) + (os.path.join(ROOT, "utils", "data"), os.path.join(ROOT, "utils", "tensorboard"))

# whose variables nobody rebinds but by a name that code spells out
LIBRARY_MODULES = {*sys.stdlib_module_names, "numpy", "scipy", "ml_dtypes", "torch", __name__.partition(".")[0]}

# code: of users, of functions that users may not call or only in a way that is noted, and all other
USERS, HAS_EFFECTS, READS_ENVIRON, HARMLESS = range(4)


def is_read(filename: str) -> bool:
    """Whether code in a file is a user's or a library's, not the package's, not NumPy's and kin, not Python's own."""
    if not is_users(filename) or filename.startswith(OUR_LIBRARIES):
        return False
    return filename.startswith(SITE_PACKAGES) or not filename.startswith((STDLIB, "<frozen"))


class CallWatcher:
    """The profile hook of one traced call.

    Attributes:
        executed: the code of users' functions that ran, with their globals.
        reads_environ: whether variables of the operating system's environment were read.
        last_c_function: the last function in C that users' code called.
    """

    def __init__(self) -> None:
        self.executed: dict[CodeType, dict[str, Any]] = {}
        self.reads_environ = False
        self.last_c_function: Any = None
        self._ignore: Callable[[CodeType], None] = lambda code: None
        # by identity, as code takes long to hash; the garbage collector may call its callbacks at any time
        self._codes: list[CodeType] = [f.__code__ for f in gc.callbacks if hasattr(f, "__code__")]
        self._kinds: dict[int, int] = {id(code): HARMLESS for code in self._codes}

    @contextmanager
    def watching(self) -> Iterator[None]:
        before: Any = sys.getprofile()
        profiler = None if before is None or callable(before) else before  # one in C: cProfile's
        if profiler is not None:
            profiler.disable()
        if kernels.start():
            from .call_filter import CallFilter  # which needs llvmlite

            calls = CallFilter(self._called)
            self._ignore = calls.ignore
            calls.start()
        else:
            sys.setprofile(self._called)
        try:
            yield
        finally:
            sys.setprofile(None if profiler is not None else before)
            if profiler is not None:
                profiler.enable()

    def _called(self, frame: FrameType, event: str, function: Any) -> None:
        kind = self._kinds.get(id(frame.f_code))
        if kind is None:
            kind = self._find_kind(frame)
        if event == "call":
            if kind == USERS:
                self._note_code(frame)
            elif kind != HARMLESS:
                self._check_python(frame, kind)
        elif event == "c_call" and kind == USERS:
            self.last_c_function = function
            self._check_c(frame, function)

    def _find_kind(self, frame: FrameType) -> int:
        code = frame.f_code
        kind = self._kinds[id(code)] = kind_of(
            code.co_filename, code.co_qualname, str(frame.f_globals.get("__name__", ""))
        )
        self._codes.append(code)
        if kind == HARMLESS:
            self._ignore(code)
        return kind

    def _note_code(self, frame: FrameType) -> None:
        is_known = frame.f_code in self.executed
        if not (is_known or frame.f_globals.get("__name__", "").startswith("namedtuple_") or _is_importing(frame)):
            self.executed[frame.f_code] = frame.f_globals

    def _check_python(self, frame: FrameType, kind: int) -> None:
        if frame.f_back is None or self._kinds.get(id(frame.f_back.f_code)) != USERS:
            return
        if kind == READS_ENVIRON:
            self.reads_environ = True
        else:
            self._refuse(frame, f"{frame.f_globals.get('__name__', '')}.{frame.f_code.co_qualname}()")

    def _check_c(self, frame: FrameType, function: Any) -> None:
        owner = getattr(function, "__self__", None)
        if owner is None or isinstance(owner, type(sys)):
            if has_effects(function):
                self._refuse(frame, f"{function.__module__ or ''}.{function.__name__}()".removeprefix("builtins."))
            return
        kind = owner if isinstance(owner, type) else type(owner)  # a method, of an object or a class
        home = next((c for c in kind.__mro__ if function.__name__ in vars(c)), kind)  # a user's class inherits some
        what = f"{home.__name__}.{function.__name__}"
        if what in IMPURE_METHODS or not is_pure(home.__module__):
            self._refuse(frame, f"{what}()")

    def _refuse(self, frame: FrameType, what: str) -> None:
        """Raise, before the call begins."""
        if not _is_importing(frame):
            raise cannot_compile(f"{what} has to run at each call")


@lru_cache(1 << 12)
def kind_of(file: str, name: str, module: str) -> int:
    """What a function of a module is to the watcher."""
    if is_read(file):
        return USERS
    if module == "os" and name.rpartition(".")[2] in ENVIRONMENT_FUNCTIONS:
        return READS_ENVIRON
    if module.partition(".")[0] == "pathlib" and name.startswith(("PurePath.", "Path.__new__")):
        return HARMLESS
    is_effect = not is_pure(module) if is_users(file) else file.startswith(OUTSIDE_WORLD)
    return HAS_EFFECTS if is_effect else HARMLESS


def has_effects(function: Any) -> bool:
    """Whether a function of a module in C does more than compute from its arguments."""
    module = getattr(function, "__module__", None) or getattr(function.__self__, "__name__", "") or "builtins"
    return not is_pure(module) or f"{module}.{function.__name__}" in IMPURE


def _is_importing(frame: FrameType | None) -> bool:
    """Whether a module is being imported, which happens once."""
    while frame is not None:
        if frame.f_code.co_filename.startswith("<frozen importlib"):
            return True
        frame = frame.f_back
    return False


def is_pure(module: str) -> bool:
    """Whether functions of a module have no effects and depend on their arguments alone."""
    return module.partition(".")[0] in PURE_MODULES and not module.startswith("numpy.random")
