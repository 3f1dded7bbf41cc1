"""How this process becomes a rank of an MPI job: it was started by ``mpiexec`` (or ``srun``), or joins one.

Processes that were started otherwise, by hand or by ``multiprocessing``, have a store to find each other by. Rank 0 has
MPI's launcher start as many small processes as there are ranks (``mpi_shim.py``). Each gets from the launcher what a
process needs to take part, as environment variables, and tells rank 0; the ranks take these over, and MPI takes them
for the processes that the launcher started.
"""

from __future__ import annotations

import json
import multiprocessing
import os
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from importlib.util import find_spec
from typing import Any

from ..base.errors import with_notes
from .communicator import Alone, Communicator, MPICommunicator
from .errors import DistError, mpi_missing
from .store import PrefixStore, Store, seconds
from .tcp_store import TCPStore
from .work import ended

# what launchers set: for the number of a process, and how many there are
RANKS = ("PMI_RANK", "PMIX_RANK", "OMPI_COMM_WORLD_RANK")
SIZES = ("PMI_SIZE", "OMPI_COMM_WORLD_SIZE")
LAUNCHER = ("PMI_", "PMIX_", "MPI_LOCAL", "HYDI_", "OMPI_", "PRTE_")  # how the names of its variables begin
FOLDER = "/dev/shm/"
ANSWERS = 5.0  # seconds to wait for answers that are under way
ASK = 0.5  # seconds between questions whether to go on waiting
_mpi: Any = None
_launched: tuple[Any, list[socket.socket]] | None = None


def is_installed() -> bool:
    """Whether MPI can be used."""
    return find_spec("mpi4py") is not None


def is_started_by_launcher() -> bool:
    """Whether a launcher of MPI started this process, which then is a rank of its job."""
    return any(name in os.environ for name in RANKS) and multiprocessing.parent_process() is None


def launcher() -> str:
    """The path of ``mpiexec``: that beside the interpreter, else on the path.

    Raises:
        RuntimeError: there is none.
    """
    beside = os.path.dirname(sys.executable)
    found = shutil.which("mpiexec", path=beside) or shutil.which("mpiexec")
    if found is None:
        raise mpi_missing(f"There is no mpiexec in {beside or 'its folder'}, nor on the PATH.")
    return found


def without_launcher(environment: dict[str, str]) -> dict[str, str]:
    """An environment for processes that are not to be taken for ranks of the job that this one belongs to."""
    return {name: value for name, value in environment.items() if not name.startswith(LAUNCHER)}


def load() -> Any:
    """The module ``mpi4py.MPI``, imported now if it was not: from then on this process is a rank of a job.

    Raises:
        RuntimeError: it is not installed, or finds no MPI.
    """
    global _mpi
    if _mpi is None:
        try:
            import mpi4py

            if "mpi4py.MPI" not in sys.modules:
                mpi4py.rc.finalize = False  # at the end, see leave()
            from mpi4py import MPI
        except ImportError as error:
            raise mpi_missing(f"mpi4py cannot be imported: {error}") from None
        except RuntimeError as error:
            raise mpi_missing(f"mpi4py finds no MPI: {error}") from None
        _mpi = MPI
        _unlink_shared_memory(MPI)
    return _mpi


def _unlink_shared_memory(MPI: Any) -> None:
    """Remove the names of the shared memory that the ranks of this machine have mapped: a killed rank cannot."""
    if not os.path.exists("/proc/self/maps"):
        return
    MPI.COMM_WORLD.Barrier()  # by now all have it
    with open("/proc/self/maps") as file:
        names = {line.rstrip("\n").partition(FOLDER)[2] for line in file if FOLDER in line}
    for name in names:
        if name.startswith("mpich_shm_") and not name.endswith("(deleted)"):
            with suppress(OSError):
                os.unlink(FOLDER + name)


def place() -> tuple[int, int]:
    """The number of this rank and how many there are, as the launcher says."""
    rank = next((os.environ[name] for name in RANKS if name in os.environ), None)
    size = next((os.environ[name] for name in SIZES if name in os.environ), None)
    if rank is None or size is None:
        world = load().COMM_WORLD
        return world.Get_rank(), world.Get_size()
    return int(rank), int(size)


def world(store: Store, rank: int, size: int) -> Communicator:
    """The communicator of all ranks, this one being ``rank``.

    Raises:
        RuntimeError: MPI is not installed.
        ValueError: the launcher started another number of processes.
    """
    if size == 1:
        return Alone()
    if _mpi is None and not is_installed():
        raise mpi_missing(f"A group of {size} processes needs it.")
    if _mpi is None and not is_started_by_launcher():
        _join(store, rank, size)
    if _mpi is None:
        _all_told(store, size)
    MPI = load()
    everyone = MPI.COMM_WORLD
    if everyone.Get_size() != size:
        raise with_notes(
            ValueError(f"world_size={size}, but the job of MPI has {everyone.Get_size()} processes"),
            "Start as many by mpiexec -n, or leave world_size out.",
        )
    return MPICommunicator(MPI, everyone.Split(0, rank))


def _all_told(store: Store, size: int) -> None:
    """Wait until no rank needs the store any more to begin.

    MPI begins on all ranks together, and keeps the interpreter's lock meanwhile: a rank that serves the store could not
    answer those that are not as far.
    """
    ready, served = store.add("mpi/ready", 1), store
    while isinstance(served, PrefixStore):
        served = served.underlying_store
    if isinstance(served, TCPStore) and served.serves:
        while ready < size:
            time.sleep(0.001)
            ready = store.add("mpi/ready", 0)
        served.answered(ANSWERS)


def _join(store: Store, rank: int, size: int) -> None:
    """Take over the place of a process that MPI's launcher has started; rank 0 has it start them."""
    for name in [name for name in os.environ if name.startswith(LAUNCHER)]:
        del os.environ[name]
    os.environ.setdefault("MPIR_CVAR_SUPPRESS_ABORT_MESSAGE", "1")
    store.set(f"mpi/host/{rank}", socket.gethostname())
    if rank == 0:
        try:
            places = _launch(size, seconds(store.timeout))
        except BaseException as error:
            store.set("mpi/error", str(error))
            store.multi_set([f"mpi/place/{i}" for i in range(size)], [""] * size)
            raise
        store.multi_set([f"mpi/place/{i}" for i in range(size)], [json.dumps(place) for place in places])
    told = store.get(f"mpi/place/{rank}")
    if not told:
        raise DistError(f"Rank 0 could not start a job of MPI: {store.get('mpi/error').decode()}")
    hosts = set(store.multi_get([f"mpi/host/{i}" for i in range(size)]))
    if len(hosts) > 1:  # the launcher took all for processes of one machine, which share memory
        os.environ["MPIR_CVAR_NOLOCAL"] = "1"
    os.environ.update(json.loads(told))


def _launch(size: int, timeout: float) -> list[dict[str, str]]:
    """Have MPI's launcher start processes; what each tells, by their numbers."""
    global _launched
    listener = socket.create_server(("127.0.0.1", 0))
    listener.settimeout(timeout)
    shim = os.path.join(os.path.dirname(os.path.abspath(__file__)), "mpi_shim.py")
    address = [str(part) for part in listener.getsockname()]
    command = [launcher(), "-pmi-port", "-n", str(size), sys.executable, "-I", "-S", shim, *address]
    process = subprocess.Popen(
        command,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        env=without_launcher(dict(os.environ)),
        start_new_session=True,  # Ctrl-C is for the ranks
    )
    connections: list[socket.socket] = []
    places: dict[int, dict[str, str]] = {}
    try:
        while len(places) < size:
            connection, _ = listener.accept()
            connections.append(connection)
            with connection.makefile() as lines:
                told = json.loads(lines.readline())
            places[int(told["PMI_ID"])] = told
            connection.sendall(b"%d" % process.pid)
    except BaseException:
        process.kill()
        process.wait()
        for connection in connections:
            connection.close()
        raise
    finally:
        listener.close()
    _launched = process, connections
    return [places[i] for i in range(size)]


def settle(patient: Callable[[], bool], limit: float = float("inf")) -> bool:
    """Wait until all ranks have come here, and with them all that they sent; whether they have.

    Args:
        patient: whether to go on waiting, asked now and then.
        limit: seconds to wait at most.
    """
    if _mpi is None or not _mpi.Is_initialized() or _mpi.Is_finalized():
        return False
    arrived, began = _mpi.COMM_WORLD.Ibarrier(), time.monotonic()
    asked = began + ASK
    while not arrived.Test():
        now = time.monotonic()
        if now > began + limit:
            return False
        if now > asked:
            asked = now + ASK
            if not patient():
                return False
        time.sleep(0.0005)
    return True


def leave(all_came: bool) -> None:
    """End this rank's part in the job, at the end of the program.

    Args:
        all_came: whether all ranks have: then MPI is finalized, which the launcher wants. A rank that ends without it
            has the launcher end all. The job of processes that were not started by the launcher just ends.
    """
    global _launched
    ended.set()
    if all_came and _mpi is not None and is_started_by_launcher() and not _mpi.Is_finalized():
        if settle(lambda: True, ANSWERS):  # nobody asks the store any more, which this process may serve: see _all_told
            _mpi.Finalize()
    if _launched is not None:
        process, connections = _launched
        _launched = None
        for connection in connections:
            connection.close()
        process.terminate()  # it would wait for this process, too
        try:
            process.wait(1)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
