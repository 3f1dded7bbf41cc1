"""Do each kind of work again and again: memory, objects and open files must not grow.

    python scripts/leaks.py [iterations of each kind] [kinds...]

The first fifth of the iterations fills caches; what the process holds is compared between then and the end. Exits with
1 if a kind kept more than 24 bytes an iteration beyond 2 MiB, an object in ten iterations, or a file. The safetensors
kind needs the package of that name, and is left out without it.
"""

from __future__ import annotations

import copy
import gc
import importlib.util
import io
import os
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import pullback as torch
from pullback import func

torch.install()
F = torch.nn.functional
x = torch.rand(4, 5, requires_grad=True)
model = torch.nn.Sequential(torch.nn.Linear(5, 4), torch.nn.LayerNorm(4), torch.nn.Tanh())
optimizer = torch.optim.AdamW(model.parameters())
plan = torch.compile(lambda a: (a.sin() * a).sum())
image = torch.rand(1, 2, 8, 8, requires_grad=True)
path = Path(tempfile.mkdtemp()) / "file"


class Double(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, a: Any) -> Any:
        ctx.save_for_backward(a)
        return a * 2

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        return g * 2


def backward() -> None:
    (torch.softmax(x, 1) * x).sum().backward()


def abandoned_graph() -> None:
    y = x.exp()
    y.retain_grad()
    (y.grad_fn.next_functions, y.log().sum().grad_fn)


def double_backward() -> None:
    (g,) = torch.autograd.grad((x**3).sum(), x, create_graph=True)
    g.square().sum().backward()


def writes_into_views() -> None:
    y = x.clone()
    y[0].mul_(2)
    y.t()[1] = 3
    y.diagonal().add_(1)
    y.sum().backward()


def hooks() -> None:
    y = x * 2
    handles = [y.register_hook(lambda g: g + y.detach()), x.register_hook(lambda g: g)]
    y.sum().backward()
    [h.remove() for h in handles]


def custom_function() -> None:
    Double.apply(x).sum().backward()


def errors() -> None:
    y = x.exp()
    y.detach().zero_()
    for wrong in (lambda: y.sum().backward(), lambda: x @ x, lambda: x.view(3), lambda: torch.tensor("a")):
        try:
            wrong()
        except Exception as error:
            error.add_note("seen")


def training() -> None:
    optimizer.zero_grad()
    model(x.detach()).square().mean().backward()
    optimizer.step()


def convolution() -> None:
    F.max_pool2d(F.conv2d(image, torch.ones(2, 2, 3, 3)), 2).sum().backward()


def compiled() -> None:
    plan(x.detach())


def transforms() -> None:
    a = x.detach()
    func.vmap(func.grad(lambda v: (v * v).sum()))(a)
    func.jvp(torch.sin, (a,), (a,))
    func.vjp(torch.cos, a)[1](a)


def no_grad_and_modes() -> None:
    with torch.no_grad(), torch.autocast("cpu"):
        x @ x.t()
    with torch.inference_mode():
        x * 2


def large_arrays() -> None:
    torch.sigmoid(torch.ones(40_000)).sum()


def random_numbers() -> None:
    torch.rand(10), torch.randn(20), torch.randperm(5), torch.Generator().manual_seed(1)


def modules() -> None:
    made = torch.nn.Sequential(torch.nn.Linear(3, 3), torch.nn.ReLU())
    copy.deepcopy(made).load_state_dict(made.state_dict())


def numpy_and_back() -> None:
    torch.from_numpy(np.ones(3)).add_(1).numpy()
    torch.utils.dlpack.from_dlpack(torch.utils.dlpack.to_dlpack(torch.ones(3)))


def sparse() -> None:
    torch.sparse_coo_tensor([[0, 1]], [1.0, 2.0], (3,)).to_dense()


def printing() -> None:
    repr(x)


def saved_and_loaded() -> None:
    file = io.BytesIO()
    torch.save({"x": x, "step": 3}, file)
    file.seek(0)
    torch.load(file)


def files() -> None:
    torch.save(x, path)
    torch.load(path, mmap=True)


def data_loader() -> None:
    list(torch.utils.data.DataLoader(torch.utils.data.TensorDataset(x.detach()), batch_size=2, shuffle=True))


def safetensors() -> None:
    from safetensors.torch import load, load_file, save, save_file

    load(save({"x": x.detach()}))
    save_file({"x": x.detach()}, path)
    load_file(path)


KINDS: dict[str, Callable[[], None]] = {
    f.__name__: f
    for f in (
        *(backward, abandoned_graph, double_backward, writes_into_views, hooks, custom_function, errors, training),
        *(convolution, compiled, transforms, no_grad_and_modes, large_arrays, random_numbers, modules, numpy_and_back),
        *(sparse, printing, saved_and_loaded, files, data_loader),
        *((safetensors,) if importlib.util.find_spec("safetensors") else ()),
    )
}


def held() -> tuple[int, int, int]:
    """Bytes of memory, objects that the garbage collector knows, open files."""
    gc.collect()
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE"), len(gc.get_objects()), len(os.listdir("/proc/self/fd"))


def grows(work: Callable[[], None], count: int) -> str:
    """How much more there is after so many iterations; empty if nothing that would go on."""
    for _ in range(count // 5):
        work()
    before = held()
    for _ in range(count - count // 5):
        work()
    memory, objects, open_files = (b - a for a, b in zip(before, held()))
    found = f"{memory:+,} bytes, {objects:+,} objects, {open_files:+} files"
    return found if memory > (2 << 20) + 24 * count or objects > max(50, count // 10) or open_files > 0 else ""


if __name__ == "__main__":
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 100_000
    failed = 0
    for _ in range(3_000):  # after which machine code takes over
        backward()
    for name in sys.argv[2:] or KINDS:
        found = grows(KINDS[name], count)
        failed += bool(found)
        print(f"{name:20} {found or 'flat'}", flush=True)
    sys.exit(bool(failed))
