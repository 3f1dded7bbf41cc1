"""``torch.utils.tensorboard``: writes event files for TensorBoard, without that package."""

from .writer import FileWriter, SummaryWriter

__all__ = ["FileWriter", "SummaryWriter"]
