"""``python -m tests.fuzz --seconds N``: fuzz every target, in random order and on every core, until N seconds passed.

A failure prints the example and is kept in ``.hypothesis``, so that the next run begins with it.
"""

import argparse
import os
import subprocess
import sys
import time
from pathlib import Path


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz", description=__doc__)
    parser.add_argument("--seconds", type=float, default=120, help="how long (default: 120)")
    parser.add_argument("--workers", default="auto", help="processes (default: one per core)")
    given = parser.parse_args()
    until = time.time() + given.seconds
    env = {name: value for name, value in os.environ.items() if name != "CI"} | {"FUZZ_UNTIL": str(until)}
    command = [sys.executable, "-m", "pytest", "-n", given.workers, "--maxfail=5", str(Path(__file__).parent)]
    rounds = 0
    while time.time() < until:
        rounds += 1
        if code := subprocess.run(command, env=env, cwd=Path(__file__).parents[2], check=False).returncode:
            return code
    print(f"fuzz: ok ({rounds} rounds)")
    return 0


if __name__ == "__main__":
    sys.exit(main())
