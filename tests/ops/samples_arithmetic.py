"""Samples of arithmetic."""

from .samples import ints, refuse, sample

for op in ("add", "sub", "mul"):
    sample(op, (2, 3), (2, 3), complex=True, inplace=True)
    sample(op, (2, 3), (3,), complex=True, inplace=True)
    sample(op, (2, 1), (1, 3))
    sample(op, (), ())
    sample(op, (0, 3), (3,))
    sample(op, (2, 3), 2.5, inplace=True)
sample("add", (2, 3), (3,), alpha=2.5, inplace=True)
sample("sub", (2, 3), (3,), alpha=-2, inplace=True)
sample("rsub", (2, 3), (3,), alpha=2.0)
sample("div", (2, 3), (3,), low=0.5, complex=True, inplace=True)
sample("div", (2, 3), 4, complex=True, inplace=True)
sample("div", (2, 3), (2, 3), low=0.6, rounding_mode="floor")
sample("div", (2, 3), (2, 3), low=0.6, rounding_mode="trunc")
sample("remainder", (2, 3), (2, 3), low=0.6, inplace=True)
sample("fmod", (2, 3), (3,), low=0.6, inplace=True)
sample("neg", (2, 3), complex=True, inplace=True)
for exponent in (2, 3, 0.5, -1, 1.7, 0):
    sample("pow", (2, 3), exponent, low=0.5, inplace=True, complex=exponent != 0)
sample("pow", (2, 3), (3,), low=0.3, complex=True, inplace=True)
sample("pow", (), (2,), low=0.3)
sample("pow", 2.5, (2, 3))
sample("Tensor.__rpow__", (2, 3), 2.5)
sample("Tensor.__rtruediv__", (2, 3), 2.0, low=0.5)
sample("Tensor.__rsub__", (2, 3), 2.0)
sample("Tensor.__truediv__", (2, 3), (3,), low=0.5)

refuse(
    "add",
    (2, 3),
    (4,),
    match=r"The size of tensor a \(3\) must match the size of tensor b \(4\) at non-singleton dimension 1",
)
refuse("mul", (2, 3), "a", match="must be Tensor, not str", error=TypeError)
refuse(
    "add",
    ints(3, 2),
    ints(3, 2),
    alpha=1.5,
    match="For integral input tensors, argument alpha must not be a floating point number",
)
refuse("sub", (2,), (2,), alpha=1j, match="For non-complex input tensors, argument alpha must not be a complex number")
refuse("div", (2,), 2, rounding_mode="up", match="rounding_mode")
