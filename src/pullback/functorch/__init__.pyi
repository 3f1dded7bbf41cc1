# Written by scripts/stubs.py.
from ..compat.functorch import *
from . import experimental as experimental
