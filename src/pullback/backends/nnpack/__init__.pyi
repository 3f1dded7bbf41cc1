# Written by scripts/stubs.py.
from ...compat.backends.nnpack import *
