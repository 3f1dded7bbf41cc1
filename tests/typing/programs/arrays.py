"""Tensors as arrays: operators, indexing, dtypes, NumPy, linear algebra, Fourier transforms, named results."""

from typing import assert_type

import numpy as np

import pullback as torch
import pullback.linalg as LA
from pullback import Tensor
from pullback.fft import rfft

a = torch.arange(12).reshape(3, 4).to(torch.float32)
b = torch.full_like(a, 2.0)
for result in (a + b, 2 * a, a - 1.5, 1 / b, a // 2, a % 2, a**2, 2**b, -a, +a, abs(a), a @ b.T, a > 0, a == b):
    assert_type(result, Tensor)
assert_type(a * np.float32(2), Tensor)
assert_type(~(a > 0) & (b < 3) | (a != b), Tensor)
assert_type(a[0], Tensor)
assert_type(a[..., 1:3, None], Tensor)
assert_type(a[a > 3], Tensor)
assert_type(a[[0, 1], torch.tensor([1, 2])], Tensor)
a[0, 0] = 5
a[1] = b[1]
a += 1
a *= b
assert_type(a, Tensor)
assert_type(len(a), int)
assert_type(list(a), list[Tensor])
assert_type(bool(a.any()) and a.all().item() is True, bool)
assert_type(float(a.max()) + int(a.argmax()), float)
assert_type(a.numpy(), np.ndarray)
assert_type(torch.from_numpy(np.ones((2, 2))), Tensor)

# method chains
assert_type(a.view(-1).unsqueeze(0).expand(2, -1).contiguous().permute(1, 0).flatten().softmax(dim=0).log(), Tensor)
assert_type(a.clone().add_(1).mul_(2).clamp_(min=0).t_().zero_(), Tensor)
assert_type(a.sum(dim=(0, 1)).mean().sqrt().exp().tanh(), Tensor)
assert_type(a.to("cpu", torch.float64, non_blocking=True).type(torch.int64).double().cpu().long(), Tensor)
assert_type(a.type(), str)

# functions, of which some have several results
assert_type(torch.cat([a, b], dim=1), Tensor)
assert_type(torch.stack((a, b)), Tensor)
assert_type(torch.where(a > 1, a, 0.0), Tensor)
assert_type(torch.where(a > 1), tuple[Tensor, ...])
assert_type(torch.einsum("ij,kj->ik", a, b), Tensor)
assert_type(torch.zeros(2, 3, dtype=torch.float64, requires_grad=True), Tensor)
assert_type(torch.ones((2, 3)), Tensor)
assert_type(torch.randint(0, 10, (3,)), Tensor)
assert_type(a.max(), Tensor)
assert_type(a.max(dim=0).values, Tensor)
assert_type(torch.min(a, 1).indices, Tensor)
assert_type(torch.maximum(a, b), Tensor)
assert_type(a.sort(descending=True)[0], Tensor)
assert_type(torch.topk(a, 2), torch.return_types.topk)
assert_type(a.split(2), tuple[Tensor, ...])
assert_type(a.chunk(2, dim=1)[0], Tensor)
assert_type(a.unbind(), tuple[Tensor, ...])
assert_type(torch.std_mean(a, dim=0), tuple[Tensor, Tensor])
assert_type(torch.unique(a, return_counts=True), tuple[Tensor, Tensor])
assert_type(a.nonzero(as_tuple=True), tuple[Tensor, ...])
assert_type(torch.equal(a, b), bool)
assert_type(torch.is_tensor(a), bool)

# linear algebra and Fourier transforms
square = torch.eye(3) * 2 + torch.rand(3, 3) * 0.1
U, S, Vh = LA.svd(square)
assert_type(U, Tensor)
assert_type(LA.eigh(square + square.mT).eigenvalues, Tensor)
assert_type(torch.linalg.solve(square, torch.ones(3)), Tensor)
assert_type(LA.norm(square, ord="fro"), Tensor)
assert_type(rfft(torch.ones(8)).abs(), Tensor)
assert_type(torch.fft.irfft(torch.fft.rfft(torch.ones(8)), n=8), Tensor)
assert_type(torch.special.expit(a), Tensor)

assert_type(torch.float32, torch.dtype)
assert_type(torch.float32.is_floating_point, bool)
assert_type(torch.finfo(torch.float32).eps, float)
assert_type(a.device, torch.device)
assert_type(torch.get_default_dtype(), torch.dtype)
assert_type(torch.pi, float)
assert_type(torch.__version__ >= "2.0", bool)
print(U.shape, S.shape, Vh.shape)
