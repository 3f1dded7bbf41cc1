# Written by scripts/stubs.py.
from ...levels.forward import *
