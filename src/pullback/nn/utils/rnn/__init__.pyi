# Written by scripts/stubs.py.
from ....nn.packed_sequence import *
