# Written by scripts/stubs.py.
from ...compat.cuda.nvtx import *
