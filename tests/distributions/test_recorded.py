"""Every distribution against what PyTorch 2.13 said: values, samples for a seed, representations, errors.

The programs are those of ``golden/record_distributions.py``.
"""

import sys
from pathlib import Path

import pytest

import pullback

sys.path.insert(0, str(Path(__file__).parents[1] / "golden"))
from record_distributions import programs  # noqa: E402

from programs import differences, run  # noqa: E402

CASES = [pytest.param(programs[name], answers, id=name) for name, answers in programs.recorded.items()]


@pytest.mark.parametrize("program, recorded", CASES)
def test_as_recorded_from_pytorch(program, recorded):
    assert differences(run(program, pullback), recorded) == []


@pytest.mark.torch
@pytest.mark.parametrize("program, recorded", CASES)
def test_the_recording_is_what_pytorch_says(program, recorded):
    assert differences(run(program, pytest.importorskip("torch")), recorded) == []


def test_every_program_is_recorded():
    assert list(programs) == list(programs.recorded)
