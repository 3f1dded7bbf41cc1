# Written by scripts/stubs.py.
from ..compat.torch_version import *
