# Written by scripts/stubs.py.
from ....compat.cuda.amp.common import *
