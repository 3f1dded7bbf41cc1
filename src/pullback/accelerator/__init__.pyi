# Written by scripts/stubs.py.
from typing import Any

from ..compat.accelerator import *
current_device_idx: Any
current_device_index: Any
current_stream: Any
empty_cache: Any
get_memory_info: Any
max_memory_allocated: Any
max_memory_reserved: Any
memory_allocated: Any
memory_reserved: Any
memory_stats: Any
reset_accumulated_memory_stats: Any
reset_peak_memory_stats: Any
set_device_idx: Any
set_device_index: Any
set_stream: Any
synchronize: Any
