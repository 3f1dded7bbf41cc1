"""``functorch``'s own functions: modules as functions of their parameters."""

import pytest

import pullback as torch
from pullback.functorch import combine_state_for_ensemble, grad, make_functional, make_functional_with_buffers, vmap


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
