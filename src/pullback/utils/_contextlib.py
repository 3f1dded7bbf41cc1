"""``torch.utils._contextlib``: context managers that decorate functions, too."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Any

__all__ = ["context_decorator"]


def context_decorator(ctx: Any, func: Callable[..., Any]) -> Callable[..., Any]:
    """A function, or generator, that runs inside of a context: one that ``ctx`` makes, or ``ctx`` itself."""
    make = (lambda: ctx) if hasattr(ctx, "__enter__") and not isinstance(ctx, type) else ctx
    if inspect.isgeneratorfunction(func):

        @functools.wraps(func)
        def generate(*args: Any, **kwargs: Any) -> Any:
            generator, sent, error = func(*args, **kwargs), None, None
            try:
                while True:
                    with make():
                        value = generator.send(sent) if error is None else generator.throw(error)
                    try:
                        sent, error = (yield value), None
                    except GeneratorExit:
                        raise
                    except BaseException as thrown:
                        sent, error = None, thrown
            except StopIteration as end:
                return end.value
            finally:
                with make():
                    generator.close()

        return generate

    @functools.wraps(func)
    def call(*args: Any, **kwargs: Any) -> Any:
        with make():
            return func(*args, **kwargs)

    return call


class _DecoratorContextManager:
    """Base class of context managers that decorate: each call enters a copy, which :meth:`clone` makes."""

    def __call__(self, func: Callable[..., Any]) -> Callable[..., Any]:
        return context_decorator(self.clone, func)

    def clone(self) -> Any:
        return type(self)()


class _NoParamDecoratorContextManager(_DecoratorContextManager):
    """The same without arguments: also ``@manager``, without parentheses."""

    def __new__(cls, func: Any = None) -> Any:
        return super().__new__(cls) if func is None else cls()(func)
