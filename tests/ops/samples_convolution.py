"""Samples of convolutions and sliding blocks."""

from .samples import refuse, sample

for n, spatial, kernel in ((1, (5,), (3,)), (2, (4, 3), (3, 2)), (3, (2, 3, 3), (2, 3, 2))):
    conv, transposed = f"nn.functional.conv{n}d", f"nn.functional.conv_transpose{n}d"
    sample(conv, (2, 2, *spatial), (3, 2, *kernel), (3,), complex=n == 1)
    sample(conv, (2, *spatial), (1, 2, *[3] * n), padding="same")
    sample(conv, (1, 2, *spatial), (4, 1, *kernel), stride=2, padding=1, groups=2)
    sample(transposed, (2, 2, *spatial), (2, 2, *kernel), (2,), complex=n == 1)
    sample(transposed, (2, *spatial), (2, 1, *kernel), stride=2, padding=1, output_padding=1)
    sample(transposed, (1, 2, *spatial), (2, 1, *kernel), groups=2)
    refuse(
        conv, (1, 1, *spatial), (4, 3, *kernel), match="expected input.* to have 3 channels, but got 1 channels instead"
    )
    refuse(
        conv, (3,), (4, 3, *kernel), match=rf"Expected {n + 1}D \(unbatched\) or {n + 2}D \(batched\) input to conv{n}d"
    )
    refuse(transposed, (1, 1, *spatial), (4, 3, *kernel), match="Given transposed=1, weight of size")

sample("conv2d", (1, 2, 7, 6), (2, 2, 3, 2), (2,), stride=[2, 1], padding=[1, 0], dilation=[2, 3])
sample("conv2d", (2, 3, 5, 4), (3, 1, 2, 2), None, groups=3)  # depthwise
sample("conv2d", (2, 3, 4, 4), (5, 3, 1, 1), (5,))
sample("conv2d", (2, 3, 4, 4), (5, 3, 1, 1), stride=2, padding=1)
sample("conv2d", (0, 3, 4, 4), (5, 3, 2, 2), (5,))
sample("conv2d", (1, 2, 3, 3), (2, 2, 3, 3))  # one output
sample("conv2d", (1, 2, 4, 4), (3, 2, 2, 2), padding="valid")
sample("conv_transpose2d", (1, 2, 3, 3), (2, 3, 3, 2), dilation=3, output_padding=2)  # larger than the stride
sample("conv_transpose2d", (1, 1, 4, 3), (1, 9, 3, 3), padding=2)
sample("conv_transpose1d", (2, 8, 5), (8, 1, 3))  # few channels out: columns are added up
sample("conv_transpose1d", (1, 2, 5), (2, 2, 2), stride=3, padding=1)
sample("conv_tbc", (5, 2, 3), (3, 3, 4), (4,), pad=1)

sample("nn.functional.unfold", (2, 2, 3, 4), 2, complex=True)
sample("nn.functional.unfold", (2, 5, 4), kernel_size=[3, 2], dilation=[1, 2], padding=[1, 0], stride=[2, 1])
sample("nn.functional.fold", (2, 8, 6), kernel_size=2, output_size=[3, 4], complex=True)
sample("nn.functional.fold", (18, 6), kernel_size=3, output_size=[6, 3], padding=1, stride=[2, 1], dilation=[2, 1])

refuse(
    "conv2d",
    (1, 3, 2, 2),
    (4, 3, 3, 3),
    match=r"Calculated padded input size per channel: \(2 x 2\). Kernel size: \(3 x 3\)",
)
refuse("conv2d", (1, 3, 8, 8), (4, 3, 3, 3), (3,), match="expected bias to be 1-dimensional with 4 elements")
refuse("conv2d", (1, 4, 8, 8), (5, 2, 3, 3), groups=2, match="Given groups=2, expected weight to be divisible by 2")
refuse("conv2d", (1, 4, 8, 8), (1, 2, 3, 3), groups=2, match="Given groups=2, expected weight to be at least 2")
refuse("conv2d", (1, 3, 8, 8), (4, 3, 3, 3), stride=0, match="non-positive stride is not supported")
refuse("conv2d", (1, 3, 8, 8), (4, 3, 3, 3), padding=-1, match="negative padding is not supported")
refuse("conv2d", (1, 3, 8, 8), (4, 3, 3, 3), dilation=0, match="dilation should be greater than zero")
refuse("conv2d", (1, 3, 8, 8), (4, 3, 3, 3), groups=0, match="non-positive groups is not supported")
refuse(
    "conv2d",
    (1, 3, 8, 8),
    (4, 3, 3, 3),
    stride=[1, 1, 1],
    match="expected stride to be a single integer value or a list of 2",
)
refuse(
    "conv2d", (1, 3, 8, 8), (4, 3, 3, 3), stride=2, padding="same", match="padding='same' is not supported for strided"
)
refuse("conv2d", (1, 3, 8, 8), (4, 3, 3, 3), padding="full", match="Invalid padding string: 'full'")
refuse("conv2d", (2, 3, 0, 8), (4, 3, 3, 3), padding=2, match="Only zero batch or zero channel inputs are supported")
refuse(
    "conv_transpose2d",
    (1, 4, 8, 8),
    (4, 3, 3, 3),
    output_padding=1,
    match="output padding must be smaller than either stride",
)
refuse("conv_transpose2d", (1, 4, 1, 1), (4, 3, 3, 3), padding=2, match="Output size is too small")
refuse("nn.functional.unfold", (2, 3, 8, 8), 9, match="Given input with spatial size")
refuse(
    "nn.functional.unfold",
    (2, 3, 8, 8),
    kernel_size=[2, 2, 2],
    match="It is expected kernel_size equals to 2, but got size 3",
)
refuse(
    "nn.functional.fold",
    (2, 27, 35),
    output_size=[8, 8],
    kernel_size=3,
    match="expected size of input's dimension 2 to match",
)
refuse(
    "nn.functional.fold",
    (2, 28, 36),
    output_size=[8, 8],
    kernel_size=3,
    match="divisible by the product of kernel_size",
)
