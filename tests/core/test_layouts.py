"""Where each surface lives: the presets, what users may change, and which knowledge belongs where."""

from datetime import date
from pathlib import Path

import pytest
from tests.support.trusting import trusted

from holdfast.api import Category, Holdfast
from holdfast.config.layout import Layout, Surface
from holdfast_app.curated.layers import Horizon, layers, route

NO_PLUGINS = "[plugins.curated]\nenabled = false\n[plugins.offline]\nenabled = false\n"
DAY = date(2026, 11, 21)
CURATED_DECISION = {"memory": ["Python 3.11 is the minimum"], "user": ["Prefers short answers"]}


def documents(project: Path) -> set[str]:
    found = {p.relative_to(project).as_posix() for p in project.rglob("*") if p.is_file()}
    return {name for name in found if "/state/" not in name and name != "holdfast.toml"}


ROOTS = """
[layout.roots]
curated = "config"
home = "home/agent"
[layout.documents]
daily = "{home}/log/{date}-notes.md"
handoff = "{home}/next.md"
"""


@pytest.mark.req("R075", "R076", "R079", "R080")
@pytest.mark.parametrize(
    ("settings", "config", "home", "note", "handoff"),
    [
        ("", "timmy-config", "timmy-home", "daily-notes/2026-11-21.md", "continuity/active.md"),
        (ROOTS, "config", "home/agent", "log/2026-11-21-notes.md", "next.md"),
    ],
    ids=["timmy", "users own"],
)
def test_layout__a_flush__curated_and_lived_artifacts_are_under_their_own_roots(
    project, clock, payload, settings, config, home, note, handoff
):
    trusted(project, f'zone = "UTC"\n[layout]\npreset = "timmy"\n{settings}\n{NO_PLUGINS}')
    with Holdfast.open(project, clock=clock) as memory:
        memory.session("s").flush(payload(curated=CURATED_DECISION))
        assert documents(project) == {
            *(f"{config}/memories/{name}" for name in ("MEMORY.md", "USER.md", "facts.jsonl")),
            *(f"{home}/{name}" for name in (note, "daily-summaries/2026-11-21.md", handoff)),
        }
        assert memory.load().pointers[0] == f"{home}/{handoff}"
        assert [name for name, _ in memory.load().notes] == [f"{home}/{note}"]
        before = (project / home / note).read_bytes()
        memory.session("s").flush(payload(objective="more"))
        assert (project / home / note).read_bytes().startswith(before)


@pytest.mark.req("R089", "R090", "R091", "R092", "R093", "R095")
@pytest.mark.parametrize(
    ("surface", "owner", "audience", "word"),
    [
        (Surface.MEMORY, "timmy-config", "agent-facing", "Curated durable world-state"),
        (Surface.USER, "timmy-config", "agent-facing", "Curated operator profile"),
        (Surface.DAILY, "timmy-home", "operator-facing first, agent-readable second", "Append-only chronological log"),
        (Surface.HEARTBEAT, "timmy-home", "agent-facing first, operator-inspectable", "made by automation"),
        (Surface.BRIEFING, "timmy-home", "agent-facing first, operator-inspectable", "made by automation"),
        (Surface.HANDOFF, "timmy-home", "agent-facing", "Compact current state of unfinished work"),
        (Surface.REPORT, "derived", "operator-facing", "Digest of the day"),
        (Surface.TRAIL, "forge", "operator-facing and agent-facing", "Execution truth"),
    ],
)
def test_layers__of_the_doctrine__tell_owner_audience_and_role(surface, owner, audience, word):
    [layer] = [layer for layer in layers(Layout(preset="timmy")) if layer.surface is surface]
    assert (layer.owner, layer.audience) == (owner, audience)
    assert word in layer.role
    assert layer.name == Layout(preset="timmy").name(surface, DAY).replace("2026-11-21", "YYYY-MM-DD")


@pytest.mark.req("R105", "R106", "R107", "R100", "R151", "R152", "R153", "R157", "R104")
@pytest.mark.parametrize("category", list(Category))
@pytest.mark.parametrize("validated", [True, False])
@pytest.mark.parametrize("horizon", list(Horizon))
def test_route__a_fact__is_curated_only_when_standing_and_validated(horizon, category, validated):
    curated = Surface.MEMORY if category in ("knowledge", "context") else Surface.USER
    wanted = curated if horizon is Horizon.STANDING and validated else Surface.DAILY
    assert route(horizon, category=category, validated=validated) is wanted
