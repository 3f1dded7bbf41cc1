# Written by scripts/stubs.py.
from ...compat.cpu.amp import *
