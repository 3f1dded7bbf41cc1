# Written by scripts/stubs.py.
from ...compat.backends.cudnn import *
