"""Nothing unredacted reaches the disk, a log or an error: every byte that every way of writing left behind is read."""

import logging
from collections.abc import Iterator

import pytest
from tests.support.leaks import SECRETS, Fails, Tells, leaks, secret_text, whole_payload, write_everything

from holdfast.api import FlushRefused, Holdfast, HoldfastError, Payload, StorageConfig
from holdfast_app.config import Config


@pytest.fixture(params=["file", "sqlite"])
def memory(request, project) -> Iterator[Holdfast]:
    config = Config(zone="UTC", storage=StorageConfig(backend=request.param))
    with Holdfast.open(project, config=config, plugins=[("tells", Tells())]) as opened:
        yield opened


@pytest.mark.req("R240", "R243")
def test_every_way_of_writing__secrets_given__none_is_on_disk_or_in_a_log(memory, project, caplog):
    caplog.set_level(logging.DEBUG)
    write_everything(memory)

    assert leaks(project) == []
    assert not [s for s in SECRETS.values() if s in caplog.text]
    text = "\n".join(document.text for name in memory.store.names() if (document := memory.store.read(name)))
    assert "[REDACTED:github-token:" in text, "the texts themselves were kept"
    assert not [s for s in SECRETS.values() if s in str(memory.load()) + str(memory.report())]


@pytest.mark.req("R240")
def test_failures__secrets_given__none_is_in_an_error_a_marker_or_a_log(memory, project, caplog):
    caplog.set_level(logging.DEBUG)
    memory.services.plugins.register(Fails(), "fails")
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
