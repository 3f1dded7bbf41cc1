# Written by scripts/stubs.py.
from ....distributed.fsdp.wrapper import *
