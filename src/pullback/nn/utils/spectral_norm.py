"""Spectral normalisation by a hook before ``forward``; :mod:`.parametrizations` has the newer form.

The weight, seen as a matrix, is divided by its largest singular value, which power iteration finds: one step
for each ``forward`` in training is enough, since the weight changes little between two (Miyato et al. 2018).
"""

from __future__ import annotations

from typing import Any, TypeVar

from ...base.thread_state import no_grad
from ...core.tensor import Tensor, recomputed
from ...ops.einsum import multi_dot
from ...ops.matmul import dot, mv
from ..functional import normalize
from ..modules.conv import ConvTranspose1d, ConvTranspose2d, ConvTranspose3d
from ..modules.module import Module
from ..parameter import Parameter, is_lazy

__all__ = [
    "SpectralNorm",
    "SpectralNormLoadStateDictPreHook",
    "SpectralNormStateDictHook",
    "remove_spectral_norm",
    "spectral_norm",
]

M = TypeVar("M", bound=Module)


def output_dim(module: Module) -> int:
    """The dimension of a layer's weight that counts its outputs."""
    return 1 if isinstance(module, ConvTranspose1d | ConvTranspose2d | ConvTranspose3d) else 0


def random_unit(weight: Tensor, n: int, eps: float) -> Tensor:
    return normalize(weight.new_empty(n).normal_(0, 1), dim=0, eps=eps)


class SpectralNorm:
    """The hook of :func:`spectral_norm`, which computes one parameter before every ``forward``."""

    _version = 1  # of the state: 1 keeps ``v`` beside ``u``, and not the weight

    def __init__(self, name: str = "weight", n_power_iterations: int = 1, dim: int = 0, eps: float = 1e-12) -> None:
        if n_power_iterations <= 0:
            raise ValueError(
                f"Expected n_power_iterations to be positive, but got n_power_iterations={n_power_iterations}"
            )
        self.name, self.dim, self.n_power_iterations, self.eps = name, dim, n_power_iterations, eps

    def reshape_weight_to_matrix(self, weight: Tensor) -> Tensor:
        """The weight with its outputs as rows."""
        return weight.movedim(self.dim, 0).reshape(weight.shape[self.dim], -1)

    def compute_weight(self, module: Module, do_power_iteration: bool) -> Tensor:
        """The weight divided by the estimate of its largest singular value."""
        weight = getattr(module, self.name + "_orig")
        u, v = getattr(module, self.name + "_u"), getattr(module, self.name + "_v")
        matrix = self.reshape_weight_to_matrix(weight)
        if do_power_iteration:
            with no_grad():
                for _ in range(self.n_power_iterations):
                    v.copy_(normalize(mv(matrix.t(), u), dim=0, eps=self.eps))
                    u.copy_(normalize(mv(matrix, v), dim=0, eps=self.eps))
                # The next forward will write into the buffers, and backward of this one needs what they hold now.
                u, v = u.clone(), v.clone()
        return weight / dot(u, mv(matrix, v))

    def remove(self, module: Module) -> None:
        """Make the weight an ordinary parameter again."""
        with no_grad():
            weight = self.compute_weight(module, do_power_iteration=False)
        for suffix in ("", "_u", "_v", "_orig"):
            delattr(module, self.name + suffix)
        module.register_parameter(self.name, Parameter(weight.detach()))

    def __call__(self, module: Module, inputs: Any) -> None:
        setattr(module, self.name, recomputed(self.compute_weight(module, do_power_iteration=module.training)))

    def _solve_v_and_rescale(self, weight_mat: Tensor, u: Tensor, target_sigma: Tensor) -> Tensor:
        """The ``v`` with ``u = W v`` up to length and ``u W v = target_sigma``."""
        inverse = weight_mat.t().mm(weight_mat).pinverse()
        v = multi_dot([inverse, weight_mat.t(), u.unsqueeze(1)]).squeeze(1)
        return v.mul_(target_sigma / dot(u, mv(weight_mat, v)))

    @staticmethod
    def apply(module: Module, name: str, n_power_iterations: int, dim: int, eps: float) -> SpectralNorm:
        """Put the original and the two vectors beside the weight, and add the hooks."""
        if any(isinstance(hook, SpectralNorm) and hook.name == name for hook in module._forward_pre_hooks.values()):
            raise RuntimeError(f"Cannot register two spectral_norm hooks on the same parameter {name}")
        hook, weight = SpectralNorm(name, n_power_iterations, dim, eps), module._parameters[name]
        if weight is None:
            raise ValueError(f"`SpectralNorm` cannot be applied as parameter `{name}` is None")
        if is_lazy(weight):
            raise ValueError(
                "The module passed to `SpectralNorm` can't have uninitialized parameters. "
                "Make sure to run the dummy forward before applying spectral normalization"
            )
        with no_grad():
            height, width = hook.reshape_weight_to_matrix(weight).shape
            u, v = random_unit(weight, height, eps), random_unit(weight, width, eps)
        delattr(module, name)
        module.register_parameter(name + "_orig", weight)
        setattr(module, name, weight.data)  # not a parameter, but there for those who look
        module.register_buffer(name + "_u", u)
        module.register_buffer(name + "_v", v)
        module.register_forward_pre_hook(hook)
        module._register_state_dict_hook(SpectralNormStateDictHook(hook))
        module._register_load_state_dict_pre_hook(SpectralNormLoadStateDictPreHook(hook))
        return hook


class SpectralNormLoadStateDictPreHook:
    """Reads states of before version 1, too: they have the weight, and no ``v``."""

    def __init__(self, fn: SpectralNorm) -> None:
        self.fn = fn

    def __call__(
        self,
        state_dict: dict[str, Any],
        prefix: str,
        local_metadata: dict[str, Any],
        strict: bool,
        missing_keys: list[str],
        unexpected_keys: list[str],
        error_msgs: list[str],
    ) -> None:
        fn, key = self.fn, prefix + self.fn.name
        version = local_metadata.get("spectral_norm", {}).get(fn.name + ".version")
        new = version is None and key not in state_dict and all(key + s in state_dict for s in ("_orig", "_u", "_v"))
        if new or version is not None and version >= 1:
            return
        missing = [key + suffix for suffix in ("_orig", "", "_u") if key + suffix not in state_dict]
        if missing:
            missing_keys.extend(missing if strict else [])
            return
        with no_grad():
            original, weight = state_dict[key + "_orig"], state_dict.pop(key)
            sigma, matrix = (original / weight).mean(), fn.reshape_weight_to_matrix(original)
            state_dict[key + "_v"] = fn._solve_v_and_rescale(matrix, state_dict[key + "_u"], sigma)


class SpectralNormStateDictHook:
    """Notes the version of the state."""

    def __init__(self, fn: SpectralNorm) -> None:
        self.fn = fn

    def __call__(self, module: Module, state_dict: Any, prefix: str, local_metadata: dict[str, Any]) -> None:
        versions = local_metadata.setdefault("spectral_norm", {})
        key = self.fn.name + ".version"
        if key in versions:
            raise RuntimeError(f"Unexpected key in metadata['spectral_norm']: {key}")
        versions[key] = self.fn._version


def spectral_norm(
    module: M, name: str = "weight", n_power_iterations: int = 1, eps: float = 1e-12, dim: int | None = None
) -> M:
    """Divide a weight by its largest singular value before every ``forward``.

    Args:
        module: changed in place, and returned.
        name: the parameter; it becomes ``name_orig``, with buffers ``name_u`` and ``name_v`` beside it.
        n_power_iterations: steps of power iteration for each ``forward`` in training.
        eps: the least length to divide the vectors by.
        dim: the dimension that counts the outputs: by default 0, and 1 for transposed convolutions.
    """
    SpectralNorm.apply(module, name, n_power_iterations, output_dim(module) if dim is None else dim, eps)
    return module


def remove_spectral_norm(module: M, name: str = "weight") -> M:
    """Undo :func:`spectral_norm`, keeping the weight's value.

    Raises:
        ValueError: it was not applied.
    """
    hooks = [k for k, h in module._forward_pre_hooks.items() if isinstance(h, SpectralNorm) and h.name == name]
    if not hooks:
        raise ValueError(f"spectral_norm of '{name}' not found in {module}")
    applied: Any = module._forward_pre_hooks.pop(hooks[0])
    applied.remove(module)
    for kind in (module._state_dict_hooks, module._load_state_dict_pre_hooks):
        for key, hook in list(kind.items()):
            plain: Any = getattr(hook, "hook", hook)  # a load hook stands inside a WrappedHook
            ours = isinstance(plain, SpectralNormStateDictHook | SpectralNormLoadStateDictPreHook)
            if ours and plain.fn.name == name:
                del kind[key]
    return module
