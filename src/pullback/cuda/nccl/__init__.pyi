# Written by scripts/stubs.py.
from typing import Any

from ...compat.cuda.nccl import *
all_gather: Any
all_reduce: Any
broadcast: Any
init_rank: Any
reduce: Any
reduce_scatter: Any
unique_id: Any
version: Any
