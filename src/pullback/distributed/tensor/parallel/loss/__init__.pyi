# Written by scripts/stubs.py.
from .....distributed.tensor.class_parallel import *
