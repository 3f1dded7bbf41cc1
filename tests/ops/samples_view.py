"""Samples of views, cuts and copies of memory."""

from .samples import refuse, sample

sample("reshape", (2, 3, 4), [6, 4], complex=True)
sample("Tensor.reshape", (2, 3, 4), 2, 3, 2, -1)
sample("Tensor.view", (6,), 2, -1, complex=True)
sample("reshape", (), [1, 1])
sample("reshape", (0, 3), [3, 0])
sample("Tensor.view_as", (6,), (3, 2))
sample("Tensor.reshape_as", (2, 3), (6,))
sample("flatten", (2, 3, 4), 1)
sample("flatten", ())
sample("ravel", (2, 3))
sample("unflatten", (2, 6), 1, [3, -1])
sample("squeeze", (1, 2, 1))
sample("squeeze", (1, 2, 1), -1)
sample("squeeze", (1, 2, 1), [0, 2])
sample("squeeze", (), 0)
sample("unsqueeze", (2, 3), -1)
sample("unsqueeze", (), 0)
sample("atleast_1d", ())
sample("atleast_2d", (3,))
sample("atleast_3d", (2, 3))
sample("atleast_3d", [(), (3,), (2, 3, 4)])

sample("transpose", (2, 3, 4), 0, -1, complex=True)
sample("transpose", (), 0, -1)
sample("swapaxes", (2, 3), 0, 1)
sample("t", (2, 3), complex=True)
sample("t", (3,))
sample("permute", (2, 3, 4), [2, 0, -2], complex=True)
sample("Tensor.permute", (2, 3, 4), 1, 2, 0)
sample("movedim", (2, 3, 4), 0, -1)
sample("movedim", (2, 3, 4), [0, 1], [2, 0])
sample("adjoint", (2, 3, 4), complex=True)

sample("Tensor.expand", (3, 1), 2, 3, 4, complex=True)
sample("Tensor.expand", (), 2, 3)
sample("Tensor.expand", (1, 3), -1, 3)
sample("Tensor.expand", (1, 3), 0, 3)
sample("Tensor.expand_as", (3, 1), (2, 3, 4))
sample("broadcast_to", (3, 1), [2, 3, 2])
sample("broadcast_tensors", (3, 1), (2,), ())

sample("select", (2, 3, 4), 1, -1, complex=True)
sample("narrow", (2, 3, 4), 1, 1, 2, complex=True)
sample("narrow", (2, 3), 0, 2, 0)
sample("split", (5, 2), 2, complex=True)
sample("split", (2, 5), [1, 4], dim=1)
sample("split_with_sizes", (5, 2), [2, 0, 3])
sample("chunk", (5, 2), 3)
sample("unsafe_chunk", (5, 2), 2)
sample("unsafe_split", (5, 2), 2)
sample("unsafe_split_with_sizes", (5, 2), [1, 4])
sample("tensor_split", (5, 2), 3)
sample("tensor_split", (5, 2), [1, 0, -1, 9])
sample("hsplit", (2, 4), 2)
sample("hsplit", (4,), [1])
sample("vsplit", (4, 2), 2)
sample("dsplit", (2, 3, 4), [1, 3])
sample("unbind", (2, 3), complex=True)
sample("unbind", (2, 3, 2), -1)

sample("as_strided", (12,), [2, 3], [4, 1], 1, complex=True)
sample("as_strided", (12,), [4, 3], [2, 1])  # overlapping
sample("as_strided", (4,), [3, 2], [0, 1])
sample("diagonal", (3, 4), complex=True)
sample("diagonal", (2, 3, 4), 1, 1, 2)
sample("diagonal", (2, 3, 4), -1, 2, 0)
sample("diagonal", (2, 3), 7)
sample("Tensor.unfold", (2, 5), 1, 3, 2, complex=True)
sample("Tensor.unfold", (5, 2), 0, 3, 1)  # overlapping
sample("Tensor.unfold", (), 0, 1, 1)
sample("Tensor.unfold", (3,), 0, 0, 1)

sample("clone", (2, 3), complex=True)
sample("Tensor.contiguous", (2, 3))
for name, options in (
    ("alias", ()),
    ("t", ()),
    ("squeeze", (0,)),
    ("unsqueeze", (0,)),
    ("transpose", (0, 1)),
    ("permute", ([1, 0],)),
    ("expand", ([2, 1, 3],)),
    ("view", ([3, 1],)),
    ("diagonal", ()),
    ("narrow", (1, 0, 2)),
    ("select", (1, 0)),
    ("slice", (1, 0, 3, 2)),
    ("split_with_sizes", ([1, 2], 1)),
    ("unbind", ()),
    ("unfold", (1, 2, 1)),
    ("as_strided", ([2, 2], [1, 1])),
):
    sample(name + "_copy", (1, 3), *options)

OUT_OF_RANGE = r"Dimension out of range \(expected to be in range of \[-2, 1\], but got 5\)"
refuse("reshape", (2, 3), [5, 5], match=r"shape '\[5, 5\]' is invalid for input of size 6")
refuse("reshape", (2, 3), [-1, -1], match="only one dimension can be inferred")
refuse("reshape", (2, 3), [-2, 3], match="invalid shape dimension -2")
refuse("reshape", (0, 3), [0, -1], match="unspecified dimension size -1 can be any value and is ambiguous")
refuse("flatten", (2, 3), 1, 0, match=r"flatten\(\) has invalid args: start_dim cannot come after end_dim")
refuse(
    "unflatten",
    (2, 3),
    1,
    [2, 2],
    match=r"unflatten: Provided sizes \[2, 2\] don't multiply up to the size of dim 1 \(3\)",
)
for name, options in (
    ("squeeze", ()),
    ("transpose", (0,)),
    ("movedim", (0,)),
    ("unbind", ()),
    ("diagonal", (0,)),
    ("flatten", ()),
):
    refuse(name, (2, 3), *options[:1], 5, match=OUT_OF_RANGE, error=IndexError)
refuse("unsqueeze", (2, 3), 4, match=r"Dimension out of range \(expected to be in range of \[-3, 2\]", error=IndexError)
refuse("squeeze", (1, 3), [0, 0], match="dim 0 appears multiple times in the list of dims")
refuse("t", (2, 3, 4), match=r"t\(\) expects a tensor with <= 2 dimensions, but self is 3D")
refuse(
    "permute",
    (2, 3),
    [0],
    match="number of dimensions in the tensor input does not match the length of the desired ordering",
)
refuse("permute", (2, 3), [0, 0], match=r"permute\(\): duplicate dims are not allowed")
refuse("movedim", (2, 3), [0, 0], [0, 1], match="movedim: repeated dim in `source`")
refuse("adjoint", (3,), match="only supported on matrices or batches of matrices")
refuse("Tensor.expand", (2, 3), 2, 3, out=None, match="unexpected keyword argument 'out'", error=TypeError)
refuse(
    "Tensor.expand",
    (2, 3),
    2,
    5,
    match=r"The expanded size of the tensor \(5\) must match the existing size \(3\) at non-singleton "
    r"dimension 1.  Target sizes: \[2, 5\].  Tensor sizes: \[2, 3\]",
)
refuse(
    "Tensor.expand",
    (2, 3),
    3,
    match=r"the number of sizes provided \(1\) must be greater or equal to the number of dimensions",
)
refuse(
    "Tensor.expand",
    (3,),
    -1,
    3,
    match=r"The expanded size of the tensor \(-1\) isn't allowed in a leading, non-existing dimension 0",
)
refuse("broadcast_tensors", (2, 3), (4,), match=r"The size of tensor a \(3\) must match the size of tensor b \(4\)")
refuse(
    "select",
    (2, 3),
    1,
    3,
    match=r"select\(\): index 3 out of range for tensor of size \[2, 3\] at dimension 1",
    error=IndexError,
)
refuse("select", (), 0, 0, match=r"select\(\) cannot be applied to a 0-dim tensor", error=IndexError)
refuse("narrow", (2, 3), 0, 1, 2, match=r"start \(1\) \+ length \(2\) exceeds dimension size \(2\)")
refuse("narrow", (2, 3), 0, 0, -1, match=r"narrow\(\): length must be non-negative")
refuse("split", (2, 3), 0, match="split_size can only be 0 if dimension size is 0")
refuse("split", (2, 3), [1, 2], match=r"split_with_sizes expects split_sizes to sum exactly to 2")
refuse("chunk", (2, 3), 0, match="chunk expects `chunks` to be greater than 0")
refuse(
    "hsplit",
    (2, 3),
    2,
    match="torch.hsplit attempted to split along dimension 1, but the size of the dimension 3 is not divisible",
)
refuse("vsplit", (4,), 2, match="torch.vsplit requires a tensor with at least 2 dimension")
refuse("as_strided", (3, 4), [2, 2], [100, 1], match="out of bounds for storage of size 96")
refuse("as_strided", (3, 4), [2, 2], [-1, 1], match="Negative strides are not supported")
refuse("as_strided", (3, 4), [2, 2], [1], match="mismatch in length of strides and shape")
refuse("diagonal", (2, 3), 0, 1, 1, match="diagonal dimensions cannot be identical 1, 1")
refuse("Tensor.unfold", (2, 3), 1, 4, 1, match="maximum size for tensor at dimension 1 is 3 but size is 4")
refuse("Tensor.unfold", (2, 3), 1, 2, 0, match="step is 0 but must be > 0")
