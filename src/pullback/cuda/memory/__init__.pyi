# Written by scripts/stubs.py.
from ...compat.cuda.memory import *
