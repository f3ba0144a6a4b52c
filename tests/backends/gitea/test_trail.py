"""The execution trail on the fake server: each change of state leaves one verified comment, whatever goes wrong."""

import json
import re
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC
from typing import Any

import pytest
from tests.support import processes
from tests.support.gitea.fake_server import FakeServer
from tests.support.gitea.faults import FAULTS, KINDS, SLOW_S, FaultProxy
from tests.support.stated import done
from tests.support.trusting import trusted

from holdfast.api import Holdfast, MutationKind, Payload
from holdfast.config.serde import unstructure
from holdfast.plugin import discovery
from holdfast_app.outbox.forge import Forge
from holdfast_app.records.blocks import blocks
from holdfast_cli import main
from holdfast_gitea import marker, trail

REPO = "acme/shop"
WORK = f"{REPO}#1"


def changed(*mutations: tuple[str, str] | tuple[str, str, str], objective: str = "Ship it") -> Payload:
    """A whole payload; a mutation is ``(target, summary)`` or ``(target, summary, kind)``."""
    tables = [{"target": m[0], "summary": m[1], "kind": m[2] if len(m) == 3 else "status"} for m in mutations]
    return Payload(**done(objective, state_mutations=tables))


@pytest.fixture
def gitea(clock) -> Iterator[FakeServer]:
    with FakeServer(clock=lambda: clock().timestamp()) as running:
        running.make_repo(REPO)
        running.make_issue(REPO, "Webhooks are delivered twice", poster="ana")
        running.make_issue(REPO, "Another one", poster="ana")
        yield running


def flushed(memory: Holdfast, payload: Payload, session: str = "s") -> Any:
    one = memory.session(session)
    one.add("user", "hello")
    return one.flush(payload)


def summaries(bodies: list[str]) -> list[str]:
    return [body.split("\n", 1)[0] for body in bodies]


@pytest.mark.req("R077", "R095", "R141")
@pytest.mark.parametrize("kind", MutationKind)
def test_flush__each_kind_of_mutation__leaves_a_readable_verified_comment(gitea, with_trail, kind):
    receipt = flushed(with_trail(), changed((WORK, "what happened, see #2; thanks, @ana", kind)))
    [(number, body)] = gitea.comments(REPO, 1)
    *told, last = body.split("\n")
    assert told[0] == f"**{kind}**: what happened, see `#2`; thanks, `@ana`"
    assert "`memory/2026-11-21.md`" in body
    assert f"block `{receipt.flush_id}`" in body
    assert marker.fields(last) == {"id": marker.fields(last)["id"], "kind": "trail", "flush": receipt.flush_id}
    assert "<!--" not in "\n".join(told)
    [proof] = receipt.evidence
    assert (proof.target, proof.published, proof.read_back) == (WORK, body, body)
    assert proof.pointer == f"{gitea.url}/{REPO}/issues/1#issuecomment-{number}"
    assert (receipt.pending, receipt.warnings) == (0, ())


@pytest.mark.req("R141", "R149", "R174")
def test_flush__server_down_then_back__degraded_then_published_once_by_the_next_flush(
    gitea, with_trail, clock, project
):
    gitea.down()
    memory = with_trail()
    receipt = flushed(memory, changed((WORK, "in review")))
    assert (receipt.pending, receipt.degraded, memory.session("s").unsafe) == (1, True, False)
    assert "cannot be reached" in receipt.warnings[0]
    assert f"Check the address {gitea.url} and the network" in receipt.warnings[0]
    assert f"{WORK}: in review" in (project / ".holdfast/memory/summaries/2026-11-21.md").read_text()
    gitea.up()
    clock.tick(minutes=1)
    assert flushed(memory, changed(objective="Another")).pending == 0
    assert summaries(gitea.bodies(REPO, 1)) == ["**status**: in review"]


def _locked(gitea: FakeServer) -> None:
    gitea.lock(REPO, 1)
    gitea.world.repo(REPO).rights[gitea.user] = "read"


@pytest.mark.req("R149")
@pytest.mark.parametrize(
    ("spoil", "next_step"),
    [
        (lambda g: "0123456789abcdef", "and set HOLDFAST_GITEA_TOKEN."),
        (lambda gitea: gitea.make_token(gitea.user, ["read:issue"]), "write:issue"),
        (lambda gitea: gitea.archive(REPO), "Unarchive it"),
        (_locked, "Unlock the conversation"),
        (lambda g: g.rename(REPO, "store"), 'repository = "acme/store"` in `[plugins.gitea_trail]`'),
        (lambda g: g.delete_repo(REPO), "repository's name"),
        (lambda g: g.delete_issue(REPO, 1), "It was deleted on the server, or the number is wrong: correct it with"),
        (lambda g: "", "holdfast auth set gitea"),
    ],
    ids=["wrong token", "no scope", "archived", "locked", "renamed", "deleted", "issue deleted", "no token"],
)
def test_flush__a_person_has_to_do_something__not_blocked_and_told_what_everywhere(
    gitea, with_trail, spoil, next_step, monkeypatch, project, capsys
):
    token = spoil(gitea)
    if isinstance(token, str):
        monkeypatch.setenv("HOLDFAST_GITEA_TOKEN", token)
    memory = with_trail()
    receipt = flushed(memory, changed((WORK, "in review")))
    assert (receipt.pending, memory.session("s").unsafe) == (1, False)
    assert next_step in receipt.warnings[0]
    for command in ("status", "doctor", "outbox", "report"):
        main(["--root", str(project), command])
        assert next_step.split("`")[0] in " ".join(capsys.readouterr().out.split()), command


@pytest.mark.req("R149")
@pytest.mark.parametrize(
    ("name", "method", "nth"), [*((n, "POST", 1) for n in KINDS), ("answer lost", "GET", 1), ("answer lost", "GET", 2)]
)
def test_flush__any_fault_at_any_request__nothing_lost_nothing_twice_and_in_order(
    gitea, with_trail, clock, monkeypatch, name, method, nth
):
    monkeypatch.setattr(trail, "PATIENCE_S", 0.1)  # no second try within the call: all the harder
    with FaultProxy(gitea.url) as proxy:
        memory = with_trail(server=proxy.url, timeout_s=SLOW_S / 2)
        proxy.spoil(method, "/comments", FAULTS[name], nth=nth)
        for number in range(2):
            flushed(memory, changed((WORK, f"step {number}"), objective=str(number)))
        assert proxy.spoilt == [name]
        proxy.heal()
        assert all(one.evidence for one in memory.outbox.send())
    assert memory.outbox.items() == []
    first: dict[str, str] = {}
    for body in gitea.bodies(REPO, 1):  # readers take the first comment of equal ids
        first.setdefault((marker.fields(body) or {})["id"], body)
    assert summaries(list(first.values())) == [f"**status**: step {n}" for n in range(2)]


def test_flush__many_processes_on_one_issue__every_comment_is_there_once(gitea, with_trail, project):
    off = "".join(f"[plugins.{name}]\nenabled = false\n" for name in discovery.defaults())
    (project / "holdfast.toml").write_text(
        f'{off}[plugins.gitea_trail]\nserver = "{gitea.url}"\nrepository = "{REPO}"\n', encoding="utf-8"
    )
    trusted(project)

    def flushes(session: int) -> None:
        for number in range(2):
            stated = json.dumps(unstructure(changed((WORK, f"{session}.{number}"), objective=f"{session}.{number}")))
            assert processes.run("flush", "--session", f"{session}", cwd=project, data=stated).returncode == 0

    with ThreadPoolExecutor(2) as pool:
        list(pool.map(flushes, range(2)))
    with_trail().outbox.send()
    told = summaries(gitea.bodies(REPO, 1))
    assert sorted(told) == [f"**status**: {session}.{n}" for session in range(2) for n in range(2)]
    for session in range(2):
        of_it = [text for text in told if text.startswith(f"**status**: {session}.")]
        assert of_it == sorted(of_it)


@pytest.mark.req("R160", "R095", "R077")
def test_timeline__rebuilt_from_notes_and_forge_alone__is_what_was_recorded(gitea, with_trail, clock, project):
    """After compaction, without journals, handoff, summaries or any transcript."""
    recorded = []
    memory = with_trail()
    session = memory.session("s")
    for number, kind in enumerate(MutationKind):
        session.add("user", f"please do {number}")
        target = f"{REPO}#{number % 2 + 1}"
        session.compact(0, changed((target, f"event {number}", kind), objective=f"Step {number}"))
        recorded.append((clock().astimezone(UTC), f"Step {number}", kind, target, f"event {number}"))
        clock.tick(hours=7)
    kept = {*(project / ".holdfast/memory").glob("*.md")}
    for path in [p for p in project.rglob("*") if p.is_file() and p not in kept]:
        path.unlink()
    memory = with_trail()
    told = {}
    for path in sorted(kept):
        for block in blocks(path.read_text()):
            told[block.id] = (block.at, block.objective)
    [forge] = memory.services.plugins.implementations_of(Forge).values()
    seen = [a for a in forge.activity(recorded[0][0], clock()) if a.kind == "comment"]
    rebuilt = []
    for one in seen:
        comment = int(one.pointer.rsplit("-", 1)[1])
        fields = marker.fields(dict(gitea.comments(REPO, int(one.target.split("#")[1])))[comment])
        kind, text = re.fullmatch(r"\*\*(\w+)\*\*: (.*)", one.text).groups()
        rebuilt.append((*told[fields["flush"]], kind, one.target, text))
    assert rebuilt == recorded


@pytest.mark.parametrize("later", ["the same flush again", "another flush"])
def test_comment__written_twice_by_a_late_504__is_found_and_one_is_deleted(gitea, with_trail, later):
    memory = with_trail()
    flushed(memory, changed((WORK, "in review")))
    twice = gitea.bodies(REPO, 1)[0]
    gitea.make_comment(REPO, 1, twice)  # the proxy gave up, the server wrote it all the same
    gitea.make_comment(REPO, 1, twice, poster="ana")  # a person's quotation stays
    session = "s" if later == "the same flush again" else "t"
    flushed(memory, changed((WORK, "merged")), session)
    assert gitea.bodies(REPO, 1).count(twice) == 2
    assert len(gitea.bodies(REPO, 1)) == 3
