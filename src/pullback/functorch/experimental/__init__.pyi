# Written by scripts/stubs.py.
from ...compat.functorch.experimental import *
