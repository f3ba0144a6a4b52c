"""The context tier. messages, tokens, the running summary, and the ways out that all lead through the flush."""

import sys
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext
from datetime import UTC, datetime, timedelta, timezone

import pytest
from tests.support.processes import finished
from tests.support.trusting import trusted

from holdfast.api import BadValue, Extraction, FlushRefused, Holdfast, Message, NothingToFlush, Unavailable, hookimpl
from holdfast.journal.safety import State
from holdfast.text.humanize import tokens
from holdfast_app.sessions import rewriting
from holdfast_app.workflow.three import Deliverable

NOW = datetime(2026, 6, 1, tzinfo=UTC)
FAR = datetime(9999, 12, 31, 23, tzinfo=timezone(timedelta(hours=-12)))


def talk(session, *texts: str) -> None:
    for number, text in enumerate(texts):
        session.add("assistant" if number % 2 else "user", text)


@pytest.mark.req("R001")
def test_tiers__one_run_and_a_new_process__context_is_gone_daily_and_core_stay(opened, note, payload, project):
    session = (memory := opened()).session("s")
    talk(session, "hello", "hi")
    session.end(payload(curated={"memory": ["Python 3.11 is the minimum"]}))
    memory.close()
    with pytest.raises(Unavailable, match=r"The project was closed\. Open it again"):
        memory.facts.list()
    again = opened()
    assert again.session("s").messages == []
    assert "## Session Notes (14:30)" in note()
    assert again.load().memory == "# Memory\n\n- Python 3.11 is the minimum\n"


@pytest.mark.req("R003")
def test_session__messages_added_and_trimmed__token_usage_is_the_counters_sum(opened):
    session = opened().session("s")
    seen = [0]
    for text in ("a" * 40, "b" * 80, "c" * 8):
        session.add("user", text)
        seen.append(session.token_usage)
    assert seen == [0, 10, 30, 32]
    session.add("assistant", "counted elsewhere", tokens=7)
    assert session.token_usage == 39
    kept = session.trim(30)
    assert session.token_usage == 29 == sum(m.tokens for m in kept)


@pytest.mark.req("R004")
def test_summary__flush_and_new_process_before_the_trim__is_not_lost(opened, summarizer):
    first = opened(summarizer).session("s")
    talk(first, "one", "two")
    first.flush()
    assert first.summary == ""
    second = opened(summarizer).session("s")
    second.compact(keep_last=0)
    assert second.summary == opened().session("s").summary == "They said one, two"
    assert summarizer.asked == [["one", "two"]]


@pytest.mark.req("R004", "R030")
def test_summary__after_a_compaction__has_the_last_request_and_what_was_stated(opened, payload):
    stated = payload(facts=["The port is 8080"])
    for given, wanted in ((None, "Also handle Safari"), (stated, "The port is 8080")):
        session = opened().session(wanted)
        talk(session, "Fix the login bug.", "The clock is read twice.", "Also handle Safari.", "Right.", "Go on.")
        session.compact(keep_last=1, payload=given)
        assert wanted in session.with_summary()[0].text


def test_add__others_add_and_rewrite_in_between__knows_what_the_journal_holds(opened):
    """Adds without others' changes in between read nothing back."""
    one, other = opened().session("s"), opened().session("s")
    talk(one, "first", "second")
    talk(other, "from the other")
    talk(one, "third")
    assert [m.text for m in one.messages] == ["first", "second", "from the other", "third"]
    rewriting.rewrite(other.journal, lambda r: {**r, "text": "FIRST"} if r.get("text") == "first" else r, bool)
    talk(one, "fourth")  # the file has the same length as before
    talk(one, "fifth")
    assert [m.text for m in one.messages] == ["FIRST", "second", "from the other", "third", "fourth", "fifth"]
    assert opened().session("s").messages == one.messages


def test_add__many_threads_on_one_session__every_message_once(opened):
    session = opened().session("s")
    with ThreadPoolExecutor(6) as pool:
        list(pool.map(lambda n: [session.add("user", f"{n}.{i}") for i in range(5)], range(6)))
    wanted = sorted(f"{n}.{i}" for n in range(6) for i in range(5))
    assert sorted(m.text for m in session.messages) == wanted
    assert sorted(m.text for m in opened().session("s").messages) == wanted


@pytest.mark.req("R006")
def test_trim__over_budget__block_tells_the_discarded_and_context_keeps_the_rest(opened, note, summarizer):
    session = opened(summarizer).session("s")
    talk(session, "a" * 400, "b" * 40, "c" * 40)
    kept = session.trim(20)
    assert [m.text[0] for m in kept] == ["b", "c"]
    assert [m.text[0] for m in session.messages] == ["b", "c"]
    assert "## Trimmed Context (14:30)" in note()
    assert "They said aaaa" in note()


def test_compact_and_trim__kept_part_would_begin_with_a_tool_result__it_stays_or_goes_with_its_call(opened):
    session = opened().session("s")
    call = "x" * 400
    session.add("user", "go")
    session.add("assistant", call, tool="bash")
    session.add("tool", "a.py", tool="bash")
    session.add("assistant", "done")
    assert [m.text for m in session.compact(keep_last=2)] == [call, "a.py", "done"]
    assert [m.text for m in session.trim(20)] == ["done"]


@pytest.mark.req("R009")
@pytest.mark.parametrize("way", ["end", "compact", "trim", "switch_provider", "flush", "hand_over", "__exit__"])
def test_session__empty__no_way_out_writes_a_document(opened, project, way):
    memory = opened()
    session = memory.session("s")
    arguments = {"trim": (0,), "switch_provider": ("p",), "hand_over": ("a",), "__exit__": (None, None, None)}
    refused = pytest.raises(NothingToFlush, match="'s' is empty")
    with refused if way in ("flush", "hand_over") else nullcontext():
        getattr(session, way)(*arguments.get(way, ()))
    with pytest.raises(BadValue, match="is blank"):
        session.hand_over(" ")
    assert memory.store.names() == []
    assert not list(project.rglob("*.md"))
    assert session.state is State.SAFE


@pytest.mark.req("R071", "R184")
@pytest.mark.parametrize("way", ["compact", "trim", "end", "switch_provider", "hand_over"])
def test_way_out__store_broken__is_refused_and_nothing_is_dropped(opened, project, way):
    session = opened().session("s")
    talk(session, "hello", "hi")
    (project / ".holdfast" / "memory").write_text("in the way")
    arguments = {"compact": (0,), "trim": (0,), "end": (), "switch_provider": ("p",), "hand_over": ("a",)}[way]
    with pytest.raises(FlushRefused) as refused:
        getattr(session, way)(*arguments)
    assert refused.value.next_step
    assert [m.text for m in session.messages] == ["hello", "hi"]
    assert session.state is State.UNSAFE
    assert session.unsafe
    assert (session.provider, session.ended) == ("", False)
    again = opened()
    assert [m.session for m in again.unsafe()] == ["s"]
    assert [m.text for m in again.session("s").messages] == ["hello", "hi"]


@pytest.mark.req("R088", "R184")
@pytest.mark.parametrize("broken", ["memory", "state/unsafe", "state/sessions"])
def test_with__block_raises_and_flush_fails__error_goes_on_with_a_note(opened, project, broken):
    session, path = opened().session("s"), project / ".holdfast" / broken

    def work() -> None:
        with session:
            session.add("user", "hello")
            if path.is_dir():
                path.rename(path.with_name("moved"))
            path.write_text("in the way")
            raise RuntimeError("mine")

    with pytest.raises(RuntimeError, match="mine") as raised:
        work()
    assert "UNSAFE" in raised.value.__notes__[0]
    assert session.unsafe


SCRIPT = """
import sys
from holdfast import Holdfast
from holdfast.hooks import hookimpl
from holdfast.models import Extraction

class Plugin:
    EXTRACTS_AT_ONCE = True
    @hookimpl
    def on_validate(self, request):
        return []
    @hookimpl
    def on_extract(self, turns):
        return Extraction(summary="summed up")

memory = Holdfast.open(sys.argv[1], plugins=[("mine", Plugin())])
memory.session("s").add("user", "hello")
"""


@pytest.mark.req("R005")
def test_process_exit__session_open__is_ended_with_its_plugins(project, opened, note):
    off = "plugins = { curated.enabled = false, offline.enabled = false }"
    (project / "holdfast.toml").write_text(f'zone = "UTC"\n{off}\n')
    trusted(project)
    done = finished([sys.executable, "-c", SCRIPT, str(project)], check=True)
    assert done.stderr == ""
    memory = opened()
    assert memory.session("s").ended
    [name] = memory.store.backend.names("memory/")
    assert "summed up" in memory.store.read(name).text


@pytest.mark.req("R005")
def test_idle_timeout__other_session_starts__idle_one_is_ended(opened, clock, note):
    """Whatever the file system's clock says."""
    opened().session("idle").add("user", "left alone")
    clock.tick(minutes=119)
    opened().begin("new")
    assert note() == ""
    clock.tick(minutes=2)
    opened().session("new").add("user", "this session only")
    assert note() == "", "to use a session touches no other"
    opened().begin("new")
    assert "left alone" in note()
    assert opened().session("idle").ended


@pytest.mark.req("R030")
@pytest.mark.parametrize(
    ("roles", "wanted"),
    [
        (["user", "assistant"], ["user", "assistant"]),
        (["assistant", "user"], ["user", "assistant", "user"]),
        (["system", "user", "assistant"], ["system", "user", "assistant"]),
        (["system", "assistant"], ["system", "user", "assistant"]),
        ([], ["user"]),
    ],
)
def test_with_summary__kept_messages__are_all_there_and_roles_alternate(opened, roles, wanted):
    session = opened().session("s")
    for role in roles:
        session.add(role, f"text of {role}")
    got = session.with_summary("what came before")
    assert [m.role for m in got] == wanted
    joined = "\n".join(m.text for m in got)
    assert all(f"text of {role}" in joined for role in roles)
    [carrier] = [m for m in got if "what came before" in m.text]
    assert carrier.role == "user"
    assert carrier.text.startswith("<recalled-memory>")
    assert carrier.tokens == tokens(carrier.text)


@pytest.mark.req("R031")
def test_on_summary__flushed__is_called_once_after_the_bytes_are_on_disk(opened, note):
    session = opened().session("s")
    session.add("user", "hello")
    heard = []
    session.compact(0, on_summary=lambda text: heard.append((text, text in note(), session.state)))
    assert [(on_disk, state) for _, on_disk, state in heard] == [(True, State.SAFE)]
    session.compact(0, on_summary=heard.append)
    assert len(heard) == 1


@pytest.mark.req("R031")
def test_on_summary__failed_or_empty_flush__is_not_called(opened, project):
    heard = []
    session = opened().session("s")
    with pytest.raises(NothingToFlush):
        session.flush(on_summary=heard.append)
    session.add("user", "hello")
    (project / ".holdfast" / "memory").write_text("in the way")
    with pytest.raises(FlushRefused):
        session.flush(on_summary=heard.append)
    session.override("the disk is gone")
    session.compact(0, on_summary=heard.append)
    assert heard == []


@pytest.mark.req("R032")
def test_on_summary__raises__is_reported_and_the_flush_stands(opened, note):
    session = opened().session("s")
    session.add("user", "hello")
    receipt = session.flush(on_summary=lambda text: 1 / 0)
    assert "ZeroDivisionError" in receipt.warnings[-1]
    assert session.state is State.SAFE
    assert "hello" in note()


@pytest.mark.req("R127")
@pytest.mark.parametrize("way", ["end", "compact"])
def test_drop__another_process_adds_during_the_flush__what_was_added_stays(opened, way):
    class AddsDuringFlush:
        @hookimpl
        def on_flush(self, payload, receipt):
            if not other.messages[1:]:
                other.add("user", "came late")

    session = opened(AddsDuringFlush()).session("s")
    session.add("user", "early")
    other = opened().session("s")
    session.end() if way == "end" else session.compact(keep_last=0)
    assert [m.text for m in session.messages] == ["came late"]
    assert not session.ended
    assert session.state is State.DIRTY


def test_trim_and_compact__nothing_has_to_go__flush_nothing(opened, note, payload, project):
    session = opened().session("s")
    for number in range(20):
        talk(session, f"question {number}")
        assert len(session.trim(100_000)) == number + 1
        assert len(session.compact(keep_last=100)) == number + 1
    assert not list(project.glob(".holdfast/memory/*.md"))
    assert session.state is State.DIRTY
    assert len(session.compact(keep_last=100, payload=payload())) == 20
    assert "question 19" in note(), "a payload is saved whatever is dropped"


@pytest.mark.parametrize(
    ("call", "named"),
    [
        (lambda m: m.session("s").add("bot", "hi"), "role"),
        (lambda m: m.session("  "), "session"),
        (lambda m: m.session("s").compact(-1), "keep_last"),
        (lambda m: m.session("s").add("user", "hi", message_id=7), "message_id must be a str, not int"),
        (lambda m: m.validate(None), "names must be an Iterable, not NoneType"),
        (lambda m: m.session("s").add("user", "hi", at=FAR), "at is not between the years"),
        (lambda m: m.session("s").add("user", "hi", tokens="abc"), "tokens must be a whole number, not str"),
        (lambda m: m.session("s").extend([Message(role="user", text="", at=NOW, id="i", tokens=-1)]), "tokens is not"),
        (lambda m: m.session("s").extend(["hi"]), r"messages\[0\] must be a Message, not str"),
        (lambda m: Extraction(summary=5), "summary cannot be of type int"),
        (lambda m: Extraction(facts=[5]), r"facts\[0\] cannot be of type int"),
        (lambda m: m.read_transcript(5), r"path must be a str | os.PathLike, not int"),
        (lambda m: m.capture("bug", "x"), "kind cannot be 'bug'"),
        (lambda m: Deliverable(text=" ", evidence="#1"), "text is blank"),
        (lambda m: m.purge(everything="false"), "everything must be a bool, not str"),
        (lambda m: m.facts.list(limit=10**30), "limit is not from 0 to"),
        (lambda m: m.search("x", since=5), "since must be a datetime, not int"),
        (lambda m: m.end_idle(limit_s="x"), "limit_s must be an int"),
        (lambda m: m.report(days=999_999_999), "days is not from 1 to"),
        (lambda m: m.prompt(counter=5), "counter must be a Callable, not int"),
        (lambda m: Holdfast.open(config={}), "config must be a Config, not dict"),
        (lambda m: Holdfast.open(plugins=[5]), r"plugins\[0\] is not a pair"),
        (lambda m: Holdfast.open(clock=lambda: None).session("s").add("user", "hi"), "clock must be a datetime"),
        (lambda m: Extraction(draft=5), "payload cannot be of type int"),
        (lambda m: m.load(session=5), "the id must be a str"),
        (lambda m: Holdfast.open("\0"), "root cannot be"),
        (lambda m: m.prompt(counter=lambda text: None), "what the counter returned must be a whole number"),
        (lambda m: m.extract([{"role": "user", "content": 5}]), "a row without role or content at position 0"),
    ],
)
def test_value__of_a_wrong_type__is_named_and_leaves_nothing(opened, project, call, named):
    with pytest.raises(ValueError, match=named):
        call(opened())
    assert not list(project.rglob("*.jsonl"))
