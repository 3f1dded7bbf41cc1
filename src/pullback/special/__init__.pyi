# Written by scripts/stubs.py.
from ..compat.special import *
