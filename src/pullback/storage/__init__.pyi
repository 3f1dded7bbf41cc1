# Written by scripts/stubs.py.
from ..ops.storage import *
