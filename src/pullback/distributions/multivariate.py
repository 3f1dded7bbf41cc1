"""Multivariate normal distributions, full and low-rank, Wishart, and LKJ over Cholesky factors of correlations."""

from __future__ import annotations

import math
import warnings
from typing import Any

from ..base.dtypes import finfo
from ..base.shape import Size
from ..core.tensor import Tensor
from ..ops.cholesky_qr import cholesky_inverse, cholesky_solve
from ..ops.cholesky_qr import linalg_cholesky as cholesky
from ..ops.concat import cat, diag_embed
from ..ops.create import tensor
from ..ops.determinant import linalg_slogdet as slogdet
from ..ops.random import randn
from ..ops.ranges import arange, eye
from ..ops.solve import linalg_solve_triangular as solve_triangular
from ..ops.special import digamma, lgamma, mvlgamma
from ..ops.view import broadcast_shapes, broadcast_tensors
from ..ops.where import where
from . import constraints
from .distribution import Distribution, ExponentialFamily, validates_sample
from .gamma_family import Beta, Chi2
from .parameters import NUMBER, broadcast_all, lazy_property, standard_normal, vec_to_tril_matrix

__all__ = ["LKJCholesky", "LowRankMultivariateNormal", "MultivariateNormal", "Wishart"]


def _matvec(matrix: Tensor, x: Tensor) -> Tensor:
    """Matrices times vectors."""
    return x @ matrix.mT if matrix.dim() == 2 else (matrix @ x.unsqueeze(-1)).squeeze(-1)


def _sum_log_diagonal(factor: Tensor) -> Tensor:
    return factor.diagonal(dim1=-2, dim2=-1).log().sum(-1)


# --- normal vectors -----------------------------------------------------------------------------------------


class GaussianVector(Distribution):
    """Methods that follow from the mean and three things about the covariance.

    These are: ``_half_log_det``; ``_columns``, a matrix that times its transpose is the covariance; and ``_lengths``,
    the squared Mahalanobis lengths ``x' covariance**-1 x`` of a matrix's columns.
    """

    support = constraints.real_vector
    has_rsample = True
    loc: Tensor
    _unbatched: bool  # whether there is one covariance matrix for the whole batch

    @property
    def _half_log_det(self) -> Tensor:
        raise NotImplementedError

    @property
    def _columns(self) -> Tensor:
        raise NotImplementedError

    def _lengths(self, matrix: Tensor) -> Tensor:
        raise NotImplementedError

    @property
    def mean(self) -> Tensor:
        return self.loc

    @property
    def mode(self) -> Tensor:
        return self.loc

    def _mahalanobis(self, x: Tensor) -> Tensor:
        if self._unbatched:
            return self._lengths(x.reshape(-1, x.size(-1)).mT).reshape(x.shape[:-1])
        return self._lengths(x.unsqueeze(-1)).squeeze(-1)

    @validates_sample
    def log_prob(self, value: Any) -> Tensor:
        n = self._event_shape[0]
        return -0.5 * (n * math.log(2 * math.pi) + self._mahalanobis(value - self.loc)) - self._half_log_det

    def entropy(self) -> Tensor:
        n = self._event_shape[0]
        return (0.5 * n * (1.0 + math.log(2 * math.pi)) + self._half_log_det).expand(self._batch_shape)

    def _divergence(self, q: GaussianVector) -> Tensor:
        """Kullback and Leibler's divergence from another normal vector ``q``."""
        trace = q._lengths(self._columns).sum(-1)
        n = self._event_shape[0]
        return q._half_log_det - self._half_log_det + 0.5 * (trace + q._mahalanobis(q.loc - self.loc) - n)


class CovarianceParameters(Distribution):
    """A covariance matrix, by itself, by its inverse, or by its Cholesky factor; the others are computed when asked
    for.
    """

    arg_constraints: Any = {
        "covariance_matrix": constraints.positive_definite,
        "precision_matrix": constraints.positive_definite,
        "scale_tril": constraints.lower_cholesky,
    }
    _unbroadcasted_scale_tril: Tensor

    def _factorize(self, name: str, matrix: Tensor) -> None:
        """Find the Cholesky factor."""
        if name == "precision_matrix":
            # The factor of the inverse, by a Cholesky factorization with rows and columns reversed.
            upper = cholesky(matrix.flip(-2, -1)).flip(-2, -1).mT
            matrix = solve_triangular(upper, eye(matrix.size(-1), dtype=matrix.dtype), upper=False)
        elif name == "covariance_matrix":
            matrix = cholesky(matrix)
        self._unbroadcasted_scale_tril = matrix

    def _batched(self, matrix: Tensor) -> Tensor:
        return matrix.expand(self._batch_shape + matrix.shape[-2:])

    @lazy_property
    def scale_tril(self) -> Tensor:
        return self._batched(self._unbroadcasted_scale_tril)

    @lazy_property
    def covariance_matrix(self) -> Tensor:
        return self._batched(self._unbroadcasted_scale_tril @ self._unbroadcasted_scale_tril.mT)

    @lazy_property
    def precision_matrix(self) -> Tensor:
        return self._batched(cholesky_inverse(self._unbroadcasted_scale_tril))


def _given_matrix(error: type[Exception], **matrices: Tensor | None) -> tuple[str, Tensor]:
    """The one matrix that was given."""
    given = [(name, m) for name, m in matrices.items() if m is not None]
    if len(given) != 1:
        raise error("Exactly one of covariance_matrix or precision_matrix or scale_tril may be specified.")
    return given[0]


class MultivariateNormal(CovarianceParameters, GaussianVector):
    """A normal vector.

    Args:
        loc: the mean, ``(*batch, n)``.
        covariance_matrix, precision_matrix, scale_tril: one of these, ``(*batch, n, n)``. The last is the lower
        triangular
            factor of the first, and the cheapest.

    >>> import pullback as torch
    >>> d = torch.distributions.MultivariateNormal(torch.zeros(2), torch.tensor([[2.0, 1.0], [1.0, 2.0]]))
    >>> d.log_prob(torch.zeros(2))
    tensor(-2.3872)
    """

    arg_constraints: Any = {"loc": constraints.real_vector, **CovarianceParameters.arg_constraints}

    def __init__(
        self,
        loc: Tensor,
        covariance_matrix: Tensor | None = None,
        precision_matrix: Tensor | None = None,
        scale_tril: Tensor | None = None,
        validate_args: bool | None = None,
    ) -> None:
        if loc.dim() < 1:
            raise ValueError("loc must be at least one-dimensional.")
        name, matrix = _given_matrix(
            ValueError, covariance_matrix=covariance_matrix, precision_matrix=precision_matrix, scale_tril=scale_tril
        )
        if matrix.dim() < 2:
            raise ValueError(
                f"{name}{' matrix' * (name == 'scale_tril')} must be at least two-dimensional, with optional leading "
                "batch dimensions"
            )
        batch = broadcast_shapes(matrix.shape[:-2], loc.shape[:-1])
        setattr(self, name, matrix.expand(batch + (-1, -1)))
        self.loc = loc.expand(batch + (-1,))
        Distribution.__init__(self, batch, self.loc.shape[-1:], validate_args=validate_args)
        self._factorize(name, matrix)

    @property
    def _unbatched(self) -> bool:  # type: ignore[override]
        return self._unbroadcasted_scale_tril.dim() == 2

    @property
    def _half_log_det(self) -> Tensor:
        return _sum_log_diagonal(self._unbroadcasted_scale_tril)

    @property
    def _columns(self) -> Tensor:
        return self._unbroadcasted_scale_tril

    def _lengths(self, matrix: Tensor) -> Tensor:
        return solve_triangular(self._unbroadcasted_scale_tril, matrix, upper=False).pow(2).sum(-2)

    @property
    def variance(self) -> Tensor:
        return self._unbroadcasted_scale_tril.pow(2).sum(-1).expand(self.loc.shape)

    def rsample(self, sample_shape: Any = ()) -> Tensor:
        return self.loc + _matvec(
            self._unbroadcasted_scale_tril, standard_normal(self._extended_shape(sample_shape), self.loc)
        )


class LowRankMultivariateNormal(GaussianVector):
    """A normal vector with covariance ``cov_factor @ cov_factor.T + diag(cov_diag)``.

    With ``m`` columns in the factor, only ``m`` by ``m`` systems are solved, by Woodbury's identity and the matrix
    determinant lemma.

    Args:
        loc: ``(*batch, n)``.
        cov_factor: ``(*batch, n, m)``.
        cov_diag: ``(*batch, n)``, positive.

    >>> import pullback as torch
    >>> torch.distributions.LowRankMultivariateNormal(torch.zeros(2), torch.ones(2, 1), torch.ones(2)).variance
    tensor([2., 2.])
    """

    arg_constraints = {
        "loc": constraints.real_vector,
        "cov_factor": constraints.independent(constraints.real, 2),
        "cov_diag": constraints.independent(constraints.positive, 1),
    }

    def __init__(self, loc: Tensor, cov_factor: Tensor, cov_diag: Tensor, validate_args: bool | None = None) -> None:
        if loc.dim() < 1:
            raise ValueError("loc must be at least one-dimensional.")
        event = loc.shape[-1:]
        if cov_factor.dim() < 2:
            raise ValueError("cov_factor must be at least two-dimensional, with optional leading batch dimensions")
        if cov_factor.shape[-2:-1] != event:
            raise ValueError(f"cov_factor must be a batch of matrices with shape {event[0]} x m")
        if cov_diag.shape[-1:] != event:
            raise ValueError(f"cov_diag must be a batch of vectors with shape {event}")
        try:
            loc_, self.cov_factor, cov_diag_ = broadcast_tensors(loc.unsqueeze(-1), cov_factor, cov_diag.unsqueeze(-1))
        except RuntimeError as error:
            raise ValueError(
                f"Incompatible batch shapes: loc {loc.shape}, cov_factor {cov_factor.shape}, cov_diag {cov_diag.shape}"
            ) from error
        self.loc, self.cov_diag = loc_[..., 0], cov_diag_[..., 0]
        self._unbroadcasted_cov_factor, self._unbroadcasted_cov_diag = cov_factor, cov_diag
        identity = eye(cov_factor.size(-1), dtype=cov_factor.dtype)
        self._capacitance_tril = cholesky(self._over_diag @ cov_factor + identity)
        super().__init__(self.loc.shape[:-1], event, validate_args=validate_args)

    @property
    def _over_diag(self) -> Tensor:
        return self._unbroadcasted_cov_factor.mT / self._unbroadcasted_cov_diag.unsqueeze(-2)

    @property
    def _unbatched(self) -> bool:  # type: ignore[override]
        return self._capacitance_tril.dim() == 2

    @property
    def _half_log_det(self) -> Tensor:
        return _sum_log_diagonal(self._capacitance_tril) + 0.5 * self._unbroadcasted_cov_diag.log().sum(-1)

    @property
    def _columns(self) -> Tensor:
        diagonal = diag_embed(self._unbroadcasted_cov_diag.sqrt())
        batch = broadcast_shapes(diagonal.shape[:-2], self._unbroadcasted_cov_factor.shape[:-2])
        return cat([m.expand(batch + m.shape[-2:]) for m in (self._unbroadcasted_cov_factor, diagonal)], -1)

    def _lengths(self, matrix: Tensor) -> Tensor:
        explained = solve_triangular(self._capacitance_tril, self._over_diag @ matrix, upper=False)
        return (matrix.pow(2) / self._unbroadcasted_cov_diag.unsqueeze(-1)).sum(-2) - explained.pow(2).sum(-2)

    @lazy_property
    def variance(self) -> Tensor:
        return (self._unbroadcasted_cov_factor.pow(2).sum(-1) + self._unbroadcasted_cov_diag).expand(self.loc.shape)

    @lazy_property
    def scale_tril(self) -> Tensor:
        """The Cholesky factor of the covariance matrix."""
        return cholesky(self.covariance_matrix)

    @lazy_property
    def covariance_matrix(self) -> Tensor:
        """The covariance matrix in full."""
        matrix = self._unbroadcasted_cov_factor @ self._unbroadcasted_cov_factor.mT + diag_embed(
            self._unbroadcasted_cov_diag
        )
        return matrix.expand(self.loc.shape + self._event_shape)

    @lazy_property
    def precision_matrix(self) -> Tensor:
        """The inverse of the covariance matrix."""
        explained = solve_triangular(self._capacitance_tril, self._over_diag, upper=False)
        matrix = diag_embed(self._unbroadcasted_cov_diag.reciprocal()) - explained.mT @ explained
        return matrix.expand(self.loc.shape + self._event_shape)

    def rsample(self, sample_shape: Any = ()) -> Tensor:
        shape = self._extended_shape(sample_shape)
        of_factor = standard_normal(shape[:-1] + self.cov_factor.shape[-1:], self.loc)
        of_diag = standard_normal(shape, self.loc)
        return (
            self.loc
            + _matvec(self._unbroadcasted_cov_factor, of_factor)
            + self._unbroadcasted_cov_diag.sqrt() * of_diag
        )


# --- random matrices ----------------------------------------------------------------------------------------


class Wishart(CovarianceParameters, ExponentialFamily):
    """Wishart's distribution: of ``X.T @ X`` for ``df`` rows of normal vectors with mean 0.

    Args:
        df: degrees of freedom, more than ``n - 1``; need not be whole.
        covariance_matrix, precision_matrix, scale_tril: of the normal vectors, one of these, ``(*batch, n, n)``.

    >>> import pullback as torch
    >>> torch.distributions.Wishart(torch.tensor(3.0), torch.eye(2)).mean
    tensor([[3., 0.],
            [0., 3.]])
    """

    support = constraints.positive_definite
    has_rsample = True
    _mean_carrier_measure = 0.0

    def __init__(
        self,
        df: Any,
        covariance_matrix: Tensor | None = None,
        precision_matrix: Tensor | None = None,
        scale_tril: Tensor | None = None,
        validate_args: bool | None = None,
    ) -> None:
        name, matrix = _given_matrix(
            AssertionError,
            covariance_matrix=covariance_matrix,
            precision_matrix=precision_matrix,
            scale_tril=scale_tril,
        )
        if matrix.dim() < 2:
            raise ValueError("scale_tril must be at least two-dimensional, with optional leading batch dimensions")
        given, n = df, matrix.size(-1)
        df = tensor(df, dtype=matrix.dtype) if isinstance(df, NUMBER) else df
        batch = broadcast_shapes(matrix.shape[:-2], df.shape)
        self.df = df.expand(batch)
        if self.df.le(n - 1).any():
            raise ValueError(f"Value of df={given} expected to be greater than ndim - 1 = {n - 1}.")
        if self.df.lt(n).any():
            warnings.warn(
                "Low df values detected. Singular samples are highly likely to occur for ndim - 1 < df < ndim.",
                stacklevel=2,
            )
        setattr(self, name, matrix.expand(batch + (-1, -1)))
        Distribution.__init__(self, batch, matrix.shape[-2:], validate_args=validate_args)
        self._factorize(name, matrix)
        self._dist_chi2 = Chi2(self.df.unsqueeze(-1) - arange(n, dtype=self.df.dtype))

    @property
    def arg_constraints(self) -> Any:
        return {**CovarianceParameters.arg_constraints, "df": constraints.greater_than(self.event_shape[-1] - 1)}

    @property
    def mean(self) -> Tensor:
        return self.df[..., None, None] * self.covariance_matrix

    @property
    def mode(self) -> Tensor:
        """NaN where the density is infinite at singular matrices."""
        factor = self.df - self._event_shape[-1] - 1
        return where(factor > 0, factor, math.nan)[..., None, None] * self.covariance_matrix

    @property
    def variance(self) -> Tensor:
        v = self.covariance_matrix
        diagonal = v.diagonal(dim1=-2, dim2=-1)
        return self.df[..., None, None] * (v.pow(2) + diagonal.unsqueeze(-1) * diagonal.unsqueeze(-2))

    def _bartlett(self, sample_shape: Any) -> Tensor:
        """By Bartlett's decomposition: the Cholesky factor has normal numbers below a diagonal of chi numbers."""
        n = self._event_shape[-1]
        diagonal = self._dist_chi2.rsample(sample_shape).sqrt()
        below = randn(Size(sample_shape) + self._batch_shape + (n * (n - 1) // 2,), dtype=diagonal.dtype)
        diagonal = diag_embed(diagonal.clamp(min=finfo(diagonal.dtype).eps))
        factor = self._unbroadcasted_scale_tril @ (diagonal + vec_to_tril_matrix(below, diag=-1))
        return factor @ factor.mT

    def rsample(self, sample_shape: Any = (), max_try_correction: int = 10) -> Tensor:
        """Draw samples; redraw (up to ``max_try_correction`` times) those that rounding made singular.

        Warns:
            if something was.
        """
        # PyTorch's test for singular samples is inverted: its samples are the second draws
        self._bartlett(sample_shape)
        sample = self._bartlett(sample_shape)
        singular = ~self.support.check(sample)
        if singular.any():
            warnings.warn("Singular sample detected.", stacklevel=2)
        for _ in range(max_try_correction):
            if not singular.any():
                break
            sample = where(singular[..., None, None], self._bartlett(sample_shape), sample)
            singular = ~self.support.check(sample)
        return sample

    @validates_sample
    def log_prob(self, value: Any) -> Tensor:
        n, root = self._event_shape[-1], self._unbroadcasted_scale_tril
        trace = cholesky_solve(value, root).diagonal(dim1=-2, dim2=-1).sum(-1)
        return (
            0.5 * (self.df - n - 1) * slogdet(value).logabsdet
            - 0.5 * trace
            - self.df * (0.5 * n * math.log(2) + _sum_log_diagonal(root))
            - mvlgamma(self.df / 2, n)
        )

    def entropy(self) -> Tensor:
        n, half = self._event_shape[-1], self.df / 2
        mean_digamma = digamma(half.unsqueeze(-1) - arange(n, dtype=half.dtype) / 2).sum(-1)
        return (
            (n + 1) * (0.5 * n * math.log(2) + _sum_log_diagonal(self._unbroadcasted_scale_tril))
            + mvlgamma(half, n)
            - (half - 0.5 * (n + 1)) * mean_digamma
            + half * n
        )

    @property
    def _natural_params(self) -> tuple[Tensor, ...]:
        return -self.precision_matrix / 2, (self.df - self._event_shape[-1] - 1) / 2

    def _log_normalizer(self, x: Any, y: Any) -> Tensor:  # type: ignore[override]
        n = self._event_shape[-1]
        half = y + (n + 1) / 2
        return half * (n * math.log(2) - slogdet(-2 * x).logabsdet) + mvlgamma(half, n)


class LKJCholesky(Distribution):
    """Cholesky factors of random correlation matrices, with a density of these as ``det ** (concentration - 1)``.

    (Lewandowski, Kurowicka & Joe, *J. Multivariate Anal.* 100, 2009, section 3.2: the "onion method".) A concentration
    of 1 is uniform over correlation matrices; above, they are closer to the identity.

    >>> import pullback as torch
    >>> torch.distributions.LKJCholesky(3, 1.0).sample((2,)).shape
    torch.Size([2, 3, 3])
    """

    arg_constraints = {"concentration": constraints.positive}
    support = constraints.corr_cholesky

    def __init__(self, dim: int, concentration: Any = 1.0, validate_args: bool | None = None) -> None:
        if dim < 2:
            raise ValueError(f"Expected dim to be an integer greater than or equal to 2. Found dim={dim}.")
        self.dim = dim
        (self.concentration,) = broadcast_all(concentration)
        before = arange(dim, dtype=self.concentration.dtype).clamp(min=1)  # elements of a row below the diagonal
        self._beta = Beta(0.5 * before, (self.concentration + 0.5 * (dim - 1)).unsqueeze(-1) - 0.5 * before)
        super().__init__(self.concentration.size(), (dim, dim), validate_args)

    def sample(self, sample_shape: Any = ()) -> Tensor:
        """Row by row: a direction, times the square root of a beta number; what is missing to 1 on the diagonal."""
        length = self._beta.sample(sample_shape).unsqueeze(-1)
        direction = randn(self._extended_shape(sample_shape), dtype=length.dtype).tril(-1)
        direction = direction / direction.norm(dim=-1, keepdim=True)
        direction[..., 0, :] = 0.0
        w = length.sqrt() * direction
        return w + diag_embed((1 - (w * w).sum(-1)).clamp(min=finfo(w.dtype).tiny).sqrt())

    @validates_sample
    def log_prob(self, value: Any) -> Tensor:
        diagonal = value.diagonal(dim1=-1, dim2=-2)[..., 1:]
        power = 2 * (self.concentration - 1).unsqueeze(-1) + self.dim - arange(2, self.dim + 1)
        n = self.dim - 1
        alpha = self.concentration + 0.5 * n
        normalizer = 0.5 * n * math.log(math.pi) + mvlgamma(alpha - 0.5, n) - lgamma(alpha) * n
        return (power * diagonal.log()).sum(-1) - normalizer


# --- what other packages take from PyTorch's modules ------------------------------------------------------------

_batch_mv = _matvec


def _batch_mahalanobis(scale_tril: Tensor, x: Tensor) -> Tensor:
    """The squared Mahalanobis lengths of vectors, given Cholesky factors of the covariances."""
    return solve_triangular(scale_tril, x.unsqueeze(-1), upper=False).square().sum((-2, -1))


def _precision_to_scale_tril(precision: Tensor) -> Tensor:
    """Cholesky factors of the inverses of matrices, which are not computed: L' L is the matrix, read backwards."""
    backwards = cholesky(precision.flip((-2, -1))).flip((-2, -1))
    identity = eye(precision.shape[-1], dtype=precision.dtype)
    return solve_triangular(backwards.mT, identity, upper=False)


def _batch_capacitance_tril(factor: Tensor, diagonal: Tensor) -> Tensor:
    """The Cholesky factor of I + W' D**-1 W."""
    identity = eye(factor.shape[-1], dtype=factor.dtype)
    return cholesky((factor / diagonal.unsqueeze(-1)).mT @ factor + identity)


def _batch_lowrank_logdet(factor: Tensor, diagonal: Tensor, capacitance_tril: Tensor) -> Tensor:
    """The logarithm of the determinant of W W' + D."""
    return 2 * _sum_log_diagonal(capacitance_tril) + diagonal.log().sum(-1)


def _batch_lowrank_mahalanobis(factor: Tensor, diagonal: Tensor, x: Tensor, capacitance_tril: Tensor) -> Tensor:
    """The squared Mahalanobis lengths of vectors for the covariance W W' + D."""
    explained = _batch_mv((factor / diagonal.unsqueeze(-1)).mT, x)
    return (x.square() / diagonal).sum(-1) - _batch_mahalanobis(capacitance_tril, explained)
