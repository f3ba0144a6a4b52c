"""Core memory follows a project that changes: real flushes, real dreams of the offline plugin, real files."""

from datetime import timedelta
from typing import Any

from tests.support.stated import done

from holdfast.api import DreamDraft, Holdfast, hookimpl
from holdfast_app.dream import confirmed, memorytext
from holdfast_app.dream.dreamlog import Status
from holdfast_app.facts.rejected import key_of


def say(memory: Holdfast, session: str, *facts: str) -> None:
    with memory.session(session) as one:
        one.add("user", "Go on")
        one.flush(done(facts=list(facts)))


def items(memory: Holdfast) -> list[str]:
    document = memory.store.read("MEMORY.md")
    return [item.text for item in memorytext.read(document.text).items] if document else []


def test_dream__newer_value__replaces_the_older_one_which_the_diary_names(memory, clock):
    say(memory, "a", "The release is 2.2.0", "The API lives in services/api")
    memory.deep_dream()
    clock.tick(days=1)
    say(memory, "b", "The current release is 2.3.0")
    result = memory.deep_dream()
    assert items(memory) == ["The current release is 2.3.0", "The API lives in services/api"]
    assert [(g.text, g.reason) for g in result.replaced] == [
        ("The release is 2.2.0", "now: The current release is 2.3.0")
    ]
    diary = memory.store.read(result.diary)
    assert "- The release is 2.2.0 (now: The current release is 2.3.0)\n  Last said on 2026-11-21.\n" in diary.text


def test_dream__value_that_a_person_corrected__is_not_turned_back_by_an_older_note(memory, project, clock):
    say(memory, "a", "The release is 2.2.0")
    memory.deep_dream()
    path = project / ".holdfast" / "MEMORY.md"
    path.write_text(path.read_text().replace("2.2.0", "2.5.0"))
    clock.tick(days=1)
    say(memory, "b", "The API lives in services/api")
    memory.deep_dream()
    assert items(memory) == ["The release is 2.5.0", "The API lives in services/api"]


def test_dream__item_said_again__is_confirmed_and_the_memory_stays_undated(memory, clock):
    for day in range(3):
        say(memory, f"s{day}", "We use Redis for caching" if day != 1 else "we use  Redis for caching.")
        memory.deep_dream()
        clock.tick(days=1)
    record = confirmed.load(memory.services.state)
    assert items(memory) == ["We use Redis for caching"]
    found = record[key_of("We use Redis for caching")]
    assert (found.count, found.last - found.first >= timedelta(days=1)) == (3, True)
    assert found.by.startswith("memory/")


def test_dream__memory_at_its_limit__archives_the_least_confirmed_and_takes_what_is_new(memory, project, clock):
    text = "# Memory\n\n" + "".join(f"- Part {n} belongs to crate c{n:03}\n" for n in range(200))
    (project / ".holdfast").mkdir(exist_ok=True)
    (project / ".holdfast" / "MEMORY.md").write_text(text)
    say(memory, "a", "Payments are processed by Stripe", "Part 0 belongs to crate c000")
    result = memory.deep_dream()
    assert result.status is Status.DONE
    now = items(memory)
    assert len(now) == 190
    assert {"Payments are processed by Stripe", "Part 0 belongs to crate c000"} <= set(now)
    archive = memory.store.read("memory/dreams/archive.md")
    assert all(
        f"- {text} (" in archive.text for text in {f"Part {n} belongs to crate c{n:03}" for n in range(200)} - set(now)
    )
    assert any("200" in warning for warning in result.warnings)


def test_dream__no_facts_and_no_memory__is_skipped_once(memory):
    say(memory, "a")
    first = memory.deep_dream()
    assert (first.status, "no facts" in first.reason) == (Status.SKIPPED, True)
    assert memory.deep_dream().reason == "The notes have not changed since the last dream."


def test_load__user_said_what_may_have_ended_a_line__is_quoted_beside_it_until_it_is_said_again(memory, clock):
    def brief(said: str) -> str:
        with memory.session(f"s{clock():%d}") as one:
            one.add("user", said)
            one.flush(done(facts=[tabs] if tabs in said else []))
        memory.deep_dream()
        clock.tick(days=1)
        return str(memory.load(max_chars=4_000))

    tabs, later = "We use tabs there and keep lines under 100 columns", "The team voted, 120 columns now."
    quoted = f'; later, 2026-11-2{{}}: "{later}")\n'
    assert f"\n- {tabs} (2026-11-21)\n" in brief(f"{tabs}.")
    for said in (f"{later} Rerun it.", "Which tests are slow?"):
        assert f"\n- {tabs} (2026-11-21{quoted.format(2)}" in brief(said)
    assert f"\n- {tabs} (2026-11-24)\n" in brief(f"{tabs}.")
    memory.session("running").add("user", f"Decision: {tabs}.")
    assert f"\n- {tabs} (2026-11-24)\n" in brief("Which tests are slow?")
    assert f"\n- {tabs} (2026-11-24{quoted.format(6)}" in brief(f"{later} Rerun it.")
    memory.purge(subject="team voted")
    assert f"\n- {tabs} (2026-11-24)\n" in str(memory.load())


def test_dream__model_drops_a_line_for_its_opposite__it_does_not_count_as_merged(project, clock):
    class Swaps:
        @hookimpl(tryfirst=True)
        def on_dream(self, sources: Any) -> DreamDraft:
            return DreamDraft(
                memory="- Jonas reviews what Elif writes\n- Redis 7 holds sessions and queues\n", diary=""
            )

    Holdfast.open(project, clock=clock).close()  # what is typed from now on is the user's own
    before = "# Memory\n\n- Elif reviews what Jonas writes\n- Redis 7 holds sessions\n"
    (project / ".holdfast").mkdir(exist_ok=True)
    (project / ".holdfast" / "MEMORY.md").write_text(before)
    with Holdfast.open(project, clock=clock, plugins=[("swaps", Swaps())]) as memory:
        say(memory, "a", "Jonas reviews what Elif writes", "Redis 7 holds sessions and queues")
        result = memory.deep_dream()
    assert [gone.text for gone in result.dropped] == ["Elif reviews what Jonas writes"]
    assert [gone.text for gone in result.merged] == ["Redis 7 holds sessions"]
