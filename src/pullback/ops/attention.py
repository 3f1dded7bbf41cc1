"""Attention: ``scaled_dot_product_attention`` and ``multi_head_attention_forward``.

Vaswani et al., *Attention Is All You Need*, 2017, equation 1 and section 3.2.2.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np

from .. import kernels
from ..base import thread_state
from ..base.dtypes import CPP_NAMES
from ..base.layout import empty_interleaved
from ..core import record
from ..core.level import innermost_level
from ..core.tensor import Tensor
from . import half
from .concat import cat
from .create import empty
from .dropout import dropout
from .linear import linear
from .matmul import matmul
from .pad import pad
from .reduce import mean, sum, sum_array
from .slicing_views import chunk
from .softmax import max_keepdim, softmax
from .view import permute, reshape, squeeze, transpose, unsqueeze
from .where import where

__all_functional__ = ["multi_head_attention_forward", "scaled_dot_product_attention"]


BLOCK = 1 << 18  # bytes of attention weights at a time: several passes go over them, so they should stay in cache


# --- one head ---------------------------------------------------------------------------------------------------


def _weight_blocks(weights: np.ndarray) -> Iterator[Any]:
    """Slices of the first leading dimension, in blocks of about :data:`BLOCK` bytes."""
    if weights.ndim == 2:
        return iter([...])
    step = max(1, BLOCK * len(weights) // max(1, weights.nbytes))
    return (slice(i, i + step) for i in range(0, len(weights), step))


@half.general(
    name="scaled_dot_product_attention",
    outputs="out weights",
    differentiable="out",
    method=False,
    node="ScaledDotProductFlashAttentionForCpuBackward0",
)
def _attention(query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None = None, scale: float = 1.0) -> Any:
    """``softmax(query @ key.mT * scale + mask) @ value``, and the weights, for equal leading dimensions."""
    lead, n, m = query.shape[:-2], query.shape[-2], key.shape[-2]
    weights, out = np.empty((*lead, n, m), query.dtype), empty_interleaved((*lead, n, value.shape[-1]), query.dtype)
    added = None if mask is None else np.broadcast_to(mask, weights.shape)
    for part in _weight_blocks(weights):
        w = np.matmul(query[part] * scale, key[part].mT, out=weights[part])
        if added is not None:
            w += added[part]
        if w.size:
            w -= np.maximum(
                max_keepdim(w, w.ndim - 1), np.finfo(w.dtype).min
            )  # finite for a row that is masked out entirely
        np.exp(w, out=w)
        sums = sum_array(w, (w.ndim - 1,), True)
        w *= 1 / np.where(sums == 0, 1, sums)
        np.matmul(w, value[part], out=out[part])
    return out, weights


@_attention.vjp_all
def _attention_vjp(g: Any, wanted: Any, query: Any, key: Any, value: Any, mask: Any, scale: float, weights: Any) -> Any:
    if g.__class__ is not np.ndarray:
        return _qkv_vjp(g, wanted, query, key, value, _attention_weights(query, key, mask, scale), scale)
    results = [np.empty_like(x) if w else None for x, w in zip((query, key, value, weights), wanted)]
    for part in _weight_blocks(weights):
        pulled = _qkv_vjp(g[part], wanted, query[part], key[part], value[part], weights[part], scale)
        for result, block in zip(results, pulled):
            if result is not None:
                result[part] = block
    return results


@half.general(
    name="flash_attention",
    outputs="result logsum",
    differentiable="result",
    method=False,
    node="ScaledDotProductFlashAttentionForCpuBackward0",
)
def _flash(query: Tensor, key: Tensor, value: Tensor, causal: bool = False, scale: float = 1.0) -> Any:
    """Flash attention, which never materialises all weights: for large operands that the kernel takes, with no mask or
    the causal one.
    """
    return kernels.run("attention", "attend", query.size, query, key, value, causal, scale)


@_flash.vjp_all
def _flash_vjp(
    g: Any, wanted: Any, query: Any, key: Any, value: Any, causal: bool, scale: float, result: Any, logsum: Any
) -> Any:
    if g.__class__ is np.ndarray:
        # under autocast g is half precision
        g, query, key, value, result = [x.astype(logsum.dtype, copy=False) for x in (g, query, key, value, result)]
        return kernels.run(
            "attention", "attend_backward", query.size, g, query, key, value, causal, scale, result, logsum
        )
    scores = matmul(query * scale, key.mT)
    weights = softmax(scores + _causal_mask(query, key) if causal else scores, -1)
    return _qkv_vjp(g, (*wanted, False), query, key, value, weights, scale)[:3]


def _qkv_vjp(g: Any, wanted: Any, query: Any, key: Any, value: Any, weights: Any, scale: float) -> Any:
    """The gradients of query, key, value and mask; softmax has ``w * (h - sum(w * h))``."""
    of_weights = g @ value.mT
    of_scores = weights * (of_weights - sum(of_weights * weights, -1, True))
    return (
        of_scores @ key * scale if wanted[0] else None,
        of_scores.mT @ (query * scale) if wanted[1] else None,
        weights.mT @ g if wanted[2] else None,
        of_scores if wanted[3] else None,
    )


def _attention_weights(query: Tensor, key: Tensor, mask: Tensor | None, scale: float) -> Tensor:
    """Attention weights; zeros for a query whose keys are all masked."""
    scores = matmul(query * scale, key.mT)
    if mask is None:
        return softmax(scores, -1)
    scores = scores + mask
    if mask._array.__class__ is np.ndarray and not (mask._array == -math.inf).all(-1).any():
        return softmax(scores, -1)
    nowhere = (mask == -math.inf).all(-1, keepdim=True)
    return where(nowhere, 0, softmax(where(nowhere, 0, scores), -1))


def scaled_dot_product_attention(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    attn_mask: Tensor | None = None,
    dropout_p: float = 0.0,
    is_causal: bool = False,
    scale: float | None = None,
    enable_gqa: bool = False,
) -> Tensor:
    """``softmax(query @ key.mT * scale + mask) @ value``.

    Args:
        query: ``(..., heads, n, d)``.
        key: ``(..., heads, m, d)``.
        value: ``(..., heads, m, e)``.
        attn_mask: broadcasts to ``(..., n, m)``: bool, where True takes part, or numbers to add. A query whose keys are
            all masked gives zeros.
        dropout_p: probability with which weights are dropped.
        is_causal: query i attends to keys up to i only.
        scale: ``1 / sqrt(d)`` unless given.
        enable_gqa: keys and values may have fewer heads, a divisor, each used for several heads of the query.

    Returns:
        ``(..., heads, n, e)``.

    Raises:
        RuntimeError: for shapes, types and options that do not fit.

    >>> import pullback as torch
    >>> q = torch.zeros(1, 2, 4); v = torch.tensor([[[1.0], [3.0]]])
    >>> torch.nn.functional.scaled_dot_product_attention(q, q, v, is_causal=True)
    tensor([[[1.],
             [2.]]])
    """
    _check(query, key, value, attn_mask, is_causal)
    if enable_gqa:
        key, value = (_repeat_heads(query, x) for x in (key, value))
    arrays = query._array, key._array, value._array
    q, k, v = [x.shape for x in arrays]
    alike = not dropout_p and q[:-2] == k[:-2] == v[:-2] and q[-1] == k[-1] and k[-2] == v[-2]
    number = 1 / math.sqrt(q[-1] or 1) if scale is None else scale
    if (
        alike
        and attn_mask is None
        and number > 0
        and not (thread_state.slow_path_reasons and innermost_level(arrays) is not thread_state.local.trace)
    ):
        if kernels.run("attention", "supports", arrays[0].size, *arrays):
            return _flash(query, key, value, is_causal, number).result
    if is_causal:
        attn_mask = _causal_mask(query, key)
    elif attn_mask is not None and attn_mask.dtype.name == "bool":
        plain = attn_mask._array.__class__ is np.ndarray
        attn_mask = (
            _as_additive_mask(~attn_mask._array, query) if plain else where(attn_mask, 0.0, -math.inf).to(query.dtype)
        )
    if alike:
        return _attention(query, key, value, attn_mask, number).out
    weights = _attention_weights(query, key, attn_mask, number)
    return matmul(dropout(weights, dropout_p) if dropout_p else weights, value)


def _causal_mask(query: Tensor, key: Tensor) -> Tensor:
    """The bool mask with which query i attends to keys up to i only."""
    shape = query.shape[-2], key.shape[-2]
    if query.is_meta:
        return empty(shape, dtype=query.dtype, device="meta")
    return _as_additive_mask(~np.tri(*shape, dtype=bool), query)


def _as_additive_mask(mask: np.ndarray, like: Tensor) -> Tensor:
    """An additive mask: minus infinity where ``mask`` (True: left out) holds."""
    return record.wrap(np.where(mask, -math.inf, 0).astype(like._array.dtype))


def _check(query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None, is_causal: bool) -> None:
    ranks = [x.ndim for x in (query, key, value)]
    if not query.dtype is key.dtype is value.dtype:
        types = [CPP_NAMES[x.dtype.name] for x in (query, key, value)]
        raise RuntimeError(
            f"Expected query, key, and value to have the same dtype, but got query.dtype: {types[0]} key.dtype: "
            f"{types[1]} and value.dtype: {types[2]} instead."
        )
    if min(ranks) < 2:
        raise RuntimeError(
            f"Expected query, key, and value to all be  at least 2 dimensional, but got query.dim: {ranks[0]} "
            f"key.dim: {ranks[1]} and value.dim: {ranks[2]} instead."
        )
    if mask is None:
        return
    if is_causal:
        raise RuntimeError("_scaled_dot_product_attention: Explicit attn_mask should not be set when is_causal=True")
    if mask.dtype.name not in ("bool", "float32", query.dtype.name):
        given, own = [CPP_NAMES[x.dtype.name] for x in (mask, query)]
        raise RuntimeError(
            "Expected attn_mask dtype to be bool or float or to match query dtype, but got attn_mask.dtype: "
            f"{given} and  query.dtype: {own} instead."
        )


def _repeat_heads(query: Tensor, x: Tensor) -> Tensor:
    """Grouped-query attention: each head of keys or values repeated for its group of query heads."""
    heads, own = query.shape[-3], x.shape[-3]
    if own == 0 or heads % own:
        raise RuntimeError("Number of heads in key and value must divide the number of heads in query")
    lead, rest = x.shape[:-3], x.shape[-2:]
    return reshape(unsqueeze(x, -3).expand(*lead, own, heads // own, *rest), [*lead, heads, *rest])


# --- multi-head attention ---------------------------------------------------------------------------------------


def multi_head_attention_forward(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    embed_dim_to_check: int,
    num_heads: int,
    in_proj_weight: Tensor | None,
    in_proj_bias: Tensor | None,
    bias_k: Tensor | None,
    bias_v: Tensor | None,
    add_zero_attn: bool,
    dropout_p: float,
    out_proj_weight: Tensor,
    out_proj_bias: Tensor | None,
    training: bool = True,
    key_padding_mask: Tensor | None = None,
    need_weights: bool = True,
    attn_mask: Tensor | None = None,
    use_separate_proj_weight: bool = False,
    q_proj_weight: Tensor | None = None,
    k_proj_weight: Tensor | None = None,
    v_proj_weight: Tensor | None = None,
    static_k: Tensor | None = None,
    static_v: Tensor | None = None,
    average_attn_weights: bool = True,
    is_causal: bool = False,
) -> tuple[Tensor, Tensor | None]:
    """Multi-head attention with its in- and out-projections: the forward of ``nn.MultiheadAttention``.

    Args:
        query: ``(n, batch, width)`` or ``(n, width)``.
        key, value: ``(m, batch, ...)`` or ``(m, ...)``.
        embed_dim_to_check: width, which ``num_heads`` divides.
        in_proj_weight, in_proj_bias: of the maps of query, key and value, stacked: ``(3 * width, width)``, ``(3 *
            width,)``. With ``use_separate_proj_weight`` the weights are ``q_proj_weight``, ``k_proj_weight`` and
            ``v_proj_weight``.
        bias_k, bias_v: one more key and value, ``(1, 1, width)``.
        add_zero_attn: append a key and value of zeros.
        dropout_p: probability with which attention weights are dropped in training.
        out_proj_weight, out_proj_bias: of the last map.
        key_padding_mask: ``(batch, m)`` or ``(m,)``: bool, where True is left out, or numbers to add.
        attn_mask: ``(n, m)`` or ``(batch * num_heads, n, m)``, of the same kinds.
        need_weights: also return the attention weights.
        static_k, static_v: ``(batch * num_heads, m, width / num_heads)``, instead of mapped keys and values.
        average_attn_weights: return their mean over heads.
        is_causal: a hint that ``attn_mask`` is the causal one.

    Returns:
        The output, of query's shape, and the weights ``(batch, n, m)`` (``(batch, num_heads, n, m)`` unless averaged)
        or None.

    Raises:
        AssertionError, RuntimeError: for shapes and masks that do not fit.

    >>> import pullback as torch
    >>> x, w = torch.zeros(2, 1, 4), torch.zeros(12, 4)
    >>> out, weights = torch.nn.functional.multi_head_attention_forward(
    ...     x, x, x, 4, 2, w, None, None, None, False, 0.0, torch.zeros(4, 4), None)
    >>> weights
    tensor([[[0.5000, 0.5000],
             [0.5000, 0.5000]]])
    """
    batched = _check_ranks(query, key, value, key_padding_mask, attn_mask, num_heads)
    is_self_attention = query is key is value
    if not batched:
        query, key, value = (unsqueeze(x, 1) for x in (query, key, value))
        key_padding_mask = None if key_padding_mask is None else unsqueeze(key_padding_mask, 0)
    n, batch, width = query.shape
    heads = batch * num_heads

    # Additive masks. Without weights to return, is_causal replaces the causal mask.
    if is_causal and attn_mask is None:
        raise RuntimeError(
            "Need attn_mask if specifying the is_causal hint. You may use the Transformer module method "
            "`generate_square_subsequent_mask` to create this mask."
        )
    if key_padding_mask is not None and attn_mask is not None and key_padding_mask.dtype is not attn_mask.dtype:
        warnings.warn(
            "Support for mismatched key_padding_mask and attn_mask is deprecated. Use same type for both instead.",
            UserWarning,
            stacklevel=2,
        )
    by_hint = is_causal and key_padding_mask is None and not need_weights
    padding = _additive_mask(key_padding_mask, "key_padding_mask", query)
    mask = None if by_hint else _additive_mask(attn_mask, "attn_mask", query)
    _check_sizes(query, key, value, embed_dim_to_check, num_heads, use_separate_proj_weight, mask)

    # In-projection, bias_k and bias_v, static keys and values, split into heads.
    if use_separate_proj_weight:
        q, k, v = _separate_in_projection(
            (query, key, value), (q_proj_weight, k_proj_weight, v_proj_weight), in_proj_bias
        )
    else:
        q, k, v = _in_projection((query, key, value), in_proj_weight, in_proj_bias, is_self_attention)
    k, v = _with_bias_kv(k, v, bias_k, bias_v, static_k, static_v, (1, batch, width))
    q, k, v = (_split_heads(x, heads, width // num_heads) for x in (q, k, v))
    k, v = _static_or_projected("static_k", static_k, k), _static_or_projected("static_v", static_v, v)
    if add_zero_attn:
        k, v = (cat([x, x.new_zeros((heads, 1, x.shape[2]))], 1) for x in (k, v))
    mask = _merged_mask(mask, padding, batch, num_heads, k.shape[1], (bias_k is not None) + bool(add_zero_attn))

    # Scaled dot product attention, the out-projection.
    dropout_p = dropout_p if training else 0.0
    if need_weights:
        out, weights = _attention_and_weights(q, k, v, mask, dropout_p)
        weights = reshape(weights, (batch, num_heads, n, k.shape[1]))
        weights = mean(weights, 1) if average_attn_weights else weights
    else:
        weights = None
        if mask is not None:
            mask = unsqueeze(mask, 0) if mask.shape[0] == 1 else reshape(mask, (batch, num_heads, *mask.shape[1:]))
        q, k, v = (reshape(x, (batch, num_heads, *x.shape[1:])) for x in (q, k, v))
        out = permute(scaled_dot_product_attention(q, k, v, mask, dropout_p, by_hint), (2, 0, 1, 3))
    out = reshape(
        linear(reshape(out, (n * batch, width)), out_proj_weight, out_proj_bias), (n, batch, out_proj_weight.shape[0])
    )
    if batched:
        return out, weights
    return squeeze(out, 1), None if weights is None else squeeze(weights, 0)


def _in_projection(
    inputs: tuple[Tensor, Tensor, Tensor], weight: Tensor | None, bias: Tensor | None, is_self_attention: bool
) -> Any:
    """Query, key and value, projected by the three parts of one weight; in self-attention by one product."""
    if weight is None:
        raise AssertionError("use_separate_proj_weight is False but in_proj_weight is None")
    if is_self_attention:
        return chunk(linear(inputs[0], weight, bias), 3, -1)
    return _linear_each(inputs, chunk(weight, 3), bias)


def _separate_in_projection(
    inputs: tuple[Tensor, Tensor, Tensor], weights: tuple[Tensor | None, ...], bias: Tensor | None
) -> Any:
    """Query, key and value, each projected by a weight of its own."""
    for name, w in zip("qkv", weights):
        if w is None:
            raise AssertionError(f"use_separate_proj_weight is True but {name}_proj_weight is None")
    return _linear_each(inputs, weights, bias)


def _linear_each(inputs: Any, weights: Any, biases: Tensor | None) -> list[Tensor]:
    return [linear(x, w, b) for x, w, b in zip(inputs, weights, (None,) * 3 if biases is None else chunk(biases, 3))]


def _with_bias_kv(
    k: Tensor,
    v: Tensor,
    bias_k: Tensor | None,
    bias_v: Tensor | None,
    static_k: Tensor | None,
    static_v: Tensor | None,
    shape: tuple[int, ...],
) -> tuple[Tensor, Tensor]:
    """Keys and values with ``bias_k`` and ``bias_v`` appended, if given."""
    if (bias_k is None) != (bias_v is None):
        raise AssertionError(
            "bias_k is set but bias_v is None" if bias_v is None else "bias_v is set but bias_k is None"
        )
    if bias_k is None or bias_v is None:
        return k, v
    if static_k is not None or static_v is not None:
        raise AssertionError(f"bias cannot be added to static {'key' if static_k is not None else 'value'}.")
    return cat([k, bias_k.expand(*shape)]), cat([v, bias_v.expand(*shape)])


def _merged_mask(
    mask: Tensor | None, padding: Tensor | None, batch: int, num_heads: int, m: int, extra: int
) -> Tensor | None:
    """Both masks added up, broadcastable to ``(batch * num_heads, n, m)``; the last ``extra`` keys are not masked."""
    mask = unsqueeze(mask, 0) if mask is not None and len(mask.shape) == 2 else mask
    if extra:
        mask, padding = (None if x is None else pad(x, (0, extra)) for x in (mask, padding))
    if padding is None:
        return mask
    for dim, size in enumerate((batch, m)):
        if padding.shape[dim] != size:
            raise AssertionError(f"Expected key_padded_mask.shape[{dim}] to be {size}, but got {padding.shape[dim]}")
    padding = reshape(reshape(padding, (batch, 1, 1, m)).expand(-1, num_heads, -1, -1), (batch * num_heads, 1, m))
    return padding if mask is None else mask + padding


def _attention_and_weights(
    q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None, dropout_p: float
) -> tuple[Tensor, Tensor]:
    """The output ``(n, heads, d)``, and the weights ``(heads, n, m)`` that the fused op would not return."""
    weights = _attention_weights(q, k, mask, math.sqrt(1 / q.shape[2]))
    weights = dropout(weights, dropout_p) if dropout_p else weights
    return transpose(matmul(weights, v), 0, 1), weights


def _split_heads(x: Tensor, heads: int, width: int) -> Tensor:
    """``(length, batch, width)`` as ``(batch * heads, length, width of a head)``."""
    return transpose(reshape(x, (x.shape[0], heads, width)), 0, 1)


def _static_or_projected(name: str, given: Tensor | None, x: Tensor) -> Tensor:
    """Static keys or values, given per head, or else the projected ones."""
    if given is None:
        return x
    for dim in (0, 2):
        if given.shape[dim] != x.shape[dim]:
            raise AssertionError(f"expecting {name}.size({dim}) of {x.shape[dim]}, but got {given.shape[dim]}")
    return given


def _additive_mask(mask: Tensor | None, name: str, query: Tensor) -> Tensor | None:
    """A mask as numbers to add: minus infinity where a bool mask is True."""
    if mask is None or mask.dtype.is_floating_point:
        return mask
    if mask.dtype.name != "bool":
        raise AssertionError(f"only bool and floating types of {name} are supported")
    if not isinstance(mask._array, np.ndarray):
        return where(mask, -math.inf, 0.0).to(query.dtype)
    return _as_additive_mask(mask._array, query)


def _check_ranks(
    query: Tensor, key: Tensor, value: Tensor, padding: Tensor | None, mask: Tensor | None, heads: int
) -> bool:
    """Whether the inputs are batched; refuses ranks that do not match."""
    rank = len(query.shape)
    if rank not in (2, 3):
        raise AssertionError(f"query should be unbatched 2D or batched 3D tensor but received {rank}-D query tensor")
    kind = f"For {'batched (3-D)' if rank == 3 else 'unbatched (2-D)'} `query`, expected"
    if len(key.shape) != rank or len(value.shape) != rank:
        raise AssertionError(
            f"{kind} `key` and `value` to be {rank}-D but found {len(key.shape)}-D and {len(value.shape)}-D tensors "
            "respectively"
        )
    if padding is not None and len(padding.shape) != rank - 1:
        raise AssertionError(
            f"{kind} `key_padding_mask` to be `None` or {rank - 1}-D but found {len(padding.shape)}-D tensor instead"
        )
    if mask is not None:
        if len(mask.shape) not in (2, 3):
            raise AssertionError(
                f"{kind} `attn_mask` to be `None`, 2-D or 3-D but found {len(mask.shape)}-D tensor instead"
            )
        expected = (heads, query.shape[0], key.shape[0])
        if rank == 2 and len(mask.shape) == 3 and tuple(mask.shape) != expected:
            raise AssertionError(f"Expected `attn_mask` shape to be {expected} but got {mask.shape}")
    return rank == 3


def _check_sizes(
    query: Tensor, key: Tensor, value: Tensor, width: int, heads: int, separate: bool, mask: Tensor | None
) -> None:
    n, batch, own = query.shape
    if own != width:
        raise AssertionError(f"was expecting embedding dimension of {width}, but got {own}")
    if own % heads:
        raise AssertionError(f"embed_dim {own} not divisible by num_heads {heads}")
    if separate and key.shape[:2] != value.shape[:2]:
        raise AssertionError(f"key's sequence and batch dims {key.shape[:2]} do not match value's {value.shape[:2]}")
    if not separate and key.shape != value.shape:
        raise AssertionError(f"key shape {key.shape} does not match value shape {value.shape}")
    if mask is not None:
        rank, m = len(mask.shape), key.shape[0]
        expected = (n, m) if rank == 2 else (batch * heads, n, m)
        if tuple(mask.shape) != expected:
            raise RuntimeError(f"The shape of the {rank}D attn_mask is {mask.shape}, but should be {expected}.")
