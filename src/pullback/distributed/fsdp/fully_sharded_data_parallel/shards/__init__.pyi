# Written by scripts/stubs.py.
from .....distributed.fsdp.shards import *
