"""``vmap(randomness=...)``: what every random function draws for the examples, whatever it is given."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import pytest

pytestmark = pytest.mark.filterwarnings("ignore")


@pytest.fixture(params=["pullback", pytest.param("torch", marks=pytest.mark.torch)])
def torch(request: Any) -> Any:
    """A library, whose random numbers are the same each time: some draws have few outcomes."""
    library = pytest.importorskip(request.param)
    library.manual_seed(0)
    return library


def half(t: Any) -> Any:
    return t.full((8, 4), 0.5)


DRAWN: dict[str, Callable[[Any, Any], Any]] = {  # the parameters, if any, are not looked at
    "rand": lambda t, x: t.rand(4),
    "randint": lambda t, x: t.randint(0, 10**6, (4,)),
    "randperm": lambda t, x: t.randperm(50),
    "randn_like": lambda t, x: t.randn_like(x),
    "normal of numbers": lambda t, x: t.normal(0.0, 1.0, (4,)),
    "dropout": lambda t, x: t.nn.functional.dropout(x),
    "dropout2d": lambda t, x: t.nn.functional.dropout2d(x.reshape(4, 8, 1, 1)),
    "alpha_dropout": lambda t, x: t.alpha_dropout(x, 0.5, True),
    "feature_alpha_dropout": lambda t, x: t.feature_alpha_dropout(x.reshape(4, 8, 1), 0.5, True),
    "native_dropout": lambda t, x: t.native_dropout(x, 0.5, True)[0],
    "fractional_max_pool2d": lambda t, x: t.nn.functional.fractional_max_pool2d(
        t.arange(10000.0).reshape(1, 100, 100) * x[0, 0], 2, output_size=37
    ),
    "clone().normal_": lambda t, x: x.clone().normal_(),
}
PARAMETRIZED: dict[str, Callable[[Any, Any], Any]] = {
    "bernoulli": lambda t, x: t.bernoulli(x),
    "multinomial": lambda t, x: t.multinomial(x, 20, True),
    "normal": lambda t, x: t.normal(x, 1.0),
    "poisson": lambda t, x: t.poisson(x * 100),
    "binomial": lambda t, x: t.binomial(100 * t.ones(8, 4), x),
    "_standard_gamma": lambda t, x: t._standard_gamma(x),
    "_sample_dirichlet": lambda t, x: t._sample_dirichlet(x),
    "Gamma": lambda t, x: t.distributions.Gamma(x, 1.0).sample(),
    "Categorical": lambda t, x: t.distributions.Categorical(x).sample((20,)),
}


def distinct(rows: Any) -> int:
    """How many different ones there are."""
    return len({str(row.tolist()) for row in rows})


@pytest.mark.parametrize("name", [*DRAWN, *PARAMETRIZED])
@pytest.mark.parametrize("batched", [False, True])
def test_each_example(torch: Any, name: str, batched: bool) -> None:
    draw, parameter = (DRAWN | PARAMETRIZED)[name], half(torch)
    x = parameter.expand(4, 8, 4)
    if "clone" in name and not batched:
        pytest.skip("what the examples share is not written into")

    def run(randomness: str, **options: Any) -> Any:
        return torch.vmap(lambda a: draw(torch, a if batched else parameter), randomness=randomness, **options)(x)

    assert distinct(run("different")) == distinct(run("different", chunk_size=2)) == 4
    with pytest.raises(RuntimeError, match="called random operation while in randomness error mode"):
        run("error")
    if name in PARAMETRIZED and batched:
        with pytest.raises(RuntimeError, match="does not currently support same randomness with a batched tensor"):
            run("same")
    else:
        assert distinct(run("same")) == distinct(run("same", chunk_size=1)) == 1


@pytest.mark.parametrize("name", [n for n in [*DRAWN, *PARAMETRIZED] if "clone" not in n and n != "native_dropout"])
@pytest.mark.parametrize(("outer", "inner"), [*itertools.product(["same", "different"], repeat=2)])
def test_two_batches(torch: Any, name: str, outer: str, inner: str) -> None:
    draw, parameter = (DRAWN | PARAMETRIZED)[name], half(torch)
    f = torch.vmap(lambda _: draw(torch, parameter), randomness=inner)
    y = torch.vmap(lambda _: f(torch.zeros(3)), randomness=outer)(torch.zeros(2))
    assert distinct(row[0] for row in y) == (2 if outer == "different" else 1)
    assert all(distinct(row) == (3 if inner == "different" else 1) for row in y)


@pytest.mark.parametrize("name", ["_standard_gamma", "_sample_dirichlet"])
def test_gradients_of_samples(name: str) -> None:
    torch = pytest.importorskip("pullback")
    x = torch.rand(3, 4) + 0.5

    def total(a: Any) -> Any:
        return (getattr(torch, name)(a) * torch.arange(4.0)).sum()

    torch.manual_seed(0)
    together = torch.vmap(torch.func.grad(total), randomness="different")(x)
    torch.manual_seed(0)
    leaf = x.clone().requires_grad_()
    total(leaf).backward()
    torch.testing.assert_close(together, leaf.grad)


def test_bernoulli_with_probabilities_in_place(torch: Any) -> None:
    p = torch.tensor([0.0, 1.0, 0.0, 1.0])
    x = torch.zeros(3, 4)
    assert torch.equal(
        torch.vmap(lambda a, q: a.clone().bernoulli_(q), randomness="different")(x, p.expand(3, 4)), p.expand(3, 4)
    )
    assert torch.equal(torch.vmap(lambda a: a.clone().bernoulli_(p), randomness="different")(x), p.expand(3, 4))
    square = torch.tensor([[0.0, 1.0], [0.0, 1.0]])  # in the order of the memory of what is written, which is another
    assert torch.equal(torch.zeros(2, 2).T.bernoulli_(square), square)
    with pytest.raises(RuntimeError, match=r"expanded size of the tensor \(2\) must match the existing size \(3\)"):
        torch.zeros(2).bernoulli_(torch.rand(3))


def test_chunks_of_the_same_leave_the_generator_as_one_run(torch: Any) -> None:
    x, after = torch.zeros(4), []
    for chunk_size in (None, 2, 1):
        torch.manual_seed(0)
        torch.vmap(lambda _: torch.rand(3), randomness="same", chunk_size=chunk_size)(x)
        after.append(torch.rand(1).item())
    assert len(set(after)) == 1


def test_distributions_check_every_example(torch: Any) -> None:
    if torch.__name__ == "torch":
        pytest.skip("PyTorch refuses to look")
    with pytest.raises(ValueError, match="to satisfy the constraint"):
        torch.vmap(lambda s: torch.distributions.Normal(s, s).sample(), randomness="different")(
            torch.tensor([1.0, -1.0])
        )


def test_layers_made_inside(torch: Any) -> None:
    y = torch.vmap(lambda x: torch.nn.Linear(4, 2)(x), randomness="same")(torch.ones(3, 4))
    assert distinct(y) == 1
