# Written by scripts/stubs.py.
from ..compat.mps import *
