# Written by scripts/stubs.py.
from ...compat.torchvision_operators import *
