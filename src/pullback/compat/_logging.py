"""``torch._logging``: where programs turn the compiler's messages on."""

from __future__ import annotations

from ..compiler import set_logs

__all__ = ["set_logs"]
