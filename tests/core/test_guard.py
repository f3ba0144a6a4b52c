"""``Holdfast.guard``: a compaction function that cannot run unflushed, however it is called and whatever goes wrong."""

import asyncio
import shutil
import threading
from collections import deque
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest

from holdfast.api import Extraction, Finding, FlushRefused, hookimpl
from holdfast.journal.safety import State

Row = dict[str, Any]


def says(*texts: str) -> list[Row]:
    return [{"role": "assistant" if n % 2 else "user", "content": text} for n, text in enumerate(texts)]


class Compactor:
    """Keeps the last ``keep`` rows behind a summary, and counts its calls. ``probe`` runs in each."""

    def __init__(self, keep: int = 2, probe: Callable[[], object] = lambda: None) -> None:
        self.keep, self.calls, self.probe = keep, 0, probe

    def __call__(self, rows: list[Row]) -> list[Row]:
        self.calls += 1
        self.probe()
        return [{"role": "user", "content": "Summary of what was said."}, *rows[-self.keep :]]


class Broken:
    """One of its implementations goes wrong in its own way."""

    def __init__(self, **errors: BaseException) -> None:
        self.errors = errors

    @hookimpl
    def on_validate(self, request: Any) -> list[Finding]:
        if "on_validate" in self.errors and request.surface != "journal":  # the mirror must work: the flush fails
            raise self.errors["on_validate"]
        return []

    @hookimpl
    def on_flush(self, payload: Any, receipt: Any) -> None:
        if "on_flush" in self.errors:
            raise self.errors["on_flush"]


def shown(session: Any) -> list[tuple[str, str]]:
    return [(m.role, m.text) for m in session.messages]


def journalled(memory: Any) -> list[str]:
    return [entry.record["text"] for entry in memory.session("s").journal.of_kinds("message")]


class Slow:
    """An extractor that says when it has started, and goes on when it is told to."""

    def __init__(self) -> None:
        self.started, self.finish = threading.Event(), threading.Event()

    @hookimpl
    def on_extract(self, turns: Any) -> Extraction:
        self.started.set()
        assert self.finish.wait(10), "the loop was not blocked, or this would wait for ever"
        return Extraction(summary="They spoke")


@pytest.mark.req("R184", "R166", "R167")
@pytest.mark.parametrize(
    "errors", [{"on_validate": ValueError("no")}, {"on_flush": OSError("gone")}, {"on_flush": SystemExit(0)}]
)
def test_guard__whatever_fails_in_the_flush__the_compaction_is_never_called(opened, errors):
    memory = opened(Broken(**errors))
    compactor = Compactor()
    compact = memory.guard(compactor, session="s", messages=lambda rows: rows)
    for _ in range(3):
        with pytest.raises(FlushRefused):
            compact(says("Fix it", "How?"))
    assert compactor.calls == 0
    assert memory.session("s").unsafe
    assert shown(memory.session("s")) == [("user", "Fix it"), ("assistant", "How?")], "journalled once, not three times"


@pytest.mark.req("R166")
def test_guard__journal_that_cannot_be_written__refuses(opened, state):
    compactor = Compactor()
    compact = opened().guard(compactor, session="s", messages=lambda rows: rows)
    compact(says("Fix it"))
    shutil.rmtree(state / "sessions")
    (state / "sessions").write_text("")
    with pytest.raises(FlushRefused):
        compact(says("Fix it", "How?"))
    assert compactor.calls == 1


@pytest.mark.req("R184")
def test_guard__what_is_in_context_cannot_be_told__refuses_or_lets_the_error_out(opened):
    memory = opened()
    compactor = Compactor()

    def broken(rows: list[Row]) -> list[Row]:
        raise LookupError("no such thread")

    with pytest.raises(LookupError):
        memory.guard(compactor, session="s", messages=broken)(says("x"))
    with pytest.raises(FlushRefused, match="Message 1 of the context has an unknown form"):
        memory.guard(compactor, session="s", messages=lambda rows: rows)([*says("x"), {"role": "martian"}])
    with pytest.raises(FlushRefused, match="NoneType was given"):
        memory.guard(compactor, session="s", messages=lambda rows: None)(says("x"))
    with pytest.raises(FlushRefused, match="is empty"):
        memory.guard(compactor, session="empty")(["x"])
    assert compactor.calls == 0


@pytest.mark.parametrize(
    "rows",
    [
        [{"content": "the only text"}],
        [*says("known"), {"content": "the only text"}],
        [*says("known"), "the only text"],
        [*says("known"), {"role": "user", "content": b"x"}],
        ({"parts": ["the only text"]},),
        {"messages": [*says("known"), "the only text"]},
        [SimpleNamespace(said="the only text")],
        deque([SimpleNamespace(said="the only text")]),
    ],
)
def test_guard__rows_of_no_known_form_in_a_known_session__refuses(rows, opened):
    memory = opened()
    compactor = Compactor()
    memory.guard(compactor, session="s")(says("known"))
    assert compactor.calls == 1
    with pytest.raises(FlushRefused, match="so it cannot be kept"):
        memory.guard(compactor, session="s")(rows)
    assert compactor.calls == 1


def test_guard__tools_before_the_messages__are_not_taken_for_them(opened):
    memory = opened()
    memory.session("s").add("user", "known")
    compact = memory.guard(lambda tools, rows: [], session="s")
    tools = [{"type": "function", "function": {"name": "edit"}}]
    with pytest.raises(FlushRefused, match="an unknown form"):
        compact(tools, [*says("Fix it"), "the only text"])
    compact(tools, says("Fix it"))
    assert journalled(memory) == ["known", "Fix it"]


@pytest.mark.parametrize("held", [deque, lambda rows: SimpleNamespace(messages=rows), lambda rows: {"messages": rows}])
def test_guard__messages_not_in_a_list_and_a_known_session__are_journalled(held, opened):
    memory = opened()
    memory.session("s").add("user", "known")
    memory.guard(lambda given: None, session="s")(held(says("Fix it", "How?")))
    assert journalled(memory) == ["known", "Fix it", "How?"]


@pytest.mark.parametrize("argument", [{"tag"}, ["tag"], [None], {"messages": []}])
def test_guard__argument_that_holds_no_message__leaves_it_to_the_session(argument, opened):
    memory = opened()
    memory.session("s").add("user", "Fix it")
    assert memory.guard(lambda given: given, session="s")(argument) == argument
    assert memory.session("s").state is State.SAFE


@pytest.mark.parametrize("call", [lambda f, rows: f(rows), lambda f, rows: f(None, rows), lambda f, rows: f(rows=rows)])
def test_guard__without_messages__takes_the_first_argument_that_is_a_list_of_rows(call, opened):
    memory = opened()

    @memory.guard(session="s")
    def compact(*args: Any, **named: Any) -> list[Row]:
        return next(iter([*[a for a in args if a], *named.values()]))[-1:]

    rows = says("Fix it", "How?", "With a lock")
    assert call(compact, rows) == rows[-1:]
    assert shown(memory.session("s")) == [("user", "With a lock")]
    assert journalled(memory) == ["Fix it", "How?", "With a lock"]


def test_guard__compaction_that_raises__lets_it_out_and_drops_nothing(opened):
    memory = opened()

    def fail(rows: list[Row]) -> list[Row]:
        raise TimeoutError("the model did not answer")

    with pytest.raises(TimeoutError):
        memory.guard(fail, session="s", messages=lambda rows: rows)(says("Fix it", "How?"))
    assert len(memory.session("s").messages) == 2
    assert memory.session("s").state is State.SAFE


@pytest.mark.req("R184")
def test_guard__as_a_decorator__keeps_name_result_and_arguments(opened):
    memory = opened()

    @memory.guard(session=lambda rows, *, keep: f"s-{keep}", messages=lambda rows, *, keep: rows)
    def shorten(rows: list[Row], *, keep: int) -> list[Row]:
        """Keeps some."""
        return rows[-keep:]

    assert shorten.__name__ == "shorten"
    assert shorten.__doc__ == "Keeps some."
    assert shorten(says("a", "b", "c"), keep=1) == [{"role": "user", "content": "c"}]
    assert shown(memory.session("s-1")) == [("user", "c")]
    assert memory.session("s-1").last_receipt.reason == "compaction"

    @memory.guard
    def forget() -> str:
        return "forgotten"

    with pytest.raises(FlushRefused):
        forget()
    memory.session("default").add("user", "Fix it")
    assert forget() == "forgotten"


@pytest.mark.req("R184", "R087")
def test_guard__async_function__waits_for_the_gate_without_blocking_the_loop(opened, note):
    seen: list[str] = []
    ticks: list[int] = []
    slow = Slow()
    memory = opened(slow)

    @memory.guard(session="s", messages=lambda rows: rows)
    async def shorten(rows: list[Row]) -> list[Row]:
        seen.append(note())
        await asyncio.sleep(0)
        return rows[-1:]

    async def main() -> list[Row]:
        compacting = asyncio.create_task(shorten(says("a", "b", "c")))
        while not slow.started.is_set():
            ticks.append(1)
            await asyncio.sleep(0.001)
        assert not seen
        slow.finish.set()
        return await compacting

    assert asyncio.run(main()) == [{"role": "user", "content": "c"}]
    assert ticks
    assert "They spoke" in seen[0]
    assert shown(memory.session("s")) == [("user", "c")]


@pytest.mark.req("R184", "R166")
@pytest.mark.parametrize("guarded", [True, False], ids=["guard", "aflush"])
def test_guard_and_aflush__cancelled_while_they_flush__finish_the_flush_and_call_nothing(opened, guarded):
    called, slow = [], Slow()

    async def shorten(rows: list[Row]) -> None:
        called.append(1)

    memory = opened(slow)
    session = memory.session("s")
    session.add("user", "a")

    async def main() -> None:
        guard = memory.guard(shorten, session="s", messages=lambda rows: rows)
        flushing = asyncio.create_task(guard(says("a")) if guarded else session.aflush())
        while not slow.started.is_set():
            await asyncio.sleep(0.001)
        flushing.cancel()
        await asyncio.sleep(0.01)
        assert not flushing.done(), "the flush is finished first"
        slow.finish.set()
        with pytest.raises(asyncio.CancelledError):
            await flushing
        assert memory.session("s").state is State.SAFE

    asyncio.run(main())
    assert not called
    assert shown(memory.session("s")) == [("user", "a")]


@pytest.mark.req("R184")
def test_guard__what_would_run_later_than_the_gate__is_refused(opened):
    memory = opened()

    def lazily(rows: list[Row]) -> Any:
        yield rows

    async def lazily_async(rows: list[Row]) -> Any:
        yield rows

    ran = []

    async def later() -> None:
        ran.append(1)

    for function in (lazily, lazily_async):
        with pytest.raises(TypeError, match="generator"):
            memory.guard(function)
    memory.session("default").add("user", "x")
    with pytest.raises(TypeError, match="async def"):
        memory.guard(lambda: later())()
    assert not ran


@pytest.mark.req("R184", "R087")
def test_guard__rows_added_while_it_flushes__are_flushed_too_before_anything_is_dropped(opened, note):
    rows = says("a", "b")
    late = says("said late")

    class Talks:
        @hookimpl
        def on_extract(self, turns: Any) -> Extraction:
            if late:
                rows.append(late.pop())
            return Extraction(summary=" ".join(m.text for t in turns for m in t.messages))

    notes: list[str] = []
    compact = opened(Talks()).guard(
        Compactor(probe=lambda: notes.append(note())), session="s", messages=lambda given: given
    )
    compact(rows)
    assert "said late" in notes[0]


def test_guard__rows_added_during_every_flush__is_refused_in_the_end(opened):
    rows = says("a")
    compactor = Compactor()

    class NeverQuiet:
        @hookimpl
        def on_extract(self, turns: Any) -> Extraction:
            rows.append({"role": "user", "content": f"and {len(rows)}"})
            return Extraction(summary="x")

    with pytest.raises(FlushRefused, match="Messages arrived during each"):
        opened(NeverQuiet()).guard(compactor, session="s", messages=lambda given: given)(rows)
    assert compactor.calls == 0


@pytest.mark.parametrize("between", ["turns", "processes", "ends"])
@pytest.mark.parametrize("head", [None, *says("Summary of what was said.")], ids=["pinned", "summary"])
def test_mirror__list_that_outlives_compactions_processes_and_ends__journals_each_message_once(
    head, between, opened, note
):
    memory, rows, said = opened(), [], []
    for number in range(4):
        new = says(f"q{number}", f"a{number}", f"q{number}?", f"a{number}!")
        said += [row["content"] for row in new]
        rows = memory.guard(lambda rows: [head or rows[0], *rows[-2:]], session="s")([*rows, *new])
        assert shown(memory.session("s")) == [("user", f"q{number}?"), ("assistant", f"a{number}!")]
        if between == "ends":
            memory.session("s").end()
        elif between == "processes":
            memory.close()
            memory = opened()
    assert journalled(memory) == said
    assert "Summary of" not in note()
    assert all(text in note() for text in said)


def test_mirror__new_list_that_repeats_an_earlier_request__is_journalled(opened):
    memory, rows = opened(), says("Check the build", "It is green")
    for length in (1, 2, 1, 2):
        memory.session("s").mirror.keep(rows[:length])
        if length == len(rows):
            memory.session("s").end()
    assert journalled(memory) == ["Check the build", "It is green"] * 2


def test_mirror__what_was_redacted__is_known_again(opened):
    class Masks:
        @hookimpl
        def on_validate(self, request: Any) -> list[Finding]:
            at = request.text.find("hunter2")
            return [Finding(rule="r", message="m", span=(at, at + 7), replacement="[X]")] if at >= 0 else []

    memory = opened(Masks())
    compact = memory.guard(lambda rows: rows, session="s", messages=lambda rows: rows)
    rows = says("the word is hunter2", "noted")
    compact(rows)
    compact(rows)
    assert shown(memory.session("s")) == [("user", "the word is [X]"), ("assistant", "noted")]


@pytest.mark.req("R002")
def test_mirror__kept_after_each_turn__journals_what_is_new_and_asks_the_gate_only_for_that(opened):
    asked: list[str] = []

    class Listens:
        @hookimpl
        def on_validate(self, request: Any) -> list[Finding]:
            asked.append(request.text)
            return []

    session = opened(Listens()).session("s")
    rows: list[Row] = []
    for number in range(20):
        rows += says(f"question {number}", f"answer {number}")
        assert [m.text for m in session.mirror.keep(rows)] == [f"question {number}", f"answer {number}"]
    assert len(asked) == 2 * 2 * 20, "each text once to know it again, once to store it"
    assert session.mirror.keep(rows) == []
    assert len(session.messages) == 40
