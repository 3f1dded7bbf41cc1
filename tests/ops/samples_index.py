"""Samples of indexing, gathering and scattering."""

import numpy as np

from .samples import ints, refuse, sample

MASK = np.array([[True, False, True], [False, False, True]])

for index in (0, -1, slice(1, None), slice(None, None, 2), None, ..., [..., 0], [slice(None), None, 1]):
    sample("Tensor.__getitem__", (2, 3, 4), tuple(index) if isinstance(index, list) else index, complex=True)
sample("Tensor.__getitem__", (3, 2), ints(3, 4), complex=True)  # repeated
sample("Tensor.__getitem__", (3, 2), ints(3, 2, 2, low=-3))
sample("Tensor.__getitem__", (2, 3), MASK, complex=True)
sample("Tensor.__getitem__", (2, 3, 2), MASK)
sample("Tensor.__getitem__", (2, 3), (slice(None), [0, 0, -1]))
sample("Tensor.__getitem__", (2, 3, 4), ([0, 1], slice(1, None), [3, 3]))
sample("Tensor.__getitem__", (2, 3, 4), (slice(None), [[0], [2]], [1, 3]))
sample("Tensor.__getitem__", (2, 3, 4), (1, ..., [0, 0]))
sample("Tensor.__getitem__", (2, 3), (None, True, [1, 1]))
sample("Tensor.__getitem__", (0, 3), [])

sample("take", (2, 3), ints(6, 2, 2, low=-6), complex=True)
sample("take", (), np.array([0, 0]))
sample("take_along_dim", (2, 3), ints(3, 2, 4, low=-3), 1)
sample("take_along_dim", (2, 3), ints(6, 4))
sample("gather", (3, 4), 1, ints(4, 2, 5), complex=True)
sample("gather", (3, 4), 0, ints(3, 5, 2))
sample("gather", (), 0, np.array(0))
sample("gather", (3, 4), 0, np.zeros((0, 4), np.int64))
sample("index_select", (3, 4), 1, ints(4, 6), complex=True)
sample("index_select", (), 0, np.array([0]))
sample("masked_select", (2, 3), MASK, complex=True)
sample("masked_select", (3,), MASK)

sample("index_add", (3, 4), 0, ints(3, 5), (5, 4), inplace=True, complex=True)
sample("index_add", (3, 4), 1, np.array([3, 0]), (3, 2), alpha=-2, inplace=True)
sample("index_add", (), 0, np.array(0), (), inplace=True)
sample("index_copy", (3, 4), 1, np.array([2, 0]), (3, 2), inplace=True, complex=True)
sample("index_fill", (3, 4), 1, np.array([2, -4, 2]), 1.5, inplace=True, complex=True)
sample("index_fill", (3, 4), 0, np.array([2, 0, 2]), (), inplace=True)
sample("put", (3, 4), np.array([[3, -1]]), (1, 2), inplace=True, complex=True)
sample("put", (3, 4), np.array([3, 3, -1]), (3,), True, inplace=True)
sample("scatter", (3, 4), 0, np.array([[0, 1, 2, 0], [2, 0, 1, 2]]), (2, 4), inplace=True, complex=True)
sample("scatter", (3, 4), 1, np.array([[3], [0]]), 1.5, inplace=True)
sample("scatter", (), 0, np.array(0), (), inplace=True)
sample("scatter_add", (3, 4), 1, ints(4, 3, 6), (3, 6), inplace=True, complex=True)
sample("scatter_add", (3, 4), 0, ints(3, 5, 4), (5, 4), inplace=True)
sample("masked_fill", (2, 3), MASK, 1.5, inplace=True, complex=True)
sample("masked_fill", (2, 3), MASK[0], (), inplace=True)
sample("masked_fill", (3,), MASK, (), complex=True)
sample("masked_scatter", (2, 3), MASK, (4,), inplace=True, complex=True)
for reduce in ("sum", "prod", "mean", "amax", "amin"):
    for include_self in (True, False):
        options = {"include_self": include_self, "low": 0.5, "distinct": True}
        sample("scatter_reduce", (3, 4), 1, ints(4, 3, 6), (3, 6), reduce, inplace=True, **options)
        if reduce[0] != "a":
            sample("scatter_reduce", (), 0, np.array(0), (), reduce, inplace=True, **options)

sample("select_scatter", (2, 3, 4), (2, 4), 1, -1, complex=True)
sample("slice_scatter", (2, 5), (2, 2), 1, 0, 4, 2, complex=True)
sample("diagonal_scatter", (2, 3, 4), (4, 2), -1, 1, 0)
sample("argwhere", (2, 3))

refuse("Tensor.__getitem__", (2, 3), 2, match="index 2 is out of bounds for dimension 0 with size 2", error=IndexError)
refuse(
    "Tensor.__getitem__",
    (2, 3),
    (..., 3),
    match="index 3 is out of bounds for dimension 1 with size 3",
    error=IndexError,
)
refuse("Tensor.__getitem__", (2, 3), slice(None, None, -1), match="step must be greater than zero", error=ValueError)
refuse(
    "Tensor.__getitem__",
    (2, 3),
    ints(9, 2, low=5),
    match="is out of bounds for dimension 0 with size 2",
    error=IndexError,
)
refuse(
    "Tensor.__getitem__",
    (2, 3),
    MASK.T,
    match=r"The shape of the mask \[3, 2\] at index 0 does not match",
    error=IndexError,
)
refuse(
    "Tensor.__getitem__",
    (2, 3),
    1.5,
    match=r"only integers, slices \(`:`\), ellipsis \(`...`\), None and long",
    error=IndexError,
)
refuse("Tensor.__getitem__", (), 0, match="invalid index of a 0-dim tensor", error=IndexError)
refuse("gather", (2, 3), 0, ints(2, 4), match="Index tensor must have the same number of dimensions as input tensor")
refuse(
    "gather",
    (2, 3),
    1,
    ints(3, 4, 2),
    match=r"Size does not match at dimension 0 expected index \[4, 2\] to be no larger than self",
)
refuse("gather", (2, 3), 0, np.array([[2]]), match="index 2 is out of bounds for dimension 0 with size 2")
refuse("gather", (2, 3), 0, np.array([[-1]]), match="index -1 is out of bounds for dimension 0 with size 2")
refuse("gather", (2, 3), 0, np.array([[0.5]]), match=r"gather\(\): Expected dtype int32/int64 for index")
refuse("scatter", (2, 3), 0, ints(2, 2, 3), (1, 3), match="to be no larger size than src")
refuse(
    "scatter_reduce",
    (2, 3),
    0,
    ints(2, 2, 3),
    (2, 3),
    "foo",
    match="reduce argument must be either sum, prod, mean, amax or amin",
)
refuse("index_select", (2, 3), 0, np.array([2]), match="index out of range in self", error=IndexError)
refuse(
    "index_add",
    (2, 3),
    0,
    np.array([0]),
    (2, 3),
    match=r"Number of indices \(1\) should be equal to source.size\(dim\): \(2\)",
)
refuse("index_fill", (2, 3), 0, np.array([0]), (3,), match="index_fill_ only supports a 0-dimensional value tensor")
refuse(
    "index_put",
    (2, 3),
    [(2,)],
    (3,),
    match="tensors used as indices must be long, int, byte or bool tensors",
    error=IndexError,
)
refuse(
    "take",
    (2, 3),
    np.array([6]),
    match="out of range: tried to access index 6 on a tensor of 6 elements",
    error=IndexError,
)
refuse(
    "put",
    (2, 3),
    np.array([0, -7]),
    (2,),
    match="out of range: tried to access index -7 on a tensor of 6 elements",
    error=IndexError,
)
refuse("masked_fill", (2, 3), ints(2, 2, 3), 0.0, match="masked_fill_ only supports boolean masks")
refuse("masked_fill", (2, 3), MASK, (3,), match="masked_fill_ only supports a 0-dimensional value tensor")
refuse(
    "masked_select",
    (2, 3),
    MASK.T,
    match=r"The size of tensor a \(2\) must match|The size of tensor a \(3\) must match",
)
refuse("masked_scatter", (2, 3), MASK, (2,), match="Number of elements of source < number of ones in mask")
refuse("select_scatter", (2, 3), (2,), 0, 0, match="expected src to have a size equal to the slice of self")
