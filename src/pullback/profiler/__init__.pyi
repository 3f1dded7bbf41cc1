# Written by scripts/stubs.py.
from ..compat.profiler import *
