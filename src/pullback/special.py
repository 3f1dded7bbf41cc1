"""``torch.special``: special functions, under the names that SciPy gave them.

>>> import pullback as torch
>>> torch.special.expit(torch.tensor([0.0, 2.0]))
tensor([0.5000, 0.8808])
"""

from .ops import special as _special
from .ops.special import __all_special__ as __all__

globals().update({name: getattr(_special, name) for name in __all__})
