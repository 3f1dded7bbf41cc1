"""Activation functions as modules: each calls the function of its name in :mod:`pullback.nn.functional`."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

from ...core.tensor import Tensor
from ...ops.create import empty
from .. import functional as F
from .. import init
from ..parameter import Parameter
from .linear import NonDynamicallyQuantizableLinear
from .module import Module

__all__ = [
    "CELU",
    "ELU",
    "GELU",
    "GLU",
    "Hardshrink",
    "Hardsigmoid",
    "Hardswish",
    "Hardtanh",
    "LeakyReLU",
    "LogSigmoid",
    "LogSoftmax",
    "Mish",
    "MultiheadAttention",
    "PReLU",
    "RReLU",
    "ReLU",
    "ReLU6",
    "SELU",
    "SiLU",
    "Sigmoid",
    "Softmax",
    "Softmax2d",
    "Softmin",
    "Softplus",
    "Softshrink",
    "Softsign",
    "Tanh",
    "Tanhshrink",
    "Threshold",
]


class _Inplace(Module):
    """A function with no setting but ``inplace``."""

    __constants__ = ["inplace"]
    function: Callable[..., Tensor]

    def __init__(self, inplace: bool = False) -> None:
        super().__init__()
        self.inplace = inplace

    def forward(self, input: Tensor) -> Tensor:
        return type(self).function(input, inplace=self.inplace)

    def extra_repr(self) -> str:
        return "inplace=True" if self.inplace else ""


class ReLU(_Inplace):
    """``max(0, x)``.

    >>> import pullback as torch
    >>> torch.nn.ReLU()(torch.tensor([-1.0, 2.0]))
    tensor([0., 2.])
    """

    function = F.relu


class SELU(_Inplace):
    """Scaled ELU (Klambauer et al. 2017)."""

    function = F.selu


class SiLU(_Inplace):
    """``x · sigmoid(x)``."""

    function = F.silu


class Mish(_Inplace):
    """``x · tanh(softplus(x))`` (Misra 2019)."""

    function = F.mish


class _SilentInplace(_Inplace):
    """One that PyTorch prints without its setting."""

    def extra_repr(self) -> str:
        return ""


class Hardswish(_SilentInplace):
    """``x · relu6(x + 3) / 6`` (Howard et al. 2019)."""

    function = F.hardswish


class Hardsigmoid(_SilentInplace):
    """``relu6(x + 3) / 6``."""

    function = F.hardsigmoid


class _Plain(Module):
    """A function with no settings."""

    function: Callable[..., Tensor]

    def forward(self, input: Tensor) -> Tensor:
        return type(self).function(input)


class Sigmoid(_Plain):
    """``1 / (1 + exp(-x))``."""

    function = F.sigmoid


class Tanh(_Plain):
    """Hyperbolic tangent."""

    function = F.tanh


class LogSigmoid(_Plain):
    """``log(sigmoid(x))``, without overflow."""

    function = F.logsigmoid


class Softsign(_Plain):
    """``x / (1 + |x|)``."""

    function = F.softsign


class Tanhshrink(_Plain):
    """``x - tanh(x)``."""

    function = F.tanhshrink


class Softmax2d(Module):
    """Softmax over the channels of ``(N, C, H, W)`` or ``(C, H, W)``, at every place."""

    def forward(self, input: Tensor) -> Tensor:
        if input.dim() not in (3, 4):
            raise ValueError(f"Softmax2d: expected input to be 3D or 4D, got {input.dim()}D instead")
        return F.softmax(input, -3)


class GELU(Module):
    """``x · Φ(x)``, Φ the normal distribution function (Hendrycks & Gimpel 2016).

    ``approximate="tanh"`` takes the paper's formula with tanh for Φ.
    """

    __constants__ = ["approximate"]

    def __init__(self, approximate: str = "none") -> None:
        super().__init__()
        self.approximate = approximate

    def forward(self, input: Tensor) -> Tensor:
        return F.gelu(input, approximate=self.approximate)

    def extra_repr(self) -> str:
        return f"approximate={self.approximate!r}"


class ELU(Module):
    """``x`` where positive, else ``alpha (exp(x) - 1)`` (Clevert et al. 2016)."""

    __constants__ = ["alpha", "inplace"]

    def __init__(self, alpha: float = 1.0, inplace: bool = False) -> None:
        super().__init__()
        self.alpha, self.inplace = alpha, inplace

    def forward(self, input: Tensor) -> Tensor:
        return F.elu(input, self.alpha, self.inplace)

    def extra_repr(self) -> str:
        return f"alpha={self.alpha}" + (", inplace=True" if self.inplace else "")


class CELU(Module):
    """``max(0, x) + min(0, alpha (exp(x / alpha) - 1))`` (Barron 2017)."""

    __constants__ = ["alpha", "inplace"]

    def __init__(self, alpha: float = 1.0, inplace: bool = False) -> None:
        super().__init__()
        self.alpha, self.inplace = alpha, inplace

    def forward(self, input: Tensor) -> Tensor:
        return F.celu(input, self.alpha, self.inplace)

    def extra_repr(self) -> str:
        return f"alpha={self.alpha}" + (", inplace=True" if self.inplace else "")


class LeakyReLU(Module):
    """``x`` where positive, else ``negative_slope · x``."""

    __constants__ = ["inplace", "negative_slope"]

    def __init__(self, negative_slope: float = 1e-2, inplace: bool = False) -> None:
        super().__init__()
        self.negative_slope, self.inplace = negative_slope, inplace

    def forward(self, input: Tensor) -> Tensor:
        return F.leaky_relu(input, self.negative_slope, self.inplace)

    def extra_repr(self) -> str:
        return f"negative_slope={self.negative_slope}" + (", inplace=True" if self.inplace else "")


class RReLU(Module):
    """Leaky ReLU with slopes drawn between ``lower`` and ``upper``, in evaluation their mean (Xu et al. 2015)."""

    __constants__ = ["lower", "upper", "inplace"]

    def __init__(self, lower: float = 1.0 / 8, upper: float = 1.0 / 3, inplace: bool = False) -> None:
        super().__init__()
        self.lower, self.upper, self.inplace = lower, upper, inplace

    def forward(self, input: Tensor) -> Tensor:
        return F.rrelu(input, self.lower, self.upper, self.training, self.inplace)

    def extra_repr(self) -> str:
        return f"lower={self.lower}, upper={self.upper}" + (", inplace=True" if self.inplace else "")


class PReLU(Module):
    """Leaky ReLU with a learned slope, one for all or one a channel (He et al. 2015)."""

    __constants__ = ["num_parameters"]

    def __init__(self, num_parameters: int = 1, init: float = 0.25, device: Any = None, dtype: Any = None) -> None:
        super().__init__()
        self.num_parameters, self.init = num_parameters, init
        self.weight = Parameter(empty(num_parameters, device=device, dtype=dtype))
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Set the slopes to where they started."""
        init.constant_(self.weight, self.init)

    def forward(self, input: Tensor) -> Tensor:
        return F.prelu(input, self.weight)

    def extra_repr(self) -> str:
        return f"num_parameters={self.num_parameters}"


class Hardtanh(Module):
    """``x`` clamped to ``[min_val, max_val]``."""

    __constants__ = ["min_val", "max_val", "inplace"]

    def __init__(
        self,
        min_val: float = -1.0,
        max_val: float = 1.0,
        inplace: bool = False,
        min_value: float | None = None,
        max_value: float | None = None,
    ) -> None:
        super().__init__()
        for name, value in (("min_val", min_value), ("max_val", max_value)):
            if value is not None:
                warnings.warn(
                    f"keyword argument `{name}ue` is deprecated and renamed to `{name}`", FutureWarning, stacklevel=2
                )
        self.min_val = min_val if min_value is None else min_value
        self.max_val = max_val if max_value is None else max_value
        self.inplace = inplace
        if self.max_val <= self.min_val:
            raise AssertionError(f"max_val ({self.max_val}) must be greater than min_val ({self.min_val})")

    def forward(self, input: Tensor) -> Tensor:
        return F.hardtanh(input, self.min_val, self.max_val, self.inplace)

    def extra_repr(self) -> str:
        return f"min_val={self.min_val}, max_val={self.max_val}" + (", inplace=True" if self.inplace else "")


class ReLU6(Hardtanh):
    """``min(max(0, x), 6)``."""

    def __init__(self, inplace: bool = False) -> None:
        super().__init__(0.0, 6.0, inplace)

    def extra_repr(self) -> str:
        return "inplace=True" if self.inplace else ""


class Threshold(Module):
    """``x`` where above ``threshold``, else ``value``."""

    __constants__ = ["threshold", "value", "inplace"]

    def __init__(self, threshold: float, value: float, inplace: bool = False) -> None:
        super().__init__()
        self.threshold, self.value, self.inplace = threshold, value, inplace

    def forward(self, input: Tensor) -> Tensor:
        return F.threshold(input, self.threshold, self.value, self.inplace)

    def extra_repr(self) -> str:
        return f"threshold={self.threshold}, value={self.value}" + (", inplace=True" if self.inplace else "")


class Softplus(Module):
    """``log(1 + exp(beta x)) / beta``, linear above ``threshold``."""

    __constants__ = ["beta", "threshold"]

    def __init__(self, beta: float = 1.0, threshold: float = 20.0) -> None:
        super().__init__()
        self.beta, self.threshold = beta, threshold

    def forward(self, input: Tensor) -> Tensor:
        return F.softplus(input, self.beta, self.threshold)

    def extra_repr(self) -> str:
        return f"beta={self.beta}, threshold={self.threshold}"


class _Shrink(Module):
    __constants__ = ["lambd"]
    function: Callable[..., Tensor]

    def __init__(self, lambd: float = 0.5) -> None:
        super().__init__()
        self.lambd = lambd

    def forward(self, input: Tensor) -> Tensor:
        return type(self).function(input, self.lambd)

    def extra_repr(self) -> str:
        return str(self.lambd)


class Hardshrink(_Shrink):
    """``x`` where ``|x| > lambd``, else 0."""

    function = F.hardshrink


class Softshrink(_Shrink):
    """``x`` moved towards 0 by ``lambd``, 0 in between."""

    function = F.softshrink


class GLU(Module):
    """First half times the sigmoid of the second half, along ``dim`` (Dauphin et al. 2017)."""

    __constants__ = ["dim"]

    def __init__(self, dim: int = -1) -> None:
        super().__init__()
        self.dim = dim

    def forward(self, input: Tensor) -> Tensor:
        return F.glu(input, self.dim)

    def extra_repr(self) -> str:
        return f"dim={self.dim}"


class _AlongDim(Module):
    __constants__ = ["dim"]
    function: Callable[..., Tensor]

    def __init__(self, dim: int | None = None) -> None:
        super().__init__()
        self.dim = dim

    def forward(self, input: Tensor) -> Tensor:
        return type(self).function(input, self.dim, _stacklevel=5)

    def extra_repr(self) -> str:
        return f"dim={self.dim}"


class Softmax(_AlongDim):
    """``exp(x) / Σ exp(x)`` along ``dim``.

    >>> import pullback as torch
    >>> torch.nn.Softmax(dim=0)(torch.zeros(2))
    tensor([0.5000, 0.5000])
    """

    function = F.softmax


class LogSoftmax(_AlongDim):
    """Logarithm of softmax along ``dim``, without overflow."""

    function = F.log_softmax


class Softmin(_AlongDim):
    """Softmax of ``-x`` along ``dim``."""

    function = F.softmin


class MultiheadAttention(Module):
    """Attention in several subspaces at once (Vaswani et al. 2017, eq. 1 and section 3.2.2).

    Each head weighs the values by ``softmax(Q Kᵀ / √head_dim)``, Q, K and V being linear images of query, key
    and value; the heads' results side by side go through ``out_proj``.

    Args:
        embed_dim: size of queries and results. num_heads: how many heads; divides it.
        dropout: of the weights. bias: whether the projections have biases.
        add_bias_kv: a learned key and value at the end of each sequence.
        add_zero_attn: a key and value of zeros there.
        kdim, vdim: sizes of keys and values; ``embed_dim`` if None.
        batch_first: whether sequences are ``(N, L, E)``, not ``(L, N, E)``.

    Shape:
        ``forward(query, key, value, key_padding_mask=None, need_weights=True, attn_mask=None, ...)``: ``(L,
        N, E)``, ``(S, N, kdim)``, ``(S, N, vdim)``, or all without N; masks ``(N, S)`` and ``(L, S)`` or
        ``(N·num_heads, L, S)``, True for what to leave out or floats to add. Returns ``(L, N, E)`` and the
        weights ``(N, L, S)``, averaged over the heads or, with ``average_attn_weights=False``, ``(N,
        num_heads, L, S)``; None for them with ``need_weights=False``.

    >>> import pullback as torch
    >>> attention = torch.nn.MultiheadAttention(8, 2, batch_first=True)
    >>> x = torch.randn(3, 5, 8)
    >>> [t.shape for t in attention(x, x, x)]
    [torch.Size([3, 5, 8]), torch.Size([3, 5, 5])]
    """

    __constants__ = ["batch_first"]
    in_proj_weight: Parameter | None
    q_proj_weight: Parameter | None
    k_proj_weight: Parameter | None
    v_proj_weight: Parameter | None
    in_proj_bias: Parameter | None
    bias_k: Parameter | None
    bias_v: Parameter | None

    def __init__(
        self,
        embed_dim: int,
        num_heads: int,
        dropout: float = 0.0,
        bias: bool = True,
        add_bias_kv: bool = False,
        add_zero_attn: bool = False,
        kdim: int | None = None,
        vdim: int | None = None,
        batch_first: bool = False,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        if embed_dim <= 0 or num_heads <= 0:
            raise ValueError(
                f"embed_dim and num_heads must be greater than 0, got embed_dim={embed_dim} and "
                f"num_heads={num_heads} instead"
            )
        if embed_dim % num_heads != 0:
            raise AssertionError("embed_dim must be divisible by num_heads")
        self.embed_dim, self.num_heads, self.head_dim = embed_dim, num_heads, embed_dim // num_heads
        self.kdim = embed_dim if kdim is None else kdim
        self.vdim = embed_dim if vdim is None else vdim
        self._qkv_same_embed_dim = self.kdim == self.vdim == embed_dim
        self.dropout, self.batch_first, self.add_zero_attn = dropout, batch_first, add_zero_attn
        joint, n = self._qkv_same_embed_dim, embed_dim
        shapes = {
            "in_proj_weight": (3 * n, n) if joint else None,
            "q_proj_weight": None if joint else (n, n),
            "k_proj_weight": None if joint else (n, self.kdim),
            "v_proj_weight": None if joint else (n, self.vdim),
            "in_proj_bias": (3 * n,) if bias else None,
            "bias_k": (1, 1, n) if add_bias_kv else None,
            "bias_v": (1, 1, n) if add_bias_kv else None,
        }
        for name, shape in shapes.items():
            value = None if shape is None else Parameter(empty(shape, device=device, dtype=dtype))
            self.register_parameter(name, value)
        self.out_proj = NonDynamicallyQuantizableLinear(n, n, bias, device, dtype)
        self._reset_parameters()

    def _reset_parameters(self) -> None:
        for weight in (self.in_proj_weight, self.q_proj_weight, self.k_proj_weight, self.v_proj_weight):
            if weight is not None:
                init.xavier_uniform_(weight)
        if self.in_proj_bias is not None:
            init.zeros_(self.in_proj_bias)
            init.zeros_(self.out_proj.bias)
        for bias in (self.bias_k, self.bias_v):
            if bias is not None:
                init.xavier_normal_(bias)

    def forward(
        self,
        query: Tensor,
        key: Tensor,
        value: Tensor,
        key_padding_mask: Tensor | None = None,
        need_weights: bool = True,
        attn_mask: Tensor | None = None,
        average_attn_weights: bool = True,
        is_causal: bool = False,
    ) -> tuple[Tensor, Tensor | None]:
        swap = self.batch_first and query.dim() == 3
        if swap:
            swapped = {id(x): x.transpose(0, 1) for x in (query, key, value)}  # what was the same stays so
            query, key, value = (swapped[id(x)] for x in (query, key, value))
        out, weights = F.multi_head_attention_forward(
            query,
            key,
            value,
            self.embed_dim,
            self.num_heads,
            self.in_proj_weight,
            self.in_proj_bias,
            self.bias_k,
            self.bias_v,
            self.add_zero_attn,
            self.dropout,
            self.out_proj.weight,
            self.out_proj.bias,
            self.training,
            key_padding_mask,
            need_weights,
            attn_mask,
            not self._qkv_same_embed_dim,
            self.q_proj_weight,
            self.k_proj_weight,
            self.v_proj_weight,
            average_attn_weights=average_attn_weights,
            is_causal=is_causal,
        )
        return out.transpose(0, 1) if swap else out, weights
