# Written by scripts/stubs.py.
from ..compat.types import *
