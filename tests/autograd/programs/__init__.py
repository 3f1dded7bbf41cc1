"""Small programs about autograd, which print the same under Pullback as under PyTorch.

Each takes the package and a ``say`` function. What it said under PyTorch 2.13 stands in ``tests/golden/autograd.json``
(``record_autograd.py`` writes it). A refusal is said by ``refused``: the exception's type and PyTorch's first words.
"""

from . import functions, gradients, graph, in_place
from .declare import PROGRAMS
