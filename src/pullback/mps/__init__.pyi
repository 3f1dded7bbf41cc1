# Written by scripts/stubs.py.
from typing import Any

from ..compat.mps import *
current_allocated_memory: Any
driver_allocated_memory: Any
empty_cache: Any
get_rng_state: Any
recommended_max_memory: Any
seed: Any
set_per_process_memory_fraction: Any
set_rng_state: Any
synchronize: Any
