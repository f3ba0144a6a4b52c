"""Names that come from outside: a secret in an id, agent, provider, branch or source is stored nowhere."""

import os
from datetime import UTC, datetime
from pathlib import Path

import pytest
from tests.core.conftest import NO_PLUGINS

from holdfast.config.values import PluginConfig
from holdfast.models import Message
from holdfast_app.message_formats.reading import Transcript

SECRET = "ghp_" + "A1b2C3d4E5f6G7h8I9j0K1l2M3n4O5p6Q7r8"
AT = datetime(2026, 11, 21, 12, tzinfo=UTC)


@pytest.fixture
def memory(opened):
    return opened(plugins={**NO_PLUGINS, "redaction": PluginConfig(enabled=True)})


def everything(folder) -> str:
    """Names and bytes of all files."""
    paths = [Path(at, name) for at, _, names in os.walk(folder) for name in names]
    return "\n".join(f"{path}\n{path.read_bytes().decode('latin-1')}" for path in paths)


def said(message_id: str, text: str = "Deploy it", **more) -> Message:
    return Message(role="user", text=text, at=AT, id=message_id, tokens=1, **more)


def test_extend__message_id_holds_a_secret__masked_and_known_again(memory, project):
    session = memory.session("one")
    assert session.extend([said(f"call-{SECRET}"), said("plain")]) == 2
    assert session.extend([said(f"call-{SECRET}"), said("plain")]) == 0
    assert session.extend([said(f"call-{SECRET}"), said(f"call-{SECRET}")]) == 0
    assert SECRET not in everything(project)
    assert "plain" in {m.id for m in session.messages}


def test_import_transcript__ids_and_branch_hold_a_secret__stored_masked_once(memory, project):
    transcript = Transcript(
        format="claude-code",
        session_id=f"s-{SECRET}",
        branch=f"fix/{SECRET}",
        messages=(said(f"m-{SECRET}", tool=f"run {SECRET}"),),
        kept=(said(f"m-{SECRET}", tool=f"run {SECRET}"),),
    )
    for _ in range(2):
        session = memory.import_transcript(transcript)
        session.flush()
    assert len(session.messages) == 1
    assert SECRET not in everything(project)
    assert all(SECRET not in one for one in memory.sessions())
