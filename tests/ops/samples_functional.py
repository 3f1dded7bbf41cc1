"""Samples of torch.nn.functional: activations, normalization, losses, layers, attention."""

import numpy as np

import pullback as torch

from .samples import ints, refuse, sample

F = "nn.functional."

# --- activations ------------------------------------------------------------------------------------------------

for name, *options in (
    ("relu",),
    ("relu6",),
    ("hardtanh", {}, {"min_val": -0.5, "max_val": 1.7}),
    ("hardswish",),
    ("hardsigmoid",),
    ("elu", {}, {"alpha": 0.3}),
    ("celu", {}, {"alpha": 2.0}),
    ("selu",),
    ("gelu", {}, {"approximate": "tanh"}),
    ("leaky_relu", {}, {"negative_slope": 0.3}),
    ("silu",),
    ("mish",),
    ("softplus", {}, {"beta": 3.0, "threshold": 2.0}),
    ("softsign",),
    ("softshrink", {}, {"lambd": 1.01}),
    ("hardshrink", {"lambd": 0.71}),
    ("tanhshrink",),
    ("logsigmoid",),
    ("rrelu",),
    ("threshold", {"threshold": 0.2, "value": 5.0}),
):
    for kwargs in options or [{}]:
        sample(F + name, (3, 4), distinct=True, **kwargs)  # 12 values between -2 and 2: none on a kink
        sample(F + name, (), low=0.3, high=0.4, **kwargs)
        sample(F + name, (0, 3), **kwargs)
for weight in ((), (1,), (4,)):
    sample(F + "prelu", (2, 4, 3), weight, distinct=True)
for dim in (0, -1):
    sample(F + "glu", (2, 4), dim=dim)
for name in ("softmax", "log_softmax", "softmin"):
    sample(F + name, (2, 5), dim=-1)
    sample(F + name, (2, 5, 3), dim=1)
    sample(F + name, (), dim=0)
    sample(F + name, (0, 5), dim=0)
    sample(F + name, (0, 5), dim=1)
    sample(F + name, (3,), dim=0, dtype=torch.float64)
    refuse(
        F + name,
        (2, 3),
        dim=2,
        match=r"Dimension out of range \(expected to be in range of \[-2, 1\], but got 2\)",
        error=IndexError,
    )

refuse(F + "prelu", (2, 4), (3,), match="Found parameter numbers = 3 and channel size = 4.")
refuse(F + "glu", (3,), match="Halving dimension must be even, but dimension 0 is size 3")
refuse(F + "glu", np.arange(4), match="\"glu_cpu\" not implemented for 'Long'", error=NotImplementedError)
refuse(F + "hardtanh", (3,), 2.0, 1.0, match="min_val cannot be greater than max_val", error=ValueError)
refuse(F + "gelu", (3,), approximate="none of them", match="approximate argument must be either none or tanh.")
refuse(
    F + "softshrink",
    (3,),
    -1.0,
    match=r"lambda must be in range \[0, 1.79769e\+308\] for input dtype Double, but found -1",
)
refuse(F + "elu", ints(3, 2), match="\"elu_cpu\" not implemented for 'Long'", error=NotImplementedError)

# --- normalization ----------------------------------------------------------------------------------------------

for shape, normalized in (((2, 4, 3), [3]), ((2, 4, 3), [4, 3]), ((5, 1), [1]), ((3,), [3]), ((0, 3), [3])):
    sample(F + "layer_norm", shape, normalized, tuple(normalized), tuple(normalized))
    sample(F + "layer_norm", shape, normalized)
    sample(F + "rms_norm", shape, normalized, tuple(normalized), eps=0.01)
sample(F + "layer_norm", (2, 3), [3], bias=np.ones(3), eps=0.1)
for shape in ((4, 3), (2, 3, 5), (2, 3, 2, 2), (1, 3, 4)):
    running = {"running_mean": np.array([0.1, -0.2, 0.3]), "running_var": np.array([0.5, 1.0, 2.0])}
    sample(F + "batch_norm", shape, None, None, (3,), (3,), training=True)
    sample(F + "batch_norm", shape, training=True, **running)
    sample(F + "batch_norm", shape, weight=np.ones(3), training=False, eps=0.1, **running)
    if len(shape) > 2:
        sample(F + "instance_norm", shape, None, None, (3,), (3,))
        sample(F + "instance_norm", shape, use_input_stats=False, **running)
    sample(F + "group_norm", shape[:1] + (4,) + shape[2:], 2, (4,), (4,))
    sample(F + "group_norm", shape[:1] + (4,) + shape[2:], 1)
sample(F + "local_response_norm", (2, 5, 3), 3, alpha=0.5, beta=0.6, k=2.0)
sample(F + "local_response_norm", (1, 2, 2, 2), 4)
for p in (1.0, 2.0, 3.0):
    sample(F + "normalize", (2, 3), p=p, low=0.2)
sample(F + "normalize", (2, 3, 2), dim=[0, 2])

refuse(F + "layer_norm", (2, 4, 3), [4], match=r"Given normalized_shape=\[4\], expected input with shape \[\*, 4\]")
refuse(F + "layer_norm", (2, 3), [], match="Expected normalized_shape to be at least 1-dimensional")
refuse(
    F + "layer_norm",
    (2, 3),
    [3],
    (4,),
    match="Expected weight to be of same shape as normalized_shape, but got weight of shape",
)
refuse(
    F + "batch_norm",
    (1, 4),
    None,
    None,
    training=True,
    match="Expected more than 1 value per channel when training",
    error=ValueError,
)
refuse(F + "batch_norm", (2, 4), None, None, match="running_mean must be defined in evaluation mode")
refuse(F + "batch_norm", (2, 4), None, None, (3,), training=True, match="weight should contain 4 elements not 3")
refuse(F + "group_norm", (2, 4), 3, match="Expected number of channels in input to be divisible by num_groups")
refuse(F + "instance_norm", (2, 4, 1), match="Expected more than 1 spatial element when training", error=ValueError)
refuse(F + "local_response_norm", (2, 4, 1), -3, match="size should be greater than zero, but got -3")

# --- losses -----------------------------------------------------------------------------------------------------

signs = np.array([[1.0, -1.0, 1.0, 1.0], [-1.0, 1.0, -1.0, 1.0], [1.0, 1.0, -1.0, -1.0]])
halves = np.linspace(0.05, 0.95, 12).reshape(3, 4)
for reduction in ("none", "mean", "sum"):
    kwargs = {"reduction": reduction}
    for name in ("mse_loss", "l1_loss", "smooth_l1_loss", "huber_loss"):
        sample(F + name, (3, 4), (3, 4), **kwargs)
        sample(F + name, (), (), **kwargs)
    sample(F + "mse_loss", (3, 4), (3, 4), weight=halves, **kwargs)
    sample(F + "l1_loss", (3, 4), (3, 4), weight=halves, **kwargs)
    sample(F + "huber_loss", (3, 4), (3, 4), weight=halves, delta=0.3, **kwargs)
    sample(F + "smooth_l1_loss", (3, 4), (3, 4), beta=0.3, **kwargs)
    sample(F + "binary_cross_entropy", (3, 4), (3, 4), low=0.1, high=0.9, **kwargs)
    sample(F + "binary_cross_entropy", (3, 4), halves, weight=halves, low=0.1, high=0.9, **kwargs)
    sample(F + "binary_cross_entropy_with_logits", (3, 4), (3, 4), **kwargs)
    sample(F + "binary_cross_entropy_with_logits", (3, 4), halves, weight=halves, pos_weight=halves[0], **kwargs)
    sample(F + "soft_margin_loss", (3, 4), signs, **kwargs)
    sample(F + "poisson_nll_loss", (3, 4), (3, 4), low=0.2, **kwargs)
    sample(F + "poisson_nll_loss", (3, 4), (3, 4), low=1.1, high=3.0, log_input=False, full=True, **kwargs)
    sample(F + "gaussian_nll_loss", (3, 4), (3, 4), (3, 1), low=0.2, full=True, **kwargs)
    sample(F + "hinge_embedding_loss", (3, 4), signs, distinct=True, **kwargs)
    sample(F + "margin_ranking_loss", (3, 4), (3, 4), signs, margin=0.3, **kwargs)
    sample(F + "multilabel_soft_margin_loss", (3, 4), halves, weight=halves, **kwargs)
    sample(F + "multi_margin_loss", (3, 4), ints(4, 3), distinct=True, **kwargs)
    sample(F + "multi_margin_loss", (4,), np.array(2), p=2, margin=0.7, weight=halves[0], distinct=True, **kwargs)
    sample(F + "multilabel_margin_loss", (2, 4), np.array([[0, 3, -1, 1], [2, 2, 1, -1]]), distinct=True, **kwargs)
    sample(F + "cosine_embedding_loss", (3, 4), (3, 4), np.array([1, -1, 1]), margin=-0.9, **kwargs)
    sample(F + "triplet_margin_loss", (3, 4), (3, 4), (3, 4), swap=True, **kwargs)
    for shape, places in (((5, 3), (5,)), ((3,), ()), ((2, 3, 4), (2, 4)), ((2, 3, 2, 2), (2, 2, 2))):
        target, weight = ints(3, *places), np.array([0.5, 1.0, 2.0])
        for extra in ({}, {"weight": weight}, {"ignore_index": 1}):
            sample(F + "nll_loss", shape, target, **extra, **kwargs)
            sample(F + "cross_entropy", shape, target, **extra, **kwargs)
        sample(F + "cross_entropy", shape, target, weight=weight, ignore_index=0, label_smoothing=0.2, **kwargs)
        sample(F + "cross_entropy", shape, shape, weight=weight, label_smoothing=0.1, low=0.1, high=0.9, **kwargs)
    sample(F + "linear_cross_entropy", (5, 2), (3, 2), ints(3, 5), linear_bias=np.ones(3), **kwargs)
sample(F + "nll_loss", (4, 3), np.array([0, 2, 1, 0], np.uint8))
sample(F + "cross_entropy", (0, 3), ints(3, 0), reduction="sum")
for reduction in ("none", "sum", "batchmean"):  # "mean" warns
    sample(F + "kl_div", (3, 4), (3, 4), low=0.1, reduction=reduction)
    sample(F + "kl_div", (3, 4), (3, 4), log_target=True, reduction=reduction)
for dim in (0, -1):
    sample("cosine_similarity", (2, 3, 4), (3, 1), dim=dim)
for p in (1.0, 2.0, 3.0):
    sample("pairwise_distance", (3, 4), (4,), p=p, keepdim=True)

refuse(
    F + "mse_loss",
    (2, 3),
    (2, 3),
    reduction="average",
    match="average is not a valid value for reduction",
    error=ValueError,
)
refuse(
    F + "mse_loss", ints(3, 2), ints(3, 2), match="\"mse_cpu\" not implemented for 'Long'", error=NotImplementedError
)
refuse(F + "smooth_l1_loss", (2,), (2,), beta=-1.0, match="smooth_l1_loss does not support negative values for beta.")
refuse(F + "huber_loss", (2,), (2,), delta=0.0, match="huber_loss does not support non-positive values for delta.")
refuse(
    F + "binary_cross_entropy",
    np.array([1.5]),
    np.array([1.0]),
    match="all elements of input should be between 0 and 1",
)
refuse(
    F + "binary_cross_entropy",
    np.array([0.5]),
    np.array([2.0]),
    match="all elements of target should be between 0 and 1",
)
refuse(F + "binary_cross_entropy", (2, 3), (3,), match="Using a target size .* is deprecated", error=ValueError)
refuse(F + "binary_cross_entropy_with_logits", (2, 3), (3,), match="must be the same as input size", error=ValueError)
for name in ("nll_loss", "cross_entropy"):
    refuse(
        F + name,
        (3, 4),
        ints(4, 2),
        match=r"Expected input batch_size \(3\) to match target batch_size \(2\).",
        error=ValueError,
    )
    refuse(F + name, (3, 4), np.array([0, 1, 7]), match="Target 7 is out of bounds.", error=IndexError)
    refuse(F + name, (3, 4), np.array([0, 1, -7]), match="Target -7 is out of bounds.", error=IndexError)
    refuse(
        F + name, (3, 4), np.array([0, 1, 1], np.int32), match="expected target dtype to be Long or Byte, but got Int"
    )
    refuse(
        F + name,
        (3, 4),
        ints(4, 3),
        np.ones(3),
        match="weight tensor should be defined either for all 4 classes or no classes",
    )
    refuse(F + name, (3, 4), ints(4, 3), (4,), match="is not differentiable with respect to argument 'weight'")
    refuse(F + name, (2, 3, 4), ints(3, 2, 5), match=r"Expected target size \[2, 4\], got \[2, 5\]")
refuse(
    F + "cross_entropy",
    (3, 4),
    ints(4, 3, 4),
    match="Expected floating point type for target with class probabilities, got Long",
)
refuse(
    F + "cross_entropy",
    (3, 4),
    (3, 4),
    (1,),
    match="weight tensor should be defined either for all 4 classes or no classes",
)
refuse(
    F + "gaussian_nll_loss",
    (3,),
    (3,),
    np.array([1.0, -1.0, 1.0]),
    match="var has negative entry/entries",
    error=ValueError,
)
refuse(F + "multi_margin_loss", (3, 4), ints(4, 3), p=3, match="only p == 1 and p == 2 supported", error=ValueError)
refuse(
    F + "ctc_loss", (5, 2, 4), ints(3, 2, 2, low=1), [6, 4], [2, 1], match="to have value at most 5, but got value 6"
)

# --- layers -----------------------------------------------------------------------------------------------------

for shape in ((2, 3), (5, 2, 3), (3,), (0, 3), (2, 2, 2, 3)):
    sample(F + "linear", shape, (4, 3), (4,), complex=True)
    sample(F + "linear", shape, (4, 3), complex=True)
sample(F + "linear", (2, 3), (3,))
sample(F + "linear", (2, 3), (1, 3), ())
sample(F + "embedding", ints(6, 3, 4), (6, 2))
sample(F + "embedding", np.array(1), (3, 2))
sample(F + "embedding", ints(3, 0), (3, 2))
for mode in ("sum", "mean", "max"):
    sample(F + "embedding_bag", ints(6, 3, 4), (6, 2), mode=mode, padding_idx=2, distinct=True, second=False)
    sample(F + "embedding_bag", ints(6, 7), (6, 2), np.array([0, 3, 3, 5]), mode=mode, distinct=True, second=False)
sample(F + "embedding_bag", ints(6, 3, 4), (6, 2), mode="sum", per_sample_weights=np.ones((3, 4)), second=False)
sample(F + "one_hot", ints(5, 2, 3), 6)
for shape in ((2, 2, 3, 4), (3, 4)):
    sample(F + "scaled_dot_product_attention", shape, shape, shape)
    sample(F + "scaled_dot_product_attention", shape, shape, shape, is_causal=True, scale=0.3)
    sample(F + "scaled_dot_product_attention", shape, shape, shape, (3, 3))
    sample(
        F + "scaled_dot_product_attention",
        shape,
        shape,
        shape,
        np.array([[1, 0, 1], [0, 0, 0], [0, 1, 1]], bool),
        second=False,
    )
sample(F + "scaled_dot_product_attention", (1, 4, 2, 3), (1, 2, 5, 3), (1, 2, 5, 2), enable_gqa=True)

refuse(F + "linear", (2, 3), (4, 5), match=r"mat1 and mat2 shapes cannot be multiplied \(2x3 and 5x4\)")
refuse(
    F + "linear",
    (2, 3),
    (4, 3),
    (5,),
    match=r"The expanded size of the tensor \(4\) must match the existing size \(5\)",
)
refuse(F + "embedding", np.array([1, 7]), (4, 3), match="index out of range in self", error=IndexError)
refuse(F + "embedding", np.array([1.0]), (4, 3), match="Expected tensor for argument #1 'indices' to have one of")
refuse(
    F + "embedding",
    np.array([1]),
    (4, 3),
    padding_idx=4,
    match="Padding_idx must be within num_embeddings",
    error=AssertionError,
)
refuse(
    F + "embedding_bag", np.array([1, 2]), (4, 3), match="offsets has to be a 1D Tensor but got None", error=ValueError
)
refuse(
    F + "embedding_bag", np.array([1, 2, 3]), (4, 3), np.array([0, 3, 2]), match="offsets has to be in ascending order"
)
refuse(F + "one_hot", np.array([1, -2]), match="Class values must be non-negative.")
refuse(F + "one_hot", np.array([1, 2]), 2, match="Class values must be smaller than num_classes.")
refuse(F + "dropout", (3,), 2.0, match="dropout probability has to be between 0 and 1, but got 2", error=ValueError)
attention = F + "scaled_dot_product_attention"
refuse(
    attention,
    (3, 4),
    (3, 4),
    (3, 4),
    (3, 3),
    is_causal=True,
    match="Explicit attn_mask should not be set when is_causal=True",
)
refuse(attention, (3,), (3, 4), (3, 4), match="Expected query, key, and value to all be  at least 2 dimensional")
