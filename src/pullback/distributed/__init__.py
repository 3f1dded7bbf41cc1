"""``torch.distributed``, as a build of PyTorch without it answers: programs ask, and go on alone.

>>> import pullback as torch
>>> torch.distributed.is_available() and torch.distributed.is_initialized()
False
"""

__all__ = ["is_available", "is_initialized", "is_torchelastic_launched"]


def is_available() -> bool:
    """Whether processes can form a group: they cannot, here."""
    return False


def is_initialized() -> bool:
    """Whether this process belongs to a group of processes: it does not."""
    return False


def is_torchelastic_launched() -> bool:
    """Whether ``torchrun`` started this process: it did not."""
    return False
