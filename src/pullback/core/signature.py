"""``Signature``: an operation's parameters, read off its forward function, and how a call's arguments are bound."""

from __future__ import annotations

from collections.abc import Callable
from operator import itemgetter
from typing import Any

from ..base.errors import with_notes
from ..return_types import named

EMPTY = object()  # the default of parameters without one
# NumPy's names of parameters
NUMPY_NAMES = {"axis": "dim", "keepdims": "keepdim", "x": "input", "x1": "input", "x2": "other", "a": "input"}


class Signature:
    """The parameters and results of an operation.

    Attributes:
        params, defaults: the names of the parameters and their defaults, ``EMPTY`` where there is none.
        required, positional_count: how many arguments must be given, and how many may be given by position.
        tensors: which parameters are tensors, by their annotations (``Tensor``, ``Tensor | None``).
        takes_tensor_list: whether the first is a list of tensors.
        index_params: which are masks or index arrays.
        outputs: the names of several results; empty for one.
        result: the named tuple of several results.
        differentiable: which of these take part in derivatives.
    """

    def __init__(self, impl: Callable, name: str, outputs: str, differentiable: str) -> None:
        self.name = name
        code, given, keywords = impl.__code__, impl.__defaults__ or (), impl.__kwdefaults__ or {}
        self.positional_count = code.co_argcount
        self.params = code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]
        self.required = self.positional_count - len(given)
        only_by_keyword = tuple([keywords.get(n, EMPTY) for n in self.params[self.positional_count :]])
        self.defaults = (EMPTY,) * self.required + given + only_by_keyword
        notes = [str(impl.__annotations__.get(n, "")) for n in self.params]
        self.tensors = tuple([i for i, note in enumerate(notes) if note.startswith("Tensor")])
        self.takes_tensor_list = notes[0].startswith(("list[Tensor", "Sequence[Tensor"))
        self.index_params = {i for i, note in enumerate(notes) if note in ("np.ndarray", "list[Any]")}
        self.outputs = tuple(outputs.split())
        self.result = named(name, self.outputs) if self.outputs else None
        self.differentiable = tuple([self.outputs.index(o) for o in (differentiable or outputs).split()])
        self.argument_orders: dict[tuple, Callable] = {}  # how calls with keywords give their arguments, see `bind`

    def bind(self, args: tuple, kwargs: dict[str, Any]) -> tuple:
        """All arguments in the order of the signature.

        Raises:
            TypeError: for arguments that are too many, missing, unknown or given twice.
        """
        n = len(args)
        if n > self.positional_count:
            raise TypeError(f"{self.name}() takes {self.positional_count} positional arguments but {n} were given")
        if not kwargs and n >= self.required:
            return args + self.defaults[n:]
        key = (n, *kwargs)
        order = self.argument_orders.get(key)
        if order is None:
            order = self.argument_orders[key] = self._order(n, tuple(kwargs))
        return order((*args, *kwargs.values(), *self.defaults))

    def _order(self, n: int, keywords: tuple[str, ...]) -> Callable[[tuple], tuple]:
        """Puts ``n`` positional arguments, those with these keywords and the defaults into the signature's order."""
        params, total = self.params, len(self.params)
        places = [*range(n), *range(n + len(keywords) + n, n + len(keywords) + total)]
        for at, key in enumerate(keywords, n):
            if key not in params:
                key = NUMPY_NAMES.get(key, key)
            if key not in params:
                raise with_notes(
                    TypeError(f"{self.name}() got an unexpected keyword argument '{key}'"),
                    f"it takes: {', '.join(params)}",
                )
            i = params.index(key)
            if i < n:
                raise TypeError(f"{self.name}() got multiple values for argument '{key}'")
            places[i] = at
        for i, place in enumerate(places):
            if place >= n + len(keywords) and self.defaults[i] is EMPTY:
                raise TypeError(f'{self.name}() missing 1 required positional arguments: "{params[i]}"')
        return itemgetter(*places) if total > 1 else lambda pool: (pool[places[0]],)
