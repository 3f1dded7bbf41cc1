"""``torch._custom_ops``: what is left there of the functions that are now in ``torch.library``."""

from ..library import get_ctx as get_ctx
