"""``default_collate``: a list of samples becomes a batch; tensors are stacked, containers recursed into."""

from __future__ import annotations

from collections.abc import Callable, Mapping, MutableMapping, MutableSequence, Sequence
from copy import copy
from typing import Any

import numpy as np

from ....base.dtypes import float64
from ....core.tensor import Tensor
from ....ops.concat import stack
from ....ops.create import as_tensor, tensor

__all__ = ["collate", "default_collate", "default_collate_fn_map", "default_convert"]

default_collate_err_msg_format = (
    "default_collate: batch must contain tensors, numpy arrays, numbers, dicts or lists; found {}"
)


def default_convert(data: Any) -> Any:
    """NumPy arrays and numbers inside a sample as tensors, the rest as it is: what a loader without batches does.

    >>> import numpy as np
    >>> default_convert({"x": np.array([1, 2]), "name": "a"})
    {'x': tensor([1, 2]), 'name': 'a'}
    """
    if isinstance(data, np.ndarray):
        return data if data.dtype.kind in "SUO" else as_tensor(data)
    if isinstance(data, np.generic) and not isinstance(data, (np.str_, np.bytes_)):
        return as_tensor(data)
    if isinstance(data, Mapping):
        return _mapping_like(data, {key: default_convert(data[key]) for key in data})
    if _is_namedtuple(data):
        return type(data)(*[default_convert(d) for d in data])
    if isinstance(data, Sequence) and not isinstance(data, (str, bytes)):
        return _sequence_like(data, [default_convert(d) for d in data])
    return data


def collate(batch: Any, *, collate_fn_map: dict[Any, Callable[..., Any]] | None = None) -> Any:
    """Combine samples, with a function for each type of element.

    Args:
        batch: the samples, all built alike.
        collate_fn_map: from a type (or a tuple of types) to ``f(elements, *, collate_fn_map)``; the very type of the
            first element decides, else the first entry that it is an instance of.

    Raises:
        TypeError: for elements that nothing is known about.
        RuntimeError: for sequences of different lengths.
    """
    first = batch[0]
    functions = collate_fn_map or {}
    if type(first) in functions:
        return functions[type(first)](batch, collate_fn_map=collate_fn_map)
    for kind, function in functions.items():
        if isinstance(first, kind):
            return function(batch, collate_fn_map=collate_fn_map)
    if isinstance(first, Mapping):
        merged = {key: collate([sample[key] for sample in batch], collate_fn_map=collate_fn_map) for key in first}
        return _mapping_like(first, merged)
    if _is_namedtuple(first):
        return type(first)(*[collate(column, collate_fn_map=collate_fn_map) for column in zip(*batch)])
    if isinstance(first, Sequence):
        if len({len(sample) for sample in batch}) > 1:
            raise RuntimeError("each element in list of batch should be of equal size")
        return _sequence_like(first, [collate(column, collate_fn_map=collate_fn_map) for column in zip(*batch)])
    raise TypeError(default_collate_err_msg_format.format(type(first)))


def _is_namedtuple(data: Any) -> bool:
    return isinstance(data, tuple) and hasattr(data, "_fields")


def _mapping_like(original: Any, entries: dict[Any, Any]) -> Any:
    """The entries in a mapping of the original's type, with its further attributes if it can be copied."""
    try:
        if not isinstance(original, MutableMapping):
            return type(original)(entries)
        clone = copy(original)
        clone.update(entries)
        return clone
    except TypeError:
        return entries


def _sequence_like(original: Any, elements: list[Any]) -> Any:
    """The elements in a sequence of the original's type; a tuple becomes a list."""
    if isinstance(original, tuple):
        return elements
    try:
        if not isinstance(original, MutableSequence):
            return type(original)(elements)
        clone = copy(original)
        for i, element in enumerate(elements):
            clone[i] = element
        return clone
    except TypeError:  # a range, for one
        return elements


# --- functions for types of elements ----------------------------------------------------------------------------


def collate_tensor_fn(batch: Any, *, collate_fn_map: Any = None) -> Tensor:
    """Tensors of one shape, stacked along a new first dimension."""
    return stack(tuple(batch), 0)


def collate_numpy_array_fn(batch: Any, *, collate_fn_map: Any = None) -> Any:
    """Arrays as tensors, stacked; those of strings and objects are refused."""
    if batch[0].dtype.kind in "SUO":
        raise TypeError(default_collate_err_msg_format.format(batch[0].dtype))
    return collate([as_tensor(array) for array in batch], collate_fn_map=collate_fn_map)


def collate_numpy_scalar_fn(batch: Any, *, collate_fn_map: Any = None) -> Tensor:
    """NumPy's numbers as a tensor of their type."""
    return as_tensor(batch)


def collate_float_fn(batch: Any, *, collate_fn_map: Any = None) -> Tensor:
    """Floats as a float64 tensor."""
    return tensor(batch, dtype=float64)


def collate_int_fn(batch: Any, *, collate_fn_map: Any = None) -> Tensor:
    """Integers, or bools, as a tensor."""
    return tensor(batch)


def collate_str_fn(batch: Any, *, collate_fn_map: Any = None) -> Any:
    """Strings, as they came."""
    return batch


default_collate_fn_map: dict[Any, Callable[..., Any]] = {
    Tensor: collate_tensor_fn,
    np.ndarray: collate_numpy_array_fn,
    (np.bool_, np.number, np.object_): collate_numpy_scalar_fn,
    float: collate_float_fn,
    int: collate_int_fn,
    str: collate_str_fn,
    bytes: collate_str_fn,
}


def default_collate(batch: Any) -> Any:
    """The batch that a loader makes of samples unless told otherwise: :func:`collate` with ``default_collate_fn_map``.

    >>> default_collate([{"a": 0, "b": (1.5, "x")}, {"a": 1, "b": (2.5, "y")}])
    {'a': tensor([0, 1]), 'b': [tensor([1.5000, 2.5000], dtype=torch.float64), ('x', 'y')]}
    """
    return collate(batch, collate_fn_map=default_collate_fn_map)
