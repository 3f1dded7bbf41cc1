"""``IterDataPipe`` and ``MapDataPipe``, and ``functional_datapipe``, which makes a class a method of others."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, ClassVar

from ..dataset import Dataset, IterableDataset

__all__ = ["IterDataPipe", "MapDataPipe", "functional_datapipe"]


class _Pipe:
    """What both kinds share: functions by name, which are methods of every pipe of the kind."""

    functions: ClassVar[dict[str, Callable[..., Any]]]

    def __getattr__(self, name: str) -> Any:
        if name in type(self).functions:
            return partial(type(self).functions[name], self)
        raise AttributeError(f"'{type(self).__name__}' object has no attribute '{name}'")

    @classmethod
    def register_function(cls, function_name: str, function: Callable[..., Any]) -> None:
        """Make a function of a pipe a method."""
        cls.functions[function_name] = function

    @classmethod
    def register_datapipe_as_function(
        cls, function_name: str, cls_to_register: Any, enable_df_api_tracing: bool = False
    ) -> None:
        """Make a class, which is called with a pipe, a method.

        Raises:
            Exception: the name is taken.
        """
        if function_name in cls.functions:
            raise Exception(f"Unable to add DataPipe function name {function_name} as it is already taken")
        cls.functions[function_name] = cls_to_register


class IterDataPipe(_Pipe, IterableDataset):
    """A pipe that is iterated over.

    >>> from pullback.utils.data.datapipes import IterDataPipe, functional_datapipe
    >>> class Numbers(IterDataPipe):
    ...     def __iter__(self): return iter(range(3))
    >>> @functional_datapipe("times")
    ... class Times(IterDataPipe):
    ...     def __init__(self, pipe, factor): self.pipe, self.factor = pipe, factor
    ...     def __iter__(self): return (self.factor * x for x in self.pipe)
    >>> list(Numbers().times(2))
    [0, 2, 4]
    """

    functions: ClassVar[dict[str, Callable[..., Any]]] = {}


class MapDataPipe(_Pipe, Dataset):
    """A pipe with an index."""

    functions: ClassVar[dict[str, Callable[..., Any]]] = {}


class functional_datapipe:
    """A decorator that makes a class a method of all pipes of its kind."""

    def __init__(self, name: str, enable_df_api_tracing: bool = False) -> None:
        self.name = name

    def __call__(self, cls: Any) -> Any:
        if not issubclass(cls, _Pipe):
            raise TypeError("`functional_datapipe` can only decorate IterDataPipe or MapDataPipe")
        kind = IterDataPipe if issubclass(cls, IterDataPipe) else MapDataPipe
        kind.register_datapipe_as_function(self.name, cls)
        return cls
