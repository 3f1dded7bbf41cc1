# Written by scripts/stubs.py.
from ...explain.flop_counter import *
