# Written by scripts/stubs.py.
from typing import Any

from ....distributed.fsdp import *
BackwardPrefetch: Any
CPUOffload: Any
CPUOffloadPolicy: Any
FSDPModule: Any
FullOptimStateDictConfig: Any
FullStateDictConfig: Any
FullyShardedDataParallel: Any
LocalStateDictConfig: Any
MixedPrecision: Any
MixedPrecisionPolicy: Any
OffloadPolicy: Any
ShardedOptimStateDictConfig: Any
ShardedStateDictConfig: Any
ShardingStrategy: Any
StateDictType: Any
UnshardHandle: Any
register_fsdp_forward_method: Any
