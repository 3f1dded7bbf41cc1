# Written by scripts/stubs.py.
from ...compat.backends.mkldnn import *
