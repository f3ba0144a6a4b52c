"""Acme's own tests: the plugin alone, and in an opened project, without being installed."""

from __future__ import annotations

from pathlib import Path

import pytest
from holdfast_acme import Acme

from holdfast.api import ConfigError, FlushRefused, Holdfast, Payload, PluginContext, ValidationRequest

DONE = {
    "facts": [],
    "decisions": [],
    "blockers": [],
    "next_step": "none",
    "artifacts": [],
    "follow_ups": [],
    "state_mutations": [],
    "curated": "none",
}


def acme(root: Path) -> Acme:
    return Acme(context=PluginContext("acme", {"codenames": ["Bluebird"]}, str(root), ""))


@pytest.mark.parametrize(("text", "lines"), [("Ship it", []), ("ok\nbluebird and Bluebird", [2, 2]), ("Bluebirds", [])])
def test_on_validate__text__one_finding_for_each_codename(tmp_path: Path, text: str, lines: list[int]) -> None:
    found = acme(tmp_path).on_validate(ValidationRequest("daily", "memory/2026-11-21.md", text))
    assert [f.line for f in found] == lines
    assert all(f.replacement is None for f in found)


@pytest.mark.parametrize("settings", [{"codename": ["x"]}, {"codenames": "x"}, {"folder": 3}])
def test_settings__not_usable__config_error(tmp_path: Path, settings: dict[str, object]) -> None:
    with pytest.raises(ConfigError, match=r"plugins\.acme"):
        Acme(context=PluginContext("acme", settings, str(tmp_path), ""))


def test_flush__in_a_project__is_published(tmp_path: Path) -> None:
    with Holdfast.open(tmp_path, plugins=[("acme", acme(tmp_path))]) as memory:
        receipt = memory.session("s").flush(Payload(objective="Fix the login", **DONE))
    assert (tmp_path / receipt.evidence[0].pointer).read_text(encoding="utf-8").startswith("Fix the login\n")


def test_flush__payload_with_a_codename__is_refused(tmp_path: Path) -> None:
    with Holdfast.open(tmp_path, plugins=[("acme", acme(tmp_path))]) as memory:
        session = memory.session("s")
        with pytest.raises(FlushRefused, match="acme-codename"):
            session.flush(Payload(objective="Launch Bluebird", **DONE))
        assert session.unsafe
    assert not (tmp_path / "published").exists()


def test_flush__ticket_named_and_then_not__is_the_objective_while_its_work_is_open(tmp_path: Path) -> None:
    with Holdfast.open(tmp_path, plugins=[("acme", acme(tmp_path))]) as memory:
        session = memory.session("s")
        for text, objective in (
            ("Fix ACME-12 and ACME-14", "ACME-14"),
            ("Look at the logs, too", "ACME-14"),
            ("Now ACME-7", "ACME-7"),
        ):
            session.add("user", text)
            session.flush()
            assert memory.load().work[0].objective == objective
