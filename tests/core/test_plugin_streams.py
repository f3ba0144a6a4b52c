"""A plugin that ends the process or prints must not look like success or spoil a command's answer."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from tests.support import distributions
from tests.support.trusting import trusted

from holdfast_app.capture import capture

VALIDATOR = """from holdfast.hooks import hookimpl
class Odd:
    def __init__(self, *, context):
        {start}
    @hookimpl
    def on_validate(self, request):
        {call}
        return ()
"""


def installed(project: Path, source: str) -> dict[str, str]:
    """The environment with the distribution ``odd``, whose plugin is enabled in the project."""
    site = project / "site"
    distributions.install(site, "odd", "[holdfast.plugins]\nodd = odd_streams:Odd\n", odd_streams=source)
    trusted(project, "[plugins.odd]\n")
    return {**os.environ, "PYTHONPATH": str(site)}


def holdfast(*words: str, project: Path, environ: dict[str, str], stdin: str = "") -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "holdfast", *words]
    return subprocess.run(command, cwd=project, env=environ, input=stdin, capture_output=True, encoding="utf-8")


def test_add__plugin_exits_with_0_while_it_loads__is_refused_and_named(project):
    environ = installed(project, VALIDATOR.format(start="raise SystemExit(0)", call="pass"))
    done = holdfast("add", "user", "hello", project=project, environ=environ)
    assert (done.returncode, "'odd' (odd)" in done.stderr) == (3, True)
    assert "SystemExit" in done.stderr
    compaction = json.dumps({"session_id": "s", "hook_event_name": "PreCompact", "cwd": str(project)})
    hook = holdfast("hook", "claude-code", "PreCompact", project=project, environ=environ, stdin=compaction)
    assert hook.returncode == 2, "exit code 0 would let the client compact unflushed"


@pytest.mark.parametrize(
    "words", [["add", "user", "hi"], ["validate", "--json"], ["prompt"], [], ["--version"], ["nonsense", "--json"]]
)
def test_command__plugin_or_its_child_prints_or_writes_to_the_descriptor__stdout_holds_only_the_answer(project, words):
    noise = "import os; print('PRINTED'); os.write(1, b'RAW\\n'); os.system('echo CHILD')"
    quiet = holdfast(*words, project=project, environ=installed(project, VALIDATOR.format(start="pass", call="pass")))
    source = f"print('IMPORTED')\n{VALIDATOR.format(start=noise, call=noise)}"
    (project / "site" / "odd_streams.py").write_text(source)
    done = holdfast(*words, project=project, environ={**os.environ, "PYTHONPATH": str(project / "site")})
    assert (done.returncode, done.stdout) == (quiet.returncode, quiet.stdout)
    loads = words[:1] in ([], ["add"], ["validate"], ["prompt"])
    assert all((text in done.stderr) is loads for text in ("IMPORTED", "PRINTED", "RAW", "CHILD"))


def test_command__of_another_distribution_runs_a_program__its_output_is_the_answer(project):
    site = project / "site"
    command = "import os\nSUMMARY = 'x'\ndef configure(parser): pass\ndef run(args): return os.system('echo CHILD')\n"
    distributions.install(site, "odd", "[holdfast.commands]\nodd = odd_command\n", odd_command=command)
    done = holdfast("odd", project=project, environ={**os.environ, "PYTHONPATH": str(site)})
    assert done.stdout == "CHILD\n"


@pytest.mark.parametrize("exits", ["", "; os._exit(0)"])
def test_hook__a_program_that_a_plugin_starts_prints__the_answer_stays_valid(project, exits):
    """Codex compacts when the answer is anything but the JSON object, and a child process inherits standard output."""
    source = VALIDATOR.format(start=f"import os; os.system('echo up-to-date'){exits}; raise ValueError", call="pass")
    environ = installed(project, source)
    compaction = json.dumps({"session_id": "s", "hook_event_name": "PreCompact", "cwd": str(project)})
    done = holdfast("hook", "codex", "PreCompact", project=project, environ=environ, stdin=compaction)
    assert "up-to-date" in done.stderr
    assert done.stdout == "" if exits else json.loads(done.stdout)["continue"] is False


@pytest.mark.parametrize(("command", "where"), [("flush", "at import"), ("end", "in a thread of its own")])
def test_command__a_plugin_calls_os_exit_with_0__the_exit_code_is_not_permission(project, command, where):
    capture(str(project), "default", "user", "hello")
    leave = "__import__('os')._exit(0)"
    thread = "import threading; t = threading.Thread(target=lambda: __import__('os')._exit(0)); t.start(); t.join()"
    source = VALIDATOR.format(start="pass", call="pass" if where == "at import" else f"{thread}; raise ValueError")
    environ = installed(project, f"{leave}\n{source}" if where == "at import" else source)
    done = holdfast(command, project=project, environ=environ)
    assert done.returncode in (1, 2, 3), done.stdout + done.stderr
    assert "next:" in done.stderr


def test_command__hook_hangs_and_prints_late__stdout_holds_only_the_answer(project):
    source = VALIDATOR.format(start="pass", call="import time; time.sleep(600)")
    environ = installed(project, source)
    trusted(project, "[plugins.odd]\ndeadline_s = 0.2\n")
    done = holdfast("remember", "Staging runs Postgres", "--json", project=project, environ=environ)
    assert json.loads(done.stdout)["ok"] is False
    assert "took longer than 0.2 s" in done.stderr
