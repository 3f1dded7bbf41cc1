# Written by scripts/stubs.py.
from ....distributed.checkpoint.save_load import *
