# Written by scripts/stubs.py.
from ...base.thread_state import *
