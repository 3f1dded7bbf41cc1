# Written by scripts/stubs.py.
from ..base.version import *
