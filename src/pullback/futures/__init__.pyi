# Written by scripts/stubs.py.
from ..compat.futures import *
