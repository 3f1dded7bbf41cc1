# Written by scripts/stubs.py.
from ...compat.backends.mkl import *
