# Written by scripts/stubs.py.
from ...levels.aten import *
