"""In-place methods as functions of ``torch``: ``torch.relu_(x)`` is ``x.relu_()``."""

# ruff: noqa: F401  # the families are imported because they give Tensor the methods

from ..core.tensor import Tensor
from . import (
    arithmetic,
    bessel,
    compare,
    complex,
    fill_copy,
    matmul,
    memory,
    pointwise,
    special,
    trigonometry,
    where,
)

NAMES = """
    abs_ acos_ acosh_ addmv_ arccos_ arccosh_ arcsin_ arcsinh_ arctan_ arctanh_ as_strided_ asin_ asinh_ atan_ atanh_
    ceil_ clamp_ clamp_max_ clamp_min_ clip_ conj_physical_ cos_ cosh_ deg2rad_ detach detach_ erf_ erfc_ exp2_ exp_
    expm1_ fill_ fix_ floor_ frac_ gcd_ i0_ lcm_ ldexp_ log10_ log1p_ log2_ log_ logit_ nan_to_num_ neg_ negative_
    rad2deg_ reciprocal_ relu_ round_ rsqrt_ sigmoid_ sin_ sinc_ sinh_ sqrt_ square_ tan_ tanh_ trunc_ xlogy_ zero_
""".split()

globals().update({name: getattr(Tensor, name) for name in NAMES})
__all__ = NAMES
