# Written by scripts/stubs.py.
from ....distributed.checkpoint.planner import *
