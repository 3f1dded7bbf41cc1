# Written by scripts/stubs.py.
from ..compat.fft import *
