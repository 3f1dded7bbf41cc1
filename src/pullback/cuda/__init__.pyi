# Written by scripts/stubs.py.
from typing import Any
from ..core.tensor import Tensor

from ..compat.cuda import *
from . import amp as amp
from . import memory as memory
from . import nccl as nccl
from . import nvtx as nvtx
from . import random as random
class BFloat16Tensor(Tensor): ...
class BoolTensor(Tensor): ...
class ByteTensor(Tensor): ...
class CharTensor(Tensor): ...
class ComplexDoubleTensor(Tensor): ...
class ComplexFloatTensor(Tensor): ...
class ComplexHalfTensor(Tensor): ...
class DoubleTensor(Tensor): ...
class Float8_e4m3fnTensor(Tensor): ...
class Float8_e4m3fnuzTensor(Tensor): ...
class Float8_e5m2Tensor(Tensor): ...
class Float8_e5m2fnuzTensor(Tensor): ...
class Float8_e8m0fnuTensor(Tensor): ...
class FloatTensor(Tensor): ...
class HalfTensor(Tensor): ...
class IntTensor(Tensor): ...
class LongTensor(Tensor): ...
class ShortTensor(Tensor): ...
caching_allocator_alloc: Any
caching_allocator_delete: Any
can_device_access_peer: Any
clock_rate: Any
cudart: Any
current_blas_handle: Any
current_device: Any
current_stream: Any
default_stream: Any
get_device_capability: Any
get_device_name: Any
get_device_properties: Any
get_rng_state: Any
get_sync_debug_mode: Any
graph: Any
graph_pool_handle: Any
init: Any
initial_seed: Any
ipc_collect: Any
is_current_stream_capturing: Any
list_gpu_processes: Any
make_graphed_callables: Any
mem_get_info: Any
memory_snapshot: Any
memory_summary: Any
memory_usage: Any
power_draw: Any
set_device: Any
set_per_process_memory_fraction: Any
set_rng_state: Any
set_stream: Any
synchronize: Any
temperature: Any
utilization: Any
