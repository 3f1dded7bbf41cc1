# Written by scripts/stubs.py.
from ....distributed.device_mesh import *
