"""Hyperparameters that happen to be equal, and that change from step to step, beside the methods in plain NumPy."""

import importlib.util
import itertools
import random
from pathlib import Path

import numpy as np
import pytest

import pullback
from pullback import optim

STEPS = 12
# The rate, or the rate over a bias correction, is at first what other options are, too, and then is not.
RATES = [[first] * 3 + [0.05] * 4 + [0.9] * 5 for first in (0.25, 0.5)]
SIZES = [10, 3000]  # computed by NumPy, and by a kernel


def adam(p, gradients, o, decoupled=False):
    m, v = np.zeros_like(p), np.zeros_like(p)
    for t, (g, lr) in enumerate(gradients, 1):
        b1, b2 = o["betas"]
        if decoupled:
            p = p * (1 - lr * o["weight_decay"])
        else:
            g = g + o["weight_decay"] * p
        m, v = b1 * m + (1 - b1) * g, b2 * v + (1 - b2) * g * g
        p = p - lr * (m / (1 - b1**t)) / (np.sqrt(v / (1 - b2**t)) + o["eps"])
    return p


def adamax(p, gradients, o):
    m, u = np.zeros_like(p), np.zeros_like(p)
    for t, (g, lr) in enumerate(gradients, 1):
        (b1, b2), g = o["betas"], g + o["weight_decay"] * p
        m, u = b1 * m + (1 - b1) * g, np.maximum(b2 * u, abs(g) + o["eps"])
        p = p - lr / (1 - b1**t) * m / u
    return p


def nadam(p, gradients, o):
    m, v, product = np.zeros_like(p), np.zeros_like(p), 1.0
    for t, (g, lr) in enumerate(gradients, 1):
        (b1, b2), g = o["betas"], g + o["weight_decay"] * p
        mu, ahead = (b1 * (1 - 0.5 * 0.96 ** (i * o["momentum_decay"])) for i in (t, t + 1))
        product = float(np.float32(np.float32(product) * np.float32(mu)))  # kept in single precision
        m, v = b1 * m + (1 - b1) * g, b2 * v + (1 - b2) * g * g
        step = (1 - mu) * g / (1 - product) + ahead * m / (1 - product * ahead)
        p = p - lr * step / (np.sqrt(v / (1 - b2**t)) + o["eps"])
    return p


def radam(p, gradients, o):
    m, v = np.zeros_like(p), np.zeros_like(p)
    for t, (g, lr) in enumerate(gradients, 1):
        (b1, b2), g = o["betas"], g + o["weight_decay"] * p
        m, v = b1 * m + (1 - b1) * g, b2 * v + (1 - b2) * g * g
        most = 2 / (1 - b2) - 1
        rho = most - 2 * t * b2**t / (1 - b2**t)
        step = m / (1 - b1**t)
        if rho > 5:
            r = np.sqrt((rho - 4) * (rho - 2) * most / ((most - 4) * (most - 2) * rho))
            step = step * r * np.sqrt(1 - b2**t) / (np.sqrt(v) + o["eps"])
        p = p - lr * step
    return p


def rmsprop(p, gradients, o):
    v, a, b = np.zeros_like(p), np.zeros_like(p), np.zeros_like(p)
    for g, lr in gradients:
        g = g + o["weight_decay"] * p
        v, a = (o["alpha"] * old + (1 - o["alpha"]) * new for old, new in ((v, g * g), (a, g)))
        b = o["momentum"] * b + g / (np.sqrt(v - a * a if o["centered"] else v) + o["eps"])
        p = p - lr * b
    return p


def adadelta(p, gradients, o):
    v, u = np.zeros_like(p), np.zeros_like(p)
    for g, lr in gradients:
        g = g + o["weight_decay"] * p
        v = o["rho"] * v + (1 - o["rho"]) * g * g
        d = np.sqrt(u + o["eps"]) / np.sqrt(v + o["eps"]) * g
        u = o["rho"] * u + (1 - o["rho"]) * d * d
        p = p - lr * d
    return p


def adagrad(p, gradients, o):
    s = np.full_like(p, o["initial_accumulator_value"])
    for t, (g, lr) in enumerate(gradients):
        g = g + o["weight_decay"] * p
        s = s + g * g
        p = p - lr / (1 + t * o["lr_decay"]) * g / (np.sqrt(s) + o["eps"])
    return p


def asgd(p, gradients, o):
    eta = gradients[0][1]
    for t, (g, lr) in enumerate(gradients, 1):
        g = g + o["weight_decay"] * p
        p = p * (1 - o["lambd"] * eta) - eta * g
        eta = float(np.float32(lr / (1 + o["lambd"] * lr * t) ** o["alpha"]))  # kept in single precision
    return p


def sgd(p, gradients, o):
    b = None
    for g, lr in gradients:
        g = g + o["weight_decay"] * p
        b = g if b is None or o["momentum"] == 0 else o["momentum"] * b + (1 - o["dampening"]) * g
        p = p - lr * b
    return p


SHARES, TERMS = (0.5, 0.9), (0.0, 0.5)
BETAS = list(itertools.product(SHARES, SHARES))
METHODS = {
    "Adam": (adam, {"betas": BETAS, "eps": SHARES, "weight_decay": TERMS}),
    "AdamW": (lambda p, gs, o: adam(p, gs, o, True), {"betas": BETAS, "eps": SHARES, "weight_decay": TERMS}),
    "Adamax": (adamax, {"betas": BETAS, "eps": SHARES, "weight_decay": TERMS}),
    "NAdam": (nadam, {"betas": BETAS, "eps": SHARES, "weight_decay": TERMS, "momentum_decay": SHARES}),
    "RAdam": (radam, {"betas": BETAS, "eps": (0.5, 1.0), "weight_decay": TERMS}),
    "RMSprop": (
        rmsprop,
        {"alpha": SHARES, "eps": SHARES, "momentum": TERMS, "weight_decay": TERMS, "centered": (False, True)},
    ),
    "Adadelta": (adadelta, {"rho": TERMS, "eps": SHARES, "weight_decay": TERMS}),
    "Adagrad": (
        adagrad,
        {"lr_decay": TERMS, "initial_accumulator_value": TERMS, "eps": SHARES, "weight_decay": TERMS},
    ),
    "ASGD": (asgd, {"lambd": TERMS, "alpha": TERMS, "weight_decay": TERMS}),
    "SGD": (sgd, {"momentum": TERMS, "dampening": TERMS, "weight_decay": TERMS}),
}
CASES = [pytest.param(name, n, id=f"{name}-{n}") for name in METHODS for n in SIZES]


@pytest.mark.parametrize("name, n", CASES)
def test_options_that_are_equal_stay_apart(name, n):
    """All combinations of values so few that the rate, the shares and the rest coincide at the first step."""
    reference, choices = METHODS[name]
    rng = np.random.default_rng(0)
    start, gradients = rng.normal(size=n), rng.normal(size=(STEPS, n))
    for rates, *values in itertools.product(RATES, *choices.values()):
        options = dict(zip(choices, values))
        p = pullback.tensor(start, requires_grad=True)
        optimizer = getattr(optim, name)([p], lr=rates[0], **options)
        for g, lr in zip(gradients, rates):
            optimizer.param_groups[0]["lr"] = lr
            p.grad = pullback.tensor(g)
            optimizer.step()
        expected = reference(start, list(zip(gradients, rates)), options)
        np.testing.assert_allclose(p.detach().numpy(), expected, rtol=1e-9, atol=1e-12, err_msg=str(options))


@pytest.mark.torch
def test_programs_by_chance_beside_pytorch():
    """Some of the runs of scripts/optimizers.py, which was run on some thousands."""
    torch = pytest.importorskip("torch")
    path = Path(__file__).parents[2] / "scripts" / "optimizers.py"
    spec = importlib.util.spec_from_file_location("optimizers", path)
    programs = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(programs)
    for i in range(24):
        rng = random.Random(f"test:{i}")
        program = programs.schedule_run(rng) if i % 3 == 0 else programs.run(rng)
        assert not programs.difference(program, pullback, torch), program
