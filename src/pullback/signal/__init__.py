"""``torch.signal``: windows for spectral analysis."""

from . import windows as windows

__all__ = ["windows"]
