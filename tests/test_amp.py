"""Autocasting and gradient scaling on the CPU."""

import pickle
import warnings

import pytest

import pullback as torch
from pullback.nn import functional as F

HALF, SINGLE = torch.bfloat16, torch.float32


def square(dtype=torch.float32):
    return torch.eye(2, dtype=dtype)


PROGRAMS = {  # by what they compute in: (operation, type for float32 operands, type for bfloat16 ones)
    "mm": (lambda x: x.mm(x), HALF, HALF),
    "matmul": (lambda x: x @ x[0], HALF, HALF),
    "einsum": (lambda x: torch.einsum("ij,jk->ik", x, x), HALF, HALF),
    "addmm": (lambda x: torch.addmm(x, x, x), HALF, HALF),
    "linear": (lambda x: F.linear(x, x), HALF, HALF),
    "conv1d": (lambda x: F.conv1d(x[None], x[None]), HALF, HALF),
    "attention": (lambda x: F.scaled_dot_product_attention(x[None], x[None], x[None]), HALF, HALF),
    "vecdot": (lambda x: torch.linalg.vecdot(x, x), HALF, HALF),
    "mv": (lambda x: x.mv(x[0]), SINGLE, HALF),
    "dot": (lambda x: torch.dot(x[0], x[0]), SINGLE, HALF),
    "add": (lambda x: x + x, SINGLE, HALF),
    "softmax": (lambda x: x.softmax(0), SINGLE, HALF),
    "sum": (lambda x: x.sum(), SINGLE, HALF),
    "mse_loss": (lambda x: F.mse_loss(x, x), SINGLE, SINGLE),
    "l1_loss": (lambda x: F.l1_loss(x, x), SINGLE, SINGLE),
    "cross_entropy": (lambda x: F.cross_entropy(x, torch.tensor([0, 1])), SINGLE, SINGLE),
    "prod": (lambda x: x.prod(), SINGLE, SINGLE),
    "quantile": (lambda x: x.quantile(0.5), SINGLE, SINGLE),
    "inv": (lambda x: torch.linalg.inv(x), SINGLE, SINGLE),
    "fft": (lambda x: torch.fft.fft(x).real, SINGLE, SINGLE),
    "cat": (lambda x: torch.cat([x, x.bfloat16()]), SINGLE, HALF),
    "stack": (lambda x: torch.stack([x.bfloat16(), x]), SINGLE, HALF),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_the_types_that_operations_compute_in(name):
    program, of_single, of_half = PROGRAMS[name]
    with torch.autocast("cpu"):
        assert program(square()).dtype is of_single
        assert program(square(HALF)).dtype is of_half
        assert program(square(torch.float64)).dtype is torch.float64 if name not in ("cat", "stack") else True
    assert program(square()).dtype is SINGLE


@pytest.mark.torch
@pytest.mark.parametrize("name", PROGRAMS)
def test_the_types_are_pytorchs(name):
    judge = pytest.importorskip("torch")
    program, *expected = PROGRAMS[name]
    bound = type(program)(program.__code__, {"__builtins__": __builtins__, "torch": judge, "F": judge.nn.functional})
    with judge.autocast("cpu"):
        for dtype, result in zip((SINGLE, HALF), expected):
            out = bound(judge.eye(2, dtype=getattr(judge, dtype.name)))
            assert str(out.dtype) == str(result)


def test_values_are_those_of_half_precision():
    a, b = torch.tensor([[1.0, 1e-3]]), torch.tensor([[1.0], [1.0]])
    with torch.autocast("cpu", dtype=HALF):
        assert (a @ b).item() == 1.0
    with torch.autocast("cpu", dtype=torch.float16):
        assert (a @ b).item() == (a.half() @ b.half()).item()


def test_blocks_nest():
    x = square()
    with torch.amp.autocast("cpu"):
        assert torch.is_autocast_enabled("cpu")
        with torch.amp.autocast("cpu", enabled=False):
            assert not torch.is_autocast_enabled("cpu")
            assert (x @ x).dtype is SINGLE
            with torch.amp.autocast("cpu", dtype=torch.float16):
                assert (x @ x).dtype is torch.float16
                assert torch.get_autocast_dtype("cpu") is torch.float16
        assert (x @ x).dtype is HALF
    assert not torch.is_autocast_enabled("cpu")
    with pytest.raises(ZeroDivisionError), torch.autocast("cpu"):
        _ = 1 / 0
    assert (x @ x).dtype is SINGLE


def test_as_decorator_and_used_again():
    scope = torch.autocast("cpu")

    @scope
    def product(x, n):
        return x @ x if n == 0 else product(x, n - 1)

    assert product(square(), 3).dtype is HALF
    with scope, scope:
        assert product(square(), 0).dtype is HALF
    assert (square() @ square()).dtype is SINGLE


def test_no_cost_is_left_behind():
    from pullback.base import thread_state

    before = thread_state.slow_path_reasons
    with torch.autocast("cpu"), torch.autocast("cpu", enabled=False), torch.autocast("cpu"):
        assert thread_state.slow_path_reasons == before + 1
    assert thread_state.slow_path_reasons == before


def test_other_threads_do_not_cast():
    import threading

    seen = []
    with torch.autocast("cpu"):
        thread = threading.Thread(target=lambda: seen.append((square() @ square()).dtype))
        thread.start()
        thread.join()
    assert seen == [SINGLE]


def test_gradients_come_back_in_the_parameters_type():
    layer, x = torch.nn.Linear(2, 2), torch.ones(1, 2)
    with torch.autocast("cpu"):
        out = layer(x)
        loss = F.mse_loss(out, torch.zeros(1, 2))
    assert (out.dtype, loss.dtype) == (HALF, SINGLE)
    loss.backward()
    assert layer.weight.grad.dtype is SINGLE
    assert torch.allclose(layer.bias.grad, layer(x)[0].detach(), atol=0.02)


def test_unavailable_devices_warn_and_do_nothing():
    with pytest.warns(UserWarning, match="CUDA is not available or torch_xla is imported. Disabling autocast."):
        scope = torch.autocast("cuda")
    with scope:
        assert (square() @ square()).dtype is SINGLE
    with pytest.warns(FutureWarning, match="torch.cuda.amp.autocast"), pytest.warns(UserWarning):
        torch.cuda.amp.autocast()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        torch.autocast("cuda", enabled=False)
    with pytest.warns(UserWarning, match="In CPU autocast, but the target dtype is not supported"):
        torch.autocast("cpu", dtype=torch.float64)


def test_refusals():
    with pytest.raises(ValueError, match="Expected `device_type` of type `str`"):
        torch.autocast(torch.device("cpu"))
    with pytest.raises(RuntimeError, match="User specified an unsupported autocast device_type 'abc'"):
        torch.autocast("abc")
    with pytest.raises(TypeError, match="requires a callable, but got Tensor"):
        torch.autocast("cpu")(square())
    with pytest.raises(RuntimeError, match="promote type is double"), torch.autocast("cpu"):
        torch.cat([square(torch.float64), square(HALF)])


def test_custom_functions():
    seen = []

    class Mine(torch.autograd.Function):
        @staticmethod
        @torch.amp.custom_fwd(device_type="cpu", cast_inputs=torch.float32)
        def forward(ctx, x):
            seen.append((x.dtype, torch.is_autocast_enabled("cpu")))
            return x * 2

        @staticmethod
        @torch.amp.custom_bwd(device_type="cpu")
        def backward(ctx, g):
            seen.append(torch.is_autocast_enabled("cpu"))
            return g * 2

    x = square(HALF).requires_grad_()
    with torch.autocast("cpu"):
        out = Mine.apply(x)
        out.sum().backward()
    assert seen == [(SINGLE, False), False]
    assert x.grad.tolist() == [[2, 2], [2, 2]]


# --- scaling ------------------------------------------------------------------------------------------------


def scaled(torch, gradients, **options):
    """The scale, the parameter and its gradient after steps whose loss has these gradients."""
    w = torch.tensor([1.0], requires_grad=True)
    optimizer = torch.optim.SGD([w], lr=0.5)
    scaler = torch.amp.GradScaler("cpu", init_scale=4.0, **options)
    story = []
    for g in gradients:
        optimizer.zero_grad()
        scaler.scale((w * g).sum()).backward()
        grad = w.grad.item()
        scaler.step(optimizer)
        scaler.update()
        story.append((grad, w.grad.item(), w.item(), scaler.get_scale(), scaler._get_growth_tracker()))
    return story, scaler.state_dict()


STORIES = [
    {"gradients": [1.0, 0.5, 2.0]},
    {"gradients": [1.0, float("inf"), 2.0, float("nan"), 1.0]},
    {"gradients": [1.0] * 5, "growth_interval": 2, "growth_factor": 3.0},
    {"gradients": [float("inf")] * 3, "backoff_factor": 0.25},
    {"gradients": [1.0, 2.0], "enabled": False},
]


@pytest.mark.torch
@pytest.mark.parametrize("story", STORIES)
def test_scaling_as_pytorch(story):
    judge = pytest.importorskip("torch")
    assert repr(scaled(torch, **story)) == repr(scaled(judge, **story))


def test_steps_with_infinite_gradients_are_skipped():
    story, state = scaled(torch, [1.0, float("inf"), 1.0], growth_interval=1)
    assert [s[2:] for s in story] == [(0.5, 8.0, 0), (0.5, 4.0, 0), (0.0, 8.0, 0)]
    assert state["scale"] == 8.0


def test_scaler_refusals():
    w = torch.ones(1, requires_grad=True)
    optimizer, scaler = torch.optim.SGD([w], lr=1.0), torch.amp.GradScaler("cpu")
    with pytest.raises(AssertionError, match="Attempted step but _scale is None"):
        scaler.step(optimizer)
    first, (second,) = scaler.scale((w.sum(), [w.sum()]))
    assert (first.item(), second.item()) == (65536.0, 65536.0)
    first.backward()
    scaler.unscale_(optimizer)
    with pytest.raises(RuntimeError, match="has already been called on this optimizer"):
        scaler.unscale_(optimizer)
    with pytest.raises(AssertionError, match="may only be pickled at the beginning"):
        pickle.dumps(scaler)
    with pytest.raises(RuntimeError, match="Closure use is not currently supported"):
        scaler.step(optimizer, closure=lambda: None)
    scaler.step(optimizer)
    with pytest.raises(RuntimeError, match=r"step\(\) has already been called"):
        scaler.step(optimizer)
    with pytest.raises(RuntimeError, match=r"unscale_\(\) is being called after step"):
        scaler.unscale_(optimizer)
    scaler.update(2.0)
    other = pickle.loads(pickle.dumps(scaler))
    assert other.state_dict() == scaler.state_dict() and other.get_scale() == 2.0
    fresh = torch.amp.GradScaler("cpu")
    fresh.load_state_dict(scaler.state_dict())
    assert fresh.get_scale() == 2.0
    with pytest.raises(RuntimeError, match="The source state dict is empty"):
        fresh.load_state_dict({})
    with pytest.warns(UserWarning, match="GradScaler is enabled, but CUDA is not available"):
        disabled = torch.amp.GradScaler()
    assert not disabled.is_enabled() and disabled.scale(3) == 3 and disabled.get_scale() == 1.0


def test_function_modes():
    class Names(torch.overrides.TorchFunctionMode):
        def __init__(self, log):
            self.log = log

        def __torch_function__(self, func, types, args=(), kwargs=None):
            self.log.append(func.__name__)
            return func(*args, **(kwargs or {}))

    outer, inner = [], []
    with Names(outer), Names(inner):
        _ = torch.ones(2) * 2 + 1
    assert outer == inner == ["ones", "mul", "add"]
    with Names(outer), torch._C.DisableTorchFunction():
        _ = torch.ones(2) * 2
    assert outer == ["ones", "mul", "add"]
