# Written by scripts/stubs.py.
from ..compat.cpu import *
from . import amp as amp
