# Written by scripts/stubs.py.
from ..compat.sparse import *
