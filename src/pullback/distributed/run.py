"""``python -m torch.distributed.run``, which is ``torchrun``: a program as several ranks on this machine.

>>> from pullback.distributed.run import get_args_parser
>>> get_args_parser().parse_args(["--nproc_per_node=2", "train.py", "--lr", "1"]).training_script_args
['--lr', '1']
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence

from .start_ranks import launch

__all__ = ["get_args_parser", "main"]

# options with a value that say how machines find each other and what to do when they do not: MPI's launcher decides
IGNORED = """
    rdzv-backend rdzv-endpoint rdzv-id rdzv-conf max-restarts monitor-interval start-method role log-dir redirects tee
    local-addr local-ranks-filter event-log-handler logs-specs
""".split()


def get_args_parser() -> argparse.ArgumentParser:
    """The parser of ``torchrun``'s arguments; names may be written with ``-`` or ``_``."""
    parser = argparse.ArgumentParser(prog="torchrun", description="Run a program as several ranks.", allow_abbrev=False)

    def option(name: str, *more: str, **how: object) -> None:
        parser.add_argument(*more, f"--{name}", *([f"--{name.replace('-', '_')}"] if "-" in name else []), **how)  # type: ignore[arg-type]

    option("nproc-per-node", default="1", help="ranks on each machine: a number, or auto or cpu")
    option("nnodes", default="1", help="machines: 1; more are for mpiexec -hosts")
    option("node-rank", default="0", help="this machine's number: 0")
    option("master-addr", default=None, help="where rank 0 serves the store")
    option("master-port", default=None, help="and its port")
    option("standalone", action="store_true", help="use a free port")
    option("module", "-m", action="store_true", help="the program is a module")
    option("no-python", action="store_true", help="the program is a command")
    for name in IGNORED:
        short = {"redirects": ["-r"], "tee": ["-t"]}.get(name, [])
        option(name, *short, default=None, help="accepted, without effect")
    parser.add_argument("training_script")
    parser.add_argument("training_script_args", nargs=argparse.REMAINDER)
    return parser


def main(args: Sequence[str] | None = None) -> None:
    """Run a program as ``torchrun`` does; ends with its exit code, if that is not 0."""
    asked = get_args_parser().parse_args(args)
    if asked.nnodes.partition(":")[2] not in ("", "1") or asked.nnodes.partition(":")[0] != "1":
        sys.exit(
            "torchrun: --nnodes is 1 here\n"
            "  Across machines: mpiexec -n RANKS -hosts A,B pullback run SCRIPT, or srun --mpi=pmix."
        )
    if asked.no_python:
        sys.exit("torchrun: --no-python is not supported\n  mpiexec -n RANKS COMMAND runs any command.")
    count = asked.nproc_per_node
    ranks = int(count) if count.isdigit() else (os.cpu_count() or 1)
    if count == "gpu":
        raise ValueError("Cuda is not available.")
    environment = {}
    if asked.master_addr is not None:
        environment["MASTER_ADDR"] = asked.master_addr
    if asked.master_port is not None:
        environment["MASTER_PORT"] = asked.master_port
    program = [*(["-m"] if asked.module else []), asked.training_script, *asked.training_script_args]
    code = launch(program, ranks, environment=environment)
    if code:
        sys.exit(code)


if __name__ == "__main__":
    main()
