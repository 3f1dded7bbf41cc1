# Written by scripts/stubs.py.
from ....utils.tensorboard.summaries import *
