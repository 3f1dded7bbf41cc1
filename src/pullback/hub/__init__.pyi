# Written by scripts/stubs.py.
from ..compat.hub import *
