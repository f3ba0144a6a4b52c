"""``memory.search()``: what is found, in which order, and what a strange question does."""

import json
import sqlite3
import tracemalloc
from datetime import UTC, datetime
from pathlib import Path

import pytest
from tests.support import processes

from holdfast.api import Capability, Hit, HitKind, Holdfast, NotFound, StorageConfig
from holdfast_app.search import dates, index
from holdfast_cli import main

NOW = datetime(2026, 11, 21, 14, 30, tzinfo=UTC)


@pytest.fixture
def talked(opened):
    """A project with two sessions, a flushed one with its note, and a fact."""

    def run(*said: str, **config):
        memory = opened(**config)
        for number, text in enumerate(said):
            memory.session("talk").add("user", text, message_id=f"m{number}")
        return memory

    return run


def places(memory, question: str, **options) -> list[str]:
    return [hit.place for hit in memory.search(question, **options)]


def test_search__turn_of_a_flushed_session__found_with_session_date_and_place(talked, payload, clock):
    memory = talked("We chose SQLite because it needs no server", "Ana brings the cake")
    memory.session("talk").flush(payload())
    memory.session("talk").compact(0)
    hit = memory.search("why did we choose sqlite?", kinds=["turn"])[0]
    assert (hit.kind, hit.name, hit.place, hit.role) == ("turn", "talk", "m0", "user")
    assert hit.at == clock()
    assert 0 < hit.score <= 1
    assert hit.where == "session talk, turn m0"


def test_search__sentence_in_notes_turns_and_a_fact__one_hit_with_its_places(talked, payload, clock):
    memory = talked("Something else entirely")
    for label in ("", "You should know: ", "Preference: "):
        memory.session("talk").add("user", "go on")
        memory.session("talk").flush(payload(facts=[f"{label}Zookeeper listens on 2181"]))
        clock.tick(days=1)
    memory.session("later").add("user", "Remember: Zookeeper listens on 2181.", message_id="m9")
    memory.facts.create("Zookeeper listens on 2181", "knowledge", 0.9)
    (hit,) = memory.search("zookeeper")
    assert (hit.kind, hit.holds) == ("fact", True)
    days = {f"memory/2026-11-{day}.md" for day in (21, 22, 23)}
    names = {place.name for place in hit.also if place.kind != "fact"}
    assert names == {*days, "later", "continuity/active.md"}
    assert {place.where for place in hit.also if place.kind == "turn"} == {"session later, turn m9"}
    clock.tick(days=1)
    memory.facts.create("Zookeeper restarts on Sundays, because it failed twice when forgotten", "knowledge", 0.9)
    assert [hit.excerpt.split()[1] for hit in memory.search("zookeeper") if hit.holds] == ["restarts", "listens"]


def test_search__tool_call_without_a_word_of_the_question__is_no_hit(talked):
    memory = talked("Which database does the billing use?")
    session = memory.session("talk")
    session.add("assistant", "It is Postgres.", message_id="answer")
    session.add("assistant", "Bash: ls", message_id="call", tool="Bash")
    assert set(places(memory, "database of the billing")) == {"m0", "answer"}
    assert places(memory, "billing") == ["m0"]


def test_search__request_that_notes_repeat_as_open_and_closed_work__one_hit(talked, payload):
    asked = "The totals of the billing page are wrong on staging. Please fix them"
    memory = talked(asked)
    memory.session("talk").flush(payload(objective=f"{asked} (agent: The totals are rounded.)"))
    memory.work.close("talk", "done by hand")
    assert sum("wrong" in one.text for one in memory.search("billing totals")) == 1


def test_search__order_where_answers_are_long__before_a_newer_turn_that_matches_alike(talked):
    memory = talked()
    for word in ("Sometimes", "Today", "Always", "Later", "Perhaps"):
        memory.session("talk").add("user", f"{word} name the fields of a form.", message_id=word)
        memory.session("talk").add("assistant", "The form and its fields are as they were. " * 40)
    assert places(memory, "fields of the form", kinds=["turn"])[0] == "Always"


@pytest.mark.parametrize(
    ("was", "now", "before", "after"),
    [
        ("8080", "9090", "The API listens on port 8080.", "btw the API listens on port 9090 now, not 8080."),
        ("MySQL", "Postgres", "Decision: we use MySQL for orders.", "Decision: we use Postgres for orders, not MySQL."),
    ],
)
def test_search__value_that_changed__only_the_old_one_is_replaced(project, clock, was, now, before, after):
    with Holdfast.open(project, clock=clock) as memory:
        for name, text in (("first", before), ("second", after)):
            memory.session(name).add("user", text)
            memory.session(name).flush()
            clock.tick(minutes=1)
        hits = memory.search("which port of the API, which database for orders?")
    old = [hit for hit in hits if now not in hit.excerpt and was in hit.excerpt]
    assert {hit.replaced_by for hit in hits if now in hit.excerpt} == {""}
    assert {(now in hit.replaced_by, hit.holds) for hit in old} == {(True, False)}


def test_search__session_since_and_until__only_what_is_meant(talked, clock):
    memory = talked("the old plan")
    clock.tick(days=10)
    memory.session("later").add("user", "the new plan", message_id="n0")
    assert places(memory, "plan", session="later") == ["n0"]
    with pytest.raises(NotFound, match="Did you mean `later`"):
        memory.search("plan", session="latr")
    assert places(memory, "plan", since=NOW.replace(day=25)) == ["n0"]
    assert places(memory, "plan", until=NOW.replace(day=25)) == ["m0"]
    assert len(places(memory, "plan", limit=1)) == 1


@pytest.mark.parametrize(
    "question", ['"sqlite" AND NOT (', "sqlite* OR NEAR(", "sqlite\0", "'; DROP TABLE text; -- sqlite"]
)
def test_search__operators_and_quotes_of_fts5__are_words_like_others(talked, question):
    assert places(talked("We use sqlite"), question) == ["m0"]


def test_search__chinese_without_spaces__found_by_pairs_of_characters(talked):
    memory = talked("我们决定使用数据库来保存记忆", "今天天气很好", "明日の会議は中止です")
    assert places(memory, "数据库")[0] == "m0"
    assert places(memory, "会議")[0] == "m2"


@pytest.mark.parametrize(
    ("question", "first", "last"),
    [
        ("what broke last Tuesday?", "2026-11-17", "2026-11-17"),
        ("what did we do in March", "2026-03-01", "2026-03-31"),
        ("yesterday", "2026-11-20", "2026-11-20"),
        ("2026-11-02", "2026-11-02", "2026-11-02"),
        ("between August 11 and August 15", "2026-08-11", "2026-08-15"),
        ("since Tuesday", "2026-11-17", "2026-11-21"),
        ("seit gestern", "2026-11-20", "2026-11-21"),
        ("zwischen dem 2. und 5. November", "2026-11-02", "2026-11-05"),
        ("from 28 October until 3 November", "2026-10-28", "2026-11-03"),
        ("nach dem 15. November", "2026-11-16", "2026-11-21"),
        ("the day before yesterday", "2026-11-19", "2026-11-19"),
        ("in the week of 4 November", "2026-11-02", "2026-11-08"),
        ("in den letzten drei Tagen", "2026-11-18", "2026-11-21"),
        ("vor drei Tagen", "2026-11-18", "2026-11-18"),
    ],
)
def test_dates__a_day_in_a_question__is_that_span(question, first, last):
    span, _ = dates.narrowed(question, NOW)
    assert f"{span.start:%Y-%m-%d}" == first
    assert (span.end - datetime.fromisoformat(last).replace(tzinfo=UTC)).days == 1


@pytest.mark.parametrize(
    "question", ["May I push?", "dec() fails", "what expires on 14 December?", "what is next", "on a Friday"]
)
def test_dates__words_that_name_no_past_day__narrow_nothing(question):
    assert dates.narrowed(question, NOW) == (None, question)


def test_search__secret_that_is_longer_than_an_excerpt__masked_with_the_whole_turn(project, opened):
    body = "\n".join(f"MIIEpAIBAAKCAQEA7bq{n:02}Xk9Zt3vW1yQ0uRr5sT8aLmNoPqRsTuVwXyZ0123456789" for n in range(20))
    pem = f"-----BEGIN RSA PRIVATE KEY-----\n{body}\n-----END RSA PRIVATE KEY-----"
    opened().session("talk").add("user", f"{'filler ' * 560}\nzanzibar\n{pem}\nand mombasa", message_id="m0")
    opened().session("talk").add("assistant", "Thanks", message_id="m1")
    assert opened().search("zanzibar")  # indexed by the rules of then: none
    with Holdfast.open(project) as memory:
        for question in ("zanzibar", "mombasa", "thanks", body.split("\n")[9]):
            for hit in memory.search(question):
                assert "MIIE" not in hit.text + hit.excerpt + hit.before + hit.after
        assert "[REDACTED:private-key" in memory.search("mombasa")[0].text


@pytest.mark.parametrize(
    ("question", "corrected"),
    [
        ("certificte", "certificate"),
        ("certifciat", "certificate"),
        ("databse", "database"),
        ("who renews the certiifcate?", ""),  # one word is right, so something is found as it is written
        ("databse certificte", "database certificate"),
        ("datbse", ""),  # two errors in a word of six letters
        ("cot", ""),  # three letters
        ("asta", ""),  # "fast" begins with another letter
    ],
)
def test_search__typing_errors__forgiven_only_when_nothing_else_is_found(talked, question, corrected):
    memory = talked("Ana renews the certificate", "The database is small, a search is fast", "The cat", "Unrelated")
    found = memory.search(question)
    assert found.corrected == corrected
    assert {hit.corrected for hit in found} <= {corrected}
    assert bool(found) == bool(corrected or "renews" in question)


@pytest.fixture
def memory(opened):
    """SQLite that takes itself for a server with a search of its own."""
    made = opened(storage=StorageConfig(backend="sqlite"))
    backend = made.services.store.backend
    backend.capabilities |= {Capability.REMOTE, Capability.SEARCH}

    def served(words, limit):
        found = [Hit(HitKind.FACT, fact.id, fact.content) for fact in backend.facts()]
        found += [Hit(HitKind.DOCUMENT, name, backend.read(name).text) for name in backend.names("")]
        return [hit for hit in found if words[0] in hit.text][:limit]

    backend.search = served
    made.session("talk").add("user", "the osprey sails on Monday", message_id="m1")
    backend.write("MEMORY.md", "- The osprey is the server\n")
    backend.write("memory/2026-11-20.md", "The osprey was renamed\n")
    made.facts.create("The osprey costs nothing", "knowledge", 0.9)
    return made


def test_search__backend_serves__its_documents_and_facts_found_beside_turns(memory, project):
    found = {hit.kind: hit for hit in memory.search("what is the osprey?")}
    assert set(found) == {"turn", "memory", "note", "fact"}
    assert (found["memory"].name, found["memory"].excerpt) == ("MEMORY.md", "- The osprey is the server")
    assert found["note"].at.day == 20
    db = sqlite3.connect(project / ".holdfast/state" / index.FILE)
    assert db.execute("SELECT kind FROM source").fetchall() == [("turn",)]
    db.close()


def test_search__backend_serves__hits_of_other_kinds_and_days_leave_room_for_those_asked_for(memory, clock, payload):
    backend = memory.services.store.backend
    for day in range(1, 20):
        backend.write(f"memory/2026-11-{day:02}.md", "The osprey osprey osprey was renamed\n")
    assert [hit.kind for hit in memory.search("osprey", kinds=["fact"], limit=1)] == ["fact"]
    until = clock().replace(day=2, hour=0)
    assert [hit.name for hit in memory.search("osprey", until=until, limit=1)] == ["memory/2026-11-01.md"]
    assert {hit.kind for hit in memory.search("osprey", since="1h")} == {"turn", "fact"}
    memory.session("talk").flush(payload(facts=["the osprey"], decisions=["Call it osprey"]))
    (hit,) = memory.search("osprey", kinds=["decision"], since="1h")
    assert hit.excerpt == "- Decision: Call it osprey"


@pytest.fixture
def search(opened, project, monkeypatch, capsys):
    """``search(WORDS)`` after a talk of four turns and a memory document: the output."""
    memory = opened()
    for number, (role, text) in enumerate(
        [
            ("user", "Which database do we take?"),
            ("assistant", "SQLite, because it needs no server"),
            ("user", "Then the certificate: who renews it?"),
            ("assistant", "Ana renews it in March"),
        ]
    ):
        memory.session("talk").add(role, text, message_id=f"m{number}")
    (project / ".holdfast/MEMORY.md").write_text("# Memory\n\n- The osprey is the server\n- The kestrel is the proxy\n")
    memory.facts.create("The heron is the queue", "knowledge", 0.9)
    memory.facts.create("The stork is the cache", "knowledge", 0.9)
    memory.close()
    monkeypatch.chdir(project)
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.delenv("FORCE_COLOR", raising=False)

    def run(*words: str) -> str:
        capsys.readouterr()
        assert main(("search", *words)) == 0
        return capsys.readouterr().out

    return run


def test_search__turn_found__shown_with_the_line_before_and_after_it(search):
    lines = search("sqlite").splitlines()
    assert lines[0].startswith("session talk, turn m1 assistant 2026-11-21")
    assert lines[1:4] == [
        "  user: Which database do we take?",
        "> SQLite, because it needs no server",
        "  user: Then the certificate: who renews it?",
    ]


def test_search__short__grouped_and_at_most_1500_characters(search, opened):
    with opened() as memory:
        for number in range(40):
            memory.session("long").add("user", f"The heron {number} <b> is {'very ' * 60}busy")
    said = search("--short", "the", "heron")
    assert "Holds now:\n- [fact knowledge 2026-11-21 14:30] name='' place='fact_" in said
    assert "Where it was said:\n- [turn user" in said
    assert "more: add words, a kind or a day." in said
    assert "&lt;b> is" in said  # defused once
    assert len(said.strip()) <= 1_500


def test_search__everywhere__trusted_projects_each_hit_with_its_own(search, project):
    # A word that only a corrected question finds gives way to the exact one of another project.
    for name, word in (("other", "heron"), ("untrusted", "heron"), ("mistyped", "heran")):
        project.with_name(name).mkdir()
        with Holdfast.open(project.with_name(name)) as memory:
            memory.facts.create(f"The {word} of {name} is grey", "knowledge", 0.9)
    (project.with_name("untrusted") / "holdfast.toml").write_text('[plugins.openai]\nbase_url = "https://x.example"\n')
    found = json.loads(search("--everywhere", "--json", "heron"))
    assert {Path(hit["project"]).name: hit["excerpt"] for hit in found["hits"]} == {
        "project": "The heron is the queue",
        "other": "The heron of other is grey",
    }
    assert "untrusted (its settings are not trusted)" in found["warning"]
    assert "/other: fact_" in search("--everywhere", "heron")


def test_search__damaged_journal__counted_once(project):
    with Holdfast.open(project) as memory:
        for number in range(3):
            memory.session("talk").add("user", f"an apple {number}", message_id=f"m{number}")
    path = project / ".holdfast/state/sessions/talk.jsonl"
    lines = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(b"".join([*lines[:2], b"no record at all\n", *lines[2:]]))
    said = processes.run("--root", str(project), "search", "apple")
    assert said.stderr.count("the damage in 1 file.") == 1
    silent = processes.run("--root", str(project), "search", "apple", "--json")
    assert json.loads(silent.stdout)["unread"] == ["talk.jsonl"]
    assert silent.stderr == ""


def test_search__damaged_documents__one_in_memory_at_a_time(project):
    """Thirty of 20 MB in a clone took 1 GB."""
    with Holdfast.open(project) as memory:
        memory.session("talk").add("user", "an apple")
        folder = project / ".holdfast/memory"
        folder.mkdir(parents=True)
        for day in range(10, 20):
            (folder / f"2020-01-{day}.md").write_bytes(b"- an apple\n" + bytes(4_000_000))
        tracemalloc.start()
        assert len(memory.search("apple").unread) == 10
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
    assert peak < 30_000_000
