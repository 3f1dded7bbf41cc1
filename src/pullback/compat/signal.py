"""``torch.signal``: windows for spectral analysis."""

from ..ops import signal_windows as windows

__all__ = ["windows"]
