"""Samples of products: matmul by every pattern of dimensions, sums of products, distances."""

from .samples import ints, refuse, sample

# --- matmul -----------------------------------------------------------------------------------------------------

for left, right in (
    ((3,), (3,)),
    ((2, 3), (3,)),
    ((3,), (3, 4)),
    ((2, 3), (3, 4)),
    ((5, 2, 3), (3, 4)),
    ((5, 2, 3), (5, 3, 4)),
    ((5, 2, 3), (3,)),
    ((3,), (5, 3, 4)),
    ((2, 3), (5, 3, 4)),
    ((2, 1, 2, 3), (4, 3, 1)),
    ((1, 2, 3), (5, 3, 4)),
):
    sample("matmul", left, right, complex=True)
for left, right in (
    ((0, 3), (3, 4)),
    ((2, 0), (0, 4)),
    ((5, 0, 3), (3, 4)),
    ((0, 2, 3), (0, 3, 4)),
    ((2, 0), (0,)),
    ((0,), (0,)),
):
    sample("matmul", left, right)  # empty is a size too
sample("mm", (2, 3), (3, 4))
sample("bmm", (2, 3, 4), (2, 4, 5))
sample("mv", (2, 3), (3,))
sample("dot", (3,), (3,), complex=True)
sample("vdot", (3,), (3,), complex=True)
sample("outer", (3,), (2,), complex=True)
sample("ger", (0,), (2,))
sample("Tensor.__matmul__", (2, 3), (3, 4))

refuse("matmul", (8, 3), (4, 5), match=r"^mat1 and mat2 shapes cannot be multiplied \(8x3 and 4x5\)")
refuse("matmul", (3,), (4, 5), match=r"mat1 and mat2 shapes cannot be multiplied \(1x3 and 4x5\)")
refuse("matmul", (2, 2, 3), (4, 5), match=r"mat1 and mat2 shapes cannot be multiplied \(4x3 and 4x5\)")
refuse("matmul", (), (3,), match="both arguments to matmul need to be at least 1D, but they are 0D and 1D")
refuse(
    "matmul",
    (3,),
    (4,),
    match=r"inconsistent tensor size, expected tensor \[3\] and src \[4\] to have the same number of elements",
)
refuse("matmul", (2, 3), (4,), match=r"size mismatch, got input \(2\), mat \(2x3\), vec \(4\)")
refuse("matmul", (2, 2, 3), (2, 4, 5), match=r"batch2 tensor to be: \[2, 3\] but got: \[2, 4\].")
refuse("matmul", (2, 2, 3), (3, 3, 5), match=r"The size of tensor a \(2\) must match the size of tensor b \(3\)")
refuse("mm", (3,), (3, 2), match="self must be a matrix")
refuse("mm", (2, 3), (3,), match="mat2 must be a matrix")
refuse("bmm", (2, 3), (2, 3, 4), match="batch1 must be a 3D tensor")
refuse(
    "bmm",
    (2, 3, 4),
    (3, 4, 5),
    match=r"Expected size for first two dimensions of batch2 tensor to be: \[2, 4\] but got: \[3, 4\].",
)
refuse("mv", (2, 3), (3, 1), match="vector \\+ matrix @ vector expected, got 1, 2, 2")
refuse("dot", (2, 2), (2,), match="1D tensors expected, but got 2D and 1D tensors")
refuse("outer", (2, 2), (2,), match="outer: Expected 1-D argument self, but got 2-D")

# --- with something added ---------------------------------------------------------------------------------------

for scale in ({}, {"beta": 2.0, "alpha": 0.5}, {"beta": 0, "alpha": 3}):
    complex_too = not scale
    sample("addmm", (2, 3), (2, 4), (4, 3), inplace=True, complex=complex_too, **scale)
    sample("addmm", (3,), (2, 4), (4, 3), **scale)
    sample("addmv", (2,), (2, 4), (4,), inplace=True, **scale)
    sample("addmv", (), (2, 4), (4,), **scale)
    sample("addr", (2, 3), (2,), (3,), inplace=True, **scale)
    sample("addbmm", (2, 3), (5, 2, 4), (5, 4, 3), inplace=True, complex=complex_too, **scale)
    sample("baddbmm", (5, 2, 3), (5, 2, 4), (5, 4, 3), inplace=True, complex=complex_too, **scale)
    sample("baddbmm", (2, 1), (5, 2, 4), (5, 4, 3), **scale)

refuse("addmm", (4,), (2, 4), (4, 3), match=r"The expanded size of the tensor \(3\) must match the existing size \(4\)")
refuse("addmm", (3,), (2, 3), (4, 3), match=r"mat1 and mat2 shapes cannot be multiplied \(2x3 and 4x3\)")
refuse("addmm", (3,), (3,), (4, 3), match="mat1 must be a matrix, got 1-D tensor")
refuse("addmv", (5,), (2, 3), (3,), match=r"size mismatch, got input \(5\), mat \(2x3\), vec \(3\)")
refuse(
    "addr",
    ints(9, 2, 3),
    ints(9, 2),
    ints(9, 3),
    alpha=2.5,
    match="For integral input tensors, argument alpha must not be a float",
)
refuse("addbmm", (2, 2), (5, 2, 3), (4, 3, 2), match="batch1 and batch2 must have same number of batches, got 5 and 4")
refuse("addbmm", (2, 2), (5, 2, 3), (5, 4, 2), match=r"Incompatible matrix sizes for bmm \(2x3 and 4x2\)")

# --- sums of products -------------------------------------------------------------------------------------------

for equation, *shapes in (
    ("ij,jk->ik", (2, 3), (3, 4)),
    ("ij->ji", (2, 3)),
    ("ij->", (2, 3)),
    ("ij->i", (2, 3)),
    ("ii->i", (3, 3)),
    ("ii", (3, 3)),
    ("iji->j", (3, 2, 3)),
    ("i,j->ij", (2,), (3,)),
    ("i,i->", (3,), (3,)),
    ("i,i->i", (3,), (3,)),
    ("bij,bjk->bik", (2, 3, 4), (2, 4, 5)),
    ("bhqd,bhkd->bhqk", (2, 2, 2, 3), (2, 2, 4, 3)),
    ("...ij,...jk->...ik", (2, 1, 3, 4), (2, 4, 2)),
    ("ij,kl->", (2, 3), (4, 5)),
    ("bi,oij,bj->bo", (2, 3), (5, 3, 4), (2, 4)),
    ("ij,jk->ik", (2, 1), (3, 4)),
    ("ji,kj", (2, 3), (4, 2)),
    ("a...a->...", (3, 2, 3)),
    ("ij,jk,kl->il", (2, 3), (3, 4), (4, 2)),
    ("ij,jk->ik", (2, 0), (0, 4)),
    ("Ab,bC->AC", (2, 3), (3, 4)),
    ("i...->", (2, 3)),
    ("...i,...i->...", (2, 3), (3,)),
    ("ij,kij->ki", (2, 3), (4, 2, 3)),
    ("b...,...c->cb", (2, 3, 2), (3, 2, 4)),
    ("ij,k->jk", (2, 3), (4,)),
):
    sample("einsum", equation, *shapes, complex=True)
for dims in (1, 0, [[1], [0]]):
    sample("tensordot", (2, 3), (3, 4), dims=dims, complex=True)
sample("tensordot", (2, 3, 4), (4, 3, 5), dims=[[1, 2], [1, 0]])
sample("inner", (2, 3), (4, 3), complex=True)
sample("inner", (), (3,))
sample("kron", (2, 3), (4,), complex=True)
sample("kron", (2, 0), (3,))
sample("nn.functional.bilinear", (2, 3), (2, 4), (5, 3, 4), (5,))

for equation, shapes, match in (
    ("ij,jk->ik", [(2, 3)], "fewer operands were provided than specified in the equation"),
    ("ij->ij", [(2, 3), (2, 2)], "more operands were provided than specified in the equation"),
    ("i.j->ij", [(2, 3)], "found '.' for operand 0 that is not part of any ellipsis"),
    ("i1->i", [(2, 3)], r"invalid subscript given at index 1 in the equation string, subscripts must be in \[a-zA-Z\]"),
    (
        "ijk->i",
        [(2, 3)],
        r"the number of subscripts in the equation \(3\) does not match the number of dimensions \(2\) for operand 0",
    ),
    (
        "...ijk->i",
        [(2, 3)],
        r"the number of subscripts in the equation \(3\) is more than the number of dimensions \(2\) for operand 0",
    ),
    ("ij->ii", [(2, 3)], "output subscript i appears more than once in the output"),
    ("ij->k", [(2, 3)], "output subscript k does not appear in the equation for any input operand"),
    (
        "ij,jk->ik",
        [(2, 3), (4, 5)],
        "subscript j has size 4 for operand 1 which does not broadcast with previously seen size 3",
    ),
    ("ii->i", [(2, 3)], "subscript i is repeated for operand 0 but the sizes don't match, 3 != 2"),
):
    refuse("einsum", equation, *shapes, match=r"^einsum\(\): " + match)
refuse(
    "tensordot",
    (2, 3),
    (4, 5),
    dims=1,
    match="contracted dimensions need to match, but first has size 3 in dim -1 and second",
)
refuse(
    "inner",
    (2, 3),
    (5, 2),
    match=r"inner\(\) the last dimension must match on both input tensors but got shapes \[2, 3\] and",
)
refuse(
    "nn.functional.bilinear",
    (2, 3),
    (2, 4),
    (5, 4, 4),
    match="input1 size does not match weight size: got 3 but expected 4",
)

# --- vectors and points -----------------------------------------------------------------------------------------

sample("cross", (2, 3), (2, 3), dim=1, complex=True)
sample("cross", (3, 1), (3, 2), dim=0)
for p in (0.0, 1.0, 1.5, 2.0, 3.0, float("inf")):
    sample("cdist", (2, 4, 3), (5, 3), p, distinct=True, second=p != 0)
sample("cdist", (4, 3), (5, 3), compute_mode="use_mm_for_euclid_dist", distinct=True)
sample("cdist", (30, 2), (3, 2), distinct=True)
sample("cdist", (3, 0), (2, 0))

refuse("cross", (2, 2), (2, 2), dim=1, match="inputs dimension 1 must have length 3. Got 2 and 2")
refuse("cdist", (2, 3), (4, 2), match="X1 and X2 must have the same number of columns. X1: 3 X2: 2")
refuse("cdist", (3,), (4, 2), match="cdist only supports at least 2D tensors, X1 got: 1D")
