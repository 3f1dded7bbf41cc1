"""``python -m torch.distributed.launch``: an older name of ``torch.distributed.run``."""

from __future__ import annotations

import sys
from collections.abc import Sequence

from .run import main as run

__all__ = ["main"]


def main(args: Sequence[str] | None = None) -> None:
    """Run a program as ``torchrun`` does; ``--use-env`` is what is done anyway."""
    given = sys.argv[1:] if args is None else list(args)
    run([arg for arg in given if arg not in ("--use-env", "--use_env")])


if __name__ == "__main__":
    main()
