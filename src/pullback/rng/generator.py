"""``Generator``: ``torch.Generator`` for the CPU, bit for bit, on NumPy; kernels draw large arrays.

Every method draws as many words (:mod:`pullback.rng.mt19937`) as PyTorch 2.13 draws, so that streams stay in step
through any mixture of calls:

- a *word* is 32 bits; a *wide word* is two of them, the first one the high half;
- a float32, float16 or bfloat16 uniform is 24 bits of a word, a float64 uniform 53 bits of a wide word;
- normals are Box & Muller's (*Ann. Math. Stat.* 29, 1958): in blocks of 16 from 16 elements on; below that,
  and in tensors that are not contiguous, pair by pair in float64, the second of a pair cached for the next call;
- an integer is a word modulo the size of the range, a wide word if that is 2**28 or more;
- other distributions invert a float64 uniform, or reject.

Arrays are filled in C order. PyTorch fills a dense tensor in the order of its memory: filling ``x`` fills ``x.t()``
alike. Any other tensor it fills from the largest stride to the smallest.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from contextlib import closing
from typing import Any

import numpy as np
from numpy.typing import DTypeLike

from .. import kernels
from ..base.dtypes import COMPLEX_KINDS
from ..base.holding import holding, locked
from ..kernels.rounding import FLOAT32, FLOAT64, box_muller, each, exp, fused, log, narrow
from . import rejection
from .domains import (
    INT64,
    dtype_info,
    integer_range,
    require_continuous,
    require_float,
    require_float32_or_64,
    require_interval,
    require_real_or_integer,
    require_std,
)
from .mt19937 import CHUNK, Array, DType, Shape, WordStream, unit_float32, wide_words

LONG = (2**32 - 1) // 20  # permutations of at least this length are drawn from wide words


class Generator(WordStream):
    """The state of a random number stream: ``torch.Generator`` on the CPU.

    Sampling methods take a shape and a NumPy dtype and return new arrays; an empty one draws nothing. They
    may be called from several threads. Pickles and copies continue from the same state independently.

    >>> from pullback.rng.generator import Generator
    >>> Generator().manual_seed(0).random((5,), "int64", 0, 10).tolist()
    [4, 9, 3, 0, 3]
    """

    __slots__ = ()

    # -- uniform and normal

    def uniform(self, shape: Shape, dtype: DTypeLike = FLOAT32, low: float = 0.0, high: float = 1.0) -> Array:
        """``uniform_``: uniform in [low, high); in a complex dtype, real and imaginary part are.

        Raises:
            RuntimeError: if the interval is empty or does not fit the dtype.
            NotImplementedError: for integers and bool.
        """
        dtype = np.dtype(dtype)
        if dtype.kind in COMPLEX_KINDS:
            return self.uniform((*shape, 2), f"f{dtype.itemsize // 2}", low, high).view(dtype).reshape(shape)
        real, unit = (FLOAT64, self._unit64) if dtype == FLOAT64 else (FLOAT32, self._unit32)
        if low == 0 and high == 1 and dtype == real:
            return self._fill(shape, dtype, unit)
        require_float(dtype, "check_uniform_bounds")
        require_interval(low, high, dtype)
        start, stop = real.type(low), real.type(high)
        first, end = (narrow(np.array(bound), dtype) for bound in (start, stop))
        shift, width = float(start), float(stop - start)

        def draw(count: int) -> Array:
            x = narrow(fused(unit(count), width, shift), dtype)
            x[x == end] = first  # rounding may reach the end
            return x

        if dtype == FLOAT32:
            return self._fill(shape, dtype, lambda count: self._unit32(count, width, shift, float(end), float(first)))
        return self._fill(shape, dtype, draw)

    def normal(
        self,
        shape: Shape,
        dtype: DTypeLike = FLOAT32,
        mean: float = 0.0,
        std: float = 1.0,
        *,
        contiguous: bool = True,
    ) -> Array:
        """``normal_``: normal; in a complex dtype, real and imaginary part are, with half the variance each.

        ``contiguous=False`` draws PyTorch's numbers for a tensor that is not contiguous, in memory order.

        Raises:
            RuntimeError: if ``std`` is negative or NaN.
            NotImplementedError: for integers and bool.
        """
        dtype = np.dtype(dtype)
        require_std(std)
        if dtype.kind in COMPLEX_KINDS:
            part, std = f"f{dtype.itemsize // 2}", std / math.sqrt(2)
            parts = self.normal((*shape, 2), part, mean, std, contiguous=contiguous)
            return parts.view(dtype).reshape(shape)
        require_float(dtype, "normal_kernel_cpu")
        count = math.prod(shape)
        if count >= 16 and contiguous:
            return holding(self._lock, self._block_normals, count, dtype, mean, std).reshape(shape)
        return self._fill(shape, dtype, lambda n: narrow(fused(self._pairwise_normals(n), std, mean), dtype))

    def _block_normals(self, count: int, dtype: DType, mean: float, std: float) -> Array:
        real, source = (FLOAT64, self._unit64) if dtype == FLOAT64 else (FLOAT32, self._words)
        if mean or std != 1:
            with np.errstate(over="ignore"):
                mean, std = float(real.type(mean)), float(real.type(std))

        def normals(x: Array) -> Array:
            if real == FLOAT32:
                fast = kernels.run("random", "normal", x.size, x, mean, std)
                if fast is not None:
                    return fast
                x = unit_float32(x)
            return fused(box_muller(x), std, mean)

        over = count % 16
        if not over and count <= CHUNK:
            return narrow(normals(source(count)), dtype)
        out = np.empty(count, dtype)
        whole = count - over
        for start in range(0, whole, CHUNK):
            stop = min(start + CHUNK, whole)
            x = source(stop - start)
            last = stop == whole and over > 0
            if last:
                # The last 16 are redrawn, after one uniform for each element past a multiple of 16 (not in 16-bit
                # dtypes).
                if dtype == real:
                    source(over)
                x = np.concatenate((x, source(16)))
            normal = narrow(normals(x), dtype)
            out[start:stop] = normal[: stop - start]
            if last:
                out[-16:] = normal[-16:]
        return out

    def normal_around(self, mean: Array | float, std: Array | float) -> Array:
        """``torch.normal`` with an array for the mean, the standard deviation or both, broadcast together.

        The dtype is that of ``mean`` if it is an array, else that of ``std``.

        Raises:
            RuntimeError: by :func:`check_deviations`.
        """
        if not isinstance(std, np.ndarray):
            mean = np.asarray(mean)
            return np.asarray(self.normal(mean.shape, mean.dtype, 0.0, std) + mean)
        check_deviations(std)
        dtype = mean.dtype if isinstance(mean, np.ndarray) else std.dtype
        out = self.normal(np.broadcast_shapes(np.shape(mean), std.shape), dtype)
        return np.asarray((out * std).astype(dtype, copy=False) + np.asarray(mean, dtype))

    # -- integers, permutations, Bernoulli

    def random(self, shape: Shape, dtype: DTypeLike = INT64, low: int | None = None, high: int | None = None) -> Array:
        """``random_`` and ``torch.randint``: integers in [low, high), in any dtype but the complex ones.

        Without ``high`` up to the largest (of a float dtype, 2**digits); without both, from 0.

        Raises:
            RuntimeError: if the range is empty, or not within the dtype's.
            NotImplementedError: without ``low``, for uint16, uint32 and uint64.
        """
        dtype = np.dtype(dtype)
        if low is not None:
            first, size = integer_range(low, high, dtype)
            return self._integers(shape, dtype, first, size, size >= 2**28)
        if dtype.kind != "b":
            require_real_or_integer(dtype, "random_kernel_cpu")
        kind = dtype_info(dtype)
        size = 2**kind.digits + 1 if kind.digits else int(kind.largest) + 1
        return self._integers(shape, dtype, 0, size, dtype == INT64 or dtype == FLOAT64)

    def _integers(self, shape: Shape, dtype: DType, first: int, size: int, wide: bool) -> Array:
        def draw(count: int) -> Array:
            if wide:
                words = wide_words(self._words(2 * count))
                if size < 2**64:
                    words %= np.uint64(size)
                words += np.uint64(first % 2**64)
                value = words.view(np.int64)
            else:
                value = (self._words(count) % np.uint32(size)).astype(np.int64)
                value += first
            return narrow(value, dtype) if dtype_info(dtype).digits else value.astype(dtype, copy=False)

        return self._fill(shape, dtype, draw)

    def randperm(self, n: int, dtype: DTypeLike = INT64) -> Array:
        """``torch.randperm``: 0 to n - 1 in random order, 1-d.

        Raises:
            RuntimeError: if ``n`` is negative, or more than the dtype can count.
            NotImplementedError: for bool, complex, uint16, uint32 and uint64.
        """
        dtype = np.dtype(dtype)
        kind = dtype_info(dtype)
        if n < 0:
            raise RuntimeError(f"Trying to create tensor with negative dimension {n}: [{n}]")
        require_real_or_integer(dtype, "randperm")
        if kind.digits and n > 2**kind.digits + 1:
            raise RuntimeError(f"n cannot be greater than {2**kind.digits + 1} for {kind.scalar} type.")
        if n > kind.largest:
            raise RuntimeError(f"value cannot be converted to type {dtype}_t without overflow\n  n is {n}.")
        order = holding(self._lock, self._permutation if n < LONG else self._long_permutation, n)
        return narrow(order, dtype) if kind.digits else order.astype(dtype, copy=False)

    def _permutation(self, n: int) -> Array:
        """Durstenfeld's shuffle (*CACM* 7, 1964): for i = 0 ... n-2, swap i with one of i ... n-1. No loop.

        A swap moves the element at its target to position i, finally, and the one at i to the target. So a position
        holds its own number, or else the element that the last swap with this target found at its own position: a
        forest, whose roots pointer doubling finds.
        """
        place = np.arange(n, dtype=INT64)
        if n < 2:
            return place
        words = self._words(n - 1)
        fast = kernels.run("random", "shuffle", n, words, place)
        if fast is not None:
            return fast
        target = place.copy()
        target[:-1] += words % np.arange(n, 1, -1, dtype=np.uint32)
        key = (target << 32) | place
        key.sort()
        again = np.flatnonzero(key[1:] >> 32 == key[:-1] >> 32)
        earlier, later = key[again] & 0xFFFFFFFF, key[again + 1] & 0xFFFFFFFF  # swaps with the same target
        found = place.copy()
        found[target] = place  # the last swap wins
        while True:
            further = found[found]
            if np.array_equal(further, found):
                break
            found = further
        target[later] = found[earlier]
        return target

    def _long_permutation(self, n: int) -> Array:
        """The inside-out shuffle: put i at one of 0 ... i, and the element there at i."""
        order = np.empty(n, INT64)
        view = order.data
        for start in range(0, n, CHUNK):
            stop = min(start + CHUNK, n)
            target = wide_words(self._words(2 * (stop - start))) % np.arange(start + 1, stop + 1, dtype=np.uint64)
            for i, j in enumerate(target.tolist(), start):
                view[i] = i
                view[i], view[j] = view[j], i
        return order

    def bernoulli(self, p: Array | float, shape: Shape | None = None, dtype: DTypeLike | None = None) -> Array:
        """``bernoulli_``, also for dropout: 1 with probability ``p``, else 0.

        With a number ``p``, float64 uniforms are drawn for any dtype (default float32). With an array, which is
        broadcast to ``shape`` if that is given, float32 uniforms unless it is float64; its dtype is the result's
        default.

        Raises:
            RuntimeError: if a probability is outside [0, 1].
            NotImplementedError: for an array of integers.
        """
        if isinstance(p, np.ndarray):
            shape = p.shape if shape is None else shape
            return self._coins(p, shape, np.dtype(p.dtype if dtype is None else dtype))
        dtype = np.dtype(FLOAT32 if dtype is None else dtype)
        if dtype.kind != "b":
            require_real_or_integer(dtype, "bernoulli_scalar_cpu_")
        if not 0 <= p <= 1:
            raise RuntimeError(f"bernoulli_ expects p to be in [0, 1], but got p={p:g}")
        # u < p on the words of u: the upper 21 bits decide, except once in two million times.
        limit = math.ceil(p * 2**53)
        top, rest = divmod(limit, 2**32)

        def draw(count: int) -> Array:
            words = self._words(2 * count)
            fast = kernels.run("random", "bernoulli", count, words, limit, dtype)
            if fast is not None:
                return fast
            words = words.reshape(-1, 2)
            high = words[:, 0] & 0x1FFFFF
            hit = high < top
            tied = np.flatnonzero(high == top)
            hit[tied] = words[tied, 1] < rest
            return hit.astype(dtype)

        return self._fill(() if shape is None else shape, dtype, draw)

    def _coins(self, p: Array, shape: Shape, dtype: DType) -> Array:
        if math.prod(shape) == 0:
            return np.empty(shape, dtype)
        require_float(p.dtype, "bernoulli_tensor_cpu_p_")
        if not ((p >= 0) & (p <= 1)).all():
            raise RuntimeError(
                "Expected p_in >= 0 && p_in <= 1 to be true, but got false.\n"
                f"  The probabilities lie between {p.min()} and {p.max()}."
            )
        uniform = holding(self._lock, self._unit64 if p.dtype == FLOAT64 else self._unit32, math.prod(shape))
        return np.asarray(uniform.reshape(shape) < p.astype(uniform.dtype, copy=False)).astype(dtype)

    # -- by inversion. Float64 results agree with C's functions to the last bit; narrower dtypes round it away.

    def _invert(self, shape: Shape, dtype: DType, sample: Callable[[int], Array]) -> Array:
        def draw(count: int) -> Array:
            with np.errstate(all="ignore"):
                return narrow(sample(count), dtype)

        return self._fill(shape, dtype, draw)

    def exponential(self, shape: Shape, dtype: DTypeLike = FLOAT32, lambd: float = 1.0) -> Array:
        """``exponential_``: ``-log1p(-u) / lambd``.

        Raises:
            RuntimeError: if ``lambd`` is not positive, or the dtype no real float.
        """
        dtype = np.dtype(dtype)
        if not lambd > 0:
            raise RuntimeError(f"exponential_ expects lambda > 0.0, but found lambda={lambd:g}")
        require_continuous(dtype, "Exponential")
        log1p = each(math.log1p) if dtype == FLOAT64 else np.log1p
        return self._invert(shape, dtype, lambda n: -1.0 / lambd * log1p(-self._unit64(n)))

    def cauchy(self, shape: Shape, dtype: DTypeLike = FLOAT32, median: float = 0.0, sigma: float = 1.0) -> Array:
        """``cauchy_``: ``median + sigma * tan(pi * (u - 1/2))``.

        Raises:
            RuntimeError: if ``sigma`` is not positive, or the dtype no real float.
        """
        dtype = np.dtype(dtype)
        if not sigma > 0:
            raise RuntimeError(f"cauchy_ expects sigma > 0.0, but found sigma={sigma:g}")
        require_continuous(dtype, "Cauchy")
        tan = each(math.tan) if dtype == FLOAT64 else np.tan
        return self._invert(shape, dtype, lambda n: fused(tan(math.pi * (self._unit64(n) - 0.5)), sigma, median))

    def log_normal(self, shape: Shape, dtype: DTypeLike = FLOAT32, mean: float = 1.0, std: float = 2.0) -> Array:
        """``log_normal_``: the exponential of a normal, which is drawn pair by pair at any size.

        Raises:
            RuntimeError: if ``std`` is not positive.
            NotImplementedError: if the dtype is no real float.
        """
        dtype = np.dtype(dtype)
        if not std > 0:
            raise RuntimeError(f"log_normal_ expects std > 0.0, but found std={std:g}")
        require_float(dtype, "log_normal_cpu")
        exp_of = each(exp) if dtype == FLOAT64 else np.exp
        return self._invert(shape, dtype, lambda n: exp_of(fused(self._pairwise_normals(n), std, mean)))

    def geometric(self, shape: Shape, dtype: DTypeLike = FLOAT32, p: float = 0.5) -> Array:
        """``geometric_``: trials up to the first success, ``ceil(log(u) / log1p(-p))``.

        Raises:
            RuntimeError: if ``p`` is outside (0, 1).
            NotImplementedError: for bool, complex, uint16, uint32 and uint64.
        """
        dtype = np.dtype(dtype)
        if not 0 < p < 1:
            raise RuntimeError(f"geometric_ expects p to be in (0, 1), but got p={p:g}")
        require_real_or_integer(dtype, "geometric_cpu")

        def draw(count: int) -> Array:
            with np.errstate(all="ignore"):
                trials = np.ceil(log(self._unit64(count)) / math.log1p(-p))
                return narrow(trials, dtype) if dtype_info(dtype).digits else trials.astype(INT64).astype(dtype)

        return self._fill(shape, dtype, draw)

    # -- by weights, and by rejection

    def multinomial(self, probs: Array, num_samples: int, replacement: bool = False) -> Array:
        """``torch.multinomial``: int64 indices drawn by weight, ``(num_samples,)``, or that for each row.

        With replacement by bisection in the cumulative weights; without, and for a single sample, those with
        the largest weight over an exponential (Efraimidis & Spirakis, *Inf. Process. Lett.* 97, 2006). Where
        these are equal, as for weights of zero, the lower index comes first; in PyTorch it may not.

        Raises:
            RuntimeError: if the weights are not 1-d or 2-d, not floats, negative, infinite, NaN, all zero in
                a row, or fewer than ``num_samples`` without replacement.
        """
        if probs.ndim not in (1, 2):
            raise RuntimeError(f"prob_dist must be 1 or 2 dim\n  Its shape is {probs.shape}.")
        if not dtype_info(probs.dtype).digits:
            scalar = dtype_info(probs.dtype).scalar
            raise RuntimeError(f"multinomial only supports floating-point dtypes for input, got: {scalar}")
        if num_samples <= 0:
            raise RuntimeError(f"cannot sample n_sample <= 0 samples\n  n_sample is {num_samples}.")
        categories = probs.shape[-1]
        if not replacement and num_samples > categories:
            raise RuntimeError(
                "cannot sample n_sample > prob_dist.size(-1) samples without replacement\n"
                f"  n_sample is {num_samples}, prob_dist.size(-1) is {categories}."
            )
        if categories > 2**24:
            raise RuntimeError(f"number of categories cannot exceed 2^24\n  There are {categories}.")
        shape = (*probs.shape[:-1], num_samples)
        if math.prod(shape) == 0:
            return np.empty(shape, INT64)
        weights: Any = probs.astype(FLOAT64 if probs.dtype == FLOAT64 else FLOAT32, copy=False)
        if not probs.size or not ((weights >= 0) & (weights < np.inf)).all():
            raise RuntimeError("probability tensor contains either `inf`, `nan` or element < 0")
        if (weights.sum(-1) == 0).any():
            raise RuntimeError("invalid multinomial distribution (sum of probabilities <= 0)")
        if replacement and num_samples > 1:
            cumulative = np.cumsum(weights, -1, weights.dtype).reshape(-1, categories)
            cumulative /= cumulative[:, -1:]
            cumulative[:, -1] = 1
            uniform = holding(self._lock, self._unit64, math.prod(shape)).reshape(-1, num_samples)
            found = [np.searchsorted(c, u) for c, u in zip(cumulative, uniform, strict=True)]
            return np.array(found, INT64).reshape(shape)
        # The exponentials have the memory format of the weights, and are drawn in that order.
        turned = probs.flags.f_contiguous and not probs.flags.c_contiguous
        race = self.exponential(probs.shape[::-1] if turned else probs.shape, probs.dtype)
        with np.errstate(all="ignore"):
            score = (probs / (race.T if turned else race)).astype(weights.dtype, copy=False)
        if num_samples == 1:
            return score.argmax(-1).reshape(shape).astype(INT64, copy=False)
        return _places_of_largest(score, num_samples).astype(INT64)

    def poisson(self, rate: Array) -> Array:
        """``torch.poisson``: counts at the given rates, in their dtype.

        Raises:
            RuntimeError: if a rate is negative or NaN.
            NotImplementedError: if the rates are no real floats.
        """
        require_float(rate.dtype, "poisson_cpu")
        if not (rate >= 0).all():
            raise RuntimeError("invalid Poisson rate, expected rate to be non-negative")
        return self._one_by_one(rejection.poisson, rate)

    def binomial(self, count: Array, prob: Array) -> Array:
        """``torch.binomial``: successes in ``count`` trials; of one shape and dtype, float32 or float64."""
        require_float32_or_64(count.dtype, "binomial_cpu")
        return self._one_by_one(rejection.binomial, count, prob)

    def standard_gamma(self, alpha: Array) -> Array:
        """``torch._standard_gamma``: gamma of the given shape parameters and scale 1, float32 or float64."""
        require_float32_or_64(alpha.dtype, "gamma_cpu")

        def gamma(alpha: Any, uniform: rejection.Source) -> float:
            return rejection.gamma(alpha, uniform, lambda: self._pairwise_normal(uniform))

        return np.asarray(np.maximum(self._one_by_one(gamma, alpha), np.finfo(alpha.dtype).tiny))

    def dirichlet(self, alpha: Array) -> Array:
        """``torch._sample_dirichlet``: gammas over their sum along the last dimension, float32 or float64."""
        require_float32_or_64(alpha.dtype, "dirichlet")
        gamma = self.standard_gamma(alpha.astype(FLOAT64))
        share = narrow(gamma / gamma.sum(-1, keepdims=True), alpha.dtype)
        one = alpha.dtype.type(1)
        return np.asarray(np.clip(share, np.finfo(alpha.dtype).tiny, np.nextafter(one, 0 * one)))

    @locked
    def _one_by_one(self, draw: Callable[..., float], *parameters: Array) -> Array:
        shape, dtype = parameters[0].shape, parameters[0].dtype
        with np.errstate(all="ignore"), closing(self._uniforms(4 * math.prod(shape))) as uniforms:
            uniform = uniforms.__next__
            values = zip(*(p.reshape(-1) for p in parameters), strict=True)
            drawn = [draw(*v, uniform) for v in values]
        return narrow(np.array(drawn, FLOAT64), dtype).reshape(shape)


def _places_of_largest(score: Array, count: int) -> Array:
    """Where the largest numbers of each row are, the largest first; of equal ones the lower index comes first."""
    if count < score.shape[-1] // 4:
        places = np.sort(np.argpartition(-score, count - 1, -1)[..., :count], -1)
        found = np.take_along_axis(score, places, -1)
        if np.count_nonzero(score >= found.min(-1, keepdims=True)) == found.size:  # which ones are no matter of order
            return np.take_along_axis(places, np.argsort(-found, -1, kind="stable"), -1)
    return np.argsort(-score, -1, kind="stable")[..., :count]


def check_deviations(std: Array) -> None:
    """Refuse standard deviations that are negative, NaN or complex.

    Raises:
        RuntimeError: for those.
    """
    if std.dtype.kind in COMPLEX_KINDS:
        raise RuntimeError("normal expects standard deviation to be non-complex")
    if std.size and not std.min() >= 0:
        raise RuntimeError(f"normal expects all elements of std >= 0.0\n  The least is {std.min()}.")
