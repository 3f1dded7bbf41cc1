"""``compile`` and what it returns: a function with a list of compiled versions, each behind its guards."""

from __future__ import annotations

import functools
import sys
import weakref
from collections.abc import Callable
from contextlib import suppress
from typing import Any, TypeVar, overload

from ..base import forks, thread_state
from ..base.holding import holding
from ..base.pytree import tree_flatten
from ..core.level import is_level_value
from ..core.tensor import Tensor
from ..nn.modules.module import Module
from . import stance
from .eager_calls import OtherShape
from .first_call import Version, trace_call
from .nested import ModuleRunner
from .refusal import CannotCompile
from .wrapper_code import MISS

F = TypeVar("F", bound=Callable[..., Any])
MAX_VERSIONS = 16  # that are kept whatever memory they take
MAX_BYTES = 1 << 28  # of memory between steps, up to which more are kept
MAX_COMPILATIONS = 64  # after which new ones are not worth their time
MAX_FAULTS = 3  # of compiled versions, that the function does not have
MAX_BRANCHES = 24  # versions for other values that were looked at
# tensors that were said to come in other sizes, by identity
varying: weakref.WeakValueDictionary[int, Tensor] = weakref.WeakValueDictionary()
TRACING = forks.lock(forks.Order.TRACING)  # tensors hold other values while a function is traced


@overload
def compile(
    model: F,
    *,
    fullgraph: bool = False,
    mode: Any = None,
    backend: Any = None,
    dynamic: Any = None,
    options: Any = None,
    disable: bool = False,
    name: Any = None,
) -> F: ...
@overload
def compile(
    model: None = None,
    *,
    fullgraph: bool = False,
    mode: Any = None,
    backend: Any = None,
    dynamic: Any = None,
    options: Any = None,
    disable: bool = False,
    name: Any = None,
) -> Callable[[F], F]: ...
def compile(
    model: Any = None,
    *,
    fullgraph: bool = False,
    mode: Any = None,
    backend: Any = None,
    dynamic: Any = None,
    options: Any = None,
    disable: bool = False,
    name: Any = None,
) -> Any:
    """A function, or a module, that is traced at its first call and from then on runs as one plan of native code.

    A whole training step can be compiled: forward, backward, the optimizer's step. What it reads without being given it
    (parameters, buffers, the optimizer's state, learning rates) is read anew at each call, what it writes is written,
    and random numbers are drawn anew. A version is compiled for each combination of shapes, types and modes; for shapes
    that differ from the first call's, when they come a second time. A function that can't be compiled runs as it is, as
    what it computes depends on the values in a tensor, or as it does something besides that each call has to do.

    Args:
        model: the function or module. None: a decorator.
        fullgraph: raise for a function that can't be compiled.
        dynamic: whether sizes vary: code is then written for any size, once. None: from the second size on.
        mode, backend, options, name: accepted for compatibility.
        disable: give back ``model`` itself.

    Raises:
        CannotCompile: (when called, with ``fullgraph``) it can't be compiled; the message names the line.

    >>> import pullback as torch
    >>> w = torch.tensor([1.0, 2.0], requires_grad=True)
    >>> optimizer = torch.optim.SGD([w], lr=0.1)
    >>> @torch.compile
    ... def step(x):
    ...     optimizer.zero_grad()
    ...     loss = (w * x).sum()
    ...     loss.backward()
    ...     optimizer.step()
    ...     return loss.detach()
    >>> x = torch.tensor([1.0, 1.0])
    >>> [round(step(x).item(), 3) for _ in range(3)]
    [3.0, 2.8, 2.6]
    """
    if model is None:
        return functools.partial(compile, fullgraph=fullgraph, dynamic=dynamic, disable=disable)
    if disable:
        return model
    compiled = CompiledFunction(model, fullgraph, dynamic)
    if isinstance(model, Module):
        return CompiledModule(model, compiled)
    return functools.wraps(model, updated=())(compiled) if hasattr(model, "__name__") else compiled


class CompiledFunction:
    """A function that runs the first of its compiled versions whose guards hold, or is traced for a new one.

    Attributes:
        function: the function itself.
        dynamic: whether sizes vary; None: if they have.
        given_up: why it runs uncompiled, if it does.
        versions: what has been compiled, the most recently used first.
        compilations: how many have been.
        modules: where calls of modules go while the function runs as it is.
    """

    def __init__(self, function: Callable, fullgraph: bool = False, dynamic: bool | None = None) -> None:
        self.function = self.__wrapped__ = function
        self.fullgraph, self.dynamic = fullgraph, dynamic
        self.versions: list[Version] = []
        self.given_up, self.compilations = "", 0
        self._messages: list[str] = []  # to be logged
        self._branches = 0  # compiled versions that depend on values
        self._faults: list[str] = []  # what versions raised that the function does not
        self.modules = ModuleRunner(CompiledFunction)
        self._shapes: set[Any] = set()  # of the arguments of earlier calls

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if stance.now == "force_eager":
            return self.function(*args, **kwargs)
        computed: dict[Any, Any] = {}  # by segments that several versions share
        for i, version in enumerate(self.versions):
            try:
                result = version.run(args, kwargs, computed)
            except OtherShape:
                continue
            except Exception as error:  # nothing has been changed yet
                result = self.function(*args, **kwargs)  # which raises it, too, or catches it
                if not isinstance(error, ArithmeticError):  # of a number that was looked at
                    self._count_fault(error)
                return result
            if result is not MISS:
                if i:
                    # other threads go through the list
                    self.versions = [version, *[v for v in self.versions if v is not version]]
                return result
        return self._call_uncompiled(args, kwargs)

    def __reduce__(self) -> tuple[Any, ...]:
        """A copy compiles anew."""
        return functools.partial(compile, fullgraph=self.fullgraph, dynamic=self.dynamic), (self.function,)

    def __get__(self, instance: Any, owner: Any = None) -> Any:
        return self if instance is None else functools.partial(self, instance)

    def _call_uncompiled(self, args: tuple, kwargs: dict[str, Any]) -> Any:
        """A call for which no version's guards hold: compile one, or run the function as it is."""
        if _inside_another(args, kwargs):
            return self.function(*args, **kwargs)
        if stance.now == "fail_on_recompile" and self.compilations:
            raise RuntimeError(
                "Detected recompile when torch.compile stance is 'fail_on_recompile'"
                f"\n  No compiled version of {self.function!r} holds for this call."
            )
        if not self.given_up and stance.now != "eager_on_recompile":
            result = holding(TRACING, self._call_compiling, args, kwargs)
            self._log()
            if result is not MISS:
                return result
        if self.given_up:
            return self.modules.run(self.function, args, kwargs)
        return self.function(*args, **kwargs)

    def _call_compiling(self, args: tuple, kwargs: dict[str, Any]) -> Any:
        """The result by a version, perhaps a new one; ``MISS`` where there can be none."""
        for version in self.versions:  # guards also fail while another thread is tracing
            with suppress(Exception):
                result = version.run(args, kwargs, {})
                if result is not MISS:
                    return result
        if self.compilations >= MAX_COMPILATIONS:
            self._give_up(f"it was compiled {MAX_COMPILATIONS} times, for other shapes, types or modes at each")
            return MISS
        if self._branches >= MAX_BRANCHES:
            place = next(v.branches for v in self.versions if v.branches)
            self.versions = []  # going through them takes too long
            self._give_up(
                f"it was compiled {MAX_BRANCHES} times for other values of tensors that it looks at, at {place}"
            )
            return MISS
        tensors = [x for x in tree_flatten((args, kwargs))[0] if isinstance(x, Tensor)]
        shapes = tuple([x._array.shape for x in tensors])
        is_new = shapes not in self._shapes
        self._shapes.add(shapes)
        if is_new and self.versions and not self.fullgraph:  # which may never come again
            return MISS
        vary = len(self._shapes) > 1 or any([varying.get(id(x)) is x for x in tensors])
        any_size = vary if self.dynamic is None else self.dynamic
        try:
            new, result = trace_call(self.function, args, kwargs, not self.fullgraph, any_size, self.versions)
        except CannotCompile as error:
            if self.fullgraph:
                raise
            self._give_up(str(error).removeprefix("compile: "))
            return MISS
        self.compilations += 1
        self._branches += new is not None and bool(new.branches)
        self._messages.append(f"compiled for the {self.compilations}. time")
        versions = [*([new] if new is not None else []), *self.versions]
        while len(versions) > MAX_VERSIONS and sum([v.plan.bytes for v in versions]) > MAX_BYTES:
            versions.pop()
        self.versions = versions
        return result

    def _count_fault(self, error: Exception) -> None:
        """A version raised what the function does not: that may be another thread's doing, but not time and again."""
        self._faults.append(repr(error))
        if len(self._faults) == MAX_FAULTS:
            self.versions = []
            self._give_up(f"a compiled version raised {self._faults[-1]}, which the function does not")
            self._log()

    def _give_up(self, reason: str) -> None:
        self.given_up = reason
        self._messages.append(f"runs as it is: {reason}")

    def _log(self) -> None:
        """Log what happened, outside of the lock: a thread that forks takes logging's own lock before it."""
        while self._messages:
            text = self._messages.pop(0)
            if "logging" in sys.modules:
                sys.modules["logging"].getLogger("pullback.compiler").info("%r %s", self.function, text)

    # --- looking inside -----------------------------------------------------------------------------------------

    def _latest(self) -> Version:
        if not self.versions:
            raise RuntimeError(
                "nothing is compiled yet: call the function first" + (f" ({self.given_up})" if self.given_up else "")
            )
        return self.versions[0]

    def ir(self) -> str:
        """The program as it was traced, with the user's lines."""
        return str(self._latest().program)

    def plan(self) -> str:
        """The steps that run: loops, products, kernels, calls of ops."""
        version = self._latest()
        return "\n".join([*[str(s.plan) for s in version.segments], str(version.plan)])

    def llvm(self) -> str:
        """The LLVM IR of the native parts."""
        return self._latest().plan.llvm()


class CompiledModule(Module):
    """A module whose calls are compiled; in everything else it is the module."""

    def __init__(self, module: Module, compiled: CompiledFunction) -> None:
        super().__init__()
        self.__dict__["_compiled"] = compiled
        self._orig_mod = module

    def __reduce__(self) -> tuple[Any, ...]:
        again = functools.partial(compile, fullgraph=self._compiled.fullgraph, dynamic=self._compiled.dynamic)
        return again, (self._orig_mod,)

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        return self._compiled(*args, **kwargs)

    def __setattr__(self, name: str, value: Any) -> None:
        if name == "_orig_mod" or name in self.__dict__ or "_orig_mod" not in self.__dict__.get("_modules", ()):
            super().__setattr__(name, value)
        else:
            setattr(self._modules["_orig_mod"], name, value)

    def __len__(self) -> int:
        module: Any = self._orig_mod
        return len(module)

    def __getitem__(self, index: Any) -> Any:
        module: Any = self._orig_mod
        return module[index]

    def __bool__(self) -> bool:
        return True

    def __getattr__(self, name: str) -> Any:
        try:
            return super().__getattr__(name)
        except AttributeError:
            if name in ("ir", "plan", "llvm"):
                return getattr(self.__dict__["_compiled"], name)
            if name == "dynamo_ctx":  # by which libraries tell a compiled module
                return self.__dict__["_compiled"]
            return getattr(super().__getattr__("_orig_mod"), name)


def _inside_another(args: tuple, kwargs: dict[str, Any]) -> bool:
    """Whether the call is part of another trace or of a transform, or a mode sees each operation."""
    local = thread_state.local
    return (
        local.trace is not None
        or local.transforms > 0
        or thread_state.function_modes > 0
        or bool(local.packing)
        or any([isinstance(x, Tensor) and is_level_value(x._array) for x in tree_flatten((args, kwargs))[0]])
    )
