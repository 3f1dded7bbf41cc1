"""``repr`` of tensors, character for character as in PyTorch 2.13; ``set_printoptions``.

All elements shown share one format, chosen by looking at all of them: integers (``1.``), fixed point
(``1.5000``) or scientific (``1.5000e+10``). From there the text is built inside out:

    elements shown ─► cells of one width ─► rows, wrapped ─► nested brackets ─► suffixes

Nothing here depends on ``Tensor``: an array and the torch name of its dtype are enough.
"""

from __future__ import annotations

import contextlib
import dataclasses
import math
from collections.abc import Iterator
from typing import Any

import numpy as np

__all__ = ["format_tensor", "format_value", "get_printoptions", "printoptions", "set_printoptions"]


@dataclasses.dataclass
class PrintOptions:
    """The options of ``set_printoptions``. A ``float`` may be infinite: never summarise, never wrap."""

    precision: int = 4
    threshold: float = 1000
    edgeitems: float = 3
    linewidth: float = 80
    sci_mode: bool | None = None


PRINT_OPTS = PrintOptions()

_PROFILES: dict[str | None, dict[str, float]] = {
    "default": {"precision": 4, "threshold": 1000, "edgeitems": 3, "linewidth": 80},
    "short": {"precision": 2, "threshold": 1000, "edgeitems": 2, "linewidth": 80},
    "full": {"precision": 4, "threshold": math.inf, "edgeitems": 3, "linewidth": 80},
}


def set_printoptions(
    precision: int | None = None,
    threshold: float | None = None,
    edgeitems: float | None = None,
    linewidth: float | None = None,
    profile: str | None = None,
    sci_mode: bool | None = None,
) -> None:
    """Set how tensors are printed, in every thread.

    An option left out keeps its value, except ``sci_mode``: each call sets it anew, as in PyTorch.

    Args:
        precision: digits after the point of a floating-point element.
        threshold: a tensor with more elements than this is summarised.
        edgeitems: how many items a summary keeps at each end of a dimension.
        linewidth: the column at which lines break; infinity never breaks one.
        profile: ``"default"``, ``"short"`` (precision and edgeitems 2) or ``"full"`` (no summaries); options
            given explicitly override it. Another name changes nothing.
        sci_mode: True or False forces scientific notation on or off; None lets the elements decide.

    Raises:
        ValueError: for a negative precision or edgeitems; nothing is changed then.

    >>> import pullback as torch
    >>> torch.set_printoptions(precision=2)
    >>> torch.tensor([0.12345, 2.5])
    tensor([0.12, 2.50])
    >>> torch.set_printoptions(profile="default")
    """
    given = {"precision": precision, "threshold": threshold, "edgeitems": edgeitems, "linewidth": linewidth}
    chosen = _PROFILES.get(profile, {}) | {name: value for name, value in given.items() if value is not None}
    for name in ("precision", "edgeitems"):
        if name in chosen:
            if chosen[name] < 0:
                raise ValueError(f"{name} must not be negative, got {chosen[name]}")
            if chosen[name] != math.inf:
                chosen[name] = int(chosen[name])  # of a float, too, with which format strings break
    for name, value in chosen.items():
        setattr(PRINT_OPTS, name, value)
    PRINT_OPTS.sci_mode = sci_mode


def get_printoptions() -> dict[str, Any]:
    """The options in force, as keyword arguments for ``set_printoptions``.

    >>> from pullback.base.printing import get_printoptions
    >>> get_printoptions()
    {'precision': 4, 'threshold': 1000, 'edgeitems': 3, 'linewidth': 80, 'sci_mode': None}
    """
    return dataclasses.asdict(PRINT_OPTS)


@contextlib.contextmanager
def printoptions(**options: Any) -> Iterator[None]:
    """Print with other options for the length of a ``with`` block; takes what ``set_printoptions`` takes.

    >>> import pullback as torch
    >>> from pullback.base.printing import printoptions
    >>> with printoptions(sci_mode=True):
    ...     print(torch.tensor([1.0, 250.0]))
    tensor([1.0000e+00, 2.5000e+02])
    """
    before = get_printoptions()
    set_printoptions(**options)
    try:
        yield
    finally:
        set_printoptions(**before)


def format_tensor(
    array: np.ndarray,
    *,
    dtype: str,
    default_dtype: str = "float32",
    requires_grad: bool = False,
    grad_fn: str | None = None,
    prefix: str = "tensor(",
    extra: tuple[str, ...] = (),
) -> str:
    """The text of a tensor, as ``repr`` shows it.

    Args:
        array: the elements, of any shape and strides.
        dtype: the torch name of their dtype, such as ``"bfloat16"``.
        default_dtype: the torch name of the default dtype, which is not printed.
        requires_grad: print ``requires_grad=True``, unless there is a ``grad_fn``.
        grad_fn: the tensor's node, with its brackets: ``"<MulBackward0>"``.
        prefix: the opening of the text, up to its parenthesis; further lines are indented to its width.
        extra: suffixes that come after all others, such as ``"tangent=..."``.

    >>> import numpy as np
    >>> from pullback.base.printing import format_tensor
    >>> print(format_tensor(np.eye(2), dtype="float64", requires_grad=True))
    tensor([[1., 0.],
            [0., 1.]], dtype=torch.float64, requires_grad=True)
    """
    empty = array.size == 0
    implied = {default_dtype}
    if not empty:  # without elements the dtype is always printed
        implied |= {"complex128" if default_dtype == "float64" else "complex64", "int64", "bool"}

    suffixes = []
    if array.ndim != 1 if empty else not PRINT_OPTS.edgeitems:
        suffixes.append(f"size={array.shape}")
    if dtype not in implied:
        suffixes.append(f"dtype=torch.{dtype}")
    if grad_fn is not None:
        suffixes.append(f"grad_fn={grad_fn}")
    elif requires_grad:
        suffixes.append("requires_grad=True")

    text = prefix + _elements(array, dtype, indent=len(prefix))
    return _append(text, [*suffixes, *extra], indent=len(prefix)) + ")"


def format_sparse(
    places: dict[str, np.ndarray],
    values: np.ndarray,
    size: tuple[int, ...],
    *,
    dtype: str,
    default_dtype: str = "float32",
    requires_grad: bool = False,
    grad_fn: str | None = None,
    layout: str = "sparse_coo",
) -> str:
    """The text of a sparse tensor, whose index arrays are given by name, with the options of :func:`format_tensor`.

    >>> import numpy as np
    >>> from pullback.base.printing import format_sparse
    >>> print(format_sparse({"indices": np.array([[0, 2]])}, np.array([1.0, 2.5]), (3,), dtype="float32"))
    tensor(indices=tensor([[0, 2]]),
           values=tensor([1.0000, 2.5000]),
           size=(3,), nnz=2, layout=torch.sparse_coo)
    """
    indent = len("tensor(")
    parts = []
    for name, array, kind in (*((name, array, "int64") for name, array in places.items()), ("values", values, dtype)):
        empty = f", size={array.shape}" if array.size == 0 else ""
        parts.append(f"{name}=tensor({_elements(array, kind, indent + len(f'{name}=tensor('))}{empty})")
    suffixes = [f"size={tuple(size)}", f"nnz={len(values)}"]
    if dtype not in (default_dtype, "complex128" if default_dtype == "float64" else "complex64", "int64", "bool"):
        suffixes.append(f"dtype=torch.{dtype}")
    suffixes.append(f"layout=torch.{layout}")
    if grad_fn is not None:
        suffixes.append(f"grad_fn={grad_fn}")
    elif requires_grad:
        suffixes.append("requires_grad=True")
    return (
        "tensor(" + _append((",\n" + " " * indent).join(parts), suffixes, indent, newline=layout == "sparse_coo") + ")"
    )


def format_meta(
    size: tuple[int, ...],
    *,
    dtype: str,
    default_dtype: str = "float32",
    requires_grad: bool = False,
    grad_fn: str | None = None,
) -> str:
    """The text of a tensor without values, with the options of :func:`format_tensor`.

    >>> from pullback.base.printing import format_meta
    >>> print(format_meta((2, 3), dtype="float64"))
    tensor(..., device='meta', size=(2, 3), dtype=torch.float64)
    """
    suffixes = ["device='meta'", f"size={tuple(size)}"]
    if dtype != default_dtype:
        suffixes.append(f"dtype=torch.{dtype}")
    if grad_fn is not None:
        suffixes.append(f"grad_fn={grad_fn}")
    elif requires_grad:
        suffixes.append("requires_grad=True")
    return f"tensor(..., {', '.join(suffixes)})"


def format_value(owner: object, array: np.ndarray, spec: str) -> str:
    """``format(owner, spec)`` for the tensor ``owner`` with the elements ``array``.

    A 0-d tensor is formatted as its Python number; any other as an object, so without a spec.

    Raises:
        TypeError: for a spec with a tensor that is not 0-d.
        ValueError: for a spec that is invalid for the number.

    >>> import pullback as torch
    >>> f"loss {torch.tensor(0.123456):.4f}"
    'loss 0.1235'
    """
    if array.ndim == 0:
        return format(array.item(), spec)
    if not spec:
        return str(owner)
    raise TypeError(
        f"unsupported format string passed to {type(owner).__name__}.__format__\n"
        f"  the spec {spec!r} formats one number, but this tensor has shape {array.shape}.\n"
        "  Format its elements one by one (.item(), .tolist()), or the whole with set_printoptions."
    )


def _elements(array: np.ndarray, dtype: str, indent: int) -> str:
    """The elements in nested brackets; the outermost opens at column ``indent``."""
    edge: Any = PRINT_OPTS.edgeitems
    summarize = array.size > PRINT_OPTS.threshold
    if array.size == 0:
        return "[]"
    if summarize and array.ndim and not edge:
        return "[...]"

    # Summarise before looking at any element: a summary then costs the same for a thousand as for a billion.
    cut = [summarize and size > 2 * edge for size in array.shape]
    if any(cut):
        ends = np.r_[:edge, -edge:0]
        array = array[np.ix_(*(ends if c else np.arange(n) for n, c in zip(array.shape, cut, strict=True)))]

    blocks, width = _cells(array.ravel().tolist(), dtype)
    last = array.ndim - 1
    for dim in range(last, -1, -1):
        size = array.shape[dim]
        rows = [blocks[i : i + size] for i in range(0, len(blocks), size)]
        if cut[dim]:
            for row in rows:
                row.insert(edge, " ..." if dim == last else "...")
        if dim == last:
            room = (PRINT_OPTS.linewidth - indent - dim) / (width + len(", "))
            rows = [_wrap(row, max(1, math.floor(min(room, len(row))))) for row in rows]
        separator = "," + "\n" * max(1, last - dim) + " " * (indent + dim + 1)
        blocks = [f"[{separator.join(row)}]" for row in rows]
    return blocks[0]


def _wrap(row: list[str], per_line: int) -> list[str]:
    """The items of ``row`` in lines of ``per_line`` items."""
    return [", ".join(row[i : i + per_line]) for i in range(0, len(row), per_line)]


def _cells(values: list[Any], dtype: str) -> tuple[list[str], int]:
    """Every value as text, padded on the left, and the width of a cell, for wrapping."""
    if "complex" in dtype:
        real, real_width = _float_cells([value.real for value in values])
        imag, imag_width = _float_cells([value.imag for value in values])
        signed = [text if text.startswith("-") else f"+{text}" for text in map(str.lstrip, imag)]
        return [f"{r}{i}j" for r, i in zip(real, signed, strict=True)], real_width + imag_width + len("j")
    if "float" in dtype:
        return _float_cells(values)
    texts = list(map(str, values))
    width = max(map(len, texts))
    return [text.rjust(width) for text in texts], width


def _float_cells(values: list[float]) -> tuple[list[str], int]:
    """``_cells`` of real numbers.

    Zeros and values that are not finite do not affect the format, nor the width: they may be wider.
    """
    deciding = [value != 0 and math.isfinite(value) for value in values]
    sizes = [abs(value) for value, decides in zip(values, deciding, strict=True) if decides]
    if sizes and _scientific(min(sizes), max(sizes)):
        spec = f".{PRINT_OPTS.precision}e"
    elif all(map(float.is_integer, sizes)):
        spec = "#.0f"  # '#' keeps the point: 1. but nan
    else:
        spec = f".{PRINT_OPTS.precision}f"
    texts = [format(value, spec) for value in values]
    width = max((len(text) for text, decides in zip(texts, deciding, strict=True) if decides), default=1)
    return [text.rjust(width) for text in texts], width


def _scientific(smallest: float, largest: float) -> bool:
    """Whether absolute values in this range are too far apart, too large or too small for fixed point."""
    if PRINT_OPTS.sci_mode is not None:
        return PRINT_OPTS.sci_mode
    return largest / smallest > 1000.0 or largest > 1e8 or smallest < 1e-4


def _append(text: str, suffixes: list[str], indent: int, newline: bool = False) -> str:
    """``text`` with each suffix after a comma, on a new line if the line would get too long, or if ``newline``."""
    # PyTorch counts two columns too many on the line where the elements end, so that line wraps early.
    column = math.inf if newline else len(text) - (text.rfind("\n") + 1) + 2
    for suffix in suffixes:
        if column == math.inf or column + len(", ") + len(suffix) > PRINT_OPTS.linewidth:
            text += ",\n" + " " * indent + suffix
            column = indent + len(suffix)
        else:
            text += ", " + suffix
            column += len(", ") + len(suffix)
    return text
