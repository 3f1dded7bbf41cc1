"""``nn.utils``: the programs of ``record_nn_utils.py``, and what PyTorch leaves open."""

import sys
from pathlib import Path

import pytest

import pullback

sys.path.insert(0, str(Path(__file__).parents[1] / "golden"))
import record_nn_utils  # noqa: E402

from programs import differences, run  # noqa: E402

TABLE = record_nn_utils.programs
CASES = [pytest.param(TABLE[name], answers, id=name) for name, answers in TABLE.recorded.items()]


@pytest.mark.parametrize("program, recorded", CASES)
def test_programs_as_recorded_from_pytorch(program, recorded):
    assert differences(run(program, pullback), recorded) == []


@pytest.mark.torch
@pytest.mark.parametrize("program, recorded", CASES)
def test_the_recording_is_what_pytorch_says(program, recorded):
    assert differences(run(program, pytest.importorskip("torch")), recorded) == []


def test_every_program_is_recorded():
    assert list(TABLE) == list(TABLE.recorded)
