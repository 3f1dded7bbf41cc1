# Written by scripts/stubs.py.
from ..compat.jit import *
