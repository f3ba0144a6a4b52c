"""Git with an identity, and with this environment's ``holdfast`` as its merge driver."""

import os
import subprocess
import sysconfig
from pathlib import Path

_ID = ("-c", "user.name=t", "-c", "user.email=t@example.org")


def git(folder: Path, *words: str) -> str:
    """The output of a git command in a folder. A command that fails is an error of the test."""
    # Git runs the driver as `holdfast init --git` set it up.
    env = os.environ | {"PATH": os.pathsep.join([sysconfig.get_path("scripts"), os.environ["PATH"]])}
    done = subprocess.run(["git", *_ID, *words], cwd=folder, env=env, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout
