# Written by scripts/stubs.py.
"""``torch.nn.functional``: stateless functions of networks: convolutions, activations, norms, pooling, losses."""

from collections.abc import Callable, Sequence
from typing import Any, Literal, overload
from ..base.dtypes import dtype
from ..core.tensor import Tensor
from ..core.tensor_methods import Dims, Number

def adaptive_avg_pool1d(input: Tensor, output_size: int | Sequence[int | None]) -> Tensor:
    """Means of as many windows as asked for, those of `adaptive_max_pool1d`. Input: (N, C, L), or (C, L)."""
def adaptive_avg_pool2d(input: Tensor, output_size: int | Sequence[int | None]) -> Tensor:
    """Means of as many windows as asked for, those of `adaptive_max_pool2d`."""
def adaptive_avg_pool3d(input: Tensor, output_size: int | Sequence[int | None]) -> Tensor:
    """Means of as many windows as asked for, those of `adaptive_max_pool3d`."""
@overload
def adaptive_max_pool1d(
    input: Tensor,
    output_size: int | Sequence[int | None] | None,
    return_indices: Literal[False] = False,
) -> Tensor:
    """Maxima of as many windows as asked for; see `adaptive_max_pool2d`. Input: (N, C, L), or (C, L)."""
@overload
def adaptive_max_pool1d(
    input: Tensor,
    output_size: int | Sequence[int | None] | None,
    return_indices: Literal[True],
) -> tuple[Tensor, Tensor]: ...
@overload
def adaptive_max_pool2d(
    input: Tensor,
    output_size: int | Sequence[int | None] | None,
    return_indices: Literal[False] = False,
) -> Tensor:
    """Maxima of as many windows as asked for."""
@overload
def adaptive_max_pool2d(
    input: Tensor,
    output_size: int | Sequence[int | None] | None,
    return_indices: Literal[True],
) -> tuple[Tensor, Tensor]: ...
@overload
def adaptive_max_pool3d(
    input: Tensor,
    output_size: int | Sequence[int | None] | None,
    return_indices: Literal[False] = False,
) -> Tensor:
    """Maxima of as many windows as asked for; see `adaptive_max_pool2d`. Input: (N, C, D, H, W), or (C, D, H, W)."""
@overload
def adaptive_max_pool3d(
    input: Tensor,
    output_size: int | Sequence[int | None] | None,
    return_indices: Literal[True],
) -> tuple[Tensor, Tensor]: ...
def affine_grid(theta: Tensor, size: Sequence[int], align_corners: bool | None = None) -> Tensor:
    """The points that an affine map takes an image's pixels to, for `grid_sample`."""
def alpha_dropout(input: Tensor, p: float = 0.5, training: bool = False, inplace: bool = False) -> Tensor:
    """Dropout for self-normalizing networks: keeps mean 0 and variance 1."""
def avg_pool1d(
    input: Tensor,
    kernel_size: Dims,
    stride: Dims | None = None,
    padding: Dims = 0,
    ceil_mode: bool = False,
    count_include_pad: bool = True,
) -> Tensor:
    """Means of windows; see `avg_pool2d`. Input: (N, C, L), or (C, L)."""
def avg_pool2d(
    input: Tensor,
    kernel_size: Dims,
    stride: Dims | None = None,
    padding: Dims = 0,
    ceil_mode: bool = False,
    count_include_pad: bool = True,
    divisor_override: int | None = None,
    *,
    out: Tensor | None = None,
) -> Tensor:
    """Means of windows."""
def avg_pool3d(
    input: Tensor,
    kernel_size: Dims,
    stride: Dims | None = None,
    padding: Dims = 0,
    ceil_mode: bool = False,
    count_include_pad: bool = True,
    divisor_override: int | None = None,
    *,
    out: Tensor | None = None,
) -> Tensor:
    """Means of windows; see `avg_pool2d`. Input: (N, C, D, H, W), or (C, D, H, W)."""
def batch_norm(
    input: Tensor,
    running_mean: Tensor | None,
    running_var: Tensor | None,
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    training: bool = False,
    momentum: float = 0.1,
    eps: float = 1e-05,
) -> Tensor:
    """Each channel to mean 0 and variance 1, then ``* weight + bias``."""
def bilinear(input1: Tensor, input2: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    """``y[o] = x1 @ weight[o] @ x2 + bias[o]``."""
def binary_cross_entropy(
    input: Tensor,
    target: Tensor,
    weight: Tensor | None = None,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    """``-(target * log(input) + (1 - target) * log(1 - input))``, logarithms clamped to at least -100."""
def binary_cross_entropy_with_logits(
    input: Tensor,
    target: Tensor,
    weight: Tensor | None = None,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
    pos_weight: Tensor | None = None,
) -> Tensor:
    """`binary_cross_entropy` of ``sigmoid(input)``, exact for inputs of any size."""
def celu(input: Tensor, alpha: float = 1.0, inplace: bool = False) -> Tensor:
    """``input`` where positive, ``alpha * (exp(input / alpha) - 1)`` elsewhere (Barron 2017): smooth for any alpha."""
def celu_(input: Tensor, alpha: float = 1.0) -> Tensor:
    """In-place version of `celu`."""
def channel_shuffle(input: Tensor, groups: int, *, out: Tensor | None = None) -> Tensor:
    """Channels interleaved between groups: (N, groups * k, ...) as (N, groups, k, ...), transposed to (N, k, groups,
    ...)."""
def conv1d(
    input: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    stride: int | Sequence[int] = 1,
    padding: int | Sequence[int] | str = 0,
    dilation: int | Sequence[int] = 1,
    groups: int = 1,
) -> Tensor:
    """Convolution over one dimension; see `convolution`."""
def conv2d(
    input: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    stride: int | Sequence[int] = 1,
    padding: int | Sequence[int] | str = 0,
    dilation: int | Sequence[int] = 1,
    groups: int = 1,
) -> Tensor:
    """Convolution over two dimensions; see `convolution`."""
def conv3d(
    input: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    stride: int | Sequence[int] = 1,
    padding: int | Sequence[int] | str = 0,
    dilation: int | Sequence[int] = 1,
    groups: int = 1,
) -> Tensor:
    """Convolution over three dimensions; see `convolution`."""
def conv_tbc(input: Tensor, weight: Tensor, bias: Tensor, pad: int = 0) -> Tensor:
    """Convolution of sequences laid out (time, batch, channels)."""
def conv_transpose1d(
    input: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    stride: int | Sequence[int] = 1,
    padding: int | Sequence[int] = 0,
    output_padding: int | Sequence[int] = 0,
    groups: int = 1,
    dilation: int | Sequence[int] = 1,
) -> Tensor:
    """Transposed convolution over one dimension: what the gradient of ``conv1d`` is; see `convolution`."""
def conv_transpose2d(
    input: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    stride: int | Sequence[int] = 1,
    padding: int | Sequence[int] = 0,
    output_padding: int | Sequence[int] = 0,
    groups: int = 1,
    dilation: int | Sequence[int] = 1,
) -> Tensor:
    """Transposed convolution over two dimensions: what the gradient of ``conv2d`` is; see `convolution`."""
def conv_transpose3d(
    input: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    stride: int | Sequence[int] = 1,
    padding: int | Sequence[int] = 0,
    output_padding: int | Sequence[int] = 0,
    groups: int = 1,
    dilation: int | Sequence[int] = 1,
) -> Tensor:
    """Transposed convolution over three dimensions: what the gradient of ``conv3d`` is; see `convolution`."""
def cosine_embedding_loss(
    input1: Tensor,
    input2: Tensor,
    target: Tensor,
    margin: float = 0,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    """``1 - cos`` where the target is 1, ``max(0, cos - margin)`` where it is -1; cos is the cosine of the two
    inputs."""
def cosine_similarity(x1: Tensor, x2: Tensor, dim: int = 1, eps: float = 1e-08) -> Tensor:
    """``sum(x1 * x2) / (max(norm(x1), eps) * max(norm(x2), eps))`` along a dimension."""
def cross_entropy(
    input: Tensor,
    target: Tensor,
    weight: Tensor | None = None,
    size_average: bool | None = None,
    ignore_index: int = -100,
    reduce: bool | None = None,
    reduction: str = "mean",
    label_smoothing: float = 0.0,
) -> Tensor:
    """Cross entropy between the target and ``softmax(input)``."""
def ctc_loss(
    log_probs: Tensor,
    targets: Tensor,
    input_lengths: Tensor | Sequence[int],
    target_lengths: Tensor | Sequence[int],
    blank: int = 0,
    reduction: str = "mean",
    zero_infinity: bool = False,
) -> Tensor:
    """Connectionist temporal classification: minus the logarithm of the probability of a target sequence."""
def dropout(input: Tensor, p: float = 0.5, training: bool = True, inplace: bool = False) -> Tensor:
    """In training, zeroes each element with probability ``p`` and multiplies the others by ``1 / (1 - p)``."""
def dropout1d(input: Tensor, p: float = 0.5, training: bool = True, inplace: bool = False) -> Tensor:
    """Dropout of whole channels of ``(batch, channels, length)`` or ``(channels, length)``."""
def dropout2d(input: Tensor, p: float = 0.5, training: bool = True, inplace: bool = False) -> Tensor:
    """Dropout of whole channels of ``(batch, channels, height, width)``."""
def dropout3d(input: Tensor, p: float = 0.5, training: bool = True, inplace: bool = False) -> Tensor:
    """Dropout of whole channels of ``(batch, channels, depth, height, width)``, or without the batch."""
def elu(input: Tensor, alpha: float = 1.0, inplace: bool = False) -> Tensor:
    """``input`` where positive, ``alpha * (exp(input) - 1)`` elsewhere (Clevert et al. 2015)."""
def elu_(input: Tensor, alpha: float = 1.0) -> Tensor:
    """In-place version of `elu`."""
def embedding(
    input: Tensor,
    weight: Tensor,
    padding_idx: int | None = None,
    max_norm: float | None = None,
    norm_type: float = 2.0,
    scale_grad_by_freq: bool = False,
    sparse: bool = False,
) -> Tensor:
    """Rows of a table."""
def embedding_bag(
    input: Tensor,
    weight: Tensor,
    offsets: Tensor | None = None,
    max_norm: float | None = None,
    norm_type: float = 2,
    scale_grad_by_freq: bool = False,
    mode: str = "mean",
    sparse: bool = False,
    per_sample_weights: Tensor | None = None,
    include_last_offset: bool = False,
    padding_idx: int | None = None,
) -> Tensor:
    """Sums, means or maxima of bags of rows of a table."""
def feature_alpha_dropout(input: Tensor, p: float = 0.5, training: bool = False, inplace: bool = False) -> Tensor:
    """`alpha_dropout` of whole features."""
def fold(
    input: Tensor,
    output_size: int | Sequence[int],
    kernel_size: int | Sequence[int],
    dilation: int | Sequence[int] = 1,
    padding: int | Sequence[int] = 0,
    stride: int | Sequence[int] = 1,
    *,
    out: Tensor | None = None,
) -> Tensor:
    """Images as the sum of sliding blocks, each given as a column ("col2im"): the transpose of `unfold`."""
@overload
def fractional_max_pool2d(
    input: Tensor,
    kernel_size: Dims,
    output_size: Dims | None = None,
    output_ratio: float | Sequence[float] | None = None,
    return_indices: Literal[False] = False,
    _random_samples: Tensor | None = None,
) -> Tensor:
    """Maxima of windows whose starts are drawn at random, about evenly spaced."""
@overload
def fractional_max_pool2d(
    input: Tensor,
    kernel_size: Dims,
    output_size: Dims | None = None,
    output_ratio: float | Sequence[float] | None = None,
    *,
    return_indices: Literal[True],
    _random_samples: Tensor | None = None,
) -> tuple[Tensor, Tensor]: ...
@overload
def fractional_max_pool3d(
    input: Tensor,
    kernel_size: Dims,
    output_size: Dims | None = None,
    output_ratio: float | Sequence[float] | None = None,
    return_indices: Literal[False] = False,
    _random_samples: Tensor | None = None,
) -> Tensor:
    """Maxima of windows at random starts; see `fractional_max_pool2d`. Input: (N, C, D, H, W), or (C, D, H, W)."""
@overload
def fractional_max_pool3d(
    input: Tensor,
    kernel_size: Dims,
    output_size: Dims | None = None,
    output_ratio: float | Sequence[float] | None = None,
    *,
    return_indices: Literal[True],
    _random_samples: Tensor | None = None,
) -> tuple[Tensor, Tensor]: ...
def gaussian_nll_loss(
    input: Tensor,
    target: Tensor,
    var: Tensor | float,
    full: bool = False,
    eps: float = 1e-06,
    reduction: str = "mean",
) -> Tensor:
    """Negative log-likelihood of normal distributions: ``(log(var) + (input - target) ** 2 / var) / 2``."""
def gelu(input: Tensor, approximate: str = "none", *, out: Tensor | None = None) -> Tensor:
    """``input * Phi(input)``, with the normal distribution's cumulative function (Hendrycks and Gimpel 2016)."""
def glu(input: Tensor, dim: int = -1) -> Tensor:
    """The first half of a dimension times the sigmoid of the second (Dauphin et al. 2016)."""
def grid_sample(
    input: Tensor,
    grid: Tensor,
    mode: str = "bilinear",
    padding_mode: str = "zeros",
    align_corners: bool | None = None,
) -> Tensor:
    """Images (or volumes) looked up at given points."""
def group_norm(
    input: Tensor,
    num_groups: int,
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    eps: float = 1e-05,
    cudnn_enabled: bool = True,
) -> Tensor:
    """Each group of channels of each sample to mean 0 and variance 1, then ``* weight + bias`` per channel."""
def gumbel_softmax(logits: Tensor, tau: float = 1, hard: bool = False, eps: float = 1e-10, dim: int = -1) -> Tensor:
    """Samples from a relaxed categorical distribution (Jang et al. 2016; Maddison et al. 2016)."""
def hardshrink(input: Tensor, lambd: float = 0.5) -> Tensor:
    """``input`` where its size is above ``lambd``, else 0."""
def hardsigmoid(input: Tensor, inplace: bool = False) -> Tensor:
    """``relu6(input + 3) / 6``."""
def hardswish(input: Tensor, inplace: bool = False) -> Tensor:
    """``input * relu6(input + 3) / 6`` (Howard et al., *Searching for MobileNetV3*, 2019)."""
def hardtanh(input: Tensor, min_val: float = -1.0, max_val: float = 1.0, inplace: bool = False) -> Tensor:
    """``input`` limited to ``[min_val, max_val]``. Derivative: 1 strictly inside, else 0."""
def hardtanh_(input: Tensor, min_val: float = -1.0, max_val: float = 1.0) -> Tensor:
    """In-place version of `hardtanh`."""
def hinge_embedding_loss(
    input: Tensor,
    target: Tensor,
    margin: float = 1.0,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    """``input`` where the target is 1, ``max(0, margin - input)`` where it is -1."""
def huber_loss(
    input: Tensor,
    target: Tensor,
    reduction: str = "mean",
    delta: float = 1.0,
    weight: Tensor | None = None,
) -> Tensor:
    """``d ** 2 / 2`` where ``d = abs(input - target)`` is at most ``delta``, else ``delta * (d - delta / 2)`` (Huber
    1964)."""
def instance_norm(
    input: Tensor,
    running_mean: Tensor | None = None,
    running_var: Tensor | None = None,
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    use_input_stats: bool = True,
    momentum: float = 0.1,
    eps: float = 1e-05,
) -> Tensor:
    """Each channel of each sample to mean 0 and variance 1, then ``* weight + bias``."""
def interpolate(
    input: Tensor,
    size: int | Sequence[int] | None = None,
    scale_factor: float | Sequence[float] | None = None,
    mode: str = "nearest",
    align_corners: bool | None = None,
    recompute_scale_factor: bool | None = None,
    antialias: bool = False,
) -> Tensor:
    """Images (or sequences, or volumes) of another size."""
def kl_div(
    input: Tensor,
    target: Tensor,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
    log_target: bool = False,
) -> Tensor:
    """Kullback-Leibler divergence ``target * (log(target) - input)``, 0 where the target is."""
def l1_loss(
    input: Tensor,
    target: Tensor,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
    weight: Tensor | None = None,
) -> Tensor:
    """``abs(input - target)``. Derivative: 0 where they are equal."""
def layer_norm(
    input: Tensor,
    normalized_shape: Sequence[int],
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    eps: float = 1e-05,
    cudnn_enable: bool = True,
) -> Tensor:
    """Each sample to mean 0 and variance 1 over its last dimensions, then ``* weight + bias``."""
def leaky_relu(input: Tensor, negative_slope: float = 0.01, inplace: bool = False) -> Tensor:
    """``input`` where positive, ``negative_slope * input`` elsewhere."""
def leaky_relu_(input: Tensor, negative_slope: float = 0.01) -> Tensor:
    """In-place version of `leaky_relu`."""
def linear(input: Tensor, weight: Tensor, bias: Tensor | None = None, *, out: Tensor | None = None) -> Tensor:
    """``input @ weight.T + bias``."""
def linear_cross_entropy(
    input: Tensor,
    linear_weight: Tensor,
    target: Tensor,
    *,
    linear_bias: Tensor | None = None,
    weight: Tensor | None = None,
    reduction: str = "mean",
    ignore_index: int | None = None,
    label_smoothing: float = 0.0,
    options: Any = None,
) -> Tensor:
    """`cross_entropy` of ``linear(input, linear_weight, linear_bias)``."""
def local_response_norm(input: Tensor, size: int, alpha: float = 0.0001, beta: float = 0.75, k: float = 1.0) -> Tensor:
    """``input / (k + alpha * mean of squares of neighbouring channels) ** beta`` (Krizhevsky et al. 2012)."""
def log_softmax(
    input: Tensor,
    dim: int | None = None,
    dtype: dtype | None = None,
    *,
    out: Tensor | None = None,
) -> Tensor:
    """``log(softmax(input, dim))``, without the rounding error of taking the logarithm of a softmax."""
def logsigmoid(input: Tensor) -> Tensor:
    """``log(sigmoid(input))``, exact for large negative inputs, too."""
def lp_pool1d(
    input: Tensor,
    norm_type: float,
    kernel_size: Dims,
    stride: Dims | None = None,
    ceil_mode: bool = False,
) -> Tensor:
    """Norms of windows; see `lp_pool2d`. Input: (N, C, L), or (C, L)."""
def lp_pool2d(
    input: Tensor,
    norm_type: float,
    kernel_size: Dims,
    stride: Dims | None = None,
    ceil_mode: bool = False,
) -> Tensor:
    """Norms of windows: ``sum(x ** p) ** (1 / p)``, where p is ``norm_type``."""
def lp_pool3d(
    input: Tensor,
    norm_type: float,
    kernel_size: Dims,
    stride: Dims | None = None,
    ceil_mode: bool = False,
) -> Tensor:
    """Norms of windows; see `lp_pool2d`. Input: (N, C, D, H, W), or (C, D, H, W)."""
def margin_ranking_loss(
    input1: Tensor,
    input2: Tensor,
    target: Tensor,
    margin: float = 0,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    """``max(0, -target * (input1 - input2) + margin)``: a target of 1 says that ``input1`` should be the larger."""
@overload
def max_pool1d(
    input: Tensor,
    kernel_size: Dims,
    stride: Dims | None = None,
    padding: Dims = 0,
    dilation: Dims = 1,
    ceil_mode: bool = False,
    return_indices: Literal[False] = False,
) -> Tensor:
    """Maxima of windows; see `max_pool2d`. Input: (N, C, L), or (C, L)."""
@overload
def max_pool1d(
    input: Tensor,
    kernel_size: Dims,
    stride: Dims | None = None,
    padding: Dims = 0,
    dilation: Dims = 1,
    ceil_mode: bool = False,
    *,
    return_indices: Literal[True],
) -> tuple[Tensor, Tensor]: ...
def max_pool1d_with_indices(
    input: Tensor,
    kernel_size: Dims,
    stride: Dims | None = None,
    padding: Dims = 0,
    dilation: Dims = 1,
    ceil_mode: bool = False,
    return_indices: bool = True,
) -> tuple[Tensor, Tensor]:
    """`max_pool1d` with ``return_indices=True``."""
@overload
def max_pool2d(
    input: Tensor,
    kernel_size: Dims,
    stride: Dims | None = None,
    padding: Dims = 0,
    dilation: Dims = 1,
    ceil_mode: bool = False,
    return_indices: Literal[False] = False,
) -> Tensor:
    """Maxima of windows."""
@overload
def max_pool2d(
    input: Tensor,
    kernel_size: Dims,
    stride: Dims | None = None,
    padding: Dims = 0,
    dilation: Dims = 1,
    ceil_mode: bool = False,
    *,
    return_indices: Literal[True],
) -> tuple[Tensor, Tensor]: ...
def max_pool2d_with_indices(
    input: Tensor,
    kernel_size: Dims,
    stride: Dims | None = None,
    padding: Dims = 0,
    dilation: Dims = 1,
    ceil_mode: bool = False,
    return_indices: bool = True,
) -> tuple[Tensor, Tensor]:
    """`max_pool2d` with ``return_indices=True``."""
@overload
def max_pool3d(
    input: Tensor,
    kernel_size: Dims,
    stride: Dims | None = None,
    padding: Dims = 0,
    dilation: Dims = 1,
    ceil_mode: bool = False,
    return_indices: Literal[False] = False,
) -> Tensor:
    """Maxima of windows; see `max_pool2d`. Input: (N, C, D, H, W), or (C, D, H, W)."""
@overload
def max_pool3d(
    input: Tensor,
    kernel_size: Dims,
    stride: Dims | None = None,
    padding: Dims = 0,
    dilation: Dims = 1,
    ceil_mode: bool = False,
    *,
    return_indices: Literal[True],
) -> tuple[Tensor, Tensor]: ...
def max_pool3d_with_indices(
    input: Tensor,
    kernel_size: Dims,
    stride: Dims | None = None,
    padding: Dims = 0,
    dilation: Dims = 1,
    ceil_mode: bool = False,
    return_indices: bool = True,
) -> tuple[Tensor, Tensor]:
    """`max_pool3d` with ``return_indices=True``."""
def max_unpool1d(
    input: Tensor,
    indices: Tensor,
    kernel_size: Dims,
    stride: Dims | None = None,
    padding: Dims = 0,
    output_size: int | Sequence[int | None] | None = None,
) -> Tensor:
    """Maxima back in their places; see `max_unpool2d`. Input: (N, C, L), or (C, L)."""
def max_unpool2d(
    input: Tensor,
    indices: Tensor,
    kernel_size: Dims,
    stride: Dims | None = None,
    padding: Dims = 0,
    output_size: int | Sequence[int | None] | None = None,
) -> Tensor:
    """Maxima back in their places among zeros: a partial inverse of `max_pool2d`."""
def max_unpool3d(
    input: Tensor,
    indices: Tensor,
    kernel_size: Dims,
    stride: Dims | None = None,
    padding: Dims = 0,
    output_size: int | Sequence[int | None] | None = None,
) -> Tensor:
    """Maxima back in their places; see `max_unpool2d`. Input: (N, C, D, H, W), or (C, D, H, W)."""
def mish(input: Tensor, inplace: bool = False) -> Tensor:
    """``input * tanh(softplus(input))`` (Misra 2019)."""
def mse_loss(
    input: Tensor,
    target: Tensor,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
    weight: Tensor | None = None,
) -> Tensor:
    """``(input - target) ** 2``."""
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
    """Multi-head attention with its in- and out-projections: the forward of ``nn.MultiheadAttention``."""
def multi_margin_loss(
    input: Tensor,
    target: Tensor,
    p: int = 1,
    margin: float = 1.0,
    weight: Tensor | None = None,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    """``sum(max(0, margin - input[y] + input[i]) ** p) / classes`` over the other classes i, for the target y."""
def multilabel_margin_loss(
    input: Tensor,
    target: Tensor,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    """``sum(max(0, 1 - (input[y] - input[i]))) / classes`` over targets y and all i that are no targets."""
def multilabel_soft_margin_loss(
    input: Tensor,
    target: Tensor,
    weight: Tensor | None = None,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    """Mean over the last dimension of ``-(target * logsigmoid(input) + (1 - target) * logsigmoid(-input))``."""
def native_channel_shuffle(input: Tensor, groups: int, *, out: Tensor | None = None) -> Tensor:
    """Channels interleaved between groups: (N, groups * k, ...) as (N, groups, k, ...), transposed to (N, k, groups,
    ...)."""
def nll_loss(
    input: Tensor,
    target: Tensor,
    weight: Tensor | None = None,
    size_average: bool | None = None,
    ignore_index: int = -100,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    """Negative log-likelihood: ``-input[n, target[n]]``, by the weight of the class."""
def normalize(input: Tensor, p: float = 2.0, dim: Dims = 1, eps: float = 1e-12, out: Tensor | None = None) -> Tensor:
    """``input / max(norm(input, p, dim), eps)``: vectors of norm 1."""
def one_hot(tensor: Tensor, num_classes: int = -1) -> Tensor:
    """1 at the index of each class, 0 elsewhere."""
def pad(input: Tensor, pad: Sequence[int], mode: str = "constant", value: Tensor | Number | None = None) -> Tensor:
    """The tensor with a border."""
def pairwise_distance(x1: Tensor, x2: Tensor, p: float = 2.0, eps: float = 1e-06, keepdim: bool = False) -> Tensor:
    """The p-norm of ``x1 - x2 + eps`` along the last dimension."""
def pdist(input: Tensor, p: float = 2.0) -> Tensor:
    """Distances between all pairs of points of a set, in the p-norm."""
def pixel_shuffle(input: Tensor, upscale_factor: int, *, out: Tensor | None = None) -> Tensor:
    """Channels rearranged to pixels: (..., C * r * r, H, W) to (..., C, H * r, W * r) (Shi et al. 2016, section
    3.2)."""
def pixel_unshuffle(input: Tensor, downscale_factor: int, *, out: Tensor | None = None) -> Tensor:
    """Pixels rearranged to channels: (..., C, H * r, W * r) to (..., C * r * r, H, W): the inverse of
    ``pixel_shuffle``."""
def poisson_nll_loss(
    input: Tensor,
    target: Tensor,
    log_input: bool = True,
    full: bool = False,
    size_average: bool | None = None,
    eps: float = 1e-08,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    """Negative log-likelihood of counts: ``exp(input) - target * input``."""
def prelu(input: Tensor, weight: Tensor) -> Tensor:
    """``input`` where positive, ``weight * input`` elsewhere, the weight learnt."""
def relu(input: Tensor, inplace: bool = False) -> Tensor:
    """``max(input, 0)``. Derivative: 0 at 0."""
def relu6(input: Tensor, inplace: bool = False) -> Tensor:
    """``input`` limited to ``[0, 6]``. Derivative: 1 strictly inside, else 0."""
def relu_(input: Tensor) -> Tensor:
    """In-place version of `relu`."""
def rms_norm(
    input: Tensor,
    normalized_shape: Sequence[int],
    weight: Tensor | None = None,
    eps: float | None = None,
) -> Tensor:
    """``input / sqrt(mean(input ** 2) + eps) * weight`` over the last dimensions."""
def rrelu(
    input: Tensor,
    lower: float = 0.125,
    upper: float = ...,
    training: bool = False,
    inplace: bool = False,
) -> Tensor:
    """``input`` where positive, elsewhere times a slope: drawn from ``[lower, upper)`` in training, else the mean."""
def rrelu_(input: Tensor, lower: float = 0.125, upper: float = ..., training: bool = False) -> Tensor:
    """In-place version of `rrelu`."""
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
    """``softmax(query @ key.mT * scale + mask) @ value``."""
def selu(input: Tensor, inplace: bool = False) -> Tensor:
    """``elu`` with the constants that keep mean 0 and variance 1 (Klambauer et al., *Self-Normalizing Networks*,
    2017)."""
def selu_(input: Tensor) -> Tensor:
    """In-place version of `selu`."""
def sigmoid(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Logistic function ``1 / (1 + exp(-input))``. Derivative: ``out * (1 - out)``."""
def silu(input: Tensor, inplace: bool = False) -> Tensor:
    """``input * sigmoid(input)``, also called swish."""
def smooth_l1_loss(
    input: Tensor,
    target: Tensor,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
    beta: float = 1.0,
) -> Tensor:
    """``d ** 2 / (2 beta)`` where ``d = abs(input - target)`` is below ``beta``, else ``d - beta / 2`` (Girshick
    2015)."""
def soft_margin_loss(
    input: Tensor,
    target: Tensor,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    """``log(1 + exp(-target * input))``, for targets 1 and -1."""
def softmax(input: Tensor, dim: int | None = None, dtype: dtype | None = None, *, out: Tensor | None = None) -> Tensor:
    """``exp(input) / sum(exp(input))`` along a dimension."""
def softmin(input: Tensor, dim: int | None = None, dtype: dtype | None = None) -> Tensor:
    """``softmax(-input, dim)``."""
def softplus(input: Tensor, beta: float = 1.0, threshold: float = 20.0, *, out: Tensor | None = None) -> Tensor:
    """``log(1 + exp(beta * input)) / beta``; ``input`` itself where ``beta * input`` is above ``threshold``."""
def softshrink(input: Tensor, lambd: float = 0.5) -> Tensor:
    """``input`` moved towards 0 by ``lambd``, not beyond."""
def softsign(input: Tensor) -> Tensor:
    """``input / (1 + abs(input))``."""
def tanh(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Hyperbolic tangent. Derivative: ``1 - out ** 2``."""
def tanhshrink(input: Tensor) -> Tensor:
    """``input - tanh(input)``."""
def threshold(input: Tensor, threshold: float, value: float, inplace: bool = False) -> Tensor:
    """``input`` where it is above ``threshold``, ``value`` elsewhere."""
def threshold_(input: Tensor, threshold: float, value: float) -> Tensor:
    """In-place version of `threshold`."""
def triplet_margin_loss(
    anchor: Tensor,
    positive: Tensor,
    negative: Tensor,
    margin: float = 1.0,
    p: float = 2,
    eps: float = 1e-06,
    swap: bool = False,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    """``max(0, distance(anchor, positive) - distance(anchor, negative) + margin)`` (Balntas et al. 2016)."""
def triplet_margin_with_distance_loss(
    anchor: Tensor,
    positive: Tensor,
    negative: Tensor,
    *,
    distance_function: Callable[[Tensor, Tensor], Tensor] | None = None,
    margin: float = 1.0,
    swap: bool = False,
    reduction: str = "mean",
) -> Tensor:
    """`triplet_margin_loss` with any distance of two tensors (default: `pairwise_distance`)."""
def unfold(
    input: Tensor,
    kernel_size: int | Sequence[int],
    dilation: int | Sequence[int] = 1,
    padding: int | Sequence[int] = 0,
    stride: int | Sequence[int] = 1,
    *,
    out: Tensor | None = None,
) -> Tensor:
    """Sliding blocks of images, each as a column ("im2col")."""
def upsample(
    input: Tensor,
    size: int | Sequence[int] | None = None,
    scale_factor: float | Sequence[float] | None = None,
    mode: str = "nearest",
    align_corners: bool | None = None,
) -> Tensor:
    """`interpolate` under an older name."""
def upsample_bilinear(
    input: Tensor,
    size: int | Sequence[int] | None = None,
    scale_factor: float | Sequence[float] | None = None,
) -> Tensor:
    """``interpolate(mode="bilinear", align_corners=True)`` under an older name."""
def upsample_nearest(
    input: Tensor,
    size: int | Sequence[int] | None = None,
    scale_factor: float | Sequence[float] | None = None,
) -> Tensor:
    """``interpolate(mode="nearest")`` under an older name."""
