# Written by scripts/stubs.py.
from ..compat.signal import *
