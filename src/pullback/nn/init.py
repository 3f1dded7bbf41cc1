"""``torch.nn.init``: initialisers, which fill a tensor in place under ``no_grad`` and return it.

The draws are PyTorch's: after the same ``manual_seed``, or with a ``Generator`` in the same state, the same
numbers.
"""

from __future__ import annotations

import functools
import math
import warnings
from collections.abc import Callable
from typing import Any, TypeVar

import numpy as np

from ..base.thread_state import no_grad
from ..core.record import wrap
from ..core.tensor import Tensor
from ..ops.random import randperm

__all__ = [
    "calculate_gain",
    "constant_",
    "dirac_",
    "eye_",
    "kaiming_normal_",
    "kaiming_uniform_",
    "normal_",
    "ones_",
    "orthogonal_",
    "sparse_",
    "trunc_normal_",
    "uniform_",
    "xavier_normal_",
    "xavier_uniform_",
    "zeros_",
]

F = TypeVar("F", bound=Callable[..., Any])


def _no_grad_uniform_(tensor: Tensor, a: float, b: float, generator: Any = None) -> Tensor:
    """``tensor.uniform_(a, b)``, not recorded; these are what libraries' own initialisers call."""
    with no_grad():
        return tensor.uniform_(a, b, generator=generator)


def _no_grad_normal_(tensor: Tensor, mean: float, std: float, generator: Any = None) -> Tensor:
    with no_grad():
        return tensor.normal_(mean, std, generator=generator)


def _no_grad_trunc_normal_(
    tensor: Tensor, mean: float, std: float, a: float, b: float, generator: Any = None
) -> Tensor:
    return trunc_normal_(tensor, mean, std, a, b, generator)


def _no_grad_fill_(tensor: Tensor, val: float) -> Tensor:
    with no_grad():
        return tensor.fill_(val)


def _no_grad_zero_(tensor: Tensor) -> Tensor:
    with no_grad():
        return tensor.zero_()


def calculate_gain(nonlinearity: str, param: float | None = None) -> float:
    """How much wider the weights before a nonlinearity should spread, to keep the variance of what passes.

    ============================= =====================================
    linear, conv*, sigmoid        1
    tanh                          5/3
    relu                          sqrt(2)
    leaky_relu                    sqrt(2 / (1 + negative_slope**2))
    selu                          3/4
    ============================= =====================================

    Args:
        nonlinearity: a name of the table.
        param: the negative slope of leaky_relu; 0.01 if left out.

    Raises:
        ValueError: an unknown name, or a slope that is no number.

    >>> import pullback as torch
    >>> torch.nn.init.calculate_gain("leaky_relu", 1.0)
    1.0
    """
    if nonlinearity in ("linear", "sigmoid") or nonlinearity in (
        f"conv{transposed}{n}d" for transposed in ("", "_transpose") for n in (1, 2, 3)
    ):
        return 1
    if nonlinearity == "tanh":
        return 5.0 / 3
    if nonlinearity == "relu":
        return math.sqrt(2.0)
    if nonlinearity == "leaky_relu":
        slope = 0.01 if param is None else param
        if isinstance(slope, bool) or not isinstance(slope, (int, float)):
            raise ValueError(f"negative_slope {param} not a valid number")
        return math.sqrt(2.0 / (1 + slope**2))
    if nonlinearity == "selu":
        return 3.0 / 4
    raise ValueError(f"Unsupported nonlinearity {nonlinearity}")


# --- plain values and draws ---------------------------------------------------------------------------------


@no_grad()
def uniform_(tensor: Tensor, a: float = 0.0, b: float = 1.0, generator: Any = None) -> Tensor:
    """Fill with draws from the uniform distribution on [a, b)."""
    return tensor.uniform_(a, b, generator=generator)


@no_grad()
def normal_(tensor: Tensor, mean: float = 0.0, std: float = 1.0, generator: Any = None) -> Tensor:
    """Fill with draws from the normal distribution."""
    return tensor.normal_(mean, std, generator=generator)


@no_grad()
def trunc_normal_(
    tensor: Tensor,
    mean: float = 0.0,
    std: float = 1.0,
    a: float = -2.0,
    b: float = 2.0,
    generator: Any = None,
) -> Tensor:
    """Fill with draws from the normal distribution restricted to [a, b], by rejection.

    Where most of the normal distribution lies inside, normal draws are repeated until they do, too. Otherwise
    uniform draws u are accepted with probability ``density(u) / max density``.

    Warns:
        if ``mean`` is more than two ``std`` outside [a, b]: the result may be far from the distribution.
    """
    if mean < a - 2 * std or mean > b + 2 * std:
        warnings.warn(
            "mean is more than 2 std from [a, b] in nn.init.trunc_normal_. "
            "The distribution of values may be incorrect.",
            stacklevel=3,
        )
    if tensor.is_meta:
        return tensor
    inside = _normal_cdf((b - mean) / std) - _normal_cdf((a - mean) / std)
    if inside > 0.3:
        low, high = tensor.new_tensor(a).item(), tensor.new_tensor(b).item()  # rounded as the draws are
        result = tensor.normal_(mean, std, generator=generator)
        while (outside := (result < low) | (result > high)).any():
            fresh = result.new_empty(result.shape).normal_(mean, std, generator=generator)
            result = fresh.where(outside, result)
        return tensor.copy_(result)

    peak = -0.5 * ((max(a, min(mean, b)) - mean) / std) ** 2
    result = draws = tensor.uniform_(a, b, generator=generator)
    pending = _rejected(draws, mean, std, peak, generator)
    while pending.any():
        draws = result.new_empty(result.shape).uniform_(a, b, generator=generator)
        result = draws.where(pending, result)
        pending = pending & _rejected(draws, mean, std, peak, generator)
    return tensor.copy_(result)


def _rejected(draws: Tensor, mean: float, std: float, peak: float, generator: Any) -> Tensor:
    """Rejection sampling: which uniform draws to reject, as a second draw is above their density over the peak's."""
    log_density = ((draws - mean) / std).pow(2) * -0.5 - peak
    return draws.new_empty(draws.shape).uniform_(generator=generator).log() > log_density


def _normal_cdf(x: float) -> float:
    return (1.0 + math.erf(x / math.sqrt(2.0))) / 2.0


@no_grad()
def constant_(tensor: Tensor, val: float) -> Tensor:
    """Fill with one value."""
    return tensor.fill_(val)


@no_grad()
def ones_(tensor: Tensor) -> Tensor:
    """Fill with ones."""
    return tensor.fill_(1.0)


@no_grad()
def zeros_(tensor: Tensor) -> Tensor:
    """Fill with zeros."""
    return tensor.zero_()


@no_grad()
def eye_(tensor: Tensor) -> Tensor:
    """Fill a matrix with ones on the diagonal and zeros elsewhere.

    >>> import pullback as torch
    >>> torch.nn.init.eye_(torch.empty(2, 3))
    tensor([[1., 0., 0.],
            [0., 1., 0.]])
    """
    _need_matrix(tensor)
    tensor.zero_()
    tensor.diagonal().fill_(1)
    return tensor


@no_grad()
def dirac_(tensor: Tensor, groups: int = 1) -> Tensor:
    """Fill the weight of a convolution so that it passes its input channels on, as many as come out.

    Args:
        tensor: ``(out_channels, in_channels / groups, *kernel)``, with 1 to 3 kernel dimensions.
        groups: of the convolution; each passes its own channels on.

    Raises:
        ValueError: the number of dimensions is not 3, 4 or 5, or ``groups`` does not divide out_channels.
    """
    if tensor.dim() not in (3, 4, 5):
        raise ValueError("Only tensors with 3, 4, or 5 dimensions are supported")
    if tensor.shape[0] % groups != 0:
        raise ValueError("dim 0 must be divisible by groups")
    out_per_group = tensor.shape[0] // groups
    centre = tuple(size // 2 for size in tensor.shape[2:])
    tensor.zero_()
    for group in range(groups):
        for channel in range(min(out_per_group, tensor.shape[1])):
            tensor[(group * out_per_group + channel, channel, *centre)] = 1
    return tensor


# --- scaled by the number of connections --------------------------------------------------------------------


def _calculate_fan_in_and_fan_out(tensor: Tensor) -> tuple[int, int]:
    """Connections into an output and out of an input, of a weight (out, in, *kernel)."""
    if tensor.dim() < 2:
        raise ValueError("Fan in and fan out can not be computed for tensor with fewer than 2 dimensions")
    field = math.prod(tensor.shape[2:])
    return tensor.shape[1] * field, tensor.shape[0] * field


def _calculate_correct_fan(tensor: Tensor, mode: str) -> int:
    modes = ["fan_in", "fan_out"]
    if mode.lower() not in modes:
        raise ValueError(f"Mode {mode} not supported, please use one of {modes}")
    return _calculate_fan_in_and_fan_out(tensor)[modes.index(mode.lower())]


def xavier_uniform_(tensor: Tensor, gain: float = 1.0, generator: Any = None) -> Tensor:
    """Fill from the uniform distribution on ±gain·sqrt(6 / (fan_in + fan_out)).

    (Glorot and Bengio 2010, eq. 16.)

    Args:
        tensor: a weight, ``(out, in, *kernel)``.
        gain: see :func:`calculate_gain`.
        generator: where the draws come from.

    Raises:
        ValueError: fewer than 2 dimensions.
    """
    bound = math.sqrt(3.0) * _xavier_std(tensor, gain)
    return uniform_(tensor, -bound, bound, generator)


def xavier_normal_(tensor: Tensor, gain: float = 1.0, generator: Any = None) -> Tensor:
    """Fill from the normal distribution with std gain·sqrt(2 / (fan_in + fan_out)).

    The arguments are those of :func:`xavier_uniform_`.
    """
    return normal_(tensor, 0.0, _xavier_std(tensor, gain), generator)


def _xavier_std(tensor: Tensor, gain: float) -> float:
    return gain * math.sqrt(2.0 / float(sum(_calculate_fan_in_and_fan_out(tensor))))


def kaiming_uniform_(
    tensor: Tensor,
    a: float = 0,
    mode: str = "fan_in",
    nonlinearity: str = "leaky_relu",
    generator: Any = None,
) -> Tensor:
    """Fill from the uniform distribution on ±gain·sqrt(3 / fan) (He et al. 2015, eqs. 10 and 14).

    Args:
        tensor: a weight, ``(out, in, *kernel)``.
        a: the negative slope, where ``nonlinearity`` is ``"leaky_relu"``.
        mode: ``"fan_in"`` keeps the variance in the forward pass, ``"fan_out"`` in the backward pass.
        nonlinearity: for the gain; see :func:`calculate_gain`.
        generator: where the draws come from.

    Raises:
        ValueError: fewer than 2 dimensions, or an unknown mode or nonlinearity.
    """
    if _is_empty(tensor):
        return tensor
    bound = math.sqrt(3.0) * _kaiming_std(tensor, a, mode, nonlinearity)
    return uniform_(tensor, -bound, bound, generator)


def kaiming_normal_(
    tensor: Tensor,
    a: float = 0,
    mode: str = "fan_in",
    nonlinearity: str = "leaky_relu",
    generator: Any = None,
) -> Tensor:
    """Fill from the normal distribution with std gain / sqrt(fan); see :func:`kaiming_uniform_`."""
    if _is_empty(tensor):
        return tensor
    return normal_(tensor, 0.0, _kaiming_std(tensor, a, mode, nonlinearity), generator)


def _is_empty(tensor: Tensor) -> bool:
    if 0 in tensor.shape:
        warnings.warn("Initializing zero-element tensors is a no-op", stacklevel=3)
        return True
    return False


def _kaiming_std(tensor: Tensor, a: float, mode: str, nonlinearity: str) -> float:
    fan = _calculate_correct_fan(tensor, mode)
    return calculate_gain(nonlinearity, a) / math.sqrt(fan)


# --- matrices with structure --------------------------------------------------------------------------------


@no_grad()
def orthogonal_(tensor: Tensor, gain: float = 1, generator: Any = None) -> Tensor:
    """Fill with ``gain`` times a (semi-)orthogonal matrix, uniform among all of them.

    The Q of a normal matrix's QR decomposition, with R's diagonal made positive (Saxe et al. 2013; Mezzadri
    2007).

    Args:
        tensor: at least 2 dimensions; those after the first count as one.
        gain: factor of the result.
        generator: where the draws come from.

    Raises:
        ValueError: fewer than 2 dimensions.
    """
    if tensor.dim() < 2:
        raise ValueError("Only tensors with 2 or more dimensions are supported")
    if tensor.numel() == 0 or tensor.is_meta:
        return tensor
    rows = tensor.shape[0]
    normal = tensor.new_empty((rows, tensor.numel() // rows)).normal_(0, 1, generator=generator)
    wide = rows < normal.shape[1]
    q, r = np.linalg.qr(normal._array.T if wide else normal._array)
    q *= np.sign(np.diagonal(r))
    tensor.copy_(wrap(q.T if wide else q).reshape(tensor.shape))
    return tensor.mul_(gain)


@no_grad()
def sparse_(tensor: Tensor, sparsity: float, std: float = 0.01, generator: Any = None) -> Tensor:
    """Fill a matrix from a normal distribution, and a share of each column with zeros (Martens 2010).

    Args:
        tensor: (rows, columns).
        sparsity: the share of each column that is zero, rounded up to whole rows.
        std: of the other elements.
        generator: where those come from; which rows are zero is drawn from the default generator, as in
            PyTorch.

    Raises:
        ValueError: not 2 dimensions.
    """
    _need_matrix(tensor)
    rows, columns = tensor.shape
    zeros = math.ceil(sparsity * rows)
    tensor.normal_(0, std, generator=generator)
    for column in range(columns):
        tensor[randperm(rows)[:zeros], column] = 0
    return tensor


def _need_matrix(tensor: Tensor) -> None:
    if tensor.dim() != 2:
        raise ValueError("Only tensors with 2 dimensions are supported")


# --- names without the underscore, deprecated in PyTorch ----------------------------------------------------


def _deprecated(function: F) -> F:
    old, new = function.__name__[:-1], function.__name__

    @functools.wraps(function)
    def warned(*args: Any, **kwargs: Any) -> Any:
        warnings.warn(f"`nn.init.{old}` is now deprecated in favor of `nn.init.{new}`.", FutureWarning, stacklevel=2)
        return function(*args, **kwargs)

    warned.__name__ = warned.__qualname__ = old
    warned.__doc__ = f"Deprecated name of :func:`{new}`."
    return warned  # type: ignore[return-value]


uniform = _deprecated(uniform_)
normal = _deprecated(normal_)
constant = _deprecated(constant_)
eye = _deprecated(eye_)
dirac = _deprecated(dirac_)
xavier_uniform = _deprecated(xavier_uniform_)
xavier_normal = _deprecated(xavier_normal_)
kaiming_uniform = _deprecated(kaiming_uniform_)
kaiming_normal = _deprecated(kaiming_normal_)
orthogonal = _deprecated(orthogonal_)
sparse = _deprecated(sparse_)
