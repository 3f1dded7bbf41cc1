"""Pruning: masks that set the least important parameters to zero and keep them there.

A pruned parameter ``weight`` is split in a parameter ``weight_orig`` and a buffer ``weight_mask`` of zeros and
ones; a hook before ``forward`` multiplies them. Pruning again prunes what the mask has left.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator
from numbers import Integral, Real
from typing import Any, TypeVar

from ...core.tensor import Tensor, recomputed
from ...ops.create import ones_like, zeros_like
from ...ops.norm import norm
from ...ops.random import rand, rand_like
from ...ops.sort import kthvalue, topk
from ..modules.module import Module
from .convert_parameters import parameters_to_vector

__all__ = [
    "BasePruningMethod",
    "CustomFromMask",
    "Identity",
    "L1Unstructured",
    "LnStructured",
    "PruningContainer",
    "RandomStructured",
    "RandomUnstructured",
    "custom_from_mask",
    "global_unstructured",
    "identity",
    "is_pruned",
    "l1_unstructured",
    "ln_structured",
    "random_structured",
    "random_unstructured",
    "remove",
]

M = TypeVar("M", bound=Module)


class BasePruningMethod(ABC):
    """A way to choose what to prune, and the hook that does it.

    A subclass defines :meth:`compute_mask` and says as ``PRUNING_TYPE`` what it chooses among: elements that are
    left (``"unstructured"``), slices along its ``dim`` that are left (``"structured"``), or all (``"global"``).
    """

    PRUNING_TYPE: str
    _tensor_name: str

    def __call__(self, module: Module, inputs: Any) -> None:
        setattr(module, self._tensor_name, recomputed(self.apply_mask(module)))

    @abstractmethod
    def compute_mask(self, t: Tensor, default_mask: Tensor) -> Tensor:
        """The mask for a parameter whose elements matter as ``t`` says; what ``default_mask`` prunes stays so."""

    def apply_mask(self, module: Module) -> Tensor:
        """The pruned parameter."""
        mask, original = (getattr(module, self._tensor_name + suffix) for suffix in ("_mask", "_orig"))
        return mask.to(original.dtype) * original

    @classmethod
    def apply(
        cls, module: Module, name: str, *args: Any, importance_scores: Tensor | None = None, **kwargs: Any
    ) -> BasePruningMethod:
        """Prune one parameter of a module.

        Args:
            module: changed in place.
            name: the parameter.
            importance_scores: how much each element matters, in the parameter's shape; by default its own values.
            args, kwargs: for the method's constructor.

        Returns:
            the hook: an instance of this class, or a container of it and those before it.
        """
        method: BasePruningMethod = cls(*args, **kwargs)
        method._tensor_name = name
        earlier = _hooks_of(module, name)
        if len(earlier) > 1:
            raise AssertionError(
                f"Avoid adding multiple pruning hooks to the same tensor {name} of module {module}. "
                "Use a PruningContainer."
            )
        value = getattr(module, name)
        scores = value if importance_scores is None else importance_scores
        _check_scores(scores, value, f"parameter {name} of {module}")
        if earlier:
            before: Any = module._forward_pre_hooks.pop(earlier[0])
            container = before if isinstance(before, PruningContainer) else PruningContainer(before)
            container.add_pruning_method(method)
            method, default = container, getattr(module, name + "_mask").detach().clone()
        else:
            module.register_parameter(name + "_orig", value)
            del module._parameters[name]
            default = ones_like(value)
        try:
            module.register_buffer(name + "_mask", method.compute_mask(scores, default_mask=default))
            setattr(module, name, recomputed(method.apply_mask(module)))
        except Exception:
            if not earlier:
                module.register_parameter(name, getattr(module, name + "_orig"))
                del module._parameters[name + "_orig"]
            raise
        module.register_forward_pre_hook(method)
        return method

    def prune(self, t: Tensor, default_mask: Tensor | None = None, importance_scores: Tensor | None = None) -> Tensor:
        """A pruned copy of a tensor that belongs to no module; see :meth:`apply` for the arguments."""
        scores = t if importance_scores is None else importance_scores
        _check_scores(scores, t, "tensor t")
        return t * self.compute_mask(scores, default_mask=ones_like(t) if default_mask is None else default_mask)

    def remove(self, module: Module) -> None:
        """Make the pruned values the parameter's own."""
        name = self._tensor_name
        pruned = self.apply_mask(module)
        if hasattr(module, name):
            delattr(module, name)
        original: Any = module._parameters.pop(name + "_orig")
        original.data = pruned.data
        del module._buffers[name + "_mask"]
        setattr(module, name, original)


def _hooks_of(module: Module, name: str) -> list[int]:
    hooks = module._forward_pre_hooks.items()
    return [k for k, hook in hooks if isinstance(hook, BasePruningMethod) and hook._tensor_name == name]


def _check_scores(scores: Tensor, value: Tensor, what: str) -> None:
    if scores.shape != value.shape:
        raise AssertionError(
            f"importance_scores should have the same shape as {what}, got {scores.shape} vs {value.shape}"
        )


class PruningContainer(BasePruningMethod):
    """Several methods, of which each prunes what those before it have left."""

    def __init__(self, *args: BasePruningMethod) -> None:
        self._pruning_methods: tuple[BasePruningMethod, ...] = ()
        if len(args) == 1:
            self._tensor_name = args[0]._tensor_name
        for method in args:
            self.add_pruning_method(method)

    def add_pruning_method(self, method: BasePruningMethod | None) -> None:
        """Append a method for the same parameter."""
        if method is not None and not isinstance(method, BasePruningMethod):
            raise TypeError(f"{type(method)} is not a BasePruningMethod subclass")
        if method is not None and self._tensor_name != method._tensor_name:
            raise ValueError(
                f"Can only add pruning methods acting on the parameter named '{self._tensor_name}' to "
                f"PruningContainer {self}. Found '{method._tensor_name}'"
            )
        self._pruning_methods += (method,)  # type: ignore[operator]

    def __len__(self) -> int:
        return len(self._pruning_methods)

    def __iter__(self) -> Iterator[BasePruningMethod]:
        return iter(self._pruning_methods)

    def __getitem__(self, idx: int) -> BasePruningMethod:
        return self._pruning_methods[idx]

    def compute_mask(self, t: Tensor, default_mask: Tensor) -> Tensor:
        """The last method's mask where ``default_mask`` has not pruned yet."""
        method = self._pruning_methods[-1]
        left: Any = ...
        if method.PRUNING_TYPE == "unstructured":
            left = default_mask == 1
        elif method.PRUNING_TYPE == "structured":
            if not hasattr(method, "dim"):
                raise AttributeError(
                    'Pruning methods of PRUNING_TYPE "structured" need to have the attribute `dim` defined.'
                )
            dim = method.dim + t.ndim if method.dim < 0 else method.dim
            if dim < 0:
                raise IndexError(f"Index is out of bounds for tensor with dimensions {t.ndim}")
            kept = default_mask.sum(dim=[d for d in range(t.ndim) if d != dim]) != 0
            left = (slice(None),) * dim + (kept,)
        elif method.PRUNING_TYPE != "global":
            raise ValueError(f"Unrecognized PRUNING_TYPE {method.PRUNING_TYPE}")
        mask = default_mask.to(t.dtype, copy=True)
        mask[left] = method.compute_mask(t[left], default_mask=default_mask[left]).to(mask.dtype)
        return mask


# --- the methods --------------------------------------------------------------------------------------------


class Identity(BasePruningMethod):
    """Prunes nothing, with all that belongs to pruning."""

    PRUNING_TYPE = "unstructured"

    def compute_mask(self, t: Tensor, default_mask: Tensor) -> Tensor:
        return default_mask

    @classmethod
    def apply(cls, module: Module, name: str) -> BasePruningMethod:  # type: ignore[override]
        return super().apply(module, name)


class _Amount(BasePruningMethod):
    """Prunes so many of what it chooses among: a number of them, or a fraction."""

    def __init__(self, amount: float) -> None:
        number: Any = amount
        if not isinstance(number, Real):
            raise TypeError(f"Invalid type for amount: {amount}. Must be int or float.")
        if amount < 0 or not isinstance(number, Integral) and amount > 1:
            raise ValueError(f"amount={amount} should either be a float in the range [0, 1] or a non-negative integer")
        self.amount: Any = number

    def number_of(self, total: int) -> int:
        if not isinstance(self.amount, Integral):
            return round(self.amount * total)
        if self.amount > total:  # type: ignore[operator]  # Integral declares only ``<``
            raise ValueError(f"amount={self.amount} should be smaller than the number of parameters to prune={total}")
        return int(self.amount)


class _Unstructured(_Amount):
    PRUNING_TYPE = "unstructured"

    def compute_mask(self, t: Tensor, default_mask: Tensor) -> Tensor:
        number, mask = self.number_of(t.numel()), default_mask.clone()
        if number:
            mask.view(-1)[self.chosen(t, number)] = 0
        return mask

    def chosen(self, t: Tensor, number: int) -> Tensor:
        """The indices of the elements to prune, among all in a row."""
        raise NotImplementedError


class RandomUnstructured(_Unstructured):
    """Prunes elements by chance: ``amount`` of them, a number or a fraction."""

    def chosen(self, t: Tensor, number: int) -> Tensor:
        return topk(rand_like(t).view(-1), k=number).indices

    @classmethod
    def apply(cls, module: Module, name: str, amount: float) -> BasePruningMethod:  # type: ignore[override]
        return super().apply(module, name, amount=amount)


class L1Unstructured(_Unstructured):
    """Prunes the elements of the least absolute value: ``amount`` of them, a number or a fraction."""

    def chosen(self, t: Tensor, number: int) -> Tensor:
        return topk(t.abs().view(-1), k=number, largest=False).indices

    @classmethod
    def apply(  # type: ignore[override]
        cls,
        module: Module,
        name: str,
        amount: float,
        importance_scores: Tensor | None = None,
    ) -> BasePruningMethod:
        return super().apply(module, name, amount=amount, importance_scores=importance_scores)


class _Structured(_Amount):
    PRUNING_TYPE = "structured"

    def __init__(self, amount: float, dim: int = -1) -> None:
        super().__init__(amount)
        self.dim = dim

    def compute_mask(self, t: Tensor, default_mask: Tensor) -> Tensor:
        if t.ndim <= 1:
            raise ValueError(
                "Structured pruning can only be applied to multidimensional tensors. "
                f"Found tensor of shape {t.shape} with {t.ndim} dims"
            )
        if self.dim >= t.ndim:
            raise IndexError(f"Invalid index {self.dim} for tensor of size {t.shape}")
        number = self.number_of(t.shape[self.dim])
        if number == 0:
            return default_mask
        mask = zeros_like(t)
        mask.movedim(self.dim, 0)[self.kept(t, number)] = 1
        return mask.mul_(default_mask.to(mask.dtype))

    def kept(self, t: Tensor, number: int) -> Tensor:
        """Which slices along ``dim`` stay when ``number`` of them go."""
        raise NotImplementedError


class RandomStructured(_Structured):
    """Prunes slices along ``dim`` by chance: ``amount`` of them, a number or a fraction."""

    def kept(self, t: Tensor, number: int) -> Tensor:
        chance = rand(t.shape[self.dim])
        return chance > kthvalue(chance, k=number).values

    @classmethod
    def apply(cls, module: Module, name: str, amount: float, dim: int = -1) -> BasePruningMethod:  # type: ignore[override]
        return super().apply(module, name, amount=amount, dim=dim)


class LnStructured(_Structured):
    """Prunes the slices along ``dim`` of the least ``n``-norm: ``amount`` of them, a number or a fraction."""

    def __init__(self, amount: float, n: Any, dim: int = -1) -> None:
        super().__init__(amount, dim)
        self.n = n

    def kept(self, t: Tensor, number: int) -> Tensor:
        others = [d for d in range(t.ndim) if d != self.dim % t.ndim]
        norms = norm(t, p=self.n, dim=others)
        return topk(norms, k=t.shape[self.dim] - number, largest=True).indices

    @classmethod
    def apply(  # type: ignore[override]
        cls,
        module: Module,
        name: str,
        amount: float,
        n: Any,
        dim: int,
        importance_scores: Tensor | None = None,
    ) -> BasePruningMethod:
        return super().apply(module, name, amount=amount, n=n, dim=dim, importance_scores=importance_scores)


class CustomFromMask(BasePruningMethod):
    """Prunes what a given mask says."""

    PRUNING_TYPE = "global"

    def __init__(self, mask: Tensor) -> None:
        self.mask = mask

    def compute_mask(self, t: Tensor, default_mask: Tensor) -> Tensor:
        if default_mask.shape != self.mask.shape:
            raise AssertionError(
                f"default_mask shape {default_mask.shape} must match self.mask shape {self.mask.shape}"
            )
        return default_mask * self.mask.to(default_mask.dtype)

    @classmethod
    def apply(cls, module: Module, name: str, mask: Tensor) -> BasePruningMethod:  # type: ignore[override]
        return super().apply(module, name, mask=mask)


# --- as functions -------------------------------------------------------------------------------------------


def identity(module: M, name: str) -> M:
    """Split a parameter in original and mask, of ones. Returns the module, changed in place."""
    Identity.apply(module, name)
    return module


def random_unstructured(module: M, name: str, amount: float) -> M:
    """Prune elements of a parameter by chance: ``amount`` of them, a number or a fraction.

    >>> import pullback as torch
    >>> layer = torch.nn.utils.prune.random_unstructured(torch.nn.Linear(2, 5), "weight", amount=0.3)
    >>> (layer.weight == 0).sum()
    tensor(3)
    """
    RandomUnstructured.apply(module, name, amount)
    return module


def l1_unstructured(module: M, name: str, amount: float, importance_scores: Tensor | None = None) -> M:
    """Prune the elements of a parameter that are least: ``amount`` of them, a number or a fraction.

    Args:
        module: changed in place, and returned. name: the parameter. amount: how many, or which part.
        importance_scores: choose by the absolute values of these instead.

    Raises:
        ValueError, TypeError: the amount is neither a part of 1 nor a number of elements that there are.
    """
    L1Unstructured.apply(module, name, amount=amount, importance_scores=importance_scores)
    return module


def random_structured(module: M, name: str, amount: float, dim: int) -> M:
    """Prune slices of a parameter along ``dim`` by chance: ``amount`` of them, a number or a fraction."""
    RandomStructured.apply(module, name, amount, dim)
    return module


def ln_structured(module: M, name: str, amount: float, n: Any, dim: int, importance_scores: Tensor | None = None) -> M:
    """Prune the slices of a parameter along ``dim`` that have the least norm.

    Args:
        module: changed in place, and returned. name: the parameter. amount: how many slices, or which part.
        n: the norm, as ``torch.norm`` takes it. dim: the dimension. importance_scores: take the norms of these.
    """
    LnStructured.apply(module, name, amount, n, dim, importance_scores=importance_scores)
    return module


def global_unstructured(
    parameters: Iterable[tuple[Module, str]],
    pruning_method: type[BasePruningMethod],
    importance_scores: dict[tuple[Module, str], Tensor] | None = None,
    **kwargs: Any,
) -> None:
    """Prune several parameters together, as if they were one vector.

    Args:
        parameters: modules and the names of their parameters.
        pruning_method: a class whose ``PRUNING_TYPE`` is ``"unstructured"``.
        importance_scores: for some of them, tensors to choose by instead of their values.
        kwargs: for the method's constructor, such as ``amount``.

    Raises:
        TypeError: ``parameters`` or ``importance_scores`` has another type, or the method is a structured one.

    >>> import pullback as torch
    >>> from pullback.nn.utils import prune
    >>> net = torch.nn.Sequential(torch.nn.Linear(4, 4), torch.nn.Linear(4, 1))
    >>> weights = [(layer, "weight") for layer in net]
    >>> prune.global_unstructured(weights, prune.L1Unstructured, amount=10)
    >>> sum((layer.weight == 0).sum() for layer in net)
    tensor(10)
    """
    if not isinstance(parameters, Iterable):
        raise TypeError("global_unstructured(): parameters is not an Iterable")
    if importance_scores is not None and not isinstance(importance_scores, dict):
        raise TypeError("global_unstructured(): importance_scores must be of type dict")
    places, given = list(parameters), importance_scores or {}
    values = [getattr(module, name) for module, name in places]
    scores = parameters_to_vector([given.get(place, value) for place, value in zip(places, values)])
    masks = [getattr(module, name + "_mask", ones_like(value)) for (module, name), value in zip(places, values)]
    method = pruning_method(**kwargs)
    if method.PRUNING_TYPE != "unstructured":
        raise TypeError(
            'Only "unstructured" PRUNING_TYPE supported for the `pruning_method`. '
            f"Found method {pruning_method} of type {method.PRUNING_TYPE}"
        )
    method._tensor_name = "all of them"
    mask = PruningContainer(method).compute_mask(scores, parameters_to_vector(masks))
    start = 0
    for (module, name), value in zip(places, values):
        custom_from_mask(module, name, mask[start : start + value.numel()].view_as(value))
        start += value.numel()


def custom_from_mask(module: M, name: str, mask: Tensor) -> M:
    """Prune the elements of a parameter where ``mask``, of its shape, is zero.

    >>> import pullback as torch
    >>> layer = torch.nn.Linear(2, 2)
    >>> torch.nn.utils.prune.custom_from_mask(layer, "bias", torch.tensor([0, 1])).bias_mask
    tensor([0., 1.])
    """
    CustomFromMask.apply(module, name, mask)
    return module


def remove(module: M, name: str) -> M:
    """Make the pruned values of a parameter its own: the zeros stay, mask and original go.

    Raises:
        ValueError: it is not pruned.
    """
    hooks = _hooks_of(module, name)
    if not hooks:
        raise ValueError(f"Parameter '{name}' of module {module} has to be pruned before pruning can be removed")
    method: Any = module._forward_pre_hooks.pop(hooks[0])
    method.remove(module)
    return module


def is_pruned(module: Module) -> bool:
    """Whether a parameter of the module or of one below it is pruned."""
    hooks = (hook for m in module.modules() for hook in m._forward_pre_hooks.values())
    return any(isinstance(hook, BasePruningMethod) for hook in hooks)
