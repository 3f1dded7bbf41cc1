# Written by scripts/stubs.py.
from ..compat.accelerator import *
