"""``rand``, ``randn``, ``randint``, ``normal``, ``bernoulli``, ``multinomial``, ``uniform_``, ...; ``manual_seed``.

After ``manual_seed`` the numbers are PyTorch's, bit for bit (:mod:`pullback.rng.generator`). Sampling is not
differentiable; scaling and shifting the samples is (:mod:`pullback.distributions`). Every function takes
``generator=``, by default the one that ``manual_seed`` seeds.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from math import prod
from typing import Any

import numpy as np

from ..base import dtypes, thread_state
from ..base.device import CPU, check_device
from ..base.dtypes import FLOATING, INT64, OF_NUMPY, as_dtype, type_name
from ..base.errors import broadcast_error, not_a_tensor, with_notes
from ..base.layout import FORMATS
from ..core import inplace, level, op, versions, views
from ..core.inplace import assign, broadcast, write_out
from ..core.op import add_method
from ..core.record import wrap
from ..core.tensor import Tensor
from ..rng.generator import Generator as Streams
from ..rng.generator import check_deviations
from .arithmetic import mul
from .compare import zero_gradient
from .create import as_number, empty_like, fill_given, kind_given, new_leaf, parse_size, strided_only
from .reduce import sum_to
from .values.meta import Meta, on_meta
from .view import expand, expand_error

__all__ = [
    "Generator",
    "bernoulli",
    "binomial",
    "default_generator",
    "get_rng_state",
    "initial_seed",
    "manual_seed",
    "multinomial",
    "normal",
    "poisson",
    "rand",
    "rand_like",
    "randint",
    "randint_like",
    "randn",
    "randn_like",
    "randperm",
    "seed",
    "set_rng_state",
]


class Generator(Streams):
    """A random number generator, whose state is a tensor of bytes.

    >>> import pullback as torch
    >>> g = torch.Generator().manual_seed(0)
    >>> torch.rand(2, generator=g)
    tensor([0.4963, 0.7682])
    """

    __slots__ = ()

    def manual_seed(self, seed: int) -> Generator:
        """Seed the generator."""
        if thread_state.local.trace is not None:
            thread_state.local.trace.seed()
        super().manual_seed(seed)
        return self

    def get_state(self) -> Tensor:  # type: ignore[override]
        """The whole state: 5056 bytes, as PyTorch's."""
        return wrap(np.array(super().get_state()))

    def set_state(self, state: Tensor) -> Generator:
        """Continue from a state."""
        if thread_state.local.trace is not None:
            thread_state.local.trace.seed()
        super().set_state(state._array if isinstance(state, Tensor) else state)
        return self


default_generator = Generator()


def manual_seed(seed: int) -> Generator:
    """Seed the default generator.

    >>> import pullback as torch
    >>> _ = torch.manual_seed(0); torch.rand(2)
    tensor([0.4963, 0.7682])
    """
    return default_generator.manual_seed(int(seed))


def seed() -> int:
    """Seed the default generator from the operating system, and return the seed."""
    return default_generator.seed()


def initial_seed() -> int:
    """The seed of the default generator."""
    return default_generator.initial_seed()


def get_rng_state() -> Tensor:
    """The state of the default generator."""
    return default_generator.get_state()


def set_rng_state(new_state: Tensor) -> None:
    """Let the default generator continue from a state."""
    default_generator.set_state(new_state)


# --- new tensors ------------------------------------------------------------------------------------------------


def draw_unless_meta(shape: tuple[int, ...], draw: Any, d: Any, device: Any) -> Any:
    """Random numbers for a new tensor; on ``meta`` none are drawn."""
    if device is not CPU and (device is not None or thread_state.slow_path_reasons) and on_meta(device):
        return Meta(shape, d.numpy)
    return level.sample(shape, draw)


def _make_sampler(name: str, method: str, in_place: str, doc: str) -> Any:
    def sample(
        *args: Any,
        size: Any = None,
        generator: Streams | None = None,
        out: Any = None,
        dtype: Any = None,
        layout: Any = None,
        device: Any = None,
        requires_grad: bool = False,
        pin_memory: bool = False,
    ) -> Tensor:
        if device is not None:
            check_device(device)
        shape = parse_size(args if size is None else (size,), name)
        if out is not None:
            kind_given(out, dtype, device, layout)
            return fill_given(out, shape, lambda o: getattr(o, in_place)(generator=generator), name, requires_grad)
        strided_only(layout, in_place)
        d = dtypes.get_default_dtype() if dtype is None else as_dtype(dtype)
        if d.category < FLOATING:
            raise NotImplementedError(f"\"{method}\" not implemented for '{type_name(d)}'")
        draw = lambda shape: getattr(generator or default_generator, method)(shape, d.numpy)  # noqa: E731
        return new_leaf(draw_unless_meta(shape, draw, d, device), requires_grad, device=device)

    sample.__name__ = sample.__qualname__ = name
    sample.__doc__ = f"""{doc}

    Args:
        args: the shape, as numbers or one sequence.
        generator: default: the one that ``manual_seed`` seeds.
        dtype: default: the default float type.

    >>> import pullback as torch
    >>> torch.{name}(2, 3).shape
    torch.Size([2, 3])
    """
    return sample


rand = _make_sampler("rand", "uniform", "uniform_", "Uniform numbers in [0, 1).")
randn = _make_sampler("randn", "normal", "normal_", "Standard normal numbers.")


def _drawn_like(
    input: Tensor,
    name: str,
    sampler: Any,
    in_place: str,
    bounds: tuple[int, ...],
    *,
    dtype: Any = None,
    layout: Any = None,
    device: Any = None,
    requires_grad: bool = False,
    pin_memory: bool = False,
    memory_format: Any = None,
    generator: Any = None,
) -> Tensor:
    if not isinstance(input, Tensor):
        raise not_a_tensor(name, "input", 0, input)
    a = input._array
    strided_only(layout or input.layout, in_place)
    # a tensor of the same memory format, filled in memory order
    if memory_format in FORMATS or a.__class__ is np.ndarray and not a.flags.c_contiguous:
        t = empty_like(input, dtype=dtype, layout=layout, device=device, memory_format=memory_format)
        return getattr(t, in_place)(*bounds, generator=generator).requires_grad_(requires_grad)
    return sampler(
        *bounds,
        size=a.shape,
        dtype=input.dtype if dtype is None else dtype,
        device=input.device if device is None else device,
        requires_grad=requires_grad,
        generator=generator,
    )


def _make_like(sampler: Any, name: str, in_place: str) -> Any:
    method = in_place[:-1]

    def sample(input: Tensor, **options: Any) -> Tensor:
        if not options and input.__class__ is Tensor and not thread_state.slow_path_reasons:
            a = input._array
            if a.flags.c_contiguous and OF_NUMPY[a.dtype].category == FLOATING:
                return wrap(getattr(default_generator, method)(a.shape, a.dtype))
        return _drawn_like(input, name, sampler, in_place, (), **options)

    sample.__name__ = sample.__qualname__ = name
    sample.__doc__ = f"Like :func:`{sampler.__name__}`, in ``input``'s shape and type."
    return sample


rand_like, randn_like = _make_like(rand, "rand_like", "uniform_"), _make_like(randn, "randn_like", "normal_")


def randint(
    low: int = 0,
    high: Any = None,
    size: Any = None,
    *,
    generator: Streams | None = None,
    out: Any = None,
    dtype: Any = None,
    layout: Any = None,
    device: Any = None,
    requires_grad: bool = False,
) -> Tensor:
    """Integers in [low, high), by default int64; ``randint(high, size)`` starts at 0.

    >>> import pullback as torch
    >>> torch.randint(3, 4, (2,))
    tensor([3, 3])
    """
    check_device(device)
    if size is None:
        low, high, size = (0, low, high) if high is not None and not isinstance(high, int) else (low, high, size)
    elif high is None:
        low, high = 0, low
    if size is None:
        raise TypeError("randint() missing the argument 'size': a tuple, such as randint(0, 10, (3,))")
    low, high = as_number(low), as_number(high)
    for name, bound in (("low", low), ("high", high)):
        if not isinstance(bound, int):
            raise with_notes(
                TypeError("randint() received an invalid combination of arguments"),
                f"{name} must be int, not {type(bound).__name__}.",
            )
    if low >= high:
        raise RuntimeError(f"random_ expects 'from' to be less than 'to', but got from={low} >= to={high}")
    shape = parse_size((size,))
    if out is not None:
        kind_given(out, dtype, device, layout)
        return fill_given(out, shape, lambda o: o.random_(low, high, generator=generator), "randint", requires_grad)
    strided_only(layout, "random_.from")
    d = dtypes.int64 if dtype is None else as_dtype(dtype)
    draw = lambda shape: (generator or default_generator).random(shape, d.numpy, low, high)  # noqa: E731
    return new_leaf(draw_unless_meta(shape, draw, d, device), requires_grad, device=device)


def randint_like(input: Tensor, low: int = 0, high: int | None = None, **options: Any) -> Tensor:
    """Like :func:`randint`, in ``input``'s shape and type."""
    return _drawn_like(input, "randint_like", randint, "random_", (0, low) if high is None else (low, high), **options)


def randperm(
    n: int,
    *,
    generator: Streams | None = None,
    out: Any = None,
    dtype: Any = None,
    layout: Any = None,
    device: Any = None,
    requires_grad: bool = False,
    pin_memory: bool = False,
) -> Tensor:
    """0 to ``n - 1`` in random order.

    >>> import pullback as torch
    >>> torch.randperm(4).sort().values
    tensor([0, 1, 2, 3])
    """
    check_device(device)
    strided_only(layout, "randperm.generator_out")
    dtype, device = kind_given(out, dtype, device)
    d = dtypes.int64 if dtype is None else as_dtype(dtype)
    g = generator or default_generator

    def draw(shape: tuple[int, ...]) -> np.ndarray:
        rows = [g.randperm(n, d.numpy) for _ in range(prod(shape[:-1]))]
        return rows[0] if len(shape) == 1 else np.stack(rows).reshape(shape)

    t = new_leaf(draw_unless_meta((n,), draw, d, device), requires_grad, device=device)
    return t if out is None else fill_given(out, (n,), lambda o: views.write_result(o, t), "randperm", requires_grad)


def normal(
    mean: Any = 0.0,
    std: Any = 1.0,
    size: Any = None,
    *,
    generator: Streams | None = None,
    out: Any = None,
    dtype: Any = None,
    layout: Any = None,
    device: Any = None,
    requires_grad: bool = False,
    pin_memory: bool = False,
) -> Tensor:
    """Normal numbers. Mean and standard deviation are numbers (give a ``size`` then) or tensors that broadcast.

    >>> import pullback as torch
    >>> torch.normal(0.0, 1.0, (2, 3)).shape
    torch.Size([2, 3])
    """
    check_device(device)
    g = generator or default_generator
    if isinstance(mean, Tensor) or isinstance(std, Tensor):
        shapes = [v._array.shape for v in (mean, std) if isinstance(v, Tensor)]
        shape = inplace.broadcast(*shapes)
        if shape is None:
            raise broadcast_error("normal", shapes)  # type: ignore[misc]
        if out is not None:
            return _normal_into(out, shape, mean, std, g)
        values = sampled([mean, std], g.normal_around)
        batched = thread_state.local.batches and isinstance(values, level.LevelValue)
        return (
            wrap(values)
            if batched
            else record_normal(*(v if isinstance(v, Tensor) else None for v in (mean, std)), values)
        )
    shape = parse_size((size,))
    strided_only(layout, "normal_")
    if out is not None:
        kind_given(out, dtype, device)
        return fill_given(
            out, shape, lambda o: o.normal_(float(mean), float(std), generator=g), "normal", requires_grad
        )
    d = dtypes.get_default_dtype() if dtype is None else as_dtype(dtype)
    return new_leaf(
        draw_unless_meta(shape, lambda shape: g.normal(shape, d.numpy, float(mean), float(std)), d, device),
        requires_grad,
        device=device,
    )


def _normal_into(out: Any, shape: tuple[int, ...], mean: Any, std: Any, generator: Streams) -> Tensor:
    """:func:`normal` of tensors, drawn in the order of the memory of ``out``."""
    inplace.check_target(out, "normal", *[v for v in (mean, std) if isinstance(v, Tensor)])
    mean, std = (v.detach().clone() if isinstance(v, Tensor) else v for v in (mean, std))  # out may be one of them
    varied = isinstance(std, Tensor)
    if varied:
        check_deviations(std._array)

    def fill(out: Tensor) -> None:
        out.normal_(0.0, 1.0 if varied else float(std), generator=generator)
        if varied:
            out.mul_(std)
        out.add_(mean)

    return fill_given(out, shape, fill, "normal")


@op.general(name="bernoulli", method=False, holomorphic=False)
def record_bernoulli(input: Tensor, values: Any) -> Tensor:
    """Samples drawn with ``input`` as parameter; its gradient is 0."""
    return values


record_bernoulli.vjp(input=lambda g, input_shape: sum_to(zero_gradient(g), input_shape))


@op.general(name="normal", method=False, holomorphic=False)
def record_normal(mean: Tensor | None = None, std: Tensor | None = None, values: Any = None) -> Tensor:
    """Samples drawn with these parameters, whose gradients are 0, as in PyTorch (``rsample`` of
    ``torch.distributions`` is differentiable).
    """
    return values


record_normal.vjp(
    mean=lambda g, mean_shape: sum_to(zero_gradient(g), mean_shape),
    std=lambda g, std_shape: sum_to(zero_gradient(g), std_shape),
)


def sampled(parameters: list[Any], draw: Any, shape: Any = None, dtype: Any = None) -> Any:
    """What is drawn with these tensors or numbers as parameters; on ``meta`` nothing is, and the result is of the shape
    and type given, or of those of the parameters.
    """
    arrays = [p._array if isinstance(p, Tensor) else p for p in parameters]
    if not any([a.__class__ is Meta for a in arrays]):
        return level.sample_from(arrays, draw)
    known = [a for a in arrays if hasattr(a, "shape")]
    return Meta(np.broadcast_shapes(*[a.shape for a in known]) if shape is None else shape, dtype or known[0].dtype)


def bernoulli(input: Tensor, p: float | None = None, *, generator: Streams | None = None, out: Any = None) -> Tensor:
    """1 with the probability that ``input`` says element by element (or ``p`` everywhere), else 0, in ``input``'s type.

    >>> import pullback as torch
    >>> torch.bernoulli(torch.tensor([0.0, 1.0]))
    tensor([0., 1.])
    """
    g = generator or default_generator
    if not isinstance(input, Tensor):
        raise not_a_tensor("bernoulli", "input", 0, input)
    if out is not None:
        inplace.check_target(out, "bernoulli", input)
        given, shape = input.detach().clone() if p is None else float(p), input._array.shape  # out may be the input
        return fill_given(out, shape, lambda o: o.bernoulli_(given, generator=g), "bernoulli")
    values = sampled([input], lambda a: g.bernoulli(a) if p is None else g.bernoulli(float(p), a.shape, a.dtype))
    return (
        wrap(values)
        if thread_state.local.batches and isinstance(values, level.LevelValue)
        else record_bernoulli(input, values)
    )


def multinomial(
    input: Tensor, num_samples: int, replacement: bool = False, *, generator: Streams | None = None, out: Any = None
) -> Tensor:
    """Indices drawn by weight, from each row of ``input``.

    Args:
        input: weights, ``(n,)`` or ``(rows, n)``; not negative, not all 0.
        num_samples: how many a row; at most ``n`` without replacement.

    Returns:
        int64, ``(num_samples,)`` or ``(rows, num_samples)``.

    >>> import pullback as torch
    >>> torch.multinomial(torch.tensor([0.0, 1.0, 0.0]), 2, replacement=True)
    tensor([1, 1])
    """
    g = generator or default_generator

    def draw(a: np.ndarray) -> np.ndarray:
        out = g.multinomial(a if a.ndim < 3 else a.reshape(-1, a.shape[-1]), num_samples, replacement)
        return out if a.ndim < 3 else out.reshape(*a.shape[:-1], num_samples)

    if len(input._array.shape) > 2:
        raise RuntimeError("prob_dist must be 1 or 2 dim")
    if isinstance(out, Tensor) and out.dtype is not dtypes.int64:
        raise RuntimeError(f"multinomial expects Long tensor out, got: {type_name(out.dtype)}")
    t = wrap(sampled([input], draw, (*input._array.shape[:-1], num_samples), INT64))
    return t if out is None else write_out(out, t)


def poisson(input: Tensor, generator: Streams | None = None) -> Tensor:
    """Poisson numbers of the rates in ``input``, in its type."""
    return wrap(sampled([input], (generator or default_generator).poisson))


def binomial(count: Tensor, prob: Tensor, generator: Streams | None = None) -> Tensor:
    """How many of ``count`` trials succeed, each with probability ``prob``."""
    return wrap(sampled([count, prob], (generator or default_generator).binomial))


for _fn in (bernoulli, multinomial):
    add_method(_fn, _fn.__name__)


# --- in place ---------------------------------------------------------------------------------------------------


def fill_random(x: Tensor, name: str, draw: Any, *parameters: Tensor) -> Tensor:
    """Write what ``draw(shape, *parameters)`` gives into a tensor, in the order of its memory, as PyTorch does.

    Args:
        parameters: tensors that broadcast to ``x``.
    """
    views.check_writable(x)
    a, given = x._array, [p._array for p in parameters]
    if a.__class__ is np.ndarray:
        versions.refuse_repeats(a)
    if a.__class__ is Meta:  # draws nothing
        versions.bump_tensor_version(x)
        return x
    for p in given:
        if broadcast(p.shape, a.shape) != a.shape:
            raise RuntimeError(expand_error(p, list(a.shape)))

    def in_order(*arrays: np.ndarray) -> np.ndarray:
        order = sorted(range(a.ndim), key=lambda i: -abs(a.strides[i])) if not a.flags.c_contiguous else range(a.ndim)
        there = [np.broadcast_to(p, a.shape).transpose(order) for p in arrays]
        return draw(tuple([a.shape[i] for i in order]), *there).transpose(np.argsort(order))

    if thread_state.local.batches:
        values = thread_state.local.batches[-1].sample_into(x, draw, *given)
    elif given:
        values = level.traced_draw_from(given, in_order)
    else:
        values = level.traced_draw((lambda: draw(a.shape)) if a.flags.c_contiguous else in_order)
    if x._fn is None and isinstance(values, level.LevelValue):
        return views.write_result(x, wrap(values))
    if x._fn is None:
        a[...] = values
        versions.bump_tensor_version(x)
        return x
    return assign(x, name, mul(x, 0) + wrap(values))  # the old value's gradient is 0


def _memory_order(a: np.ndarray) -> list[int]:
    """The dimensions from the outermost in memory to the innermost."""
    return sorted(range(a.ndim), key=lambda i: -abs(a.strides[i]))


def _coins(x: Tensor, g: Streams, p: Any = 0.5) -> Any:
    """What ``bernoulli_`` draws: tensors of probabilities are read in the order in which ``x`` is filled."""
    a, d = x._array, x._array.dtype
    if isinstance(p, Tensor):
        p = p._array
        if a.__class__ is p.__class__ is np.ndarray:
            p = expand(wrap(p), a.shape)._array
            p = p if a.flags.c_contiguous else p.transpose(_memory_order(a))
    return lambda shape: g.bernoulli(p, shape, d)


def _make_inplace(name: str, doc: str, draw: Any) -> None:
    def method(self: Tensor, *args: Any, generator: Streams | None = None, **kwargs: Any) -> Tensor:
        return fill_random(self, name, draw(self, generator or default_generator, *args, **kwargs))

    method.__name__ = method.__qualname__ = name
    method.__doc__ = f"Fill this tensor with {doc}. Returns it."
    add_method(method, name)


_make_inplace(
    "uniform_",
    "uniform numbers in [from, to)",
    lambda x, g, low=0.0, high=1.0, **k: (
        lambda shape: g.uniform(shape, x._array.dtype, k.get("from", k.get("a", low)), k.get("to", k.get("b", high)))
    ),
)
_make_inplace(
    "normal_",
    "normal numbers",
    lambda x, g, mean=0.0, std=1.0: (
        lambda shape: g.normal(shape, x._array.dtype, float(mean), float(std), contiguous=x._array.flags.c_contiguous)
    ),
)
_make_inplace(
    "exponential_",
    "exponential numbers of rate ``lambd``",
    lambda x, g, lambd=1.0: lambda shape: g.exponential(shape, x._array.dtype, lambd),
)
_make_inplace(
    "cauchy_",
    "Cauchy numbers",
    lambda x, g, median=0.0, sigma=1.0: lambda shape: g.cauchy(shape, x._array.dtype, median, sigma),
)
_make_inplace(
    "log_normal_",
    "log-normal numbers",
    lambda x, g, mean=1.0, std=2.0: lambda shape: g.log_normal(shape, x._array.dtype, mean, std),
)
_make_inplace(
    "geometric_",
    "geometric numbers of probability ``p``",
    lambda x, g, p: lambda shape: g.geometric(shape, x._array.dtype, p),
)
_make_inplace(
    "random_",
    "integers in [from, to), or of the whole range of its type",
    lambda x, g, *bounds, **k: lambda shape: g.random(shape, x._array.dtype, *_parse_bounds(*bounds, **k)),
)


def bernoulli_(self: Tensor, p: Any = 0.5, *, generator: Streams | None = None) -> Tensor:
    """Fill this tensor with 1 with probability ``p`` (a number, or a tensor that broadcasts), else 0. Returns it.

    >>> import pullback as torch
    >>> torch.empty(2, 2).bernoulli_(torch.tensor([0.0, 1.0]))
    tensor([[0., 1.],
            [0., 1.]])
    """
    g, d = generator or default_generator, self._array.dtype
    if isinstance(p, Tensor):
        return fill_random(self, "bernoulli_", lambda shape, a: g.bernoulli(a, shape, d), p)
    return fill_random(self, "bernoulli_", lambda shape: g.bernoulli(p, shape, d))


add_method(bernoulli_, "bernoulli_")


def _parse_bounds(*bounds: Any, **named: Any) -> tuple[Any, Any]:
    low, high = named.get("from"), named.get("to")
    if len(bounds) == 1:
        return 0, bounds[0]
    return bounds if bounds else (low if low is not None or high is None else 0, high)


@contextmanager
def fork_rng(devices: Any = None, enabled: bool = True, **kwargs: Any) -> Iterator[None]:
    """Restore the state of the default generator after the block, as if nothing had been drawn inside.

    >>> import pullback as torch
    >>> _ = torch.manual_seed(0)
    >>> with torch.random.fork_rng(): _ = torch.rand(5)
    >>> torch.rand(2)
    tensor([0.4963, 0.7682])
    """
    state = get_rng_state()
    try:
        yield
    finally:
        if enabled:
            set_rng_state(state)
