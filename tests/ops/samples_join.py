"""Samples of joining, repeating, turning and padding."""

import numpy as np

from .samples import refuse, sample

sample("cat", [(2, 3), (1, 3), (0, 3)], complex=True)
sample("cat", [(2, 3), (2, 1)], dim=-1)
sample("cat", [(0,), (2, 3)])  # passed over, and still has a gradient
sample("stack", [(2, 3), (2, 3)], dim=1, complex=True)
sample("stack", [(), ()])
sample("hstack", [(2,), (3,)])
sample("hstack", [(2, 1), (2, 3)])
sample("vstack", [(3,), (2, 3)])
sample("dstack", [(3,), (1, 3)])
sample("column_stack", [(3,), (3, 2)])
sample("block_diag", (2, 3), (), (2,), complex=True)
sample("meshgrid", (2,), (3,), (), indexing="ij")
sample("meshgrid", (2,), (3,), indexing="xy")
sample("cartesian_prod", (2,), (3,))
sample("combinations", (4,), 2)
sample("combinations", (3,), 3, True)

sample("Tensor.repeat", (2, 3), 2, 1, 3, complex=True)
sample("Tensor.repeat", (), 3)
sample("Tensor.repeat", (2, 3), 0, 1, second=False)
sample("tile", (2, 3), [2])
sample("repeat_interleave", (2, 3), 2)
sample("repeat_interleave", (2, 3), 2, 0)
sample("repeat_interleave", (2, 3), np.array([0, 3]), 0)

sample("flip", (2, 3, 4), [0, -1], complex=True)
sample("flip", (), [0])
sample("flip", (2, 3), [])
sample("fliplr", (2, 3))
sample("flipud", (3,))
sample("roll", (2, 3), 2, complex=True)
sample("roll", (2, 3), [1, -1], [0, 1])
sample("rot90", (2, 3, 4), complex=True)
sample("rot90", (2, 3), -1, [1, 0])

for name in ("tril", "triu"):
    sample(name, (3, 4), inplace=True, complex=True)
    sample(name, (2, 3, 3), -1, inplace=True)
    sample(name, (0, 3))
sample("diag", (3,), 1)
sample("diag", (3, 4), -1, complex=True)
sample("diag_embed", (2, 3), -1, 0, 2, complex=True)
sample("diagflat", (2, 2))
sample("trace", (3, 4), complex=True)

sample("constant_pad_nd", (2, 3), [1, -1, 0, 2], 1.5, complex=True)
sample("nn.functional.pad", (2, 3), [2, 1])
sample("nn.functional.pad", (2, 3), [-1, 2], mode="reflect", complex=True)
sample("nn.functional.pad", (2, 3, 4), [3, 1, 2, 0], mode="reflect")
sample("nn.functional.pad", (2, 3, 4), [5, 1, 0, 7], mode="replicate")
sample("nn.functional.pad", (2, 3), [-3, 4], mode="replicate")
sample("nn.functional.pad", (1, 2, 3, 4), [4, 1, 2, 3], mode="circular")
sample("nn.functional.pad", (2, 4), [-1, 2], mode="circular")

refuse("cat", [(2, 3), (3,)], match="Tensors must have same number of dimensions: got 2 and 1")
refuse(
    "cat", [(2, 3), (2, 2)], match="Sizes of tensors must match except in dimension 0. Expected size 3 but got size 2"
)
refuse("cat", [], match=r"torch.cat\(\): expected a non-empty list of Tensors", error=ValueError)
refuse(
    "cat",
    [(2,), (2,)],
    -2,
    match=r"Dimension out of range \(expected to be in range of \[-1, 0\], but got -2\)",
    error=IndexError,
)
refuse("cat", [(), ()], match=r"zero-dimensional tensor \(at position 0\) cannot be concatenated")
refuse("cat", (2, 3), match="must be tuple of Tensors, not Tensor", error=TypeError)
refuse(
    "stack",
    [(2, 3), (3,)],
    match=r"stack expects each tensor to be equal size, but got \[2, 3\] at entry 0 and \[3\] at entry 1",
)
refuse("hstack", [], match="hstack expects a non-empty TensorList")
refuse("block_diag", (2, 3, 4), match="Input tensors must have 2 or fewer dimensions")
refuse("meshgrid", (2,), (3,), indexing="foo", match='indexing must be one of "xy" or "ij", but received: foo')
refuse("cartesian_prod", (2, 3), match=r"Expect a 1D vector, but got shape \[2, 3\]")
refuse(
    "Tensor.repeat",
    (2, 3),
    2,
    match="Number of dimensions of repeat dims can not be smaller than number of dimensions of tensor",
)
refuse("repeat_interleave", (3, 2), np.array([1, 2]), 0, match="repeats must have the same size as input along dim")
refuse("flip", (2, 3), [0, 0], match="dim 0 appears multiple times in the list of dims")
refuse("roll", (2, 3), [1, 2], [0], match="shifts and dimensions must align. shifts: 2, dims:1")
refuse("rot90", (2, 3), 1, [0, 0], match="expected rotation dims to be different")
refuse("tril", (3,), match="tril: input tensor must have at least 2 dimensions")
refuse("diag", (), match=r"diag\(\): Supports 1D or 2D tensors. Got 0D")
refuse("trace", (3,), match="trace: expected a matrix, but got tensor with dim 1")
refuse(
    "nn.functional.pad",
    (2, 3),
    [3, 1],
    mode="reflect",
    match="Padding size should be less than the corresponding input dimension",
)
refuse(
    "nn.functional.pad", (2, 3), [4, 1], mode="circular", match="Padding value causes wrapping around more than once"
)
refuse(
    "nn.functional.pad",
    (3,),
    [1, 1],
    mode="reflect",
    match="Padding size 2 is not supported for 1D input",
    error=NotImplementedError,
)
refuse("nn.functional.pad", (2, 3), [1], match="Padding length must be divisible by 2")
