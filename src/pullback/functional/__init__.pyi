# Written by scripts/stubs.py.
from ..compat.functional import *
