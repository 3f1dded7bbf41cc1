# Written by scripts/stubs.py.
from ..compat.quasirandom import *
