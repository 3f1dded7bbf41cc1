"""Imported at the start of each Python process that a program under ``pullback run`` starts.

``PYTHONPATH`` leads here. The folder takes itself off the path again and hands over to the ``sitecustomize``
that Python would have found without it. Pullback (and with it NumPy) is imported only when the process asks
for torch; an interpreter that has no Pullback is left alone.
"""

import os
import sys
from importlib.util import find_spec


class OnFirstUse:
    """A finder that gives its place to that of ``pullback.install``."""

    @classmethod
    def find_spec(cls, name, path=None, target=None):
        successor = cls.replace() if name.partition(".")[0] == "torch" else None
        return successor and successor.find_spec(name, path, target)

    @classmethod
    def find_distributions(cls, context):
        successor = cls.replace() if context.name == "torch" else None
        return successor.find_distributions(context) if successor else []

    @classmethod
    def replace(cls):
        """The finder that takes the place, if there is a Pullback to have one."""
        sys.meta_path.remove(cls)
        if find_spec("pullback") is None:
            return None
        from pullback.cli import run

        run.install()
        return sys.meta_path[0]


sys.meta_path.insert(0, OnFirstUse)

here = os.path.dirname(os.path.abspath(__file__))
sys.path[:] = [folder for folder in sys.path if os.path.abspath(folder) != here]
this = sys.modules.pop(__name__)
try:
    import sitecustomize  # noqa: F401
except ModuleNotFoundError as error:
    if error.name != __name__:
        raise
    sys.modules[__name__] = this  # importlib wants to find it there
