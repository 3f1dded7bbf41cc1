"""Transforms of functions: gradients, products with Jacobians, batches; composable in any order (``torch.func``)."""

from typing import TYPE_CHECKING, Any

from ..levels.api import jacfwd, jvp, vmap
from .jacobians import hessian, jacrev
from .transforms import functionalize, grad, grad_and_value, linearize, vjp

__all__ = [
    "functional_call",
    "functionalize",
    "grad",
    "grad_and_value",
    "hessian",
    "jacfwd",
    "jacrev",
    "jvp",
    "linearize",
    "replace_all_batch_norm_modules_",
    "stack_module_state",
    "vjp",
    "vmap",
]

if TYPE_CHECKING:
    from .modules import functional_call, replace_all_batch_norm_modules_, stack_module_state
else:

    def __getattr__(name: str) -> Any:
        if name in ("functional_call", "replace_all_batch_norm_modules_", "stack_module_state"):
            from . import modules

            return getattr(modules, name)
        from ..base.errors import no_attribute

        raise no_attribute(__name__, name)
