# Written by scripts/stubs.py.
from ...compat.cuda.random import *
