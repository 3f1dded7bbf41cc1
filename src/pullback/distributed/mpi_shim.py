"""One of the processes that MPI's launcher starts for a job of processes which were started by others.

It is run as a program: ``mpiexec -pmi-port -n N python mpi_shim.py HOST PORT``. It tells rank 0, which listens there,
the variables by which a process joins the job in its place, and stays until rank 0 closes the connection.
"""

import json
import os
import socket
import sys


def main() -> None:
    """Tell the variables, and wait."""
    with socket.create_connection((sys.argv[1], int(sys.argv[2]))) as connection:
        place = {name: value for name, value in os.environ.items() if name.startswith(("PMI_", "MPI_"))}
        connection.sendall(json.dumps(place).encode() + b"\n")
        while connection.recv(64):
            pass


if __name__ == "__main__":
    main()
