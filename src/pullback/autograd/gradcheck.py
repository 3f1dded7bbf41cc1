"""``gradcheck`` and ``gradgradcheck``: derivatives against finite differences.

For each input element the function is evaluated a small step to both sides, and the difference quotients are the
columns of the numerical Jacobian; backward with unit seeds gives the rows of the analytical one. Complex inputs are
stepped along both axes: with ``a = ∂f/∂x`` and ``b = ∂f/∂y`` for ``z = x + iy``, PyTorch's convention makes backward
return the conjugate Wirtinger derivative (Kreutz-Delgado 2009, "The complex gradient operator").
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ..op import wrap
from ..tensor import Tensor
from .entry import grad
from .modes import enable_grad, no_grad


class GradcheckError(RuntimeError):
    """A derivative does not agree with finite differences."""


def gradcheck(func: Callable[..., Any], inputs: Any, *, eps: float = 1e-6, atol: float = 1e-5, rtol: float = 1e-3,
              raise_exception: bool = True, nondet_tol: float = 0.0, check_undefined_grad: bool = True,
              check_grad_dtypes: bool = False, check_batched_grad: bool = False, check_batched_forward_grad: bool = False,
              check_forward_ad: bool = False, check_backward_ad: bool = True, fast_mode: bool = False,
              masked: bool | None = None) -> bool:  # fmt: skip
    """Whether backward through ``func`` agrees with finite differences.

    Args:
        func: takes the inputs, returns a tensor or several.
        inputs: a tensor or several; those that require grad should be float64 or complex128.
        eps: the step. atol, rtol: how close numerical and analytical derivatives have to be.
        raise_exception: raise instead of returning False.
        nondet_tol: how much two backward passes may differ.
        fast_mode: compare one random projection of the Jacobian instead of every element.

    Raises:
        GradcheckError: naming the output, the input and both Jacobians.

    >>> import pullback as torch
    >>> x = torch.tensor([0.5, 2.0], dtype=torch.float64, requires_grad=True)
    >>> torch.autograd.gradcheck(lambda x: x ** 3, (x,))
    True
    """
    try:
        _check(func, _tuple(inputs), eps, atol, rtol, nondet_tol, check_undefined_grad, check_batched_grad, fast_mode)
    except GradcheckError:
        if raise_exception:
            raise
        return False
    return True


def gradgradcheck(func: Callable[..., Any], inputs: Any, grad_outputs: Any = None, *, eps: float = 1e-6, atol: float = 1e-5,
                  rtol: float = 1e-3, gen_non_contig_grad_outputs: bool = False, raise_exception: bool = True,
                  nondet_tol: float = 0.0, check_undefined_grad: bool = True, check_grad_dtypes: bool = False,
                  check_batched_grad: bool = False, check_fwd_over_rev: bool = False, check_rev_over_rev: bool = True,
                  fast_mode: bool = False, masked: bool = False) -> bool:  # fmt: skip
    """Whether backward through the backward of ``func`` agrees with finite differences.

    Args:
        grad_outputs: seeds of the first backward; random ones by default.

    The other arguments are those of :func:`gradcheck`.

    >>> import pullback as torch
    >>> x = torch.tensor([0.5, 2.0], dtype=torch.float64, requires_grad=True)
    >>> torch.autograd.gradgradcheck(lambda x: x ** 3, (x,))
    True
    """
    given = _tuple(inputs)
    if grad_outputs is None:
        rng = np.random.default_rng(0)
        outputs = _differentiable(func(*given))
        seeds = tuple(wrap(_random(rng, o._array)).requires_grad_() for o in outputs)
    else:
        seeds = _tuple(grad_outputs)
    n = len(seeds)

    @enable_grad()
    def first_gradients(*args: Any) -> tuple[Any, ...]:
        ins, gs = args[:-n], args[-n:]
        outs = _differentiable(func(*ins))
        wanted = tuple(x for x in ins if isinstance(x, Tensor) and x.requires_grad)
        grads = grad(outs, wanted, gs, create_graph=True, allow_unused=True)
        return tuple(g for g in grads if isinstance(g, Tensor))

    return gradcheck(first_gradients, given + seeds, eps=eps, atol=atol, rtol=rtol, raise_exception=raise_exception,
                     nondet_tol=nondet_tol, check_undefined_grad=check_undefined_grad, check_batched_grad=check_batched_grad,
                     fast_mode=fast_mode)  # fmt: skip


def _tuple(x: Any) -> tuple[Any, ...]:
    return (x,) if isinstance(x, Tensor) else tuple(x)


def _differentiable(outputs: Any) -> tuple[Tensor, ...]:
    return tuple(o for o in _tuple(outputs) if isinstance(o, Tensor) and o.requires_grad)


def _random(rng: np.random.Generator, like: np.ndarray) -> np.ndarray:
    a = rng.standard_normal(like.shape)
    if like.dtype.kind == "c":
        a = a + 1j * rng.standard_normal(like.shape)
    return np.asarray(a, like.dtype)


def _check(func: Callable, inputs: tuple[Any, ...], eps: float, atol: float, rtol: float, nondet_tol: float, undefined: bool,
           batched: bool, fast: bool) -> None:  # fmt: skip
    wanted = [i for i, x in enumerate(inputs) if isinstance(x, Tensor) and x.requires_grad]
    if not wanted:
        raise ValueError("gradcheck expects at least one input tensor to require gradient, but none of the them have requires_grad=True.")
    for i in wanted:
        a = inputs[i]._array
        if a.dtype not in (np.float64, np.complex128):
            import warnings

            warnings.warn(f"Input #{i} requires gradient and is not a double precision floating point or complex. This check will "
                          "likely fail if all the inputs are not of double precision floating point or complex. ", stacklevel=4)  # fmt: skip
        if 0 in a.strides and a.size > 1 and any(s == 0 and n > 1 for s, n in zip(a.strides, a.shape)):
            raise RuntimeError(f"The {i}th input has a dimension with stride 0. gradcheck only supports inputs that are non-overlapping to "
                               "be able to compute the numerical gradients correctly. You should call .contiguous on the input before "
                               "passing it to gradcheck.")  # fmt: skip
    with enable_grad():
        outputs = _tuple(func(*inputs))
    tracked = [(j, o) for j, o in enumerate(outputs) if isinstance(o, Tensor) and o.requires_grad]
    for j, o in enumerate(outputs):
        if isinstance(o, Tensor) and not o.requires_grad and o._array.dtype.kind in "fc":
            for i in wanted:
                if np.any(_numerical(func, inputs, i, [j], eps)[0][0] != 0):
                    raise GradcheckError(f"Numerical gradient for function expected to be zero\n  output {j} does not require grad, but "
                                         f"depends on input {i}")  # fmt: skip
    if not tracked:
        return
    numerical = {i: _numerical(func, inputs, i, [j for j, _ in tracked], eps) for i in wanted}
    rng = np.random.default_rng(1)
    for k, (j, o) in enumerate(tracked):
        if fast:
            seeds = [_random(rng, o._array)]
        else:
            units = np.eye(o._array.size, dtype=o._array.dtype).reshape(o._array.size, *o._array.shape)
            seeds = [*units, *(1j * units)] if o._array.dtype.kind == "c" else list(units)
        for v in seeds:
            grads = _backward(o, [inputs[i] for i in wanted], v)
            again = _backward(o, [inputs[i] for i in wanted], v)
            for i, g, h in zip(wanted, grads, again):
                if not np.allclose(g, h, atol=nondet_tol, rtol=0, equal_nan=True):
                    raise GradcheckError("Backward is not reentrant, i.e., running backward with same input and grad_output multiple times "
                                         f"gives different values, although analytical gradient matches numerical gradient."
                                         f"\n  output {j}, input {i}")  # fmt: skip
                if g.shape != inputs[i]._array.shape:
                    raise GradcheckError("grad is incorrect size")
                expected = _pulled(numerical[i][k], v, inputs[i]._array)
                if not np.allclose(g, expected, atol=atol, rtol=rtol, equal_nan=True):
                    raise GradcheckError(f"Jacobian mismatch for output {j} with respect to input {i},\n"
                                         f"numerical:{expected}\nanalytical:{g}\n  both pulled back from the seed {v.tolist()}")  # fmt: skip
    if batched:
        _check_batched(tracked, inputs, wanted, rng, atol, rtol)


def _backward(o: Tensor, inputs: Sequence[Tensor], v: np.ndarray) -> list[np.ndarray]:
    grads = grad(o, inputs, wrap(v.copy()), retain_graph=True, allow_unused=True)
    return [np.zeros_like(x._array) if g is None else g._array for g, x in zip(grads, inputs)]


def _numerical(func: Callable, inputs: tuple[Any, ...], i: int, outputs: list[int], eps: float) -> list[tuple[Any, Any]]:
    """For each output the derivatives along the real and the imaginary axis of input ``i``, as (elements, *output shape)."""
    x = inputs[i]._array
    along: list[list[Any]] = [[] for _ in outputs]
    along_imaginary: list[list[Any]] = [[] for _ in outputs]
    with no_grad():
        for step, store in ((eps, along), (1j * eps, along_imaginary)):
            if step != eps and x.dtype.kind != "c":
                continue
            for index in np.ndindex(x.shape):
                sides = []
                for sign in (1, -1):
                    moved = x.copy()
                    moved[index] += sign * step
                    values = _tuple(func(*inputs[:i], wrap(moved).requires_grad_(), *inputs[i + 1 :]))
                    sides.append([np.array(values[j]._array) for j in outputs])
                for s, (up, down) in zip(store, zip(*sides)):
                    s.append((up - down) / (2 * eps))
    return [(np.array(a), np.array(b) if x.dtype.kind == "c" else None) for a, b in zip(along, along_imaginary)]


def _pulled(columns: tuple[Any, Any], v: np.ndarray, x: np.ndarray) -> np.ndarray:
    """The seed pulled back through the numerical Jacobian: ``Re(conj(v)·a) + i Re(conj(v)·b)`` for complex inputs."""
    real, imaginary = columns
    if x.size == 0:
        return np.zeros_like(x)
    flat = v.reshape(-1)
    pull = lambda c: (c.reshape(x.size, flat.size) @ flat.conj()).real  # noqa: E731
    g = pull(real)
    if imaginary is not None:
        g = g + 1j * pull(imaginary)
    return g.reshape(x.shape)


def _check_batched(tracked: Any, inputs: tuple[Any, ...], wanted: list[int], rng: Any, atol: float, rtol: float) -> None:
    for j, o in tracked:
        seeds = [_random(rng, o._array) for _ in range(2)]
        ins = [inputs[i] for i in wanted]
        rows = [_backward(o, ins, v) for v in seeds]
        batch = grad(o, ins, wrap(np.stack(seeds)), retain_graph=True, allow_unused=True, is_grads_batched=True)
        for i, g, *single in zip(wanted, batch, *rows):
            if g is not None and not np.allclose(g._array, np.stack(single), atol=atol, rtol=rtol):
                raise GradcheckError(f"For output {j} and input {i}: gradients computed for a batch of seeds differ from those one by one")
