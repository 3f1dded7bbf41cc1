"""What raises inside of the package, at any line of it, leaves no lock held and no mode of the engine behind."""

import os
import subprocess
import sys

import pytest

import pullback as torch
from pullback.base import thread_state
from pullback.compiler.compiled_function import TRACING
from pullback.engine.accumulate import accumulating
from pullback.ops.values.meta import Meta

ROOT = os.path.dirname(torch.__file__)


class Raised(BaseException):
    pass


def hooked():
    x, w = torch.ones(3, requires_grad=True), torch.ones(3, requires_grad=True)
    x.register_hook(lambda g: g * 2)
    (x * w.exp()).sum().backward()
    (x * w.relu()).sum().backward()


def drawn():
    torch.manual_seed(1)
    torch.rand(3), torch.randn(20), torch.default_generator.set_state(torch.default_generator.get_state())


def compiled():
    f = torch.compile(lambda x: (x.exp() * x).sum())
    f(torch.ones(3, requires_grad=True)).backward()


def modes():
    x = torch.ones(2, requires_grad=True)
    with torch.no_grad():
        assert not (x * 2).requires_grad
        with torch.enable_grad():
            assert (x * 2).requires_grad
        torch.set_grad_enabled(True)
    with torch.inference_mode():
        x * 2


def held():
    locks = {"grads": accumulating, "state": thread_state._lock, "numbers": torch.default_generator._lock}
    return [name for name, lock in {**locks, "tracing": TRACING}.items() if lock._is_owned()]


def raise_everywhere(program, step):
    """Run the program over and over, raising at the next line or call in the package each time."""
    program()
    stop, reached = 1, True
    while reached:
        count, reached = 0, False

        def trace(frame, event, arg):
            nonlocal count, reached
            if frame.f_code.co_filename.startswith(ROOT):
                count += 1
                if count == stop:  # noqa: B023 (run before it changes)
                    reached = True
                    sys.settrace(None)
                    raise Raised
            return trace

        sys.settrace(trace)
        try:
            program()
        except Raised:
            pass
        finally:
            sys.settrace(None)
        assert not held(), (stop, held())
        assert thread_state.local.graph_task is None and thread_state.local.nested == 0, stop
        assert thread_state.no_grad_threads or torch.is_grad_enabled(), stop  # what fast paths look at
        thread_state.set_inference(False)
        thread_state.set_grad(True)
        thread_state.no_grad_threads.clear()
        stop += step
    hooked()
    program()


PROGRAMS = {"hooked": (hooked, 3), "modes": (modes, 1), "drawn": (drawn, 3), "compiled": (compiled, 5003)}


@pytest.mark.parametrize("program", PROGRAMS)
def test_a_trace_function_that_raises(program):
    """In a process of its own, as finalizers that raise are nobody's to mend."""
    environment = {**os.environ, "PYTHONPATH": os.path.dirname(ROOT)}
    ran = subprocess.run(
        [sys.executable, __file__, program], env=environment, capture_output=True, text=True, timeout=300
    )
    assert ran.returncode == 0, ran.stderr[-2000:]


def test_a_transform_that_fails_to_begin_leaves_no_scope_open(monkeypatch):
    def fail(array):
        raise Raised

    x = torch.ones(2, requires_grad=True)
    with monkeypatch.context() as patch, pytest.raises(Raised):
        patch.setattr("pullback.levels.api.wrap_value", fail)
        torch.func.grad(lambda v: v.sum())(x)
    (x * 2).sum().backward()
    assert x.grad.tolist() == [2, 2]


def test_values_that_are_half_made_count_for_nothing():
    before = thread_state.slow_path_reasons
    with pytest.raises(TypeError):
        Meta((2,), "no type")
    assert thread_state.slow_path_reasons == before


def test_what_was_packed_for_a_call_that_failed_is_not_saved():
    x, y = torch.ones(3, requires_grad=True), torch.ones(2, requires_grad=True)
    half = torch.full((3,), 2.0, dtype=torch.float16, requires_grad=True)
    with torch.autograd.graph.saved_tensors_hooks(lambda t: t, lambda t: t):
        with pytest.raises(RuntimeError):
            x * y
        (half * half).sum().backward()
    assert half.grad.tolist() == [4, 4, 4]


if __name__ == "__main__":
    raise_everywhere(*PROGRAMS[sys.argv[1]])
