"""Values and gradients of special functions and their kin against mpmath, over the whole range of float32 and
float64.
"""

from __future__ import annotations

import importlib.util
import math
import pathlib

import numpy as np
import pytest

import pullback

from ..kernels import using
from .precision import CASES, Case, exactly, unit, worst

# The largest errors allowed, in ulp: of the value and the gradient in float32, then in float64. About twice what was
# measured, since exp and its like differ between platforms; docs/precision.md has the measured ones. Hundreds stand
# for exp(-x * x) far out, where rounding the square alone costs that; thousands for what is said beside them.
BOUNDS = {
    "expm1": (4, 4, 2, 2),
    "log1p": (2, 3, 2, 3),
    "nn.functional.logsigmoid": (3, 4, 3, 4),
    "sigmoid": (4, 2, 4, 2),
    "tanh": (2, 2, 2, 2),
    "nn.functional.softplus": (3, 4, 2, 4),
    "nn.functional.silu": (3, 12, 3, 22),
    "nn.functional.mish": (3, 9, 3, 20),
    "nn.functional.gelu": (3, 5, 4, 6),
    "nn.functional.elu": (3, 3, 2, 2),
    "nn.functional.selu": (3, 3, 3, 3),
    "nn.functional.celu(3.0)": (3, 33, 3, 160),
    "nn.functional.tanhshrink": (2, 2, 2, 2),
    "sinc": (3, 4, 2, 5),
    "logit": (4, 3, 3, 3),
    "special.entr": (2, 2, 2, 2),
    "xlogy": (3, 2, 2, 2),
    "special.xlog1py": (2, 2, 2, 2),
    "logaddexp": (2, 4, 3, 4),
    "hypot": (2, 2, 2, 3),
    "atan2": (3, 5, 2, 4),
    "erf": (2, 62, 3, 340),
    "erfc": (2, 62, 5, 340),
    "special.erfcx": (2, 71, 360, 530),
    "erfinv": (4, 23, 4, 130),
    "special.ndtr": (2, 37, 460, 490),
    "special.log_ndtr": (2, 37, 1600, 380),
    "special.ndtri": (2, 130, 7, 1600),
    "lgamma": (2, 2, 11, 3),
    "lgamma, below 0": (2, 2, 3, 3),
    "digamma": (2, 2, 3, 5),
    "digamma, below 0": (2, 2, 3, 5),
    "polygamma(1)": (2, 2, 5, 8),
    "polygamma(2)": (2, 2, 8, 8),
    "polygamma(5)": (2, 2, 9, 10),
    "special.zeta": (2, 4, 2, 5),
    "igamma": (2, 8, 13, 34),
    "igammac": (2, 8, 82, 34),
    "i0": (2, 2, 7, 13),
    "special.i1": (2, 3, 13, 7),
    "special.i0e": (2, 8400, 6, 58000),  # i1e - i0e cancels far out
    "special.i1e": (2, 20000, 10, 25000),  # the same
    "special.bessel_j0": (2, 2, 4, 6),
    "special.bessel_j1": (2, 2, 6, 4),
    "special.bessel_y0": (2, 2, 6, 3),
    "special.bessel_y1": (2, 2, 3, 4),
    "special.modified_bessel_k0": (2, 2, 5, 3),
    "special.modified_bessel_k1": (2, 2, 3, 4),
    "special.scaled_modified_bessel_k0": (2, 4700, 3, 14000),  # the same, of k0e - k1e
    "special.scaled_modified_bessel_k1": (2, 11000, 4, 16000),  # the same
    "special.spherical_bessel_j0": (2, 3, 2, 3),
    "special.airy_ai": (2, 2, 46, 18),
    "logsumexp(-1)": (2, 18, 2, 15),
    "log_softmax(-1)": (3, 21, 2, 26),
    "softmax(-1)": (15, 21, 13, 20),
    "logcumsumexp(-1)": (3, 18, 6, 14),
    "logsumexp(-1), far apart": (2, 120, 2, 130),
    "log_softmax(-1), far apart": (2, 120, 2, 220),
    "softmax(-1), far apart": (120, 54, 130, 260),
    "logcumsumexp(-1), far apart": (2, 120, 2, 110),
    "logsumexp(-1), around 10000": (2, 6, 2, 5),
    "log_softmax(-1), around 10000": (2, 7, 2, 6),
    "softmax(-1), around 10000": (4, 7, 4, 7),
    "logcumsumexp(-1), around 10000": (2, 26000, 2, 23000),  # exp(input - out), and out is rounded
    "linalg.vector_norm(1, -1)": (3, 2, 2, 2),
    "linalg.vector_norm(1, -1), tiny and huge": (2, 2, 2, 2),
    "linalg.vector_norm(2, -1)": (2, 4, 2, 3),
    "linalg.vector_norm(2, -1), tiny and huge": (2, 4, 2, 3),
    "linalg.vector_norm(3, -1)": (2, 6, 2, 7),
    "linalg.vector_norm(3, -1), tiny and huge": (3, 7, 56, 130),
    "linalg.vector_norm(0.5, -1)": (5, 6, 3, 3),
    "linalg.vector_norm(0.5, -1), tiny and huge": (3, 3, 6, 6),
}


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("case", CASES, ids=str)
def test_errors_stay_within_their_bounds(case: Case, dtype: str) -> None:
    d = np.dtype(dtype)
    value, gradient = case.errors(pullback, d, case.exact(d))
    allowed = BOUNDS[str(case)][2 * (dtype == "float64") :]
    assert value <= allowed[0]
    assert gradient <= allowed[1]


def test_the_measure_itself() -> None:
    """One rounding is at most half an ulp, a neighbour is one off, and what is missing is infinitely wrong."""
    d = np.dtype(np.float32)
    exact = [(exactly(lambda x: x / 3, 1.0), unit(exactly(lambda x: x / 3, 1.0), d))]
    third = np.array([1 / 3], d)
    assert 0 < worst(third, exact, d) <= 0.5
    assert 0.5 < worst(np.nextafter(third, d.type(1)), exact, d) <= 1.5
    assert math.isinf(worst(np.array([np.nan], d), exact, d))
    assert math.isinf(
        worst(np.array([0.0], d), [(exactly(lambda x: x**9, 1e30), unit(exactly(lambda x: x, 1e30), d))], d)
    )


def test_the_page_and_the_bounds_list_what_the_table_lists() -> None:
    names = [str(c) for c in CASES]
    assert sorted(BOUNDS) == sorted(names)
    path = pathlib.Path(__file__).resolve().parents[2] / "scripts" / "precision.py"
    spec = importlib.util.spec_from_file_location("precision_script", path)
    assert spec is not None and spec.loader is not None
    script = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(script)
    lines = [line.split("`")[1] for line in script.PAGE.read_text("utf-8").splitlines() if line.startswith("| `")]
    assert lines == names, "run python scripts/precision.py"


LONG = 3_000_000
NORMS = {
    "layer_norm": lambda F, x: F.layer_norm(x, x.shape),
    "group_norm": lambda F, x: F.group_norm(x.reshape(1, 2, -1), 1).reshape(-1),
    "instance_norm": lambda F, x: F.instance_norm(x.reshape(1, 1, -1)).reshape(-1),
    "batch_norm": lambda F, x: F.batch_norm(x.reshape(1, 1, -1), None, None, training=True).reshape(-1),
    "rms_norm": lambda F, x: F.rms_norm(x, x.shape, eps=1e-5),
    "softmax": lambda F, x: F.softmax(x, 0),
    "log_softmax": lambda F, x: F.log_softmax(x, 0),
    "cross_entropy": lambda F, x: F.cross_entropy(x[None], pullback.tensor([1])),
    "mse_loss": lambda F, x: F.mse_loss(x, x * 0),
}


@pytest.mark.parametrize("mode", ["on", "off"])
@pytest.mark.parametrize("name", NORMS)
def test_long_rows(name: str, mode: str) -> None:
    """Sums over millions of float32 numbers lose no digits."""
    rng = np.random.default_rng(0)
    x, g = (pullback.tensor(rng.standard_normal(LONG).astype(np.float32), requires_grad=True) for _ in range(2))
    results = []
    with using(mode):
        for v, u in ((x, g), (x.double().detach().requires_grad_(), g.double())):
            y = NORMS[name](pullback.nn.functional, v)
            results.append((y, *pullback.autograd.grad(y, v, u.detach() if y.ndim else None)))
    for single, double in zip(*results):
        assert (single.double() - double).abs().max() <= 2.5e-7 * double.abs().max()


@pytest.mark.parametrize("of", ["bfloat16", "float16"])
@pytest.mark.parametrize("mode", ["on", "off"])
def test_gradients_of_float32_parameters_of_16_bit_norms(of: str, mode: str) -> None:
    d, rng, F = getattr(pullback, of), np.random.default_rng(0), pullback.nn.functional
    x = pullback.tensor(rng.standard_normal((8, 16, 10, 10))).to(d).requires_grad_()
    g = pullback.tensor(rng.standard_normal((8, 16, 10, 10)) + 0.3).to(d)
    for norm, size, over in (
        (lambda w, b: F.group_norm(x, 4, w, b), 16, (0, 2, 3)),
        (lambda w, b: F.batch_norm(x, None, None, w, b, True), 16, (0, 2, 3)),
        (lambda w, b: F.instance_norm(x, None, None, w, b), 16, (0, 2, 3)),
        (lambda w, b: F.layer_norm(x, (10,), w, b), 10, (0, 1, 2)),
    ):
        w, b = pullback.ones(size, requires_grad=True), pullback.zeros(size, requires_grad=True)
        right = g.double().sum(over)
        with using(mode):
            for graph in (False, True):
                bias = pullback.autograd.grad(norm(w, b), b, g, create_graph=graph)[0]
                assert (bias.double() - right).abs().max() <= 1e-6 * right.abs().max()
