"""``torch.nn.parallel.distributed``: where PyTorch has :class:`DistributedDataParallel`."""

from . import DistributedDataParallel

__all__ = ["DistributedDataParallel"]
