"""Here a compiled version that raises what its function does not is an error; users' programs go on eagerly."""

import pytest

from pullback.compiler.compiled_function import CompiledFunction


@pytest.fixture(autouse=True)
def faults_are_errors(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(self: CompiledFunction, error: Exception) -> None:
        raise AssertionError(f"a compiled version raised {error!r}") from error

    monkeypatch.setattr(CompiledFunction, "_count_fault", refuse)
