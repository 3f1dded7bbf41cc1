# Written by scripts/stubs.py.
from ..compat.cpu import *
