# Written by scripts/stubs.py.
from ...compat.model_zoo import *
