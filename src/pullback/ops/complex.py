"""Complex numbers: ``real``, ``imag``, ``abs``, ``angle``, ``conj``, ``polar``, ``view_as_real``, ``view_as_complex``.

Gradients follow PyTorch's convention: of a real loss L of ``z = x + iy`` the gradient is ``dL/dx + i dL/dy``.
Most functions here are not holomorphic, so their rules contain the conjugates themselves.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..base import dtypes
from ..base.dtypes import COMPLEX_KINDS, FLOATING, OF_NUMPY, imaginary_of, parts_of, real_of
from ..core import conj_views, inplace, op
from ..core.tensor import Tensor
from .compare import zero_gradient
from .pointwise import sign
from .trigonometry import cos, sin
from .where import where

__all__ = [
    "_neg_view",
    "abs",
    "absolute",
    "angle",
    "complex",
    "conj",
    "conj_physical",
    "imag",
    "is_complex",
    "is_conj",
    "is_neg",
    "polar",
    "real",
    "resolve_conj",
    "resolve_neg",
    "sgn",
    "view_as_complex",
    "view_as_real",
]


def is_complex(input: Tensor) -> bool:
    """Whether the elements are complex.

    >>> import pullback as torch
    >>> torch.is_complex(torch.tensor([1j])), torch.is_complex(torch.tensor([1.0]))
    (True, False)
    """
    if isinstance(input, (np.ndarray, np.generic)):
        return input.dtype.kind in COMPLEX_KINDS
    return isinstance(input, Tensor) and input._array.dtype.kind in COMPLEX_KINDS


# --- conjugates ---------------------------------------------------------------------------------------------


@op.elementwise(name="conj_physical", holomorphic=False, method=False, scalar="conj", check_out=inplace.found_dtype)
def elementwise_conj(input: Tensor) -> Tensor:
    return np.conjugate(input)


elementwise_conj.vjp(input=lambda g: resolved_conj(g))


def resolved_conj(input: Any) -> Any:
    """The conjugate as a new tensor or array, not a view; real input is returned as it is."""
    return elementwise_conj(input) if is_complex(input) else input


@op.view(name="conj", method=False)
def conj_view(input: Tensor) -> Tensor:
    return conj_views.make_conj_view(input)


conj_view.vjp(input=lambda g: resolved_conj(g))


@op.view(name="neg_view", node="NegViewBackward0", method=False)
def neg_view(input: Tensor) -> Tensor:
    if input.dtype.kind in COMPLEX_KINDS:
        raise NotImplementedError("_neg_view of complex numbers: there is one of x.real and of x.imag")
    if input.dtype.kind == "b":
        raise NotImplementedError("\"neg_cpu\" not implemented for 'Bool'")
    return conj_views.make_neg_view(input)


neg_view.vjp(input=lambda g: -g)


def _neg_view(input: Tensor) -> Tensor:
    """``-input`` as a view: writing into either changes the other. Of real numbers.

    Raises:
        NotImplementedError: for bools and complex numbers.

    >>> import pullback as torch
    >>> x = torch.tensor([1.0, 2.0])
    >>> y = torch._neg_view(x); y, y.is_neg()
    (tensor([-1., -2.]), True)
    >>> _ = y.mul_(2); x
    tensor([2., 4.])
    """
    return neg_view(input)


@op.composite
def conj(input: Tensor) -> Tensor:
    """Complex conjugate, a view: writing into either changes the other. The tensor itself where it is real.

    >>> import pullback as torch
    >>> x = torch.tensor([1 + 2j])
    >>> y = torch.conj(x); y
    tensor([1.-2.j])
    >>> _ = y.mul_(1j); x
    tensor([2.-1.j])
    """
    return conj_view(input) if is_complex(input) else input


@op.composite(inplace=True)
def conj_physical(input: Tensor, *, out: Any = None) -> Tensor:
    """Complex conjugate, a new tensor; the tensor itself where it is real.

    >>> import pullback as torch
    >>> torch.conj_physical(torch.tensor([1 + 2j]))
    tensor([1.-2.j])
    """
    result = resolved_conj(input)
    return result if out is None else inplace.write_out(out, result)


@op.composite
def resolve_conj(input: Tensor) -> Tensor:
    """A copy of what :func:`conj` gave, which shares no memory; any other tensor itself.

    >>> import pullback as torch
    >>> x = torch.tensor([1 + 2j])
    >>> torch.resolve_conj(x) is x, torch.resolve_conj(x.conj()).is_conj()
    (True, False)
    """
    return input.clone() if is_conj(input) else input


@op.composite
def resolve_neg(input: Tensor) -> Tensor:
    """A copy of what ``_neg_view`` or the imaginary part of what :func:`conj` gave, which shares no memory; any other
    tensor itself.

    >>> import pullback as torch
    >>> torch.resolve_neg(torch.tensor([1 + 2j]).conj().imag)
    tensor([-2.])
    """
    return input.clone() if is_neg(input) else input


@op.composite
def is_conj(input: Tensor) -> bool:
    """Whether this is a view of a tensor that shows its conjugate.

    >>> import pullback as torch
    >>> x = torch.tensor([1 + 2j])
    >>> x.conj().is_conj(), x.conj().conj().is_conj(), (1 * x.conj()).is_conj()
    (True, False, False)
    """
    return is_complex(input) and _is_conj_view(input)


@op.composite
def is_neg(input: Tensor) -> bool:
    """Whether this is a view of a tensor that shows it, or its imaginary part, with the other sign.

    >>> import pullback as torch
    >>> torch.tensor([1j]).conj().imag.is_neg()
    True
    """
    return not is_complex(input) and _is_conj_view(input)


def _is_conj_view(x: Tensor) -> bool:
    return conj_views.conj_view_of(x._array) is not None


# --- parts --------------------------------------------------------------------------------------------------


@op.view(name="real", method=False)
def real_part(input: Tensor) -> Tensor:
    return real_of(conj_views.viewed_array(input))  # the same for a conjugate


real_part.vjp(input=lambda g: g)


@op.view(name="imag", method=False)
def imaginary_part(input: Tensor) -> Tensor:
    return imaginary_of(input)


imaginary_part.vjp(input=lambda g: g * 1j)


def real(input: Tensor) -> Tensor:
    """The real part, sharing memory; the tensor itself where it is real. Also the attribute ``x.real``.

    >>> import pullback as torch
    >>> torch.real(torch.tensor([1 + 2j]))
    tensor([1.])
    """
    return real_part(input) if is_complex(input) else input


def imag(input: Tensor) -> Tensor:
    """The imaginary part, sharing memory. Also the attribute ``x.imag``.

    Raises:
        RuntimeError: for real tensors.

    >>> import pullback as torch
    >>> torch.imag(torch.tensor([1 + 2j]))
    tensor([2.])
    """
    if not is_complex(input):
        raise RuntimeError("imag is not implemented for tensors with non-complex dtypes.")
    return imaginary_part(input)


def _part_setter(part: Any) -> Any:
    def assign(self: Tensor, value: Any) -> None:
        part(self).copy_(value)

    return assign


op.add_method(property(real, _part_setter(real), doc=real.__doc__), "real")
op.add_method(property(imag, _part_setter(imag), doc=imag.__doc__), "imag")


def _check_abs(result: Any, out: Any, place: int) -> None:
    """The ``check_out`` of ``abs``: the absolute values of complex numbers may stand among such."""
    if not out.is_complex:
        inplace.found_dtype(result, out, place)


@op.elementwise(holomorphic=False, scalar="abs", check_out=_check_abs)
def abs(input: Tensor) -> Tensor:
    """Absolute value: the distance from 0, real for complex numbers. Derivative: ``sgn(input)``, so 0 at 0.

    >>> import pullback as torch
    >>> torch.abs(torch.tensor([-1.0, 2.0])), torch.abs(torch.tensor([3 + 4j]))
    (tensor([1., 2.]), tensor([5.]))
    """
    if input.dtype.kind == "b":
        raise NotImplementedError("\"abs_cpu\" not implemented for 'Bool'")
    return np.absolute(input)


abs.vjp(input=lambda g, input: g * sgn(input))


def _abs_in_place(input: Tensor) -> Tensor:
    """In-place version of :func:`abs`, of real numbers: writes into this tensor and returns it."""
    if is_complex(input):
        raise RuntimeError("In-place abs is not supported for complex tensors.")
    return _write_abs(input)


_write_abs = inplace.inplace_call(abs.op)
op.add_method(_abs_in_place, "abs_")


@op.elementwise(holomorphic=False, inplace=True, scalar="sign", check_out=inplace.found_dtype)
def sgn(input: Tensor) -> Tensor:
    """Direction: ``input / abs(input)`` for complex numbers, :func:`sign` for real ones; 0 at 0.

    Derivative: 0 for real numbers; for complex ones the component of the gradient perpendicular to the result, divided
    by ``abs(input)``; 0 at 0.

    >>> import pullback as torch
    >>> torch.sgn(torch.tensor([3 + 4j, 0]))
    tensor([0.6000+0.8000j, 0.0000+0.0000j])
    """
    if input.dtype.kind != "c":
        return sign.op.impl(input)
    size = np.absolute(input)
    return np.divide(input, np.where(size == 0, 1, size))


def _sgn_vjp(g: Any, input: Any, out: Any) -> Any:
    if not is_complex(input):
        return zero_gradient(g)
    nowhere = input == 0
    return where(nowhere, 0, g - out * real(resolved_conj(out) * g)) / abs(where(nowhere, 1, input))


sgn.vjp(input=_sgn_vjp)


@op.elementwise(holomorphic=False, result_category=FLOATING)
def angle(input: Tensor) -> Tensor:
    """The angle of a complex number from the positive real axis; of a real number 0 or pi, by its sign.

    Derivative: ``i * input / abs(input) ** 2`` for complex numbers, 0 at 0 and for real ones.

    >>> import pullback as torch
    >>> torch.angle(torch.tensor([1j, -1])), torch.angle(torch.tensor([-1.0, 1.0]))
    (tensor([1.5708, 3.1416]), tensor([3.1416, 0.0000]))
    """
    if input.dtype.kind == "c":
        return np.arctan2(input.imag, input.real)
    return np.where(np.isnan(input), input, np.less(input, 0) * input.dtype.type(np.pi))


def _angle_vjp(g: Any, input: Any) -> Any:
    if not is_complex(input):
        return zero_gradient(g)
    nowhere = input == 0
    size = abs(where(nowhere, 1, input))
    return g * (where(nowhere, 0, input) * 1j / size / size)


angle.vjp(input=_angle_vjp)

# --- pairs --------------------------------------------------------------------------------------------------


@op.general(
    holomorphic=False,
    method=False,
    check_out=inplace.same_dtype("Expected object of scalar type {} but got scalar type {} for argument 'out'"),
)
def complex(real: Tensor, imag: Tensor) -> Tensor:
    """Complex numbers from their parts.

    Args:
        real, imag: of one type, float16, float32 or float64; shapes broadcast.

    Raises:
        RuntimeError: for other types, or two different ones.

    >>> import pullback as torch
    >>> torch.complex(torch.tensor([1.0]), torch.tensor([2.0]))
    tensor([1.+2.j])
    """
    _check_parts(real, imag)
    result = np.empty(
        np.broadcast_shapes(real.shape, imag.shape), dtypes.as_dtype(OF_NUMPY[real.dtype].to_complex()).numpy
    )
    real_of(result)[...], imaginary_of(result)[...] = real, imag
    return result


def _check_parts(real: Any, imag: Any) -> None:
    a, b = (dtypes.type_name(OF_NUMPY[x.dtype]) for x in (real, imag))
    if real.dtype.kind != "f" or imag.dtype.kind != "f":
        raise RuntimeError(f"Expected both inputs to be Half, Float or Double tensors but got {a} and {b}")
    if a != b:
        raise RuntimeError(f"Expected object of scalar type {a} but got scalar type {b} for second argument")


complex.vjp(real=lambda g: real_part(g), imag=lambda g: imaginary_part(g))


def polar(abs: Tensor, angle: Tensor, *, out: Any = None) -> Tensor:
    """Complex numbers from their sizes and angles: ``abs * (cos(angle) + i sin(angle))``.

    Args:
        abs, angle: of one type, float32 or float64; shapes broadcast.

    Raises:
        RuntimeError: for other types, or two different ones.

    >>> import pullback as torch
    >>> torch.polar(torch.tensor([2.0]), torch.tensor([0.0]))
    tensor([2.+0.j])
    """
    _check_parts(*(t._array if isinstance(t, Tensor) else t for t in (abs, angle)))
    if abs.dtype is dtypes.float16:
        raise NotImplementedError("\"polar_cpu\" not implemented for 'Half'")
    return complex(abs * cos(angle), abs * sin(angle), out=out)


@op.view(method=False)
def view_as_real(input: Tensor) -> Tensor:
    """Complex numbers as pairs in a new last dimension of size 2, sharing memory.

    >>> import pullback as torch
    >>> torch.view_as_real(torch.tensor([1 + 2j, 3 + 4j]))
    tensor([[1., 2.],
            [3., 4.]])
    """
    if input.dtype.kind not in COMPLEX_KINDS:
        raise RuntimeError("view_as_real is only supported for complex tensors")
    if conj_views.conj_view_of(input) is not None:
        raise RuntimeError(
            "view_as_real doesn't work on unresolved conjugated tensors.  To resolve the conjugate tensor so you can "
            "view it as real, use self.resolve_conj(); however, be warned that the resulting tensor will NOT alias "
            "the original."
        )
    return parts_of(input)


view_as_real.vjp(input=lambda g: paired(g))


@op.view(method=False)
def view_as_complex(input: Tensor) -> Tensor:
    """Pairs in the last dimension, of size 2, as complex numbers, sharing memory.

    Args:
        input: float16, float32 or float64; the two numbers of a pair are adjacent in memory.

    Raises:
        RuntimeError: for other types, another size, or pairs that are not adjacent.

    >>> import pullback as torch
    >>> torch.view_as_complex(torch.tensor([[1.0, 2.0], [3.0, 4.0]]))
    tensor([1.+2.j, 3.+4.j])
    """
    if input.dtype.kind != "f":
        given = dtypes.type_name(OF_NUMPY[input.dtype])
        raise RuntimeError(
            "view_as_complex is only supported for half, float and double tensors, "
            f"but got a tensor of scalar type: {given}"
        )
    if conj_views.conj_view_of(input) is not None:
        raise NotImplementedError("view_as_complex of a tensor with the negative bit set: resolve_neg() first")
    if input.ndim == 0:
        raise RuntimeError("Input tensor must have one or more dimensions")
    if input.shape[-1] != 2:
        raise RuntimeError(f"Tensor must have a last dimension of size 2\n  its shape is {list(input.shape)}")
    if input.strides[-1] != input.itemsize:
        raise RuntimeError("Tensor must have a last dimension with stride 1\n  Copy first: x.contiguous().")
    return input.view(dtypes.as_dtype(OF_NUMPY[input.dtype].to_complex()).numpy)[..., 0]


@op.general(method=False, holomorphic=False)
def paired(input: Tensor) -> Tensor:
    """:func:`view_as_complex` for pairs of any strides, as a copy."""
    return np.ascontiguousarray(input).view(dtypes.as_dtype(OF_NUMPY[input.dtype].to_complex()).numpy)[..., 0]


view_as_complex.vjp(input=lambda g: view_as_real(g))
paired.vjp(input=lambda g: view_as_real(g))

absolute = abs
for _alias, _name in {"absolute": "abs", "absolute_": "abs_", "__abs__": "abs"}.items():
    op.add_method(getattr(Tensor, _name), _alias)
op.add_method(is_complex, "is_complex")
