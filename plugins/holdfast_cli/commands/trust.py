"""``holdfast trust``: settings, stored memory and private state that came with a project and need the user's word."""

import os
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from typing import Any, Final, Self

from attrs import asdict, frozen

from holdfast.api import ConfigError, Corrupt, Fact, Holdfast, Refused
from holdfast.config import settings
from holdfast.config.layout import Surface
from holdfast.fs import checkout, private
from holdfast.text.humanize import count
from holdfast.text.plain import same_key
from holdfast_app import data_loss
from holdfast_app.authorship import hostile
from holdfast_app.checkup import adoption
from holdfast_app.config import Config
from holdfast_app.journal import chain
from holdfast_app.printable import some
from holdfast_app.project_settings import resolved, trust
from holdfast_app.records import ownlines
from holdfast_app.search.answer import bare
from holdfast_app.trust import statefolders, trusting
from holdfast_app.trust.passages import Passage
from holdfast_app.trust.seen import Seen
from holdfast_cli.command import Answer, Call, Command, UsageError, argument, flag
from holdfast_cli.commands.config import as_text, masked
from holdfast_cli.terminal import Term, home_short

#: Characters that the review shows in all.
_MOST_SHOWN: Final = 1_000_000
#: Documents of a day that agents never get, and all of them.
_NEVER_LOADED: Final = (Surface.TRAIL, Surface.REPORT)
_DATED: Final = (Surface.DAILY, Surface.DIARY, *_NEVER_LOADED)
#: A statement under a label, and a block's comments.
_LABELLED: Final = re.compile(r"(?:- )?\**[A-Z][\w ]{2,40}:")
_STAMP: Final = re.compile(r"<!-- (?:holdfast:block )?(?:\w+=\S* ?)+-->")


def _meaning(key: str) -> str:
    head, _, rest = key.partition(".")
    name, _, option = rest.partition(".")
    if head == "plugins":
        return f"is passed to the plugin {name}" if option not in ("", "enabled") else f"loads the plugin {name}"
    about = resolved.described(Config).get(key)
    return about.help if about else "is beyond the limits for a project"


@frozen
class Withheld:
    """``passages`` by document, and ``facts``. Accepting covers exactly these. ``rows`` are all of them: a document's
    name or ``facts``, the line or the id, and the masked text. ``obeyed`` are those that can tell an agent what to
    do."""

    passages: Mapping[str, tuple[Passage, ...]]
    facts: tuple[Fact, ...]
    rows: tuple[tuple[str, str, str], ...]
    obeyed: tuple[tuple[str, str, str], ...]

    @classmethod
    def of(cls, memory: Holdfast) -> Self:
        """An unreadable document is left out. Raises: any HoldfastError."""
        store, layout, passages = memory.store, memory.services.layout, {}
        for name in store.names():
            with suppress(Corrupt):  # `doctor` reports it
                document = store.read(name)
                if document is not None and (withheld := store.sifted(document).withheld):
                    passages[name] = withheld
        facts = tuple(store.withheld_facts())
        listed = [(name, str(passage.line), passage.text) for name, group in passages.items() for passage in group]
        listed += [("facts", fact.id, fact.content) for fact in facts]
        listed = list(_within(listed))
        masked = memory.services.gate.outgoing_all([text for _, _, text in listed], surface="daily")
        rows = tuple((name, place, text) for (name, place, _), text in zip(listed, masked, strict=True))
        dated = {name: surface for name in passages if (surface := layout.surface_of(name)) in _DATED}
        story = {(n, str(passage.line)) for n in dated for passage in passages[n] if _is_story(dated[n], passage)}
        undated = {same_key(bare(line)) for name, _, text in rows if name not in dated for line in text.split("\n")}
        obeyed = [
            (name, place, text)
            for name, place, text in rows
            if name not in dated or ((name, place) not in story and same_key(bare(text)) not in undated)
        ]
        return cls(passages, facts, rows, tuple(obeyed))

    def say(self, out: Term) -> None:
        """Show how much it is, then what agents obey, made safe for the terminal."""
        last = ""
        out.say(f"Withheld from agents: {count(len(self.rows), 'passage')}, perhaps of a clone, a pull or a page:")
        shown = Counter(name for name, _, _ in self.obeyed)
        table = [
            (name, f"{number:,}", "all shown" if shown[name] == number else f"{shown[name] or 'none'} shown")
            for name, number in Counter(name for name, _, _ in self.rows).items()
        ]
        out.say(out.table(table, right=(1,)))
        if len(self.obeyed) < len(self.rows):
            out.fill("Shown is what can tell an agent what to do; `holdfast show NAME` prints a whole document.")
        for name, place, text in self.obeyed:
            if name != last:
                out.say(f"\n{out.bold(out.plain(name))}")
            last = name
            first, *rest = text.split("\n")
            out.exact(f"{place:>6}  {first}\n" + "".join(f"{'':>6}  {line}\n" for line in rest))


def _is_story(surface: Surface, passage: Passage) -> bool:
    """Whether a dated document only quotes the passage, or it is holdfast's layout, and it instructs nobody."""
    if hostile.instructs(passage.text):
        return False
    is_layout = _STAMP.fullmatch(passage.text) if passage.text.startswith("<!--") else ownlines.is_own(passage.text)
    is_quoted = any(heading == ownlines.SUMMARY for heading, _ in passage.above) and not _LABELLED.match(passage.text)
    return surface in _NEVER_LOADED or bool(is_layout) or is_quoted


def _within(rows: Iterable[tuple[str, str, str]]) -> Iterator[tuple[str, str, str]]:
    """The rows, with the number of lines in place of texts that a person would not read either."""
    left = _MOST_SHOWN
    for name, place, text in rows:
        left -= len(text)
        lines = f"({count(text.count(chr(10)) + 1, 'line')}, too long to be shown: open the file)"
        yield name, place, text if left >= 0 else lines


def _adopt(call: Call) -> Answer:
    """Exit code 0 when nothing is left aside, else 1."""
    root, out = call.root, call.out
    state = settings.state_folder(root, settings.preset(resolved.hot(root)))
    private.check(state)
    held = [adoption.contents(path) for path in statefolders.apart(root, state)]
    for folder in held:
        _say_held(out, root, folder)
    lost = data_loss.is_gone(state, [folder.path for folder in held])
    if lost:
        out.say("The former private folder is gone, or its journals.")
    agreed = bool(held or lost) and call.agrees("Take it over?" if held else "Go on without it?")
    done = {folder.path: adoption.adopt(state, folder.path) for folder in held if agreed and not folder.problem}
    if agreed:
        private.make(state)
        checkout.note(state, anew=True)
        chain.accept(state)
    ok = len(done) == len(held) and not any(adopted.left for adopted in done.values()) and (agreed or not lost)
    if not (held or lost):
        out.say("No state of another user, machine or layout, or of a copied project, is here.")
    for adopted in done.values():
        out.note("ok", f"{count(len(adopted.taken), 'file')} taken over")
        for name, why in adopted.left:
            out.note("warn", f"{name} stays: {why}.")
    table = {"root": root, "state": [_held_row(root, folder, done.get(folder.path)) for folder in held]}
    if ok or agreed:
        return Answer(table, ok=ok)
    step = "Look at it, then run `holdfast trust --adopt-state --yes`."
    out.next_step(step)
    return Answer({**table, "next_step": step}, ok=False)


def _say_held(out: Term, root: str, held: adoption.Held) -> None:
    out.say(out.bold(os.path.relpath(held.path, root)))
    if held.problem:
        step = "Ask its user to flush, or change its owner (`chown -R`), then do this again"
        out.note("warn", f"It cannot be read: {held.problem}. {step}.", indent="  ")
        return
    rows = [
        ("sessions", some(held.sessions) or "none"),
        ("not saved (UNSAFE)", some(held.unsafe) or "none"),
        ("comments that wait to be published", str(held.waiting)),
        ("files", f"{held.files}, {held.size} bytes"),
    ]
    out.say(out.table(rows))


def _held_row(root: str, held: adoption.Held, done: adoption.Adopted | None) -> dict[str, Any]:
    taken, left = (done.taken, done.left) if done else ((), ())
    table = {**asdict(held), "path": os.path.relpath(held.path, root).replace(os.sep, "/")}
    return {**table, "bytes": table.pop("size"), "taken": taken, "left": [{"name": n, "why": why} for n, why in left]}


@Command(
    "Manage",
    "review the settings in this project's files and trust them; list, revoke",
    flag("--yes", "trust the project without asking"),
    flag("--list", "list the trusted projects"),
    argument("--revoke", metavar="PATH", nargs="?", const="", help="no longer trust the project here, or at PATH"),
    flag("--digest", "print the digest for HOLDFAST_TRUST, as CI needs it"),
    flag("--adopt-state", "show and take over private state that was put aside here"),
    examples=("holdfast trust", "holdfast trust --yes", "holdfast trust --list", "holdfast trust --revoke"),
    notes="A cloned project is data: settings in its files that name a server, a program or a place, load a plugin,"
    "\nweaken a check, delete or spend money count only when you trust the project for exactly these settings."
    "\nA change needs trust again. The same holds for stored memory that this machine did not write, line by line:"
    "\nyour agents get it after you have seen it here."
    "\nExit code 1 when trust is needed and was not given.",
)
def trust_command(call: Call) -> Answer:
    args = call.args
    if sum((args.yes or args.adopt_state, args.list, args.digest, args.revoke is not None)) > 1:
        raise UsageError(
            "--yes, --adopt-state, --list, --revoke and --digest exclude each other.", next_step="Pass one of them."
        )
    if args.list:
        records = trust.records().values()
        rows = [(home_short(r.root), r.at[:10], ", ".join(r.settings)) for r in records]
        text = call.out.table(rows, head=("project", "since", "settings")) or "No project is trusted."
        return Answer({"projects": [record._asdict() for record in records]}, text)
    if args.revoke is not None:
        # A removed project can be named too.
        root = os.path.realpath(os.path.expanduser(args.revoke)) if args.revoke else call.root
        was = any([trusting.revoke(root), Seen(root).forget_trust()])
        what = "is no longer trusted" if was else "was not trusted"
        return Answer({"root": root, "revoked": was}, f"{home_short(root)} {what}")
    if args.digest:
        digest = trust.digest(resolved.portable(call.root))
        return Answer({"root": call.root, "digest": digest}, digest)
    call.require_own_terminal("accept what a clone brings")
    if args.adopt_state:
        return _adopt(call)
    return _trust(call)


def _trust(call: Call) -> Answer:
    root, out = call.root, call.out
    try:
        loaded = resolved.resolve(root, obey_others=True)
        resolved.structured(loaded)  # a mistake is named before it is trusted
    except ConfigError as error:
        raise error.for_people() from None
    rows = {**loaded.withheld, **loaded.trusted}
    has_asked = bool(loaded.withheld) or loaded.foreign.startswith(os.path.join(root, ""))
    if loaded.foreign:
        out.note("warn", f"{home_short(loaded.foreign)} belongs to another user")
    if rows:
        state = "not in force without your trust" if loaded.withheld or loaded.foreign else "in force"
        out.say(f"{count(len(rows), 'setting')} in {out.plain(loaded.source)}, {state}:")
    out.say(out.table((key, as_text(masked(key, value)), _meaning(key)) for key, value in rows.items()))
    is_given = not has_asked or call.agrees(f"Trust the settings of {home_short(root)}?")
    if has_asked and is_given:
        preset = rows.get("layout.preset", "") if loaded.former else ""
        trusting.record(root, {key: value for key, value in rows.items() if not preset or key != "layout.preset"})
        if preset:
            statefolders.take_along(root, str(preset))
        out.say(f"{out.mark('ok')} the settings are in force")  # the store that they name may not answer
    # Settings that the user did not accept can decide where memory is stored.
    withheld = Withheld.of(call.memory) if is_given else None
    is_seen = withheld is not None and not withheld.rows
    if withheld is not None and withheld.rows:
        withheld.say(out)
        is_seen = call.agrees("Give this memory to your agents?")
        if is_seen:
            call.memory.store.provenance.accept(withheld.passages, withheld.facts)
    table = {
        "root": root,
        "trusted": is_seen,
        "memory": is_seen,
        "digest": trust.digest(resolved.portable(root)),
        "foreign": loaded.foreign,
        "settings": [{"key": k, "value": masked(k, v), "it": _meaning(k)} for k, v in rows.items()],
        "withheld": [{"name": n, "place": p, "text": t} for n, p, t in withheld.rows] if withheld else [],
    }
    if is_seen:
        return Answer(table, f"{out.mark('ok')} {out.bold(home_short(root))} is trusted")
    problem = Refused(f"{home_short(root)} is not trusted.", next_step="Read them, then run `holdfast trust --yes`.")
    return Answer(table, error=problem)
