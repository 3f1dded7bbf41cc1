"""One of the processes that MPI's launcher starts for a job of processes which were started by others.

It is run as a program: ``mpiexec -pmi-port -n N python mpi_shim.py HOST PORT``. It tells rank 0, which listens there,
the variables by which a process joins the job in its place, is told the launcher's process id, and stays until rank 0
closes the connection, or is killed. Then it ends the launcher, so that nothing is left of the job.
"""

import json
import os
import signal
import socket
import sys
import time


def main() -> None:
    """Tell the variables, wait, and end the launcher."""
    launcher = b""
    with socket.create_connection((sys.argv[1], int(sys.argv[2]))) as connection:
        place = {name: value for name, value in os.environ.items() if name.startswith(("PMI_", "MPI_"))}
        connection.sendall(json.dumps(place).encode() + b"\n")
        try:
            while part := connection.recv(64):
                launcher += part
        except OSError:  # rank 0 was killed
            pass
    for number in (signal.SIGTERM, getattr(signal, "SIGKILL", signal.SIGTERM)):
        time.sleep(0.5)  # rank 0 may be doing it, or it ends by itself
        try:
            os.kill(int(launcher), number)
        except (OSError, ValueError):
            return


if __name__ == "__main__":
    main()
