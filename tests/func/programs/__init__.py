"""Small programs about forward mode, ``vmap`` and ``torch.func``, which print the same under Pullback as under PyTorch.

Each takes the package and a ``say`` function. What it said under PyTorch 2.13 stands in ``tests/golden/func.json``
(``record_func.py`` writes it). A refusal is said by ``refused``: the exception's type and text.
"""

from . import calls, duals, functions
from .declare import PROGRAMS
