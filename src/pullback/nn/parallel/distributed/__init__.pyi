# Written by scripts/stubs.py.
from ....distributed.data_parallel import *
