"""What a hook imports: a client waits for it at every event, and importing is most of what it costs."""

import re

import pytest
from tests.plugins.agents.hooking import Client

#: Modules of this repository and pluggy that the events of every turn import. A new one needs a reason.
HOT = """
    holdfast_memory holdfast holdfast.api holdfast.errors holdfast_app holdfast_cli holdfast_cli.table holdfast.plugin
    holdfast.plugin.discovery
    holdfast.plugin.nested holdfast.text holdfast.text.untrusted holdfast_app.message_formats
    holdfast_app.message_formats.leaves holdfast.config
    holdfast.fs holdfast.fs.userdir holdfast.config.settings holdfast.config.statefolder
    holdfast.validation holdfast.gate holdfast.fs.safeopen
    holdfast.journal holdfast.journal.past holdfast.fs.paths holdfast.fs.safeopen holdfast.fs.locks holdfast.fs.durable
    holdfast.fs.ownership_mark holdfast.fs.private holdfast.fs.records holdfast.journal.journal
    holdfast.journal.capture holdfast_app.message_formats.leaves holdfast.config.trust
    holdfast.config.resolved holdfast.hooks holdfast.plugin.calls holdfast.plugin.manager
    holdfast.text.lazy holdfast.text.plain
    holdfast.api
    holdfast_agents holdfast_agents.hook holdfast_agents.events holdfast_agents.watchdog holdfast_agents.dialects
    holdfast_agents.turns holdfast_agents.asking
    holdfast_forges holdfast_forges.git holdfast_app.outbox holdfast_app.outbox.forge
    holdfast_app.curated holdfast_app.curated.limits holdfast_app.dream holdfast_app.offline holdfast_app.workflow
    holdfast_redaction
    holdfast_redaction.layers holdfast_redaction.layers.assign holdfast_redaction.layers.plain
    holdfast_redaction.layers.values holdfast_redaction.layers.names holdfast_redaction.layers.prose
    holdfast_redaction.patterns holdfast_redaction.layers.context holdfast_redaction.layers.blocks
    holdfast_redaction.layers.pii
    holdfast_redaction.rules holdfast_redaction.rules.table
    holdfast_redaction.layers.exact holdfast_redaction.engine holdfast_redaction.mark holdfast_redaction.plugin
    pluggy pluggy._config pluggy._decorators pluggy._result pluggy._impl pluggy._caller pluggy._hooks
    pluggy._tracing pluggy._warnings pluggy._execution pluggy._callers pluggy._compat pluggy._manager
""".split()  # noqa: SIM905
BEAT = ["holdfast_agents.records", "holdfast_agents.records.heartbeat"]
EVENTS = {
    "UserPromptSubmit": ({"prompt": "Fix the login test"}, BEAT),
    "PostToolUse": (
        {"tool_name": "Bash", "tool_input": {"command": "pytest -q"}, "tool_response": {"stdout": "1 passed"}},
        BEAT,
    ),
    "Stop": ({"last_assistant_message": "The login test passes now."}, [*BEAT, "holdfast_app.background"]),
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
    """The modules that a hook's process imports, in order."""
    process = client.start(client.payload(event, **more), PYTHONVERBOSE="1", HOLDFAST_DREAM__WHEN="")
    _, told = process.communicate(timeout=60)
    assert process.returncode == 0
    return re.findall(r"^import '([\w.]+)' #", told.decode(), re.MULTILINE)


def heads(modules: list[str]) -> set[str]:
    return {name.partition(".")[0] for name in modules}


@pytest.mark.parametrize("event", EVENTS)
def test_hook__at_an_event_of_every_turn__imports_exactly_these_modules(project, event):
    client = Client(project)
    payload, also = EVENTS[event]
    imports(client, event, **payload)  # the first one makes the private folder
    found = imports(client, event, **payload)
    ours = {name for name in found if name.startswith(("holdfast", "pluggy"))}
    assert ours - {"holdfast.__main__"} == {*HOT, *also}
    assert heads(found) & (NEVER | HEAVY) == set()
