"""What PyTorch 2.13 does with complex32 on the CPU: expressions that it computes, and some that it refuses.

Run it where PyTorch is installed to write ``complex_half.json`` beside it; see :mod:`programs`.
"""

from __future__ import annotations

import warnings
from typing import Any

from programs import Programs

programs = Programs("complex_half.json")

COMPUTED = """
x
x[:, 1:] ; x[0, 2] ; x[x != 0] ; x.t() ; x.unbind(1) ; x.expand(2, 2, 3)[1, 1]
x.dtype ; x.itemsize ; x.element_size() ; x.is_complex() ; x.is_floating_point() ; x.type()
x.untyped_storage().nbytes()
torch.chalf.to_real() ; torch.half.to_complex() ; torch.bfloat16.to_complex() ; torch.finfo(torch.chalf)
torch.chalf.is_signed
[torch.promote_types(torch.chalf, d) for d in (torch.bool, torch.int64, torch.half, torch.bfloat16, torch.float32)]
[torch.promote_types(torch.chalf, d) for d in (torch.float64, torch.complex64, torch.complex128)]
[torch.can_cast(torch.chalf, d) for d in (torch.half, torch.complex64)] ; torch.can_cast(torch.float64, torch.chalf)
torch.result_type(x, 2.5) ; torch.result_type(x, torch.tensor(1.0)) ; torch.result_type(x.real, 1j)
torch.tensor([1, 2.5, 3j], dtype=torch.chalf) ; torch.tensor(1e6, dtype=torch.chalf)
torch.tensor([x[0, 0], x[1, 1]])
torch.zeros(2, dtype=torch.chalf) ; torch.ones(2, dtype=torch.chalf) ; torch.full((2,), 1 + 2j, dtype=torch.chalf)
torch.zeros_like(x) ; torch.full_like(x, 1e9) ; x.new_full((2,), 3j) ; x.new_tensor([1j])
torch.scalar_tensor(2j, dtype=torch.chalf)
torch.rand(2, dtype=torch.chalf) ; torch.randn(2, dtype=torch.chalf) ; torch.randn_like(x)
torch.tensor([1.5, 70000.0]).chalf() ; torch.tensor([True, False]).chalf() ; torch.tensor([2 + 1e-9j]).to(torch.chalf)
x.to(torch.complex64) ; x.cdouble() ; x.float() ; x.half() ; x.int() ; x.to(torch.uint8) ; x.bfloat16() ; x.double()
(0.25 * x).bool() ; x.chalf() is x ; x.item() if x.numel() == 1 else x.tolist() ; complex(x[0, 0]) ; float(x[0, 2])
bool(x[1, 1])
x.real ; x.imag ; x.real.stride() ; x.imag.storage_offset() ; torch.view_as_real(x)
torch.view_as_complex(torch.view_as_real(x))
x.view(torch.int32) ; x.view(torch.half) ; x.view(3, 2) ; torch.complex(x.real, x.imag) ; x.imag.view(torch.int16)
x.conj() ; x.conj().is_conj() ; x.conj().imag ; x.mH ; x.conj().resolve_conj() ; x.conj_physical()
x + x ; x - 1 ; 2 - x ; x * x ; x * 1j ; -x ; x + x.real ; x + torch.ones(3)
x * torch.tensor(2.0, dtype=torch.float64)
x.real * 1j ; x.real + 2j ; x / torch.ones(3) ; torch.add(x, x, alpha=2j) ; torch.addcmul(x, x, x)
abs(x) ; x.sgn() ; x == x ; x != 2 ; x.isfinite() ; x.isnan() ; x.isinf() ; torch.isreal(x) ; torch.isclose(x, x + 1)
torch.allclose(x, x) ; x.any() ; x.all(0) ; x.count_nonzero() ; x.nonzero() ; x.norm() ; x.norm(1, 0)
torch.linalg.vector_norm(x, 0)
x.var(0) ; torch.where(x.real > 0, x, 0) ; x.masked_fill(x == 2, 5j) ; x.diff()
x.sum(dtype=torch.complex64) ; x.prod(dtype=torch.complex64) ; x.cumsum(1, dtype=torch.complex64)
torch.cat([x, x]) ; torch.cat([x, x.real]).dtype ; torch.stack([x, x]).shape ; x.repeat(1, 2) ; x.roll(1) ; x.flip(0)
x.tril() ; x.triu() ; x.diag() ; x.diagonal() ; torch.diag_embed(x[0]) ; torch.block_diag(x, x) ; x.clone()
x.contiguous().dtype
x.index_select(1, torch.tensor([2, 0])) ; x.index_add(0, torch.tensor([0, 0]), x)
x.index_fill(1, torch.tensor([0]), 1j)
x.index_put((torch.tensor([0]),), x[1]) ; x[torch.tensor([1, 1, 0])] ; x.repeat_interleave(2) ; x.unfold(1, 2, 1)
torch.nn.functional.pad(x, (1, 1)) ; torch.outer(x[0], x[0]) ; x.reshape(-1) ; x.split(2, 1)
torch.meshgrid(x[0], x[1], indexing="ij")[0]
x.to_sparse().values() ; x.to_sparse().to_dense() ; x.to("meta").dtype
torch.nn.Linear(2, 2, dtype=torch.chalf).weight.dtype ; torch.testing.assert_close(x, x.clone())
"""

REFUSED = """
x / 2 ; x ** 2 ; x @ x.T ; x.sum() ; x.mean() ; x.prod() ; x.cumsum(0) ; x.exp() ; x.log() ; x.sqrt() ; x.sin()
x.angle()
x < x ; x.sort() ; x.unique() ; x.clamp(0) ; x.softmax(0) ; torch.logical_and(x, x) ; x.logical_not()
torch.equal(x, x + 1)
torch.fft.fft(x) ; torch.linalg.inv(x[:, :2]) ; torch.dot(x[0], x[0]) ; torch.lerp(x, x, 0.5) ; torch.addcdiv(x, x, x)
torch.linspace(0, 1, 3, dtype=torch.chalf) ; torch.arange(3, dtype=torch.chalf) ; torch.eye(2, dtype=torch.chalf)
torch.polar(x.real, x.real) ; x.float().sum(dtype=torch.chalf) ; torch.ones(3).cumsum(0, dtype=torch.chalf)
x.real / 1j
torch.nn.functional.linear(x, x) ; torch.vmap(torch.exp)(x) ; torch.vmap(torch.sum)(x)
torch.func.jvp(torch.exp, (x,), (x,))
torch.randint(3, (2,), dtype=torch.chalf) ; x.new_zeros(2).bernoulli_()
torch.nn.functional.pad(x[None], (1, 1), "reflect")
"""


def expressions(lines: str) -> list[str]:
    """The expressions of a table."""
    return [e.strip() for line in lines.strip().splitlines() for e in line.split(" ; ")]


def example(torch: Any) -> Any:
    """The numbers that the expressions call ``x``. (PyTorch warns that its support is experimental.)"""
    warnings.simplefilter("ignore")
    return torch.tensor([[1 + 2j, -3 + 0.25j, 2], [0.5j, 0, -7 - 1j]]).to(torch.complex32)


@programs
def computed(torch):
    for expression in expressions(COMPUTED):
        torch.manual_seed(0)
        yield f"{expression}: {eval(expression, {'torch': torch, 'x': example(torch)})}"


@programs
def refused(torch):
    for expression in expressions(REFUSED):
        try:
            eval(expression, {"torch": torch, "x": example(torch)})
        except RuntimeError:
            yield f"{expression}: refused"


@programs
def written(torch):
    """In place, through views, and from other types."""
    x = torch.zeros_like(example(torch)[0])
    x.real[0] = 3
    x.imag[1] = -1
    torch.view_as_real(x)[2, 1] = 7
    yield str(x)
    x[0], x[1:] = 1 + 2j, torch.tensor([1j, 2j]).to(torch.complex32)
    yield str(x)
    x[torch.tensor([0, 2])] = 5
    x[x == 5] = 0
    yield str(x)
    x.copy_(torch.tensor([1.0, 2.0, 3.0]))
    x += 1
    x *= 1j
    x -= torch.ones(3, dtype=torch.complex128)
    yield str(x)
    x.conj().add_(1j)
    yield str(x)
    x.real = torch.tensor([9.0, 8.0, 7.0]).half()
    yield str(x)
    yield str(torch.ones(3).copy_(x))
    yield str(torch.zeros(3, dtype=torch.bool).copy_(x * 0.25))
    yield str(x.fill_(70000.0))
    for write in (lambda: x.add_(1).div_(2), lambda: torch.ones(3).add_(x), lambda: x.__setitem__(0, 70000)):
        try:
            write()
        except RuntimeError as error:
            yield type(error).__name__


@programs
def gradients(torch):
    """Through casts, moves, sums and products."""
    x = example(torch)[0, :2].requires_grad_()
    for function in (
        lambda x: x.to(torch.complex64).abs().pow(2),
        lambda x: (x * (2 - 1j)).cfloat().real,
        lambda x: (x + x * 2 - x).cfloat().real,
        lambda x: x.abs().float(),
        lambda x: torch.view_as_real(x).float() * 3,
        lambda x: torch.cat([x, x])[1:].cfloat().abs(),
        lambda x: torch.stack([x, x]).cfloat().imag,
        lambda x: x[torch.tensor([0, 0, 1])].cfloat().real,
        lambda x: torch.where(x.real > 0, x, 2j).cfloat().imag,
        lambda x: x.sum(dtype=torch.complex64).real,
    ):
        x.grad = None
        function(x).sum().backward()
        yield f"{x.grad.dtype} {[z + 0j for z in x.grad.tolist()]}"
    y = torch.tensor([1.0, 2.0], requires_grad=True)
    (y.chalf() * (2 + 1j)).real.float().sum().backward()
    yield str(y.grad)
    z = torch.tensor([1.0, 2.0]).half().requires_grad_()
    (z * 2j).cfloat().imag.sum().backward()
    yield str(z.grad)


if __name__ == "__main__":
    programs.record()
