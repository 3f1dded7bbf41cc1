"""``torch._ops``: the classes of ``torch.ops.aten.add.Tensor`` and ``torch.ops.aten.add``."""

from ..levels.aten import OpOverload as OpOverload
from ..levels.aten import OpOverloadPacket as OpOverloadPacket
