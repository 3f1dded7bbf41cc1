"""``functorch.experimental``: transforms at the address that they had before ``torch.func``; ``chunk_vmap``."""

from ...func import functionalize, hessian, jacfwd, jvp
from ...levels.api import chunk_vmap

__all__ = ["chunk_vmap", "functionalize", "hessian", "jacfwd", "jvp"]
