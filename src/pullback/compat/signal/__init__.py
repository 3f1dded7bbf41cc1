"""``torch.signal``: window functions."""

from ...ops import signal_windows as windows

__all__ = ["windows"]
