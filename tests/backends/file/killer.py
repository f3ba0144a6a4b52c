"""Forks one process after another, each of which is killed one call later than the one before.

``python killer.py FOLDER``: the k-th process works in FOLDER/k; prints k and how many steps it acknowledged.
Ends with the first process that comes to the end of the workload.
"""

import os
import sys
from pathlib import Path

from crash_kit import STEPS, KillingOs

from holdfast_file.backend import FileBackend


def work(root: Path, killing: KillingOs, acknowledge: int) -> None:
    for module, name, value in killing.installed_in():
        setattr(module, name, value)
    store = FileBackend(root)
    for step in STEPS:
        step(store)
        os.write(acknowledge, b".")


def main(folder: Path) -> None:
    k, status = 0, 1
    while status != 0:
        k += 1
        root = folder / str(k)
        root.mkdir()
        reader, writer = os.pipe()
        child = os.fork()
        if child == 0:
            work(root, KillingOs(k), writer)
            os._exit(0)
        os.close(writer)
        with open(reader, "rb") as pipe:
            acknowledged = len(pipe.read())
        _, status = os.waitpid(child, 0)
        print(k, acknowledged, flush=True)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
