# Written by scripts/stubs.py.
from ...distributed.parallel import *
