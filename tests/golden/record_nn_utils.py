"""Small programs about ``nn.utils``, and the recorder of what PyTorch 2.13 says to them.

Run it where PyTorch is installed to write ``nn_utils.json`` beside it; see :mod:`programs`.
"""

from __future__ import annotations

import copy
import pickle
from importlib import import_module
from typing import Any

from programs import Programs, attempt, lin

programs = Programs("nn_utils.json")


def linear(torch: Any, n_in: int = 4, n_out: int = 3, seed: int = 0) -> Any:
    torch.manual_seed(seed)
    return torch.nn.Linear(n_in, n_out).double()


def names(module: Any) -> list[Any]:
    return [[name, list(t.shape)] for name, t in module.state_dict().items()]


def gradients(torch: Any, module: Any, x: Any) -> list[Any]:
    module.zero_grad()
    module(x).square().sum().backward()
    return [[name, None if p.grad is None else p.grad.tolist()] for name, p in module.named_parameters()]


def symmetric(torch: Any) -> Any:
    class Symmetric(torch.nn.Module):
        def forward(self, x: Any) -> Any:
            return x.triu() + x.triu(1).mT

        def right_inverse(self, a: Any) -> Any:
            return a.triu()

    return Symmetric()


def rank_one(torch: Any) -> Any:
    class RankOne(torch.nn.Module):
        def forward(self, x: Any, y: Any) -> Any:
            return x.unsqueeze(-1) @ y.unsqueeze(-2)

        def right_inverse(self, z: Any) -> Any:
            return z[:, 0].clone(), z[0].clone()

    return RankOne()


def scaled(torch: Any, factor: float = 2.0) -> Any:
    class Scaled(torch.nn.Module):
        def forward(self, x: Any) -> Any:
            return x * factor

    return Scaled()


# --- parametrize ----------------------------------------------------------------------------------------------


@programs
def one_parametrization(torch):
    P = torch.nn.utils.parametrize
    m = linear(torch, 3, 3)
    yield [P.is_parametrized(m), P.is_parametrized(m, "weight"), P.type_before_parametrizations(m).__name__]
    yield P.register_parametrization(m, "weight", symmetric(torch)) is m
    yield [repr(m), type(m).__name__, names(m), isinstance(m, torch.nn.Linear)]
    yield [P.is_parametrized(m), P.is_parametrized(m, "weight"), P.is_parametrized(m, "bias")]
    yield [P.type_before_parametrizations(m).__name__, m.weight.tolist(), m.weight is m.weight]
    yield [m.parametrizations.weight.original.tolist(), m.weight.requires_grad, len(m.parametrizations.weight)]
    yield gradients(torch, m, torch.ones(1, 3).double())
    m.weight = torch.eye(3).double() * 4
    yield [m.weight.tolist(), m.parametrizations.weight.original.tolist()]
    yield attempt(lambda: m.parametrizations.weight.right_inverse(torch.eye(3)))
    with P.cached():
        yield [m.weight is m.weight, P.is_parametrized(m)]
    yield m.weight is m.weight
    yield attempt(lambda: pickle.dumps(m))
    twin = copy.deepcopy(m)
    twin.weight = torch.zeros(3, 3).double()
    yield [type(twin).__name__, twin.weight.tolist(), m.weight.tolist()]
    yield attempt(lambda: P.remove_parametrizations(m, "bias"))
    before = m.parametrizations.weight.original
    yield P.remove_parametrizations(m, "weight") is m
    yield [repr(m), type(m).__name__, names(m), m.weight is before, type(m.weight).__name__, m.weight.tolist()]
    yield [P.is_parametrized(m), hasattr(m, "parametrizations")]


@programs
def several_parametrizations(torch):
    P = torch.nn.utils.parametrize
    m = linear(torch, 3, 3)
    P.register_parametrization(m, "weight", scaled(torch))
    P.register_parametrization(m, "weight", symmetric(torch))
    P.register_parametrization(m, "bias", scaled(torch, 3.0))
    yield [repr(m), names(m), m.weight.tolist(), m.bias.tolist()]
    yield attempt(lambda: setattr(m, "weight", torch.zeros(3, 3)))
    P.remove_parametrizations(m, "weight", leave_parametrized=False)
    yield [type(m).__name__, m.weight.tolist(), names(m)]
    P.remove_parametrizations(m, "bias")
    yield [type(m).__name__, m.bias.tolist(), names(m)]
    m.eval()
    P.register_parametrization(m, "weight", symmetric(torch))
    yield [m.parametrizations.weight[0].training, m.training]


@programs
def several_originals(torch):
    P = torch.nn.utils.parametrize
    m = linear(torch, 3, 3)
    P.register_parametrization(m, "weight", rank_one(torch))
    yield [names(m), m.weight.tolist()]
    yield gradients(torch, m, torch.ones(1, 3).double())
    m.weight = torch.ones(3, 3).double()
    yield [m.weight.tolist(), m.parametrizations.weight.original1.tolist()]
    yield attempt(lambda: P.remove_parametrizations(m, "weight", leave_parametrized=False))
    P.remove_parametrizations(m, "weight")
    yield [type(m).__name__, names(m), type(m.weight).__name__, m.weight.requires_grad]


@programs
def parametrized_buffers(torch):
    P = torch.nn.utils.parametrize
    m = linear(torch, 3, 3)
    m.register_buffer("kept", torch.arange(9.0).reshape(3, 3))
    P.register_parametrization(m, "kept", symmetric(torch))
    yield [names(m), m.kept.tolist(), [name for name, _ in m.named_buffers()], m.kept.requires_grad]
    P.remove_parametrizations(m, "kept")
    yield [[name for name, _ in m.named_buffers()], m.kept.tolist()]


@programs
def parametrizations_refused(torch):
    P = torch.nn.utils.parametrize
    Module = torch.nn.Module

    def module(forward: Any, inverse: Any = None) -> Any:
        made = Module()
        made.forward = forward
        if inverse is not None:
            made.right_inverse = inverse
        return made

    def given(*args: Any, **options: Any) -> Any:
        m = lin(torch, 3, 3)
        if options.pop("twice", False):
            P.register_parametrization(m, "weight", symmetric(torch))
        return attempt(lambda: P.register_parametrization(m, "weight", *args, **options) and None)

    yield attempt(lambda: P.register_parametrization(lin(torch), "none", symmetric(torch)))
    yield attempt(lambda: P.ParametrizationList([], torch.zeros(1)))
    for twice in (False, True):
        yield given(module(lambda x: 3), twice=twice)
        yield given(module(lambda x: x.double()), twice=twice)
        yield given(module(lambda x: x.double()), twice=twice, unsafe=True)
        yield given(module(lambda x: x[0]), twice=twice)
        yield given(module(lambda x: x, lambda x: 3), twice=twice)
        yield given(module(lambda x: x, lambda x: [x, 3]), twice=twice)
        yield given(module(lambda x: x, lambda x: x.double()), twice=twice)
        yield given(module(lambda x: x, lambda x: x[0]), twice=twice)


@programs
def parametrizations_transferred(torch):
    P = torch.nn.utils.parametrize
    a, b = linear(torch, 3, 3), linear(torch, 3, 3, seed=1)
    yield P.transfer_parametrizations_and_params(a, b) is b
    yield type(b).__name__
    P.register_parametrization(a, "weight", symmetric(torch))
    P.transfer_parametrizations_and_params(a, b)
    yield [type(b).__name__, b.parametrizations.weight.original is a.parametrizations.weight.original]
    yield torch.equal(a.weight, b.weight)
    c = torch.nn.Module()
    P.transfer_parametrizations_and_params(a, c, "weight")
    yield [type(c).__name__, names(c), torch.equal(c.weight, a.weight)]


# --- parametrizations -----------------------------------------------------------------------------------------


@programs
def parametrized_weight_norm(torch):
    N = torch.nn.utils.parametrizations
    x = torch.arange(8.0).reshape(2, 4).double() / 8
    for dim in (0, 1, None):
        m = N.weight_norm(linear(torch), dim=dim)
        yield [names(m), m(x).tolist(), m.parametrizations.weight.original0.tolist()]
        yield gradients(torch, m, x)
    yield repr(m)
    conv = N.weight_norm(torch.nn.Conv1d(2, 3, 2).double(), "weight", dim=1)
    yield [names(conv), conv.parametrizations.weight.original0.tolist()]
    old = linear(torch, seed=2).state_dict()
    old = {"weight_g": torch.ones(3, 1).double(), "weight_v": old["weight"], "bias": old["bias"]}
    m = N.weight_norm(linear(torch))
    yield [repr(m.load_state_dict(old)), m.weight.tolist()]
    yield attempt(lambda: N.weight_norm(linear(torch), "none"))


@programs
def parametrized_spectral_norm(torch):
    N = torch.nn.utils.parametrizations
    x = torch.arange(8.0).reshape(2, 4).double() / 8
    m = N.spectral_norm(linear(torch))
    yield [names(m), repr(m), m.weight.tolist(), torch.linalg.svdvals(m.weight)[0].item()]
    yield gradients(torch, m, x)
    m.eval()
    before = m.parametrizations.weight[0]._u.tolist()
    yield [m.weight.tolist(), m.parametrizations.weight[0]._u.tolist() == before]
    v = N.spectral_norm(linear(torch), "bias")
    yield [v.bias.tolist(), names(v)]
    torch.manual_seed(0)
    c = N.spectral_norm(torch.nn.ConvTranspose1d(2, 3, 2).double(), n_power_iterations=2)
    yield [names(c), c.weight.tolist()]
    yield attempt(lambda: N.spectral_norm(linear(torch), n_power_iterations=0))
    yield attempt(lambda: N.spectral_norm(linear(torch), dim=2))
    yield attempt(lambda: N.spectral_norm(linear(torch), "none"))
    m.train()
    (m(x).sum() - m(2 * x).sum()).backward()
    yield m.parametrizations.weight.original.grad.tolist()


@programs
def orthogonal(torch):
    N = torch.nn.utils.parametrizations
    x = torch.arange(8.0).reshape(2, 4).double() / 8
    for kind in (None, "matrix_exp", "cayley", "householder"):
        for shape in ((4, 4), (4, 3), (4, 6)):
            for based in (True, False):
                m = N.orthogonal(linear(torch, *shape), orthogonal_map=kind, use_trivialization=based)
                q = m.weight if shape[1] <= shape[0] else m.weight.T
                one = torch.eye(q.shape[0]).double()
                yield [torch.allclose(q @ q.T, one), names(m)]
                # What completes a base to a square matrix is random, and its sign LAPACK's.
                if not based or shape == (4, 4):
                    yield [m(x).tolist(), gradients(torch, m, x)]
    yield repr(m)
    m = N.orthogonal(linear(torch, 4, 4))
    m.weight = torch.eye(4).double()
    yield torch.allclose(m.weight, torch.eye(4).double())
    yield attempt(lambda: setattr(m, "weight", torch.eye(3)))
    m = N.orthogonal(linear(torch, 4, 4), use_trivialization=False)
    yield attempt(lambda: setattr(m, "weight", torch.eye(4)))
    yield attempt(lambda: N.orthogonal(linear(torch), "bias"))
    yield attempt(lambda: N.orthogonal(linear(torch), "none"))
    yield attempt(lambda: N.orthogonal(linear(torch), orthogonal_map="none"))
    c = torch.nn.Linear(3, 3, dtype=torch.complex128)
    yield attempt(lambda: N.orthogonal(c, orthogonal_map="householder"))
    q = N.orthogonal(c).weight
    yield torch.allclose(q @ q.mH, torch.eye(3, dtype=torch.complex128))


# --- the older forms ------------------------------------------------------------------------------------------


@programs
def hooked_weight_norm(torch):
    U = torch.nn.utils
    x = torch.arange(8.0).reshape(2, 4).double() / 8
    for dim in (0, 1, None):
        m = U.weight_norm(linear(torch), dim=dim)
        yield [repr(m), names(m), m(x).tolist(), m.weight_g.tolist()]
        yield gradients(torch, m, x)
    yield attempt(lambda: U.weight_norm(m))
    with torch.no_grad():
        m.weight_g.mul_(2)
    m(x)
    yield [U.remove_weight_norm(m) is m, names(m), m.weight.tolist(), len(m._forward_pre_hooks)]
    yield attempt(lambda: U.remove_weight_norm(m))
    yield attempt(lambda: U.weight_norm(torch.nn.LazyLinear(2)))


@programs
def hooked_spectral_norm(torch):
    U = torch.nn.utils
    x = torch.arange(8.0).reshape(2, 4).double() / 8
    m = U.spectral_norm(linear(torch), n_power_iterations=2)
    yield [repr(m), names(m), m(x).tolist(), m.weight_u.tolist()]
    yield gradients(torch, m, x)
    m.eval()
    yield [m(x).tolist(), m.weight_u.tolist()]
    m.train()
    (m(x).sum() - m(2 * x).sum()).backward()
    yield attempt(lambda: U.spectral_norm(m))
    yield m.state_dict()._metadata
    twin = U.spectral_norm(linear(torch, seed=3))
    yield [repr(twin.load_state_dict(m.state_dict())), twin.eval()(x).tolist()]
    old = m.state_dict()
    old["weight"] = m.weight.detach()
    del old["weight_v"]
    old._metadata[""] = {"version": 1}
    twin = U.spectral_norm(linear(torch, seed=3))
    yield [repr(twin.load_state_dict(old)), twin.eval()(x).tolist()]
    del old["weight_u"]
    yield attempt(lambda: twin.load_state_dict(old))
    yield [U.remove_spectral_norm(m) is m, names(m), m.weight.tolist(), m.state_dict()._metadata]
    yield attempt(lambda: U.remove_spectral_norm(m))
    yield attempt(lambda: U.spectral_norm(linear(torch), n_power_iterations=0))
    yield attempt(lambda: U.spectral_norm(torch.nn.LazyLinear(2)))
    yield attempt(lambda: U.spectral_norm(torch.nn.Linear(2, 2, bias=False), "bias"))
    yield names(U.spectral_norm(torch.nn.ConvTranspose2d(2, 3, 1)))


# --- prune ----------------------------------------------------------------------------------------------------


@programs
def pruned(torch):
    prune = import_module(f"{torch.__name__}.nn.utils.prune")
    x = torch.arange(8.0).reshape(2, 4).double() / 8
    for call in (
        lambda m: prune.identity(m, "weight"),
        lambda m: prune.random_unstructured(m, "weight", amount=0.3),
        lambda m: prune.random_unstructured(m, "weight", amount=0),
        lambda m: prune.l1_unstructured(m, "weight", amount=5),
        lambda m: prune.l1_unstructured(m, "weight", 0.5, importance_scores=-torch.arange(12.0).reshape(3, 4)),
        lambda m: prune.random_structured(m, "weight", amount=2, dim=1),
        lambda m: prune.ln_structured(m, "weight", amount=0.5, n=2, dim=1),
        lambda m: prune.ln_structured(m, "weight", amount=1, n=float("-inf"), dim=-2),
        lambda m: prune.ln_structured(m, "weight", amount=0, n=1, dim=0),
        lambda m: prune.custom_from_mask(m, "bias", torch.tensor([0, 1, 0])),
    ):
        m = linear(torch)
        yield [call(m) is m, names(m), repr(m), prune.is_pruned(m)]
        yield [m(x).tolist(), {k: t.tolist() for k, t in m.named_buffers()}, m.weight.tolist()]
        yield gradients(torch, m, x)
        yield [m.weight.grad_fn is None, m.bias.grad_fn is None]


@programs
def pruned_again(torch):
    prune = import_module(f"{torch.__name__}.nn.utils.prune")
    x = torch.arange(8.0).reshape(2, 4).double() / 8
    m = linear(torch)
    prune.ln_structured(m, "weight", amount=1, n=1, dim=1)
    prune.l1_unstructured(m, "weight", amount=3)
    prune.random_structured(m, "weight", amount=1, dim=0)
    prune.random_unstructured(m, "weight", amount=0.25)
    hook = next(iter(m._forward_pre_hooks.values()))
    yield [len(m._forward_pre_hooks), type(hook).__name__, len(hook), [type(method).__name__ for method in hook]]
    yield [m.weight_mask.tolist(), m(x).tolist(), hook[0].amount]
    yield gradients(torch, m, x)
    yield [prune.is_pruned(m), prune.is_pruned(torch.nn.Sequential(m))]
    original = m.weight_orig
    yield [prune.remove(m, "weight") is m, names(m), m.weight.tolist(), m.weight is original]
    yield [prune.is_pruned(m), repr(type(m.weight).__name__)]
    yield attempt(lambda: prune.remove(m, "weight"))


@programs
def pruned_globally(torch):
    prune = import_module(f"{torch.__name__}.nn.utils.prune")
    torch.manual_seed(0)
    net = torch.nn.Sequential(torch.nn.Linear(4, 3), torch.nn.Linear(3, 2)).double()
    both = [(net[0], "weight"), (net[1], "bias")]
    prune.global_unstructured(both, pruning_method=prune.L1Unstructured, amount=4)
    yield [names(net), [t.tolist() for t in net.buffers()]]
    prune.global_unstructured(both, prune.RandomUnstructured, amount=0.5)
    yield [[t.tolist() for t in net.buffers()], [t.tolist() for t in net.parameters()]]
    scores = {both[1]: torch.tensor([9.0, -9.0]).double()}
    prune.global_unstructured(both, prune.L1Unstructured, scores, amount=1)
    yield [t.tolist() for t in net.buffers()]
    yield attempt(lambda: prune.global_unstructured(3, prune.L1Unstructured, amount=1))
    yield attempt(lambda: prune.global_unstructured(both, prune.L1Unstructured, [], amount=1))
    yield attempt(lambda: prune.global_unstructured(both, prune.LnStructured, amount=1, n=1))


@programs
def pruning_refused(torch):
    prune = import_module(f"{torch.__name__}.nn.utils.prune")
    for amount in (-1, 1.5, "a", 99):
        m = linear(torch)
        yield [attempt(prune.l1_unstructured, m, "weight", amount), names(m)]
    yield attempt(lambda: prune.random_structured(linear(torch), "bias", 1, 0))
    yield attempt(lambda: prune.ln_structured(linear(torch), "weight", 1, 2, 2))
    yield attempt(lambda: prune.l1_unstructured(linear(torch), "weight", 1, torch.ones(3)))
    yield attempt(lambda: prune.custom_from_mask(linear(torch), "weight", torch.ones(3)))
    container = prune.PruningContainer()
    container._tensor_name = "weight"
    yield attempt(lambda: container.add_pruning_method(3))
    other = prune.Identity()
    other._tensor_name = "bias"
    yield attempt(lambda: container.add_pruning_method(other))["ValueError"].startswith(
        "Can only add pruning methods acting on the parameter named 'weight'"
    )
    # Python's own words, which go on differently since 3.12
    yield attempt(prune.BasePruningMethod)["TypeError"].startswith("Can't instantiate abstract class BasePruningMethod")


@programs
def pruned_tensors(torch):
    prune = import_module(f"{torch.__name__}.nn.utils.prune")
    t = torch.tensor([[1.0, -3.0], [2.0, 0.5]])
    yield prune.L1Unstructured(2).prune(t).tolist()
    yield prune.L1Unstructured(amount=1).prune(t, default_mask=torch.tensor([[1.0, 0.0], [1.0, 1.0]])).tolist()
    yield prune.L1Unstructured(1).prune(t, importance_scores=-t).tolist()
    yield prune.LnStructured(1, 2, dim=0).prune(t).tolist()
    yield attempt(lambda: prune.L1Unstructured(1).prune(t, importance_scores=torch.ones(1)))

    class Negative(prune.BasePruningMethod):
        PRUNING_TYPE = "unstructured"

        def compute_mask(self, t: Any, default_mask: Any) -> Any:
            return default_mask * (t > 0)

    m = linear(torch)
    Negative.apply(m, "weight")
    yield [(m.weight < 0).any().item(), m.weight_mask.tolist()]
    prune.l1_unstructured(m, "weight", 2)
    yield m.weight_mask.tolist()


# --- the rest -------------------------------------------------------------------------------------------------


@programs
def vectors(torch):
    U = torch.nn.utils
    m = linear(torch)
    vec = U.parameters_to_vector(m.parameters())
    yield [list(vec.shape), vec.requires_grad]
    U.vector_to_parameters(torch.arange(15.0).double(), m.parameters())
    yield [m.weight.tolist(), m.bias.tolist(), type(m.weight).__name__]
    yield attempt(lambda: U.vector_to_parameters([1.0], m.parameters()))


@programs
def stateless(torch):
    call = torch.nn.utils.stateless.functional_call
    m, x = linear(torch, 2, 2), torch.ones(1, 2).double()
    weight = torch.eye(2).double().requires_grad_()
    before = m.weight
    out = call(m, {"weight": weight, "bias": torch.zeros(2).double()}, x)
    yield [out.tolist(), m.weight is before]
    out.sum().backward()
    yield [weight.grad.tolist(), m.weight.grad, m.bias.grad is None]
    yield call(m, {"weight": weight}, (), {"input": x}).shape
    net = torch.nn.Sequential(m, torch.nn.BatchNorm1d(2).double(), m)
    given = {"0.weight": weight, "1.running_mean": torch.zeros(2).double()}
    x = torch.arange(6.0).reshape(3, 2).double()
    yield call(net, given, (x,)).tolist()
    yield [given["1.running_mean"].tolist(), net[1].running_mean.tolist()]
    yield call(net, {"0.weight": weight}, (x,), tie_weights=False).tolist()
    yield attempt(lambda: call(net, {"0.weight": weight, "2.weight": -weight}, x))
    yield attempt(lambda: call(m, {"weight": weight}, x, strict=True))
    yield attempt(lambda: call(m, {"weight": weight, "bias": weight[0], "more": weight}, x, strict=True))
    yield attempt(lambda: call(m, {"weight": 3}, x))
    yield attempt(lambda: call(torch.nn.DataParallel(m), {}, x))
    yield m.weight is before


@programs
def uninitialised(torch):
    skip = torch.nn.utils.skip_init
    torch.manual_seed(0)
    m = skip(torch.nn.Linear, 3, 2, bias=False, dtype=torch.float64)
    yield [names(m), str(m.weight.dtype), torch.rand(1).item()]
    yield attempt(lambda: skip(int))
    yield attempt(lambda: skip(torch.nn.ReLU))


@programs
def memory_formats(torch):
    convert = torch.nn.utils.convert_conv2d_weight_memory_format
    net = torch.nn.Sequential(torch.nn.Conv2d(3, 4, 2), torch.nn.ConvTranspose2d(4, 2, 2), torch.nn.Linear(2, 2))
    before = net[0].weight.tolist()
    yield convert(net, torch.channels_last) is net
    yield [list(m.weight.stride()) for m in net] + [net[0].weight.tolist() == before]


if __name__ == "__main__":
    programs.record()
