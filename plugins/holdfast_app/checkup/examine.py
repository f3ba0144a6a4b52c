"""Checks whether everything works by trying it. Each check is one line, with the next step after a failure.

Plugins check their own parts. An exception becomes a failed check, so that it cannot hide the others.
"""

import os
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from datetime import timedelta
from importlib import metadata
from math import inf
from typing import cast

from holdfast import Holdfast
from holdfast.config import settings
from holdfast.config.layout import Surface
from holdfast.errors import Corrupt, HoldfastError, NotTrusted, PluginError, PluginNotFound, StorageError, Unavailable
from holdfast.fs import durable, private, safeopen, userdir
from holdfast.journal import safety
from holdfast.models import Check, Outcome
from holdfast.plugin import discovery
from holdfast.plugin.calls import Caller, CallFailed, call
from holdfast.plugin.manager import PluginManager, PluginSettings
from holdfast.storage import deadline
from holdfast_app import data_loss, upkeep
from holdfast_app.checkup import mending
from holdfast_app.checkup.mending import fail, failed, good, looked, repaired, warn
from holdfast_app.data_loss import apart
from holdfast_app.dream.dreamlog import INTERRUPTED, Status
from holdfast_app.dream.write import lock
from holdfast_app.journal.journal import Journal, session_files
from holdfast_app.printable import some
from holdfast_app.progress import report
from holdfast_app.project_settings import files, resolved
from holdfast_app.records import packs
from holdfast_app.sessions import rewriting
from holdfast_app.sessions.status import owner
from holdfast_app.trust import provenance
from holdfast_file import gitrun
from holdfast_memory import DISTRIBUTION, REPAIR

#: Time limit for the checks of another distribution's plugin, in seconds, unless it has a deadline.
_LIMIT_S = 30.0
#: Time for all further servers, in seconds, when the store's own did not answer.
_REST_S = 10.0
#: Test sentence for each validator.
_HARMLESS = "The weekly report is due on Monday."


def examine(root: str, *, repair: bool = False) -> list[Check]:
    """Check the project at ``root``. With ``repair``, damaged journals are repaired (the damaged file is kept) and the
    private folder closed to others. Raises nothing that a project can cause."""
    checks = _all({"settings": _settings(root)})
    if checks[0].outcome is Outcome.FAIL:
        return checks
    state = settings.state_folder(root, resolved.load(root).layout.preset)
    checks += _all(
        {
            "installation": _installation(),
            "plugins": _plugins(root),
            "trust": _trust(root),
            "private state": _private_state(root, state),
            "folders": _folders(root, state),
        }
    )
    checks += (journals := _all({"journals": _journals(state, repair=repair)}))
    try:
        with Holdfast.open(root) as memory:
            opens = iter([good(f"{memory.config.storage.backend} opens")])
            checks += _all({"backend": opens, "validators": _validators(memory)})
            in_store, is_away = _in_store(memory, repair=repair)
            checks += in_store
            with deadline(_REST_S if is_away else inf):
                checks += _all({"git": _git(root), "spool": _spool(memory, repair=repair), "dreams": _dreams(memory)})
                for entry in _of_plugins(memory, of_store=False):
                    checks += _all({entry.name: _asked(entry, memory)})
    except HoldfastError as error:
        checks += _all({"backend": iter([failed(error)])})
    is_damaged = any(check.outcome is Outcome.FAIL for check in journals)
    return checks + _all({"sessions": _unsafe(state, damaged=is_damaged), "privacy": _privacy(state, repair=repair)})


def _all(looks: Mapping[str, Iterator[Check]]) -> list[Check]:
    return [check for name, results in looks.items() for check in looked(name, results)[0]]


def _in_store(memory: Holdfast, *, repair: bool) -> tuple[list[Check], bool]:
    """The checks that read the store, and whether it could not be read. Then the others are left out, because each
    would wait as long for the server. The same error is shown once."""
    looks = {
        "documents": mending.readable(memory, repair=repair),
        "conflicts": mending.unmerged(memory.services, repair=repair),
        "stored": _stored(memory, repair=repair),
        "facts": _facts(memory),
        "dates": _dates(memory),
        "provenance": _provenance(memory),
        **{entry.name: _asked(entry, memory) for entry in _of_plugins(memory, of_store=True)},
    }
    checks: list[Check] = []
    for at, (name, results) in enumerate(looks.items(), 1):
        report(at, len(looks), f"Checking the {name}")
        named, error = looked(name, results)
        said = {(check.outcome, check.message) for check in checks}
        checks += (check for check in named if (check.outcome, check.message) not in said)
        left = [*looks][at:]
        if isinstance(error, Unavailable):
            if "stored" in (name, *left):
                checks += _all({"stored": _stored(memory, repair=repair, away=True)})
            if left:
                left_out = f"Not checked, because the store could not be read: {', '.join(left)}."
                checks += _all({"store": iter([warn(left_out, "Run `holdfast doctor` again when it can be.")])})
            return checks, True
    return checks, False


def _settings(root: str) -> Iterator[Check]:
    resolved.load(root)
    yield good(files.raw(root)[1].removeprefix("The ") + " is valid")
    yield from (warn(*warning) for warning in resolved.misspelt())


def _installation() -> Iterator[Check]:
    """Whether another project's distribution with the same file names is installed. Nothing is said without it."""
    try:
        other = metadata.version("holdfast")
    except metadata.PackageNotFoundError:
        return
    yield warn(
        f"Another project, holdfast {other}, is installed in the same Python. Installing, upgrading or "
        f"removing it replaces or removes files of {DISTRIBUTION}, and then every compaction is blocked.",
        f"Run `{REPAIR}`.",
    )


def _trust(root: str) -> Iterator[Check]:
    for message, next_step in resolved.notices(resolved.resolve(root), names=False):  # agents run `doctor` too
        yield warn(message, next_step)


def _plugins(root: str) -> Iterator[Check]:
    rows = [s for s in inventory(root) if s.group == discovery.PLUGINS]
    broken = [s for s in rows if s.status in ("failed", "missing")]
    yield from (fail(plugin.reason, f"{plugin.step} Until then nothing can be stored.") for plugin in broken)
    if not broken:
        loaded = [s.name for s in rows if s.status == "loaded"]
        yield good(f"{', '.join(loaded)} loaded" if loaded else "none is enabled")


def _validators(memory: Holdfast) -> Iterator[Check]:
    """Ask each validator once. A broken one blocks everything, so it is named. Silent while all work."""
    for name, error in memory.services.plugins.failing_validators(_HARMLESS).items():
        off = f"`holdfast config plugins.{name}.enabled false` switches it off; until then nothing can be stored."
        yield fail(error.message, f"{error.next_step} {off}".strip())


def inventory(root: str) -> list[discovery.Status]:
    """Every installed or enabled plugin and backend, sorted by kind, name and distribution. Raises: ConfigError."""
    try:
        with Holdfast.open(root) as memory:
            return memory.plugin_statuses()
    except (NotTrusted, PluginError, StorageError) as error:
        return _without_store(root, error)


def _without_store(root: str, error: NotTrusted | PluginError | StorageError) -> list[discovery.Status]:
    config, entries, manager = resolved.load(root), discovery.scan(), PluginManager()
    settings_of = ((name, config.plugin(name)) for name in config.enabled_plugins)
    enabled = [PluginSettings(name, plugin.deadline_s, plugin.settings) for name, plugin in settings_of]
    manager.load(enabled, entries, root=root, state=settings.state_folder(root, config.layout.preset))
    backend, kind = config.storage.backend, discovery.BACKENDS
    rows = discovery.statuses(manager.statuses, entries, backend)
    status = "missing" if isinstance(error, PluginNotFound) else "failed"
    absent = discovery.Status(backend, kind, "", "", status, error.message)
    mine = next((row for row in rows if (row.group, row.name) == (kind, backend)), absent)
    return [mine._replace(status=status, reason=error.message, hooks=()), *(row for row in rows if row is not mine)]


def _private_state(root: str, state: str) -> Iterator[Check]:
    private.check(state)
    losses = apart(root, state)
    yield from (fail(loss.message, loss.next_step) for loss in losses)
    if not losses and os.path.isdir(state):
        yield good("created by this user on this machine")


def _folders(root: str, state: str) -> Iterator[Check]:
    """Whether files can be written where they belong."""
    store, own = os.path.join(root, resolved.load(root).storage.path), userdir.folder()
    for place in (state, store, own):
        shown = place if place == own else os.path.relpath(place, root).replace(os.sep, "/")
        folder, what = place, "can be written"
        while not os.path.lexists(folder):
            folder, what = os.path.dirname(folder), "does not exist yet and can be created"
        try:
            if place == own:
                durable.make_private_dir(folder := own)
            path = os.path.join(folder, f".holdfast-probe-{os.getpid()}")
            durable.replace(path, b"probe\n")
            durable.remove(path)
            yield good(f"{shown} {what}")
        except HoldfastError as error:
            yield fail(f"{shown} cannot be written. {error.message}", error.next_step)


def _journals(state: str, *, repair: bool) -> Iterator[Check]:
    count, broken = len(session_files(state, packed=True)), 0
    packed = [os.path.join(state, "sessions", f"{entry.stem}.jsonl") for entry in packs.broken(state)]
    for path in [*session_files(state), *packed]:
        try:
            journal = Journal(state, owner(path))
            try:
                for _ in journal.entries():
                    pass
            except Corrupt:
                left_out = rewriting.repair(journal) if repair else 0
                if not left_out:
                    raise
                message = f"{journal.shown} continues without {left_out:,} damaged or missing bytes."
                yield repaired(f"{message} The damaged file is kept next to it")
        except HoldfastError as error:
            broken += 1
            yield failed(error)
    if not broken:
        yield good(f"{count:,} intact" if count else "none yet")


def _stored(memory: Holdfast, *, repair: bool, away: bool = False) -> Iterator[Check]:
    """Whether what receipts, journals and the store acknowledged is still there. ``away``: the store's server did not
    answer, so only this machine's files are checked."""
    lost = data_loss.here(memory.services) if away else data_loss.every(memory.services)
    if not lost and not away:
        yield good("all acknowledged data is present")
    yield from mending.mend(memory.services, lost) if repair else (fail(loss.message, loss.next_step) for loss in lost)


def _facts(memory: Holdfast) -> Iterator[Check]:
    total = sum(1 for _ in memory.store.backend.facts())  # a damaged one is an error
    lacks = upkeep.lacks_model(memory.services)
    yield good(f"none yet. {lacks} {upkeep.model_step()}" if lacks else f"{total:,} readable" if total else "none yet")
    if disputed := len(memory.facts.conflicts()):
        what = "one thing" if disputed == 1 else f"{disputed:,} things"
        yield warn(
            f"Two machines state different values for {what}. Both are kept.",
            "`holdfast facts conflicts` lists them, and `holdfast facts keep ID` decides.",
        )


def _dates(memory: Holdfast) -> Iterator[Check]:
    """Notes and facts from a clock that was ahead, by more than the zones differ. Silent where there are none."""
    layout, latest = memory.services.layout, memory.services.now() + timedelta(days=1)
    days = {name: layout.day_of(Surface.DAILY, name) for name in memory.store.names()}
    ahead = [name for name, day in days.items() if day and day > latest.date()]
    if ahead := [*ahead, *(fact.id for fact in memory.store.backend.facts() if fact.created_at > latest)]:
        yield warn(
            f"Dated in the future, because a clock was wrong: {some(ahead)}. A dream takes these for the newest.",
            "`holdfast show NAME` and `holdfast facts show ID` print them. Where one is wrong, state what holds with "
            "`holdfast remember TEXT`, and correct the line in MEMORY.md.",
        )


def _provenance(memory: Holdfast) -> Iterator[Check]:
    if sentence := provenance.sentence(memory.store.withheld(), facts=len(memory.store.withheld_facts()), names=True):
        yield warn(sentence, provenance.NEXT_STEP)


def _git(root: str) -> Iterator[Check]:
    """Whether this clone lacks the merge driver that the committed attributes name, or a database is committed."""
    if gitrun.run(root, "ls-files", "--", ".holdfast/*.db", timeout_s=5):
        yield warn(
            "A SQLite store is committed in git, which cannot merge it, so one side of every merge is lost.",
            "Run `git rm --cached .holdfast/*.db`, and `holdfast migrate --to file` to share memory through git.",
        )
    path = os.path.join(root, ".holdfast", ".gitattributes")
    try:
        with safeopen.reader(path) as file:
            named = b"merge=holdfast" in file.read(1 << 16)
    except FileNotFoundError:
        return
    if named and gitrun.top(root) and not gitrun.setting(root, "merge.holdfast.driver"):
        message = ".holdfast/.gitattributes names a merge driver that this clone does not have."
        yield warn(message, "Run `holdfast init --git` in this clone.")


def _spool(memory: Holdfast, *, repair: bool) -> Iterator[Check]:
    """The flushes that are on this machine alone. Silent when there are none."""
    if repair and memory.spool.items() and (sent := memory.spool.send()).written:
        yield repaired(f"{len(sent.written):,} kept flushes are on the server now")
    flushes = (flush for flush in memory.spool.items() if not flush.is_damaged)
    for error, step in dict.fromkeys((flush.error, flush.next_step) for flush in flushes):
        yield warn(f"{memory.spool.sentence} {error}".strip(), step or "`holdfast spool send` sends them now.")


def _dreams(memory: Holdfast) -> Iterator[Check]:
    """How the last dream that ran ended, because nightly dreams run unattended."""
    done = (run for run in memory.dreams() if run.status is not Status.SKIPPED)
    runs = [run for run in done if run.read or run.status is not Status.DONE]  # not lines that were taken out
    last = runs[-1] if runs else None
    if last is not None and last.ok:
        yield good(f"the last dream, at {last.at:%Y-%m-%d %H:%M}, succeeded")
    elif last is not None and last.reason == INTERRUPTED and _is_dreaming(memory):
        yield good("a dream is running")
    elif last is not None:
        step = last.next_step or "Run `holdfast dream --log` for details."
        yield warn(f"the dream of {last.at:%Y-%m-%d %H:%M} failed: {last.reason}", step)


def _is_dreaming(memory: Holdfast) -> bool:
    with suppress(Unavailable), lock(memory.services, timeout_s=0.0):
        return False
    return True


def _of_plugins(memory: Holdfast, *, of_store: bool) -> Iterator[discovery.Found]:
    """The checks of this distribution and of enabled plugins: those of the store in use, or the others."""
    enabled, backend = memory.config.enabled_plugins, memory.config.storage.backend
    scanned = discovery.scan()
    plugins = {(f.name, f.distribution) for f in scanned if f.group == discovery.PLUGINS and f.name in enabled}
    wanted = (f for f in scanned if f.distribution == discovery.OWN or (f.name, f.distribution) in plugins)
    return (f for f in wanted if f.group == discovery.CHECKS and (f.name == backend) is of_store)


def _asked(entry: discovery.Found, memory: Holdfast) -> Iterator[Check]:
    """What one plugin's function says, as far as it gets, and what went wrong."""
    function = cast("Callable[[Holdfast], Iterable[Check]]", discovery.import_object(entry))
    checks: list[Check] = []

    def ask() -> None:
        for check in function(memory):
            if not isinstance(check, Check):
                raise TypeError(f"{type(check).__name__} is not a Check")
            checks.append(check)

    own = entry.distribution == discovery.OWN
    try:
        limit_s = None if own else memory.config.plugin(entry.name).deadline_s or _LIMIT_S
        call(Caller(entry.name, entry.distribution), "checks", ask, limit_s)
    except CallFailed as error:  # other people's code must not hide what core has found
        yield from list(checks)
        why = error.reason
        if not why.startswith("it took"):
            if isinstance(error.cause, HoldfastError | OSError | KeyboardInterrupt):
                raise error.cause from None
            why = f"{type(error.cause).__name__}: {error.cause}"
        yield fail(
            f"The check of {entry.distribution} broke: {why}.",
            f"Repair or uninstall {entry.distribution}; the other checks are not affected.",
        )
    else:
        yield from checks


def _unsafe(state: str, *, damaged: bool) -> Iterator[Check]:
    """``damaged``: a journal cannot be read, which makes its session UNSAFE without a marker."""
    markers = safety.all_unsafe(state)
    yield from (fail(f"{marker.session} is UNSAFE: {marker.error}", marker.way_out) for marker in markers)
    if not markers and not damaged:
        yield good("none is UNSAFE")


def _privacy(state: str, *, repair: bool) -> Iterator[Check]:
    if not os.path.isdir(state):
        return
    exposed = not private.ignores_itself(state)
    loose = []
    if sys.platform != "win32":  # access follows the user's own folder there
        for folder, _, names in os.walk(state):
            paths = (folder, *(os.path.join(folder, name) for name in names))
            loose += [path for path in paths if not os.path.islink(path) and os.lstat(path).st_mode & 0o077]
    sentence = "the folder is private to this user and machine"
    if not exposed and not loose:
        yield good(sentence)
    elif repair:
        if exposed:
            private.ignore(state)
        for path in loose:
            os.chmod(path, 0o700 if os.path.isdir(path) else 0o600)
        yield repaired(sentence)
    else:
        if exposed:
            yield warn("Git would include the private folder.", "`holdfast doctor --repair` writes its .gitignore.")
        if loose:
            message = f"{len(loose)} private files can be read by other users of this machine."
            yield warn(message, "`holdfast doctor --repair` closes them.")
