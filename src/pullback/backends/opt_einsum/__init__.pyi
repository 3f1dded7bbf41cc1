# Written by scripts/stubs.py.
from ...compat.backends.opt_einsum import *
