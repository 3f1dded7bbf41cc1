"""Parametrisations ready to use: ``orthogonal``, ``spectral_norm``, ``weight_norm``."""

from __future__ import annotations

from enum import Enum
from typing import Any

from ...base.dtypes import finfo
from ...base.thread_state import no_grad
from ...core.tensor import Tensor
from ...ops.cholesky_qr import geqrf
from ...ops.cholesky_qr import linalg_householder_product as householder_product
from ...ops.compare import allclose
from ...ops.concat import cat
from ...ops.create import zeros_like
from ...ops.determinant import linalg_matrix_exp as matrix_exp
from ...ops.matmul import mv, vdot
from ...ops.random import randn
from ...ops.ranges import eye
from ...ops.solve import linalg_solve as solve
from ..functional import normalize
from ..modules.module import Module
from .parametrize import register_parametrization
from .spectral_norm import output_dim, random_unit
from .weight_norm import _weight_norm, norm_except_dim

__all__ = ["orthogonal", "spectral_norm", "weight_norm"]


def _tensor(module: Module, name: str) -> Tensor:
    tensor = getattr(module, name, None)
    if not isinstance(tensor, Tensor):
        raise ValueError(f"Module '{module}' has no parameter or buffer with name '{name}'")
    return tensor


# --- orthogonal ---------------------------------------------------------------------------------------------


def _is_orthogonal(q: Tensor) -> bool:
    n, k = q.shape[-2:]
    return allclose(q.mH @ q, eye(k, dtype=q.dtype), atol=10 * n * finfo(q.dtype).eps)


def _orthogonal_factor(a: Tensor) -> Tensor:
    """Q of the QR decomposition of a tall matrix, with signs such that the diagonal of R is positive."""
    x, tau = geqrf(a)
    return householder_product(x, tau) * x.diagonal(dim1=-2, dim2=-1).sgn().unsqueeze(-2)


class _OrthMaps(Enum):
    matrix_exp = 1
    cayley = 2
    householder = 3


class _Orthogonal(Module):
    def __init__(self, weight: Tensor, orthogonal_map: _OrthMaps, *, use_trivialization: bool = True) -> None:
        super().__init__()
        if weight.is_complex() and orthogonal_map is _OrthMaps.householder:
            # n(n-1)/2 complex reflectors do not make up all n*n real dimensions of the unitary matrices.
            raise ValueError("The householder parametrization does not support complex tensors.")
        self.shape, self.orthogonal_map = weight.shape, orthogonal_map
        if use_trivialization:
            self.register_buffer("base", None)

    def forward(self, X: Tensor) -> Tensor:
        transposed = X.shape[-2] < X.shape[-1]
        X = X.mT if transposed else X
        n, k = X.shape[-2:]
        if self.orthogonal_map is _OrthMaps.householder:
            A = X.tril(-1)
            Q = householder_product(A, 2 / (1 + (A * A).sum(-2)))
            Q = Q * X.diagonal(dim1=-2, dim2=-1).int().unsqueeze(-2)  # signs, which are not trained
        else:
            X = X.tril()
            if n != k:
                X = cat([X, X.new_zeros(n, n - k).expand(*X.shape[:-2], -1, -1)], dim=-1)
            A = X - X.mH
            if self.orthogonal_map is _OrthMaps.matrix_exp:
                Q = matrix_exp(A)
            else:
                one = eye(n, dtype=A.dtype)
                Q = solve(one - A / 2, one + A / 2)
            Q = Q[..., :k]
        if hasattr(self, "base"):
            Q = self.base @ Q
        return Q.mT if transposed else Q

    @no_grad()
    def right_inverse(self, Q: Tensor) -> Tensor:
        if Q.shape != self.shape:
            raise ValueError(
                f"Expected a matrix or batch of matrices of shape {self.shape}. Got a tensor of shape {Q.shape}."
            )
        given, transposed = Q, Q.shape[-2] < Q.shape[-1]
        Q = Q.mT if transposed else Q
        n, k = Q.shape[-2:]
        if not hasattr(self, "base"):
            if self.orthogonal_map is not _OrthMaps.householder:
                raise NotImplementedError(
                    "It is not possible to assign to the matrix exponential "
                    "or the Cayley parametrizations when use_trivialization=False."
                )
            A, tau = geqrf(Q)
            signs = A.diagonal(dim1=-2, dim2=-1)
            signs.sign_()
            signs[tau == 0.0] *= -1  # LAPACK made no reflection there
            return A.mT if transposed else A
        if n != k:
            rest = randn(*Q.shape[:-2], n, n - k, dtype=Q.dtype)
            Q = _orthogonal_factor(cat([Q, rest], dim=-1))
        else:
            Q = Q.clone() if _is_orthogonal(Q) else _orthogonal_factor(Q)
        self.base = Q
        # From -1 on the diagonal every map, householder too, gives the identity.
        start = zeros_like(given)
        start.diagonal(dim1=-2, dim2=-1).fill_(-1.0)
        return start


def orthogonal(
    module: Module, name: str = "weight", orthogonal_map: str | None = None, *, use_trivialization: bool = True
) -> Module:
    """Keep a matrix, or a batch of them, orthogonal (unitary if complex): ``QᴴQ = 1``, or ``QQᴴ = 1`` if wide.

    Args:
        module: changed in place, and returned.
        name: the tensor, of shape ``(..., m, n)``.
        orthogonal_map: how a skew-symmetric ``A`` becomes orthogonal: ``"matrix_exp"`` (``exp A``, the default for
            square and complex ones), ``"cayley"`` (``(1 + A/2)(1 - A/2)⁻¹``) or ``"householder"`` (a product of
            reflections, the default for the others).
        use_trivialization: let the map start at a base, the initial value, which is kept as a buffer (Lezcano
            Casado 2019). Without it, values can only be assigned with ``"householder"``.

    Raises:
        ValueError: there is no such tensor, it has fewer than two dimensions, or the map does not fit.

    >>> import pullback as torch
    >>> layer = torch.nn.utils.parametrizations.orthogonal(torch.nn.Linear(3, 5))
    >>> torch.allclose(layer.weight.T @ layer.weight, torch.eye(3), atol=1e-5)
    True
    """
    weight = _tensor(module, name)
    if weight.ndim < 2:
        raise ValueError(f"Expected a matrix or batch of matrices. Got a tensor of {weight.ndim} dimensions.")
    if orthogonal_map is None:
        square = weight.shape[-2] == weight.shape[-1]
        orthogonal_map = "matrix_exp" if square or weight.is_complex() else "householder"
    if orthogonal_map not in _OrthMaps.__members__:
        raise ValueError(
            f'orthogonal_map has to be one of "matrix_exp", "cayley", "householder". Got: {orthogonal_map}'
        )
    made = _Orthogonal(weight, _OrthMaps[orthogonal_map], use_trivialization=use_trivialization)
    return register_parametrization(module, name, made, unsafe=True)


# --- length and direction -----------------------------------------------------------------------------------


class _WeightNorm(Module):
    def __init__(self, dim: int | None = 0) -> None:
        super().__init__()
        self.dim = -1 if dim is None else dim

    def forward(self, weight_g: Tensor, weight_v: Tensor) -> Tensor:
        return _weight_norm(weight_v, weight_g, self.dim)

    def right_inverse(self, weight: Tensor) -> tuple[Tensor, Tensor]:
        return norm_except_dim(weight, 2, self.dim), weight


def weight_norm(module: Module, name: str = "weight", dim: int | None = 0) -> Module:
    """Train the length and the direction of a weight apart: ``g * v / |v|`` (Salimans and Kingma 2016).

    Args:
        module: changed in place, and returned; ``parametrizations.NAME`` has ``original0`` (g) and ``original1`` (v).
        name: the parameter.
        dim: the dimension along which each slice has a length of its own; None for one length in all.

    >>> import pullback as torch
    >>> layer = torch.nn.utils.parametrizations.weight_norm(torch.nn.Linear(2, 3))
    >>> layer.parametrizations.weight.original0.shape
    torch.Size([3, 1])
    """
    register_parametrization(module, name, _WeightNorm(dim), unsafe=True)

    def read_old_names(state_dict: dict[str, Any], prefix: str, *unused: Any) -> None:
        keys = [f"{prefix}{name}_g", f"{prefix}{name}_v"]
        if all(key in state_dict for key in keys):
            for i, key in enumerate(keys):
                state_dict[f"{prefix}parametrizations.{name}.original{i}"] = state_dict.pop(key)

    module._register_load_state_dict_pre_hook(read_old_names)
    return module


# --- largest singular value ---------------------------------------------------------------------------------


class _SpectralNorm(Module):
    _u: Tensor
    _v: Tensor

    def __init__(self, weight: Tensor, n_power_iterations: int = 1, dim: int = 0, eps: float = 1e-12) -> None:
        super().__init__()
        ndim = weight.ndim
        if not -ndim <= dim < ndim:
            raise IndexError(f"Dimension out of range (expected to be in range of [-{ndim}, {ndim - 1}] but got {dim})")
        if n_power_iterations <= 0:
            raise ValueError(
                f"Expected n_power_iterations to be positive, but got n_power_iterations={n_power_iterations}"
            )
        self.dim, self.eps = dim % ndim, eps
        if ndim > 1:
            self.n_power_iterations = n_power_iterations
            matrix = self._reshape_weight_to_matrix(weight)
            height, width = matrix.shape
            self.register_buffer("_u", random_unit(weight, height, eps))
            self.register_buffer("_v", random_unit(weight, width, eps))
            self._power_method(matrix, 15)

    def _reshape_weight_to_matrix(self, weight: Tensor) -> Tensor:
        return weight.movedim(self.dim, 0).flatten(1)

    @no_grad()
    def _power_method(self, weight_mat: Tensor, n_power_iterations: int) -> None:
        for _ in range(n_power_iterations):
            self._u.copy_(normalize(mv(weight_mat, self._v), dim=0, eps=self.eps))
            self._v.copy_(normalize(mv(weight_mat.mH, self._u), dim=0, eps=self.eps))

    def forward(self, weight: Tensor) -> Tensor:
        if weight.ndim == 1:
            return normalize(weight, dim=0, eps=self.eps)
        matrix = self._reshape_weight_to_matrix(weight)
        if self.training:
            self._power_method(matrix, self.n_power_iterations)
        # The next forward will write into the buffers, and backward of this one needs what they hold now.
        u, v = self._u.clone(), self._v.clone()
        return weight / vdot(u, mv(matrix, v))

    def right_inverse(self, value: Tensor) -> Tensor:
        return value  # any weight of spectral norm one is its own original


def spectral_norm(
    module: Module, name: str = "weight", n_power_iterations: int = 1, eps: float = 1e-12, dim: int | None = None
) -> Module:
    """Divide a weight, seen as a matrix, by its largest singular value (Miyato et al. 2018).

    Power iteration finds it: 15 steps now, and ``n_power_iterations`` whenever the weight is read in training.

    Args:
        module: changed in place, and returned.
        name: the parameter; a vector is divided by its length.
        n_power_iterations: at least 1.
        eps: the least length to divide the vectors by.
        dim: the dimension that counts the outputs: by default 0, and 1 for transposed convolutions.

    Raises:
        ValueError, IndexError: there is no such tensor or dimension, or no iterations are asked for.
    """
    weight = _tensor(module, name)
    dim = output_dim(module) if dim is None else dim
    return register_parametrization(module, name, _SpectralNorm(weight, n_power_iterations, dim, eps))
