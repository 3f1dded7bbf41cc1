# Written by scripts/stubs.py.
from ..compat.export import *
