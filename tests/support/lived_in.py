"""A made-up project after some weeks of use: sessions, flushes, a blocked compaction, dreams, facts that came and went.

Everything goes through the public API with the default plugins, under a clock that moves, so the project is a real one.
"""

from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Final, NamedTuple

from holdfast import FlushRefused, Holdfast
from holdfast_app.config import Config

#: The last day of the story.
END: Final = datetime(2026, 11, 20, 16, 40, tzinfo=UTC)


class Task(NamedTuple):
    """One session's work: id, branch, what the user asks, and what came out of it."""

    session: str
    branch: str
    ask: str
    answer: str
    facts: tuple[str, ...]
    decisions: tuple[str, ...]
    next_step: str
    blocker: str = "none"


TASKS: Final = (
    Task("checkout-rounding", "fix/rounding", "The invoice total is one cent off for Swiss orders. Find out why.",
         "The tax is rounded per line and the total is rounded again. Rounding once at the end fixes it.",
         ("Invoices for CHF round to 0.05 only in the total, never per line",),
         ("Round once, at the end, with banker's rounding off",), "Add the three cases from the bug report as tests"),
    Task("webhook-retries", "feat/retries", "Payment webhooks get lost when the queue restarts. Make them survive it.",
         "Events are now written to the outbox table in the same transaction, and a worker sends them.",
         ("The payment provider repeats a webhook for 72 hours", "Webhook ids are unique per account, not globally"),
         ("Use the outbox table instead of Redis for webhooks",), "Delete the Redis consumer after one quiet week"),
    Task("search-latency", "perf/search", "Product search takes 900 ms at the 95th percentile. It should take 200.",
         "The trigram index was never used, because the query lowercases the column. With the index it takes 140 ms.",
         ("Product search has 1.4 million rows in production",),
         ("Keep Postgres for search; no Elasticsearch before 10 million rows",), "Measure again after Monday's import",
         "The staging database has no recent copy of the products"),
    Task("gdpr-export", "feat/export", "Customers may ask for their data. Build the export, as a background job.",
         "The job writes a ZIP of JSON files and mails a link that expires after seven days.",
         ("Exports must be deleted seven days after they were made",),
         ("Exports are encrypted with the customer's own key",), "Ask legal whether order notes belong in the export"),
    Task("ci-flakes", "chore/ci", "The test suite fails about once in ten runs. Find the reason.",
         "Two tests share a port, and one sleeps instead of waiting. Both are repaired; 200 runs passed.",
         ("The test suite needs the time zone Europe/Zurich",),
         ("Tests may not sleep; they wait for a condition",), "none"),
    Task("stock-sync", "fix/stock", "The stock of the outlet shop is wrong every Monday morning.",
         "The import runs before the weekend's returns are booked. It now waits for the booking job.",
         ("Returns of the weekend are booked on Monday at 05:30",),
         ("The stock import starts when the booking job has finished",), "Watch next Monday's run"),
    Task("login-lockout", "fix/lockout", "Users behind one office network lock each other out.",
         "The limiter counted by address. It counts by account and address now, with a higher limit for addresses.",
         ("Acme AG has 340 people behind one address",),
         ("Limit by account first, by address second",), "Roll out to 10 percent, then to all"),
)  # fmt: skip
STATED: Final = (
    ("Answer in English, code comments too", "preference", 0.95),
    ("Run `make check` before every commit", "behavior", 0.9),
    ("The shop runs on Django 5.1 and Postgres 16", "knowledge", 0.95),
    ("Ana owns payments, Beat owns the warehouse", "context", 0.8),
    ("Be done with the export before the audit in December", "goal", 0.85),
    ("Prices are stored in cents, never as decimals", "correction", 1.0),
    ("The deploy day is Tuesday", "knowledge", 0.75),
    ("The staging server is rebuilt every night", "context", 0.6),
)


class Clock:
    def __init__(self, now: datetime) -> None:
        self.now = now

    def __call__(self) -> datetime:
        return self.now


def build(root: Path, *, weeks: int = 4, config: Config | None = None) -> Clock:
    """Fill the project at ``root``. Returns its clock, at the end of the story."""
    root.mkdir(parents=True, exist_ok=True)
    clock = Clock(END - timedelta(weeks=weeks))
    with Holdfast.open(root, config=config or Config(zone="UTC"), clock=clock) as memory:
        for number, (content, category, confidence) in enumerate(STATED):
            clock.now += timedelta(minutes=7)
            memory.facts.create(content, category, confidence, source="checkout-rounding" if number % 2 else "")
        first = clock.now.replace(hour=9, minute=5)
        for day in range(weeks * 7 + 1):
            clock.now = first + timedelta(days=day)
            if clock.now.weekday() < 5 and clock.now < END:
                _day(memory, clock, root, day)
        clock.now = END
        memory.facts.remember("The deploy day is Wednesday", "knowledge", 0.9)
        memory.facts.delete(next(f.id for f in memory.facts.list() if "staging server" in f.content))
    return clock


def _day(memory: Holdfast, clock: Clock, root: Path, day: int) -> None:
    for number in range(1 + day % 2):
        task = TASKS[(day + number * 3) % len(TASKS)]
        session = memory.session(f"{task.session}-{day:02d}")
        _talk(session, clock, task)
        clock.now += timedelta(minutes=50)
        if day in (10, 19) and number == 0:
            _blocked(session, root, task)
            clock.now += timedelta(minutes=12)
            session.compact(2, payload(task))
            continue
        session.compact(2, payload(task))
        _say(session, clock, "user", "Good. Go on with the rest of it.")
        _say(session, clock, "assistant", f"Next: {task.next_step}.")
        clock.now += timedelta(minutes=40)
        if clock.now + timedelta(days=1) < END:
            session.end(payload(task, is_open=day % 5 == 3))
    clock.now = clock.now.replace(hour=23, minute=30)
    if clock.now < END:
        memory.deep_dream()


def _talk(session: Any, clock: Clock, task: Task) -> None:
    _say(session, clock, "user", task.ask)
    _say(session, clock, "assistant", f"I look at the code of {task.session} first.")
    _say(session, clock, "assistant", f"rg -n '{task.session.split('-')[0]}' src/", tool="Bash")
    _say(session, clock, "tool", f"src/shop/{task.session.replace('-', '_')}.py:41: def run(order):", tool="Bash")
    for fact in task.facts:
        _say(session, clock, "user", f"You should know: {fact}.")
    _say(session, clock, "assistant", task.answer)
    for decision in task.decisions:
        _say(session, clock, "user", f"Decision: {decision}.")


def _say(session: Any, clock: Clock, role: str, text: str, tool: str = "") -> None:
    clock.now += timedelta(seconds=95)
    session.add(role, text, tool=tool)


def _blocked(session: Any, root: Path, task: Task) -> None:
    """Ask for compaction while the notes cannot be written."""
    notes = root / ".holdfast" / "memory"
    aside = notes.with_name("memory.aside")
    notes.rename(aside)
    notes.write_text("A file where a folder should be.\n", encoding="utf-8")
    try:
        session.compact(2, payload(task))
        raise AssertionError("the compaction was not blocked")
    except FlushRefused:
        pass
    finally:
        notes.unlink()
        aside.rename(notes)


def payload(task: Task, *, is_open: bool = True) -> dict[str, Any]:
    """The whole payload that an agent states for the task."""
    made: dict[str, Any] = {
        "objective": task.ask,
        "facts": list(task.facts),
        "decisions": list(task.decisions),
        "blockers": [] if task.blocker == "none" else [task.blocker],
        "next_step": task.next_step if is_open else "none",
        "artifacts": [f"shop/backend#{len(task.ask) + 300}"],
        "follow_ups": [],
        "needs_operator": [],
        "state_mutations": [],
        "work_open": is_open,
        "curated": {"memory": [f"{text}." for text in task.decisions]},
    }
    if is_open:
        made["needs_operator"] = ["Send a fresh copy of the products"] if task.blocker != "none" else []
        made["handoff"] = {
            "active_task": task.ask.split(". ")[0],
            "branch": task.branch,
            "blocker": task.blocker,
            "next_action": task.next_step if task.next_step != "none" else "Close the ticket",
        }
    return made
