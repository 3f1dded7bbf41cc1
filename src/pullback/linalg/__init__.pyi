# Written by scripts/stubs.py.
from ..compat.linalg import *
