"""Samples of reductions, orders and scans."""

import numpy as np

import pullback as torch

from .samples import ints, refuse, sample

shape = (2, 3, 4)

# --- sums, means, products, norms -------------------------------------------------------------------------------

for op in ("sum", "mean"):
    sample(op, shape, complex=True)
    sample(op, shape, 1, complex=True)
    sample(op, shape, -1, True)
    sample(op, shape, dim=[0, 2], keepdim=True)
    sample(op, shape, dim=[])
    sample(op, ())
    sample(op, (), -1)
    sample(op, (0, 3), 1)
    sample(op, (40, 50), 0)
    sample(op, shape, 0, dtype=torch.float64)
sample("sum", (0, 3))
sample("nansum", shape, 1)
sample("nanmean", shape, dim=[0, 1])
for args in ((), (0,), (-1, True)):
    sample("prod", shape, *args, complex=True)
sample("prod", (), 0)
sample("prod", (0,))
sample("logsumexp", shape, 1, complex=True)
sample("logsumexp", shape, dim=[0, 2], keepdim=True)
sample("logsumexp", (), 0)
sample("logsumexp", (3, 3), 1)
sample("logsumexp", shape, [0, -1])
sample("logsumexp", (0, 3), 0)
for p in (0.5, 1, 1.5, 2, 3, 4, -1, float("inf"), -float("inf")):
    sample("norm", (3, 4), p, low=0.3, distinct=True, complex=p not in (float("inf"), -float("inf")))
    sample("norm", (3, 4), p, dim=0, keepdim=True, distinct=True, low=-2.0, high=1.7)
sample("norm", shape, dim=[0, 2])
sample("norm", shape)
sample("dist", (3, 4), (4,))
sample("count_nonzero", ints(2, 3, 4), dim=1)
sample("all", ints(2, 3, 4) > 0, 1)
sample("any", ints(2, 3, 4) > 0, dim=[0, 1], keepdim=True)

# --- extremes ---------------------------------------------------------------------------------------------------

for op in ("amax", "amin"):
    sample(op, shape, distinct=True)
    sample(op, shape, dim=[0, -1], keepdim=True, distinct=True)
    sample(op, (), 0)
for op in ("max", "min"):
    sample(op, shape, distinct=True)
    sample(op, shape, 1, distinct=True)
    sample(op, shape, dim=-1, keepdim=True, distinct=True)
    sample(op, (3, 4), (4,))
    sample(op, (), 0)
    sample("arg" + op, shape, 1, distinct=True)
    sample("arg" + op, shape, keepdim=True, distinct=True)
sample("aminmax", shape, distinct=True)
sample("aminmax", shape, dim=1, keepdim=True, distinct=True)

# --- statistics -------------------------------------------------------------------------------------------------

for op in ("var", "std", "var_mean", "std_mean"):
    sample(op, shape, complex=op == "var")
    sample(op, shape, 1, complex=op == "std")
    sample(op, shape, dim=[0, -1], correction=0, keepdim=True)
    sample(op, shape, 1, False)
    sample(op, shape, 2, correction=1.5)
sample("cov", (3, 5), complex=True)
sample("cov", (3, 5), correction=0, fweights=ints(4, 5, low=1), aweights=np.linspace(0.5, 2, 5))
sample("cov", (5,))
sample("corrcoef", (3, 5), complex=True)
for op in ("median", "nanmedian"):
    sample(op, (3, 5), distinct=True)
    sample(op, (3, 4), 0, distinct=True)
    sample(op, (3, 4), dim=1, keepdim=True, distinct=True)
sample("mode", (3, 5), distinct=True)
sample("mode", ints(3, 4, 7), 1)
sample("quantile", (3, 5), 0.3, distinct=True)
sample("quantile", (3, 5), 0.4, dim=0, keepdim=True, distinct=True)
sample("nanquantile", (3, 5), 0.4, dim=1, distinct=True)
for how in ("lower", "higher", "midpoint", "nearest"):
    sample("quantile", (7,), 0.4, interpolation=how, distinct=True)

# --- order ------------------------------------------------------------------------------------------------------

sample("sort", (3, 5), distinct=True)
sample("sort", (3, 5), 0, True, distinct=True)
sample("sort", (), 0)
sample("sort", (0, 3), 0)
sample("argsort", (3, 5), 1, distinct=True)
sample("msort", (3, 5), distinct=True)
sample("topk", (3, 5), 2, distinct=True)
sample("topk", (3, 40), 3, 1, False, distinct=True)
sample("topk", (3, 40), 3, largest=True, distinct=True)
sample("kthvalue", (3, 5), 2, distinct=True)
sample("kthvalue", (3, 5), 1, 0, True, distinct=True)
sample("unique", ints(3, 4, 5), return_inverse=True, return_counts=True)
sample("unique", ints(2, 6, 2), dim=0, return_inverse=True, return_counts=True)
sample("unique_consecutive", ints(2, 9), return_inverse=True, return_counts=True)
sample("unique_consecutive", ints(2, 2, 9), dim=1, return_counts=True)
sample("searchsorted", np.array([1.0, 3.0, 3.0, 5.0]), np.array([[0.0, 3.0], [5.0, 9.0]]), right=True)
sample("searchsorted", np.array([[1, 3, 5], [2, 4, 6]]), np.array([[3, 6], [2, 7]]), out_int32=True)
sample("searchsorted", np.array([5, 1, 3]), np.array([2, 3]), sorter=np.array([1, 2, 0]))
sample("bucketize", ints(7, 3, 4), np.array([1, 3, 5]))
sample("bincount", ints(6, 20), minlength=9)
sample("bincount", ints(6, 4), np.array([0.5, 1.0, 2.0, 4.0]))
sample("histc", np.linspace(-1, 4, 23), 5, 0, 3)
sample("histc", np.linspace(-1, 4, 23), 5)
sample("histogram", np.linspace(-1, 4, 23), 5, density=True)
sample("histogramdd", np.linspace(-1, 4, 24).reshape(12, 2) ** 2, [2, 3], weight=np.linspace(0, 1, 12))

# --- scans ------------------------------------------------------------------------------------------------------

for op in ("cumsum", "cumprod"):
    sample(op, shape, 1, complex=True, inplace=True)
    sample(op, shape, -1, dtype=torch.float64)
    sample(op, (), 0)
    sample(op, (0, 3), 0)
for op in ("cummax", "cummin"):
    sample(op, shape, 1, distinct=True)
    sample(op, (), 0)
sample("logcumsumexp", shape, 1, complex=True)
sample("logcumsumexp", (4,), 0, complex=True)
sample("logcumsumexp", (), -1)
sample("diff", (3, 5), complex=True)
sample("diff", (3, 5), 2, 0)
sample("diff", ints(5, 6) > 2)
sample("diff", (3, 5), prepend=np.zeros((3, 1)), append=np.ones((3, 2)))
sample("trapezoid", (3, 5), dx=0.5)
sample("trapezoid", (3, 5), (5,), low=0.1)
sample("trapezoid", (3, 5), (3,), dim=0)
sample("trapz", (3, 5), (3, 5))
sample("cumulative_trapezoid", (3, 5), (5,))
sample("gradient", (3, 5))
sample("gradient", (4, 5), spacing=0.5, edge_order=2, dim=1)
sample("gradient", (4, 5), dim=[1], spacing=[2.0])

# --- refusals ---------------------------------------------------------------------------------------------------

refuse(
    "sum",
    (2, 3),
    2,
    match=r"Dimension out of range \(expected to be in range of \[-2, 1\], but got 2\)",
    error=IndexError,
)
refuse("sum", (), 1, match=r"range of \[-1, 0\]", error=IndexError)
refuse("sum", (2, 3), dim=[0, -2], match="dim 0 appears multiple times in the list of dims")
refuse("sum", (2, 3), "a", match="must be tuple of ints", error=TypeError)
refuse("mean", ints(3, 2), match=r"mean\(\): could not infer output dtype. Input dtype must be .* Got: Long")
refuse("prod", (2, 3), dim=[0, 1], match="invalid combination", error=TypeError)
refuse("var", ints(3, 2), match="std and var only support floating point and complex dtypes")
refuse("norm", ints(3, 2), match="linalg.vector_norm: Expected a floating point or complex tensor as input. Got Long")
refuse(
    "norm",
    (2,),
    float("inf"),
    dtype=torch.float32,
    match="should be convertible without narrowing to the specified dtype .Float.",
)
refuse("norm", (0,), float("inf"), match="cannot compute the inf norm on an empty tensor")
refuse("norm", (2, 0), -1, dim=1, match="cannot compute the -1 norm on the dimension 1")
refuse("max", (0,), match=r"max\(\): Expected reduction dim to be specified for input.numel\(\) == 0")
refuse("max", (2, 0), 1, match=r"max\(\): Expected reduction dim 1 to have non-zero size", error=IndexError)
refuse("amin", (2, 0), dim=[0, 1], match=r"amin\(\): Expected reduction dim 1 to have non-zero size", error=IndexError)
refuse("argmax", (0,), match=r"argmax\(\): Expected reduction dim to be specified", error=IndexError)
refuse("argmin", ints(2, 3) > 0, match="does not support bool input")
refuse("aminmax", (0,), match="cannot compute aminmax over an empty dimension")
refuse("max", (2,), dim=0, other=np.zeros(2), match="invalid combination", error=TypeError)
refuse("median", (2, 0), 1, match="Expected reduction dim 1", error=IndexError)
refuse("topk", (3,), 4, match="selected index k out of range")
refuse("kthvalue", (3,), 0, match=r"kthvalue\(\): selected number k out of range for dimension 0")
refuse("quantile", (3,), 1.5, match=r"quantile\(\) q must be in the range \[0, 1\] but got 1.5")
refuse("quantile", ints(3, 2), 0.5, match="must be either float or double dtype")
refuse("cov", (2, 2, 2), match="expected input to have two or fewer dimensions but got an input with 3 dimensions")
refuse("cov", (2, 3), fweights=np.array([1, 2, -3]), match="fweights cannot be negative")
refuse("cov", (2, 3), aweights=np.array([1, 2, 3]), match="expected aweights to have floating point dtype")
refuse(
    "searchsorted",
    np.array([[1.0]]),
    3.0,
    match="input value can be a scalar only when boundaries tensor dimension is 1",
)
refuse("searchsorted", np.array([1.0]), np.array([1.0]), side="left", right=True, match="can't be set to opposites")
refuse("bucketize", np.array([1.0]), np.array([[1.0]]), match="boundaries tensor must be 1 dimension")
refuse("bincount", np.array([-1]), match="only supports 1-d non-negative")
refuse("histc", np.array([1.0, np.nan]), match="is not finite")
refuse("unique", (2, 0), dim=0, match="There are 0 sized dimensions")
refuse("cumsum", (2, 3), 2, match="Dimension out of range", error=IndexError)
refuse("logcumsumexp", ints(3, 2), 0, match="not implemented for 'Long'", error=NotImplementedError)
refuse("diff", (), match="diff expects input to be at least one-dimensional")
refuse("diff", (2,), -1, match="order must be non-negative but got -1")
refuse("trapezoid", (2, 3), (2,), match="There must be one `x` value for each sample point")
refuse("trapezoid", (), match="Dimension specified as -1 but tensor has no dimensions", error=IndexError)
refuse("gradient", (2,), edge_order=2, match="at least edge_order")
