"""The random streams, against draws recorded from PyTorch 2.13 and, where it is installed, PyTorch itself."""

import copy
import importlib.util
import json
import math
import pickle
import platform
import random
import sys
import threading
import zlib
from fractions import Fraction
from pathlib import Path

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import pullback
from pullback.kernels.rounding import fused
from pullback.rng import generator as module
from pullback.rng import rejection
from pullback.rng.generator import Generator
from pullback.rng.mt19937 import CHUNK, STATE

_spec = importlib.util.spec_from_file_location("record_random", Path(__file__).parent / "golden" / "record_random.py")
recorder = importlib.util.module_from_spec(_spec)
sys.modules[_spec.name] = recorder
_spec.loader.exec_module(recorder)

RECORDED = json.loads(recorder.GOLDEN.read_text(encoding="utf-8"))
GOLDEN = RECORDED["draws"]
CASES = {name: (draw, dtype, shape) for name, draw, dtype, shape in recorder.cases()}
DRAWS = {draw.name: draw for draw in recorder.draws()}

# Float64 results show the last bit of the C library's functions, and the recording has glibc's.
SAME_LIBRARY = platform.libc_ver()[0] == "glibc" and platform.machine() == "x86_64"


def assert_same(ours, theirs, exact=True):
    """Same dtype, shape and bits (a zero may have either sign); or else the last bits may differ."""
    assert isinstance(ours, np.ndarray) and ours.dtype == theirs.dtype and ours.shape == theirs.shape
    if exact:
        wide = complex if ours.dtype.kind == "c" else float if ours.dtype.kind in "fV" else ours.dtype
        np.testing.assert_array_equal(ours.astype(wide), theirs.astype(wide))
    else:
        np.testing.assert_allclose(ours, theirs, rtol=1e-14)


def crc(generator):
    return zlib.crc32(generator.get_state().tobytes())


# ---- against the recording


@pytest.mark.parametrize("name", CASES)
def test_draws_what_pytorch_drew(name):
    draw, dtype, shape = CASES[name]
    kind, size, values, state = GOLDEN[name]
    theirs = np.frombuffer(bytes.fromhex(values), recorder.numpy_dtype(kind)).reshape(size)
    generator = Generator().manual_seed(recorder.SEED)
    ours = draw.ours(generator, shape, recorder.numpy_dtype(dtype))
    assert_same(ours, theirs, exact=SAME_LIBRARY or kind not in ("float64", "complex128"))
    if SAME_LIBRARY:  # the state may hold a normal
        assert crc(generator) == state


@pytest.mark.parametrize("name", RECORDED["large"])
def test_a_hundred_thousand_numbers(name):
    draw, dtype = name.rsplit(" ", 1)
    generator = Generator().manual_seed(recorder.SEED)
    values = DRAWS[draw].ours(generator, (recorder.LARGE_COUNT,), recorder.numpy_dtype(dtype))
    assert recorder.checksum(values) == RECORDED["large"][name]


def test_the_recording_is_of_these_draws():
    assert set(GOLDEN) == set(CASES)
    assert set(RECORDED["large"]) == {f"{name} {dtype}" for name, dtypes in recorder.LARGE for dtype in dtypes}


def test_the_numbers_everybody_knows():
    """torch.manual_seed(0); torch.rand(3) gives 0.4963 0.7682 0.0885, as a thousand web pages show."""
    uniform = Generator().manual_seed(0).uniform((3,))
    np.testing.assert_allclose(uniform, [0.4963, 0.7682, 0.0885], atol=5e-5)
    normal = Generator().manual_seed(42).normal((3,))
    np.testing.assert_allclose(normal, [0.3367, 0.1288, 0.2345], atol=5e-5)
    assert Generator().manual_seed(0).randperm(5).tolist() == [4, 0, 1, 3, 2]


# ---- seeds, states, copies


@pytest.mark.parametrize(
    "seed, initial",
    [(0, 0), (7, 7), (-1, 2**64 - 1), (-(2**63), 2**63), (2**64 - 1, 2**64 - 1), (np.int64(5), 5)],
)
def test_seeds(seed, initial):
    generator = Generator()
    assert generator.manual_seed(seed) is generator
    assert generator.initial_seed() == initial
    # Only the low 32 bits of the seed choose the stream.
    low = Generator().manual_seed(initial & 0xFFFFFFFF)
    assert_same(generator.uniform((700,)), low.uniform((700,)))


@pytest.mark.parametrize(
    "seed, error, words",
    [
        (2**64, ValueError, "Overflow when unpacking long long"),
        (-(2**63) - 1, ValueError, "Overflow when unpacking long long"),
        (1.5, RuntimeError, "manual_seed expected a long, but got float"),
        (True, RuntimeError, "manual_seed expected a long, but got bool"),
        ("1", RuntimeError, "manual_seed expected a long, but got str"),
        (None, RuntimeError, "manual_seed expected a long, but got NoneType"),
    ],
)
def test_refused_seeds_leave_the_stream_where_it_was(seed, error, words):
    generator = Generator().manual_seed(3)
    before = crc(generator)
    with pytest.raises(error, match=words):
        generator.manual_seed(seed)
    assert crc(generator) == before


def test_an_unseeded_generator_has_a_fixed_seed_and_seed_draws_one():
    assert Generator().initial_seed() == Generator("cpu").initial_seed() == 67280421310721
    generator = Generator()
    seeds = {generator.seed() for _ in range(5)}
    assert len(seeds) == 5 and generator.initial_seed() in seeds
    assert_same(generator.uniform((5,)), Generator().manual_seed(generator.initial_seed()).uniform((5,)))


def test_device():
    assert str(Generator().device) == "cpu"
    with pytest.raises(RuntimeError, match="Cannot get CUDA generator"):
        Generator("cuda")


@pytest.mark.parametrize("copied", [copy.copy, copy.deepcopy, lambda generator: pickle.loads(pickle.dumps(generator))])
def test_copies_of_public_generators_are_public_ones(copied):
    import pullback

    generator = pullback.Generator().manual_seed(3)
    pullback.rand(5, generator=generator)
    other = copied(generator)
    assert type(other) is pullback.Generator
    assert pullback.rand(3, generator=generator).tolist() == pullback.rand(3, generator=other).tolist()


@pytest.mark.parametrize("drawn", [0, 1, 5, 623, 624, 625, 1247, 1248, 1249])
@pytest.mark.parametrize("copied", ["state", "clone", "pickle", "copy", "deepcopy"])
def test_copies_go_on_from_the_same_place(drawn, copied):
    generator = Generator().manual_seed(11)
    generator.normal((3,))  # leaves a normal behind
    generator.uniform((drawn,))
    other = {
        "state": lambda: Generator().set_state(generator.get_state()),
        "clone": generator.clone_state,
        "pickle": lambda: pickle.loads(pickle.dumps(generator)),
        "copy": lambda: copy.copy(generator),
        "deepcopy": lambda: copy.deepcopy(generator),
    }[copied]()
    assert other.initial_seed() == 11
    assert crc(other) == crc(generator)
    expected = [generator.normal((5,)), generator.uniform((2000,)), generator.random((3,))]
    found = [other.normal((5,)), other.uniform((2000,)), other.random((3,))]
    for ours, theirs in zip(found, expected, strict=True):
        assert_same(ours, theirs)


def test_state_keeps_what_it_does_not_use():
    """The float32 normal, which no kernel of PyTorch fills any more."""
    state = Generator().get_state()
    fields = state.view(STATE)
    fields["normal32"], fields["has_normal32"] = 1.5, True
    np.testing.assert_array_equal(Generator().set_state(state).get_state(), state)


def test_refused_states():
    generator = Generator().manual_seed(3)
    before = generator.get_state()
    with pytest.raises(TypeError, match="RNG state must be a torch.ByteTensor"):
        generator.set_state(before.astype(float))
    with pytest.raises(RuntimeError, match="Expected a CPUGeneratorImplState of size 5056 but found .* 10"):
        generator.set_state(np.zeros(10, np.uint8))
    with pytest.raises(RuntimeError, match="Invalid mt19937 state"):
        generator.set_state(np.zeros(5056, np.uint8))
    for field, value in (("left", 0), ("left", 625), ("next", 7), ("seeded", 0)):
        wrong = generator.get_state()
        wrong.view(STATE)[field] = value
        if field == "next":
            wrong.view(STATE)["left"] = 100
        with pytest.raises(RuntimeError, match="Invalid mt19937 state"):
            generator.set_state(wrong)
    np.testing.assert_array_equal(generator.get_state(), before)


def test_threads_share_one_stream():
    """Draws of several threads are together the draws of one."""
    generator, parts, size = Generator().manual_seed(1), [], 1000

    def work():
        for _ in range(50):
            parts.append(generator.uniform((size,)))

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    whole = Generator().manual_seed(1).uniform((200 * size,)).reshape(200, size)
    assert {p.tobytes() for p in parts} == {row.tobytes() for row in whole}


# ---- drawing


@pytest.mark.parametrize("count", [CHUNK - 1, CHUNK, CHUNK + 1, 3 * CHUNK + 17])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_large_arrays_are_pieces_of_the_stream(count, dtype):
    whole, pieces = Generator().manual_seed(5), Generator().manual_seed(5)
    expected = np.concatenate([pieces.uniform((1000,), dtype) for _ in range(count // 1000 + 1)])[:count]
    assert_same(whole.uniform((count,), dtype), expected)
    # Blocks of normals too, where no remainder is drawn anew.
    blocks = count // 16 * 16
    whole, pieces = Generator().manual_seed(5), Generator().manual_seed(5)
    expected = np.concatenate([pieces.normal((16,), dtype) for _ in range(200)])
    assert_same(whole.normal((blocks,), dtype)[:3200], expected)


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.float16, ml_dtypes.bfloat16])
def test_normals_are_box_and_mullers(dtype):
    """In double precision, from the same uniforms: the polynomials are good to a few ulp."""
    real = np.float64 if dtype is np.float64 else np.float32
    normal = Generator().manual_seed(9).normal((1600,), dtype, 2.0, 0.5).astype(float).reshape(-1, 2, 8)
    uniform = Generator().manual_seed(9).uniform((1600,), real).astype(float).reshape(-1, 2, 8)
    radius, angle = np.sqrt(-2 * np.log1p(-uniform[:, 0])), 2 * np.pi * uniform[:, 1]
    expected = 2 + 0.5 * np.stack([radius * np.cos(angle), radius * np.sin(angle)], 1)
    tolerance = {np.float64: 1e-15, np.float32: 2e-6, np.float16: 2e-3, ml_dtypes.bfloat16: 2e-2}[dtype]
    np.testing.assert_allclose(normal, expected, rtol=0, atol=tolerance)


@pytest.mark.parametrize("draw", DRAWS.values(), ids=DRAWS)
def test_nothing_is_drawn_for_an_empty_array(draw):
    if draw.name.startswith(("randperm", "multinomial")):
        return
    generator = Generator().manual_seed(2)
    generator.normal((1,))
    before = crc(generator)
    for shape in ((0,), (3, 0), (0, 2)):
        assert draw.ours(generator, shape, recorder.numpy_dtype(draw.dtypes[0])).shape == shape
    assert crc(generator) == before


def test_results_are_the_callers_to_write_into():
    generator, other = Generator().manual_seed(4), Generator().manual_seed(4)
    for shape in ((3,), (), (2, 2)):
        for name in ("uniform", "normal", "random", "exponential"):
            getattr(generator, name)(shape)[...] = 1
            getattr(other, name)(shape)
    assert crc(generator) == crc(other)
    assert_same(generator.uniform((9,)), other.uniform((9,)))


def shuffled_by_hand(words, n):
    order = list(range(n))
    for i, word in enumerate(words):
        j = i + word % (n - i)
        order[i], order[j] = order[j], order[i]
    return order


def test_integers_from_zero():
    """The lower end has a default, by keyword as by position."""
    draws = []
    for draw in (
        lambda: pullback.randint(0, 9, (4,)),
        lambda: pullback.randint(high=9, size=(4,)),
        lambda: pullback.randint_like(pullback.zeros(4, dtype=pullback.int64), high=9),
    ):
        pullback.manual_seed(0)
        draws.append(draw().tolist())
    assert draws == [draws[0]] * 3


@given(st.lists(st.integers(0, 30) | st.integers(0, 2**32 - 1), min_size=1, max_size=60))
def test_the_shuffle_without_a_loop_is_the_one_with(words):
    class Dealt(Generator):
        def _words(self, count):
            return np.array(words, np.uint32)

    n = len(words) + 1
    assert Dealt()._permutation(n).tolist() == shuffled_by_hand(words, n)


def test_long_permutations(monkeypatch):
    """As PyTorch shuffles from 214748364 elements on: the same draws in the words of the definition."""
    n = CHUNK + 5
    monkeypatch.setattr(module, "LONG", n)
    words = Generator().manual_seed(6).random((n,), np.int64, -(2**63), None).view(np.uint64).tolist()
    order = []
    for i, word in enumerate(words):
        j = word % (i + 1)
        order.append(i)
        order[i], order[j] = order[j], i
    assert Generator().manual_seed(6).randperm(n).tolist() == order
    assert sorted(order) == list(range(n))


finite = st.floats(-1e15, 1e15, allow_subnormal=False).filter(lambda x: x == 0 or abs(x) > 1e-15)


@given(st.lists(finite, min_size=1, max_size=5), finite, finite)
def test_fused_rounds_once(values, b, c):
    a = np.array(values)
    expected = [float(Fraction(x) * Fraction(b) + Fraction(c)) for x in values]
    np.testing.assert_array_equal(fused(a, b, c), expected)


@given(
    st.lists(st.floats(-1e6, 1e6, width=32), min_size=1, max_size=5),
    st.floats(-1e6, 1e6, width=32),
    st.floats(-1e6, 1e6, width=32),
)
def test_fused_rounds_once_in_float32(values, b, c):
    a = np.array(values, np.float32)
    for x, ours in zip(values, fused(a, b, c), strict=True):
        exact = Fraction(x) * Fraction(b) + Fraction(c)
        if 0 < abs(exact) < 2.0**-120:
            continue  # below the normal numbers of float32
        near = [ours, np.nextafter(ours, np.float32(np.inf)), np.nextafter(ours, -np.float32(np.inf))]
        assert min(near, key=lambda f: abs(Fraction(float(f)) - exact)) == ours


def test_fused_just_below_the_middle_of_two_float64():
    a, b, c = 2.0**-53 * (1 + 2.0**-52), 1 - 2.0**-52, 1 + 2.0**-52
    assert fused(np.array([a]), b, c)[0] == c


def test_fused_just_below_the_middle_of_two_float32():
    """In float64 it rounds to the middle, from where float32 would go up."""
    a, b, c = 1 + 2.0**-23, 2.0**-24 * (1 - 2.0**-23), 1 + 2.0**-23
    assert a * b + c == c + 2.0**-24
    assert fused(np.array([a], np.float32), b, c)[0] == c


@given(st.integers(0, 2**32 - 1))
def test_a_coin_falls_when_the_uniform_is_less(seed):
    """Also where all 53 bits decide."""
    uniform = Generator().manual_seed(seed).uniform((1,), np.float64)[0]
    assert Generator().manual_seed(seed).bernoulli(float(uniform), (1,)) == [0]
    assert Generator().manual_seed(seed).bernoulli(float(uniform) + 2.0**-53, (1,)) == [1]


def test_weights():
    """Choices follow their weights, and no index comes twice without replacement."""
    generator = Generator().manual_seed(8)
    weights = np.array([0.0, 1.0, 3.0, 6.0])
    found = np.bincount(generator.multinomial(weights, 20000, True), minlength=4) / 20000
    np.testing.assert_allclose(found, weights / 10, atol=0.02)
    many = generator.multinomial(np.tile(weights, (5000, 1)), 3)
    assert (np.sort(many, 1) == [1, 2, 3]).all()
    first = np.bincount(many[:, 0], minlength=4) / 5000
    np.testing.assert_allclose(first, weights / 10, atol=0.03)
    # Zero weights come last, in the order of their indices.
    assert generator.multinomial(np.array([0.0, 1.0, 0.0]), 3).tolist() == [1, 0, 2]


def test_parameters_that_are_no_numbers():
    generator = Generator()
    nan, inf = np.array([np.nan]), np.array([np.inf])
    assert math.isnan(rejection.gamma(np.float64(np.nan), lambda: 0.5, lambda: 0.0))
    assert np.isnan(generator.standard_gamma(nan)).all()
    assert np.isnan(generator.binomial(nan, np.array([0.5]))).all()
    assert np.isnan(generator.binomial(np.array([5.0]), nan)).all()
    assert np.isinf(generator.poisson(inf)).all()
    assert np.isinf(generator.log_normal((20,), np.float64, 0.0, 1e6)).any()
    assert np.isnan(generator.normal((20,), np.float32, np.nan)).all()
    assert np.isinf(generator.normal((20,), np.float32, np.inf)).all()


REFUSED = [
    ("uniform", ((3,), "f4", 2, 1), RuntimeError, r"\[from, to\) range, but found from=2 > to=1"),
    ("uniform", ((0,), "f4", 2, 1), RuntimeError, "uniform_ expects to return"),
    ("uniform", ((3,), "f4", -3e38, 3e38), RuntimeError, "uniform_ expects to-from <= std::numeric"),
    ("uniform", ((3,), "f4", -1e39, 1), RuntimeError, "from is out of bounds for float"),
    ("uniform", ((3,), "f2", 0, 1e6), RuntimeError, "to is out of bounds for c10::Half"),
    ("uniform", ((3,), "f4", float("nan"), 1), RuntimeError, "from is out of bounds for float"),
    ("uniform", ((3,), "i8"), NotImplementedError, "\"check_uniform_bounds\" not implemented for 'Long'"),
    ("normal", ((3,), "f4", 0, -1), RuntimeError, "normal expects std >= 0.0, but found std -1"),
    ("normal", ((0,), "f4", 0, float("nan")), RuntimeError, "normal expects std >= 0.0, but found std nan"),
    ("normal", ((3,), "u1"), NotImplementedError, "\"normal_kernel_cpu\" not implemented for 'Byte'"),
    ("normal_around", (np.zeros(2), np.array([1.0, -1.0])), RuntimeError, "normal expects all elements"),
    ("normal_around", (np.zeros(2), -1.0), RuntimeError, "normal expects std >= 0.0"),
    ("normal_around", (0.0, np.ones(2, complex)), RuntimeError, "standard deviation to be non-complex"),
    ("random", ((3,), "i8", 5, 5), RuntimeError, "'from' to be less than 'to', but got from=5 >= to=5"),
    ("random", ((0,), "i8", 5, 5), RuntimeError, "random_ expects 'from' to be less than 'to'"),
    ("random", ((0,), "u1", 0, 300), RuntimeError, "to - 1 is out of bounds for unsigned char"),
    ("random", ((3,), "i1", -129, 0), RuntimeError, "from is out of bounds for signed char"),
    ("random", ((3,), "u8", -1, 5), RuntimeError, "from is out of bounds for long unsigned int"),
    ("random", ((3,), "?", 0, 3), RuntimeError, "to - 1 is out of bounds for bool"),
    ("random", ((3,), "f2", 0, 2**62), RuntimeError, "to - 1 is out of bounds for c10::Half"),
    ("random", ((3,), "f2", 65503, 65504), RuntimeError, "to dtype to be less than 'to' casted"),
    ("random", ((3,), "f4", 2**25, None), RuntimeError, "'from' casted to dtype to be less than or equal"),
    ("random", ((3,), "i4", -(2**63), None), RuntimeError, "kernel_cpu handles only int64, double"),
    ("random", ((3,), "u2"), NotImplementedError, "\"random_kernel_cpu\" not implemented for 'UInt16'"),
    ("random", ((3,), "c8", 0, 5), RuntimeError, "check_random_bounds handles only integral"),
    ("randperm", (-1,), RuntimeError, r"Trying to create tensor with negative dimension -1: \[-1\]"),
    ("randperm", (300, "i1"), RuntimeError, "value cannot be converted to type int8_t"),
    ("randperm", (3000, "f2"), RuntimeError, "n cannot be greater than 2049 for Half type."),
    ("randperm", (3, "?"), NotImplementedError, "\"randperm\" not implemented for 'Bool'"),
    ("bernoulli", (1.5, (3,)), RuntimeError, r"bernoulli_ expects p to be in \[0, 1\], but got p=1.5"),
    ("bernoulli", (float("nan"), (3,)), RuntimeError, r"bernoulli_ expects p .* got p=nan"),
    ("bernoulli", (np.array([0.5, 1.5]),), RuntimeError, "Expected p_in >= 0 && p_in <= 1"),
    ("bernoulli", (np.array([0.5, np.nan]),), RuntimeError, "Expected p_in >= 0 && p_in <= 1"),
    ("bernoulli", (np.ones(3, np.int64),), NotImplementedError, "cpu_p_\" not implemented for 'Long'"),
    ("exponential", ((3,), "f4", 0), RuntimeError, "exponential_ expects lambda > 0.0, but found lambda=0"),
    ("exponential", ((3,), "i8"), RuntimeError, "Exponential distribution is a continuous"),
    ("cauchy", ((3,), "f4", 0, 0), RuntimeError, "cauchy_ expects sigma > 0.0, but found sigma=0"),
    ("cauchy", ((3,), "i8"), RuntimeError, "Cauchy distribution is a continuous"),
    ("log_normal", ((3,), "f4", 0, 0), RuntimeError, "log_normal_ expects std > 0.0, but found std=0"),
    ("log_normal", ((3,), "i4"), NotImplementedError, "\"log_normal_cpu\" not implemented for 'Int'"),
    ("geometric", ((3,), "f4", 1), RuntimeError, r"geometric_ expects p to be in \(0, 1\), but got p=1"),
    ("geometric", ((3,), "?"), NotImplementedError, "\"geometric_cpu\" not implemented for 'Bool'"),
    ("multinomial", (np.ones((2, 2, 2)), 1), RuntimeError, "prob_dist must be 1 or 2 dim"),
    ("multinomial", (np.array(1.0), 1), RuntimeError, "prob_dist must be 1 or 2 dim"),
    ("multinomial", (np.ones(3, int), 1), RuntimeError, "multinomial only supports floating-point"),
    ("multinomial", (np.ones(3), 0), RuntimeError, "cannot sample n_sample <= 0 samples"),
    ("multinomial", (np.ones(3), 4), RuntimeError, "cannot sample n_sample > prob_dist.size"),
    ("multinomial", (np.array([1.0, -1.0]), 1), RuntimeError, "probability tensor contains either"),
    ("multinomial", (np.array([1.0, np.inf]), 2, True), RuntimeError, "probability tensor contains either"),
    ("multinomial", (np.array([1.0, np.nan]), 1), RuntimeError, "probability tensor contains either"),
    ("multinomial", (np.array([[0.0, 0.0], [1.0, 0.0]]), 1), RuntimeError, "invalid multinomial"),
    ("poisson", (np.array([-1.0]),), RuntimeError, "invalid Poisson rate, expected rate"),
    ("poisson", (np.array([1]),), NotImplementedError, "\"poisson_cpu\" not implemented for 'Long'"),
    ("standard_gamma", (np.ones(2, "f2"),), NotImplementedError, "\"gamma_cpu\" not implemented for 'Half'"),
    ("binomial", (np.ones(2, "f2"), np.ones(2, "f2")), NotImplementedError, '"binomial_cpu" not'),
    ("dirichlet", (np.ones(2, "f2"),), NotImplementedError, "\"dirichlet\" not implemented for 'Half'"),
]


@pytest.mark.parametrize("method, arguments, error, words", REFUSED)
def test_what_is_refused_draws_nothing(method, arguments, error, words):
    generator = Generator().manual_seed(1)
    before = crc(generator)
    with pytest.raises(error, match=words):
        getattr(generator, method)(*arguments)
    assert crc(generator) == before


# ---- against PyTorch itself


@pytest.fixture(scope="module")
def torch():
    torch = pytest.importorskip("torch")
    if torch.backends.cpu.get_cpu_capability() not in ("AVX2", "AVX512"):
        pytest.skip("PyTorch's own streams are others on other processors: the ones here are those of x86-64")
    return torch


# PyTorch warns of integers that a float dtype does not hold exactly.
inexact = pytest.mark.filterwarnings("ignore:.*is out of bounds:UserWarning")

SIZES = [(), *((n,) for n in (0, 1, 7, 15, 16, 17, 31, 32, 33, 100, 1000)), (3, 5), (4, 8), (2, 3, 4)]


@pytest.mark.torch
@inexact
@pytest.mark.parametrize("draw", DRAWS.values(), ids=DRAWS)
def test_every_draw_at_every_size(torch, draw):
    for number, dtype in enumerate(draw.dtypes):
        theirs, ours = torch.Generator(), Generator()
        for shape in filter(draw.takes, SIZES):
            seed = hash((number, shape)) % 2**64
            theirs.manual_seed(seed)
            ours.manual_seed(seed)
            expected = recorder.as_numpy(draw.pytorch(torch, theirs, shape, getattr(torch, dtype)))
            assert_same(draw.ours(ours, shape, recorder.numpy_dtype(dtype)), expected)
            np.testing.assert_array_equal(ours.get_state(), theirs.get_state().numpy())


@pytest.mark.torch
@inexact
@pytest.mark.parametrize("seed", range(12))
def test_streams_stay_in_step_through_mixed_calls(torch, seed):
    choose = random.Random(seed)
    theirs, ours = torch.Generator(), Generator()
    if seed:
        seed = choose.choice([seed, -seed, choose.getrandbits(64), choose.getrandbits(32) << 32])
        assert theirs.manual_seed(seed).initial_seed() == ours.manual_seed(seed).initial_seed()
    for _ in range(150):
        draw = choose.choice(list(DRAWS.values()))
        dtype, shape = choose.choice(draw.dtypes), choose.choice(list(filter(draw.takes, SIZES)))
        expected = recorder.as_numpy(draw.pytorch(torch, theirs, shape, getattr(torch, dtype)))
        assert_same(draw.ours(ours, shape, recorder.numpy_dtype(dtype)), expected)
    np.testing.assert_array_equal(ours.get_state(), theirs.get_state().numpy())
    # A state goes either way.
    theirs.set_state(torch.from_numpy(Generator().manual_seed(5).get_state()))
    ours.set_state(theirs.get_state().numpy())
    assert ours.initial_seed() == theirs.initial_seed() == 5
    assert_same(ours.normal((50,)), torch.randn(50, generator=theirs).numpy())


@pytest.mark.torch
@pytest.mark.parametrize("dtype", ["float32", "float64", "float16", "bfloat16"])
def test_large_arrays(torch, dtype):
    theirs, ours = torch.Generator().manual_seed(3), Generator().manual_seed(3)
    like, count = getattr(torch, dtype), 2 * CHUNK + 4567
    for name in ("uniform()", "uniform(-0.7, 0.7)", "normal()", "normal(0.3, 1.7)", "exponential(1.0,)"):
        draw = DRAWS[name]
        expected = recorder.as_numpy(draw.pytorch(torch, theirs, (count,), like))
        assert_same(draw.ours(ours, (count,), recorder.numpy_dtype(dtype)), expected)
    expected = torch.empty(count, dtype=like).bernoulli_(0.3, generator=theirs)
    assert_same(ours.bernoulli(0.3, (count,), recorder.numpy_dtype(dtype)), recorder.as_numpy(expected))
    assert_same(ours.randperm(count), torch.randperm(count, generator=theirs).numpy())
    np.testing.assert_array_equal(ours.get_state(), theirs.get_state().numpy())


@pytest.mark.torch
def test_dropout_draws_bernoulli_of_what_is_kept(torch):
    for seed, p in ((0, 0.5), (1, 0.1), (2, 0.9)):
        torch.manual_seed(seed)
        kept = torch.nn.functional.dropout(torch.ones(3, 50), p).numpy() != 0
        np.testing.assert_array_equal(Generator().manual_seed(seed).bernoulli(1 - p, (3, 50)), kept)


@pytest.mark.torch
def test_layers_are_initialised_from_the_stream(torch):
    """A Linear layer's weight and bias: Kaiming's bound is 1/sqrt(in_features)."""
    torch.manual_seed(7)
    layer = torch.nn.Linear(13, 5)
    generator, bound = Generator().manual_seed(7), 1 / math.sqrt(13)
    assert_same(generator.uniform((5, 13), np.float32, -bound, bound), layer.weight.detach().numpy())
    assert_same(generator.uniform((5,), np.float32, -bound, bound), layer.bias.detach().numpy())


@pytest.mark.torch
def test_the_order_in_which_strided_tensors_are_filled(torch):
    """Dense ones in the order of memory; others from the largest stride to the smallest."""
    theirs, ours = torch.Generator().manual_seed(1), Generator().manual_seed(1)
    turned = torch.empty(4, 6).t().uniform_(generator=theirs)
    assert_same(ours.uniform((4, 6)).T, turned.numpy())
    sliced = torch.empty(4, 6, 8).permute(2, 0, 1)[:, ::2].exponential_(generator=theirs)
    assert_same(ours.exponential((2, 6, 8)).transpose(2, 0, 1), sliced.numpy())
    turned = torch.empty(4, 6).t().normal_(generator=theirs)
    assert_same(ours.normal((4, 6), contiguous=False).T, turned.numpy())


@pytest.mark.torch
def test_dirichlet(torch):
    """To the last bits, which the order of a sum decides."""
    alpha = recorder.spread((4, 9))
    for dtype in (np.float32, np.float64):
        theirs, ours = torch.Generator().manual_seed(1), Generator().manual_seed(1)
        expected = torch._sample_dirichlet(torch.tensor(alpha.astype(dtype)), generator=theirs).numpy()
        np.testing.assert_allclose(ours.dirichlet(alpha.astype(dtype)), expected, rtol=4 * np.finfo(dtype).eps)
        np.testing.assert_array_equal(ours.get_state(), theirs.get_state().numpy())


def test_the_largest_few_are_those_of_a_stable_sort() -> None:
    """What ``multinomial`` draws: of equal scores the lower index comes first."""
    rng = np.random.default_rng(0)
    for turn in range(200):
        score = rng.integers(0, (3, 50, 10**6)[turn % 3], (3, rng.integers(5, 60))).astype(np.float32)
        if turn % 5 == 0:
            score[0, :2] = np.inf, np.nan
        count = int(rng.integers(1, score.shape[1]))
        expected = np.argsort(-score, -1, kind="stable")[..., :count]
        np.testing.assert_array_equal(module._places_of_largest(score, count), expected)
