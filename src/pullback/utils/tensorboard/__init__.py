"""``torch.utils.tensorboard``: event files for TensorBoard. No other package is needed to write them."""

from .writer import FileWriter, SummaryWriter

__all__ = ["FileWriter", "SummaryWriter"]
