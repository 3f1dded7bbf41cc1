# Written by scripts/stubs.py.
from ...compat.backends.mps import *
