# Written by scripts/stubs.py.
from ..compat.random import *
