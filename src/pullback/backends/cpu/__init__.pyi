# Written by scripts/stubs.py.
from ...compat.backends.cpu import *
