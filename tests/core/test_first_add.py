"""An acknowledged addition survives a power cut, also when the first one of all was killed at any moment."""

import signal
import subprocess
import sys
from pathlib import Path

import pytest

HERE = Path(__file__).parents[2]

#: For each n a child that adds a message and dies before the n-th call that changes the disk, then one that lives. Both
#: note each name that is made and each folder that is flushed. Ends when nothing was left to die at.
ADDS = """
import os, sys
from holdfast.fs import safeopen
from holdfast.journal.capture import capture
import holdfast.fs.private
from tests.support.dying import arm

write, Folder = os.write, safeopen.Folder
note = lambda what, path: write(noted, f"{what} {path}\\n".encode())

def noting(name, what, place):
    real = getattr(Folder, name)
    def call(self, *args, **named):
        before = set(self.names()) if what == "made" else None
        try:
            return real(self, *args, **named)
        finally:
            if before is None:
                note(what, self.path)
            else:
                for one in set(self.names()) - before:
                    note(what, os.path.join(self.path, one))
    setattr(Folder, name, call)

noting("make", "made", 0)
noting("open", "made", 0)
noting("replace", "made", 1)
real_sync = Folder.sync
def sync(self):
    real_sync(self)
    note("synced", self.path)
Folder.sync = sync

for n in range(1, 60, 2):
    root = os.path.join(sys.argv[1], str(n))
    os.mkdir(root)
    codes = []
    for at in (n, 0):
        pid = os.fork()
        if not pid:
            noted = os.open(f"{root}.log", os.O_WRONLY | os.O_APPEND | os.O_CREAT)
            arm(at)  # 0 is never reached
            capture(root, "s", "user", "hello")
            os._exit(0)
        codes.append(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
    print(*codes)
    if codes[0] == 0:
        break
"""


@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="there is no SIGKILL here")
@pytest.mark.req("R142")
def test_add__the_first_was_killed_at_any_moment__every_name_on_the_way_is_durable(tmp_path):
    done = subprocess.run([sys.executable, "-c", ADDS, tmp_path], cwd=HERE, capture_output=True, text=True, check=True)
    codes = [line.split() for line in done.stdout.splitlines()]
    assert codes == [*[[str(-signal.SIGKILL), "0"]] * (len(codes) - 1), ["0", "0"]]
    assert len(codes) > 5
    for n in range(1, 2 * len(codes), 2):
        root, log = tmp_path / str(n), tmp_path / f"{n}.log"
        lines = [line.split(" ", 1) for line in log.read_text().splitlines()]
        for name in (".holdfast", ".holdfast/state", ".holdfast/state/sessions", ".holdfast/state/sessions/s.jsonl"):
            path = root / name
            made = max(at for at, line in enumerate(lines) if line == ["made", str(path)])
            assert ["synced", str(path.parent)] in lines[made:], f"{name} after a kill before call {n}: {lines}"
