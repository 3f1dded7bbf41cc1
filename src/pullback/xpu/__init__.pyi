# Written by scripts/stubs.py.
from ..compat.xpu import *
