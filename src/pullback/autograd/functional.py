"""Derivatives of functions as matrices: ``vjp jvp jacobian hessian vhp hvp``.

With ``J`` the Jacobian of ``func`` and ``H`` the Hessian of a scalar one: ``vjp`` gives ``vᵀJ``, ``jvp`` gives ``Jv``,
``vhp`` gives ``vᵀH``, ``hvp`` gives ``Hv``. ``jvp`` differentiates the pullback ``u ↦ uᵀJ``, which is linear in ``u``,
with respect to ``u`` ("double backward"; Townsend 2017, "A new trick for calculating Jacobian vector products").
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ..base.dtypes import COMPLEX_KINDS
from ..base.thread_state import enable_grad
from ..core.record import wrap
from ..core.tensor import Tensor
from ..core.views import gradient_edge
from ..engine.api import grad


def _as_tuple(x: Any, name: str | None = None, function: str | None = None) -> tuple[bool, tuple[Tensor, ...]]:
    """Whether ``x`` was a tuple, and its tensors."""
    is_tuple = isinstance(x, tuple)
    values = x if is_tuple else (tuple(x) if isinstance(x, list) else (x,))
    for i, v in enumerate(values if name or function else ()):
        if not isinstance(v, Tensor):
            what = (
                f"The {name} given to {function} must be either a Tensor or a tuple of Tensors but the value at index "
                f"{i} has type {type(v)}."
                if is_tuple
                else f"The {name} given to {function} must be either a Tensor or a tuple of Tensors but the "
                f"given {name} has type {type(v)}."
            )
            raise TypeError(what)
    return is_tuple, values


def _grad_postprocess(inputs: Any, create_graph: bool) -> Any:
    """Results as a program gets them: without their history, unless it is to be differentiated further."""
    if isinstance(inputs, Tensor):
        return inputs if create_graph else inputs.detach()
    return tuple(_grad_postprocess(x, create_graph) for x in inputs)


def _grad_preprocess(inputs: Sequence[Any], create_graph: bool, need_graph: bool = True) -> tuple[Any, ...]:
    """Inputs to differentiate with respect to, if ``need_graph``: views of the given ones if their own history matters,
    else new leaves.
    """
    return tuple(
        _grad_preprocess(x, create_graph, need_graph)
        if not isinstance(x, Tensor)
        else x.view_as(x)
        if create_graph and x.requires_grad
        else x.detach().requires_grad_(need_graph)
        for x in inputs
    )


def _seeds(v: Any, like: Sequence[Tensor], several: bool, function: str, complaint: str) -> tuple[Tensor, ...]:
    """The seeds or tangents for these tensors; ones for a single element."""
    if v is None:
        if len(like) != 1 or like[0].numel() != 1:
            raise RuntimeError(complaint)
        return _ones(like)
    _, values = _as_tuple(v, "v", function)
    _validate_v(values, like, several)
    return values


def _validate_v(values: Sequence[Tensor], like: Sequence[Tensor], several: bool) -> None:
    """Refuse seeds or tangents that are not as many, or not of the shapes, as the tensors that they are for."""
    if len(values) != len(like):
        raise RuntimeError(
            f"v is a tuple of invalid length: should be {len(like)} but got {len(values)}."
            if several
            else "The given v should contain a single Tensor."
        )
    for i, (a, b) in enumerate(zip(values, like)):
        if a._array.shape != b._array.shape:
            prefix = f"Entry {i} in v" if len(like) > 1 else "v"
            raise RuntimeError(f"{prefix} has invalid size: should be {b.size()} but got {a.size()}.")


def _ones(like: Sequence[Tensor]) -> tuple[Tensor, ...]:
    """The seeds that nobody gave.

    Raises:
        RuntimeError: for complex numbers, which have no derivative in one direction.
    """
    for x in like:
        if x._array.dtype.kind in COMPLEX_KINDS and x.requires_grad:
            raise RuntimeError(f"grad can be implicitly created only for real scalar outputs but got {x.dtype}")
    return tuple(wrap(np.ones(x._array.shape, x._array.dtype)) for x in like)


def _results(values: Sequence[Any], like: Sequence[Tensor], is_tuple: bool, create_graph: bool, strict: bool) -> Any:
    """Gradients for the user: zeros where there is none (refused if strict), without history unless wanted."""
    out = []
    for i, (g, x) in enumerate(zip(values, like)):
        if g is None:
            if strict:
                raise _independent(i)
            g = wrap(np.zeros(x._array.shape, x._array.dtype))
        elif strict and create_graph and not g.requires_grad:
            raise RuntimeError(
                f"The jacobian of the user-provided function is independent of input {i}. This is not allowed in "
                "strict mode when create_graph=True."
            )
        out.append(g if create_graph else g.detach())
    return tuple(out) if is_tuple else out[0]


def _independent(i: int) -> RuntimeError:
    return RuntimeError(f"The output of the user-provided function is independent of input {i}. {STRICT}")


STRICT = "This is not allowed in strict mode."
TWICE = "You should ensure that your function is {} differentiable and that the {} depends on the inputs"
DEPENDENCE = {  # what strict mode says of values that have no derivative
    "outputs": "Output {} of the user-provided function does not require gradients. The outputs must be computed in a "
    "differentiable manner from the input when running in strict mode.",
    "grad_inputs": "The gradient with respect to input {} is independent of the inputs of the user-provided function. "
    + STRICT,
    "jacobian": "While computing the hessian, found that the jacobian of the user-provided function with respect to "
    f"input {{}} is independent of the input. {STRICT} {TWICE.format('twice', 'jacobian')} (this would be violated by "
    "a linear function for example).",
    "hessian": "The hessian of the user-provided function with respect to input {} is independent of the input. "
    f"{STRICT} {TWICE.format('thrice', 'hessian')}.",
}


def _check_requires_grad(inputs: Sequence[Any], input_type: str, strict: bool) -> None:
    """Refuse values that do not depend on the inputs, in strict mode.

    Args:
        input_type: what they are: "outputs", "grad_inputs", "jacobian" or "hessian".
    """
    if strict:
        if input_type not in DEPENDENCE:
            raise RuntimeError("Invalid input_type to _check_requires_grad")
        for i, x in enumerate(inputs):
            if x is None or not x.requires_grad:
                raise RuntimeError(DEPENDENCE[input_type].format(i))


def _pull(
    outputs: Sequence[Tensor], inputs: Sequence[Tensor], seeds: Sequence[Any], create_graph: bool
) -> tuple[Any, ...]:
    live = [(o, s) for o, s in zip(outputs, seeds) if o.requires_grad]
    if not live:
        return (None,) * len(inputs)
    return grad(
        [o for o, _ in live],
        inputs,
        [s for _, s in live],
        create_graph=create_graph,
        retain_graph=True,
        allow_unused=True,
    )


def vjp(
    func: Callable[..., Any], inputs: Any, v: Any = None, create_graph: bool = False, strict: bool = False
) -> tuple[Any, Any]:
    """``(func(*inputs), vᵀJ)``.

    Args:
        func: takes tensors, returns a tensor or a tuple.
        inputs: a tensor or a tuple.
        v: the seed, shaped like the outputs; may be left out for one one-element output.
        create_graph: let the results be differentiated.
        strict: refuse outputs that do not depend on an input, instead of giving zeros.

    >>> import pullback as torch
    >>> torch.autograd.functional.vjp(lambda x: x ** 2, torch.tensor([1.0, 2.0]), torch.tensor([1.0, 0.5]))
    (tensor([1., 4.]), tensor([2., 2.]))
    """
    with enable_grad():
        is_tuple, given = _as_tuple(inputs, "inputs", "vjp")
        xs = _grad_preprocess(given, create_graph)
        out_tuple, outputs = _as_tuple(func(*xs), "outputs of the user-provided function", "vjp")
        _check_requires_grad(outputs, "outputs", strict)
        seeds = _seeds(
            v,
            outputs,
            out_tuple,
            "vjp",
            "The vector v can only be None if the user-provided function returns a single Tensor with a "
            "single element.",
        )
        grads = _pull(outputs, xs, seeds, create_graph)
    values = tuple(o if create_graph else o.detach() for o in outputs)
    return values if out_tuple else values[0], _results(grads, xs, is_tuple, create_graph, strict)


def jvp(
    func: Callable[..., Any], inputs: Any, v: Any = None, create_graph: bool = False, strict: bool = False
) -> tuple[Any, Any]:
    """``(func(*inputs), Jv)``; arguments as for :func:`vjp`, with ``v`` shaped like the inputs.

    >>> import pullback as torch
    >>> torch.autograd.functional.jvp(lambda x: x ** 2, torch.tensor([1.0, 2.0]), torch.tensor([1.0, 1.0]))
    (tensor([1., 4.]), tensor([2., 4.]))
    """
    with enable_grad():
        is_tuple, given = _as_tuple(inputs, "inputs", "jvp")
        xs = _grad_preprocess(given, create_graph)
        tangents = _seeds(
            v,
            xs,
            is_tuple,
            "jvp",
            "The vector v can only be None if the input to the user-provided function is a single "
            "Tensor with a single element.",
        )
        out_tuple, outputs = _as_tuple(func(*xs), "outputs of the user-provided function", "jvp")
        _check_requires_grad(outputs, "outputs", strict)
        probes = tuple(wrap(np.zeros(o._array.shape, o._array.dtype)).requires_grad_(True) for o in outputs)
        pulled = _pull(outputs, xs, probes, True)
        for i, g in enumerate(pulled):
            if strict and g is None:
                raise _independent(i)
        live = [(g, t) for g, t in zip(pulled, tangents) if g is not None and g.requires_grad]
        if live:
            pushed: tuple[Tensor | None, ...] = grad(
                [g for g, _ in live], probes, [t for _, t in live], create_graph=create_graph, allow_unused=True
            )
        else:
            pushed = (None,) * len(probes)
    values = tuple(o if create_graph else o.detach() for o in outputs)
    return values if out_tuple else values[0], _results(pushed, outputs, out_tuple, create_graph, strict)


def jacobian(
    func: Callable[..., Any],
    inputs: Any,
    create_graph: bool = False,
    strict: bool = False,
    vectorize: bool = False,
    strategy: str = "reverse-mode",
) -> Any:
    """The Jacobian: a tensor of shape ``(*output.shape, *input.shape)`` for each output and input (nested tuples for
    tuples).

    Args:
        vectorize: all rows (or columns) at once, by ``vmap``, instead of one after the other.
        strategy: ``"reverse-mode"``: a pullback for each output element; ``"forward-mode"``: a pushforward for each
            input element.

    Raises:
        NotImplementedError: for forward mode without ``vectorize``, or with ``create_graph``.

    >>> import pullback as torch
    >>> torch.autograd.functional.jacobian(lambda x: x ** 2, torch.tensor([1.0, 2.0]))
    tensor([[2., 0.],
            [0., 4.]])
    """
    if strategy not in ("forward-mode", "reverse-mode"):
        raise AssertionError(
            'Expected strategy to be either "forward-mode" or "reverse-mode". Hint: If your function has more outputs '
            "than "
            'inputs, "forward-mode" tends to be more performant. Otherwise, prefer to use "reverse-mode".'
        )
    if strategy == "forward-mode":
        return _jacobian_forward(func, inputs, create_graph, strict, vectorize)
    if strict and vectorize:
        raise RuntimeError(
            "torch.autograd.functional.jacobian: `strict=True` and `vectorized=True` are not supported together. "
            "Please either set `strict=False` or `vectorize=False`."
        )
    with enable_grad():
        is_tuple, given = _as_tuple(inputs, "inputs", "jacobian")
        xs = _grad_preprocess(given, create_graph)
        out_tuple, outputs = _as_tuple(func(*xs), "outputs of the user-provided function", "jacobian")
        _check_requires_grad(outputs, "outputs", strict)
        rows = [
            _rows_at_once(o, xs, create_graph) if vectorize else _jacobian_of(o, i, xs, create_graph, strict)
            for i, o in enumerate(outputs)
        ]
    shaped = tuple(row if is_tuple else row[0] for row in rows)
    return shaped if out_tuple else shaped[0]


def _jacobian_forward(func: Callable[..., Any], inputs: Any, create_graph: bool, strict: bool, vectorize: bool) -> Any:
    """The Jacobian by columns, all at once."""
    for given, name in ((strict, "strict"), (create_graph, "create_graph")):
        if given:
            raise NotImplementedError(
                f'torch.autograd.functional.jacobian: `{name}=True` and `strategy="forward-mode"` are not supported '
                f"together "
                f'(yet). Please either set `{name}=False` or `strategy="reverse-mode"`.'
            )
    if not vectorize:
        raise NotImplementedError(
            "Computing Jacobian using forward-AD or forward-over-reverse Hessian isonly implemented for "
            "`vectorize=True`."
        )
    from ..levels.api import jacobian_of_any

    is_tuple, xs = _as_tuple(inputs, "inputs", "jacobian")

    def checked(*xs: Tensor) -> Any:
        outputs = func(*xs)
        return (
            outputs
            if not _as_tuple(outputs, "outputs of the user-provided function", "jacobian")[0]
            else tuple(outputs)
        )

    return jacobian_of_any(checked, tuple(range(len(xs))) if is_tuple else 0)(*[x.detach() for x in xs])


def _construct_standard_basis_for(tensors: Sequence[Tensor], tensor_numels: Sequence[int]) -> tuple[Tensor, ...]:
    """The unit vectors of the space of these tensors together, the parts flat: ``(sum(tensor_numels), numel)`` each."""
    from ..levels.api import standard_basis

    return tuple(part.reshape((len(part._array), n)) for part, n in zip(standard_basis(tensors), tensor_numels))


def _rows_at_once(o: Tensor, xs: Sequence[Tensor], create_graph: bool) -> tuple[Tensor, ...]:
    """What :func:`_jacobian_of` gives, by one backward with a batch of seeds."""
    a = o._array
    if o.requires_grad and a.size:
        found: Any = _usual_rows(o, xs, create_graph)
        if found is None:
            seeds = wrap(np.eye(a.size, dtype=a.dtype).reshape(a.size, *a.shape))
            found = grad(
                [o], xs, [seeds], create_graph=create_graph, retain_graph=True, allow_unused=True, is_grads_batched=True
            )
    else:
        found = (None,) * len(xs)
    return tuple(
        [
            wrap(np.zeros((*a.shape, *x._array.shape), x._array.dtype))
            if g is None
            else g.reshape((*a.shape, *x._array.shape))
            for g, x in zip(found, xs)
        ]
    )


def _usual_rows(o: Tensor, xs: Sequence[Tensor], create_graph: bool) -> list[Any] | None:
    """For each input the gradients of all elements, one a row (or None); None if each has to be computed by itself."""
    from ..levels import multi_seed_vjp

    a, e = o._array, gradient_edge(o)
    if e is None or not isinstance(a, np.ndarray) or a.size < 2:
        return None
    seeds = np.eye(a.size, dtype=a.dtype).reshape(a.size, *a.shape)
    found = multi_seed_vjp.vjp_rows(
        [(e, wrap(seeds) if create_graph else seeds)], [gradient_edge(x) for x in xs], create_graph
    )
    return found if found is None or create_graph else [None if g is None else wrap(g) for g in found]


def _check_row(g: Any, number: int, j: int, create_graph: bool, strict: bool) -> None:
    """Refuse, in strict mode, what does not depend on the inputs."""
    if strict and g is None:
        raise RuntimeError(
            f"Output {number} of the user-provided function is independent of input {j}. This is not allowed in "
            f"strict mode."
        )
    if strict and create_graph and not g.requires_grad:
        raise RuntimeError(
            "The jacobian of the user-provided function is independent of "
            f"input {number}. This is not allowed in strict mode when create_graph=True."
        )


def _jacobian_of(o: Tensor, number: int, xs: Sequence[Tensor], create_graph: bool, strict: bool) -> tuple[Tensor, ...]:
    from ..ops.concat import stack

    if o._array.size:
        _ones([o])
    found = _usual_rows(o, xs, create_graph)
    if found is not None:
        shaped: list[Any] = []
        for j, (g, x) in enumerate(zip(found, xs)):
            _check_row(g, number, j, create_graph, strict)
            shape = o._array.shape + x._array.shape
            shaped.append(wrap(np.zeros(shape, x._array.dtype)) if g is None else g.reshape(shape))
        return tuple(shaped)
    columns: list[list[Any]] = [[] for _ in xs]
    for k in range(o._array.size):
        unit = np.zeros(o._array.size, o._array.dtype)
        unit[k] = 1
        grads = _pull([o], xs, [wrap(unit.reshape(o._array.shape))], create_graph)
        for j, (g, x) in enumerate(zip(grads, xs)):
            _check_row(g, number, j, create_graph, strict)
            columns[j].append(wrap(np.zeros(x._array.shape, x._array.dtype)) if g is None else g)
    shaped = []
    for c, x in zip(columns, xs):
        shape = o._array.shape + x._array.shape
        matrix: Any = stack(c).reshape(shape) if c else wrap(np.zeros(shape, x._array.dtype))
        shaped.append(matrix if create_graph else matrix.detach())
    return tuple(shaped)


def hessian(
    func: Callable[..., Any],
    inputs: Any,
    create_graph: bool = False,
    strict: bool = False,
    vectorize: bool = False,
    outer_jacobian_strategy: str = "reverse-mode",
) -> Any:
    """The Hessian of a function with one one-element output: ``(*input_i.shape, *input_j.shape)`` for each pair of
    inputs.

    >>> import pullback as torch
    >>> torch.autograd.functional.hessian(lambda x: (x ** 3).sum(), torch.tensor([1.0, 2.0]))
    tensor([[ 6.,  0.],
            [ 0., 12.]])
    """
    is_tuple, _ = _as_tuple(inputs, "inputs", "hessian")
    if outer_jacobian_strategy not in ("forward-mode", "reverse-mode"):
        raise AssertionError('Expected strategy to be either "forward-mode" or "reverse-mode".')

    def gradient(*xs: Tensor) -> Any:
        for x in xs:
            if not x.requires_grad:  # in forward mode
                x.requires_grad = True
        out_tuple, outputs = _as_tuple(func(*xs), "outputs of the user-provided function", "hessian")
        _check_scalar(out_tuple, outputs, "hessian")
        _check_requires_grad(outputs, "outputs", strict)
        grads = _pull(outputs, xs, _ones(outputs), True)
        if strict:
            _check_requires_grad(grads, "jacobian", True)
        return _results(grads, xs, True, True, False)

    result = jacobian(gradient, inputs, create_graph, strict, vectorize, outer_jacobian_strategy)
    return result if is_tuple else result[0]


def _check_scalar(is_tuple: bool, outputs: Sequence[Tensor], name: str) -> None:
    if is_tuple and len(outputs) != 1:
        raise RuntimeError(f"The function given to {name} should return a single Tensor")
    if outputs[0]._array.size != 1:
        raise RuntimeError(f"The Tensor returned by the function given to {name} should contain a single element")


def vhp(
    func: Callable[..., Any], inputs: Any, v: Any = None, create_graph: bool = False, strict: bool = False
) -> tuple[Any, Any]:
    """``(func(*inputs), vᵀH)`` for a function with one one-element output.

    >>> import pullback as torch
    >>> torch.autograd.functional.vhp(lambda x: (x ** 3).sum(), torch.tensor([1.0, 2.0]), torch.tensor([1.0, 1.0]))
    (tensor(9.), tensor([ 6., 12.]))
    """
    return _vector_hessian("vhp", func, inputs, v, create_graph, strict)


def _vector_hessian(
    name: str, func: Callable[..., Any], inputs: Any, v: Any, create_graph: bool, strict: bool
) -> tuple[Any, Any]:
    with enable_grad():
        is_tuple, given = _as_tuple(inputs, "inputs", name)
        xs = _grad_preprocess(given, create_graph)
        seeds = _seeds(
            v,
            xs,
            is_tuple,
            name,
            "The vector v can only be None if the input to the user-provided function is a single Tensor "
            "with a single element.",
        )
        out_tuple, outputs = _as_tuple(func(*xs), "outputs of the user-provided function", name)
        _check_scalar(out_tuple, outputs, name)
        _check_requires_grad(outputs, "outputs", strict)
        first = _pull(outputs, xs, _ones(outputs), True)
        for i, g in enumerate(first):
            if strict and g is None:
                raise _independent(i)
        if strict:
            _check_requires_grad(first, "jacobian", True)
        live = [(g, s) for g, s in zip(first, seeds) if g is not None]
        second = _pull([g for g, _ in live], xs, [s for _, s in live], create_graph)
    value = outputs[0] if create_graph else outputs[0].detach()
    return (value,) if out_tuple else value, _results(second, xs, is_tuple, create_graph, strict)


def hvp(
    func: Callable[..., Any], inputs: Any, v: Any = None, create_graph: bool = False, strict: bool = False
) -> tuple[Any, Any]:
    """``(func(*inputs), Hv)`` for a function with one one-element output; the Hessian is symmetric, so this is
    :func:`vhp`.

    >>> import pullback as torch
    >>> torch.autograd.functional.hvp(lambda x: (x ** 3).sum(), torch.tensor([1.0, 2.0]), torch.tensor([1.0, 1.0]))
    (tensor(9.), tensor([ 6., 12.]))
    """
    return _vector_hessian("hvp", func, inputs, v, create_graph, strict)
