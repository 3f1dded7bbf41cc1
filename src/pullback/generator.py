"""PyTorch's CPU random streams, bit for bit, on NumPy alone.

``Generator`` is ``torch.Generator`` for the CPU. Its words come from the Mersenne Twister mt19937 (Matsumoto &
Nishimura, *ACM TOMACS* 8, 1998), seeded with the low 32 bits of the seed, which is NumPy's own ``MT19937``. Each
method draws exactly as many words as PyTorch 2.13 does, so streams stay in step through any mixture of calls:

- a *word* is one 32-bit draw; a *wide word* is two, the first one on top;
- float32, float16 and bfloat16 uniforms keep 24 bits of a word, float64 uniforms 53 bits of a wide word;
- normals are Box & Muller's (*Ann. Math. Stat.* 29, 1958): blocks of 16 from 16 elements on, below that (and for
  ``contiguous=False``) pair by pair in double precision, the second of a pair kept in the state for the next call;
- integers are a word modulo the range, a wide word when the range is 2**28 or more;
- every other distribution inverts a float64 uniform, or rejects.

PyTorch's kernels are compiled with fused multiply-add, so ``scale * x + shift`` is rounded once here too, and the
float32 normals use the same single-precision polynomials with the same roundings as its x86-64 kernel. Float64
results go through the C library's ``log1p``, ``tan`` and ``exp``, as PyTorch's do.

Arrays are filled in row-major order. PyTorch fills a dense tensor in the order of its memory, whatever its
strides: fill ``x.t()`` by filling ``x``; any other strided tensor it fills from the largest stride to the smallest.
"""

from __future__ import annotations

import math
import threading
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

Array = NDArray[Any]
Shape = tuple[int, ...]
Draw = Callable[[int], Array]

FLOAT32 = np.dtype(np.float32)
FLOAT64 = np.dtype(np.float64)
INT64 = np.dtype(np.int64)
INT64_MIN, INT64_MAX = -(2**63), 2**63 - 1

DEFAULT_SEED = 67280421310721
TWISTER = 624  # words the twister makes at a time
CHUNK = 64 * TWISTER  # elements filled at a time, so that temporaries stay in cache
SHUFFLE_LIMIT = (2**32 - 1) // 20  # from this length on PyTorch shuffles with wide words

# The 5056 bytes of PyTorch's CPU generator state. Fields called unused are zero.
STATE = np.dtype(
    [
        ("seed", "<u8"),
        ("left", "<i4"),  # words left before the next twist, plus one
        ("seeded", "<i4"),
        ("next", "<u8"),
        ("words", "<u8", TWISTER),
        ("unused_x", "<f8"),
        ("normal", "<f8"),
        ("unused_rho", "<f8"),
        ("has_normal", "<i4"),
        ("unused_pad", "<i4"),
        ("normal32", "<f4"),
        ("has_normal32", "?"),
        ("unused_end", "V3"),
    ]
)

# What PyTorch's messages call each dtype: its scalar type, and the C++ type.
NAMES = {
    "bool": ("Bool", "bool"),
    "uint8": ("Byte", "unsigned char"),
    "int8": ("Char", "signed char"),
    "int16": ("Short", "short int"),
    "int32": ("Int", "int"),
    "int64": ("Long", "long int"),
    "uint16": ("UInt16", "short unsigned int"),
    "uint32": ("UInt32", "unsigned int"),
    "uint64": ("UInt64", "long unsigned int"),
    "float16": ("Half", "c10::Half"),
    "bfloat16": ("BFloat16", "c10::BFloat16"),
    "float32": ("Float", "float"),
    "float64": ("Double", "double"),
    "complex64": ("ComplexFloat", "c10::complex<float>"),
    "complex128": ("ComplexDouble", "c10::complex<double>"),
}
DIGITS = {"float16": 11, "bfloat16": 8, "float32": 24, "float64": 53}
LARGEST = {
    "float16": 65504.0,
    "bfloat16": (2.0 - 2.0**-7) * 2.0**127,
    "float32": (2.0 - 2.0**-23) * 2.0**127,
    "float64": (2.0 - 2.0**-52) * 2.0**1023,
}


# ---- arithmetic with PyTorch's roundings -----------------------------------------------------------------------


def narrow(x: Array, dtype: np.dtype[Any]) -> Array:
    """Float64, float32 or int64 to a float dtype; PyTorch reaches the 16-bit ones through float32."""
    if x.dtype == dtype:
        return x
    with np.errstate(over="ignore"):
        return x.astype(dtype) if dtype == FLOAT64 else x.astype(FLOAT32).astype(dtype, copy=False)


def two_sum(a: Any, b: Any) -> tuple[Array, Array]:
    """``a + b`` rounded, and what the rounding lost (Knuth, *TAOCP* 2, theorem 4.2.2B)."""
    total = a + b
    b_part = total - a
    return total, (a - (total - b_part)) + (b - b_part)


def odd_sum(a: Any, b: Any) -> Array:
    """``a + b`` rounded to odd: rounding the result again, to fewer digits, then gives the correct rounding."""
    total, lost = two_sum(a, b)
    inexact = np.flatnonzero(lost)
    if inexact.size:
        bits = total.view(np.int64)
        even = inexact[(bits[inexact] & 1) == 0]
        bits[even] += np.where((lost[even] > 0) == (total[even] > 0), 1, -1)
    return total


def halves(x: Any) -> tuple[Any, Any]:
    """Veltkamp's split of doubles into 26 high bits and the rest."""
    big = x * 134217729.0
    high = big - (big - x)
    return high, x - high


def fused(a: Array, b: float, c: float) -> Array:
    """``a * b + c`` rounded once, for a 1-d float32 or float64 array and numbers of its precision.

    The fused multiply-add of Boldo & Melquiond (*IEEE Trans. Comput.* 57, 2008), with Dekker's exact product.
    """
    if b == 1 or c == 0 or not (abs(b) < 1e290 and abs(c) < 1e300):
        return a * a.dtype.type(b) + a.dtype.type(c)
    if a.dtype == FLOAT32:
        return odd_sum(a.astype(FLOAT64) * float(b), float(c)).astype(FLOAT32)
    (a_high, a_low), (b_high, b_low) = halves(a), halves(b)
    product = a * b
    product_low = a_low * b_low - (((product - a_high * b_high) - a_low * b_high) - a_high * b_low)
    low, lowest = two_sum(c, product_low)
    high, middle = two_sum(product, low)
    return high + odd_sum(middle, lowest)


def each(function: Callable[[float], float]) -> Callable[[Array], Array]:
    """The C library's function on every element: NumPy's vectorised one may differ in the last bit."""
    return lambda x: np.fromiter(map(function, x.tolist()), FLOAT64, x.size)


def log(x: Array) -> Array:
    """The C library's logarithm of multiples of 2**-53 in [0, 1]: NumPy's complex log1p calls it, its log may not."""
    return np.log1p(x - 1.0 + 0j).real


def sincos(x: Array) -> tuple[Array, Array]:
    return np.sin(x), np.cos(x)


def single(*coefficients: float) -> list[float]:
    return [float(np.float32(c)) for c in coefficients]


# The single-precision polynomials of Moshier's Cephes library, as its AVX2 translation has them.
LOG = single(
    7.0376836292e-2, -1.1514610310e-1, 1.1676998740e-1, -1.2420140846e-1, 1.4249322787e-1,
    -1.6668057665e-1, 2.0000714765e-1, -2.4999993993e-1, 3.3333331174e-1,
)  # fmt: skip
LOG_2_LOW, LOG_2_HIGH = single(-2.12194440e-4, 0.693359375)
SQRT_HALF_BITS = 0x3F3504F3
COS = single(2.443315711809948e-5, -1.388731625493765e-3, 4.166664568298827e-2)
SIN = single(-1.9515295891e-4, 8.3321608736e-3, -1.6666654611e-1)
QUARTER_PI = single(0.78515625, 2.4187564849853515625e-4, 3.77489497744594108e-8)
FOUR_OVER_PI = 1.27323954473516


def horner32(coefficients: list[float], x: Array, scratch: Array) -> Array:
    """The polynomial in ``x`` (float32 values held as float64, where products are exact), every step rounded."""
    y = np.empty(x.shape, FLOAT32)
    np.multiply(x, coefficients[0], out=scratch)
    for c in coefficients[1:-1]:
        np.add(scratch, c, out=scratch)
        y[...] = scratch
        np.multiply(y, x, out=scratch)
    np.add(scratch, coefficients[-1], out=scratch)
    y[...] = scratch
    return y


def log32(x: Array) -> Array:
    """Natural logarithm of positive float32: ``x = 2**e * (1 + m)``, ``sqrt(1/2) <= 1 + m < sqrt(2)``."""
    bits = x.view(np.int32)
    exponent = (bits - SQRT_HALF_BITS) >> 23
    m = (bits - (exponent << 23)).view(FLOAT32)
    m -= 1
    e = exponent.astype(FLOAT32)
    scratch = np.empty(x.shape)
    y = horner32(LOG, m.astype(FLOAT64), scratch)
    y *= m
    square = m * m
    np.multiply(y, square, out=scratch, dtype=FLOAT64)
    scratch += e * LOG_2_LOW
    y[...] = scratch
    square *= 0.5
    y -= square
    y += m
    e *= LOG_2_HIGH
    y += e
    return y


def sincos32(x: Array) -> tuple[Array, Array]:
    """Sine and cosine of float32 in [0, 2 pi]: both polynomials on the remainder, then exchanged by octant."""
    octant = (x * FOUR_OVER_PI).astype(np.int32)
    octant += 1
    octant &= -2
    quarters = octant.astype(FLOAT32)
    x = x - quarters * QUARTER_PI[0]
    x -= quarters * QUARTER_PI[1]
    scratch = np.multiply(quarters, -QUARTER_PI[2], dtype=FLOAT64)
    scratch += x
    x[...] = scratch
    square = x * x
    square_wide = square.astype(FLOAT64)
    cos = horner32(COS, square_wide, scratch)
    cos *= square
    np.multiply(cos, square_wide, out=scratch)
    scratch -= square * 0.5
    cos[...] = scratch
    cos += 1
    sin = horner32(SIN, square_wide, scratch)
    sin *= square
    np.multiply(sin, x, out=scratch, dtype=FLOAT64)
    scratch += x
    sin[...] = scratch
    sin_bits, cos_bits = sin.view(np.int32), cos.view(np.int32)
    exchange = (octant << 30) >> 31
    exchange &= sin_bits ^ cos_bits
    sin_bits ^= exchange
    cos_bits ^= exchange
    sin_bits ^= (octant & 4) << 29
    cos_bits ^= ((octant + 2) & 4) << 29
    return sin, cos


def box_muller(uniform: Array) -> Array:
    """Standard normals from blocks of 16 uniforms in [0, 1), of float32 or float64: 8 radii, then 8 angles."""
    pairs = uniform.reshape(-1, 2, 8)
    log_of, circle = (log32, sincos32) if uniform.dtype == FLOAT32 else (log, sincos)
    radius = log_of(1 - pairs[:, 0])
    radius *= -2
    np.sqrt(radius, out=radius)
    sin, cos = circle(pairs[:, 1] * (2 * math.pi))
    out = np.empty_like(pairs)
    np.multiply(radius, cos, out=out[:, 0])
    np.multiply(radius, sin, out=out[:, 1])
    return out.reshape(-1)


def shuffled(words: Array) -> Array:
    """``range(n)`` after the swaps of ``i`` with ``i + words[i] % (n - i)``, i = 0 .. n-2, in that order.

    Without a loop: swap i moves the entry of its target to place i, for good, and what stood at place i to the
    target. So the entry at any place is its own number, or what stood at place p when the last swap p before it
    aimed there: a forest of such p, whose roots are found by pointer doubling.
    """
    n = len(words) + 1
    place = np.arange(n)
    target = place.copy()
    target[:-1] += words % np.arange(n, 1, -1, dtype=np.uint32)
    key = (target << 32) | place
    key.sort()
    swap, aim = key & 0xFFFFFFFF, key >> 32
    again = np.flatnonzero(aim[1:] == aim[:-1])
    before = np.full(n, -1)  # the swap that last aimed where swap i aims
    before[swap[again + 1]] = swap[again]
    parent = place.copy()
    parent[target] = place  # of several swaps with one target the last one stays
    kept = np.flatnonzero((parent == place) & (target == place) & (before >= 0))
    parent[kept] = before[kept]
    while True:
        grandparent = parent[parent]
        if np.array_equal(grandparent, parent):
            break
        parent = grandparent
    return np.where(before < 0, target, parent[before])


# ---- refusals --------------------------------------------------------------------------------------------------


def require_float(dtype: np.dtype[Any], kernel: str) -> None:
    if dtype.name not in DIGITS:
        raise NotImplementedError(
            f"\"{kernel}\" not implemented for '{NAMES[dtype.name][0]}'\n"
            f"  It draws real numbers; dtype is {dtype.name}.  Draw float32 and convert."
        )


def require_continuous(dtype: np.dtype[Any], distribution: str) -> None:
    if dtype.name not in DIGITS:
        raise RuntimeError(
            f"{distribution} distribution is a continuous probability distribution. "
            f"dtype must be a floating point but you specified {NAMES[dtype.name][0]}"
        )


def require_within(value: float, name: str, dtype: np.dtype[Any], lowest: float, largest: float) -> None:
    if not lowest <= value <= largest:
        raise RuntimeError(
            f"{name} is out of bounds for {NAMES[dtype.name][1]}\n"
            f"  {name} is {value}; {dtype.name} holds {lowest} to {largest}."
        )


def require_interval(low: float, high: float, dtype: np.dtype[Any]) -> None:
    largest = LARGEST[dtype.name]
    require_within(low, "from", dtype, -largest, largest)
    require_within(high, "to", dtype, -largest, largest)
    if low > high:
        raise RuntimeError(
            f"uniform_ expects to return a [from, to) range, but found from={low:g} > to={high:g}"
        )
    if high - low > largest:
        raise RuntimeError(
            f"uniform_ expects to-from <= std::numeric_limits<{NAMES[dtype.name][0]}>::max(), but found "
            f"to={high:g} and from={low:g} which result in to-from to exceed the limit"
        )


def require_std(std: float) -> None:
    if not std >= 0.0:
        raise RuntimeError(f"normal expects std >= 0.0, but found std {std:g}")


def inside(low: int, high: int, dtype: np.dtype[Any]) -> tuple[int, int]:
    """``[low, high)`` shrunk so that no integer in it rounds out of it when stored as a float dtype."""
    digits = DIGITS[dtype.name]

    def stored(value: int) -> int:
        number = float(narrow(np.array([value], INT64), dtype)[0])
        return int(number) if abs(number) < 2.0**63 else INT64_MIN

    first, last = stored(low + 1), stored(high - 1)
    if first < low:
        low = first + (1 << max(abs(low + 1).bit_length() - digits, 0))
    if last >= high:
        high = last - (1 << max(abs(high - 1).bit_length() - digits, 0))
    return low, high


# ---- the generator ---------------------------------------------------------------------------------------------


class Generator:
    """A stream of random numbers: ``torch.Generator`` on the CPU.

    Every sampling method takes a shape and a NumPy dtype, returns a fresh array, and is safe to call from several
    threads. Empty arrays draw nothing. A generator pickles, and copies, with its place in the stream.

    >>> generator = Generator().manual_seed(0)
    >>> generator.uniform((3,)).round(4).tolist() == np.float32([0.4963, 0.7682, 0.0885]).tolist()
    True
    >>> generator.random((5,), np.int64, 0, 10).tolist()
    [0, 4, 0, 3, 8]
    """

    __slots__ = ("_bits", "_block", "_lock", "_normal", "_normal32", "_place", "_seed")

    _bits: np.random.MT19937  # always at the end of its block of 624 words ...
    _block: Array  # ... which is this (none right after seeding)
    _place: int  # how many of the block are used up
    _normal: float | None  # the second normal of a pair, when only the first was asked for
    _normal32: float | None  # its float32 sibling: part of the state, though no kernel fills it

    def __init__(self, device: Any = "cpu") -> None:
        """A generator with PyTorch's fixed default seed.

        Raises:
            RuntimeError: for a device other than the CPU.
        """
        if str(device) != "cpu":
            raise RuntimeError(
                f"Cannot get {str(device).upper()} generator: the only device here is the CPU. "
                "Leave device out, or pass 'cpu'."
            )
        self._lock = threading.Lock()
        self._bits = np.random.MT19937(0)
        self._reseed(DEFAULT_SEED)

    @property
    def device(self) -> str:
        return "cpu"

    # -- seeds and states

    def _reseed(self, seed: int) -> None:
        with self._lock:
            np.random.RandomState(self._bits).seed(seed & 0xFFFFFFFF)
            self._seed, self._place = seed, TWISTER
            self._block = np.empty(0, np.uint32)
            self._normal = self._normal32 = None

    def manual_seed(self, seed: int) -> Generator:
        """Start the stream of ``seed``; a negative seed counts back from 2**64. Returns the generator.

        Raises:
            RuntimeError: if ``seed`` is not an integer.
            ValueError: if it is outside [-2**63, 2**64).
        """
        if isinstance(seed, bool) or not isinstance(seed, (int, np.integer)):
            raise RuntimeError(f"manual_seed expected a long, but got {type(seed).__name__}")
        seed = int(seed)
        if not INT64_MIN <= seed < 2**64:
            raise ValueError(
                f"Overflow when unpacking long long\n  seed is {seed}; it must be at least -2**63 and less than 2**64."
            )
        self._reseed(seed % 2**64)
        return self

    def seed(self) -> int:
        """Start the stream of a seed taken from the operating system, and return that seed."""
        seed = int(np.random.SeedSequence().generate_state(1, np.uint64)[0])
        self._reseed(seed)
        return seed

    def initial_seed(self) -> int:
        """The seed of the stream, in [0, 2**64)."""
        return self._seed

    def get_state(self) -> NDArray[np.uint8]:
        """The place in the stream: 5056 bytes, laid out as PyTorch lays out its own."""
        state = np.zeros(1, STATE)
        with self._lock:
            words: Array = self._bits.state["state"]["key"]
            state["seed"], state["seeded"], state["words"] = self._seed, 1, words
            # PyTorch twists when the next word is asked for; right after seeding it has no block to be at the end of.
            unused = self._place == TWISTER and int(words[0]) == self._seed & 0xFFFFFFFF
            state["left"], state["next"] = (1, 0) if unused else (TWISTER + 1 - self._place, self._place)
            if self._normal is not None:
                state["normal"], state["has_normal"] = self._normal, 1
            if self._normal32 is not None:
                state["normal32"], state["has_normal32"] = self._normal32, True
        return state.view(np.uint8)

    def set_state(self, state: Array) -> Generator:
        """Go to the place in the stream that ``get_state``, here or in PyTorch, has described.

        Raises:
            TypeError: if ``state`` is not a uint8 array.
            RuntimeError: if it has another size, or is no state of a Mersenne Twister.
        """
        if not isinstance(state, np.ndarray) or state.dtype != np.uint8:
            raise TypeError("RNG state must be a torch.ByteTensor\n  get_state() returns one: uint8, 5056 elements.")
        if state.size != STATE.itemsize:
            raise RuntimeError(
                f"Expected a CPUGeneratorImplState of size {STATE.itemsize} "
                f"but found the input RNG state size to be {state.size}"
            )
        fields = np.ascontiguousarray(state).reshape(-1).view(STATE)[0]
        left, place = int(fields["left"]), int(fields["next"])
        if not fields["seeded"] or not 1 <= left <= TWISTER or (left > 1 and left + place != TWISTER + 1):
            raise RuntimeError("Invalid mt19937 state\n  Pass what get_state() returned, unchanged.")
        with self._lock:
            key = fields["words"].astype(np.uint32)
            # NumPy, put at the start of these words, hands them out once, tempered, and then stands at their end.
            self._bits.state = {"bit_generator": "MT19937", "state": {"key": key, "pos": 0}}
            self._block = self._bits.random_raw(TWISTER).astype(np.uint32)
            self._place = place if left > 1 else TWISTER
            self._seed = int(fields["seed"])
            self._normal = float(fields["normal"]) if fields["has_normal"] else None
            self._normal32 = float(fields["normal32"]) if fields["has_normal32"] else None
        return self

    def clone_state(self) -> Generator:
        """Another generator at the same place in the same stream."""
        return Generator().set_state(self.get_state())

    def __reduce__(self) -> tuple[Any, ...]:
        return Generator, (), self.get_state()

    def __setstate__(self, state: Array) -> None:
        self.set_state(state)

    # -- words and uniforms: the caller holds the lock

    def _words(self, count: int) -> Array:
        """The next ``count`` words, uint32; may be a view of the block."""
        start, stop = self._place, self._place + count
        if stop <= TWISTER:
            self._place = stop
            return self._block[start:stop]
        rest = self._block[start:]
        missing = stop - TWISTER
        made = self._bits.random_raw(-(-missing // TWISTER) * TWISTER).astype(np.uint32)
        self._block = made[-TWISTER:].copy()
        self._place = TWISTER - (len(made) - missing)
        return np.concatenate((rest, made[:missing])) if len(rest) else made[:missing]

    def _wide(self, count: int) -> Array:
        """The next ``count`` pairs of words as uint64, the first of a pair on top."""
        return self._words(2 * count).astype(">u4").view(">u8").astype(np.uint64)

    def _unit32(self, count: int) -> Array:
        """Float32 multiples of 2**-24 in [0, 1)."""
        x = (self._words(count) & 0xFFFFFF).astype(FLOAT32)
        x *= 2.0**-24
        return x

    def _unit64(self, count: int) -> Array:
        """Float64 multiples of 2**-53 in [0, 1)."""
        return (self._wide(count) & (2**53 - 1)).view(np.int64) * 2.0**-53

    def _pairwise_normals(self, count: int) -> Array:
        """Standard normals in double precision, one pair after the other, beginning with the one kept."""
        normals = []
        if self._normal is not None and count:
            normals.append(self._normal)
            self._normal = None
        uniform = self._unit64((count - len(normals) + 1) // 2 * 2).tolist()
        for u1, u2 in zip(uniform[0::2], uniform[1::2], strict=True):
            radius = math.sqrt(-2.0 * math.log1p(-u2))
            angle = 2.0 * math.pi * u1
            normals.append(radius * math.cos(angle))
            normals.append(radius * math.sin(angle))
        if len(normals) > count:
            self._normal = normals.pop()
        return np.array(normals, FLOAT64)

    def _fill(self, shape: Shape, dtype: np.dtype[Any], draw: Draw) -> Array:
        """A fresh array in row-major order, drawn under the lock a chunk at a time."""
        count = math.prod(shape)
        with self._lock:
            if 0 < count <= CHUNK:
                return draw(count).reshape(shape)
            out = np.empty(count, dtype)
            for start in range(0, count, CHUNK):
                out[start : start + CHUNK] = draw(min(CHUNK, count - start))
        return out.reshape(shape)

    # -- uniform and normal

    def uniform(
        self, shape: Shape, dtype: DTypeLike = FLOAT32, low: float = 0.0, high: float = 1.0
    ) -> Array:
        """``Tensor.uniform_``: uniform on [low, high); a complex number is two of them.

        Raises:
            RuntimeError: if the interval is empty, or does not fit the dtype.
            NotImplementedError: for integers and bool.
        """
        dtype = np.dtype(dtype)
        if dtype.kind == "c":
            return self.uniform((*shape, 2), f"f{dtype.itemsize // 2}", low, high).view(dtype).reshape(shape)
        unit = self._unit64 if dtype == FLOAT64 else self._unit32
        if low == 0 and high == 1 and (dtype == FLOAT32 or dtype == FLOAT64):
            return self._fill(shape, dtype, unit)
        require_float(dtype, "check_uniform_bounds")
        require_interval(low, high, dtype)
        real = FLOAT64.type if dtype == FLOAT64 else FLOAT32.type
        shift, width = real(low), real(high) - real(low)
        bottom, top = narrow(np.array([low, high], FLOAT64), dtype)

        def draw(count: int) -> Array:
            x = narrow(fused(unit(count), width, shift), dtype)
            x[x == top] = bottom  # rounding may reach the open end
            return x

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
        """``Tensor.normal_``: mean and standard deviation as given; a complex number has half the variance in each part.

        ``contiguous=False`` gives what PyTorch puts, in memory order, into a tensor that is not contiguous.

        Raises:
            RuntimeError: if ``std`` is negative or NaN.
            NotImplementedError: for integers and bool.
        """
        dtype = np.dtype(dtype)
        require_std(std)
        if dtype.kind == "c":
            part = self.normal(
                (*shape, 2), f"f{dtype.itemsize // 2}", mean, std / math.sqrt(2), contiguous=contiguous
            )
            return part.view(dtype).reshape(shape)
        require_float(dtype, "normal_kernel_cpu")
        count = math.prod(shape)
        if count >= 16 and contiguous:
            with self._lock:
                return self._block_normals(count, dtype, mean, std).reshape(shape)
        return self._fill(shape, dtype, lambda n: narrow(fused(self._pairwise_normals(n), std, mean), dtype))

    def _block_normals(self, count: int, dtype: np.dtype[Any], mean: float, std: float) -> Array:
        unit = self._unit64 if dtype == FLOAT64 else self._unit32
        with np.errstate(over="ignore"):
            mean, std = (mean, std) if dtype == FLOAT64 else (np.float32(mean), np.float32(std))

        def draw(n: int) -> Array:
            return narrow(fused(box_muller(unit(n)), std, mean), dtype)

        out = np.empty(count, dtype)
        whole = count - count % 16
        for start in range(0, whole, CHUNK):
            stop = min(start + CHUNK, whole)
            out[start:stop] = draw(stop - start)
        if whole < count:
            # The last 16 are drawn anew. PyTorch has drawn one uniform an element by then, but for the 16-bit
            # dtypes, which it draws a block at a time.
            if dtype == FLOAT32 or dtype == FLOAT64:
                unit(count - whole)
            out[-16:] = draw(16)
        return out

    def normal_around(self, mean: Array | float, std: Array | float) -> Array:
        """``torch.normal`` with an array for the mean, the standard deviation, or both; shapes broadcast.

        The dtype is that of ``mean`` if it is an array, else that of ``std``.

        Raises:
            RuntimeError: if a standard deviation is negative or complex.
        """
        if not isinstance(std, np.ndarray):
            require_std(std)
            mean = np.asarray(mean)
            return self.normal(mean.shape, mean.dtype, 0.0, std) + mean
        if std.dtype.kind == "c":
            raise RuntimeError("normal expects standard deviation to be non-complex")
        if std.size and not std.min() >= 0:
            raise RuntimeError("normal expects all elements of std >= 0.0")
        dtype = mean.dtype if isinstance(mean, np.ndarray) else std.dtype
        out = self.normal(np.broadcast_shapes(np.shape(mean), std.shape), dtype)
        return ((out * std).astype(dtype) + np.asarray(mean, dtype)).astype(dtype)

    # -- integers, permutations, coins

    def random(
        self, shape: Shape, dtype: DTypeLike = INT64, low: int | None = None, high: int | None = None
    ) -> Array:
        """``Tensor.random_`` and ``torch.randint``: integers in [low, high), in any real dtype or bool.

        Without ``high``: up to the largest the dtype holds (for floats, of those where all integers are exact).
        Without ``low`` also: from 0.

        Raises:
            RuntimeError: if the range is empty, or does not fit the dtype.
            NotImplementedError: without bounds, for unsigned dtypes of 16 bits and more.
        """
        dtype = np.dtype(dtype)
        name = dtype.name
        if name == "bool":
            largest = 1
        elif name in DIGITS:
            largest = 2 ** DIGITS[name]
        elif dtype.kind in "iu":
            largest = int(np.iinfo(dtype).max)
        else:
            raise RuntimeError("check_random_bounds handles only integral, floating-point and boolean types")
        if low is None:
            if name in ("uint16", "uint32", "uint64"):
                raise NotImplementedError(f"\"random_kernel_cpu\" not implemented for '{NAMES[name][0]}'")
            wide = dtype == INT64 or dtype == FLOAT64
            return self._integers(shape, dtype, 0, largest + 1, wide)
        if high is not None:
            if low >= high:
                raise RuntimeError(
                    f"random_ expects 'from' to be less than 'to', but got from={low} >= to={high}"
                )
            if name in DIGITS:
                low, high = inside(low, high, dtype)
                if low >= high:
                    raise RuntimeError(
                        "random_ expects 'from' casted to dtype to be less than 'to' casted to dtype, "
                        f"but got from={low} >= to={high}"
                    )
            last = high - 1
        elif low == INT64_MIN:
            if name not in ("int64", "float64", "float32", "bfloat16"):
                raise RuntimeError(
                    "random_full_64_bits_range_kernel_cpu handles only int64, double, float and bfloat16"
                )
            last = INT64_MAX
        else:
            last = largest
            if name in DIGITS:
                low, _ = inside(low, last, dtype)
                if low >= last:
                    raise RuntimeError(
                        "random_ expects 'from' casted to dtype to be less than or equal to 'to_inc' casted to "
                        f"dtype, but got from={low} > to_inc={last}"
                    )
        if name in DIGITS:
            limits = -LARGEST[name], LARGEST[name]
        else:
            limits = (0, 1) if name == "bool" else (int(np.iinfo(dtype).min), min(largest, INT64_MAX))
        require_within(low, "from", dtype, *limits)
        require_within(last, "to - 1", dtype, *limits)
        return self._integers(shape, dtype, low, last - low + 1, last - low + 1 >= 2**28)

    def _integers(self, shape: Shape, dtype: np.dtype[Any], low: int, size: int, wide: bool) -> Array:
        def draw(count: int) -> Array:
            if wide:
                drawn = self._wide(count)
                if size < 2**64:
                    drawn %= np.uint64(size)
                drawn += np.uint64(low % 2**64)
                value = drawn.view(np.int64)
            else:
                value = (self._words(count) % np.uint32(size)).astype(np.int64)
                value += low
            return narrow(value, dtype) if dtype.name in DIGITS else value.astype(dtype, copy=False)

        return self._fill(shape, dtype, draw)

    def randperm(self, n: int, dtype: DTypeLike = INT64) -> Array:
        """``torch.randperm``: the integers 0 to n - 1 in random order, 1-d (Fisher & Yates 1938; Durstenfeld 1964).

        Raises:
            RuntimeError: if ``n`` is negative, or the dtype can't hold the integers.
            NotImplementedError: for bool, complex, and unsigned dtypes of 16 bits and more.
        """
        dtype = np.dtype(dtype)
        if n < 0:
            raise RuntimeError(f"Trying to create tensor with negative dimension {n}: [{n}]")
        if dtype.name not in DIGITS and (dtype.kind not in "iu" or dtype.name in ("uint16", "uint32", "uint64")):
            raise NotImplementedError(f"\"randperm\" not implemented for '{NAMES[dtype.name][0]}'")
        if dtype.name in DIGITS and n > 2 ** DIGITS[dtype.name] + 1:
            raise RuntimeError(
                f"n cannot be greater than {2 ** DIGITS[dtype.name] + 1} for {NAMES[dtype.name][0]} type."
            )
        if dtype.kind in "iu" and n > np.iinfo(dtype).max:
            raise RuntimeError(f"value cannot be converted to type {dtype.name}_t without overflow")
        with self._lock:
            if n < SHUFFLE_LIMIT:
                order = shuffled(self._words(n - 1)) if n > 1 else np.arange(n)
            else:
                order = self._long_permutation(n)
        return narrow(order, dtype) if dtype.name in DIGITS else order.astype(dtype, copy=False)

    def _long_permutation(self, n: int) -> Array:
        """Fisher & Yates inside out: entry i is put at place z <= i, what was there moves to place i."""
        order = np.empty(n, INT64)
        view = memoryview(order)
        for start in range(0, n, CHUNK):
            count = min(CHUNK, n - start)
            place = self._wide(count) % np.arange(start + 1, start + count + 1, dtype=np.uint64)
            for i, z in enumerate(place.tolist(), start):
                view[i] = i
                view[i], view[z] = view[z], i
        return order

    def bernoulli(
        self, p: Array | float, shape: Shape | None = None, dtype: DTypeLike | None = None
    ) -> Array:
        """``bernoulli_(p)``, for dropout too: 1 with probability ``p``, else 0.

        A number draws a float64 uniform an element, whatever the dtype (float32 unless given). An array, broadcast
        to ``shape`` (its own unless given), draws float64 uniforms if it is float64, else float32 ones; the dtype
        is its own unless given.

        Raises:
            RuntimeError: if a probability is outside [0, 1].
            NotImplementedError: for integer probabilities.
        """
        if not isinstance(p, np.ndarray):
            if not 0 <= p <= 1:
                raise RuntimeError(f"bernoulli_ expects p to be in [0, 1], but got p={p:g}")
            # u < p for a 53-bit u, on its words: the top 21 bits decide, but for one draw in two million.
            top, rest = divmod(math.ceil(p * 2**53), 2**32)
            dtype = np.dtype(FLOAT32 if dtype is None else dtype)

            def draw(count: int) -> Array:
                words = self._words(2 * count).reshape(count, 2)
                high = words[:, 0] & 0x1FFFFF
                hit = high < top
                tied = np.flatnonzero(high == top)
                hit[tied] = words[tied, 1] < rest
                return hit.astype(dtype)

            return self._fill(() if shape is None else shape, dtype, draw)
        shape = p.shape if shape is None else shape
        dtype = np.dtype(p.dtype if dtype is None else dtype)
        if math.prod(shape) == 0:
            return np.empty(shape, dtype)
        require_float(p.dtype, "bernoulli_tensor_cpu_p_")
        if not ((p >= 0) & (p <= 1)).all():
            raise RuntimeError(
                "Expected p_in >= 0 && p_in <= 1 to be true, but got false.\n"
                f"  The probabilities lie between {p.min()} and {p.max()}; each must be in [0, 1]."
            )
        unit = self._unit64 if p.dtype == FLOAT64 else self._unit32
        with self._lock:
            uniform = unit(math.prod(shape)).reshape(shape)
        return (uniform < p.astype(uniform.dtype)).astype(dtype)

    # -- distributions by inversion

    def exponential(self, shape: Shape, dtype: DTypeLike = FLOAT32, lambd: float = 1.0) -> Array:
        """``Tensor.exponential_``: ``-log1p(-u) / lambd``.

        Raises:
            RuntimeError: if ``lambd`` is not positive, or the dtype is no real float.
        """
        dtype = np.dtype(dtype)
        if not lambd > 0:
            raise RuntimeError(f"exponential_ expects lambda > 0.0, but found lambda={lambd:g}")
        require_continuous(dtype, "Exponential")
        log1p = each(math.log1p) if dtype == FLOAT64 else np.log1p
        return self._fill(shape, dtype, lambda n: narrow(-1.0 / lambd * log1p(-self._unit64(n)), dtype))

    def cauchy(
        self, shape: Shape, dtype: DTypeLike = FLOAT32, median: float = 0.0, sigma: float = 1.0
    ) -> Array:
        """``Tensor.cauchy_``: ``median + sigma * tan(pi * (u - 1/2))``.

        Raises:
            RuntimeError: if ``sigma`` is not positive, or the dtype is no real float.
        """
        dtype = np.dtype(dtype)
        if not sigma > 0:
            raise RuntimeError(f"cauchy_ expects sigma > 0.0, but found sigma={sigma:g}")
        require_continuous(dtype, "Cauchy")
        tan = each(math.tan) if dtype == FLOAT64 else np.tan

        def draw(count: int) -> Array:
            return narrow(fused(tan(math.pi * (self._unit64(count) - 0.5)), sigma, median), dtype)

        return self._fill(shape, dtype, draw)

    def log_normal(
        self, shape: Shape, dtype: DTypeLike = FLOAT32, mean: float = 1.0, std: float = 2.0
    ) -> Array:
        """``Tensor.log_normal_``: the exponential of a normal, always drawn pair by pair.

        Raises:
            RuntimeError: if ``std`` is not positive.
            NotImplementedError: if the dtype is no real float.
        """
        dtype = np.dtype(dtype)
        if not std > 0:
            raise RuntimeError(f"log_normal_ expects std > 0.0, but found std={std:g}")
        require_float(dtype, "log_normal_cpu")
        exp = each(math.exp) if dtype == FLOAT64 else np.exp

        def draw(count: int) -> Array:
            return narrow(exp(fused(self._pairwise_normals(count), std, mean)), dtype)

        return self._fill(shape, dtype, draw)

    def geometric(self, shape: Shape, dtype: DTypeLike = FLOAT32, p: float = 0.5) -> Array:
        """``Tensor.geometric_``: the number of trials up to the first success, ``ceil(log(u) / log1p(-p))``.

        Raises:
            RuntimeError: if ``p`` is outside (0, 1).
            NotImplementedError: for bool, complex, and unsigned dtypes of 16 bits and more.
        """
        dtype = np.dtype(dtype)
        if not 0 < p < 1:
            raise RuntimeError(f"geometric_ expects p to be in (0, 1), but got p={p:g}")
        if dtype.name not in DIGITS and (dtype.kind not in "iu" or dtype.name in ("uint16", "uint32", "uint64")):
            raise NotImplementedError(f"\"geometric_cpu\" not implemented for '{NAMES[dtype.name][0]}'")

        def draw(count: int) -> Array:
            with np.errstate(divide="ignore", invalid="ignore"):
                trials = np.ceil(log(self._unit64(count)) / math.log1p(-p))
                return narrow(trials, dtype) if dtype.name in DIGITS else trials.astype(INT64).astype(dtype)

        return self._fill(shape, dtype, draw)

    # -- choices

    def multinomial(self, probs: Array, num_samples: int, replacement: bool = False) -> Array:
        """``torch.multinomial``: int64 indices drawn with the given weights, ``(num_samples,)`` or a row of them a row.

        With replacement, a bisection in the cumulative weights; without, the ``num_samples`` largest of weight
        over an exponential (the race of Efraimidis & Spirakis 2006). Weights that tie there, as those of
        zero weight do, come in the order of their indices, PyTorch's in any.

        Raises:
            RuntimeError: for weights that are not 1-d or 2-d, not floats, negative, infinite, NaN or all zero, or
                if there are too few for ``num_samples``.
        """
        if probs.ndim not in (1, 2):
            raise RuntimeError(f"prob_dist must be 1 or 2 dim\n  Its shape is {probs.shape}.")
        if probs.dtype.name not in DIGITS:
            raise RuntimeError(
                f"multinomial only supports floating-point dtypes for input, got: {NAMES[probs.dtype.name][0]}"
            )
        if num_samples <= 0:
            raise RuntimeError("cannot sample n_sample <= 0 samples")
        if not replacement and num_samples > probs.shape[-1]:
            raise RuntimeError(
                "cannot sample n_sample > prob_dist.size(-1) samples without replacement\n"
                f"  n_sample is {num_samples}, prob_dist.size(-1) is {probs.shape[-1]}."
            )
        if probs.shape[-1] > 2**24:
            raise RuntimeError("number of categories cannot exceed 2^24")
        shape = (*probs.shape[:-1], num_samples)
        if math.prod(shape) == 0:
            return np.empty(shape, INT64)
        real = probs.astype(FLOAT64 if probs.dtype == FLOAT64 else FLOAT32, copy=False)
        if not probs.size or not ((real >= 0) & (real < np.inf)).all():
            raise RuntimeError("probability tensor contains either `inf`, `nan` or element < 0")
        if (real.sum(-1) == 0).any():
            raise RuntimeError("invalid multinomial distribution (sum of probabilities <= 0)")
        if replacement:
            cumulative = np.cumsum(real, axis=-1, dtype=real.dtype).reshape(-1, probs.shape[-1])
            cumulative /= cumulative[:, -1:]
            cumulative[:, -1] = 1
            with self._lock:
                uniform = self._unit64(math.prod(shape)).reshape(-1, num_samples)
            picks = [np.searchsorted(c, u) for c, u in zip(cumulative, uniform, strict=True)]
            return np.array(picks, INT64).reshape(shape)
        # PyTorch draws in the order of the memory of the weights.
        turned = probs.ndim == 2 and probs.flags.f_contiguous and not probs.flags.c_contiguous
        race = self.exponential(probs.shape[::-1] if turned else probs.shape, probs.dtype)
        score = (probs / (race.T if turned else race)).astype(real.dtype, copy=False)
        if num_samples == 1:
            return score.argmax(-1).reshape(shape)
        return np.argsort(-score, axis=-1, kind="stable")[..., :num_samples].astype(INT64, copy=False)

    # -- distributions by rejection: each element draws as many uniforms as it takes, so one at a time

    def _one(self) -> float:
        return float(self._unit64(1)[0])

    def _each(self, draw: Callable[..., Any], *parameters: Array) -> Array:
        dtype = parameters[0].dtype
        with self._lock:
            drawn = [draw(*values) for values in zip(*(p.reshape(-1) for p in parameters), strict=True)]
        return narrow(np.array(drawn, FLOAT64), dtype).reshape(parameters[0].shape)

    def poisson(self, rate: Array) -> Array:
        """``torch.poisson``: counts with the given rates, in their float dtype (Knuth; Hoermann's PTRS 1993 from 10 on).

        Raises:
            RuntimeError: if a rate is negative or NaN.
            NotImplementedError: for integer rates.
        """
        require_float(rate.dtype, "poisson_cpu")
        if not (rate >= 0).all():
            raise RuntimeError("invalid Poisson rate, expected rate to be non-negative")
        return self._each(lambda value: self._one_poisson(float(value)), rate)

    def _one_poisson(self, rate: float) -> int:
        if rate == 0:
            return 0
        if rate < 10:
            count, product, limit = 0, self._one(), math.exp(-rate)
            while product > limit:
                count += 1
                product *= self._one()
            return count
        b = 0.931 + 2.53 * math.sqrt(rate)
        a = -0.059 + 0.02483 * b
        inverse_alpha = 1.1239 + 1.1328 / (b - 3.4)
        box = 0.9277 - 3.6224 / (b - 2)
        while True:
            u, v = self._one() - 0.5, self._one()
            edge = 0.5 - abs(u)
            if edge == 0:
                continue
            count = math.floor((2 * a / edge + b) * u + rate + 0.43)
            if edge >= 0.07 and v <= box:
                return count
            if count < 0 or (edge < 0.013 and v > edge) or v == 0:
                continue
            density = -rate + count * math.log(rate) - math.lgamma(count + 1)
            if math.log(v) + math.log(inverse_alpha) - math.log(a / (edge * edge) + b) <= density:
                return count

    def standard_gamma(self, alpha: Array) -> Array:
        """``torch._standard_gamma``: gamma with the given shape parameters and scale 1 (Marsaglia & Tsang 2000).

        Raises:
            NotImplementedError: unless ``alpha`` is float32 or float64.
        """
        self._require_wide(alpha.dtype, "gamma_cpu")
        return np.maximum(self._each(self._one_gamma, alpha), np.finfo(alpha.dtype).tiny)

    def dirichlet(self, alpha: Array) -> Array:
        """``torch._sample_dirichlet``: points of the simplex along the last dimension, from normalised gammas.

        Raises:
            NotImplementedError: unless ``alpha`` is float32 or float64.
        """
        self._require_wide(alpha.dtype, "dirichlet")
        gamma = self.standard_gamma(alpha.astype(FLOAT64))
        share = narrow(gamma / gamma.sum(-1, keepdims=True), alpha.dtype)
        one = alpha.dtype.type(1)
        return np.clip(share, np.finfo(alpha.dtype).tiny, np.nextafter(one, 0 * one))

    def binomial(self, count: Array, prob: Array) -> Array:
        """``torch.binomial``: successes in ``count`` trials, shapes alike (Kachitvichyanukul; Hoermann's BTRS 1993).

        Raises:
            NotImplementedError: unless both are float32 or float64.
        """
        self._require_wide(count.dtype, "binomial_cpu")
        return self._each(self._one_binomial, count, prob)

    def _require_wide(self, dtype: np.dtype[Any], kernel: str) -> None:
        if dtype != FLOAT32 and dtype != FLOAT64:
            raise NotImplementedError(f"\"{kernel}\" not implemented for '{NAMES[dtype.name][0]}'")

    def _one_gamma(self, alpha: Any) -> float:
        real = type(alpha)  # PyTorch keeps alpha in its own precision, the rest in double
        scale = 1.0
        if alpha < 1:
            if alpha == 0:
                return 0.0
            scale = (1 - self._one()) ** float(real(1) / alpha)
            alpha = alpha + real(1)
        d = float(alpha - real(np.float32(1 / 3)))
        c = 1.0 / math.sqrt(9.0 * d)
        while True:
            y = 0.0
            while y <= 0:
                x = float(self._pairwise_normals(1)[0])
                y = 1.0 + c * x
            v, square = y * y * y, x * x
            u = 1 - self._one()
            if u < 1.0 - float(np.float32(0.0331)) * square * square:
                return scale * d * v
            if math.log(u) < 0.5 * square + d * (1.0 - v + math.log(v)):
                return scale * d * v

    def _one_binomial(self, count: Any, prob: Any) -> float:
        real = type(count)
        if count <= 0 or prob <= 0:
            return 0.0
        if prob >= 1:
            return float(count)
        if math.isnan(prob):
            return math.nan
        rare = prob if prob <= 0.5 else real(1.0 - float(prob))
        hits = (self._transformed if count * rare >= 10 else self._by_gaps)(count, rare)
        return hits if prob <= 0.5 else float(count) - hits

    def _by_gaps(self, count: Any, prob: Any) -> float:
        """Binomial by adding up the geometric gaps between successes."""
        rate = float(type(prob)(math.log1p(-prob)))
        hits, trials = 0.0, 0.0
        while True:
            u = self._one()
            trials += math.ceil(math.log(u) / rate) if u else math.inf
            if trials > count:
                return hits
            hits += 1.0

    def _transformed(self, count: Any, prob: Any) -> float:
        """Binomial by transformed rejection; counts and probabilities in their own precision, the rest in double."""
        real = type(count)
        stddev = float(np.sqrt(count * prob * (real(1) - prob)))
        b = 1.15 + 2.53 * stddev
        a = -0.0873 + 0.0248 * b + 0.01 * float(prob)
        center = float(count * prob) + 0.5
        box = 0.92 - 4.2 / b
        odds = float(prob / (real(1) - prob))
        alpha = (2.83 + 5.1 / b) * stddev
        mode = float(np.floor((count + real(1)) * prob))
        n = float(count)
        while True:
            u, v = self._one() - 0.5, self._one()
            edge = 0.5 - abs(u)
            if edge == 0:
                continue
            k = float(real(math.floor((2 * a / edge + b) * u + center)))
            if k < 0 or k > n:
                continue
            if edge >= 0.07 and v <= box:
                return k
            if v == 0:
                return k
            bound = (
                (mode + 0.5) * math.log((mode + 1) / (odds * (n - mode + 1)))
                + (n + 1) * math.log((n - mode + 1) / (n - k + 1))
                + (k + 0.5) * math.log(odds * (n - k + 1) / (k + 1))
                + stirling_tail(mode)
                + stirling_tail(n - mode)
                - stirling_tail(k)
                - stirling_tail(n - k)
            )
            if math.log(v * alpha / (a / (edge * edge) + b)) <= bound:
                return k


STIRLING_TAILS = (
    0.0810614667953272, 0.0413406959554092, 0.0276779256849983, 0.02079067210376509, 0.0166446911898211,
    0.0138761288230707, 0.0118967099458917, 0.0104112652619720, 0.00925546218271273, 0.00833056343336287,
)  # fmt: skip


def stirling_tail(k: float) -> float:
    """``log k!`` minus Stirling's formula for it."""
    if k < len(STIRLING_TAILS):
        return STIRLING_TAILS[int(k)]
    square = (k + 1) * (k + 1)
    return (1.0 / 12 - (1.0 / 360 - 1.0 / 1260 / square) / square) / (k + 1)
