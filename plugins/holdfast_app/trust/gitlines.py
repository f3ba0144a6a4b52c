"""The origin of each line in a project's file, as far as git on this machine can prove it.

A remote decides a commit's content, author and date, but not this machine's reflog. So a line is *here* if it was typed
or committed in this checkout, and a *commit*'s otherwise. A handful of git calls per file, none per line.
"""

from __future__ import annotations

import os
import re
from collections.abc import Collection, Sequence
from typing import Final, NamedTuple

from holdfast.fs import gitrun, safeopen

_TIMEOUT_S: Final = 5.0
_HEAD: Final = re.compile(rb"([0-9a-f]{40}|[0-9a-f]{64}) \d+ (\d+)(?: \d+)?$")
#: Reflog actions that put content of the user into a commit. Those of pull, merge, rebase, cherry-pick and am do not.
_COMMITS: Final = ("commit:", "commit (initial):", "commit (amend):")
_BUSY: Final = ("index.lock", "MERGE_HEAD", "CHERRY_PICK_HEAD", "REVERT_HEAD", "rebase-merge", "rebase-apply")
_MOST_REFLOG: Final = 5_000
_MOST_REFS: Final = 100
_MOST_COMMITS: Final = 500
#: The program that checks a signature comes from the user's path, not from the repository's settings.
_CHECKING: Final = (
    "-c", "gpg.program=gpg", "-c", "gpg.openpgp.program=gpg", "-c", "gpg.x509.program=gpgsm",
    "-c", "gpg.ssh.program=ssh-keygen", "-c", "gpg.ssh.allowedSignersFile=/dev/null",
)  # fmt: skip


class Origins(NamedTuple):
    """Lines by number, 1-based, written in this checkout (``here``), or by a requested author."""

    here: Collection[int]
    authors: Collection[int]


def origins(root: str, path: str, lines: Sequence[str], authors: Collection[str]) -> Origins | None:
    """Where ``lines``, the file's present lines, came from. None while git cannot say.

    ``path`` is relative to ``root``. ``authors`` are e-mail addresses, which anyone who can push may claim, or
    fingerprints of keys that sign commits. Outside a repository, and in a file that git does not hold, all lines are
    from here.
    """
    everything = Origins(range(1, len(lines) + 1), ())
    top = gitrun.top(root)
    if not top:
        return everything
    is_busy = _is_busy(top)
    blamed = gitrun.run(
        root, "-c", "blame.ignoreRevsFile=", "blame", "--porcelain", "--no-textconv", "--", path, timeout_s=_TIMEOUT_S
    )
    if blamed is None:
        if is_busy or not _is_new(root, path):
            return None
        return everything._replace(here=_not_fetched(root, path, lines, everything.here))
    commits, contents = _parsed(blamed)
    # The file may have changed since it was read.
    same = [n for n in commits if n <= len(lines) and _text(contents.get(n, b"")) == lines[n - 1]]
    typed = [n for n in same if not commits[n].strip(b"0")]
    if typed and is_busy:
        return None
    here = set(_not_fetched(root, path, lines, typed)) if typed else set()
    committed = {commits[n] for n in same if commits[n].strip(b"0")}
    own = _made_here(root) & committed
    trusted = _by(root, sorted(committed - own), authors) if authors else set()
    return Origins(
        here | {n for n in same if commits[n] in own},
        {n for n in same if commits[n] in trusted},
    )


def _is_busy(top: str) -> bool:
    """Whether git is changing the work tree, so that lines without a commit may be a remote's."""
    folder = os.path.join(top, ".git")
    try:
        pointer = safeopen.read(folder, 4096, private=False).decode("utf-8", "replace")  # a further work tree's
        folder = os.path.join(top, pointer.removeprefix("gitdir:").strip())
    except OSError:
        pass
    return any(os.path.lexists(os.path.join(folder, name)) for name in _BUSY)


def _parsed(blamed: bytes) -> tuple[dict[int, bytes], dict[int, bytes]]:
    commits: dict[int, bytes] = {}
    contents: dict[int, bytes] = {}
    number = 0
    for line in blamed.split(b"\n"):
        if line.startswith(b"\t"):
            contents[number] = line[1:]
        elif found := _HEAD.match(line):
            number = int(found[2])
            commits[number] = found[1]
    return commits, contents


def _text(line: bytes) -> str:
    return line.decode("utf-8", "replace").rstrip()


def _is_new(root: str, path: str) -> bool:
    """Whether the last commit, if there is one, lacks the file."""
    listed = gitrun.run(root, "ls-tree", "--name-only", "HEAD", "--", path, timeout_s=_TIMEOUT_S)
    if listed is not None:
        return not listed.strip()
    works = gitrun.run(root, "rev-parse", "--is-inside-work-tree", timeout_s=_TIMEOUT_S)
    return bool(works) and gitrun.run(root, "rev-parse", "-q", "--verify", "HEAD", timeout_s=_TIMEOUT_S) is None


def _not_fetched(root: str, path: str, lines: Sequence[str], numbers: Collection[int]) -> list[int]:
    """The line numbers that no fetched branch has in this file. An unfinished pull, a squashed merge and
    a checkout of single files put fetched lines into the work tree without a commit."""
    listed = gitrun.run(root, "for-each-ref", "--format=%(objectname)", "refs/remotes", timeout_s=_TIMEOUT_S)
    if listed is None:
        return []
    refs = list(dict.fromkeys(listed.decode("ascii").split()))[:_MOST_REFS]
    if not refs:
        return list(numbers)
    # `git grep` answers 1, thus None, when no branch has the file.
    found = gitrun.run(root, "grep", "-a", "-h", "-e", "", *refs, "--", path, timeout_s=_TIMEOUT_S) or b""
    fetched = {_text(line) for line in found.split(b"\n")}
    return [number for number in numbers if lines[number - 1] not in fetched]


def _made_here(root: str) -> set[bytes]:
    """The commits that this machine's reflogs show as made here, by the same person who wrote their content. Not those
    of merges: a line in neither parent may be a remote's line in another form."""
    shown = gitrun.run(
        root, "log", "-g", "--all", "--no-show-signature", f"-{_MOST_REFLOG}", "--format=%H%x00%P%x00%ae%x00%ce%x00%gs",
        timeout_s=_TIMEOUT_S,
    )  # fmt: skip
    made = set()
    for line in (shown or b"").split(b"\n"):
        commit, *rest = line.split(b"\0", 4)
        is_own = len(rest) == 4 and b" " not in rest[0] and rest[1] == rest[2]
        if is_own and rest[3].decode("utf-8", "replace").startswith(_COMMITS):
            made.add(commit)
    return made


def _by(root: str, commits: Sequence[bytes], authors: Collection[str]) -> set[bytes]:
    """The authors' commits. ``%ae`` ignores the repository's ``.mailmap``."""
    wanted = {one.casefold() for one in authors}
    keys = {one for one in authors if "@" not in one}
    signature = "%x00%G?%x00%GF" if keys else ""
    names = [commit.decode("ascii") for commit in commits[:_MOST_COMMITS]]
    if not names:
        return set()
    shown = gitrun.run(
        root, *(_CHECKING if keys else ()), "log", "--no-walk=unsorted", "--no-show-signature",
        f"--format=%H%x00%ae{signature}", *names, "--", timeout_s=_TIMEOUT_S,
    )  # fmt: skip
    found = set()
    for line in (shown or b"").decode("utf-8", "replace").split("\n"):
        commit, *rest = line.split("\0")
        is_signed = len(rest) == 3 and rest[1] in ("G", "U") and rest[2] in keys
        if rest and (rest[0].casefold() in wanted or is_signed):
            found.add(commit.encode("ascii"))
    return found
