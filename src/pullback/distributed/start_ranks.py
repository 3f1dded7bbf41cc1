"""Starting a program as several ranks: ``pullback run --nproc``, and ``torchrun``'s module with its options."""

from __future__ import annotations

import os
import random
import re
import signal
import socket
import subprocess
import sys
import tempfile
import threading
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any

from . import mpi_job

FOLDER = "PULLBACK_RANKS"  # the variable that names the folder where ranks note their process ids
PORTS = range(15_000, 32_000)
LOCAL_RANKS = ("MPI_LOCALRANKID", "OMPI_COMM_WORLD_LOCAL_RANK", "SLURM_LOCALID")
LOCAL_SIZES = ("MPI_LOCALNRANKS", "OMPI_COMM_WORLD_LOCAL_SIZE", "SLURM_NTASKS_PER_NODE")
# what MPICH's launcher says when a process was killed, and what of it matters
BANNER = re.compile(rb"\n?=+\r?\n=   BAD TERMINATION")
RULE = re.compile(rb"\n?={20,}\r?\n?$")
PID = re.compile(r"PID (\d+) RUNNING AT (\S+)")
SIGNAL = re.compile(r"EXIT STRING: .*\(signal (\d+)\)")


def free_port() -> int:
    """A port that nobody listens at, of those that the system does not give to outgoing connections."""
    for port in random.SystemRandom().sample(PORTS, 100):
        with socket.socket() as probe, suppress(OSError):
            probe.bind(("", port))
            return port
    raise OSError(f"There is no free port from {PORTS.start} to {PORTS.stop}.")


def launch(
    program: Sequence[str], ranks: int, hosts: str | None = None, environment: Mapping[str, str] | None = None
) -> int:
    """Run a program as several ranks, and wait for them.

    Args:
        program: the arguments of ``pullback run``, or with ``--no-python`` in front a command.
        hosts: machines, separated by commas; without, all ranks run on this one.
        environment: variables for the ranks.

    Returns:
        The exit code: 0, or that of the rank that failed.
    """
    variables = mpi_job.without_launcher(dict(os.environ)) | {"TORCHELASTIC_RUN_ID": "none"} | dict(environment or {})
    if hosts is None:
        variables.setdefault("MASTER_ADDR", "127.0.0.1")
        variables.setdefault("MASTER_PORT", str(free_port()))
    if ranks > 1:
        variables.setdefault("OMP_NUM_THREADS", "1")  # as torchrun does: the ranks share the processors
    for name in ("RANK", "WORLD_SIZE", "LOCAL_RANK", "LOCAL_WORLD_SIZE"):
        variables.pop(name, None)
    command = [mpi_job.launcher(), "-n", str(ranks), *(["-hosts", hosts] if hosts else [])]
    command += [sys.executable, "-m", "pullback", "run", *program]
    with tempfile.TemporaryDirectory(prefix="pullback-ranks-") as folder:
        process = subprocess.Popen(
            command, env=variables | {FOLDER: folder}, stdout=subprocess.PIPE, stderr=subprocess.PIPE
        )
        said = [b"", b""]
        streams = (process.stdout, sys.stdout.buffer), (process.stderr, sys.stderr.buffer)
        threads = [
            threading.Thread(target=_forward, args=(source, target, said, i))
            for i, (source, target) in enumerate(streams)
        ]
        for thread in threads:
            thread.start()
        try:
            code = process.wait()
        except KeyboardInterrupt:  # the ranks have it, too
            code = process.wait() or 130
        for thread in threads:
            thread.join()
        banner = b"".join(said).decode(errors="replace")
        pid, number = PID.search(banner), SIGNAL.search(banner)
        if pid and number:
            _say_killed(_noted(folder, pid[1]), pid[1], pid[2], int(number[1]))
    return code if code >= 0 else 128 - code


def _forward(source: Any, target: Any, said: list[bytes], place: int) -> None:
    """Show what the ranks say, and keep what the launcher says when one was killed."""
    held = b""  # what may be the beginning of that
    while part := source.read1(1 << 16):
        if said[place]:
            said[place] += part
            continue
        part = held + part
        found = BANNER.search(part) or RULE.search(part)
        held, part = (part[found.start() :], part[: found.start()]) if found else (b"", part)
        if found and found.re is BANNER:
            said[place], held = held, b""
        target.write(part)
        target.flush()
    target.write(held)
    target.flush()


def _noted(folder: str, pid: str) -> str | None:
    with suppress(OSError), open(os.path.join(folder, pid)) as file:
        return file.read()
    return None


def _say_killed(rank: str | None, pid: str, host: str, number: int) -> None:
    name = next((s.name for s in signal.Signals if s == number), "a signal")
    who = f"Rank {rank}" if rank is not None else "A rank"
    text = f"{who} (process {pid} on {host}) was killed by signal {number} ({name}); the others were ended."
    print(text, file=sys.stderr)


def take_place() -> None:
    """In a rank: set the variables that programs read, as ``torchrun`` does."""
    if not mpi_job.is_started_by_launcher():
        return
    if "RANK" not in os.environ:
        rank, size = mpi_job.place()
        local = next((os.environ[name] for name in LOCAL_RANKS if name in os.environ), str(rank))
        of = next((os.environ[name] for name in LOCAL_SIZES if name in os.environ), str(size))
        os.environ.update(RANK=str(rank), WORLD_SIZE=str(size), LOCAL_RANK=local, LOCAL_WORLD_SIZE=of.partition("(")[0])
        os.environ.setdefault("GROUP_RANK", "0")
        os.environ.setdefault("ROLE_RANK", str(rank))
    folder = os.environ.get(FOLDER)
    if folder is not None:
        with suppress(OSError), open(os.path.join(folder, str(os.getpid())), "w") as file:
            file.write(os.environ["RANK"])
