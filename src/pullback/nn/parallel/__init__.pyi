# Written by scripts/stubs.py.
from ...distributed.parallel import *
from . import distributed as distributed
