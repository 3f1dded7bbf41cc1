"""``torch.special``: special functions, under the names that SciPy gave them.

>>> import pullback as torch
>>> torch.special.expit(torch.tensor([0.0, 2.0]))
tensor([0.5000, 0.8808])
"""

from ..core.numpy_names import accept_numpy_names as _accept_numpys_names
from ..core.public import publish as _publish
from ..ops import bessel as _bessel
from ..ops import polynomials as _polynomials
from ..ops import special as _special
from ..ops.reduce import logsumexp as logsumexp
from ..ops.softmax import log_softmax as log_softmax
from ..ops.softmax import softmax as softmax

__all__ = ["log_softmax", "logsumexp", "softmax"]
for _family in (_special, _bessel, _polynomials):
    globals().update({name: getattr(_family, name) for name in _family.__all_special__})
    __all__ += _family.__all_special__
_accept_numpys_names(globals())
_publish(globals(), f"{__name__.partition('.')[0]}.ops.")
