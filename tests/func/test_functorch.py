"""``functorch``'s own functions: modules as functions of their parameters."""

import pytest

import pullback as torch
from pullback._C._functorch import reshape_dim_into, reshape_dim_outof
from pullback._functorch.vmap import restore_vmap
from pullback.functorch import combine_state_for_ensemble, grad, make_functional, make_functional_with_buffers, vmap
from pullback.functorch.experimental import chunk_vmap


def test_a_module_as_a_function():
    torch.manual_seed(0)
    model, x = torch.nn.Sequential(torch.nn.Linear(2, 3), torch.nn.Tanh()), torch.randn(4, 2)
    f, parameters = make_functional(model)
    assert torch.equal(f(parameters, x), model(x)) and all(p.requires_grad for p in parameters)
    each = vmap(grad(lambda p, x: f(p, x).sum()), (None, 0))(parameters, x)
    model(x).sum().backward()
    assert all(torch.allclose(g.sum(0), p.grad, atol=1e-6) for g, p in zip(each, model.parameters()))
    assert not any(p.requires_grad for p in make_functional(model, disable_autograd_tracking=True)[1])


def test_buffers():
    model = torch.nn.BatchNorm1d(2).eval()
    with pytest.raises(RuntimeError, match="has buffers"):
        make_functional(model)
    f, parameters, buffers = make_functional_with_buffers(model)
    x = torch.randn(3, 2)
    assert len(buffers) == 3 and torch.equal(f(parameters, buffers, x), model(x))


def test_ensembles():
    models = [torch.nn.Linear(2, 1) for _ in range(3)]
    f, parameters, buffers = combine_state_for_ensemble(models)
    x = torch.randn(5, 2)
    together = vmap(f, (0, 0, None))(parameters, buffers, x)
    assert torch.allclose(together, torch.stack([m(x) for m in models])) and not together.requires_grad


def test_chunks():
    f = chunk_vmap(lambda x: x.sum(0), in_dims=1, out_dims=1, chunks=3)
    assert torch.equal(f(torch.ones(2, 5, 3)), torch.full((3, 5), 2.0))
    assert chunk_vmap(torch.dot)(torch.ones(1, 2), torch.ones(1, 2)).tolist() == [2]


def test_restore_vmap_says_where_the_batch_is():
    f = restore_vmap(lambda x, y: {"x": x * 1, "given": x, "y": y, "n": 3}, (1, None), 3, "error")
    values, dims = f(torch.ones(2, 3), torch.ones(4))
    assert dims == {"x": 0, "given": 1, "y": None, "n": None} and values["n"] == 3
    assert values["x"].shape == (3, 2) and values["given"].shape == (2, 3) and values["y"].shape == (4,)


def test_a_dimension_into_another_and_back():
    x = torch.arange(24).reshape(2, 3, 4)
    into = reshape_dim_into(1, 1, x)
    assert torch.equal(into, x.permute(0, 1, 2).reshape(2, 12)) and reshape_dim_into(-1, 0, x).shape == (8, 3)
    assert torch.equal(reshape_dim_outof(-1, 3, into), x)
    with pytest.raises(RuntimeError, match="12 elements is not 5 times"):
        reshape_dim_outof(1, 5, into)


@pytest.mark.parametrize("name", ["silu", "sigmoid", "tanh", "mish", "hardswish"])
def test_backward_functions(name):
    x = torch.randn(5, dtype=torch.float64, requires_grad=True)
    y = getattr(torch.nn.functional, name)(x)
    (g,) = torch.autograd.grad(y.sum(), x)
    saved = y if name in ("sigmoid", "tanh") else x
    assert torch.equal(getattr(torch.ops.aten, f"{name}_backward")(torch.ones_like(y), saved), g)


def test_native_dropout():
    x = torch.ones(50, requires_grad=True)
    torch.manual_seed(0)
    y, kept = torch.native_dropout(x, 0.5, True)
    torch.manual_seed(0)
    assert torch.equal(y, torch.nn.functional.dropout(x)) and torch.equal(y, 2.0 * kept)
    assert torch.equal(torch.autograd.grad(y.sum(), x)[0], 2.0 * kept)
    assert torch.native_dropout(x, 0.5, False)[1].all() and not torch.native_dropout(x, 1.0, True)[1].any()


def test_no_chunks_are_refused():
    for chunks in (0, -1):
        with pytest.raises(RuntimeError, match=f"chunk expects `chunks` to be greater than 0, got: {chunks}"):
            chunk_vmap(lambda x: x, chunks=chunks)


def test_data_is_not_set_under_vmap():
    def of_example(x):
        y = x * 1
        y.data = torch.zeros(2)
        return y

    def to_example(x):
        torch.ones(2).data = x
        return x

    for f in (of_example, to_example):
        with pytest.raises(RuntimeError, match="mutating directly with `.data` under vmap transform is not allowed."):
            torch.vmap(f)(torch.ones(3, 2))
