# Written by scripts/stubs.py.
from typing import Any

from ..compat.xpu import *
current_device: Any
current_stream: Any
get_device_capability: Any
get_device_name: Any
get_device_properties: Any
get_rng_state: Any
init: Any
set_device: Any
set_rng_state: Any
synchronize: Any
