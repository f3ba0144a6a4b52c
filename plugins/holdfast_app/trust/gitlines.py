"""Each line's origin in a project's file, as far as git on this machine can prove it.

A remote decides a commit's content, author and date, but not this machine's reflog. So a line is *here* if it was typed
or committed in this checkout, and a *commit*'s otherwise. A handful of git calls per file, none per line. A file in a
repository inside of another one (a submodule) is judged by both.
"""

from __future__ import annotations

import os
import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from functools import lru_cache
from typing import Final, NamedTuple

from holdfast.errors import Unavailable
from holdfast.fs import checkout, durable, private, safeopen
from holdfast_app.project_settings.statefolder import INDEX_SEEN, TRACKED, is_own
from holdfast_app.trust import passages, statefolders
from holdfast_file import gitrun

_TIMEOUT_S: Final = 5.0
_HISTORY_S: Final = 4.0
_HEAD: Final = re.compile(rb"([0-9a-f]{40}|[0-9a-f]{64}) \d+ (\d+)(?: \d+)?$")
#: Reflog actions that put content of the user into a commit. Those of pull, merge, rebase, cherry-pick and am do not.
_COMMITS: Final = ("commit:", "commit (initial):", "commit (amend):")
_AMENDED: Final = b"commit (amend):"
#: While git changes the work tree, lines without a commit may be a remote's.
_BUSY: Final = ("index.lock", "MERGE_HEAD", "CHERRY_PICK_HEAD", "REVERT_HEAD", "rebase-merge", "rebase-apply")
_MOST_SEEN: Final = 4_000_000  # bytes
_MOST_REFLOG: Final = 5_000
_MOST_REFS: Final = 100
_MOST_COMMITS: Final = 500
_MOST_VERSIONS: Final = 20
#: Without it git checks no signature made with an SSH key.
_CHECKING: Final = ("-c", f"gpg.ssh.allowedSignersFile={os.devnull}")


class Made(NamedTuple):
    """A file that others committed to as well, its committed lines, and the newest commits made here that may have
    changed it."""

    top: str
    path: str
    lines: Collection[int]
    commits: Sequence[bytes]

    def has_put(self, key: str, numbers: Iterable[int]) -> bool:
        """Whether any of the commits brought the passage with this key, or the user just typed one of these lines."""
        return not all(number in self.lines for number in numbers) or any(
            key in _passages_of(self.top, self.path, commit.decode())
            and key not in _passages_of(self.top, self.path, f"{commit.decode()}^")
            for commit in self.commits
        )


class Origins(NamedTuple):
    """Lines by number, 1-based, written in this checkout (``here``), or by a requested author. Others may have moved or
    deleted lines of the ``shared`` files, and so put lines of the user together anew."""

    here: Collection[int]
    authors: Collection[int]
    shared: tuple[Made, ...] = ()


def origins(root: str, path: str, lines: Sequence[str], authors: Collection[str]) -> Origins | None:
    """Where ``lines``, the file's present lines, came from. None while git cannot say.

    ``path`` is relative to ``root``. ``authors`` are e-mail addresses, which anyone who can push may claim, or
    fingerprints of keys that sign commits. Outside a repository, and in a file that git does not hold, all lines are
    from here.
    """
    everything = Origins(range(1, len(lines) + 1), ())
    file = os.path.join(root, path)
    outermost = gitrun.top(root)
    if not outermost:
        return everything
    here, authors_or_here, named = set(everything.here), set(everything.here), set[int]()
    shared: list[Made] = []
    for top in gitrun.repositories(os.path.dirname(file)):
        in_top = _origins_in(top, os.path.relpath(file, top).replace(os.sep, "/"), lines, authors)
        if in_top is None:
            return None
        here &= set(in_top.here)
        authors_or_here &= {*in_top.here, *in_top.authors}
        named |= set(in_top.authors)
        shared += in_top.shared
        if top == outermost:
            break
    return Origins(here, authors_or_here & named, tuple(shared))


def _origins_in(top: str, path: str, lines: Sequence[str], authors: Collection[str]) -> Origins | None:
    if from_commits := _of_its_commits(top, path, lines, authors):
        return from_commits
    own, _ = checkout.git_folders(top)
    is_busy = any(os.path.lexists(os.path.join(own, name)) for name in _BUSY)
    moves = ("-M",) if path.endswith(".jsonl") else ()  # a merge orders facts by time, and each line is a passage
    blamed = gitrun.run(top, "blame", "--porcelain", *moves, "--", path, timeout_s=_TIMEOUT_S)
    if blamed is None:
        if is_busy or not _is_new(top, path):
            return None
        return Origins(_not_fetched(top, path, lines, range(1, len(lines) + 1)), ())
    commits, contents = _parsed(blamed)
    # The file may have changed since it was read.
    same = [n for n in commits if n <= len(lines) and _text(contents.get(n, b"")) == lines[n - 1]]
    typed = [n for n in same if not commits[n].strip(b"0")]
    if typed and is_busy:
        return None
    here = set(_not_fetched(top, path, lines, typed)) if typed and not _is_filtered(top, path) else set()
    known = _history(top, os.path.dirname(path))
    made = known.made
    others = {n: commits[n] for n in same if commits[n].strip(b"0") and commits[n] not in made}
    trusted = _by(top, sorted(set(others.values())), [key for key in authors if "@" not in key])
    wanted = {author.casefold() for author in authors if "@" in author}  # an address may spell a fingerprint
    trusted |= {commit for commit in others.values() if known.author(commit) in wanted}
    mixed = {commits[n] for n in same if commits[n] in made and made[commits[n]].may_hold_others}
    here.update(n for n in same if commits[n] in made and commits[n] not in mixed)
    for commit in mixed:
        numbers = [n for n in same if commits[n] == commit]
        here.update(_not_fetched(top, path, lines, numbers, but=commit.decode()))
    here.update(_rebased(top, path, lines, others, known) if others and made else ())
    touched = known.files.get(path, ((), frozenset[bytes]()))[1]
    shared: tuple[Made, ...] = ()
    if any(commit not in made for commit in touched):
        copied = {known.written.get(commit, b"") for commit in touched}
        by_user = [commit for commit, own in made.items() if commit in touched or own.written in copied]
        committed_lines = {n for n in commits if commits[n].strip(b"0")}
        shared = (Made(top, path, committed_lines, by_user[::-1][:_MOST_VERSIONS]),)
    return Origins(here, {n for n in same if commits[n] in trusted}, shared)


@lru_cache(100)
def _passages_of(top: str, path: str, commit: str) -> frozenset[str]:
    """Keys of a committed version's passages."""
    data = gitrun.run(top, "show", f"{commit}:{path}", timeout_s=_TIMEOUT_S) or b""
    return frozenset(passage.key for passage in passages.split(data.decode("utf-8", "replace")))


class _History(NamedTuple):
    """Each committed file's versions and commits, the commits' authors with times, and the commits made here."""

    files: dict[str, tuple[set[str], set[bytes]]]
    written: dict[bytes, bytes]
    made: Mapping[bytes, _Made]

    def author(self, commit: bytes) -> str:
        """The address that the commit names, whatever ``.mailmap`` says."""
        return self.written.get(commit, b"").rpartition(b" ")[0].decode("utf-8", "replace").casefold()


#: By repository and folder, with the reflog's status. Content that is in them never changes its origin.
_histories: dict[tuple[str, str], tuple[str, _History]] = {}


def _of_its_commits(top: str, path: str, lines: Sequence[str], authors: Collection[str]) -> Origins | None:
    """The origins of a committed version, when all commits of its file are by the authors, or none is by them or from
    here. None otherwise. One call of git for all files of a folder. Signatures are not checked."""
    history = _history(top, os.path.dirname(path))
    versions, commits = history.files.get(path, ((), ()))
    if not versions or not all("@" in author for author in authors):
        return None
    try:
        data = safeopen.read(os.path.join(top, path), private=False)
    except OSError:
        return None
    import hashlib  # here, because most starts ask git nothing

    blob = hashlib.sha1(b"blob %d\0%b" % (len(data), data), usedforsecurity=False).hexdigest()
    if blob not in versions or [_text(line) for line in data.split(b"\n")] != list(lines):
        return None
    wanted = {author.casefold() for author in authors}
    named = set(map(history.author, commits))
    if named <= wanted:
        return Origins((), range(1, len(lines) + 1))
    rebased = {own.written for own in history.made.values()} & {history.written[commit] for commit in commits}
    return None if named & wanted or rebased or not history.made.keys().isdisjoint(commits) else Origins((), ())


def _history(top: str, folder: str) -> _History:
    now = _identity(top, os.path.join("logs", "HEAD"))
    before, known = _histories.get((top, folder), ("", None))
    if known is None or before != now:
        words = ("log", "--full-history", "-m", "--raw", "--no-abbrev", "--no-renames", "--format=%H %ae %at")
        shown = gitrun.run(top, *words, "HEAD", "--", folder or ".", timeout_s=_HISTORY_S) or b""
        known = _History({}, {}, _made_here(top))
        commit = b""
        for line in shown.split(b"\n"):
            if line.startswith(b":"):
                entry, _, name = line.partition(b"\t")
                versions, commits = known.files.setdefault(name.decode("utf-8", "replace"), (set(), set()))
                versions.add(entry.split()[3].decode("ascii"))
                commits.add(commit)
            elif line:
                commit, _, author = line.partition(b" ")
                known.written[commit] = author
        _histories[top, folder] = now, known
    return known


def _parsed(blamed: bytes) -> tuple[dict[int, bytes], dict[int, bytes]]:
    commits: dict[int, bytes] = {}
    contents: dict[int, bytes] = {}
    number = 0
    for line in blamed.split(b"\n"):
        if line.startswith(b"\t"):
            contents[number] = line[1:]
        elif match := _HEAD.match(line):
            number = int(match[2])
            commits[number] = match[1]
    return commits, contents


def _text(line: bytes) -> str:
    return line.decode("utf-8", "replace").rstrip()


def _is_new(root: str, path: str) -> bool:
    """Whether the last commit, if there is one, lacks the file. A submodule's files are in its own commits."""
    listed = gitrun.run(root, "ls-tree", "HEAD", "--", path, timeout_s=_TIMEOUT_S)
    if listed is not None:
        return not listed.strip() or listed.split()[1] == b"commit"
    works = gitrun.run(root, "rev-parse", "--is-inside-work-tree", timeout_s=_TIMEOUT_S)
    return bool(works) and gitrun.run(root, "rev-parse", "-q", "--verify", "HEAD", timeout_s=_TIMEOUT_S) == b""


def _not_fetched(root: str, path: str, lines: Sequence[str], numbers: Collection[int], *, but: str = "") -> list[int]:
    """The line numbers that no fetched branch has in this file, except branches that contain ``but``. An unfinished
    pull, a squashed merge and a checkout of single files put fetched lines into the work tree without a commit."""
    words = ("for-each-ref", "--format=%(objectname)", *((f"--no-contains={but}",) if but else ()), "refs/remotes")
    listed = gitrun.run(root, *words, timeout_s=_TIMEOUT_S)
    if listed is None:
        return []
    refs = list(dict.fromkeys(listed.decode("ascii").split()))[:_MOST_REFS]
    if not refs:
        return list(numbers)
    output = gitrun.run(root, "grep", "-a", "-h", "-e", "", *refs, "--", path, timeout_s=_TIMEOUT_S)
    if output is None:
        return []
    fetched = {_text(line) for line in output.split(b"\n")}
    return [number for number in numbers if lines[number - 1] not in fetched]


class _Made(NamedTuple):
    """A commit made here, and its author and time, which a rebase keeps. A first commit, after ``git checkout
    --orphan``, and an amended one of a remote ``may_hold_others`` lines."""

    may_hold_others: bool
    is_amended: bool
    written: bytes


def _is_filtered(top: str, path: str) -> bool:
    """Whether a filter writes the file, so that what nobody committed may be a remote's. True while git cannot say."""
    shown = gitrun.run(top, "check-attr", "-z", "filter", "--", path, timeout_s=_TIMEOUT_S) or b""
    return shown.split(b"\0")[2:3] not in ([b"unspecified"], [b"unset"])


def _made_here(root: str) -> dict[bytes, _Made]:
    """The commits that this machine's reflogs show as made here, by the same person who wrote their content. Not those
    of merges: a line in neither parent may be a remote's line in another form."""
    shown = gitrun.run(
        root, "log", "-g", "--all", f"-{_MOST_REFLOG}", "--format=%H%x00%gD%x00%P%x00%ae%x00%ce%x00%at%x00%gs",
        timeout_s=_TIMEOUT_S,
    )  # fmt: skip
    made: dict[bytes, _Made] = {}
    before: dict[bytes, bytes] = {}
    for line in reversed((shown or b"").split(b"\n")):  # oldest first
        commit, entry, *rest = (*line.split(b"\0", 6), b"")
        is_own = len(rest) == 6 and b" " not in rest[0] and rest[1] == rest[2]
        if is_own and rest[4].decode("utf-8", "replace").startswith(_COMMITS):
            amended = made.get(before.get(entry.partition(b"@")[0], b""))
            is_amended = rest[4].startswith(_AMENDED) and (amended is None or amended.is_amended)
            made.setdefault(commit, _Made(is_amended or not rest[0], is_amended, rest[1] + b" " + rest[3]))
        before[entry.partition(b"@")[0]] = commit
    return made


def _rebased(top: str, path: str, lines: Sequence[str], commits: Mapping[int, bytes], known: _History) -> list[int]:
    """The numbers of the lines whose commit is a rebased copy of one made here that added the same line."""
    written = {commit: known.written.get(commit, b"") for commit in commits.values()}
    sought = set(written.values())
    twins = [(own.written, name) for name, own in known.made.items() if not own.is_amended and own.written in sought]
    added: dict[bytes, set[str]] = {}
    for key, twin in twins[:_MOST_REFS]:  # several if commits were made in the same second
        words = ("show", "-U0", "--format=", twin.decode(), "--", path)
        patch = gitrun.run(top, *words, timeout_s=_TIMEOUT_S) or b""
        added.setdefault(key, set()).update(_text(line[1:]) for line in patch.split(b"\n") if line.startswith(b"+"))
    return [n for n, commit in commits.items() if lines[n - 1] in added.get(written[commit], ())]


def _by(top: str, commits: Sequence[bytes], keys: Collection[str]) -> set[bytes]:
    """The commits with a good signature by one of the ``keys``. The user's own ``gpg`` or ``ssh-keygen`` checks it,
    because git sees no settings."""
    names = [commit.decode("ascii") for commit in commits[:_MOST_COMMITS]]
    words = ("log", "--no-walk=unsorted", "--format=%H%x00%G?%x00%GF", *names, "--")
    shown = gitrun.run(top, *_CHECKING, *words, timeout_s=_TIMEOUT_S) if names and keys else b""
    rows = (line.split("\0") for line in (shown or b"").decode("utf-8", "replace").split("\n"))
    return {row[0].encode("ascii") for row in rows if len(row) == 3 and row[1] in ("G", "U") and row[2] in keys}


# files of the private folder that git tracks


def put_tracked_aside(state: str) -> list[str]:
    """Put aside files in the private folder ``state`` that a repository around it tracks, because a pull can bring
    them; returns their names in it, sorted.

    The folder ignores itself, so git tracks such a file only after a forced add. The indexes are read again when one
    changed, without git, which a client's search path may lack. Creates nothing without a private folder or a
    repository. Raises: Unavailable, also for an index that cannot be read.
    """
    if not os.path.isdir(state):
        return []
    state = os.path.realpath(state)
    tops = gitrun.repositories(state)
    now = "\n".join(filter(None, map(_identity, tops)))
    seen = os.path.join(state, INDEX_SEEN)
    before = []
    if not now:
        return []
    with suppress(OSError):
        before = safeopen.read(seen, _MOST_SEEN).decode("utf-8", "replace").split("\n")
        if [line for line in before if not line.startswith(TRACKED)] == now.split("\n"):
            return []
    # A version that was put aside once is not looked for again, because a file of ours has its name now.
    tracked = {f"{TRACKED}{blob} {name}": name for top in tops for name, blob in _tracked_in(top, state)}
    new = sorted({name for line, name in tracked.items() if line not in before and _is_there(state, name)})
    moved = [name for name in new if name != private.MARK or not is_own(state)]
    if moved:
        aside = os.path.join(os.path.dirname(state), private.put_aside_name(os.path.basename(state)))
        durable.make_private_dir(aside)
        private.ignore(aside)
        for name in moved:
            target = os.path.join(aside, *name.split("/"))
            durable.make_private_dir(os.path.dirname(target))
            statefolders.move(os.path.join(state, *name.split("/")), target)
    lines = [now, *sorted(line for line in tracked if "\n" not in line)]
    durable.replace(seen, "\n".join(lines).encode("utf-8", "replace"), flush=False)
    return moved


def _identity(top: str, name: str = "index") -> str:
    with suppress(OSError):
        status = os.stat(os.path.join(checkout.git_folders(top)[0], name))
        return f"{status.st_dev} {status.st_ino} {status.st_size} {status.st_mtime_ns}"
    return ""


def _tracked_in(top: str, state: str) -> list[tuple[str, str]]:
    """The tracked names in ``state``, relative to it, with their objects. Folders are compared by identity, because a
    file system may ignore case, Unicode forms or a final dot, and git then writes to it under another name."""
    try:
        names = list(gitrun.tracked(top))
    except (OSError, ValueError) as error:
        raise Unavailable(
            f"Git's index cannot be read, so holdfast cannot see whether a pull changed private files: {error}.",
            next_step="Run `git status` in the project, which repairs the index or shows what is wrong with it.",
        ) from error
    folder, way = top, os.path.relpath(state, top)
    for part in way.split(os.sep) if way != os.curdir else ():
        above, folder = folder, os.path.join(folder, part)
        parts = [(*name.partition("/"), blob) for name, blob in names]
        same = {first for first in {row[0] for row in parts if row[2]} if _is_same(os.path.join(above, first), folder)}
        names = [(rest, blob) for first, _, rest, blob in parts if rest and first in same]
    return [entry for entry in names if entry[0] != ".gitignore"]


def _is_same(one: str, other: str) -> bool:
    try:
        return one == other or os.path.samestat(os.lstat(one), os.lstat(other))
    except OSError:
        return False


def _is_there(state: str, name: str) -> bool:
    """Whether git has written the name. A submodule's folder counts once it is checked out."""
    path = os.path.join(state, *name.split("/"))
    with suppress(OSError):
        safeopen.stat(path)
        return not os.path.isdir(path) or os.path.lexists(os.path.join(path, ".git"))
    return False
