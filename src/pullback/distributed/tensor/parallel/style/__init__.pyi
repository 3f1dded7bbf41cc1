# Written by scripts/stubs.py.
from .....distributed.tensor.parallel.styles import *
