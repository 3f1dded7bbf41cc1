"""Samples of pooling."""

import numpy as np

from .samples import refuse, sample

for n, spatial, kernel in ((1, (7,), [3]), (2, (5, 6), [3, 2]), (3, (2, 4, 3), [2, 2, 3])):
    at = "nn.functional."
    sample(f"{at}max_pool{n}d", (2, 2, *spatial), kernel_size=kernel, distinct=True)
    sample(f"{at}max_pool{n}d", (2, *spatial), kernel_size=kernel, stride=1, padding=1, ceil_mode=True, distinct=True)
    sample(
        f"{at}max_pool{n}d",
        (2, *spatial),
        kernel_size=2,
        stride=2,
        dilation=[1, 3, 2][:n],
        distinct=True,
        return_indices=True,
    )
    sample(f"{at}avg_pool{n}d", (2, 2, *spatial), kernel_size=kernel)
    sample(f"{at}avg_pool{n}d", (2, *spatial), kernel_size=kernel, stride=2, padding=1, ceil_mode=True)
    sample(f"{at}avg_pool{n}d", (2, *spatial), kernel_size=kernel, stride=2, padding=1, count_include_pad=False)
    sample(f"{at}adaptive_max_pool{n}d", (2, 1, *spatial), 3, distinct=True, return_indices=True)
    sample(f"{at}adaptive_max_pool{n}d", (2, *spatial), 1, distinct=True)
    sample(f"{at}adaptive_avg_pool{n}d", (2, 1, *spatial), 3)
    sample(f"{at}adaptive_avg_pool{n}d", (2, *spatial), 1)
    sample(f"{at}lp_pool{n}d", (1, 2, *spatial), 2.0, 2, low=0.5)
    sample(f"{at}lp_pool{n}d", (2, *spatial), 3.0, 2, stride=1, ceil_mode=True, low=0.5)
    refuse(
        f"{at}max_pool{n}d", (2, 3, *spatial), 2, padding=2, match="pad should be at most half of effective kernel size"
    )
    refuse(f"{at}max_pool{n}d", (2, 3, *spatial), 2, stride=0, match="stride should not be zero")
    refuse(f"{at}max_pool{n}d", (2, 3, *spatial), 9, match="Output size is too small|Invalid computed output size")
    refuse(f"{at}avg_pool{n}d", (2,), 2, match=rf"{n + 1}D or {n + 2}D \(batch mode\) tensor")
    refuse(f"{at}adaptive_avg_pool{n}d", (2, 3, *spatial), -1, match="must be greater than or equal to 0")

sample("nn.functional.max_pool2d", (2, 3, 4, 4), 2, distinct=True)
sample("nn.functional.max_pool2d", (0, 3, 4, 4), 2)
sample("nn.functional.max_pool2d_with_indices", (1, 2, 4, 4), 2, distinct=True)
sample("max_pool1d_with_indices", (1, 2, 4), 2, distinct=True)
sample("nn.functional.avg_pool2d", (2, 3, 4, 4), 2, divisor_override=3)
sample("nn.functional.avg_pool2d", (0, 3, 4, 4), 2)
sample("nn.functional.adaptive_avg_pool2d", (2, 3, 5, 4), output_size=[None, 2])
sample("nn.functional.adaptive_max_pool2d", (2, 3, 5, 4), output_size=[4, None], distinct=True)
for n in (2, 3):
    draws = np.random.default_rng(0).random((1, 2, n))
    sample(
        f"nn.functional.fractional_max_pool{n}d",
        (1, 2, *[4] * n),
        2,
        output_size=2,
        _random_samples=draws,
        distinct=True,
    )
    sample(f"nn.functional.fractional_max_pool{n}d", (0, 2, *[4] * n), 2, output_size=2, _random_samples=draws[:0])
sample("nn.functional.max_unpool1d", (2, 3), np.array([[1, 2, 5], [0, 3, 4]]), 2)
sample("nn.functional.max_unpool2d", (1, 1, 2, 2), np.array([[[[0, 3], [8, 10]]]]), 2)
sample("nn.functional.max_unpool2d", (1, 1, 2, 2), np.array([[[[0, 3], [8, 10]]]]), 2, output_size=[5, 5])
sample("nn.functional.max_unpool3d", (1, 1, 1, 2), np.array([[[[7, 2]]]]), 2)

refuse("nn.functional.avg_pool2d", (1, 3, 4, 4), 2, divisor_override=0, match="divisor must be not zero")
refuse(
    "nn.functional.max_pool2d",
    (1, 3, 4, 4),
    kernel_size=[2, 2, 2],
    match="max_pool2d: kernel_size must either be a single int, or a tuple of two ints",
)
refuse(
    "nn.functional.max_unpool2d",
    (1, 1, 2, 2),
    np.array([[[[0, 3], [8, 30]]]]),
    2,
    match="Found an invalid max index: 30",
)
refuse(
    "nn.functional.max_unpool2d",
    (1, 1, 2, 2),
    np.array([[[[0, 3], [8, 9]]]]),
    2,
    output_size=[9, 9],
    error=ValueError,
    match="invalid output_size",
)
refuse(
    "nn.functional.max_unpool2d",
    (1, 1, 2, 2),
    np.array([[[0, 3], [8, 9]]]),
    2,
    match="Expected shape of indices to be same",
)
refuse(
    "nn.functional.fractional_max_pool2d",
    (1, 3, 4, 4),
    2,
    error=ValueError,
    match="either an output_size or an output_ratio",
)
refuse("nn.functional.fractional_max_pool2d", (1, 3, 4, 4), 2, output_size=4, match="too large relative to input size")
refuse(
    "nn.functional.fractional_max_pool2d",
    (2, 3, 4, 4),
    2,
    output_size=2,
    _random_samples=draws,
    match=r"Expect _random_samples of size \(2, 3, 2\)",
)
