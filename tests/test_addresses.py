"""Every module answers at PyTorch's address, too: the module itself, not a second one."""

import subprocess
import sys
from importlib import import_module

import pytest

from pullback.base.addresses import ADDRESSES, FURTHER, address_of, home_of


@pytest.mark.parametrize("address", ADDRESSES)
def test_one_module_under_both_names(address: str) -> None:
    home = home_of(f"pullback.{address}")
    assert home is not None
    assert import_module(f"pullback.{address}") is import_module(home)
    assert address_of(home) == f"pullback.{address}"


@pytest.mark.parametrize("address", FURTHER)
def test_further_addresses_name_nothing(address: str) -> None:
    home = home_of(f"pullback.{address}")
    assert home is not None
    assert import_module(f"pullback.{address}") is import_module(home)
    assert address_of(home) == home


def test_addresses_come_first_in_a_new_process() -> None:
    """In this one, tests before may have imported the homes already."""
    lines = "\n".join(f"import pullback.{address}" for address in ADDRESSES | FURTHER)
    subprocess.run([sys.executable, "-c", lines], check=True)


@pytest.mark.parametrize(
    ("name", "module"),
    [
        ("autograd.graph.Node", "torch.autograd.graph"),
        ("autograd.graph.saved_tensors_hooks", "torch.autograd.graph"),
        ("no_grad", "torch.autograd.grad_mode"),
        ("cuda.amp.GradScaler", "torch.cuda.amp"),
        ("finfo", "torch"),
        ("nn.Linear", "torch.nn.modules.linear"),
        ("optim.lr_scheduler.StepLR", "torch.optim.lr_scheduler"),
    ],
)
def test_a_program_sees_pytorchs_address_in_a_class(name: str, module: str) -> None:
    code = f"import torch, torch.cuda.amp; print(torch.{name}.__module__)"
    command = [sys.executable, "-m", "pullback", "run", "-c", code]
    assert subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip() == module
