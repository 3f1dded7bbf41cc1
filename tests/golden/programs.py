"""Programs that PyTorch and Pullback are both given, and what PyTorch 2.13 said to them.

A program is a generator: it is given ``torch``, or a stand-in for it, and yields texts, numbers and errors.
What it yields is recorded where PyTorch is installed, and compared anywhere.
"""

from __future__ import annotations

import builtins
import json
import math
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

ERRORS = {name for name in dir(builtins) if name.endswith(("Error", "Exception"))}
Program = Callable[[Any], Iterator[Any]]


class Programs(dict[str, Program]):
    """Programs by name, with a file of recorded answers."""

    def __init__(self, filename: str) -> None:
        self.path = Path(__file__).with_name(filename)

    def __call__(self, function: Program) -> Program:
        """Put a program into the table, as a decorator."""
        self[function.__name__] = function
        return function

    @property
    def recorded(self) -> dict[str, list[Any]]:
        """The recorded answers, by name."""
        return json.loads(self.path.read_text(encoding="utf-8"))["answers"]

    def record(self) -> None:
        """Run the programs with PyTorch and write down what they yield, an answer a line."""
        import torch

        texts = []
        for name, function in self.items():
            lines = ",\n  ".join(map(json.dumps, run(function, torch)))
            texts.append(f"{json.dumps(name)}: [\n  {lines}\n ]")
        version, answers = json.dumps(torch.__version__), ",\n ".join(texts)
        self.path.write_text(f'{{"torch": {version}, "answers": {{\n {answers}\n}}}}\n', encoding="utf-8")


def attempt(call: Callable[..., Any], *args: Any) -> dict[str, str]:
    """The error that a call raises; an answer need only begin with the recorded message."""
    try:
        return {"no error": str(call(*args))}
    except Exception as error:
        return {type(error).__name__: str(error.args[0]) if error.args else ""}


def run(function: Program, torch: Any) -> list[Any]:
    """What a program yields, warnings included, as JSON has it."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        answers = json.loads(json.dumps(list(function(torch))))
    return answers + [{"warning": str(w.message)} for w in caught]


def differences(ours: Any, recorded: Any, where: str = "") -> list[str]:
    """Where answers differ from recorded ones.

    Numbers may differ by rounding. Of an error or a warning the first line counts, up to a full stop, since
    more may follow that PyTorch does not say.
    """
    if isinstance(recorded, dict) and set(recorded) & {"warning", *ERRORS} and isinstance(ours, dict):
        ((kind, message),) = recorded.items()
        said = ours.get(kind, "").replace("pullback.", "torch.")
        same = said.startswith(message.split("\n")[0].split(". ")[0])
        return [] if same else [f"{where}: {ours} instead of {recorded}"]
    if isinstance(recorded, float) and isinstance(ours, float):
        same = math.isclose(ours, recorded, rel_tol=1e-6, abs_tol=1e-12) or str(ours) == str(recorded)
        return [] if same else [f"{where}: {ours} instead of {recorded}"]
    if isinstance(recorded, list) and isinstance(ours, list):
        n, pairs = min(len(ours), len(recorded)), enumerate(zip(ours, recorded))
        found = [d for i, (a, b) in pairs for d in differences(a, b, f"{where}[{i}]")]
        if len(ours) != len(recorded):
            found.append(f"{where}[{n}:]: {ours[n:]} instead of {recorded[n:]}")
        return found
    if isinstance(recorded, dict) and isinstance(ours, dict) and list(ours) == list(recorded):
        return [d for key in recorded for d in differences(ours[key], recorded[key], f"{where}[{key!r}]")]
    return [] if ours == recorded else [f"{where}: {ours!r} instead of {recorded!r}"]


def lin(torch: Any, n_in: int = 2, n_out: int = 3) -> Any:
    """A layer with a weight and a bias, with values of exact arithmetic."""

    class Lin(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.weight = torch.nn.Parameter(torch.arange(float(n_in * n_out)).reshape(n_out, n_in))
            self.bias = torch.nn.Parameter(torch.ones(n_out))

        def forward(self, x: Any) -> Any:
            return x @ self.weight.T + self.bias

        def extra_repr(self) -> str:
            return f"{n_in}, {n_out}"

    Lin.__module__, Lin.__qualname__ = "programs", "Lin"  # as it stands in messages
    return Lin()


def net(torch: Any) -> Any:
    """Two layers, one of them twice, and buffers."""

    class Net(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.first = lin(torch)
            self.second = lin(torch, 3, 2)
            self.again = self.first
            self.register_buffer("kept", torch.zeros(2))
            self.register_buffer("scratch", torch.ones(1), persistent=False)
            self.register_buffer("nothing", None)
            self.register_parameter("absent", None)

        def forward(self, x: Any) -> Any:
            return self.second(self.first(x))

    return Net()
