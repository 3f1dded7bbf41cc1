"""Printing, against text recorded from PyTorch 2.13 and, where it is installed, against PyTorch itself."""

import importlib.util
import json
import math
import sys
import warnings
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

import pullback
from pullback.base import printing

_spec = importlib.util.spec_from_file_location(
    "record_printing", Path(__file__).parent / "golden" / "record_printing.py"
)
recorder = importlib.util.module_from_spec(_spec)
sys.modules[_spec.name] = recorder
_spec.loader.exec_module(recorder)

GOLDEN = json.loads(recorder.GOLDEN.read_text(encoding="utf-8"))
CASES = {case.name: case for case in recorder.cases()}


@pytest.fixture(autouse=True)
def default_options():
    """Each test begins and ends with PyTorch's own options."""
    with printing.printoptions(profile="default"):
        yield


def printed(case) -> str:
    """The text of ``case`` as we print it."""
    about = {"dtype": case.dtype, "default_dtype": case.default_dtype}
    with printing.printoptions(**case.options):
        extra = ()
        if case.tangent is not None:
            extra = (f"tangent={printing.format_tensor(case.tangent, **about)}",)
        return printing.format_tensor(
            case.array,
            **about,
            requires_grad=case.requires_grad or case.grad_fn is not None,
            grad_fn=case.grad_fn,
            prefix=f"{case.class_name}(",
            extra=extra,
        )


# ---------------------------------------------------------------------------------------------- recorded text


def test_every_case_is_recorded():
    """The table of cases and the recording belong together."""
    assert list(CASES) == list(GOLDEN["printed"])
    assert list(recorder.FORMATTED) == list(GOLDEN["formatted"])
    assert len(CASES) >= 250


@pytest.mark.parametrize("name", CASES)
def test_prints_what_pytorch_printed(name):
    assert printed(CASES[name]) == GOLDEN["printed"][name]


@pytest.mark.parametrize("name", recorder.FORMATTED)
def test_formats_what_pytorch_formatted(name):
    array, spec = recorder.FORMATTED[name]
    assert printing.format_value(object(), array, spec) == GOLDEN["formatted"][name]


def test_options_after_each_call_are_pytorchs():
    """Profiles, what overrides them, and sci_mode, which every call sets anew."""
    for call, expected in zip(recorder.OPTION_CALLS, GOLDEN["options"], strict=True):
        printing.set_printoptions(**call)
        assert printing.get_printoptions() == expected


# ------------------------------------------------------------------------------------------ options, refusals


def test_printoptions_end_with_the_block_even_by_an_error():
    printing.set_printoptions(precision=7, sci_mode=True)
    before = printing.get_printoptions()
    with pytest.raises(KeyError), printing.printoptions(precision=1, profile="short"):
        assert printing.get_printoptions()["precision"] == 1
        raise KeyError
    assert printing.get_printoptions() == before


@pytest.mark.parametrize("option", ["precision", "edgeitems"])
def test_negative_options_are_refused_and_change_nothing(option):
    """PyTorch takes them and fails at the next print."""
    before = printing.get_printoptions()
    with pytest.raises(ValueError, match=f"{option} must not be negative, got -1"):
        printing.set_printoptions(**{"linewidth": 40, option: -1})
    assert printing.get_printoptions() == before


def test_infinite_linewidth_never_wraps():
    """PyTorch raises OverflowError here."""
    with printing.printoptions(linewidth=math.inf):
        text = printing.format_tensor(np.arange(500), dtype="int64", requires_grad=True)
    assert "\n" not in text and text.endswith("499], requires_grad=True)")


def test_a_spec_for_many_elements_is_refused():
    with pytest.raises(TypeError, match=r"unsupported format string passed to list.__format__") as error:
        printing.format_value([], np.zeros((2, 3)), ".2f")
    assert "'.2f'" in str(error.value) and "(2, 3)" in str(error.value)


def test_without_a_spec_many_elements_are_the_object():
    assert printing.format_value("the tensor's own text", np.zeros(3), "") == "the tensor's own text"


def test_a_spec_that_the_number_does_not_know_is_pythons_error():
    with pytest.raises(ValueError, match="Unknown format code 'd' for object of type 'float'"):
        printing.format_value(object(), np.array(1.5), "d")


def test_a_signalling_nan_prints_in_silence():
    """Whatever NumPy is told to do about invalid values."""
    array = np.array([0x7F800001, 0x3F800000], np.uint32).view(np.float32)
    with np.errstate(all="raise"), warnings.catch_warnings():
        warnings.simplefilter("error")
        assert printing.format_tensor(array, dtype="float32") == "tensor([nan, 1.])"


def test_a_summary_looks_at_its_ends_only(monkeypatch):
    """The cost of printing does not grow with the tensor."""
    seen = []
    cells = printing._cells
    monkeypatch.setattr(printing, "_cells", lambda values, dtype: seen.append(len(values)) or cells(values, dtype))
    printing.format_tensor(np.ones((1000, 1000)), dtype="float64")
    assert seen == [36]


# --------------------------------------------------------------------------------------------- PyTorch itself


def elements(dtype: str) -> st.SearchStrategy:
    """Values of ``dtype``: anything at all, or of one kind, so that every format gets its turn."""
    if dtype == "bool":
        return st.booleans()
    if dtype in recorder.INTEGERS:
        info = np.iinfo(dtype)
        return st.integers(int(info.min), int(info.max)) | st.integers(0, 20)
    width = 64 if dtype in ("float64", "complex128") else 32
    special = st.sampled_from([0.0, -0.0, math.nan, math.inf, -math.inf])
    whole = st.integers(-1200, 1200).map(float)
    moderate = st.integers(-8000, 8000).map(lambda n: n / 64)
    decades = st.builds(lambda digits, exponent: digits * 10.0**exponent, st.integers(-99, 99), st.integers(-12, 9))
    return st.one_of(special, whole, moderate, decades, st.floats(width=width))


@st.composite
def arrays(draw) -> tuple[np.ndarray, str]:
    """An array, possibly a transposed or stepped view, with the name of its dtype."""
    dtype = draw(st.sampled_from([*recorder.FLOATS, *recorder.COMPLEX, *recorder.INTEGERS, "bool"]))
    shape = draw(hnp.array_shapes(min_dims=0, max_dims=4, min_side=0, max_side=9).filter(lambda s: math.prod(s) < 150))
    pool = draw(st.lists(elements(dtype), min_size=1, max_size=24))
    values = np.resize(np.array(pool, "O"), shape)
    if dtype in recorder.COMPLEX:
        twisted = np.resize(np.array(pool[::-1], "O"), shape)
        array = np.empty(shape, dtype)
        with np.errstate(over="ignore"):
            array.real, array.imag = values.astype("float64"), twisted.astype("float64")
    elif dtype in recorder.FLOATS:
        array = recorder.filled(values.astype("float64"), dtype)
    else:
        array = values.astype(dtype)
    array = array.transpose(draw(st.permutations(range(array.ndim))))
    if array.ndim and draw(st.booleans()):
        array = array[:: draw(st.sampled_from([2, 3, -1, -2]))]
    return array, dtype


options = st.fixed_dictionaries(
    {},
    optional={
        "precision": st.integers(0, 12),
        "threshold": st.integers(0, 60) | st.just(math.inf),
        "edgeitems": st.integers(0, 5),
        "linewidth": st.integers(0, 130),
        "profile": st.sampled_from(["default", "short", "full"]),
        "sci_mode": st.sampled_from([True, False, None]),
    },
)


@pytest.mark.torch
@settings(max_examples=600, deadline=None)
@given(
    arrays(),
    options,
    st.sampled_from(["float32", "float64", "float16", "bfloat16"]),
    st.sampled_from(["tensor", "T", "SomewhatLongerName"]),
    st.sampled_from([None, "requires_grad", "<CloneBackward0>", "<SelectBackward0>"]),
)
@pytest.mark.filterwarnings("ignore:The given NumPy array is not writable")
def test_prints_what_pytorch_prints(array_and_dtype, options, default_dtype, class_name, graph):
    """Any array, any options: the same text, this very moment."""
    pytest.importorskip("torch")
    array, dtype = array_and_dtype
    differentiable = dtype in recorder.FLOATS + recorder.COMPLEX
    if class_name != "tensor" and graph is not None:
        graph = "requires_grad"  # a subclass has nodes of its own
    case = recorder.Case(
        "drawn",
        array,
        dtype,
        options,
        default_dtype,
        requires_grad=differentiable and graph is not None,
        grad_fn=graph if differentiable and graph != "requires_grad" else None,
        class_name=class_name,
    )
    assert printed(case) == recorder.torch_text(case)


@pytest.mark.torch
@given(st.lists(options, max_size=5))
def test_options_are_pytorchs(calls):
    """The same calls leave the same options."""
    torch = pytest.importorskip("torch")
    with printing.printoptions(profile="default"), torch._tensor_str.printoptions(profile="default"):
        for call in calls:
            printing.set_printoptions(**call)
            torch.set_printoptions(**call)
            assert printing.get_printoptions() == torch._tensor_str.get_printoptions()


@pytest.mark.torch
def test_the_recording_is_of_this_pytorch():
    """The recorded text has not gone stale."""
    pytest.importorskip("torch")
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="The given NumPy array is not writable")
        warnings.filterwarnings("ignore", category=DeprecationWarning)
        assert {name: recorder.torch_text(case) for name, case in CASES.items()} == GOLDEN["printed"]


def test_a_precision_of_type_float():
    with printing.printoptions(precision=2.0, edgeitems=1.0, threshold=2):
        assert repr(pullback.tensor([1.234, 2.5, 3.0])) == "tensor([1.23,  ..., 3.00])"
