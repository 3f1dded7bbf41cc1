"""Every distribution against what PyTorch 2.13 said: values, samples for a seed, representations, errors.

The programs are those of ``golden/record_distributions.py``.
"""

from record_distributions import programs
from recorded import Recorded


class TestPrograms(Recorded):
    tables = (programs,)
