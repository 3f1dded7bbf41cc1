"""Activation functions: ``leaky_relu``, ``elu``, ``gelu``, ``silu``, ``softplus``, ``hardtanh``, ``glu`` and others.

``relu`` and ``threshold`` are in :mod:`pullback.ops.where`, softmax in :mod:`pullback.ops.softmax`. At a kink the
derivative is that of one side, PyTorch's choice; formulas that grow exponentially are evaluated only where they are
needed, so that derivatives of any order stay finite. ``inplace=True`` writes the result into the input.
"""

from __future__ import annotations

import math
from functools import lru_cache
from typing import Any

import numpy as np

from ..base import dtypes, thread_state
from ..base.dtypes import BOOL, COMPLEX, FLOAT32, FLOAT64, FLOATING, HALF_MAX, OF_NUMPY, check_numbers, finfo
from ..base.errors import with_notes
from ..core import inplace, op, record
from ..core.inplace import assign
from ..core.level import sample_from
from ..core.tensor import Tensor
from ..kernels import dispatch
from . import half
from . import where as where_module
from .complex import abs
from .concat import cat
from .pointwise import exp, sigmoid
from .random import default_generator
from .slices import basic_index
from .special import ndtr
from .trigonometry import tanh
from .values.meta import Meta
from .view import reshape, wrap_dim
from .where import clip_array, fast_where, where, with_zero_dependency

__all__ = ["celu", "celu_", "hardshrink", "prelu", "rrelu", "rrelu_", "selu", "selu_"]
__all_functional__ = [
    *__all__,
    "elu",
    "elu_",
    "gelu",
    "glu",
    "hardsigmoid",
    "hardswish",
    "hardtanh",
    "hardtanh_",
    "leaky_relu",
    "leaky_relu_",
    "logsigmoid",
    "mish",
    "relu",
    "relu6",
    "relu_",
    "silu",
    "softplus",
    "softshrink",
    "softsign",
    "tanhshrink",
    "threshold",
    "threshold_",
]


def _maybe_inplace(result: Tensor, input: Tensor, name: str, inplace: bool) -> Tensor:
    """The result, written into ``input`` if ``inplace``."""
    return assign(input, name, result) if inplace else result


def _inplace_variant(fn: Any) -> Any:
    """``fn_``: ``fn`` with ``inplace=True``."""

    def call(input: Tensor, *args: Any, **kwargs: Any) -> Tensor:
        return fn(input, *args, inplace=True, **kwargs)

    call.__name__ = call.__qualname__ = fn.__name__ + "_"
    call.__doc__ = f"In-place version of :func:`{fn.__name__}`."
    return call


def floats(kernel: str, highest: int = FLOATING) -> Any:
    """An op's ``check=``: refuses dtypes that PyTorch has no kernel for."""

    def check(input: Any, *options: Any) -> None:
        d = OF_NUMPY[input._array.dtype if isinstance(input, Tensor) else input.dtype]
        if not FLOATING <= d.category <= highest:
            raise with_notes(
                NotImplementedError(f"\"{kernel}\" not implemented for '{dtypes.type_name(d)}'"),
                "It takes floating-point tensors; convert with input.float().",
            )

    return check


def _check_options(input: Any, *numbers: Any, computed: bool = True) -> None:
    """Refuse options that the input's type can't hold; of half precision, if they are ``computed`` with: float32."""
    if isinstance(input, Tensor):
        d = input._array.dtype
        if d.kind in "fV":
            check_numbers(FLOAT32 if computed and d.itemsize == 2 else d, *numbers)


# --- straight pieces --------------------------------------------------------------------------------------------


def relu(input: Tensor, inplace: bool = False) -> Tensor:
    """``max(input, 0)``. Derivative: 0 at 0.

    >>> import pullback as torch
    >>> torch.nn.functional.relu(torch.tensor([-1.0, 2.0]))
    tensor([0., 2.])
    """
    return _maybe_inplace(where_module.relu(input), input, "relu_", inplace)


def threshold(input: Tensor, threshold: float, value: float, inplace: bool = False) -> Tensor:
    """``input`` where it is above ``threshold``, ``value`` elsewhere.

    >>> import pullback as torch
    >>> torch.threshold(torch.tensor([0.5, 1.5]), 1.0, -7.0)
    tensor([-7.0000,  1.5000])
    """
    return _maybe_inplace(where_module.threshold(input, threshold, value), input, "threshold_", inplace)


def _check_clipped(input: Any, low: float, high: float) -> None:
    d = OF_NUMPY[input._array.dtype]
    if d.category == COMPLEX:
        raise NotImplementedError("clamp is not supported for complex types")
    if d.category == BOOL:
        raise RuntimeError("Bool inputs not supported for hardtanh")


@op.elementwise(name="hardtanh", method=False, check=_check_clipped)
def _hardtanh(input: Tensor, low: float, high: float) -> Tensor:
    if input.dtype is not FLOAT32 and input.dtype is not FLOAT64:  # integers stay integers
        low, high = input.dtype.type(low), input.dtype.type(high)
    return clip_array(input, low, high)


_hardtanh.vjp(
    input=lambda g, input, low, high: where((input > low) & (input < high), g, with_zero_dependency(0, input))
)


def _check_limits(input: Any, *limits: float) -> None:
    if isinstance(input, Tensor) and input._array.dtype.kind in "iufV":
        d = input._array.dtype
        if d.kind == "u" and min(limits) < 0:
            raise RuntimeError("cannot do hardtanh on an unsigned type with negative limits")
        check_numbers(d, *limits)


def hardtanh(input: Tensor, min_val: float = -1.0, max_val: float = 1.0, inplace: bool = False) -> Tensor:
    """``input`` limited to ``[min_val, max_val]``. Derivative: 1 strictly inside, else 0.

    >>> import pullback as torch
    >>> torch.nn.functional.hardtanh(torch.tensor([-3.0, 0.5]))
    tensor([-1.0000,  0.5000])
    """
    _check_limits(input, min_val, max_val)
    if min_val > max_val:
        raise ValueError("min_val cannot be greater than max_val")
    return _maybe_inplace(_hardtanh(input, min_val, max_val), input, "hardtanh_", inplace)


def relu6(input: Tensor, inplace: bool = False) -> Tensor:
    """``input`` limited to ``[0, 6]``. Derivative: 1 strictly inside, else 0.

    >>> import pullback as torch
    >>> torch.nn.functional.relu6(torch.tensor([-1.0, 3.0, 7.0]))
    tensor([0., 3., 6.])
    """
    return hardtanh(input, 0.0, 6.0, inplace)


@op.elementwise(name="hardsigmoid", method=False, check=floats("hardsigmoid_cpu"), at_any_size=True)
def _hardsigmoid(input: Tensor) -> Tensor:
    part = clip_array(input + 3, 0, 6)
    part /= 6
    return part


_hardsigmoid.vjp(input=lambda g, input: where(abs(input) < 3, g / 6, with_zero_dependency(0, input)))  # 0 for NaN, too


def hardsigmoid(input: Tensor, inplace: bool = False) -> Tensor:
    """``relu6(input + 3) / 6``.

    >>> import pullback as torch
    >>> torch.nn.functional.hardsigmoid(torch.tensor([-4.0, 0.0, 1.5]))
    tensor([0.0000, 0.5000, 0.7500])
    """
    return _maybe_inplace(_hardsigmoid(input), input, "hardsigmoid_", inplace)


@op.elementwise(name="hardswish", method=False, check=floats("hardswish_cpu"), at_any_size=True)
def _hardswish(input: Tensor) -> Tensor:
    part = clip_array(input + 3, 0, 6)
    part *= input
    part /= 6
    return part


def _hardswish_vjp(g: Any, input: Any) -> Any:
    return where(input >= 3, g, where(input <= -3, 0, g * (input / 3 + 0.5)))


_hardswish.vjp(input=_hardswish_vjp)


def hardswish(input: Tensor, inplace: bool = False) -> Tensor:
    """``input * relu6(input + 3) / 6`` (Howard et al., *Searching for MobileNetV3*, 2019).

    >>> import pullback as torch
    >>> torch.nn.functional.hardswish(torch.tensor([-4.0, 3.0]))
    tensor([-0., 3.])
    """
    return _maybe_inplace(_hardswish(input), input, "hardswish_", inplace)


def _leaky(input: Any, slope: Any) -> Any:
    """``input`` where positive, ``slope * input`` elsewhere; up to slope 1 the larger of both, a third of the time."""
    steepness = slope.item() if slope.__class__ is np.ndarray and slope.size == 1 else slope
    if steepness.__class__ is float and steepness <= 1 and steepness != 0:
        return np.maximum(input, input * slope)
    return fast_where(input > 0, input, input * slope)


@op.elementwise(name="leaky_relu", method=False, check=floats("leaky_relu_cpu"))
def _leaky_relu(input: Tensor, negative_slope: Tensor) -> Tensor:
    return _leaky(input, negative_slope)


_leaky_relu.vjp(
    input=lambda g, input, negative_slope: where(input > 0, g, with_zero_dependency(g * negative_slope, input))
)


def leaky_relu(input: Tensor, negative_slope: float = 0.01, inplace: bool = False) -> Tensor:
    """``input`` where positive, ``negative_slope * input`` elsewhere.

    >>> import pullback as torch
    >>> torch.nn.functional.leaky_relu(torch.tensor([-1.0, 2.0]), 0.5)
    tensor([-0.5000,  2.0000])
    """
    _check_options(input, negative_slope)
    return _maybe_inplace(_leaky_relu(input, negative_slope), input, "leaky_relu_", inplace)


@op.elementwise(name="prelu_kernel", node="PreluKernelBackward0", method=False)
def _prelu(input: Tensor, weight: Tensor) -> Tensor:
    return _leaky(input, weight)


_prelu.vjp(
    input=lambda g, input, weight: where(input > 0, g, with_zero_dependency(g * weight, input)),
    weight=lambda g, input: where(input > 0, 0, g * input),
)


@op.composite
def prelu(input: Tensor, weight: Tensor) -> Tensor:
    """``input`` where positive, ``weight * input`` elsewhere, the weight learnt.

    Args:
        input: ``(batch, channels, ...)``, or without channels.
        weight: one element, or one a channel.

    >>> import pullback as torch
    >>> torch.prelu(torch.tensor([-1.0, 2.0]), torch.tensor([0.25]))
    tensor([-0.2500,  2.0000])
    """
    shape, sizes = input._array.shape, weight._array.shape
    rank, n = len(shape), math.prod(sizes)
    if input.dtype is not weight.dtype:
        given, found = (dtypes.type_name(x.dtype) for x in (input, weight))
        raise RuntimeError(f"prelu: Type promoting not supported. Got {given} and {found}")
    if len(sizes) > 1:
        raise RuntimeError(f"prelu: Expected `weight` to be a scalar or 1D tensor, but got: ndim = {len(sizes)}")
    if n != 1:
        if rank == 0:
            raise RuntimeError("Not allow zero-dim input tensor.")
        channels = shape[1] if rank > 1 else 1
        if channels != n:
            raise RuntimeError(
                "Mismatch of parameter numbers and input channel size. Found parameter numbers = "
                f"{n} and channel size = {channels}."
            )
    along = (1, n, *[1] * (rank - 2))[max(2 - rank, 0) :]
    return _prelu(input, reshape(weight, along) if n != 1 or len(sizes) > rank else weight)


@op.elementwise(name="rrelu_with_noise", node="RreluWithNoiseBackward0", method=False, check=floats("leaky_relu_cpu"))
def _rrelu_with_noise(input: Tensor, noise: Tensor) -> Tensor:
    return input * noise


_rrelu_with_noise.vjp(input=lambda g, noise: g * noise, noise=lambda g, input: g * input)


def rrelu(
    input: Tensor, lower: float = 1 / 8, upper: float = 1 / 3, training: bool = False, inplace: bool = False
) -> Tensor:
    """``input`` where positive, elsewhere times a slope: drawn from ``[lower, upper)`` in training, else the mean.

    >>> import pullback as torch
    >>> torch.rrelu(torch.tensor([-2.0, 2.0]), 0.25, 0.75)
    tensor([-1.,  2.])
    """
    if lower > upper:
        raise RuntimeError("Lower bound should be less than or equal to the upper bound")
    if not training:
        return _maybe_inplace(_leaky_relu(input, (lower + upper) / 2), input, "rrelu_", inplace)
    if thread_state.local.batches:
        raise RuntimeError("vmap: we do not yet support aten::rrelu. Please file an issue")

    def slopes(x: np.ndarray) -> np.ndarray:
        noise, negative = np.ones_like(x), x <= 0
        noise[negative] = default_generator.uniform((np.count_nonzero(negative),), np.float64, lower, upper)
        return noise

    noise = Meta.of(input._array) if input.is_meta else sample_from([input._array], slopes)
    return _maybe_inplace(_rrelu_with_noise(input, record.wrap(noise)), input, "rrelu_", inplace)


@op.elementwise(name="hardshrink", method=False, check=floats("hardshrink_cpu"), at_any_size=True)
def _hardshrink(input: Tensor, lambd: Tensor) -> Tensor:
    return where(np.abs(input) <= lambd, 0, input)


_hardshrink.vjp(input=lambda g, input, lambd: where(abs(input) > lambd, g, with_zero_dependency(0, input)))


@op.composite
def hardshrink(input: Tensor, lambd: float = 0.5) -> Tensor:
    """``input`` where its size is above ``lambd``, else 0.

    >>> import pullback as torch
    >>> torch.hardshrink(torch.tensor([-0.2, 2.0]))
    tensor([0., 2.])
    """
    _check_options(input, lambd, computed=False)
    return _hardshrink(input, lambd)


@op.elementwise(name="softshrink", method=False, check=floats("softshrink_check"), at_any_size=True)
def _softshrink(input: Tensor, lambd: Tensor) -> Tensor:
    return input - clip_array(input, -lambd, lambd)


_softshrink.vjp(input=lambda g, input, lambd: where(abs(input) > lambd, g, with_zero_dependency(0, input)))


def softshrink(input: Tensor, lambd: float = 0.5) -> Tensor:
    """``input`` moved towards 0 by ``lambd``, not beyond.

    >>> import pullback as torch
    >>> torch.nn.functional.softshrink(torch.tensor([-0.2, 2.0]))
    tensor([0.0000, 1.5000])
    """
    d = OF_NUMPY[input._array.dtype]
    if isinstance(lambd, complex):
        _check_options(input, lambd)
    if d.category == FLOATING and not 0 <= lambd <= HALF_MAX and not 0 <= lambd <= finfo(d).max:
        raise RuntimeError(
            f"lambda must be in range [0, {finfo(d).max:g}] for input dtype {dtypes.type_name(d)}, but found {lambd:g}"
        )
    return _softshrink(input, lambd)


# --- exponential pieces -----------------------------------------------------------------------------------------


def _negative_part(x: Any) -> Any:
    """Negative values (and NaN) as they are, 0 for the others: safe to exponentiate."""
    return where(x > 0, 0, x)


@op.elementwise(name="elu", method=False, check=floats("elu_cpu"), at_any_size=True)
def _elu(input: Tensor, alpha: Tensor) -> Tensor:
    return fast_where(input > 0, input, alpha * np.expm1(input))


_elu.vjp(input=lambda g, input, alpha: g * where(input > 0, 1, alpha * exp(_negative_part(input))))


def elu(input: Tensor, alpha: float = 1.0, inplace: bool = False) -> Tensor:
    """``input`` where positive, ``alpha * (exp(input) - 1)`` elsewhere (Clevert et al. 2015).

    >>> import pullback as torch
    >>> torch.nn.functional.elu(torch.tensor([-1.0, 2.0]))
    tensor([-0.6321,  2.0000])
    """
    _check_options(input, alpha)
    return _maybe_inplace(_elu(input, alpha), input, "elu_", inplace)


@op.elementwise(name="celu", method=False, check=floats("elu_cpu"), at_any_size=True)
def _celu(input: Tensor, alpha: Tensor) -> Tensor:
    return fast_where(input > 0, input, alpha * np.expm1(input / alpha))


_celu.vjp(input=lambda g, input, alpha: g * where(input > 0, 1, exp(_negative_part(input) / alpha)))


def celu(input: Tensor, alpha: float = 1.0, inplace: bool = False) -> Tensor:
    """``input`` where positive, ``alpha * (exp(input / alpha) - 1)`` elsewhere (Barron 2017): smooth for any alpha.

    >>> import pullback as torch
    >>> torch.celu(torch.tensor([-1.0, 2.0]), alpha=2.0)
    tensor([-0.7869,  2.0000])
    """
    if alpha == 0:
        raise RuntimeError("ZeroDivisionError: alpha cannot be 0 for CELU")
    _check_options(input, alpha)
    return _maybe_inplace(_celu(input, alpha), input, "celu_", inplace)


ALPHA, SCALE = 1.6732632423543772848170429916717, 1.0507009873554804934193349852946


@op.elementwise(name="selu", node="EluBackward0", method=False, check=floats("elu_cpu"), at_any_size=True)
def _selu(input: Tensor) -> Tensor:
    return SCALE * fast_where(input > 0, input, ALPHA * np.expm1(input))


_selu.vjp(input=lambda g, input: g * where(input > 0, SCALE, SCALE * ALPHA * exp(_negative_part(input))))


def selu(input: Tensor, inplace: bool = False) -> Tensor:
    """``elu`` with the constants that keep mean 0 and variance 1 (Klambauer et al., *Self-Normalizing Networks*, 2017).

    >>> import pullback as torch
    >>> torch.selu(torch.tensor([-1.0, 1.0]))
    tensor([-1.1113,  1.0507])
    """
    return _maybe_inplace(_selu(input), input, "selu_", inplace)


@op.elementwise(name="softplus", method=False, check=floats("softplus_cpu"))
def _softplus(input: Tensor, beta: float, threshold: float) -> Tensor:
    if beta.__class__ in (int, float) and beta == 1:
        curve = np.log1p(np.exp(input))
        if input.__class__ is np.ndarray and input.size and input.item(input.argmax()) <= threshold:
            return curve
        return np.where(input > threshold, input, curve)
    scaled = input * beta
    return fast_where(scaled > threshold, input, np.log1p(np.exp(scaled)) / beta)


_softplus.vjp(input=lambda g, input, beta, threshold: g * where(input * beta > threshold, 1, sigmoid(input * beta)))


def softplus(input: Tensor, beta: float = 1.0, threshold: float = 20.0, *, out: Any = None) -> Tensor:
    """``log(1 + exp(beta * input)) / beta``; ``input`` itself where ``beta * input`` is above ``threshold``.

    >>> import pullback as torch
    >>> torch.nn.functional.softplus(torch.tensor([0.0, 30.0]))
    tensor([ 0.6931, 30.0000])
    """
    _check_options(input, beta, threshold)
    result = _softplus(input, beta, threshold)
    return result if out is None else inplace.write_out(out, result)


@op.elementwise(name="log_sigmoid", method=False, check=floats("log_sigmoid_cpu"))
def _logsigmoid(input: Tensor) -> Tensor:
    return np.minimum(input, 0) - np.log1p(np.exp(-np.abs(input)))


_logsigmoid.vjp(input=lambda g, input: g * sigmoid(-input))


def logsigmoid(input: Tensor) -> Tensor:
    """``log(sigmoid(input))``, exact for large negative inputs, too.

    >>> import pullback as torch
    >>> torch.nn.functional.logsigmoid(torch.tensor([0.0, -1000.0]))
    tensor([-6.9315e-01, -1.0000e+03])
    """
    return _logsigmoid(input)


def _sigmoid_gate(input: Any, gate: Any) -> Any:
    """``input`` times the sigmoid of ``gate``."""
    e = np.exp(-gate)
    e += 1
    return input / e


@op.elementwise(name="silu", method=False, check=floats("silu_cpu", COMPLEX), at_any_size=True)
def _silu(input: Tensor) -> Tensor:
    return _sigmoid_gate(input, input)


def _silu_vjp(g: Any, input: Any) -> Any:
    s = sigmoid(input)
    return g * (s * (1 + input * (1 - s)))


_silu.vjp(input=_silu_vjp)


def silu(input: Tensor, inplace: bool = False) -> Tensor:
    """``input * sigmoid(input)``, also called swish.

    >>> import pullback as torch
    >>> torch.nn.functional.silu(torch.tensor([0.0, 1.0]))
    tensor([0.0000, 0.7311])
    """
    return _maybe_inplace(_silu(input), input, "silu_", inplace)


@op.elementwise(name="mish", method=False, check=floats("mish_cpu"))
def _mish(input: Tensor) -> Tensor:
    return input * np.tanh(np.log1p(np.exp(input)))


def _mish_vjp(g: Any, input: Any) -> Any:
    t = tanh(_softplus(input, 1, 20))
    return g * (t + input * ((1 - t * t) * sigmoid(input)))


_mish.vjp(input=_mish_vjp)


def mish(input: Tensor, inplace: bool = False) -> Tensor:
    """``input * tanh(softplus(input))`` (Misra 2019).

    >>> import pullback as torch
    >>> torch.nn.functional.mish(torch.tensor([0.0, 1.0]))
    tensor([0.0000, 0.8651])
    """
    return _maybe_inplace(_mish(input), input, "mish_", inplace)


@op.elementwise(name="gelu", method=False, check=floats("GeluKernelImpl"))
def _gelu(input: Tensor) -> Tensor:
    return input * ndtr(input)


def _gelu_vjp(g: Any, input: Any) -> Any:
    """``g * (Phi(x) + x phi(x))``, with the normal distribution's cumulative function and density."""
    return g * (ndtr(input) + input * (exp(input * input * -0.5) * (1 / math.sqrt(2 * math.pi))))


_gelu.vjp(input=_gelu_vjp)


ROOT, CUBIC = math.sqrt(2 / math.pi), 0.044715


@op.elementwise(name="gelu_tanh", node="GeluBackward0", method=False, check=floats("GeluKernelImpl"), at_any_size=True)
def _gelu_tanh(input: Tensor) -> Tensor:
    return input * (0.5 * (1 + np.tanh(ROOT * (input * (1 + CUBIC * (input * input))))))


def _gelu_tanh_vjp(g: Any, input: Any) -> Any:
    square = input * input
    t = tanh(ROOT * (input * (1 + CUBIC * square)))
    return g * (0.5 * (1 + t + input * ((1 - t * t) * (ROOT * (1 + 3 * CUBIC * square)))))


_gelu_tanh.vjp(input=_gelu_tanh_vjp)


def gelu(input: Tensor, approximate: str = "none", *, out: Any = None) -> Tensor:
    """``input * Phi(input)``, with the normal distribution's cumulative function (Hendrycks and Gimpel 2016).

    Args:
        input: any shape.
        approximate: ``"none"``, or ``"tanh"`` for ``0.5 x (1 + tanh(sqrt(2/pi) (x + 0.044715 x**3)))``.

    >>> import pullback as torch
    >>> torch.nn.functional.gelu(torch.tensor([0.0, 1.0]))
    tensor([0.0000, 0.8413])
    """
    if approximate not in ("none", "tanh"):
        raise RuntimeError("approximate argument must be either none or tanh.")
    result = _gelu(input) if approximate == "none" else _gelu_tanh(input)
    return result if out is None else inplace.write_out(out, result)


def softsign(input: Tensor) -> Tensor:
    """``input / (1 + abs(input))``.

    >>> import pullback as torch
    >>> torch.nn.functional.softsign(torch.tensor([-1.0, 3.0]))
    tensor([-0.5000,  0.7500])
    """
    return input / (abs(input) + 1)


def tanhshrink(input: Tensor) -> Tensor:
    """``input - tanh(input)``.

    >>> import pullback as torch
    >>> torch.nn.functional.tanhshrink(torch.tensor([0.0, 1.0]))
    tensor([0.0000, 0.2384])
    """
    return input - tanh(input)


@lru_cache(256)
def _half_slices(shape: tuple[int, ...], dim: int) -> tuple[Any, Any]:
    """The indices of both halves of a dimension."""
    if not shape:
        raise RuntimeError("glu does not support scalars because halving size must be even")
    dim = wrap_dim(dim, len(shape))
    middle, odd = divmod(shape[dim], 2)
    if odd:
        raise RuntimeError(f"Halving dimension must be even, but dimension {dim} is size {shape[dim]}")
    return basic_index(dim, slice(middle)), basic_index(dim, slice(middle, None))


_sigmoid_gate_any_size = dispatch.kernel_if_large("gated", _sigmoid_gate, 2)


@half.general(name="glu", method=False, dims=("dim",))
def _glu(input: Tensor, dim: int) -> Tensor:
    first, second = _half_slices(input.shape, dim)
    return _sigmoid_gate_any_size(input[first], input[second])


def _glu_vjp(g: Any, input: Any, dim: int) -> Any:
    first, second = _half_slices(tuple(input.shape), dim)
    s = sigmoid(input[second])
    of_first = g * s
    return cat([of_first, of_first * input[first] * (1 - s)], dim)


_glu.vjp(input=_glu_vjp)


def glu(input: Tensor, dim: int = -1) -> Tensor:
    """The first half of a dimension times the sigmoid of the second (Dauphin et al. 2016).

    >>> import pullback as torch
    >>> torch.nn.functional.glu(torch.tensor([3.0, 0.0]))
    tensor([1.5000])
    """
    if input._array.dtype is not FLOAT32 and input._array.dtype is not FLOAT64:
        floats("glu_cpu")(input)
    return _glu(input, dim)


elu_, celu_, relu_, selu_, rrelu_ = map(_inplace_variant, (elu, celu, relu, selu, rrelu))
hardtanh_, leaky_relu_, threshold_ = map(_inplace_variant, (hardtanh, leaky_relu, threshold))
