"""What waits to be published: nothing is lost, sent twice or overtaken, and no flush waits for long."""

import json
import sys
import threading
from collections.abc import Callable
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from itertools import product
from pathlib import Path
from random import Random

import pytest
from tests.simulation.history import plugins
from tests.simulation.world import ROOT, Dead, Process, World

from holdfast.api import Evidence, Holdfast, PluginContext, hookimpl
from holdfast.errors import BadValue, FlushRefused, NotFound, StorageError, Unavailable
from holdfast_app.outbox.checks import checks
from holdfast_app.outbox.forge import Activity, Forge, Post
from holdfast_app.outbox.outbox import Item, Outbox
from holdfast_cli import main
from holdfast_cli.saving import show_receipt as show
from holdfast_cli.terminal import Term

NOW = datetime(2026, 11, 21, 14, 30, tzinfo=UTC)
DOWN = Unavailable("The board is down.", next_step="Wait for it.")


class Board(Forge):
    """A forge that is a file: one line of JSON a comment. ``trouble(item)`` runs before it, ``after(item)`` behind."""

    title = "the board"

    def __init__(self, project: Path, name: str = "test0") -> None:
        super().__init__(PluginContext(name, {}, str(project), str(project / ".holdfast" / "state")))
        self.file = project / "board.jsonl"
        self.trouble: Callable[[Item], object] = lambda item: None
        self.after: Callable[[Item], object] = lambda item: None
        self.asked = 0

    @hookimpl
    def on_flush(self, payload, receipt):
        return self.publish([Post(m.target, m.summary) for m in payload.state_mutations], receipt)

    def comments(self) -> list[dict[str, str]]:
        return [json.loads(line) for line in self.file.read_text().splitlines()] if self.file.exists() else []

    def bodies(self, target: str = "o/r#1") -> list[str]:
        return [c["body"] for c in self.comments() if c["target"] == target]

    def send(self, item):
        self.asked += 1
        self.trouble(item)
        if all(c["id"] != item.id for c in self.comments()):
            with self.file.open("a") as file:
                file.write(json.dumps({"id": item.id, "target": item.target, "body": item.body}) + "\n")
        self.after(item)
        there = next(c["body"] for c in self.comments() if c["id"] == item.id)
        return Evidence(target=item.target, pointer="board.jsonl", published=item.body, read_back=there)

    def activity(self, since, until):
        return [Activity("comment", c["target"], "board.jsonl", c["body"], since) for c in self.comments()]

    def is_down(self, item: Item) -> None:
        raise DOWN


@pytest.fixture
def board(project) -> Board:
    return Board(project)


@pytest.fixture
def mutating(payload):
    """``mutating("a", "b")``: a whole payload that changes the state of each of ``targets``."""

    def make(*summaries: str, target: str = "o/r#1"):
        return payload(
            objective=" ".join(summaries),
            state_mutations=[{"kind": "status", "target": target, "summary": s} for s in summaries],
        )

    return make


def said(memory: Holdfast, text: str = "hello", session: str = "s"):
    one = memory.session(session)
    one.add("user", text)
    return one


def item(number: int, target: str = "o/r#1", plugin: str = "p", due: datetime = NOW) -> Item:
    return Item(id=f"{number:06d}", plugin=plugin, flush="f", target=target, body=str(number), at=NOW, due=due)


def sender(published: list[str], trouble: Callable[[Item], object] = lambda item: None):
    def send(one: Item) -> Evidence:
        trouble(one)
        if one.id not in published:
            published.append(one.id)
        return Evidence(target=one.target, pointer="x", published=one.body, read_back=one.body)

    return send


@pytest.mark.req("R077", "R141")
def test_flush__state_changed__is_published_and_verified_and_nothing_waits(opened, board, mutating):
    memory = opened(board)
    receipt = said(memory).flush(mutating("in review", "approved"))
    both = "in review\n\napproved"  # on one target one comment
    assert board.bodies() == [both]
    assert [(e.target, e.pointer, e.published) for e in receipt.evidence] == [("o/r#1", "board.jsonl", both)]
    assert (receipt.pending, receipt.degraded, memory.outbox.items()) == (0, False, [])


@pytest.mark.req("R141")
def test_flush__forge_refuses_the_first_of_two_targets__the_second_says_that_it_was_not_tried(
    opened, board, payload, capsys
):
    board.trouble = board.is_down
    changes = [{"kind": "status", "target": f"o/r#{number}", "summary": "in review"} for number in (1, 2)]
    receipt = said(opened(board)).flush(payload(state_mutations=changes))
    assert board.asked == 1
    assert receipt.warnings == (
        "o/r#1: The board is down. Wait for it.",
        "o/r#2: Not tried yet, because earlier items failed.",
    )
    show(Term(), receipt, now=NOW)
    assert "until then the daily summary lists them." in " ".join(capsys.readouterr().out.split())


def test_forge__faults_of_its_author__are_named_and_hold_up_nobody_else(opened, board, mutating, project, monkeypatch):
    monkeypatch.setattr(board, "send", lambda item: None)  # a forgotten return
    monkeypatch.setattr(board, "check", lambda: 1 // 0)
    memory = opened(board, Board(project, "test1"))
    receipt = said(memory).flush(mutating("in review"))
    assert "o/r#1: The plugin 'test0' failed: AttributeError. Report it to its author." in receipt.warnings
    told = {check.name: check.message for check in checks(memory)}
    assert (told["test0"], told["test1"]) == ("The plugin 'test0' failed: ZeroDivisionError.", "enabled")


@pytest.mark.req("R141", "R149")
def test_flush__outbox_cannot_be_written__is_blocked_and_the_retry_completes_once(
    opened, board, mutating, project, note
):
    board.trouble = board.is_down
    memory = opened(board)
    session = said(memory)
    (project / ".holdfast/state/outbox.jsonl").mkdir(parents=True)
    with pytest.raises(FlushRefused, match=r"outbox\.jsonl"):
        session.compact(0, mutating("in review"))
    assert (session.unsafe, len(session.messages)) == (True, 1)
    (project / ".holdfast/state/outbox.jsonl").rmdir()
    assert session.compact(0, mutating("in review")) == []
    assert (memory.outbox.items()[0].body, note().count("holdfast:block")) == ("in review", 1)


def test_flush__forge_hangs__goes_on_and_what_it_does_later_is_done_once(opened, board, mutating, monkeypatch):
    monkeypatch.setattr("holdfast_app.outbox.forge.FLUSH_LIMIT_S", 0.3)
    monkeypatch.setattr("holdfast.flush.verify.FLUSH_LIMIT_S", 0.3)
    go = threading.Event()
    board.trouble = lambda one: go.wait(20)
    memory = opened(board)
    receipt = said(memory).flush(mutating("in review"))
    assert receipt.pending == 1
    assert "the board had not answered after 0.3 s." in receipt.warnings[0]
    assert memory.outbox.send(limit_s=0.1)[0].evidence is None  # nobody else sends while it is under way
    go.set()
    with Outbox(memory.services.state).sending(timeout_s=20):
        assert board.asked == 1
    assert (memory.outbox.items(), board.bodies()) == ([], ["in review"])


def test_session__begun_by_another_process__sends_what_is_due(opened, board, mutating, clock, project):
    board.trouble = board.is_down
    said(opened(board)).flush(mutating("in review"))
    clock.tick(minutes=1)
    other = Board(project)
    opened(other).session("another").add("user", "hello")
    assert other.bodies() == [], "to use a session sends nothing"
    opened(other).begin("another")
    assert other.bodies() == ["in review"]


@pytest.mark.req("R149")
@pytest.mark.skipif(sys.platform == "win32", reason="the simulation's disk is a POSIX one")
@pytest.mark.filterwarnings("ignore:Exception in thread holdfast-outbox")
@pytest.mark.parametrize("way", ["kill", "cut", "fault"])
def test_outbox__broken_at_each_change_of_the_disk__nothing_lost_nothing_twice(way):
    items = [item(1), item(2), item(3, "o/r#2")]
    for at, chance in product(range(1, 200), range(4)):
        world, published, was_put = World(Random(at + 1000 * chance), plugins()), list[str](), False
        world.break_at(at, way)
        send = {"p": sender(published)}
        with world.installed():
            outbox = Outbox(f"{ROOT}/state")
            with suppress(Dead, Unavailable):
                outbox.put(items)
                was_put = True
                outbox.send(send, now=NOW, limit_s=60)
            world.mend()
            if way == "cut":
                world.cut_power()
            world.running = Process(2, timedelta())
            outbox = Outbox(f"{ROOT}/state")
            assert len({*published, *(one.id for one in outbox.items())}) == 3 or not was_put
            outbox.put(items)  # as the retried flush does
            if chance:
                world.cut_power()
                outbox = Outbox(f"{ROOT}/state")
            outbox.send(send, now=NOW, limit_s=60, even_if_not_due=True)
            assert (outbox.items(), sorted(published)) == ([], [one.id for one in items])
            assert published.index("000001") < published.index("000002")
        if not world.hit:
            break
    assert at > 20


@pytest.fixture
def outbox(tmp_path) -> Outbox:
    return Outbox(str(tmp_path / "state"))


@pytest.mark.parametrize("damage", [b"{torn", b"not json\n", b'{"id":"x"}\n'])
def test_line__damaged__is_shown_kept_and_holds_nobody_up(outbox, tmp_path, damage):
    path = tmp_path / "state/outbox.jsonl"
    outbox.put([item(1)])
    path.write_bytes(path.read_bytes() + damage)
    published: list[str] = []
    outbox.put([item(2)])
    outbox.send({"p": sender(published)}, now=NOW, limit_s=5)
    [broken] = outbox.items()
    assert (published, broken.is_damaged, path.read_bytes().strip()) == (["000001", "000002"], True, damage.strip())
    outbox.remove(broken.id)
    assert not path.exists()


def test_drop__with_a_reason__is_out_and_the_daily_note_tells_it(opened, board, mutating, note):
    board.trouble = board.is_down
    memory = opened(board)
    said(memory).flush(mutating("in review"))
    [waiting] = memory.outbox.items()
    with pytest.raises(BadValue, match="blank"):
        memory.outbox.drop(waiting.id, " ")
    memory.outbox.drop(waiting.id[:8], "The issue <!-- is -->\ngone")
    assert (memory.outbox.items(), board.bodies()) == ([], [])
    told = "- Decision: the comment of 2026-11-21 14:30 on o/r#1 is not published: The issue &lt;!-- is --> gone"
    assert told in note()
    assert "is not published: The issue" in str(memory.report())
    with pytest.raises(NotFound):
        memory.outbox.drop(waiting.id, "again")


@pytest.mark.parametrize("then", ["waits", "dropped", "sent"])
def test_purge__of_a_session__takes_its_comments_out_and_names_where_they_may_stand(opened, board, mutating, then):
    board.trouble = board.is_down
    memory = opened(board)
    said(memory).flush(mutating("in review"))
    if then == "dropped":
        memory.outbox.drop(memory.outbox.items()[0].id, "not needed")
    elif then == "sent":
        board.trouble = lambda one: None
        memory.outbox.send()
    report = memory.purge(session="s")
    assert (report.left, report.elsewhere) == ((), ("o/r#1",))
    assert memory.outbox.items() == []
    assert memory.validate().errors == ()


def test_flush__an_earlier_item_of_the_target_fails__the_later_one_says_that_it_waits_behind_it(
    opened, board, mutating
):
    def refuses_the_first(one: Item) -> None:
        if one.body == "first":
            raise StorageError("The issue is locked.", next_step="Unlock it.")

    board.trouble = refuses_the_first
    session = said(opened(board))
    session.flush(mutating("first"))
    session.add("user", "more")
    [evidence] = session.flush(mutating("second")).evidence
    first, second = opened(board).outbox.items()
    assert evidence.note.startswith(f"It waits for an earlier item on the same target, {first.id[:16]}.")
    assert "The issue is locked." in evidence.note
    assert (second.error, second.next_step) == (evidence.note.removesuffix(" Unlock it."), "Unlock it.")


@pytest.mark.parametrize(
    ("old", "new", "targets"),
    [("o/r", "o/new", ["o/new#1", "o/new#2", "o/rest#1"]), ("O/R#1", "o/new#9", ["o/new#9", "o/r#2", "o/rest#1"])],
)
def test_command__retarget__items_follow_a_renamed_repository(waiting, project, capsys, old, new, targets):
    waiting.put([item(3, "o/rest#1")])
    before = [(one.id, one.body) for one in waiting.items()]
    assert main(["--root", str(project), "outbox", "retarget", old, new]) == 0
    assert new in capsys.readouterr().out
    assert [one.target for one in waiting.items()] == targets
    assert [(one.id, one.body) for one in waiting.items()] == before


@pytest.fixture
def waiting(project) -> Outbox:
    """A project in which something waits for a plugin that is not enabled."""
    outbox = Outbox(str(project / ".holdfast/state"))
    outbox.put([item(1), item(2, "o/r#2")])
    return outbox


def test_command__list_and_send__show_what_waits_and_why(waiting, project, capsys):
    assert main(["--root", str(project), "outbox"]) == 0
    shown = capsys.readouterr().out
    assert "o/r#1" in shown
    assert "2 items waiting; `holdfast outbox send` tries now" in shown
    assert main(["--root", str(project), "outbox", "list", "--json"]) == 0
    table = json.loads(capsys.readouterr().out)
    assert (table["pending"], [i["target"] for i in table["items"]]) == (2, ["o/r#1", "o/r#2"])
    assert main(["--root", str(project), "outbox", "send", "--json"]) == 1
    results = json.loads(capsys.readouterr().out)["results"]
    assert [result["sent"] for result in results] == [False, False]
    assert "The plugin 'p' is not working." in results[0]["error"]
