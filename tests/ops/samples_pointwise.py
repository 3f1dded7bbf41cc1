"""Samples of the functions that work element by element."""

import numpy as np

import pullback.special  # noqa: F401

from .samples import ints, refuse, sample

# name: the range of the values, and whether complex numbers take part
UNARY = {
    "exp": (-2, 2, True),
    "exp2": (-2, 2, True),
    "expm1": (-2, 2, True),
    "log": (0.3, 3, True),
    "log2": (0.3, 3, True),
    "log10": (0.3, 3, True),
    "log1p": (-0.7, 3, True),
    "sqrt": (0.3, 3, True),
    "rsqrt": (0.3, 3, True),
    "square": (-2, 2, True),
    "reciprocal": (0.3, 3, True),
    "sin": (-2, 2, True),
    "cos": (-2, 2, True),
    "tan": (-1, 1, True),
    "asin": (-0.8, 0.8, True),
    "acos": (-0.8, 0.8, True),
    "atan": (-2, 2, False),
    "sinh": (-2, 2, True),
    "cosh": (-2, 2, True),
    "tanh": (-1, 1, True),
    "asinh": (-0.8, 0.8, True),
    "acosh": (1.2, 3, True),
    "atanh": (-0.8, 0.8, True),
    "sigmoid": (-2, 2, True),
    "sinc": (-2, 2, True),
    "deg2rad": (-200, 200, False),
    "rad2deg": (-2, 2, False),
    "erf": (-2, 2, False),
    "erfc": (-2, 2, False),
    "erfinv": (-0.8, 0.8, False),
    "lgamma": (0.3, 4, False),
    "digamma": (0.3, 4, False),
    "i0": (-3, 3, False),
    "logit": (0.1, 0.9, False),
    "frac": (0.1, 0.9, False),
    "nan_to_num": (-2, 2, False),
    "abs": (0.3, 2, False),
    "relu": (0.2, 2, False),
    "neg": (-2, 2, True),
}
for name, (low, high, complex) in UNARY.items():
    sample(name, (2, 3), low=low, high=high, complex=complex, inplace=True)
    sample(name, (), low=low, high=high)
    sample(name, (0, 2), low=low, high=high)
for name in ("floor", "ceil", "trunc", "round", "sign", "fix"):
    sample(name, (2, 3), low=0.1, high=0.4, inplace=True, second=False)
sample("lgamma", (4,), low=-1.8, high=-1.2)
sample("digamma", (4,), low=-1.8, high=-1.2)
sample("sinc", (4,), low=-0.01, high=0.01)
sample("sinc", (4,), low=3.2, high=3.8)
sample("round", (2, 3), low=0.11, high=0.14, decimals=1, inplace=True, second=False)
sample("round", (2, 3), low=11, high=14, decimals=-1, inplace=True, second=False)
sample("logit", (2, 3), low=0.1, high=0.9, eps=0.3, inplace=True)
sample("nan_to_num", (2, 3), nan=1.0, posinf=2.0, neginf=-2.0, inplace=True)
sample("frexp", (2, 3), low=0.6, high=0.9)
sample("threshold", (2, 3), 0.05, 7.0, low=0.1, inplace=True)
sample("Tensor.__abs__", (2, 3), low=-2, high=-0.5)

SPECIAL = {
    "erfcx": (-2, 2),
    "ndtr": (-2, 2),
    "ndtri": (0.1, 0.9),
    "log_ndtr": (-3, 3),
    "entr": (0.2, 2),
    "i0e": (0.2, 3),
    "i1": (-3, 3),
    "i1e": (0.2, 3),
}
for name, (low, high) in SPECIAL.items():
    sample("special." + name, (2, 3), low=low, high=high)
    sample("special." + name, (), low=low, high=high)
for order in (0, 1, 2, 3):
    sample("polygamma", order, (2, 3), low=0.5, high=3, tolerance=1e-3)
for p in (1, 2, 4):
    sample("mvlgamma", (2, 3), p, low=2, high=4, inplace=True)

BINARY = {
    "maximum": -2,
    "minimum": -2,
    "fmax": -2,
    "fmin": -2,
    "hypot": 0.3,
    "atan2": 0.3,
    "copysign": 0.3,
    "logaddexp": -2,
    "logaddexp2": -2,
    "xlogy": 0.3,
    "special.xlog1py": 0.3,
    "ldexp": -2,
}
for name, low in BINARY.items():
    inplace = name in ("hypot", "atan2", "copysign", "xlogy", "ldexp")
    sample(name, (2, 3), (2, 3), low=low, inplace=inplace)
    sample(name, (2, 1), (3,), low=low)
    sample(name, (), (), low=low)
    sample(name, (0, 3), (3,), low=low)
sample("logaddexp", (2, 3), (3,), low=-1, high=1, complex=True)
sample("xlogy", (2, 3), 2.5, low=0.3, inplace=True)
sample("xlogy", 2.5, (2, 3), low=0.3)
sample("special.zeta", 2.5, (2, 3), low=0.5, high=4)

CONDITION = np.array([[True, False, True], [False, True, True]])
sample("where", CONDITION, (2, 3), (2, 3), complex=True)
sample("where", CONDITION, (3,), (2, 1))
sample("where", CONDITION, (2, 3), 0)
sample("where", CONDITION, 1.5, (2, 3))
sample("where", CONDITION, (), ())
sample("Tensor.where", (2, 3), CONDITION, (3,))
sample("clamp", (2, 4), -0.5, 0.7, distinct=True, inplace=True)
sample("clamp", (2, 4), min=-0.5, distinct=True, inplace=True)
sample("clamp", (2, 4), max=0.7, distinct=True, inplace=True)
sample("clamp", (2, 4), (4,), (2, 1))
sample("clamp", (2, 4), None, (4,))
sample("clip", (2, 4), 0, 1, distinct=True, inplace=True)
sample("clamp_min", (2, 4), 0.25, distinct=True, inplace=True)
sample("clamp_max", (2, 4), (4,), inplace=True)
sample("lerp", (2, 3), (3,), 0.3, complex=True, inplace=True)
sample("lerp", (2, 3), (3,), 0.8)
sample("lerp", (2, 3), (3,), (2, 3), low=0.1, high=0.4, complex=True, inplace=True)
sample("addcmul", (2, 3), (3,), (2, 1), value=2.5, complex=True, inplace=True)
sample("addcmul", (2, 3), (3,), (2, 1), inplace=True)
sample("addcdiv", (2, 3), (3,), (2, 1), low=0.4, value=2.5, complex=True, inplace=True)

for name in ("eq", "ne", "lt", "le", "gt", "ge", "logical_and", "logical_or", "logical_xor"):
    sample(name, (2, 3), (3,), second=False)
    sample(name, ints(3, 2, 3), ints(3, 2, 3))
for name in (
    "bitwise_and",
    "bitwise_or",
    "bitwise_xor",
    "bitwise_left_shift",
    "bitwise_right_shift",
    "gcd",
    "lcm",
):
    sample(name, ints(9, 2, 3), ints(5, 3))
for name in ("isnan", "isinf", "isfinite", "isposinf", "isneginf", "isreal", "signbit", "logical_not"):
    sample(name, (2, 3), second=False)
    sample(name, np.array([0.0, -0.0, np.inf, -np.inf, np.nan, 1.0]))
sample("bitwise_not", ints(9, 2, 3))
sample("isclose", np.array([1.0, 2.0, np.inf]), np.array([1.0 + 1e-7, 2.1, np.inf]))
sample("heaviside", np.array([-1.0, 0.0, 2.0]), np.array([0.5, 0.5, 0.5]))
sample("nextafter", (3,), (3,), second=False, tolerance=1e9)

refuse("lt", np.array([1j]), np.array([1j]), match='"lt_cpu" not implemented for', error=NotImplementedError)
refuse("floor", np.array([1j]), match="floor is not supported for complex", error=NotImplementedError)
refuse("sign", np.array([1j]), match="torch.sign is not intended to support complex", error=NotImplementedError)
refuse("clamp", (2, 3), match="At least one of 'min' or 'max' must not be None")
refuse("clamp", np.array([1j]), 0, 1, match="clamp is not supported for complex", error=NotImplementedError)
refuse("clamp", (2, 3), 1j, match="value cannot be converted to type \\w+ without overflow", error=RuntimeError)
refuse("maximum", np.array([1j]), np.array([1j]), match="maximum not implemented for complex tensors")
refuse("maximum", (2, 3), (2, 4), match="The size of tensor a .3. must match the size of tensor b .4.")
refuse("where", (2, 3), (2, 3), (2, 3), match="where expected condition to be a boolean tensor")
refuse("hypot", ints(3, 2), ints(3, 2), match='"hypot_cpu" not implemented for', error=NotImplementedError)
refuse("bitwise_and", (2,), (2,), match='"bitwise_and_cpu" not implemented for', error=NotImplementedError)
refuse("heaviside", (2,), ints(3, 2), match="heaviside is not yet implemented for tensors with different dtypes")
refuse("lerp", (2,), ints(3, 2), 0.5, match="expected dtype float64 for `end` but got dtype int64")
refuse("addcdiv", (2,), ints(3, 2), ints(3, 2), match="Integer division with addcdiv is no longer supported")
refuse("isclose", (2,), ints(3, 2), match="Double did not match Long")
refuse("isclose", (2,), (2,), rtol=-1.0, match="rtol must be greater than or equal to zero")
refuse("frexp", ints(3, 2), match="torch.frexp.. only supports floating-point")
refuse("polygamma", -1, (2,), match="does not support negative n")
refuse("polygamma", 1, np.array([1j]), match="not implemented for 'ComplexDouble'", error=NotImplementedError)
refuse("polygamma", 1.5, (2,), match="integer", error=TypeError)
refuse("mvlgamma", (2,), 0, match="p has to be greater than or equal to 1")
refuse("imag", (2,), match="imag is not implemented for tensors with non-complex dtypes")
refuse("view_as_real", (2,), match="view_as_real is only supported for complex tensors")
refuse("view_as_complex", (2, 3), match="Tensor must have a last dimension of size 2")
refuse(
    "complex",
    ints(3, 2),
    ints(3, 2),
    match="Expected both inputs to be Half, Float or Double tensors but got Long",
)
refuse("positive", np.array([True]), match="on a bool tensor is not supported")
refuse("igamma", ints(3, 2), ints(3, 2), match='"igamma_cpu" not implemented for', error=NotImplementedError)
