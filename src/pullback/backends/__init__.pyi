# Written by scripts/stubs.py.
from ..compat.backends import *
from . import flags as flags
