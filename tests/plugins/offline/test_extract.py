"""What the extractor takes from a conversation, what it leaves, and that it never makes up a word."""

from __future__ import annotations

import time
from datetime import UTC, datetime
from importlib import resources

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.support.growth import grows_less_than

from holdfast import transcripts
from holdfast.models import Category, Extraction, Message, turns_of
from holdfast_offline import on_extract
from holdfast_offline.extract import FAILING, MAX_ITEM_CHARS, MAX_ITEMS, MAX_OBJECTIVE_CHARS

AT = datetime(2026, 11, 21, 14, 30, tzinfo=UTC)

Said = tuple[str, str] | tuple[str, str, str] | tuple[str, str, str, bool]


def extract(*said: Said) -> Extraction:
    """Each is (role, text), (role, text, tool) or (role, text, tool, failed)."""
    messages = [
        Message(role=s[0], text=s[1], at=AT, id=f"m{i}", tool=s[2] if len(s) > 2 else "", failed=len(s) > 3 and s[3])
        for i, s in enumerate(said)
    ]
    return on_extract(turns_of(messages))


def run(command: str, output: str, *, failed: bool = False) -> tuple[Said, Said]:
    return ("assistant", f"Bash: {command}", "Bash"), ("tool", output, "Bash", failed)


def facts(*said: Said) -> list[tuple[str, str, float]]:
    return [(f.content, f.category, f.confidence) for f in extract(*said).facts]


# --- cues -----------------------------------------------------------------------------------------------------


@pytest.mark.req("R036", "R037")
@pytest.mark.parametrize(
    ("text", "content", "category", "confidence"),
    [
        ("remember: the staging database is read-only", "the staging database is read-only", "knowledge", 0.9),
        ("Please remember that Ines owns billing.", "Ines owns billing", "knowledge", 0.9),
        ("Remember, that port is taken", "port is taken", "knowledge", 0.9),
        ("- **Note:** the API caps at 100 requests", "the API caps at 100 requests", "knowledge", 0.9),
        ("Note that the API caps at 100 requests.", "the API caps at 100 requests", "knowledge", 0.9),
        ("For the record, Maya does the refunds", "Maya does the refunds", "knowledge", 0.9),
        ("Fine. Keep in mind: CI has no Postgres", "CI has no Postgres", "knowledge", 0.9),
        ("remember: we always use pytest, never unittest", "we always use pytest, never unittest", "behavior", 0.9),
        ("remember: I prefer tabs", "I prefer tabs", "preference", 0.9),
        ("I prefer small commits. Do it that way.", "I prefer small commits", "preference", 0.7),
        ("Maya prefers CSV over PDF", "Maya prefers CSV over PDF", "preference", 0.7),
        ("Always run the linter before a push", "Always run the linter before a push", "behavior", 0.7),
        ("Please never push to main", "never push to main", "behavior", 0.7),
        ("No, actually the port is 8443", "the port is 8443", "correction", 0.9),
        ("That's wrong: the limit is 50", "the limit is 50", "correction", 0.9),
        ("That's wrong. The limit is 50.", "The limit is 50", "correction", 0.9),
        ("Correction: the limit is 50", "the limit is 50", "correction", 0.9),
        ("Decision: use SQLite", "use SQLite", "context", 0.8),
        ("The goal is to stop double charging", "stop double charging", "goal", 0.8),
    ],
)  # fmt: skip
def test_extract__explicit_statement_of_the_user__is_a_fact(
    text: str, content: str, category: str, confidence: float
) -> None:
    assert facts(("user", text)) == [(content, category, confidence)]


def test_extract__fact__names_the_message_it_comes_from() -> None:
    assert extract(("user", "hello"), ("user", "remember: x is y")).facts[0].source == "m1"


@pytest.mark.parametrize(
    "text",
    [
        "Do you remember: was it 50?",
        "Remember when we shipped on a Friday?",
        "I always wondered about that test",
        "Never mind",
        "Nevertheless it passes",
        "Always?",
        "He said remember: nothing like that",
        "The notes: see docs",
        "Notebook cells are cached",
        "remember: none",
        "`remember: quoted code`",
        '"remember: quoted words"',
        "The decision: to be taken",
        "Decisive: nothing",
        "Actually no idea",
    ],
)
def test_extract__no_explicit_statement__gives_no_fact(text: str) -> None:
    assert facts(("user", text)) == []


@pytest.mark.req("R037")
def test_extract__preferences__are_taken_from_the_user_only() -> None:
    assert facts(("assistant", "I prefer tabs. Always use tabs here.")) == []
    assert facts(("assistant", "Note that CI has no Postgres.")) == [("CI has no Postgres", Category.KNOWLEDGE, 0.9)]


@pytest.mark.parametrize(
    ("text", "decision"),
    [
        ("Decision: use a unique index", "use a unique index"),
        ("**Decision:** use a unique index.", "use a unique index"),
        ("We decided to use uv", "use uv"),
        ("ok, let's go with option 2", "let's go with option 2"),
        ("We will use Postgres 16", "We will use Postgres 16"),
        ("We decided against Redis", "We decided against Redis"),
        ("Tests pass. Decided: ship on Monday", "ship on Monday"),
        ("## Decisions\n\n- use uv\n", "use uv"),
    ],
)
def test_extract__decision__is_kept(text: str, decision: str) -> None:
    assert extract(("assistant", text)).draft.decisions == (decision,)


@pytest.mark.parametrize(
    ("text", "blocker"),
    [
        ("blocked: staging is read-only", "staging is read-only"),
        ("Blocked by the code freeze", "Blocked by the code freeze"),
        ("We're still waiting for the API key", "We're still waiting for the API key"),
        ("We can't merge until the backfill has run", "We can't merge until the backfill has run"),
        ("Open question: who rotates the key?", "who rotates the key?"),
        ("Question: is 72 h enough?", "is 72 h enough?"),
        ("Blockers:\n- no API key", "no API key"),
    ],
)
def test_extract__blocker_or_open_question__is_kept(text: str, blocker: str) -> None:
    assert extract(("user", text)).draft.blockers == (blocker,)


def test_extract__blockers_none__is_no_blocker() -> None:
    assert extract(("user", "Blockers: none\nnext: nothing")).draft.blockers is None
    assert extract(("user", "next: nothing")).draft.next_step is None


def test_extract__next_step__the_latest_wins_and_beats_what_comes_later() -> None:
    draft = extract(
        ("user", "next: write the test"),
        ("assistant", "The next step is to run the backfill."),
        ("user", "todo: tell Ines\nThen we'll deploy."),
    ).draft
    assert draft.next_step == "run the backfill"
    assert draft.follow_ups == ("tell Ines", "deploy")
    assert extract(("user", "todo: tell Ines")).draft.next_step == "tell Ines"


def test_extract__list_of_next_steps__first_is_next_and_the_rest_follows() -> None:
    draft = extract(
        ("assistant", "**Next steps**\n1. run the backfill\n2. [x] done\n3. [ ] build the index\n\nThat is all.")
    ).draft
    assert (draft.next_step, draft.follow_ups) == ("run the backfill", ("build the index",))


@pytest.mark.parametrize(
    ("text", "promise"),
    [
        ("todo: write a runbook entry", "write a runbook entry"),
        ("Follow up: ask finance", "ask finance"),
        ("remind me to rotate the key", "rotate the key"),
        ("I'll clean up the fixtures later.", "I'll clean up the fixtures later"),
    ],
)
def test_extract__promise__is_a_follow_up(text: str, promise: str) -> None:
    assert extract(("assistant", text)).draft.follow_ups == (promise,)


def test_extract__objective__is_stated_by_the_user_else_the_first_request() -> None:
    first = ("user", "/compact\nok\nFix the payment webhook. It charges twice.")
    assert extract(first).draft.objective == "Fix the payment webhook."
    assert extract(first, ("assistant", "The goal is to make the test pass.")).draft.objective == "make the test pass"
    stated = ("user", "The goal is to stop double charging")
    assert extract(first, stated, ("assistant", "We want to see it green.")).draft.objective == "stop double charging"
    assert extract(("user", "remember: x is y")).draft.objective is None
    assert len(extract(("user", "word " * 500)).draft.objective or "") <= MAX_OBJECTIVE_CHARS


def test_extract__pointers__are_artifacts() -> None:
    draft = extract(
        (
            "user",
            "See issue #4 and shop/paygate#218, (https://git.example.com/shop/paygate/pull/218). Red: #ff0000, the #1.",
        ),
        ("assistant", "Edit: paygate/webhooks.py", "Edit"),
        ("tool", "updated", "Edit"),
        ("assistant", "Write: /project/secret.py", "Write"),
        ("tool", "created", "Write"),
        ("assistant", "Edit: paygate/gone.py", "Edit"),
        ("tool", "string not found", "Edit", True),
        ("assistant", "Committed as b71d3f4; see http://localhost:8080/x and page.md#12."),
    ).draft
    assert draft.artifacts == (
        "paygate/webhooks.py",
        "#4",
        "shop/paygate#218",
        "https://git.example.com/shop/paygate/pull/218",
        "b71d3f4",
    )


# --- checks ---------------------------------------------------------------------------------------------------


def test_extract__check_that_fails__is_a_blocker_until_it_passes() -> None:
    fails = run("pytest -q", "..F\n3 failed, 5 passed in 0.4s", failed=True)
    assert extract(*fails).draft.blockers == ("failing check: pytest -q: 3 failed",)
    assert extract(*fails, *run("pytest -q", "8 passed")).draft.blockers is None
    assert extract(*fails, *run("pytest -q | tail -1", "8 passed")).draft.blockers is None
    assert extract(*fails, *run("make db && pytest -q", "8 passed")).draft.blockers is None
    assert extract(*fails, *run("pytest -q tests/test_a.py", "1 passed")).draft.blockers == (
        "failing check: pytest -q: 3 failed",
    )
    assert extract(*run("pytest -q", "8 passed"), *fails).draft.blockers == ("failing check: pytest -q: 3 failed",)


@pytest.mark.parametrize(
    ("command", "output", "failed", "blockers"),
    [
        ("pytest -q 2>&1 | tail -3", "1 failed in 0.61s", False, ("failing check: pytest -q: 1 failed",)),
        ("ruff check . && mypy pkg", "ok\nFound 1 error in 1 file", True, ("failing check: mypy pkg: 1 error",)),
        ("bash -lc 'pytest -q'", "2 failed", True, ("failing check: pytest -q: 2 failed",)),
        ("gh pr checks 218", "Exit code 1\nok\nno-db fail", True, ("failing check: gh pr checks 218: no-db fail",)),
        ("make lint", "Exit code 2", True, ("failing check: make lint",)),
        ("grep -r x .", "Exit code 1", True, None),
        ("cat log.txt", "3 failed, 5 passed", False, None),
        ("pytest -q", "0 failed, 5 passed", False, None),
    ],
)  # fmt: skip
def test_extract__outcome_of_a_command__is_read_from_its_end(
    command: str, output: str, failed: bool, blockers: tuple[str, ...] | None
) -> None:
    assert extract(*run(command, output, failed=failed)).draft.blockers == blockers


def test_extract__tool_result_without_its_call__still_counts() -> None:
    assert extract(("tool", "3 failed, 5 passed", "Bash", True)).draft.blockers == ("failing check: 3 failed",)
    assert extract(("tool", "3 failed, 5 passed", "pytest -q")).draft.blockers == (
        "failing check: pytest -q: 3 failed",
    )
    assert extract(("tool", "$ tox\n1 failed", "")).draft.blockers == ("failing check: tox: 1 failed",)
    assert extract(("tool", "old_string not found", "Edit", True)).draft.blockers is None


# --- what must not be read ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "text",
    [
        "```\nremember: x is y\nnext: z\n#218\n```",
        "~~~md\nremember: x is y\n```\nnext: z\n~~~",
        "```\nremember: never closed",
        "> remember: x is y\n  > next: z",
        "<recalled-memory>\nremember: x is y\nnext: z\n</recalled-memory>",
        '<recalled-memory source="MEMORY.md">remember: x is y</recalled-memory>',
        "<Recalled-Memory>\n<recalled-memory>a</recalled-memory>\nremember: x is y\n</recalled-memory>",
        "<recalled-memory>\nremember: never closed",
        "<system-reminder>\nAlways use tabs everywhere\n</system-reminder>",
    ],
)
@pytest.mark.parametrize("role", ["user", "assistant"])
def test_extract__code_quotations_and_recalled_memory__are_skipped(role: str, text: str) -> None:
    got = extract((role, text))
    assert got.facts == ()
    assert got.draft == extract().draft


def test_extract__what_surrounds_a_skipped_block__is_read() -> None:
    recalled = "<recalled-memory>\nremember: c is d\n</recalled-memory>"
    text = f"remember: a is b\n{recalled}\nremember: e is f\n```\nx\n```\nnext: go"
    got = extract(("user", text))
    assert [f.content for f in got.facts] == ["a is b", "e is f"]
    assert got.draft.next_step == "go"


def test_extract__tool_calls_and_results__are_not_speech() -> None:
    got = extract(
        ("assistant", "Bash: echo\nremember: x is y", "Bash"),
        ("tool", "remember: z is a\nnext: b", "Bash"),
        ("system", "next: c"),
    )
    assert got.facts == ()
    assert got.draft.next_step is None


# --- limits and form ------------------------------------------------------------------------------------------


def test_extract__many_statements__keeps_the_newest() -> None:
    text = "\n".join(f"Decision: use number {i}" for i in range(30))
    got = extract(("user", text), ("user", "Decision: USE number 12"))
    assert got.draft.decisions == (*(f"use number {i}" for i in range(10, 30) if i != 12), "USE number 12")
    assert len(got.facts) == MAX_ITEMS


def test_extract__long_statement__is_cut_at_a_word() -> None:
    [decision] = extract(("user", "Decision: " + "abc " * 400)).draft.decisions or ()
    assert len(decision) <= MAX_ITEM_CHARS
    assert decision.endswith("abc")


def test_extract__nothing_said__is_empty() -> None:
    assert extract() == Extraction()
    assert extract(("user", "hi")).draft == extract().draft


@pytest.mark.req("R182")
def test_extract__curated_memory_and_open_work__are_never_decided_here() -> None:
    draft = extract(("user", "remember: x is y\nnext: z\nblocked: a\nDecision: b")).draft
    assert (draft.curated, draft.work_open, draft.handoff, draft.state_mutations, draft.derived) == (None,) * 4 + ((),)


def test_extract__summary__is_a_short_list_with_counts() -> None:
    got = extract(("user", "Fix the webhook.\nDecision: use a lock"), *run("pytest -q", "2 passed"))
    assert got.summary.splitlines() == [
        "- Objective: Fix the webhook.",
        "- Decided: use a lock",
        "- 1 turn, 1 tool call",
    ]


# --- laws -----------------------------------------------------------------------------------------------------

_PIECES = st.sampled_from(
    [
        "remember: ", "Remember that ", "Decision: ", "## Decisions\n", "- ", "next: ", "Next steps:\n", "1. ",
        "\n", "\n\n", " ", "blocked: ", "we can't ", "until ", "I'll ", " later", "I prefer ", "never ", "**", "`",
        "```\n", "> ", ". ", "? ", "  ", "<recalled-memory>", "</recalled-memory>", "#218", "commit b71d3f4",
        "https://example.com/a(b)", "tell Ines", "x is y", "The goal is to ", "that's wrong. ",
        "3 failed, 5 passed", "pytest -q", " && ", "[x] ", "[ ] ", "none", "é", "\t",
    ]
)  # fmt: skip
_TEXTS = st.lists(_PIECES | st.text(max_size=8), max_size=25).map("".join)
_MESSAGES = st.lists(
    st.tuples(
        st.sampled_from(["user", "assistant", "tool", "system"]),
        _TEXTS,
        st.sampled_from(["", "", "", "Bash", "Edit"]),
        st.booleans(),
    ),
    max_size=6,
)


def normal(text: str) -> str:
    return " ".join(text.split())


@given(_MESSAGES)
@settings(max_examples=120, deadline=None)
def test_extract__whatever_is_said__every_text_stands_in_a_turn(said: list[Said]) -> None:
    got = extract(*said)
    texts = [normal(s[1]) for s in said] + [normal(s[2]) for s in said if len(s) > 2]

    def verbatim(text: str) -> bool:
        return text == normal(text) and any(text in t for t in texts)

    draft = got.draft
    blockers = draft.blockers or ()
    strings = [f.content for f in got.facts]
    strings += [s for s in (draft.objective, draft.next_step) if s is not None]
    for several in (draft.facts, draft.decisions, draft.artifacts, draft.follow_ups):
        strings += several or ()
        assert len(several or ()) <= MAX_ITEMS
    strings += [b for b in blockers if not b.startswith(FAILING)]
    assert all(strings)
    assert [s for s in strings if not verbatim(s)] == []
    for check in (b.removeprefix(FAILING) for b in blockers if b.startswith(FAILING)):
        cuts = [i for i in range(len(check)) if check[i : i + 2] == ": "]
        assert verbatim(check) or any(verbatim(check[:i]) and verbatim(check[i + 2 :]) for i in cuts)
    labels = ("- Objective: ", "- Decided: ", "- Learned: ", "- Blocked: ", "- Next: ")
    for line in got.summary.splitlines()[:-1]:
        rest = next(line.removeprefix(label) for label in labels if line.startswith(label))
        assert rest in strings or rest in blockers


@given(_TEXTS)
@settings(max_examples=60, deadline=None)
def test_extract__text_inside_a_memory_fence__is_never_extracted_again(text: str) -> None:
    inside = text.replace("<", "").replace("```", "")
    assert extract(("user", f"<recalled-memory>\n{inside}\n</recalled-memory>")).draft == extract().draft


@pytest.mark.parametrize(
    "unit",
    ["a plain line of a log that says nothing\n", "remember: x is y\n", "never a b c. ",
     "remember: x is y. ", "a", "\n", "- ", "<recalled-memory>",
     "**", "prefer a.", "https://a", "next ", "#218 ", "```\n", "the goal ", "1 failed ", "we will use "],
)  # fmt: skip
@pytest.mark.parametrize("role", ["user", "tool"])
def test_extract__a_long_message__takes_time_in_proportion(role: str, unit: str) -> None:
    """Eight times the text may take eight times as long, and some; a quadratic rule would take sixty-four times."""

    def seconds(size: int) -> float:
        text = unit * (size // len(unit))
        start = time.process_time()
        extract((role, text))
        return time.process_time() - start

    seconds(1_000)  # imports
    assert grows_less_than(24, lambda: seconds(25_000), lambda: seconds(200_000), noise_s=0.1)


def test_extract__the_demo_session__gives_what_a_reader_would_note() -> None:
    """A coding session as a client records it, shipped with the package."""
    with resources.as_file(resources.files("holdfast") / "demo" / "session.jsonl") as path:
        draft = on_extract(turns_of(transcripts.read(path).messages)).draft
    assert draft.next_step == "run the backfill migration on staging"
    assert "staging database is read-only until Monday" in (draft.blockers or ())
    assert "use a unique index on (provider, event_id) instead of an advisory lock" in (draft.decisions or ())
    assert [b for b in draft.blockers or () if "pytest" in b] == []  # each test run that failed passed later
    assert draft.follow_ups
