# Written by scripts/stubs.py.
from .....distributed.fsdp.fully_shard import *
