"""Samples of interpolation, sampling at points, and shuffled pixels."""

from .samples import refuse, sample

at = "nn.functional."
for mode, spatial in (
    ("nearest", (5,)),
    ("nearest-exact", (4, 3)),
    ("area", (5, 4)),
    ("linear", (5,)),
    ("bilinear", (5, 4)),
    ("bicubic", (5, 4)),
    ("trilinear", (2, 3, 2)),
):
    sample(f"{at}interpolate", (1, 1, *spatial), size=5, mode=mode)
    sample(f"{at}interpolate", (2, 2, *spatial), size=2, mode=mode)
    sample(f"{at}interpolate", (1, 1, *spatial), scale_factor=2, mode=mode)
    sample(f"{at}interpolate", (1, 1, *spatial), scale_factor=1.7, mode=mode)
    sample(f"{at}interpolate", (1, 1, *spatial), scale_factor=1.7, mode=mode, recompute_scale_factor=True)
    if mode.endswith(("linear", "cubic")):
        sample(f"{at}interpolate", (1, 1, *spatial), size=4, mode=mode, align_corners=True)
for mode in ("bilinear", "bicubic", "lanczos"):
    sample(f"{at}interpolate", (1, 1, 9, 8), size=[4, 3], mode=mode, antialias=True)
    sample(f"{at}interpolate", (1, 2, 4, 3), scale_factor=2, mode=mode, antialias=True)
sample(f"{at}interpolate", (0, 2, 4, 3), scale_factor=2)

for padding_mode in ("zeros", "border", "reflection"):
    for align_corners in (False, True):
        options = {"padding_mode": padding_mode, "align_corners": align_corners}
        sample(f"{at}grid_sample", (2, 2, 3, 2), (2, 2, 2, 2), low=-1.3, high=1.3, **options)
        sample(f"{at}grid_sample", (1, 2, 4, 3), (1, 2, 2, 2), mode="nearest", **options)
        sample(f"{at}grid_sample", (1, 2, 4, 3), (1, 2, 2, 2), mode="bicubic", **options)
        sample(f"{at}grid_sample", (1, 1, 2, 3, 2), (1, 2, 1, 1, 3), low=-1.3, high=1.3, **options)
sample("grid_sampler", (1, 2, 4, 3), (1, 2, 2, 2), 0, 1, True)
for align_corners in (False, True):
    sample(f"{at}affine_grid", (2, 2, 3), size=[2, 1, 3, 4], align_corners=align_corners)
    sample(f"{at}affine_grid", (2, 3, 4), size=[2, 1, 2, 3, 2], align_corners=align_corners)

sample("pixel_shuffle", (2, 8, 3, 2), 2, complex=True)
sample("pixel_shuffle", (9, 1, 1), 3)
sample("pixel_shuffle", (2, 3, 2), 1)
sample("pixel_unshuffle", (2, 2, 4, 6), 2, complex=True)
sample("channel_shuffle", (2, 6, 3), 3, complex=True)

image = (1, 2, 4, 3)
refuse(f"{at}interpolate", image, match="either size or scale_factor should be defined", error=ValueError)
refuse(f"{at}interpolate", image, size=4, scale_factor=2, match="only one of size or scale_factor", error=ValueError)
refuse(
    f"{at}interpolate",
    image,
    size=4,
    align_corners=True,
    match="align_corners option can only be set",
    error=ValueError,
)
refuse(
    f"{at}interpolate", image, size=[4, 4, 4], match="must have the same number of spatial dimensions", error=ValueError
)
refuse(f"{at}interpolate", image, size=4, antialias=True, match="Anti-alias option is restricted", error=ValueError)
refuse(
    f"{at}interpolate", image, size=4, mode="lanczos", match="Lanczos mode requires antialias=True", error=ValueError
)
refuse(
    f"{at}interpolate",
    image,
    size=4,
    mode="linear",
    match="Got 4D input, but linear mode needs 3D",
    error=NotImplementedError,
)
refuse(
    f"{at}interpolate", image, size=4, mode="other", match="Input Error: Only 3D, 4D and 5D", error=NotImplementedError
)
refuse(f"{at}interpolate", image, size=0, match="Input and output sizes should be greater than 0")
refuse(f"{at}interpolate", image, size=4.5, mode="bilinear", match="integer", error=TypeError)
refuse(
    f"{at}grid_sample", image, (2, 4, 4, 2), align_corners=True, match="expected grid and input to have same batch size"
)
refuse(
    f"{at}grid_sample", image, (1, 4, 4, 3), align_corners=True, match="expected grid to have size 2 in last dimension"
)
refuse(
    f"{at}grid_sample", image, (1, 4, 2), align_corners=True, match="expected 4D input and grid with same number of dim"
)
refuse(f"{at}grid_sample", image, (1, 4, 4, 2), mode="cubic", match="expected mode to be", error=ValueError)
refuse(
    f"{at}affine_grid", (1, 2, 4), size=[1, 1, 2, 2], match="Expected a batch of 2D affine matrices", error=ValueError
)
refuse("pixel_shuffle", (7, 3, 3), 2, match="divisible by the square of upscale_factor")
refuse("pixel_unshuffle", (2, 3, 4), 2, match="pixel_unshuffle expects height to be divisible by downscale_factor")
refuse("channel_shuffle", (1, 7, 3), 2, match="Number of channels must be divisible by groups")
