# Written by scripts/stubs.py.
from ...compat.cuda.nccl import *
