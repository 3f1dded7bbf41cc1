# Written by scripts/stubs.py.
from .....distributed.fsdp.wrap import *
