"""``torch.special``: special functions, under the names that SciPy gave them.

>>> import pullback as torch
>>> torch.special.expit(torch.tensor([0.0, 2.0]))
tensor([0.5000, 0.8808])
"""

from .ops import special as _special
from .ops.activation import log_softmax as log_softmax
from .ops.activation import softmax as softmax
from .ops.reduce import logsumexp as logsumexp

__all__ = [*_special.__all_special__, "log_softmax", "logsumexp", "softmax"]
globals().update({name: getattr(_special, name) for name in _special.__all_special__})
