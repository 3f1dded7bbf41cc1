"""``nn.utils``: the programs of ``record_nn_utils.py``, and what PyTorch leaves open."""

from record_nn_utils import programs
from recorded import Recorded


class TestPrograms(Recorded):
    tables = (programs,)
