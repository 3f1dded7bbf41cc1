"""``torch.torch_version``: the class of ``torch.__version__``, re-exported."""

from ..base.version import TorchVersion, __version__

__all__ = ["TorchVersion", "__version__"]
