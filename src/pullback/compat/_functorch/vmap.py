"""``torch._functorch.vmap``: ``restore_vmap``."""

from ...levels.api import restore_vmap, vmap

__all__ = ["restore_vmap", "vmap"]
