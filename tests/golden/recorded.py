"""What is tested of recorded programs, whatever they are about; see :mod:`programs`."""

from __future__ import annotations

from typing import Any, ClassVar

import pytest

import pullback
from programs import Program, Programs, differences, run


class Recorded:
    """Tests to inherit: Pullback says to the programs of some tables what was recorded, and so does PyTorch."""

    tables: ClassVar[tuple[Programs, ...]]

    def pytest_generate_tests(self, metafunc: pytest.Metafunc) -> None:
        """A test for each program."""
        if "program" in metafunc.fixturenames:
            cases = [
                pytest.param(t[name], answers, id=name) for t in self.tables for name, answers in t.recorded.items()
            ]
            metafunc.parametrize("program, recorded", cases)

    def test_as_recorded_from_pytorch(self, program: Program, recorded: list[Any]) -> None:
        assert differences(run(program, pullback), recorded) == []

    @pytest.mark.torch
    def test_the_recording_is_what_pytorch_says(self, program: Program, recorded: list[Any]) -> None:
        assert differences(run(program, pytest.importorskip("torch")), recorded) == []

    def test_every_program_is_recorded(self) -> None:
        for table in self.tables:
            assert list(table) == list(table.recorded)
