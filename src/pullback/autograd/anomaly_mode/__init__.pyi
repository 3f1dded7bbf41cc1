# Written by scripts/stubs.py.
from ...engine.anomaly import *
