# Written by scripts/stubs.py.
from ..compat.nested import *
