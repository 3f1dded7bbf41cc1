# Written by scripts/stubs.py.
from ...ops.signal_windows import *
