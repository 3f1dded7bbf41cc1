# Written by scripts/stubs.py.
from ...compat.backends.flags import *
