"""Nothing unredacted reaches the disk, a log or an error: every byte that every way of writing left behind is read."""

from __future__ import annotations

import json
import logging
from collections.abc import Iterator
from pathlib import Path

import pytest

from holdfast import FlushRefused, Holdfast, HoldfastError, Payload, hookimpl
from holdfast.config import Config, StorageConfig
from holdfast.models import Extraction

#: Put together here, so that no secret lies in the repository.
SECRETS = {
    "github": "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8",
    "aws": "AKIA" + "QYLPMN5HHHFPZAM2",
    "stripe": "sk_live_" + "51H8xYzAbCdEfGhIjKlMnOpQr",
    "assigned": "Tr0ub4dor" + "-and-3-horses",
    "mail": "maria.keller" + "@kellerwerk.de",
    "card": "4929 1234" + " 5678 9015",
}


def secret_text(what: str) -> str:
    """A sentence for each surface that holds every secret."""
    return (
        f"{what}: token {SECRETS['github']} and {SECRETS['aws']} and {SECRETS['stripe']}; "
        f"db_password = {SECRETS['assigned']}; ask {SECRETS['mail']}, card {SECRETS['card']}"
    )


class Tells:
    """An extractor that repeats what it is shown, as a careless model would."""

    @hookimpl
    def on_extract(self, turns: object) -> Extraction:
        return Extraction(summary=secret_text("summary"), draft=Payload(facts=[secret_text("extracted")]))


class Fails:
    """An extractor whose error quotes what it was shown."""

    @hookimpl
    def on_extract(self, turns: object) -> Extraction:
        raise RuntimeError(secret_text("the model said"))


@pytest.fixture(params=["file", "sqlite"])
def memory(request: pytest.FixtureRequest, project: Path) -> Iterator[Holdfast]:
    config = Config(zone="UTC", storage=StorageConfig(backend=request.param))
    with Holdfast.open(project, config=config, plugins=[("tells", Tells())]) as opened:
        yield opened


def whole_payload() -> Payload:
    """Every field holds every secret."""
    return Payload(
        objective=secret_text("objective"),
        facts=[secret_text("fact")],
        decisions=[secret_text("decision")],
        blockers=[secret_text("blocker")],
        next_step=secret_text("next"),
        artifacts=[f"https://example.org/?token={SECRETS['github']}"],
        follow_ups=[secret_text("follow-up")],
        state_mutations=[{"kind": "status", "target": "owner/repo#1", "summary": secret_text("mutation")}],
        handoff={
            "active_task": secret_text("task"),
            "branch": "main",
            "blocker": secret_text("blocker"),
            "next_action": secret_text("action"),
        },
        curated={"memory": [f"The staging key is {SECRETS['aws']}"], "user": [f"Reach them at {SECRETS['mail']}"]},
    )


def leaks(folder: Path) -> list[str]:
    """``file: kind`` for each secret found in the raw bytes below ``folder``, escaped or not."""
    found = []
    for path in sorted(p for p in folder.rglob("*") if p.is_file()):
        data = path.read_bytes()
        for kind, secret in SECRETS.items():
            forms = (secret.encode(), json.dumps(secret)[1:-1].encode(), secret.encode("utf-16-le"))
            found += [f"{path.relative_to(folder)}: {kind}"] if any(form in data for form in forms) else []
    return found


@pytest.mark.req("R240", "R243")
def test_every_way_of_writing__secrets_given__none_is_on_disk_or_in_a_log(
    memory: Holdfast, project: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    session = memory.session("leaky")
    for role in ("user", "assistant", "system", "tool"):
        session.add(role, secret_text(role), tool=f"curl {SECRETS['github']}" if role == "tool" else "")
    session.flush()
    session.add("user", secret_text("again"))
    session.compact(keep_last=1, payload=whole_payload())
    memory.facts.create(secret_text("a fact"), "knowledge", confidence=0.9, source=secret_text("source"))
    session.hand_over(f"agent {SECRETS['mail']}", whole_payload())
    session.end()

    assert leaks(project) == []
    assert not [s for s in SECRETS.values() if s in caplog.text]
    text = "\n".join(document.text for name in memory.store.names() if (document := memory.store.read(name)))
    assert "[REDACTED:github-token:" in text, "the texts themselves were kept"
    assert not [s for s in SECRETS.values() if s in str(memory.load()) + str(memory.report())]


@pytest.mark.req("R240")
def test_failures__secrets_given__none_is_in_an_error_a_marker_or_a_log(
    memory: Holdfast, project: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    memory.services.dispatch.register(Fails(), "fails")
    session = memory.session("failing")
    session.add("user", secret_text("said"))
    told: list[str] = []
    if memory.config.storage.backend == "file":
        (project / ".holdfast" / "memory").write_text("not a folder")
    for attempt in (
        lambda: session.compact(0, whole_payload()),
        lambda: session.flush(whole_payload().evolve(artifacts=(f"/srv/{SECRETS['github']}",))),
        lambda: session.flush(Payload(objective=secret_text("alone"))),
    ):
        try:
            told += [str(getattr(attempt(), "warnings", ""))]
        except (FlushRefused, HoldfastError) as error:
            told += [str(error), repr(error)]
    session.override(secret_text("reason"))
    told += [str(memory.unsafe())]

    assert leaks(project) == []
    assert not [s for s in SECRETS.values() if s in caplog.text + "\n".join(told)]


@pytest.mark.req("R240")
def test_transcript__with_secrets__is_journalled_without_them(memory: Holdfast, project: Path, tmp_path: Path) -> None:
    from holdfast.transcripts import read

    path = tmp_path / "messages.jsonl"
    path.write_text(json.dumps({"role": "user", "content": secret_text("pasted")}) + "\n", encoding="utf-8")
    memory.import_transcript(read(path), "imported").flush()
    assert leaks(project) == []
