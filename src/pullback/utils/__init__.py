"""``torch.utils``: its modules are imported when asked for."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ..base import pytree as _pytree
    from . import _contextlib as _contextlib
    from . import _foreach_utils as _foreach_utils
    from . import _python_dispatch as _python_dispatch
    from . import benchmark as benchmark
    from . import checkpoint as checkpoint
    from . import collect_env as collect_env
    from . import data as data
    from . import dlpack as dlpack
    from . import flop_counter as flop_counter
    from . import hooks as hooks
    from . import tensorboard as tensorboard
    from . import weak as weak
else:

    def __getattr__(name: str) -> Any:
        from importlib import import_module

        try:
            return import_module(f".{name}", __name__)
        except ModuleNotFoundError as error:
            if error.name != f"{__name__}.{name}":
                raise
        from ..base.errors import no_attribute

        raise no_attribute(__name__, name)
