# Written by scripts/stubs.py.
from typing import Any

from .....distributed.tensor.parallel import *
ColwiseParallel: Any
PrepareModuleInput: Any
PrepareModuleInputOutput: Any
PrepareModuleOutput: Any
RowwiseParallel: Any
SequenceParallel: Any
