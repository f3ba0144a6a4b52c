"""``python benchmarks/quality/nights.py [-v]``: sixty nights on a made-up project that changes, without a model.

Each day a session flushes a few facts and decisions; each night a dream runs. Every topic changes its value at least
once. At the end MEMORY.md is compared with the truth. Printed for each set of 18 topics: topics with an old and the
newest value, topics without the newest value, rewordings that were both kept, lasting facts that were lost, and nights
that failed. The rules were written against the set ``seen``; ``unseen`` was written before them and run at the end.
``crowded`` adds fourteen one-off facts a day, so that the limit on items is reached. ``-v`` prints the memory.
"""

from __future__ import annotations

import random
import sys
import tempfile
import time
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import NamedTuple

from holdfast import Holdfast, Payload
from holdfast_app.dream import memorytext

NIGHTS = 60
FIRST = datetime(2026, 3, 2, 14, 0, tzinfo=UTC)

#: A topic is a list of values, oldest first; each value is said in one or more wordings.
Topic = list[list[str]]

SEEN: list[Topic] = [
    [
        ["The current release is 2.2.0", "The release is 2.2.0"],
        ["The current release is 2.3.0"],
        ["The current release is 2.4.1"],
    ],
    [["The API listens on port 8080"], ["The API listens on port 9090", "The API is listening on port 9090"]],
    [["We use Redis for caching", "Redis is used for caching"], ["We use Valkey for caching"]],
    [["Billing runs on Heroku"], ["Billing moved from Heroku to Fly", "Billing was moved from Heroku to Fly"]],
    [["The login page crashes in Safari 17"], ["The crash of the login page in Safari is fixed"]],
    [["Alice owns the billing service"], ["Bob owns the billing service"]],
    [["Log files are kept for 30 days"], ["Log files are kept for 14 days", "Log files are kept for two weeks"]],
    [["The database is Postgres 15"], ["The database is Postgres 16", "Our database is Postgres 16"]],
    [["Deploys need one reviewer", "A deploy needs one reviewer"], ["Deploys need two reviewers"]],
    [["CI runs on Jenkins"], ["CI moved from Jenkins to GitHub Actions"]],
    [["The upload limit is 10 MB"], ["The upload limit is 25 MB"], ["The upload limit is 50 MB"]],
    [["Dark mode is disabled by default"], ["Dark mode is enabled by default"]],
    [["The search test is flaky on Windows"], ["The flaky search test on Windows is fixed"]],
    [["Staging lives at https://staging.acme.test"], ["Staging lives at https://stage.acme.example"]],
    [["The default branch is master"], ["The default branch is main"]],
    [["Invoices are sent on Mondays"], ["Invoices are sent on Thursdays"]],
    [["We deploy with Ansible"], ["We no longer deploy with Ansible", "Ansible is no longer used to deploy"]],
    [["The team sits in York"], ["The team moved to Leeds"]],
]

UNSEEN: list[Topic] = [
    [["Latest stable version: 0.9.4"], ["Latest stable version: 0.10.0"], ["Latest stable version: 1.0.0"]],
    [
        ["Session tokens expire after 15 minutes"],
        ["Session tokens expire after 60 minutes", "Session tokens expire after one hour"],
    ],
    [["The worker pool has 4 processes"], ["The worker pool has 12 processes"]],
    [["Mails go out through Sendgrid"], ["Mails were switched from Sendgrid to Postmark"]],
    [
        ["Exports fail for accounts with more than 10,000 rows"],
        ["Exports for accounts with more than 10,000 rows are fixed"],
    ],
    [["Marta leads the mobile team"], ["Jonas leads the mobile team", "The mobile team is led by Jonas"]],
    [
        ["Python 3.11 is the minimum version", "The minimum version is Python 3.11"],
        ["Python 3.12 is the minimum version"],
    ],
    [["The release train leaves every second Tuesday"], ["The release train leaves every second Wednesday"]],
    [
        ["Uploads are stored in eu-west-1"],
        ["Uploads are stored in eu-central-1", "Uploads are now stored in eu-central-1"],
    ],
    [["The linter is flake8", "flake8 is the linter"], ["The linter is ruff"]],
    [["Feature flags are allowed in the checkout"], ["Feature flags are forbidden in the checkout"]],
    [["The payments webhook times out after 3 s"], ["The payments webhook times out after 10 s"]],
    [["Docs are built with Sphinx"], ["Docs are built with MkDocs"]],
    [
        ["Rate limit is 100 requests per minute"],
        ["Rate limit is 250 requests per minute", "The rate limit is 250 requests per minute"],
    ],
    [["The importer does not support UTF-16"], ["The importer supports UTF-16"]],
    [["On-call rotation: Priya, then Sam"], ["On-call rotation: Sam, then Lena"]],
    [["The staging cluster is Kubernetes 1.29"], ["The staging cluster was upgraded from Kubernetes 1.29 to 1.31"]],
    [["The memory leak in the indexer is open"], ["The memory leak in the indexer was resolved"]],
]

#: Facts that stay true; several look like one another, so that a rule that replaces too much is seen.
LASTING = [
    "The API lives in services/api",
    "The worker lives in services/worker",
    "The metrics endpoint listens on port 9100",
    "The admin panel listens on port 8443",
    "Alice reviews database migrations",
    "Bob reviews the frontend",
    "We use Redis for rate limits",
    "We use Sentry for error reports",
    "The upload folder is var/uploads",
    "The limit on attachments is 5 files",
    "Access logs are kept for 90 days",
    "The replica is Postgres 14",
    "Migrations need a backup first",
    "The checkout page is slow on old phones",
    "The search index is rebuilt at 02:00",
    "Releases are tagged with a leading v",
    "The mobile app supports Android 10 and later",
    "The desktop app supports Windows 11 and later",
    "Payments are processed by Stripe",
    "Refunds are processed by hand",
    "Tests in tests/slow run only at night",
    "The public docs are in English",
    "The internal docs are in German",
    "The team in Porto handles support",
    "ADR 12 covers caching",
    "ADR 13 covers retries",
    "Customer ids begin with cus_",
    "Order ids begin with ord_",
    "The nightly backup takes 40 minutes",
    "The weekly backup takes 3 hours",
]


class Outcome(NamedTuple):
    """Counts at the end of the nights; ``seconds`` is the longest dream."""

    both: list[str]
    missing: list[str]
    doubled: list[str]
    lost: list[str]
    failed: int
    skipped: int
    items: int
    seconds: float
    memory: str


def days(topics: list[Topic], crowd: int) -> list[list[str]]:
    """What is said on each day."""
    chance = random.Random(7)
    said: list[list[str]] = [[] for _ in range(NIGHTS)]
    for topic in topics:
        moments = sorted(chance.sample(range(1, NIGHTS - 6), len(topic)))
        for number, wordings in enumerate(topic):
            until = moments[number + 1] if number + 1 < len(topic) else NIGHTS - 2
            for wording in wordings:
                said[chance.randint(moments[number], until - 1)].append(wording)
            first = min(day for day, lines in enumerate(said) if any(w in lines for w in wordings))
            if first > moments[number]:
                said[moments[number]].append(wordings[0])
    for fact in LASTING:
        for day in chance.sample(range(NIGHTS), 3):
            said[day].append(fact)
    for day in range(NIGHTS):
        for number in range(crowd):
            word = "".join(chance.choices("bcdfghklmnprstvw", k=3)) + chance.choice(["ara", "ino", "oki"])
            kind = chance.choice(["table", "job", "view", "queue", "page"])
            said[day].append(f"The {word} {kind} belongs to part {day * 20 + number}")
    for lines in said:
        chance.shuffle(lines)
    for day in (9, 10, 11, 12, 30):  # nights without facts
        said[day + 1] += said[day]
        said[day] = []
    return said


def run(topics: list[Topic], crowd: int = 0) -> Outcome:
    """Sixty days and nights."""
    now = FIRST
    failed = skipped = 0
    slowest = 0.0
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        with Holdfast.open(root, clock=lambda: now) as memory:
            for day, lines in enumerate(days(topics, crowd)):
                now = FIRST + timedelta(days=day)
                with memory.session(f"day-{day}") as session:
                    session.add("user", "Go on")
                    session.flush(payload(lines))
                now += timedelta(hours=13, minutes=30)
                started = time.process_time()
                result = memory.deep_dream()
                slowest = max(slowest, time.process_time() - started)
                failed += not result.ok
                if not result.ok and "-v" in sys.argv:
                    print(f"  night {day}: {result.reason} {result.next_step}")
                skipped += str(result.status) == "skipped"
            document = memory.store.read("MEMORY.md")
    text = document.text if document else ""
    return judged(topics, text, failed, skipped, slowest)


def payload(lines: list[str]) -> Payload:
    """A stated payload with the lines as facts."""
    return Payload(
        objective="Go on with the project",
        facts=lines,
        decisions=[],
        blockers=[],
        next_step="none",
        artifacts=[],
        follow_ups=[],
        state_mutations=[],
        work_open=False,
        curated="none",
    )


def judged(topics: list[Topic], text: str, failed: int, skipped: int, seconds: float) -> Outcome:
    """The memory against the truth."""
    items = {item.text for item in memorytext.read(text).items}
    both, missing, doubled = [], [], []
    for topic in topics:
        newest = [w for w in topic[-1] if w in items]
        old = [w for value in topic[:-1] for w in value if w in items]
        if old and newest:
            both.append(f"{old} and {newest}")
        if not newest:
            missing.append(f"{topic[-1]}; has {old}")
        doubled += [str(found) for value in topic if len(found := [w for w in value if w in items]) > 1]
    lost = [fact for fact in LASTING if fact not in items]
    return Outcome(both, missing, doubled, lost, failed, skipped, len(items), seconds, text)


def main() -> None:
    """Print all figures."""
    for name, topics, crowd in (("seen", SEEN, 0), ("unseen", UNSEEN, 0), ("crowded", SEEN, 14)):
        if len(sys.argv) > 1 and sys.argv[1] != "-v" and name not in sys.argv:
            continue
        found = run(topics, crowd)
        print(
            f"{name}: old and new value {len(found.both)} of {len(topics)}, newest missing {len(found.missing)}, "
            f"rewordings kept twice {len(found.doubled)}, lasting facts lost {len(found.lost)} of {len(LASTING)}, "
            f"nights failed {found.failed}, skipped {found.skipped}; {found.items} items, "
            f"slowest dream {found.seconds:.2f} s"
        )
        if "-v" in sys.argv:
            for what in ("both", "missing", "doubled", "lost"):
                for line in getattr(found, what):
                    print(f"  {what}: {line}")
            print(found.memory)


if __name__ == "__main__":
    main()
