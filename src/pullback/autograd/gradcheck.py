"""``gradcheck`` and ``gradgradcheck``: derivatives against finite differences.

For each input element the function is evaluated a small step to both sides, and the difference quotients are the
columns of the numerical Jacobian; backward with unit seeds gives the rows of the analytical one. Complex inputs are
stepped along both axes: with ``a = ∂f/∂x`` and ``b = ∂f/∂y`` for ``z = x + iy``, PyTorch's convention makes backward
return the conjugate Wirtinger derivative (Kreutz-Delgado 2009, "The complex gradient operator"). ``fast_mode`` compares
``vᵀJu`` for one random ``u`` and ``v`` instead.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ..base.thread_state import enable_grad
from ..core.level import concrete_array
from ..core.record import wrap
from ..core.tensor import Tensor
from ..engine.api import grad
from .function import BackwardNode

ndarray = np.ndarray


class GradcheckError(RuntimeError):
    """A derivative does not agree with finite differences."""


def gradcheck(
    func: Callable[..., Any],
    inputs: Any,
    *,
    eps: float = 1e-6,
    atol: float = 1e-5,
    rtol: float = 1e-3,
    raise_exception: bool = True,
    nondet_tol: float = 0.0,
    check_undefined_grad: bool = True,
    check_grad_dtypes: bool = False,
    check_batched_grad: bool = False,
    check_batched_forward_grad: bool = False,
    check_forward_ad: bool = False,
    check_backward_ad: bool = True,
    fast_mode: bool = False,
    masked: bool | None = None,
) -> bool:
    """Whether derivatives of ``func`` agree with finite differences.

    Args:
        func: takes the inputs, returns a tensor or several.
        inputs: a tensor or several; those that require grad should be float64 or complex128.
        eps: the step. atol, rtol: how close numerical and analytical derivatives have to be.
        raise_exception: raise instead of returning False.
        nondet_tol: how much two backward passes may differ.
        check_undefined_grad: a custom Function that does not materialize gradients has to accept None for each of them,
            and to return None or zeros if all are; an input without a tangent has to count as one whose tangent is
            zero.
        check_grad_dtypes: gradients have to be of their inputs' types.
        check_batched_grad, check_batched_forward_grad: compare derivatives for a batch of seeds with those one by one.
        check_forward_ad, check_backward_ad: check forward mode, backward mode.
        fast_mode: compare one random projection of the Jacobian instead of every element.
        masked: elements that a sparse input does not store are no inputs: their gradient has to be zero.

    Raises:
        GradcheckError: naming the output, the input and both Jacobians.

    >>> import pullback as torch
    >>> x = torch.tensor([0.5, 2.0], dtype=torch.float64, requires_grad=True)
    >>> torch.autograd.gradcheck(lambda x: x ** 3, (x,))
    True
    """
    if not (check_forward_ad or check_backward_ad):
        raise AssertionError("Expected at least one of check_forward_ad or check_backward_ad to be True")
    if check_batched_grad and not check_backward_ad:
        raise AssertionError("Setting check_batched_grad=True requires check_backward_ad to be True")
    if check_batched_forward_grad and not check_forward_ad:
        raise AssertionError("Setting check_batched_forward_grad=True requires check_forward_ad to be True")
    check = _Check(func, _tuple(inputs), eps, atol, rtol, fast_mode, bool(masked))
    try:
        if check.outputs_depend():
            if check_backward_ad:
                check.backward(nondet_tol, check_grad_dtypes)
                if check_batched_grad:
                    check.batched()
                check.zero_seed()
                if check_undefined_grad:
                    check.undefined_seeds()
            if check_forward_ad:
                check.forward()
                if check_batched_forward_grad:
                    check.batched_tangents()
                if check_undefined_grad:
                    check.undefined_tangents()
    except GradcheckError:
        if raise_exception:
            raise
        return False
    return True


def gradgradcheck(
    func: Callable[..., Any],
    inputs: Any,
    grad_outputs: Any = None,
    *,
    eps: float = 1e-6,
    atol: float = 1e-5,
    rtol: float = 1e-3,
    gen_non_contig_grad_outputs: bool = False,
    raise_exception: bool = True,
    nondet_tol: float = 0.0,
    check_undefined_grad: bool = True,
    check_grad_dtypes: bool = False,
    check_batched_grad: bool = False,
    check_fwd_over_rev: bool = False,
    check_rev_over_rev: bool = True,
    fast_mode: bool = False,
    masked: bool = False,
) -> bool:
    """Whether derivatives of the backward of ``func`` agree with finite differences.

    Args:
        grad_outputs: seeds of the first backward; random ones by default.
        gen_non_contig_grad_outputs: make those lie in memory with gaps.
        check_fwd_over_rev, check_rev_over_rev: differentiate the backward in forward mode, in backward mode.

    The other arguments are those of :func:`gradcheck`.

    >>> import pullback as torch
    >>> x = torch.tensor([0.5, 2.0], dtype=torch.float64, requires_grad=True)
    >>> torch.autograd.gradgradcheck(lambda x: x ** 3, (x,))
    True
    """
    if not (check_fwd_over_rev or check_rev_over_rev):
        raise AssertionError("Expected at least one of check_fwd_over_rev or check_rev_over_rev to be True")
    given = _tuple(inputs)
    if grad_outputs is None:
        rng = np.random.default_rng(0)
        outputs = _differentiable(func(*given))
        arrays = [_random(rng, o._array) for o in outputs]
        if gen_non_contig_grad_outputs:
            arrays = [np.stack([a, a], -1)[..., 0] for a in arrays]
        seeds = tuple(wrap(a).requires_grad_() for a in arrays)
    else:
        seeds = _tuple(grad_outputs)
    n = len(seeds)
    positions = [i for i, x in enumerate(given) if isinstance(x, Tensor) and x.requires_grad]

    @enable_grad()
    def first_gradients(*args: Any) -> tuple[Any, ...]:
        ins, gs = list(args[:-n]), args[-n:]
        for i in positions:  # in forward mode they come without a history, which the first backward needs
            ins[i] = (
                ins[i]
                if ins[i].requires_grad
                else ins[i].detach()
                if not check_fwd_over_rev
                else ins[i].requires_grad_()
            )
        outs = _differentiable(func(*ins))
        grads = grad(outs, [ins[i] for i in positions], gs, create_graph=True, allow_unused=True)
        return tuple(g for g in grads if isinstance(g, Tensor))

    return gradcheck(
        first_gradients,
        given + seeds,
        eps=eps,
        atol=atol,
        rtol=rtol,
        raise_exception=raise_exception,
        nondet_tol=nondet_tol,
        check_undefined_grad=check_undefined_grad,
        check_grad_dtypes=check_grad_dtypes,
        check_batched_grad=check_batched_grad,
        fast_mode=fast_mode,
        check_forward_ad=check_fwd_over_rev,
        check_backward_ad=check_rev_over_rev,
        masked=masked,
    )


def _tuple(x: Any) -> tuple[Any, ...]:
    return (x,) if isinstance(x, Tensor) else tuple(x)


def _differentiable(outputs: Any) -> tuple[Tensor, ...]:
    return tuple(o for o in _tuple(outputs) if isinstance(o, Tensor) and o.requires_grad)


def _random(rng: np.random.Generator, like: ndarray) -> ndarray:
    a = rng.standard_normal(like.shape)
    if like.dtype.kind == "c":
        a = a + 1j * rng.standard_normal(like.shape)
    return np.asarray(a, like.dtype)


class _Check:
    """One check: the function, its inputs, and what it gave for them."""

    def __init__(
        self,
        func: Callable[..., Any],
        inputs: tuple[Any, ...],
        eps: float,
        atol: float,
        rtol: float,
        fast: bool,
        masked: bool = False,
    ) -> None:
        self.func, self.inputs, self.eps, self.atol, self.rtol, self.fast, self.masked = (
            func,
            inputs,
            eps,
            atol,
            rtol,
            fast,
            masked,
        )
        self.wanted = [i for i, x in enumerate(inputs) if isinstance(x, Tensor) and x.requires_grad]
        self._check_inputs()
        self.rng = np.random.default_rng(1)
        for i in self.wanted:
            if not inputs[i].is_leaf:
                inputs[i].retain_grad()
        with enable_grad():
            self.outputs = _tuple(func(*inputs))
        if any([isinstance(o, Tensor) and o.is_sparse for o in self.outputs]):
            raise ValueError(
                "Sparse output is not supported at gradcheck yet. Please call to_dense(masked_grad=...) on the output "
                "of fn for gradcheck."
            )
        self.tracked = [(j, o) for j, o in enumerate(self.outputs) if isinstance(o, Tensor) and o.requires_grad]

    def _check_inputs(self) -> None:
        if not self.wanted:
            raise ValueError(
                "gradcheck expects at least one input tensor to require gradient, but none of them have "
                "requires_grad=True."
            )
        for i in self.wanted:
            a = self.inputs[i]._array
            if a.dtype not in (np.float64, np.complex128):
                warnings.warn(
                    f"Input #{i} requires gradient and is not a double precision floating point or complex. This check "
                    "will likely fail if all the inputs are not of double precision floating point or complex. ",
                    stacklevel=4,
                )
            if 0 in a.strides and a.size > 1 and any(s == 0 and n > 1 for s, n in zip(a.strides, a.shape)):
                raise RuntimeError(
                    f"The {i}th input has a dimension with stride 0. gradcheck only supports inputs that are "
                    "non-overlapping to be able to compute the numerical gradients correctly. You should call "
                    ".contiguous on the input before passing it to gradcheck."
                )

    # Finite differences.

    def moved(self, i: int, step: Any, outputs: Sequence[int], index: Any) -> list[ndarray]:
        """The outputs for input ``i`` moved by ``step``, in place: the function may know the tensor by other ways,
        too.
        """
        x = self.inputs[i]
        if x.is_sparse or not x._array.flags.writeable:
            moved = wrap(np.asarray(x.detach().to_dense()._array + step, x._array.dtype))
            if x.is_sparse:  # it stores the same elements, or all of them
                moved = moved.sparse_mask(x if self.masked else wrap(np.ones(x.shape)).to_sparse(x.sparse_dim()))
            return self.values(outputs, index, *self.inputs[:i], moved.requires_grad_(), *self.inputs[i + 1 :])
        memory = concrete_array(x._array)
        before = memory.copy()
        memory[...] = before + step
        try:
            return self.values(outputs, index, *self.inputs)
        finally:
            memory[...] = before

    def values(self, outputs: Sequence[int], index: Any, *inputs: Any) -> list[ndarray]:
        """The outputs for these inputs."""
        values = _tuple(self.func(*inputs))
        for j in outputs:
            a, b = self.outputs[j]._array, values[j]._array
            for what, old, new in (("shape", tuple(a.shape), tuple(b.shape)), ("dtype", a.dtype, b.dtype)):
                if old != new:
                    raise AssertionError(
                        f"Expected `func` to return outputs with the same {what} when inputs are perturbed on index "
                        f"{index} by {self.eps}, but got: {what}s {old} and {new}."
                    )
        return [np.array(values[j]._array) for j in outputs]

    def quotients(self, i: int, direction: Any, outputs: Sequence[int], index: Any = None) -> list[ndarray]:
        """The difference quotient of each output along a direction of input ``i``."""
        up = self.moved(i, self.eps * direction, outputs, index)
        down = self.moved(i, -self.eps * direction, outputs, index)
        return [(a - b) / (2 * self.eps) for a, b in zip(up, down)]

    def numerical(self, i: int, outputs: Sequence[int]) -> list[tuple[ndarray, ndarray | None]]:
        """For each output the derivatives along the real and the imaginary axis of input ``i``, as ``(elements, *output
        shape)``.
        """
        x = self.inputs[i]._array
        axes: list[list[list[ndarray]]] = [[] for _ in range(2)]
        for unit, store in zip((1, 1j) if x.dtype.kind == "c" else (1,), axes):
            for index in np.ndindex(x.shape):
                direction = np.zeros(x.shape, x.dtype)
                direction[index] = unit
                store.append(self.quotients(i, direction, outputs, index))
        shape = lambda k: (x.size, *self.outputs[outputs[k]]._array.shape)  # noqa: E731
        gather = lambda store, k: np.array([q[k] for q in store]).reshape(shape(k))  # noqa: E731
        return [(gather(axes[0], k), gather(axes[1], k) if x.dtype.kind == "c" else None) for k in range(len(outputs))]

    # What is checked.

    def outputs_depend(self) -> bool:
        """Whether there is anything to differentiate; an output that claims not to depend on the inputs must not."""
        for j, o in enumerate(self.outputs):
            if isinstance(o, Tensor) and not o.requires_grad and o._array.dtype.kind in "fc":
                for i in self.wanted:
                    if any(np.any(axis) for axis in self.numerical(i, [j])[0] if axis is not None):
                        raise GradcheckError(
                            "Numerical gradient for function expected to be zero\n"
                            f"  output {j} does not require grad, but depends on input {i}"
                        )
        return bool(self.tracked)

    def backward(self, nondet_tol: float, dtypes: bool) -> None:
        numbers = [j for j, _ in self.tracked]
        numerical = None if self.fast else {i: self.numerical(i, numbers) for i in self.wanted}
        for k, (j, o) in enumerate(self.tracked):
            real = [(1, "While considering the real part of complex outputs only, ")]
            for axis, part in (
                [(1j, real[0][1].replace("real", "imaginary")), *real] if o._array.dtype.kind == "c" else [(1, "")]
            ):
                if numerical is None:
                    self._compare_projections(j, o, axis, part)
                else:
                    self._compare_jacobians(j, o, axis, part, {i: numerical[i][k] for i in self.wanted})
            self._compare_repeated(o, nondet_tol, dtypes)

    def _compare_jacobians(self, j: int, o: Tensor, axis: Any, part: str, numerical: dict[int, Any]) -> None:
        n = o._array.size
        seeds = axis * np.eye(n, dtype=o._array.dtype).reshape(n, *o._array.shape)
        rows = [self.gradients(o, v) for v in seeds]
        for position, i in enumerate(self.wanted):
            x = self.inputs[i]._array
            analytical = np.array([row[position].reshape(-1) for row in rows]).T.reshape(x.size, n)
            expected = np.array([_pulled(numerical[i], v, x).reshape(-1) for v in seeds]).T.reshape(x.size, n)
            if not np.allclose(analytical, expected, atol=self.atol, rtol=self.rtol, equal_nan=True):
                raise GradcheckError(
                    f"{part}Jacobian mismatch for output {j} with respect to input {i},\nnumerical:{wrap(expected)}\n"
                    f"analytical:{wrap(analytical)}\n"
                )

    def _compare_projections(self, j: int, o: Tensor, axis: Any, part: str) -> None:
        v = axis * self.rng.random(o._array.shape)
        grads = self.gradients(o, np.asarray(v, o._array.dtype))
        for i, g in zip(self.wanted, grads):
            u = self.direction(i)
            (along,) = self.quotients(i, u, [j])
            numerical, analytical = np.vdot(v, along).real, np.vdot(g, u).real
            atol = self.atol * max(1.0, float(np.abs(u).sum())) * max(1.0, float(np.abs(v).sum()))
            if not np.allclose(analytical, numerical, atol=atol, rtol=self.rtol, equal_nan=True):
                raise GradcheckError(
                    f"{part}Jacobian mismatch for output {j} with respect to input {i},\nnumerical:{numerical}\n"
                    f"analytical:{analytical}\n  (one random projection of both, in fast mode)\n"
                )

    def direction(self, i: int) -> ndarray:
        x = self.inputs[i]._array
        u = self.rng.random(x.shape)
        return np.asarray(u + 1j * self.rng.random(x.shape) if x.dtype.kind == "c" else u, x.dtype)

    def _compare_repeated(self, o: Tensor, nondet_tol: float, dtypes: bool) -> None:
        v = _random(self.rng, o._array)
        for i, g, h in zip(self.wanted, self.gradients(o, v, dtypes), self.gradients(o, v)):
            if not np.allclose(g, h, atol=nondet_tol, rtol=0, equal_nan=True):
                raise GradcheckError(
                    "Backward is not reentrant, i.e., running backward with same input and grad_output multiple times "
                    "gives "
                    "different values, although analytical gradient matches numerical gradient. The tolerance for "
                    f"nondeterminism was {nondet_tol}.\n  input {i}"
                )

    def gradients(self, o: Tensor, v: ndarray, dtypes: bool = False) -> list[ndarray]:
        inputs = [self.inputs[i] for i in self.wanted]
        grads = grad(o, inputs, wrap(np.array(v)), retain_graph=True, allow_unused=True)
        for g, x in zip(grads, inputs):
            if dtypes and g is not None and g.dtype is not x.dtype:
                raise GradcheckError(f"grad has dtype {g.dtype}, but its input {x.dtype}")
        return [
            np.zeros(x.shape, x._array.dtype) if g is None else np.asarray(g.to_dense()._array)
            for g, x in zip(grads, inputs)
        ]

    def zero_seed(self) -> None:
        """A seed of zeros has to give zeros."""
        inputs = [self.inputs[i] for i in self.wanted]
        grads: Sequence[Tensor | None] = grad(
            [o for _, o in self.tracked],
            inputs,
            [wrap(np.zeros_like(o._array)) for _, o in self.tracked],
            retain_graph=True,
            allow_unused=True,
        )
        for g, x in zip(grads, inputs):
            if g is None:
                continue
            if g._array.shape != x._array.shape:
                raise GradcheckError("grad is incorrect size")
            if g.is_sparse and not x.is_sparse:
                raise GradcheckError(f"grad is incorrect layout ({g.layout} is not {x.layout})")
            if g.is_sparse and g.sparse_dim() != x.sparse_dim():
                raise GradcheckError(
                    f"grad is sparse tensor, but has incorrect sparse_dim {g.sparse_dim()}, expected {x.sparse_dim()}"
                )
            if np.any(np.asarray(g.to_dense()._array)):
                raise GradcheckError("backward not multiplied by grad_output")

    def undefined_seeds(self) -> None:
        """What custom Functions do with None for gradients."""
        for node in {id(n): n for n in [getattr(o._fn, "node", o._fn) for _, o in self.tracked]}.values():
            if not isinstance(node, BackwardNode) or node.materialize_grads:
                continue
            shapes, types = (
                (node._shape, node._dtype) if node._shape.__class__ is list else ([node._shape], [node._dtype])
            )
            zeros = [None if s is None else wrap(np.zeros(s, d)) for s, d in zip(shapes, types)]
            seeds: list[list[Any]] = [[None] * len(zeros)]
            if len(zeros) > 1:
                seeds += [[None if i == k else z for i, z in enumerate(zeros)] for k in range(len(zeros))]
            for given in seeds:
                try:
                    grads = node._function._backward_of()(node, *given)
                except RuntimeError as error:
                    raise GradcheckError(
                        "Expected backward function to handle undefined output grads. Please look at 'Notes about "
                        "undefined "
                        f"output gradients' in tools/autograd/derivatives.yaml\n{error}"
                    ) from error
                for g in grads if isinstance(grads, tuple) else (grads,):
                    if isinstance(g, Tensor) and np.any(g._array != 0):
                        raise GradcheckError(
                            "Expected all input grads to be undefined or zero when all output grads are undefined or "
                            "zero. "
                            "Please look at 'Notes about undefined output gradients' in tools/autograd/derivatives.yaml"
                        )

    def batched(self) -> None:
        for j, o in self.tracked:
            seeds = [_random(self.rng, o._array) for _ in range(2)]
            inputs = [self.inputs[i] for i in self.wanted]
            rows = [self.gradients(o, v) for v in seeds]
            try:
                batch = grad(
                    o, inputs, wrap(np.stack(seeds)), retain_graph=True, allow_unused=True, is_grads_batched=True
                )
            except RuntimeError as error:
                raise GradcheckError(
                    "gradcheck or gradgradcheck failed while testing batched gradient computation.\nThis could have "
                    "been "
                    "invoked in a number of ways (via a test that calls gradcheck/gradgradcheck directly or via an "
                    f"autogenerated test).\n{error}"
                ) from error
            for i, g, *single in zip(self.wanted, batch, *rows):
                if g is not None and not np.allclose(g._array, np.stack(single), atol=self.atol, rtol=self.rtol):
                    raise GradcheckError(
                        f"For output {j} and input {i}:\n\ngradcheck or gradgradcheck failed while testing batched "
                        f"gradient "
                        "computation: gradients computed for a batch of seeds differ from those one by one"
                    )

    def pushed(self, given: dict[int, Tensor]) -> list[Tensor]:
        """The tangents of the outputs for tangents of some inputs; those of the others are undefined."""
        from ..levels.forward import dual_level, make_dual, unpack_dual

        with dual_level():
            plain = [x.detach() if i in self.wanted else x for i, x in enumerate(self.inputs)]
            values = _tuple(self.func(*[make_dual(x, given[i]) if i in given else x for i, x in enumerate(plain)]))
            tangents = [(o, unpack_dual(values[j]).tangent) for j, o in self.tracked]
            return [wrap(np.zeros_like(o._array)) if t is None else t for o, t in tangents]

    def zero_tangents(self) -> dict[int, Tensor]:
        return {i: wrap(np.zeros_like(self.inputs[i]._array)) for i in self.wanted}

    def forward(self) -> None:
        """Tangents against difference quotients."""
        numbers = [j for j, _ in self.tracked]
        push = lambda i, u: [t._array for t in self.pushed({**self.zero_tangents(), i: wrap(u)})]  # noqa: E731
        for i in self.wanted:
            x = self.inputs[i]._array
            if self.fast:
                u = self.direction(i)
                columns = [(u, push(i, u), self.quotients(i, u, numbers))]
            else:
                units = np.eye(x.size, dtype=x.dtype).reshape(x.size, *x.shape)
                columns = [
                    (u, push(i, u), self.quotients(i, u, numbers))
                    for u in ([*units, *(1j * units)] if x.dtype.kind == "c" else units)
                ]
            for k, j in enumerate(numbers):
                analytical = np.array([pushed[k].reshape(-1) for _, pushed, _ in columns])
                numerical = np.array([along[k].reshape(-1) for _, _, along in columns])
                atol = self.atol * (max(1.0, float(np.abs(columns[0][0]).sum())) if self.fast else 1.0)
                if not np.allclose(analytical, numerical, atol=atol, rtol=self.rtol, equal_nan=True):
                    raise GradcheckError(
                        f"Jacobian computed with forward mode mismatch for output {j} with respect to input "
                        f"{i},\nnumerical:"
                        f"{wrap(numerical)}\nanalytical:{wrap(analytical)}\n"
                    )

    def batched_tangents(self) -> None:
        """Tangents computed for a batch against those one by one."""
        from ..levels.vmap import BatchOfSeeds

        for i in self.wanted:
            us = [self.direction(i) for _ in range(2)]
            rows = [self.pushed({i: wrap(u)}) for u in us]
            try:
                with BatchOfSeeds(len(us)) as batch:
                    together = [batch.unwrap(t)._array for t in self.pushed({i: batch.wrap(wrap(np.stack(us)))})]
            except RuntimeError as error:
                raise GradcheckError(
                    f"While computing batched gradients, got: {error}\n\ngradcheck failed while testing batched "
                    f"gradient "
                    "computation with forward-mode AD."
                ) from error
            for all_at_once, *single in zip(together, *rows):
                if not np.allclose(all_at_once, np.stack([t._array for t in single]), atol=self.atol, rtol=self.rtol):
                    raise GradcheckError(f"For input {i}: tangents computed for a batch differ from those one by one")

    def undefined_tangents(self) -> None:
        """An input without a tangent against one whose tangent is zero, while all others have one."""
        us = {i: wrap(self.direction(i)) for i in self.wanted}
        for i, zero in self.zero_tangents().items():
            with_zero, without = self.pushed({**us, i: zero}), self.pushed({k: u for k, u in us.items() if k != i})
            for (j, _), expected, got in zip(self.tracked, with_zero, without):
                if not np.allclose(expected._array, got._array, atol=self.atol, rtol=self.rtol):
                    raise GradcheckError(
                        f"Mismatch in tangent values for output with index: {j} when input: {i} has an undefined "
                        f"tangent value. Got: {got} but expected: {expected}"
                    )


def _pulled(columns: tuple[Any, Any], v: ndarray, x: ndarray) -> ndarray:
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


# --- old names ------------------------------------------------------------------------------------------------------


def _deprecated(name: str, grad_out: float) -> None:
    warnings.warn(
        f"`{name}` was part of PyTorch's private API and not meant to be exposed. We are deprecating it and it will be "
        "removed in a future version of PyTorch.",
        FutureWarning,
        stacklevel=3,
    )
    if grad_out != 1.0:
        raise ValueError(f"Expected grad_out to be 1.0. {name} no longer supports values of grad_out != 1.0.")


def get_numerical_jacobian(
    fn: Callable[..., Any], inputs: Any, target: Any = None, eps: float = 1e-3, grad_out: float = 1.0
) -> Any:
    """The numerical Jacobians of ``fn(inputs)``'s first output with respect to each input, ``(elements of input, of
    output)``.
    """
    _deprecated("get_numerical_jacobian", grad_out)
    check = _Check(lambda *xs: fn(xs), _tuple(inputs), eps, 0, 0, False)
    wanted = [i for i, x in enumerate(check.inputs) if x is target] if target is not None else check.wanted
    n = check.outputs[0]._array.size
    return tuple(wrap(check.numerical(i, [0])[0][0].reshape(-1, n)) for i in wanted)


def get_analytical_jacobian(
    inputs: Any, output: Tensor, nondet_tol: float = 0.0, grad_out: float = 1.0
) -> tuple[Any, ...]:
    """Jacobians by backward, whether a second time gave the same, and whether sizes and types of gradients were
    right.
    """
    _deprecated("get_analytical_jacobian", grad_out)
    given = [x for x in _tuple(inputs) if x.requires_grad]
    n = output._array.size
    columns: list[list[ndarray]] = [[] for _ in given]
    same = sizes = types = True
    for unit in np.eye(n, dtype=output._array.dtype).reshape(n, *output._array.shape):
        grads, again = (grad(output, given, wrap(unit.copy()), retain_graph=True, allow_unused=True) for _ in range(2))
        for column, x, g, h in zip(columns, given, grads, again):
            column.append(np.zeros(x._array.size, x._array.dtype) if g is None else g._array.reshape(-1))
            if g is not None:
                same = same and bool(np.allclose(g._array, h._array, atol=nondet_tol, rtol=0))
                sizes, types = sizes and g.shape == x.shape, types and g.dtype is x.dtype
    return tuple(wrap(np.array(column).T) for column in columns), same, sizes, types
