"""Types: PyTorch's rules of mixing them, for every pair; limits; the default type."""

from __future__ import annotations

import json
import pathlib
import pickle
import re
from collections.abc import Iterator
from math import inf, nan
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import pullback as torch
import pullback.nn.functional as F
from pullback.nn.utils.rnn import pad_sequence

GOLDEN = json.loads((pathlib.Path(__file__).parent / "golden" / "promotion.json").read_text())
SCALARS: dict[str, Any] = {"True": True, "2": 2, "2.5": 2.5, "1j": 1j}
OPERATORS = sorted({key.split()[0] for key in GOLDEN["operators"]})


def tensor(name: str, rank: str) -> torch.Tensor:
    return torch.ones((2,) if rank == "dims" else (), dtype=getattr(torch, name))


def test_result_type_of_tensors() -> None:
    """All pairs of types and ranks."""
    for key, expected in GOLDEN["tensors"].items():
        a, ra, b, rb = key.split()
        assert str(torch.result_type(tensor(a, ra), tensor(b, rb))) == expected, key


def test_result_type_with_python_numbers() -> None:
    """All types and ranks with a bool, an int, a float and a complex number."""
    for key, expected in GOLDEN["scalars"].items():
        a, ra, s = key.split()
        assert str(torch.result_type(tensor(a, ra), SCALARS[s])) == expected, key


def test_can_cast() -> None:
    for key, expected in GOLDEN["can_cast"].items():
        a, b = key.split()
        assert torch.can_cast(getattr(torch, a), getattr(torch, b)) == expected, key


@pytest.mark.parametrize("name", OPERATORS)
def test_operators_give_pytorchs_types(name: str) -> None:
    """The type of the result for all types of the operands; where PyTorch refuses, so do we."""
    wrong = []
    for key, expected in GOLDEN["operators"].items():
        if key.split()[0] != name or key == "cumsum complex32 zero":  # which PyTorch copies
            continue
        operands = key.split()[1:]
        xs = [tensor(*operands[i : i + 2]) for i in range(0, len(operands), 2)]
        try:
            if name == "where":
                out = torch.where(torch.tensor(True), *xs)
            else:
                out = torch.cumsum(xs[0], 0) if name == "cumsum" else getattr(torch, name)(*xs)
            got = [str(out.dtype)]
        except Exception as error:
            got = [kind.__name__ for kind in type(error).__mro__]
        if expected not in got:
            wrong.append(f"{key}: {got[0]}, not {expected}")
    assert not wrong, f"{len(wrong)} differ, such as {wrong[:5]}"


@pytest.fixture
def double_by_default() -> Iterator[None]:
    torch.set_default_dtype(torch.float64)
    yield
    torch.set_default_dtype(torch.float32)


def test_default_dtype(double_by_default: None) -> None:
    """It decides what Python floats and new tensors become, and what is printed."""
    assert torch.tensor(1.5).dtype is torch.zeros(1).dtype is torch.rand(1).dtype is torch.float64
    assert (torch.tensor([1, 2]) / 2).dtype is torch.float64
    assert repr(torch.tensor(1.5)) == "tensor(1.5000)"
    assert torch.tensor(1j).dtype is torch.complex128
    with pytest.raises(TypeError, match="only floating-point types"):
        torch.set_default_dtype(torch.int64)


def test_dtypes_are_singletons() -> None:
    assert torch.float is torch.float32 and torch.long is torch.int64
    assert pickle.loads(pickle.dumps(torch.bfloat16)) is torch.bfloat16
    assert repr(torch.float32) == "torch.float32" and torch.complex64.is_complex and not torch.uint8.is_signed


def test_limits() -> None:
    info = torch.finfo(torch.float32)
    assert (info.eps, info.max, info.bits) == (1.1920928955078125e-07, 3.4028234663852886e38, 32)
    assert torch.finfo(torch.bfloat16).eps == 0.0078125 and torch.iinfo(torch.uint8).max == 255
    with pytest.raises(TypeError, match="requires a floating point"):
        torch.finfo(torch.int64)
    with pytest.raises(TypeError, match="requires an integer"):
        torch.iinfo(torch.float32)


@given(st.lists(st.integers(0, 3), max_size=4), st.lists(st.integers(0, 3), max_size=4))
def test_broadcasting_is_numpys(a: list[int], b: list[int]) -> None:
    """Shapes broadcast exactly when NumPy's do, to the same shape; gradients come back in the operands' shapes."""
    x, y = torch.ones(a, requires_grad=True), torch.ones(b, requires_grad=True)
    try:
        shape = np.broadcast_shapes(tuple(a), tuple(b))
    except ValueError:
        with pytest.raises(RuntimeError, match="must match the size"):
            x + y
        return
    z = x + y
    assert z.shape == shape
    z.sum().backward()
    assert x.grad is not None and y.grad is not None
    assert x.grad.shape == tuple(a) and y.grad.shape == tuple(b)
    assert x.grad.sum().item() == z.numel() == y.grad.sum().item()


def test_names_of_types_that_there_are_not():
    assert isinstance(torch.float8_e4m3fn, torch.dtype) and repr(torch.qint8) == "torch.qint8"
    assert torch.float8_e5m2.itemsize == 1 and torch.float8_e5m2.is_floating_point and torch.qint32.itemsize == 4
    assert torch.finfo(torch.float8_e4m3fn).max == 448 and {torch.float32: 1}.get(torch.float8_e4m3fn) is None
    assert pickle.loads(pickle.dumps(torch.complex32)) is torch.complex32 is torch.chalf
    assert torch.complex32.to_real() is torch.float16 and torch.float8_e5m2.to_real() is torch.float8_e5m2
    for use in (
        lambda d: torch.zeros(1, dtype=d),
        lambda d: torch.zeros(1).to(d),
        lambda d: torch.zeros(1).type(d),
        torch.nn.Linear(1, 1).to,
    ):
        with pytest.raises(TypeError, match="torch.float4_e2m1fn_x2 is not a type of Pullback's tensors"):
            use(torch.float4_e2m1fn_x2)


# --- Python numbers ---------------------------------------------------------------------------------------------

MASK, FIRST = torch.tensor([True, False]), torch.tensor([0])
WRITTEN: dict[str, Any] = {  # what a number becomes in these has to hold it
    "full": lambda x, v: torch.full((2,), v, dtype=x.dtype),
    "full_like": torch.full_like,
    "new_full": lambda x, v: x.new_full((2,), v),
    "fill_": lambda x, v: x.fill_(v),
    "masked_fill": lambda x, v: x.masked_fill(MASK, v),
    "masked_fill of a tensor": lambda x, v: x.masked_fill(MASK, torch.tensor(v, dtype=torch.float64)),
    "index_fill": lambda x, v: x.index_fill(0, FIRST, v),
    "index_fill of a tensor": lambda x, v: x.index_fill(0, FIRST, torch.tensor(v, dtype=torch.float64)),
    "scatter": lambda x, v: x.scatter(0, FIRST, v),
    "scatter add": lambda x, v: x.scatter(0, FIRST, v, reduce="add"),
    "pad": lambda x, v: torch.constant_pad_nd(x, (1, 1), v),
    "linspace": lambda x, v: torch.linspace(0, v, 2, dtype=x.dtype),
    "add": lambda x, v: torch.add(x, x, alpha=v),
    "sub": lambda x, v: torch.sub(x, x, alpha=v),
    "index_add": lambda x, v: x.index_add(0, FIRST, x[:1], alpha=v),
    "clamp": lambda x, v: torch.clamp(x, min=v),
    "clamp_min": torch.clamp_min,
    "threshold": lambda x, v: torch.threshold(x, 1, v),
    "add in place": lambda x, v: x.add_(x, alpha=v),
    "clamp_max": lambda x, v: x.clamp_max(-v - 1),
    "hardtanh": lambda x, v: F.hardtanh(x, 0, v),
    "fill a mask": lambda x, v: x.masked_fill_(MASK, v),
}


@pytest.mark.parametrize("write", WRITTEN)
@pytest.mark.parametrize(
    ("d", "number", "word"),
    [
        ("uint8", 300, "uint8_t"),
        ("int32", 2**31, "int"),
        ("float16", 1e6, "c10::Half"),
        ("bfloat16", 1e39, "c10::BFloat16"),
        ("float32", 1e39, "float"),
    ],
)
def test_numbers_that_a_type_cannot_hold(write: str, d: str, number: int, word: str) -> None:
    x = torch.tensor([1, 2], dtype=getattr(torch, d))
    with pytest.raises(RuntimeError, match=f"value cannot be converted to type {word} without overflow"):
        WRITTEN[write](x, number)
    assert x.tolist() == [1, 2]


@pytest.mark.parametrize(("d", "number", "word"), [("uint8", 300, "uint8_t"), ("int32", 2**31, "int")])
def test_numbers_that_integers_cannot_hold(d: str, number: int, word: str) -> None:
    x = torch.tensor([1, 2], dtype=getattr(torch, d))
    for call in (
        lambda: x.__setitem__(0, number),
        lambda: torch.where(MASK, x, number),
        lambda: torch.addcmul(x, x, x, value=number),
        lambda: torch.addmm(x, x[:, None], x[None], beta=number),
        lambda: torch.addmv(x, x[:, None], x[:1], alpha=number),
        lambda: torch.pow(x, number),
    ):
        with pytest.raises(RuntimeError, match=f"value cannot be converted to type {word} without overflow"):
            call()
    assert x.tolist() == [1, 2]


def test_options_that_floats_cannot_hold() -> None:
    x, h, m, b = torch.ones(2), torch.ones(2).half(), torch.ones(2, 2), torch.ones(1, 2, 2)
    many = torch.ones(100_000)  # for which there are kernels
    for v in (1e39, -1e39, 1j):
        for call in (
            lambda v: F.elu(x, v),
            lambda v: F.celu(x, v),
            lambda v: F.leaky_relu(x, v),
            lambda v: F.softplus(x, v),
            lambda v: F.softplus(x, 1, v),
            lambda v: F.threshold(x, v, 1),
            lambda v: F.hardshrink(x, v),
            lambda v: F.leaky_relu(h, v),
            lambda v: x.__setitem__(0, v),
            lambda v: torch.addcmul(x, x, x, value=v),
            lambda v: torch.addcmul(many, many, many, value=v),
            lambda v: torch.addcdiv(many, many, many, value=v),
            lambda v: torch.addmm(x, m, m, beta=v),
            lambda v: torch.where(MASK, x, v) if v != 1j else x.fill_(v),
            lambda v: torch.where(MASK, v, 1.0) if v != 1j else x.fill_(v),
            lambda v: torch.addmv(x, m, x, beta=v),
            lambda v: torch.addr(m, x, x, alpha=v),
            lambda v: torch.baddbmm(b, b, b, alpha=v),
            lambda v: torch.addbmm(m, b, b, beta=v),
            lambda v: torch.lerp(x, x, v),
            lambda v: torch.clamp(x, v, 2.0),
        ):
            with pytest.raises(RuntimeError, match="cannot be converted to type float without overflow"):
                call(v)
    for call in (lambda: F.hardshrink(h, 1e6), lambda: torch.pow(h, 1e6), lambda: torch._foreach_pow([h], 1e6)):
        with pytest.raises(RuntimeError, match="type c10::Half without overflow"):
            call()
    for v in (1e39, inf, nan, -1.0):
        with pytest.raises(RuntimeError, match="lambda must be in range .0, 3.40282e\\+38. for input dtype Float"):
            F.softshrink(x, v)
    with pytest.raises(RuntimeError, match="type float without overflow"):
        torch.histc(x, 4, max=1e39)
    with pytest.raises(RuntimeError, match="Boolean alpha only supported for Boolean results"):
        torch.addr(m, x, x, alpha=True)
    with pytest.raises(RuntimeError, match="cannot do hardtanh on an unsigned type with negative limits"):
        F.hardtanh(torch.ones(2, dtype=torch.uint8), -1.5, 1.5)
    assert F.leaky_relu(-h, 1e6)[0] == -inf and torch.where(MASK, x, -inf)[1] == -inf and x.clamp(max=inf)[0] == 1


def test_alpha_scales_in_the_type_of_the_sum() -> None:
    assert torch.add(torch.ones(1), torch.tensor([2.0], dtype=torch.float16), alpha=1e6).tolist() == [2000001.0]
    assert torch.sub(torch.ones(1), torch.tensor([60000.0]).half(), alpha=2).tolist() == [-119999.0]


def test_numbers_to_pad_with_are_floats() -> None:
    u = torch.ones(1, dtype=torch.uint8)
    for call in (lambda: F.pad(u, (1, 1), value=-1), lambda: pad_sequence([u, u.repeat(2)], padding_value=-1)):
        with pytest.raises(RuntimeError, match="type uint8_t without overflow"):
            call()
    assert F.pad(torch.ones(1), (1, 0), value=2**64).tolist() == [2.0**64, 1]
    assert pad_sequence([torch.ones(1), torch.ones(2)], padding_value=2**64)[1, 0] == 2.0**64


def test_ends_of_a_line_are_of_its_type() -> None:
    for ends, values in (((-1, 0), [255, 127, 0]), ((0, -1), [0, 127, 255]), ((10, 3), [10, 6, 3])):
        assert torch.linspace(*ends, 3, dtype=torch.uint8).tolist() == values


@pytest.mark.parametrize("number", [300, -256, 255.5, -0.5, nan, float("inf"), 2.0**63])
def test_data_that_a_type_cannot_hold(number: float) -> None:
    for data in (number, [number], [[1.5, number]], [True, number], [torch.tensor(number)]):
        whole = isinstance(number, int) or not isinstance(data, list) or not isinstance(data[0], torch.Tensor)
        with pytest.raises(RuntimeError if whole else TypeError, match="without overflow" if whole else "only integer"):
            torch.tensor(data, dtype=torch.uint8)
    with pytest.raises(RuntimeError, match="uint8 without overflow"):
        torch.ones(2, dtype=torch.uint8).new_tensor([number])
    with pytest.raises(RuntimeError, match="uint8 without overflow"):
        torch.ByteTensor([number])


def test_data_at_the_edges() -> None:
    assert torch.tensor([-1, -255], dtype=torch.uint8).tolist() == [255, 1]
    assert torch.tensor([1.9, -1.9], dtype=torch.int64).tolist() == [1, -1]
    assert torch.tensor([1.5, 2**53 + 1], dtype=torch.int64).tolist() == [1, 2**53 + 1]
    assert torch.tensor([2**64 - 1], dtype=torch.uint64).tolist() == [2**64 - 1]
    assert torch.tensor([1.0, 2**64]).tolist() == [1, 2.0**64] and torch.tensor([1e40]).tolist() == [float("inf")]
    for data in (2**63, [1, 2**63], [2**70], -(2**63) - 1):
        with pytest.raises(ValueError, match="Overflow when unpacking long long"):
            torch.tensor(data)
    with pytest.raises(TypeError, match="must be real number, not complex"):
        torch.tensor([1j], dtype=torch.float32)
    with pytest.raises(OverflowError, match="int too big to convert"):
        torch.zeros(2).fill_(2**64)


def test_numbers_beyond_a_type_compare_as_numbers() -> None:
    """PyTorch compares with the low bits: 100 < 300 is False there, for uint8."""
    x = torch.tensor([100, 200], dtype=torch.uint8)
    assert (x < 300).tolist() == (x > -1).tolist() == [True, True]
    assert (x == 356).tolist() == (x >= 256).tolist() == [False, False] and (300 > x).all()
    assert torch.vmap(lambda row: row < 300)(x).all() and x.clone().lt_(300).tolist() == [1, 1]
    assert (torch.tensor([2**63 - 1]) < 2**63).item() and (torch.tensor([1]) > -(2**70)).item()


def test_arithmetic_keeps_the_low_bits() -> None:
    x = torch.tensor([1, 2], dtype=torch.uint8)
    assert (x + 300).tolist() == [45, 46] and (x * -1).tolist() == [255, 254] and (300 - x).tolist() == [43, 42]
    assert torch.add(x, x, alpha=-1).tolist() == [0, 0] and torch.add(x, torch.tensor([1, 1]), alpha=300).sum() == 603


def test_bounds_of_integers() -> None:
    """A bound beyond the type's range has no effect, or none could meet it."""
    x = torch.tensor([1, 200], dtype=torch.uint8)
    for y in (x.clamp(-1, 300), x.clamp_min(-1), x.clamp_max(300), x.clone().clamp_(max=300)):
        assert y.tolist() == [1, 200]
    for refused in (lambda: x.clamp(max=-1), lambda: x.clamp_max(-1), lambda: x.clamp(min=300)):
        with pytest.raises(RuntimeError, match="without overflow"):
            refused()


def test_bool_is_no_number_to_scale_by() -> None:
    x, m = torch.tensor([1, 2]), torch.tensor([True, False])
    for refused in (lambda: torch.add(x, x, alpha=True), lambda: torch.sub(x.float(), x.float(), alpha=True)):
        with pytest.raises(RuntimeError, match="Boolean alpha only supported for Boolean results."):
            refused()
    with pytest.raises(RuntimeError, match="Subtraction, the `-` operator, with a bool tensor is not supported"):
        x - True
    assert torch.add(m, m, alpha=2).dtype is torch.bool


def test_an_operand_without_its_dimensions_of_size_one_keeps_its_type() -> None:
    """In einsum, whether they are left out by the plan, or weren't there."""
    wide, x = torch.tensor([1 / 3], dtype=torch.float64), torch.tensor([[1.0], [2.0]])
    for equation, a, b in (("...i,...i->...", wide, x), (",ij->ij", wide[0], x), ("i,ij->ij", wide, x[:1])):
        y = torch.einsum(equation, a, b)
        assert y.dtype is torch.float64 and y.reshape(-1)[0].item() == 1 / 3


def test_trapezoids_of_integers() -> None:
    u, x = torch.tensor([200, 200, 100], dtype=torch.uint8), torch.tensor([0, 250, 1], dtype=torch.uint8)
    assert torch.trapezoid(u).item() == 350 and torch.trapezoid(u, dx=300).item() == 105_000
    assert torch.trapezoid(u, x).item() == torch.trapezoid(u.double(), x).item() == 12_650
    assert torch.cumulative_trapezoid(torch.tensor([2**62, 2**62])).item() == 2.0**62
    assert torch.trapezoid(torch.tensor([1, 2])).dtype is torch.float32
    assert torch.trapezoid(torch.tensor([1, 2]), torch.ones(2).double()).dtype is torch.float64
    empty = torch.zeros(3, 0, dtype=torch.int64)
    for y in (torch.trapezoid(empty), torch.trapezoid(empty, torch.zeros(0)), torch.trapezoid(empty.byte(), dx=0.5)):
        assert y.tolist() == [0, 0, 0] and y.dtype in (torch.int64, torch.uint8)
    for dx in (True, 1j):
        with pytest.raises(RuntimeError, match="trapezoid: Currently, we only support dx as a real number."):
            torch.trapezoid(u, dx=dx)


@pytest.mark.parametrize(
    ("call", "kernel"),
    [
        (torch.erf, "erf_vml_cpu"),
        (torch.erfc, "erfc_vml_cpu"),
        (torch.digamma, "digamma"),
        (torch.special.erfcx, "erfcx_cpu"),
        (torch.special.ndtr, "erf_vml_cpu"),
        (torch.special.log_ndtr, "log_ndtr_cpu"),
        (torch.amin, "min_values_cpu"),
        (lambda c: torch.nn.functional.mse_loss(c, c), "mse_cpu"),
        (lambda c: torch.nn.functional.smooth_l1_loss(c, c), "smooth_l1_cpu"),
        (lambda c: torch.index_reduce(c, 0, torch.tensor([0]), c[:1], "amax"), "maximum_cpu"),
    ],
)
def test_functions_of_real_numbers_refuse_complex_ones(call: Any, kernel: str) -> None:
    for d, name in ((torch.complex64, "ComplexFloat"), (torch.complex128, "ComplexDouble")):
        with pytest.raises(NotImplementedError, match=f"\"{kernel}\" not implemented for '{name}'"):
            call(torch.ones(2, dtype=d))


def test_nan_to_num_of_one_complex_number() -> None:
    assert torch.nan_to_num(torch.tensor(complex(nan, 1))).item() == 1j


def test_vander_takes_one_dimension() -> None:
    with pytest.raises(RuntimeError, match="x must be a one-dimensional tensor."):
        torch.vander(torch.ones(2, 2))


def test_an_integer_of_64_bits_beside_a_mask_is_refused() -> None:
    m = torch.tensor([True, False])
    for call in (
        *(lambda f=f: f(m, 2**63) for f in (torch.add, torch.mul, torch.div, torch.fmod, torch.lt, torch.bitwise_or)),
        lambda: 2**63 // m,
        lambda: m % 2**63,
        lambda: torch.pow(2**63, m),
        lambda: torch._foreach_add([m], 2**63),
        lambda: torch.where(m, m, 2**63),
        lambda: torch.where(m, 2**63, 1),
    ):
        with pytest.raises(RuntimeError, match="Promotion for uint16, uint32, uint64 types is not supported"):
            call()
    with pytest.raises(RuntimeError, match="type int64_t without overflow"):
        m**2**63
    with pytest.raises(OverflowError, match="int too big to convert"):
        m + 2**64
    assert (torch.tensor([1]) + 2**63).tolist() == [1 - 2**63] and (m + (2**63 - 1)).tolist() == [-(2**63), 2**63 - 1]


@pytest.mark.parametrize("d", [torch.float16, torch.bfloat16])
def test_assigning_a_number_beyond_half_precision_gives_infinity(d: Any) -> None:
    """As a cast does; where a number fills a whole tensor, it must fit."""
    for place in (0, slice(None), MASK, FIRST, [0]):
        for v in (1e39, np.float64(1e39)):
            x = torch.ones(2, dtype=d, requires_grad=True).clone()
            x[place] = v
            assert x[0].item() == inf
    one = torch.tensor(1.0, dtype=d)
    made = (torch.full((), 1e39, dtype=d), one.new_full((), 1e39), one.fill_(1e39), torch.scalar_tensor(1e39, dtype=d))
    assert all(v.item() == inf for v in made) and torch.ones(2, dtype=d).fill_(torch.tensor(1e39).double())[0] == inf
    for refused in (lambda: torch.full((2,), 1e39, dtype=d), lambda: torch.ones(2).__setitem__(0, 1e39)):
        with pytest.raises(RuntimeError, match="without overflow"):
            refused()


def test_masked_places_take_a_number_of_another_type() -> None:
    x = torch.tensor([1, 2], dtype=torch.uint8)
    with pytest.raises(RuntimeError, match="value cannot be converted to type uint8_t without overflow"):
        x[x > 0] = torch.tensor(300)
    x[x > 1] = torch.tensor(7.5)
    assert x.tolist() == [1, 7]
    y, v = torch.zeros(2), torch.tensor(3.0, dtype=torch.float64, requires_grad=True)
    y[MASK] = v
    y.sum().backward()
    assert y.tolist() == [3, 0] and v.grad.item() == 1


def test_true_and_false_are_exponents_of_a_mask() -> None:
    m = torch.tensor([True, False])
    assert (m**True).tolist() == [True, False] and torch.pow(m, False).tolist() == [True, True]
    assert m.clone().pow_(True).dtype is torch.bool
    for refused in (lambda: True**m, lambda: m**m):
        with pytest.raises(NotImplementedError, match="\"pow\" not implemented for 'Bool'"):
            refused()


def test_numbers_of_the_wrong_kind() -> None:
    x, z, m = torch.ones(2), torch.tensor([1j]), torch.tensor([True, False])
    for call, error, message in (
        (lambda: torch.randint(0, 1.5, (2,)), TypeError, "randint() received an invalid combination of arguments"),
        (lambda: torch.randint(0.5, (2,)), TypeError, "randint() received an invalid combination of arguments"),
        (lambda: x.random_(1.5), TypeError, "random_() received an invalid combination of arguments"),
        (lambda: torch.renorm(x[None], 2, 0, nan), RuntimeError, "renorm: expected maxnorm to be >= 0 but got nan"),
        (lambda: torch.renorm(x[None], nan, 0, 1), RuntimeError, "renorm: non-positive-norm not supported"),
        (lambda: torch.renorm(x[None], 2, 0, 1j), RuntimeError, "renorm: maxnorm must be real-valued"),
        (lambda: torch.nan_to_num(x, 1j), TypeError, "nan_to_num(): argument 'nan' (position 2) must be float"),
        (lambda: torch.nan_to_num(x, 0, 1j), TypeError, "nan_to_num(): argument 'posinf' (position 3) must be float"),
        (lambda: torch.linalg.vander(m), RuntimeError, "linalg.vander supports floating point, complex, and integer"),
        (
            lambda: torch.addcmul(m, m, m, value=1j),
            NotImplementedError,
            "\"addcmul_cpu_out\" not implemented for 'Bool'",
        ),
        (
            lambda: F.binary_cross_entropy_with_logits(z, z),
            NotImplementedError,
            "\"log_sigmoid_cpu\" not implemented for 'ComplexFloat'",
        ),
        (lambda: F.binary_cross_entropy(z, z), NotImplementedError, '"binary_cross_entropy" not implemented for'),
        (lambda: torch.div(z, 2, rounding_mode="trunc"), NotImplementedError, '"div_trunc_cpu" not implemented for'),
        (lambda: torch.block_diag(x, 3), TypeError, "expected Tensor as element 1 in argument 0, but got int"),
    ):
        with pytest.raises(error, match=re.escape(message)):
            call()


@pytest.mark.parametrize("dtype", (torch.float16, torch.bfloat16), ids=str)
def test_what_stands_for_an_array_is_filled(dtype: Any) -> None:
    """In a batch, in forward mode, compiled, and where there are no values."""

    def filled(x: Any) -> Any:
        return x.clone().fill_(2)

    x = torch.ones(2, 3, dtype=dtype)
    for result in (filled(x), torch.func.vmap(filled)(x), torch.compile(filled, fullgraph=True)(x)):
        assert result.dtype is dtype and result.eq(2).all()
    value, tangent = torch.func.jvp(filled, (x,), (x,))
    assert value.eq(2).all() and tangent.eq(0).all()
    assert filled(x.to("meta")).dtype is dtype
