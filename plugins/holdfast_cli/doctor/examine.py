"""Checks whether everything works by trying it. Each check is one line, with the next step after a failure.

Plugins check their own parts, see :mod:`holdfast.plugin.checks`. An exception becomes a failed check, so that it cannot
hide the others.
"""

from __future__ import annotations

import os
import stat
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from datetime import timedelta
from functools import partial
from typing import TYPE_CHECKING, cast

from holdfast.config import provenance, resolved, settings, statefolder
from holdfast.config.layout import Surface
from holdfast.errors import Corrupt, HoldfastError, Unavailable
from holdfast.flush import curated, handoff
from holdfast.fs import durable, gitrun, private, safeopen
from holdfast.journal import journal, safety
from holdfast.plugin import discovery
from holdfast.plugin.checks import Check, Outcome
from holdfast.session.status import apart, owner
from holdfast_app.sessions import rewriting
from holdfast_cli.doctor import documents
from holdfast_cli.doctor.installation import same_name

if TYPE_CHECKING:
    from holdfast import Holdfast

#: A temporary file older than this, in seconds, belongs to no write that is still going on.
_STALE_S = 3600.0
_PROBE = ".holdfast-probe"


def examine(root: str, *, repair: bool = False) -> list[Check]:
    """Check the project at ``root``. With ``repair``, damaged journals are repaired (the damaged file is kept), old
    temporary files removed and the private folder closed to others. Documents are never changed. Raises nothing that a
    project can cause."""
    from holdfast import Holdfast

    checks = [_config(root)]
    if checks[0].outcome is Outcome.FAIL:
        return checks
    checks += _guard("installation", same_name)
    checks += _guard("plugins", lambda: _plugins(root))
    checks += _trust(root)
    state = statefolder.path(root, resolved.load(root).layout.preset)
    checks += _guard("private state", lambda: _private_state(root, state))
    checks += _guard("folders", lambda: _folders(root, state))
    checks += _guard("journals", lambda: _journals(state, repair=repair))
    try:
        with Holdfast.open(root) as memory:
            checks.append(_good("backend", f"{memory.config.storage.backend} opens"))
            checks += _in_store(memory, repair=repair)
            checks += _guard("git", lambda: _git(root))
            checks += _guard("spool", lambda: _spool(memory, repair=repair))
            checks += _guard("clock", lambda: _clock(memory))
            checks += _of_plugins(memory)
    except HoldfastError as error:
        checks.append(_bad("backend", error))
    damaged = any(one.name == "journals" and one.outcome is Outcome.FAIL for one in checks)
    checks += _guard("sessions", lambda: _unsafe(state, damaged=damaged))
    checks += _guard("leftovers", lambda: _leftovers(root, state, repair=repair))
    checks += _guard("privacy", lambda: _privacy(state, repair=repair))
    return checks


def _in_store(memory: Holdfast, *, repair: bool) -> list[Check]:
    """The checks that read the store. When its server cannot be asked, the error is shown once and the others are left
    out, because each of them would wait as long."""
    looks: list[tuple[str, Callable[[], Iterator[Check]]]] = [
        ("documents", lambda: documents.look(memory, repair=repair)),
        ("conflicts", lambda: _conflicts(memory, repair=repair)),
        ("stored", lambda: _stored(memory, repair=repair)),
        ("facts", lambda: _facts(memory)),
        ("provenance", lambda: _provenance(memory)),
        ("handoff", lambda: _handoff(memory)),
        ("curated", lambda: _curated(memory)),
    ]
    checks: list[Check] = []
    for at, (name, look) in enumerate(looks, 1):
        found, error = _looked(name, look)
        checks += found
        left = [other for other, _ in looks[at:]]
        if left and memory.services.is_remote and isinstance(error, Unavailable):
            if "stored" in (name, *left):
                checks += _guard("stored", lambda: _stored(memory, repair=repair, away=True))
            left_out = f"Not checked, because the server could not be asked: {', '.join(left)}."
            checks.append(_warn("store", left_out, "Run `holdfast doctor` again when it can be asked."))
            break
    return checks


def _good(name: str, message: str, *, repaired: bool = False) -> Check:
    return Check(name=name, outcome=Outcome.OK, message=message, repaired=repaired)


def _warn(name: str, message: str, next_step: str) -> Check:
    return Check(name=name, outcome=Outcome.WARN, message=message, next_step=next_step)


def _bad(name: str, error: HoldfastError) -> Check:
    step = error.next_step or "Correct it, then try again."
    return Check(name=name, outcome=Outcome.FAIL, message=error.message, next_step=step)


def _guard(name: str, look: Callable[[], Iterator[Check]]) -> list[Check]:
    """The checks of ``look``, and the error that ended it."""
    return _looked(name, look)[0]


def _looked(name: str, look: Callable[[], Iterator[Check]]) -> tuple[list[Check], HoldfastError | None]:
    """The checks of ``look``, with an error as the last one, and that error if it is holdfast's own."""
    found: list[Check] = []
    try:
        for check in look():
            found.append(check)  # noqa: PERF402 - checks found before an error stay
    except HoldfastError as error:
        return [*found, _bad(name, error)], error
    except OSError as error:
        found.append(_bad(name, durable.unavailable(error, error.filename or name, "look at")))
    return found, None


def _config(root: str) -> Check:
    try:
        resolved.load(root)
        return _good("settings", settings.raw(root)[1].removeprefix("The ") + " is valid")
    except HoldfastError as error:
        return _bad("settings", error)


def _trust(root: str) -> list[Check]:
    lines = resolved.notices(resolved.resolve(root), names=False)  # agents run `doctor` too
    return [_warn("trust", message, next_step) for message, next_step in lines]


def _plugins(root: str) -> Iterator[Check]:
    from holdfast_cli.doctor.inventory import inventory

    rows = [s for s in inventory(root) if s.group == discovery.PLUGINS]
    broken = [s for s in rows if s.status in ("failed", "missing")]
    for one in broken:
        yield Check(
            name="plugins",
            outcome=Outcome.FAIL,
            message=one.reason,
            next_step=f"{'Install' if one.status == 'missing' else 'Repair'} it, or switch it off with "
            f"`holdfast config plugins.{one.name}.enabled false`; until then nothing can be stored.",
        )
    if not broken:
        loaded = [s.name for s in rows if s.status == "loaded"]
        yield _good("plugins", f"{', '.join(loaded)} loaded" if loaded else "none is enabled")


def _private_state(root: str, state: str) -> Iterator[Check]:
    private.check(state)
    found = apart(root, state)
    for loss in found:
        yield Check(name="private state", outcome=Outcome.FAIL, message=loss.message, next_step=loss.next_step)
    if not found and os.path.isdir(state):
        yield _good("private state", "created by this user on this machine")


def _folders(root: str, state: str) -> Iterator[Check]:
    if not os.path.isdir(state):
        folder = os.path.dirname(state)
        while not os.path.lexists(folder):
            folder = os.path.dirname(folder)
        yield from _probe("folders", folder, f"{_shown(root, state)} does not exist yet and can be created")
    else:
        yield from _probe("folders", state, f"{_shown(root, state)} can be written")
    store = os.path.join(root, resolved.load(root).storage.path)
    if os.path.isdir(store):
        yield from _probe("folders", store, f"{_shown(root, store)} can be written")


def _probe(name: str, folder: str, good: str) -> Iterator[Check]:
    path = os.path.join(folder, f"{_PROBE}-{os.getpid()}")
    try:
        durable.replace(path, b"probe\n")
        durable.remove(path)
        yield _good(name, good)
    except HoldfastError as error:
        yield _bad(name, error)


def _shown(root: str, path: str) -> str:
    return os.path.relpath(path, root).replace(os.sep, "/")


def _journals(state: str, *, repair: bool) -> Iterator[Check]:
    count = broken = 0
    for path in journal.session_files(state):
        count += 1
        try:
            one = journal.Journal(state, owner(path))
            try:
                for _ in one.entries():
                    pass
            except Corrupt:
                left_out = rewriting.repair(one) if repair else 0
                if not left_out:
                    raise
                kept = f"{one.shown} continues without {left_out:,} damaged or missing bytes."
                yield _good("journals", f"{kept} The damaged file is kept next to it", repaired=True)
        except HoldfastError as error:
            broken += 1
            yield _bad("journals", error)
    if not broken:
        yield _good("journals", f"{count:,} intact" if count else "none yet")


def _conflicts(memory: Holdfast, *, repair: bool) -> Iterator[Check]:
    """Documents and facts that a git merge left in two versions, or that were cut. Silent when there are none."""
    from holdfast_cli.doctor import merging

    for found in merging.look(memory.services, repair=repair):
        if found.repaired:
            yield _good("conflicts", found.message, repaired=True)
        else:
            yield Check(name="conflicts", outcome=Outcome.FAIL, message=found.message, next_step=found.next_step)


def _provenance(memory: Holdfast) -> Iterator[Check]:
    """Memory that came with a clone. Silent where there is none."""
    told = provenance.sentence(memory.store.withheld(), facts=len(memory.store.withheld_facts()), names=True)
    if told:
        yield _warn("provenance", told, provenance.NEXT_STEP)


def _stored(memory: Holdfast, *, repair: bool, away: bool = False) -> Iterator[Check]:
    """Whether what receipts, journals and the store acknowledged is still there. ``away``: the store's server could not
    be asked, so only this machine's files are checked."""
    from holdfast_app.data_loss import audit
    from holdfast_cli.doctor import mending

    found = audit.here(memory.services) if away else audit.every(memory.services)
    if not found and not away:
        yield _good("stored", "all acknowledged data is present")
    if not repair:
        for loss in found:
            yield Check(name="stored", outcome=Outcome.FAIL, message=loss.message, next_step=loss.next_step)
        return
    for done in mending.mend(memory.services, found):
        if done.whole:
            yield _good("stored", done.message, repaired=True)
        else:
            step = "Restore it from a copy or from git, or let it be flushed again."
            yield Check(name="stored", outcome=Outcome.FAIL, message=f"{done.message}.", next_step=step)


def _spool(memory: Holdfast, *, repair: bool) -> Iterator[Check]:
    """The flushes that are on this machine alone. Silent when there are none."""
    if repair and memory.spool.items():
        sent = memory.spool.send()
        if sent.written:
            yield _good("spool", f"{len(sent.written):,} kept flushes are on the server now", repaired=True)
    for error, step in dict.fromkeys((one.error, one.next_step) for one in memory.spool.items() if not one.is_damaged):
        message = f"{memory.spool.sentence} {error}".strip()
        yield _warn("spool", message, step or "`holdfast spool send` sends them now.")


def _git(root: str) -> Iterator[Check]:
    """Whether this clone has the merge driver that the committed attributes name, and whether a database is committed.
    Nothing is said while all is well."""
    if gitrun.run(root, "ls-files", "--", ".holdfast/*.db", timeout_s=5):
        message = "A SQLite store is committed in git, which cannot merge it, so one side of every merge is lost."
        step = "Run `git rm --cached .holdfast/*.db`, and `holdfast migrate --to file` to share memory through git."
        yield _warn("git", message, step)
    path = os.path.join(root, ".holdfast", ".gitattributes")
    try:
        with safeopen.reader(path) as file:
            named = b"merge=holdfast" in file.read(1 << 16)
    except FileNotFoundError:
        return
    if not named or gitrun.run(root, "rev-parse", "--git-dir", timeout_s=5) is None:
        return
    if gitrun.run(root, "config", "merge.holdfast.driver", timeout_s=5) is None:
        message = ".holdfast/.gitattributes names a merge driver that this clone does not have."
        yield _warn("git", message, "Run `holdfast init --git` in this clone.")


def _facts(memory: Holdfast) -> Iterator[Check]:
    number = sum(1 for _ in memory.store.backend.facts())  # a damaged one is an error
    yield _good("facts", f"{number:,} readable" if number else "none yet")
    disputed = len(memory.facts.conflicts())
    if disputed:
        what = "one thing" if disputed == 1 else f"{disputed:,} things"
        message = f"Two machines state different values for {what}. Both are kept."
        yield _warn("facts", message, "`holdfast facts conflicts` lists them, and `holdfast facts keep ID` decides.")


def _handoff(memory: Holdfast) -> Iterator[Check]:
    name = memory.services.layout.name(Surface.HANDOFF)
    document = memory.store.read(name)
    if document is None:
        yield _good("handoff", "none yet")
        return
    open_work = [w for w in handoff.parse(document.text, name) if w.is_open]
    yield _good("handoff", f"readable, {len(open_work)} open" if open_work else "readable, no work is open")


def _curated(memory: Holdfast) -> Iterator[Check]:
    """Whether curated memory is nearly full. Nothing is said while it is not."""
    services = memory.services
    for name in map(services.layout.name, (Surface.MEMORY, Surface.USER)):
        document = services.store.read(name)
        items = curated.count(document.text) if document else 0
        if sentence := curated.warning(items, services.curated_limit, name):
            yield _warn("curated", sentence, f"Merge or remove lines of {name}, or `holdfast dream`.")


def _clock(memory: Holdfast) -> Iterator[Check]:
    now = memory.services.now()
    if now.year < 2024:
        yield _warn("clock", f"The clock says {now:%Y-%m-%d}.", "Set the clock: file names follow it.")
        return
    newest = max((os.stat(p).st_mtime for p in journal.session_files(memory.services.state)), default=0.0)
    if newest > now.timestamp() + timedelta(hours=1).total_seconds():
        yield _warn("clock", "A journal has a future date, so the clock went back.", "Set the clock.")
        return
    zone = memory.config.zone if memory.config.zone != "local" else f"local, {now.tzname()}"
    yield _good("clock", f"{now:%Y-%m-%d %H:%M} ({zone})")


def _of_plugins(memory: Holdfast) -> list[Check]:
    enabled = memory.config.enabled_plugins
    checks: list[Check] = []
    for found in discovery.scan():
        if found.group == discovery.CHECKS and (found.distribution == discovery.OWN or found.name in enabled):
            checks += _guard(found.name, partial(_asked, found, memory))
    return checks


def _asked(found: discovery.Found, memory: Holdfast) -> Iterator[Check]:
    """What one plugin's function says, as far as it gets."""
    function = cast("Callable[[Holdfast], Iterable[Check]]", discovery.import_object(found))
    try:
        for check in function(memory):
            if not isinstance(check, Check):
                raise TypeError(f"{type(check).__name__} is not a Check")
            yield check
    except (HoldfastError, OSError):
        raise
    except (Exception, SystemExit) as error:  # noqa: BLE001 - other people's code must not hide what core has found
        yield Check(
            name=found.name,
            outcome=Outcome.FAIL,
            message=f"The check of {found.distribution} broke: {type(error).__name__}: {error}.",
            next_step=f"Repair or uninstall {found.distribution}; the other checks are not affected.",
        )


def _unsafe(state: str, *, damaged: bool) -> Iterator[Check]:
    """``damaged``: a journal cannot be read, which makes its session UNSAFE without a marker."""
    markers = safety.all_unsafe(state)
    for marker in markers:
        yield Check(
            name="sessions",
            outcome=Outcome.FAIL,
            message=f"{marker.session} is UNSAFE: {marker.error}",
            next_step=marker.way_out,
        )
    if not markers and not damaged:
        yield _good("sessions", "none is UNSAFE")


def _leftovers(root: str, state: str, *, repair: bool) -> Iterator[Check]:
    """Temporary files of writes that a crash cut off. Nothing ever reads them."""
    base = os.path.dirname(state)
    found = []
    for folder, folders, names in os.walk(base):
        folders[:] = [name for name in folders if private.ASIDE not in name]
        for name in names:
            path = os.path.join(folder, name)
            unfinished = name.startswith(durable.TEMP_PREFIX) and name.endswith(durable.TEMP_SUFFIX)
            if (unfinished or name.startswith(_PROBE)) and time.time() - os.lstat(path).st_mtime > _STALE_S:
                found.append(path)
    if repair:
        for path in found:
            durable.remove(path)
    if found and repair:
        yield _good("leftovers", f"{len(found)} unfinished files of a crash removed", repaired=True)
    elif found:
        message = f"{len(found)} unfinished files of a crash, like {_shown(root, found[0])}."
        yield _warn("leftovers", message, "They are harmless; `holdfast doctor --repair` removes them.")
    else:
        yield _good("leftovers", "none")


def _privacy(state: str, *, repair: bool) -> Iterator[Check]:
    if not os.path.isdir(state):
        return
    exposed = not private.ignores_itself(state)
    loose = []
    if sys.platform != "win32":  # access follows the user's own folder there
        for folder, _, names in os.walk(state):
            loose += [p for p in (folder, *(os.path.join(folder, n) for n in names)) if _open_to_others(p)]
    if repair:
        if exposed:
            private.ignore(state)
        for path in loose:
            os.chmod(path, 0o700 if os.path.isdir(path) else 0o600)
        yield _good("privacy", "the folder is private to this user and machine", repaired=exposed or bool(loose))
        return
    if exposed:
        step = "`holdfast doctor --repair` writes its .gitignore."
        yield _warn("privacy", "Git would include the private folder.", step)
    if loose:
        message = f"{len(loose)} private files can be read by other users of this machine."
        yield _warn("privacy", message, "`holdfast doctor --repair` closes them.")
    if not exposed and not loose:
        yield _good("privacy", "the folder is private to this user and machine")


def _open_to_others(path: str) -> bool:
    mode = os.lstat(path).st_mode
    return not stat.S_ISLNK(mode) and bool(mode & 0o077)
