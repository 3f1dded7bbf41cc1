"""Optimizers: the programs of ``golden/record_optimizers.py`` and ``record_methods.py``, and what PyTorch leaves
open.
"""

import copy
import gc
import weakref

import numpy as np
import pytest
from record_methods import programs as of_methods
from record_optimizers import backward, numbers, parameters, programs
from recorded import Recorded

import pullback
from pullback import optim
from pullback.optim import flat_params

METHODS = {
    "sgd": lambda ps: optim.SGD(ps, lr=0.1),
    "momentum": lambda ps: optim.SGD(ps, lr=0.1, momentum=0.9, weight_decay=0.1),
    "adam": lambda ps: optim.Adam(ps, lr=0.1, weight_decay=0.1),
    "amsgrad": lambda ps: optim.Adam(ps, lr=0.1, amsgrad=True),
    "adamw": lambda ps: optim.AdamW(ps, lr=0.1),
    "adadelta": lambda ps: optim.Adadelta(ps, lr=10.0, weight_decay=0.1),
    "adagrad": lambda ps: optim.Adagrad(ps, lr=0.1, lr_decay=0.1),
    "adamax": lambda ps: optim.Adamax(ps, lr=0.1, weight_decay=0.1),
    "asgd": lambda ps: optim.ASGD(ps, lr=0.1, lambd=0.1, t0=1),
    "nadam": lambda ps: optim.NAdam(ps, lr=0.1, weight_decay=0.1, decoupled_weight_decay=True),
    "radam": lambda ps: optim.RAdam(ps, lr=0.1, betas=(0.9, 0.9)),
    "rmsprop": lambda ps: optim.RMSprop(ps, lr=0.1, momentum=0.5, centered=True, eps=0.1),
    "rprop": lambda ps: optim.Rprop(ps, lr=0.1),
}
every_method = pytest.mark.parametrize("make", METHODS.values(), ids=METHODS.keys())


class TestPrograms(Recorded):
    tables = programs, of_methods


# --- one parameter at a time --------------------------------------------------------------------------------


def textbook_adam(p, grads, lr, beta1, beta2, eps):
    """Algorithm 1 of Kingma and Ba (2015), word for word."""
    m, v = np.zeros_like(p), np.zeros_like(p)
    for t, g in enumerate(grads, 1):
        m = beta1 * m + (1 - beta1) * g
        v = beta2 * v + (1 - beta2) * g * g
        p = p - lr * (m / (1 - beta1**t)) / (np.sqrt(v / (1 - beta2**t)) + eps)
    return p


@pytest.mark.parametrize("beta1", [0.0, 0.3, 0.5, 0.9, 0.99])
@pytest.mark.parametrize("block", [1, 2, 5, 7, 1 << 15])
def test_adam_is_the_textbooks_however_it_is_packed(monkeypatch, beta1, block):
    """Blocks of any size, which cut large parameters by rows and put small ones together."""
    monkeypatch.setattr(flat_params, "BLOCK", block)
    rng = np.random.default_rng(0)
    shapes = [(3, 4), (5,), (), (0, 3), (1, 9), (2, 2, 2), (1,)]
    starts = [rng.normal(size=shape) for shape in shapes]
    grads = [[rng.normal(size=shape) for shape in shapes] for _ in range(4)]
    params = [pullback.tensor(start, requires_grad=True) for start in starts]
    optimizer = optim.Adam(params, lr=0.1, betas=(beta1, 0.9), eps=1e-3)
    for step in grads:
        for p, g in zip(params, step):
            p.grad = pullback.tensor(g)
        optimizer.step()
    for i, p in enumerate(params):
        expected = textbook_adam(starts[i], [step[i] for step in grads], 0.1, beta1, 0.9, 1e-3)
        np.testing.assert_allclose(p.detach().numpy(), expected, rtol=1e-12, atol=1e-14)


@every_method
def test_layouts_make_no_difference(make):
    """Parameters and gradients that are transposed, strided or broadcast."""
    rng = np.random.default_rng(1)
    views = {
        "plain": lambda a: a.copy(),
        "transposed": lambda a: np.asfortranarray(a),
        "strided": lambda a: np.repeat(a, 2, axis=0)[::2],
    }
    start, gradient = rng.normal(size=(3, 4)), rng.normal(size=(3, 4))
    results = []
    for view in views.values():
        for grad_view in views.values():
            p = pullback.from_numpy(view(start)).requires_grad_()
            optimizer = make([p])
            for _ in range(3):
                p.grad = pullback.from_numpy(grad_view(gradient))
                optimizer.step()
            results.append(p.detach().numpy())
    for result in results:
        np.testing.assert_allclose(result, results[0], rtol=1e-13)
    p = pullback.zeros(3, 4, requires_grad=True)
    p.grad = pullback.ones(1, 1).expand(3, 4)
    make([p]).step()
    assert len(set(p.detach().numpy().ravel().tolist())) == 1
    assert p.grad.tolist() == pullback.ones(3, 4).tolist()


@every_method
@pytest.mark.parametrize("dtype, tolerance", [("float16", 4e-3), ("bfloat16", 3e-2), ("float32", 1e-6)])
def test_short_types_follow_long_ones(make, dtype, tolerance):
    """The arithmetic is not done in 16 bits, where 1 - 0.001 is 1: only what is stored is rounded."""
    results = []
    for kind in ("float64", dtype):
        p = pullback.tensor([1.0, -2.0, 0.5, 3.0], dtype=getattr(pullback, kind), requires_grad=True)
        optimizer = make([p])
        for step in range(20):
            p.grad = pullback.tensor([1.0, -0.5, 2.0, 0.25 * (step % 2)], dtype=getattr(pullback, kind))
            optimizer.step()
        results.append(np.array(p.detach().double().tolist()))
        states = optimizer.state[p].items()
        assert {str(t.dtype) for _, t in states if t.dim()} <= {f"torch.{kind}"}  # counters are numbers
    np.testing.assert_allclose(results[1], results[0], rtol=20 * tolerance, atol=tolerance)


@every_method
def test_gradients_are_left_as_they_are(make):
    params = parameters(pullback)
    optimizer = make(params)
    for step in range(3):
        backward(pullback, params, step)
        grads = [p.grad for p in params]
        before = [numbers(pullback, g) for g in grads]
        optimizer.step()
        assert all(p.grad is g for p, g in zip(params, grads))
        assert [numbers(pullback, g) for g in grads] == before


@every_method
def test_parameters_keep_their_memory(make):
    """The step writes into the array that the parameter has; whoever shares it sees the change."""
    array = np.ones((2, 3))
    p = pullback.from_numpy(array).requires_grad_()
    optimizer = make([p])
    p.grad = pullback.ones(2, 3, dtype=pullback.float64)
    optimizer.step()
    assert p.detach().numpy() is array or np.shares_memory(p.detach().numpy(), array)
    assert (array != 1).all()


@every_method
def test_a_step_between_forward_and_backward_is_noticed(make):
    """A value that backward needs and the optimizer has overwritten is an error, never a wrong gradient."""
    p = pullback.ones(2, requires_grad=True)
    optimizer = make([p])
    p.grad = pullback.ones(2)
    y = (p * p).sum()
    version = p._version
    optimizer.step()
    assert p._version > version
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        y.backward()


@every_method
def test_infinities_and_nan_pass_through_in_silence(make):
    p = pullback.tensor([1.0, 1.0, 1.0, 1.0], requires_grad=True)
    optimizer = make([p])
    p.grad = pullback.tensor([float("inf"), float("nan"), 1e30, 0.0])
    optimizer.step()
    optimizer.step()
    takes_signs_only = isinstance(optimizer, optim.Rprop)
    assert np.isfinite(p.detach().numpy()[:2]).all() == takes_signs_only


@every_method
def test_an_optimizer_is_freed_without_the_garbage_collector(make):
    gc.collect()
    gc.disable()
    try:
        params = parameters(pullback)
        optimizer = make(params)
        backward(pullback, params, 0)
        optimizer.step()
        refs = [weakref.ref(optimizer), *map(weakref.ref, params)]
        del optimizer, params
        assert [ref() for ref in refs] == [None] * len(refs)
    finally:
        gc.enable()


# --- packing ------------------------------------------------------------------------------------------------


def test_line_search_as_a_function():
    """As libraries of optimizers import it: from (-1.2, 1) along the gradient, to a point as low as the conditions
    ask.
    """
    from pullback.optim.lbfgs import _cubic_interpolate, _strong_wolfe

    def loss_and_gradient(x, t, d):
        at = (x + t * d).detach().requires_grad_()
        loss = (1 - at[0]) ** 2 + 100 * (at[1] - at[0] ** 2) ** 2
        return loss.item(), pullback.autograd.grad(loss, at)[0]

    x = pullback.tensor([-1.2, 1.0])
    f, g = loss_and_gradient(x, 0, x)
    loss, gradient, t, calls = _strong_wolfe(loss_and_gradient, x, 1.0, -g, f, g, -g.dot(g))
    assert (loss, gradient) == (
        pytest.approx(loss_and_gradient(x, t, -g)[0]),
        pytest.approx(loss_and_gradient(x, t, -g)[1]),
    )
    assert loss <= f - 1e-4 * t * g.dot(g) and abs(gradient.dot(g)) <= 0.9 * g.dot(g) and 1 < calls <= 25
    ends = [pullback.tensor(v) for v in (0.0, 1.0, -2.0, 2.0, 1.0, 2.0)]  # (t - 1) ** 2
    assert _cubic_interpolate(*ends) == pytest.approx(1.0)


def test_packs_settle_when_gradients_alternate():
    """Two heads trained in turn: after both have been seen, nothing is packed anew."""
    shared, a, b = (pullback.ones(3, requires_grad=True) for _ in range(3))
    optimizer = optim.Adam([shared, a, b])
    seen = []
    for step in range(8):
        optimizer.zero_grad()
        for p in (shared, a if step % 2 else b):
            p.grad = pullback.ones(3)
        optimizer.step()
        seen.append([optimizer.state[p].get("exp_avg") for p in (shared, a, b)])
    for later in seen[5:]:
        assert all(t is s for t, s in zip(later, seen[4]))
    assert [optimizer.state[p]["step"].item() for p in (shared, a, b)] == [8.0, 4.0, 4.0]


@every_method
def test_a_parameter_listed_twice_makes_two_steps(make):
    p, q, other = (pullback.ones(2, requires_grad=True) for _ in range(3))
    with pytest.warns(UserWarning, match="duplicate parameters"):
        twice = make([p, other, p])
    once = make([q])
    for step in range(3):
        for t in (p, q, other):
            t.grad = pullback.ones(2) * (step + 1)
        twice.step()
        once.step()
        once.step()
    assert p.tolist() == q.tolist()
    assert p.tolist() != other.tolist()


def test_state_tensors_are_the_users_to_write_into():
    p = pullback.ones(3, requires_grad=True)
    q = pullback.ones(2, requires_grad=True)
    optimizer = optim.Adam([p, q])
    for t in (p, q):
        t.grad = pullback.ones(*t.shape)
    optimizer.step()
    optimizer.state[q]["exp_avg"].zero_()
    assert optimizer.state[p]["exp_avg"].tolist() == pytest.approx([0.1] * 3)
    assert optimizer.state[q]["exp_avg"].tolist() == [0.0, 0.0]


def test_a_parameter_that_moves_to_another_group_takes_its_options():
    p, q = (pullback.ones(1, requires_grad=True) for _ in range(2))
    other = pullback.ones(1, requires_grad=True)
    optimizer = optim.Adam([{"params": [p, q]}, {"params": [other], "lr": 10.0}])
    for _ in range(2):
        p.grad, q.grad = pullback.ones(1), pullback.ones(1)
        optimizer.step()
        optimizer.param_groups[0]["params"] = [p]
        optimizer.param_groups[1]["params"] = [q]
    assert p.item() == pytest.approx(1 - 2e-3)
    assert q.item() == pytest.approx(1 - 1e-3 - 10)


# --- loading ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", ["bfloat16", "float64"])
@pytest.mark.parametrize("name", [*METHODS, "adafactor"])
def test_loaded_state_goes_on_in_its_types(name, dtype):
    """Counters are in the default type, whatever the parameters are in: a product in bfloat16 would be a wrong one."""
    make = METHODS.get(name) or (lambda ps: optim.Adafactor(ps, lr=0.1))
    start, gradient = (pullback.tensor([[0.3, -0.7], [1.5, 0.1]], dtype=getattr(pullback, dtype)) for _ in range(2))
    params = [start.clone().requires_grad_() for _ in range(2)]
    whole, optimizer = make(params[:1]), make(params[1:])
    for step in range(12):
        if step == 5:
            saved = copy.deepcopy(optimizer.state_dict())
            for own in saved["state"].values():  # the order of entries says nothing
                own |= {key: own.pop(key) for key in reversed(list(own))}
            optimizer = make(params[1:])
            optimizer.load_state_dict(saved)
        for p, o in zip(params, (whole, optimizer)):
            p.grad = gradient * (step + 1)
            o.step()
    assert params[0].tolist() == params[1].tolist()
    types = [{key: value.dtype for key, value in o.state[p].items()} for p, o in zip(params, (whole, optimizer))]
    assert types[0] == types[1]


@pytest.mark.parametrize("name", [name for name in METHODS if name != "sgd"] + ["adafactor", "muon"])
def test_state_of_another_shape_is_refused_before_anything_changes(name):
    make = METHODS.get(name) or (lambda ps: getattr(optim, name.title())(ps, lr=0.1))
    optimizers = []
    for shape in ((3, 5), (3, 1), (3, 5)):
        p = pullback.ones(*shape, requires_grad=True)
        p.grad = pullback.ones(*shape)
        optimizers.append(make([p]))
        optimizers[-1].step()
    optimizer, other, same = optimizers
    before = str(optimizer.state_dict())
    state = other.state_dict()
    state["param_groups"][0]["lr"] = 0.7
    with pytest.raises(ValueError, match="state that doesn't match the shape of its parameter") as error:
        optimizer.load_state_dict(state)
    assert "Parameter 0 has the shape (3, 5), its" in error.value.__notes__[0]
    assert str(optimizer.state_dict()) == before
    optimizer.load_state_dict(same.state_dict())


def test_state_of_another_method_is_refused_before_anything_changes():
    params = [pullback.ones(2, requires_grad=True) for _ in range(2)]
    adam, momentum = optim.Adam(params[:1], lr=0.1), optim.SGD(params[1:], lr=0.7, momentum=0.9)
    for p, optimizer in zip(params, (adam, momentum)):
        p.grad = pullback.ones(2)
        optimizer.step()
    before = str(adam.state_dict())
    with pytest.raises(KeyError, match="step"):
        adam.load_state_dict(momentum.state_dict())
    assert str(adam.state_dict()) == before


def test_groups_of_adagrad_start_from_their_own_value():
    p, q, late = (pullback.ones(1, requires_grad=True) for _ in range(3))
    optimizer = optim.Adagrad([{"params": [p]}, {"params": [q], "initial_accumulator_value": 3.0}], lr=1.0)
    optimizer.add_param_group({"params": [late], "initial_accumulator_value": 8.0})
    for t in (p, q, late):
        t.grad = pullback.ones(1)
    optimizer.step()
    assert [p.item(), q.item(), late.item()] == pytest.approx([0.0, 0.5, 1 - 1 / 3])


@pytest.mark.parametrize("shapes", [((3,), (3, 1)), ((3, 1), (3,))])
def test_state_that_another_number_of_dimensions_has_is_refused(shapes):
    optimizers = []
    for shape in shapes:
        p = pullback.ones(*shape, requires_grad=True)
        p.grad = pullback.ones(*shape)
        optimizers.append(optim.Adafactor([p]))
        optimizers[-1].step()
    with pytest.raises(ValueError, match="state that doesn't match the shape of its parameter"):
        optimizers[1].load_state_dict(optimizers[0].state_dict())
