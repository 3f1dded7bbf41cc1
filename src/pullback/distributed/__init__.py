"""``torch.distributed``: several processes that compute together, over MPI.

A group of one process needs nothing; groups of several need MPI (``pip install 'pullback[distributed]'``), which is
imported when the first is made. See ``docs/distributed.md``.

>>> import pullback as torch
>>> torch.distributed.is_available() and torch.distributed.is_initialized()
False
"""

# ruff: noqa: F403

from datetime import timedelta as timedelta

from .backend import *
from .backend import __all__ as _backend
from .collectives import *
from .collectives import __all__ as _collectives
from .compare_calls import *
from .compare_calls import __all__ as _compare_calls
from .device_mesh import DeviceMesh, init_device_mesh
from .errors import *
from .errors import __all__ as _errors
from .gradient_buckets import GradBucket
from .monitored_barrier import monitored_barrier
from .object_collectives import *
from .object_collectives import __all__ as _object_collectives
from .point_to_point import *
from .point_to_point import __all__ as _point_to_point
from .process_group import ProcessGroup
from .reduce_op import ReduceOp, reduce_op
from .rendezvous import DEFAULT_TIMEOUT as default_pg_timeout
from .rendezvous import register_rendezvous_handler, rendezvous
from .store import *
from .store import __all__ as _store
from .tcp_store import TCPStore
from .work import Work
from .world import *
from .world import __all__ as _world

__all__ = [
    "DeviceMesh",
    "GradBucket",
    "ProcessGroup",
    "ReduceOp",
    "TCPStore",
    "Work",
    "default_pg_timeout",
    "init_device_mesh",
    "monitored_barrier",
    "reduce_op",
    "register_rendezvous_handler",
    "rendezvous",
    *_backend,
    *_collectives,
    *_compare_calls,
    *_errors,
    *_object_collectives,
    *_point_to_point,
    *_store,
    *_world,
]
