"""The findings, on programs that are right and on programs with one known fault each."""

from __future__ import annotations

import warnings

import pytest

import pullback as torch

from . import (  # noqa: F401 (they add to the tables)
    programs_further_faulty,
    programs_further_healthy,
    programs_more,
    programs_styles,
)
from .programs_faulty import FAULTY
from .programs_healthy import HEALTHY


def diagnosis(program):
    torch.manual_seed(0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            with torch.explain() as e:
                program()
        except (RuntimeError, ValueError, IndexError):
            pass
    return e.findings


def texts(found):
    return "\n".join(f"{f.severity} {f.kind}: {f.text}" for f in found)


@pytest.mark.parametrize("name", HEALTHY)
def test_nothing_is_found_where_nothing_is_wrong(name):
    assert not (found := diagnosis(HEALTHY[name])), texts(found)


@pytest.mark.parametrize("name", FAULTY)
def test_the_fault_is_found_and_nothing_else(name):
    program, kinds, words = FAULTY[name]
    found = diagnosis(program)
    assert found and all(f.kind in kinds for f in found), texts(found)
    assert any(all(word in f.text for word in words) for f in found), texts(found)
