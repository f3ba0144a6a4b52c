"""One draft of MEMORY.md, checked line by line against its sources, and compared with the memory before."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from datetime import datetime
from functools import partial
from typing import Final

from attrs import define, evolve

from holdfast.config.layout import Surface
from holdfast.errors import HoldfastError, Refused
from holdfast.fs import paths
from holdfast.gate import Gate, lines_of, refusal
from holdfast.models import Finding
from holdfast.text.plain import clean, same_key
from holdfast.validation import ValidationRequest, can_mask, mask
from holdfast_app.authorship import witness
from holdfast_app.base import Services
from holdfast_app.dream import consolidate, memorytext, quoting
from holdfast_app.dream.confirmed import Confirmation
from holdfast_app.dream.dreamlog import DreamResult, Gone, Supported
from holdfast_app.dream.grounding import ground, judging
from holdfast_app.dream.write import admitted, diff
from holdfast_app.facts.rejected import REASON, key_of
from holdfast_app.records import archive, ownlines

#: Minimum number of items for the loss guard, which refuses to lose more than half unless forced. Source: reading A32.
GUARDED_ITEMS: Final = 10
#: Maximum characters of the items. Beyond that, they go to the archive, the least confirmed and oldest first.
MAX_CHARS: Final = 49_800


class NotApplied(HoldfastError):
    """A dream ended without changing anything. The message gives the reason."""


class Skipped(HoldfastError):
    """There is nothing to do."""


@define(kw_only=True)
class Run:
    """A dream's result so far."""

    services: Services
    result: DreamResult

    def note(self, **changes: object) -> None:
        """Record outcomes in the result."""
        self.result = evolve(self.result, **changes)  # type: ignore[arg-type]

    def warn(self, warning: str) -> None:
        """Add a warning to the result."""
        self.note(warnings=(*self.result.warnings, warning))


@define(kw_only=True)
class Check:
    """The memory ``before`` a dream, the ``sources`` of its draft (MEMORY.md and notes), when items were confirmed
    (``record``), those rejected since (``stale``), and the time of the ``newest`` statement in the notes. ``run`` gets
    each line's outcome."""

    run: Run
    heard: witness.Witness
    name: str
    title: str
    before: consolidate.Before
    sources: tuple[tuple[str, str], ...]
    record: Mapping[str, Confirmation]
    stale: Collection[str]
    newest: datetime | None

    @property
    def services(self) -> Services:
        return self.run.services

    def times(self, items: Iterable[str]) -> tuple[tuple[str, datetime], ...]:
        """The items with a confirmation, each with its last time."""
        return tuple((text, confirmation.last) for text in items if (confirmation := self.record.get(key_of(text))))

    def checked(self, draft: str) -> str:
        """The draft, ready to store. Raises: NotApplied, Skipped, Refused, PluginError."""
        before = self.before
        wanted = memorytext.read(draft)
        refused = [Gone(text=text, reason="not an item") for text in wanted.prose]
        items, seen = [], set[str]()
        for item in wanted.items:
            key = same_key(item.text)
            own = ownlines.is_own(item.text) or ownlines.is_own(f"- {item.text}")
            if key in seen or item.text in self.stale or (own and not before.has(item.text)):
                continue
            seen.add(key)
            if not before.has(item.text) and len(item.text.split()) < 2 and item.text.isascii():
                refused.append(Gone(text=item.text, reason="one word says nothing"))
            elif not before.has(item.text) and self.heard.is_hostile(item.text):
                refused.append(Gone(text=item.text, reason=witness.REASON))
            else:
                items.append(item)
        text = evolve(wanted, items=items).render(self.title)
        limit = sum(len(text) for _, text in self.sources) + len(memorytext.TITLE) + 100
        if len(text) > limit:
            raise NotApplied(
                f"The new MEMORY.md would have {len(text):,} characters, more than {limit:,}.",
                next_step="Write a memory shorter than its source documents.",
            )
        items = self._within(self._without_older(items))
        text = evolve(wanted, items=items).render(self.title)
        # A user's own line that the dreamer kept is kept, even when a validator objects to it.
        previous = memorytext.read(self.sources[0][1], prose_is_item=True).render() if before else None
        text, gone = self._filtered(text, previous)
        refused += [Gone(text=line.removeprefix("- "), reason=f"{f.message} ({f.rule})") for line, f in gone]
        self._tell("refused", refused)
        left = self._quoting(memorytext.read(text), gone, items)
        left = evolve(left, items=self._without_older(left.items))
        if not left.items and not (before and set(before.items) <= set(self.stale)):
            if not before and not refused and (wanted.items or (wanted.title and not wanted.prose)):
                raise Skipped("The notes hold no facts or decisions for the memory.")
            raise NotApplied("None of the draft's items can be used.", next_step="See the refused items.")
        return left.render(self.title)

    def _without_older(self, items: Sequence[memorytext.Item]) -> list[memorytext.Item]:
        """``items`` without those of ``before`` replaced by a new item, unless they were confirmed after ``newest``."""
        older = self.before.replaced(item.text for item in items)
        later = {text for text, at in self.times(older) if self.newest is not None and at > self.newest}
        return [item for item in items if item.text not in older or item.text in later]

    def _filtered(self, text: str, previous: str | None) -> tuple[str, list[tuple[str, Finding]]]:
        """Pass the text through the gate. A judge may admit new lines that are in words of their own."""
        passed = partial(self._passed, text, previous=previous)
        left, gone = passed()
        unproven = [line for line, finding in gone if finding.rule == judging.OPEN]
        if not unproven or not (plugin := self._judge()):
            return left, gone
        proven, denied, problem = judging.consult(self.services, plugin, unproven, self.sources)
        if proven:
            left, gone = passed(entailed=tuple(proven))
        if problem:
            self.run.warn(*admitted(self.services, problem))
        stored = set(left.splitlines())
        proofs = [(line.removeprefix("- "), proven[line]) for line in unproven if line in proven and line in stored]
        self._tell("judged", [Gone(text=line, reason=f"{plugin}: {words!r}") for line, words in proofs])
        denial = Finding(rule="grounding/judge", message=f"`{plugin}` found that its sources do not say it")
        return left, [(line, denial if line in denied else finding) for line, finding in gone]

    def _passed(
        self, text: str, *, previous: str | None = None, entailed: tuple[str, ...] = ()
    ) -> tuple[str, list[tuple[str, Finding]]]:
        """Like :meth:`Gate.admit`, but an error on one line removes that line, not the whole text. ``entailed``: see
        :class:`holdfast.validation.ValidationRequest`."""
        request = ValidationRequest(Surface.MEMORY, self.name, clean(text), self.sources, entailed=entailed)
        return filter_lines(self.services.gate, request, previous=previous)

    def _judge(self) -> str:
        """The plugin that checks the new lines, by default the model that wrote them in a new call; or empty."""
        named, dreamer = self.services.config.dream.judge, self.run.result.plugin
        if named:
            return "" if named == "none" else named
        return dreamer if dreamer in self.services.plugins.judges() else ""

    def _quoting(
        self, left: memorytext.Memory, gone: Sequence[tuple[str, Finding]], draft: Sequence[memorytext.Item]
    ) -> memorytext.Memory:
        """``left`` with the source lines that the refused lines were about."""
        quotations = quoting.instead(gone, draft, left.items, self.sources, is_barred=self.heard.is_hostile)
        lines = "\n".join(f"- {item.text}" for item, _ in quotations)
        room = MAX_CHARS - len(left.render())
        if not quotations or len(lines) > room:
            return left
        passed = set(self._passed(lines)[0].splitlines())
        quotations = [(item, line) for item, line in quotations if f"- {item.text}" in passed]
        self._tell("quoted", [Gone(text=item.text, reason=f"instead of: {line}") for item, line in quotations])
        return evolve(left, items=[*left.items, *(item for item, _ in quotations)])

    def _within(self, items: Sequence[memorytext.Item]) -> list[memorytext.Item]:
        """The items that fit. The result names the archived items, and warns when little room is left."""
        most = self.services.curated_limit
        fit, archived = consolidate.within(items, self.before, self.record, most=most, chars=MAX_CHARS)
        if archived:
            place = f"now in {self.services.archive}"
            last = {text: f"{place}; last confirmed {day:%Y-%m-%d}" for text, day in self.times(archived)}
            self._tell("archived", [Gone(text=text, reason=last.get(text, place)) for text in archived])
        if warning := archive.warning(len(fit), most, self.name):
            self.run.warn(warning)
        return fit

    def compare(self, old: str, new: str, *, force: bool) -> None:
        """Record all outcomes with evidence, and the difference. Raises: NotApplied when too much would be lost."""
        after = [item.text for item in memorytext.read(new).items]
        lines = [
            Supported(
                text=line.text,
                sources=[f"{support.document}:{support.line}" for support in line.supports],
                kept=self.before.has(line.text),
            )
            for line in ground(after, self.sources)
        ]
        self.run.note(
            lines=lines,
            kept=[line.text for line in lines if line.kept],
            added=[line.text for line in lines if not line.kept],
            diff="".join(diff(old, new, self.name)),
        )
        for name, gone in self._gone(new, after).items():
            self._tell(name, gone)
        size = len(self.before)
        count = len(after) + sum(self.before.has(gone.text) for gone in self.run.result.archived)
        lost = max(len(self.run.result.dropped), size - count)
        if size >= GUARDED_ITEMS and lost * 2 > size and not force:
            raise NotApplied(
                f"It would lose {lost} of the {size} items of MEMORY.md.",
                next_step="To drop them anyway, run `holdfast dream --force`.",
            )

    def _gone(self, new: str, after: Sequence[str]) -> dict[str, list[Gone]]:
        """The old items that are not in the memory ``new``, whose items are ``after``: those that went into others,
        that a newer statement replaced, and that were dropped, each with its reason. Archived ones are none of them."""
        fates: dict[str, list[Gone]] = {"merged": [], "replaced": [], "dropped": []}
        still = {same_key(text) for text in after} | {same_key(archived.text) for archived in self.run.result.archived}
        newer, there = self.before.replaced(after), new.splitlines()
        reasons = {same_key(refused.text): refused.reason for refused in self.run.result.refused}
        times = dict(self.times(self.before.items))
        for old in ground([text for text in self.before.items if same_key(text) not in still], [("new", new)]):
            best, text = (old.supports[0] if old.supports else None), old.text
            if heir := newer.get(text):
                day = f"{times[text].astimezone(self.services.config.tz):%Y-%m-%d}" if text in times else ""
                fates["replaced"].append(Gone(text=text, reason=f"now: {heir}", said=day))
            # An item that a model left out counts as merged when a new one has all its words, and proves it.
            elif best and not old.inventions and _holds(line := there[best.line - 1].removeprefix("- "), text):
                fates["merged"].append(Gone(text=text, reason=f"now in: {line}"))
            else:
                reason = reasons.get(same_key(text), REASON if text in self.stale else "left out by the dream")
                fates["dropped"].append(Gone(text=text, reason=reason))
        return fates

    def story(self, text: str) -> str:
        """The dreamer's account, if it may be stored."""
        if not text.strip():
            return ""
        try:
            return self.services.gate.admit(paths.rewrite(text, self.services.root), surface=Surface.DIARY)
        except Refused as error:
            self.run.warn(f"The dreamer's account was left out: {error.message}")
            return ""

    def _tell(self, name: str, gone: Sequence[Gone]) -> None:
        """Record refused text in a form safe to record, because it may be a secret."""
        texts = admitted(self.services, *(line.text for line in gone))
        reasons = admitted(self.services, *(line.reason for line in gone))
        recorded = zip(gone, texts, reasons, strict=True)
        self.run.note(**{name: [evolve(line, text=text, reason=reason) for line, text, reason in recorded]})


#: Removing a line may cause another error, for example when a limit on the number of items applies.
_ROUNDS: Final = 12


def filter_lines(
    gate: Gate, request: ValidationRequest, *, previous: str | None = None
) -> tuple[str, list[tuple[str, Finding]]]:
    """The text of ``request`` without the lines with an error, and these lines with their findings. Raises: Refused for
    an error in the whole text, or when removing lines does not converge; PluginError."""
    known = gate.known(previous, request.surface, request.name) if previous else frozenset()
    gone: list[tuple[str, Finding]] = []
    errors: list[Finding] = []
    for _ in range(_ROUNDS):
        text, findings = request.text, gate.findings(request)
        errors = [f for f in findings if f.severity == "error" and not can_mask(f, text)]
        line = lines_of(text, errors) if known else {}
        errors = [f for f in errors if (f.rule, line.get(f.line, "")) not in known]
        lines = text.splitlines()
        if any(f.line is None or not 0 < f.line <= len(lines) for f in errors):
            break
        if errors:
            first = {f.line: f for f in reversed(errors) if f.line}  # the first finding of each line
            gone += [(lines[number - 1], first[number]) for number in sorted(first)]
            text = "\n".join(line for number, line in enumerate(lines, 1) if number not in first) + "\n"
        elif any(can_mask(f, text) for f in findings):
            text = mask(text, findings)
        else:
            return text, gone
        request = request._replace(text=text)
    raise refusal(request.surface, request.name, errors)


def _holds(new: str, old: str) -> bool:
    """Whether ``new`` has all words of ``old`` in their order."""
    rest = iter(same_key(new).split())
    return all(word in rest for word in same_key(old).split())
