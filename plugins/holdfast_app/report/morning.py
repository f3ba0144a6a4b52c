"""The morning report: yesterday and the night, from files and from the forges where people work.

A pure function of its sources and the window. The same input gives the same text, and a lost report can be regenerated.
Every line has a pointer to its proof. Without a forge the report uses files alone and says so.
"""

from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime, time, timedelta
from typing import Final

from attrs import evolve, frozen

from holdfast.api import HoldfastError, Severity
from holdfast.config.layout import Surface
from holdfast_app.authorship import hostile
from holdfast_app.base import Services
from holdfast_app.outbox.delivery import forges_of
from holdfast_app.outbox.forge import INCOMPLETE, Activity, Forge
from holdfast_app.printable import cut
from holdfast_app.report import claims
from holdfast_app.report.report import BLOCKED, CHANGED, NEEDED, Line, Report, report
from holdfast_app.validation import unsupported
from holdfast_models.recall import without_name

FORGE: Final = "On the forge"
FINDINGS: Final = "What does not fit together"


@frozen(kw_only=True)
class Morning(Report):
    """Everything from ``since``, yesterday 00:00 in the configured zone, until now. ``sections`` maps the section names
    of a report, then :data:`FORGE` and :data:`FINDINGS`, to their lines. ``remarks`` lists forges that could not be
    reached, ``screen`` is what fits a phone."""

    since: datetime
    remarks: tuple[str, ...]
    screen: tuple[str, ...]

    @property
    def head(self) -> tuple[str, ...]:
        title = f"# Morning report: everything since {self.since:%Y-%m-%d %H:%M}"
        return (title, *(f"_{remark}_" for remark in self.remarks), "\n".join(self.screen))


def morning(services: Services) -> Morning:
    """The report from yesterday 00:00 up to now. Raises: Corrupt; Unavailable of the store, never of a forge."""
    now = services.now()
    since = datetime.combine(now.date() - timedelta(days=1), time(), tzinfo=now.tzinfo)
    files = report(services, days=2)
    happened: list[tuple[Activity, Line]] = []
    remarks: list[str] = []
    forges = forges_of(services)
    for forge in forges.values():
        events, missing = _of(services, forge, since, now, is_only=len(forges) == 1)
        happened += events
        remarks += missing
    if not forges:
        remarks.append("No forge is enabled, so this report uses files alone.")
    findings = (
        *_findings(services, files, [line for _, line in happened]),
        *claims.findings(forges.values(), files, since),
    )
    changes = "\n".join(line.text for line in files.sections[CHANGED])
    # Not holdfast's own comments about changes that the notes hold.
    unnoted = (pair for pair in happened if not (pair[0].own and pair[0].text.rpartition("**: ")[2] in changes))
    others = [(event, line) for event, line in unnoted if event.waits != "operator"]
    targets = list(dict.fromkeys(event.target for event, _ in others))  # in the order of each one's first event
    listed = sorted(others, key=lambda pair: targets.index(pair[0].target))
    sections = {**files.sections, FORGE: tuple(line for _, line in listed), FINDINGS: findings}
    for waits, name in (("operator", NEEDED), ("blocked", BLOCKED)):
        sections[name] = (*sections[name], *(line for event, line in happened if event.waits == waits))
    blocked = (evolve(line, short=f"Blocked: {line.short or line.text}") for line in sections[BLOCKED])
    changed = _grouped(pair for pair in others if not pair[0].waits)
    changed += [line.text for line in sections[CHANGED]]
    return Morning(
        first_day=files.first_day,
        last_day=files.last_day,
        since=since,
        sections=sections,
        searched={**files.searched, FORGE: "holdfast plugins", FINDINGS: "holdfast validate"},
        remarks=tuple(remarks),
        screen=_screen((*sections[NEEDED], *blocked), changed, findings, remarks),
    )


def _of(
    services: Services, forge: Forge, since: datetime, now: datetime, *, is_only: bool
) -> tuple[list[tuple[Activity, Line]], list[str]]:
    """A forge's activity with its lines, and remarks on missing parts. Lines name it unless it is the only one."""
    named = "" if is_only else f"{forge.title} "
    try:
        activity = [_quoted(event, forge.title) for event in forge.activity(since, now)]
        heads = []
        for event in activity:
            at, by = event.at.astimezone(now.tzinfo), f" by {event.author}" if event.author else ""
            heads.append(" ".join(f"{at:%Y-%m-%d %H:%M} {named}{event.target} {event.kind}{by}".split()))
        texts = [f"{head}: {event.text}" for head, event in zip(heads, activity, strict=True)]
        masked = services.gate.outgoing_all(texts, surface=Surface.REPORT)
    except Exception as error:  # noqa: BLE001 - a plugin's fault must not cost the report
        lacks = "this report uses files alone" if is_only else "its events are missing"
        why = error if isinstance(error, HoldfastError) else f"plugin {forge.name!r} failed ({type(error).__name__})."
        return [], [f"{forge.title} could not be reached, so {lacks}: {why}"]
    events = []
    for event, head, text in zip(activity, heads, masked, strict=True):
        by = f" {event.author}" if event.author else ""
        short = f"{named}{_short(event.target)}{by}{text.removeprefix(head)}"
        if event.kind != INCOMPLETE:
            events.append((event, Line(text=text, pointer=event.pointer, short=short)))
    return events, [event.text for event in activity if event.kind == INCOMPLETE]


def _quoted(event: Activity, title: str) -> Activity:
    """The event as data, because an agent may read the report and anybody may have written the event."""
    text = hostile.marked(" ".join(event.text.split()), lambda _: title)
    target, pointer, text, author = map(without_name, (event.target, event.pointer, text, event.author))
    return event._replace(target=target, pointer=pointer, text=text, author=author)


def _findings(services: Services, files: Report, happened: list[Line]) -> Iterator[Line]:
    """Claims in the window's summaries that no source supports."""
    days = (files.first_day, files.last_day)
    names = [services.layout.name(s, day) for day in days for s in (Surface.DAILY, Surface.TRAIL, Surface.REPORT)]
    for finding in unsupported(services, names, also="\n".join(line.text for line in happened)):
        if finding.severity is Severity.ERROR:
            where = services.store.backend.where(finding.name)
            yield Line(text=f"{finding.name} {finding.message}. {finding.fix}", pointer=f"{where}, line {finding.line}")


# what fits a phone: what needs you, what changed, what does not fit together

#: Rows of the screen and characters of a row.
ROWS: Final = 25
WIDTH: Final = 60
#: Rows other than items: title, three headings and the blank lines between them, and the sentence at the end.
_FIXED: Final = 10
#: First entries under "Changed": kinds of activity, then first words of its text.
_FIRST: Final = (
    ("release", "tag", "push", "checks", "merge", "repository"),
    ("merged", "closed", "reopened"),
    ("opened",),
)


def _screen(
    needs: Sequence[Line], changed: Sequence[str], findings: Sequence[Line], remarks: Sequence[str]
) -> tuple[str, ...]:
    """The rows, without the title and the remarks. Items without room are counted and follow in the sections."""
    needs = sorted(needs, key=lambda line: line.text.startswith("Promised: "))
    items = ([line.short or line.text for line in needs], [*changed], [line.short or line.text for line in findings])
    room = ROWS - _FIXED - sum(-(-len(remark) // WIDTH) + 1 for remark in remarks)
    rows = [0, 0, 0]
    for at in (0, 1, 2, 0, 1) * ROWS:
        if sum(rows) < max(room, 6) and rows[at] < len(items[at]):
            rows[at] += 1
    parts = []
    for name, lines, most in zip(("Needs you", "Changed", "Does not fit together"), items, rows, strict=True):
        parts += ["", f"**{name}: {len(lines) or 'nothing'}**"]
        shown = lines[: most if most == len(lines) else max(most - 1, 0)]
        parts += [f"- {cut(item, WIDTH - 2)}" for item in shown]
        if len(shown) < len(lines):
            parts.append(f"- and {len(lines) - len(shown)} more below")
    return (*parts[1:], "", "_The sections below have the rest and the proof._")


def _grouped(happened: Iterable[tuple[Activity, Line]]) -> list[str]:
    """One row for each kind of event on the forge, the most important first."""
    groups: dict[tuple[int, str], dict[str, str]] = {}
    for event, line in happened:
        verb = event.text.partition(":")[0] if event.kind not in ("comment", "commit") else f"{event.kind}s"
        rank = next((n for n, words in enumerate(_FIRST) if event.kind in words or verb in words), len(_FIRST))
        group = groups.setdefault((rank + (event.kind == "comment"), verb), {})
        group[f"{event.target}\0{event.pointer}" if event.kind == "commit" else event.target] = line.short or line.text
    return [
        next(iter(shown.values())) if len(shown) == 1 else f"{verb}: {', '.join(dict.fromkeys(map(_short, shown)))}"
        for (_, verb), shown in sorted(groups.items(), key=lambda pair: pair[0][0])
    ]


def _short(target: str) -> str:
    """``owner/repo#12`` without the owner."""
    return target.partition("\0")[0].rpartition("/")[2]
