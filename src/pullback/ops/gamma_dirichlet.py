"""``_standard_gamma``, ``_sample_dirichlet``: samples with gradients by implicit reparameterisation.

A sample ``x`` of the distribution function ``F`` stays at its quantile when a parameter ``a`` changes, so
``dx/da = -(dF/da) / (dF/dx)`` (Figurnov, Mohamed & Mnih, *NeurIPS* 2018; the multivariate case: Jankowiak & Obermeyer,
*ICML* 2018). ``dF/da`` is the integral of density times score up to ``x``, or minus that from ``x`` on, since the whole
integral is 0. The side away from the bulk is taken, where nothing cancels. With ``t = x exp(-w)`` (or ``x exp(w)``) the
density, divided by that at ``x``, decays from 1, and the double exponential rule (Takahashi & Mori, *Publ. RIMS* 9,
1974) integrates it: the relative error stays below 1e-8 for all parameters.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ..core import op
from ..core.tensor import Tensor
from ..rng.generator import Generator as Streams
from .random import default_generator
from .reduce import sum

__all__ = ["_dirichlet_grad", "_sample_dirichlet", "_standard_gamma", "_standard_gamma_grad"]

Array = np.ndarray[Any, Any]

STEP = 1 / 15
_T = np.arange(-3.3, 4.2, STEP)
NODES = np.exp(_T - np.exp(-_T))
WEIGHTS = STEP * NODES * (1 + np.exp(-_T))
BLOCK = 2048  # samples at a time, so that samples times nodes fit the cache


def _in_blocks(f: Callable[..., Array], *arrays: Array) -> Array:
    """``f`` applied to float64 columns in blocks; the result has the shape and dtype of the first array."""
    arrays = np.broadcast_arrays(*arrays)
    columns = [a.reshape(-1, 1).astype(np.float64) for a in arrays]
    out = np.empty(arrays[0].size)
    for i in range(0, out.size, BLOCK):
        out[i : i + BLOCK] = f(*(c[i : i + BLOCK] for c in columns))
    return out.reshape(arrays[0].shape).astype(arrays[0].dtype)


def _decay_width(slope: Array, bend: Array) -> Array:
    """About where ``slope * w + bend * w**2 / 2`` is 1: the width of the integrand."""
    return 2 / (slope + np.sqrt(slope * slope + 2 * bend) + np.finfo(np.float64).tiny)


def _gamma_sample_grad(a: Array, x: Array) -> Array:
    from scipy.special import psi

    below = np.where(x <= a, 1.0, -1.0)
    scale = _decay_width(np.abs(a - x), x)
    y = -below * scale * NODES  # log(t / x)
    density = np.exp((a - x) * y - x * (np.expm1(y) - y))
    score = np.log(x) + y - psi(a)
    return (-below * x * scale)[:, 0] * (density * score @ WEIGHTS)


def _beta_sample_grad(x: Array, a: Array, b: Array) -> Array:
    from scipy.special import psi

    below = x <= a / (a + b)
    near = np.where(below, x, 1 - x)  # becomes near * exp(-w)
    p, q = np.where(below, a, b), np.where(below, b, a)
    odds = near / (1 - near)
    bend = np.maximum(q - 1, 0) * odds  # if it were negative, the slope would fall to p, which then decides
    scale = _decay_width(np.maximum(p - bend, 0), bend / (1 - near))
    w = scale * NODES
    density = np.exp((q - 1) * np.log1p(-odds * np.expm1(-w)) - p * w)
    score = np.where(below, np.log(x) - w, np.log1p(-near * np.exp(-w))) + psi(a + b) - psi(a)
    return (np.where(below, -near, near) * scale)[:, 0] * (density * score @ WEIGHTS)


@op.general(method=False)
def _standard_gamma_grad(input: Tensor, output: Tensor) -> Tensor:
    """The derivative of gamma samples ``output`` of rate 1 with respect to their concentrations ``input``.

    >>> import pullback as torch
    >>> torch._standard_gamma_grad(torch.tensor([1.0, 5.0]), torch.tensor([2.0, 2.0]))
    tensor([1.6317, 0.6308])
    """
    return _in_blocks(lambda x, a: _gamma_sample_grad(a, x), output, input)


@op.general(method=False, random=True)
def _standard_gamma(input: Tensor, generator: Streams | None = None) -> Tensor:
    """Gamma numbers of the concentrations in ``input``, with rate 1; float32 or float64.

    Derivative: :func:`_standard_gamma_grad`.

    >>> import pullback as torch
    >>> _ = torch.manual_seed(0); torch._standard_gamma(torch.tensor([1.0, 5.0]))
    tensor([2.8824, 4.0611])
    """
    return (generator or default_generator).standard_gamma(input)


_standard_gamma_grad.vjp()
_standard_gamma.vjp(input=lambda g, input, out: g * _standard_gamma_grad(input, out))


@op.general(method=False)
def _dirichlet_grad(x: Tensor, alpha: Tensor, total: Tensor) -> Tensor:
    """The derivative of Dirichlet samples with respect to their concentrations: ``(dx/dalpha) / (1 - x)``,
    componentwise.

    Args:
        x: samples, components last.
        alpha, total: their concentrations, and these summed over the components, that broadcast.
    """
    with np.errstate(all="ignore"):
        return _in_blocks(lambda x, a, n: _beta_sample_grad(x, a, n - a) / (1 - x[:, 0]), x, alpha, total)


@op.general(method=False, random=True)
def _sample_dirichlet(input: Tensor, generator: Streams | None = None) -> Tensor:
    """Dirichlet numbers of the concentrations in ``input``, components last; float32 or float64.

    When one concentration changes, its component stays at its quantile and the others shrink in proportion.

    >>> import pullback as torch
    >>> _ = torch.manual_seed(0); torch._sample_dirichlet(torch.tensor([1.0, 1.0, 1.0]))
    tensor([0.8349, 0.1317, 0.0334])
    """
    return (generator or default_generator).dirichlet(input)


def _dirichlet_vjp(g: Any, input: Any, out: Any) -> Any:
    return _dirichlet_grad(out, input, sum(input, -1, True)) * (g - sum(out * g, -1, True))


_dirichlet_grad.vjp()
_sample_dirichlet.vjp(input=_dirichlet_vjp)
