"""What a hook imports: a client waits for it at every event, and importing is most of what it costs."""

import re

import pytest
from tests.plugins.agents.hooking import Client

EVENTS = {
    "UserPromptSubmit": {"prompt": "Fix the login test"},
    "PostToolUse": {
        "tool_name": "Bash",
        "tool_input": {"command": "pytest -q"},
        "tool_response": {"stdout": "1 passed"},
    },
    "Stop": {"last_assistant_message": "The login test passes now."},
}
#: Packages that take milliseconds to import and serve nothing that a hook does.
NEVER = set(
    """
    argparse asyncio bz2 email getpass html http keyring lzma multiprocessing shutil sqlite3 ssl subprocess
    tempfile  unittest xml zipfile
    """.split()  # noqa: SIM905
)
#: Events of every turn do without these too. SessionStart opens a store and needs them.
HEAVY = {"attr", "attrs", "dataclasses", "hashlib", "logging", "pathlib", "random", "tomli_w", "tomllib", "urllib"}


def imports(client: Client, event: str, **more: object) -> list[str]:
    """The modules that a hook's process imports."""
    process = client.start(client.payload(event, **more), PYTHONVERBOSE="1", HOLDFAST_DREAM__WHEN="")
    _, told = process.communicate(timeout=60)
    assert process.returncode == 0
    return re.findall(r"^import '([\w.]+)' #", told.decode(), re.MULTILINE)


@pytest.mark.parametrize("event", EVENTS)
def test_hook__at_an_event_of_every_turn__imports_no_package_that_it_does_not_need(project, event):
    client = Client(project)
    imports(client, event, **EVENTS[event])  # the first one makes the private folder
    heads = {name.partition(".")[0] for name in imports(client, event, **EVENTS[event])}
    assert "holdfast_redaction" in heads
    assert heads & (NEVER | HEAVY) == set()
