"""The local git repository as a forge: commits, merges and tags for the morning report, and claims checked against it.

It is on wherever the project is in a git repository. It runs git without the repository's settings, asks no server
and writes nothing. Every opened project imports this, so it imports only the interface.
"""

from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from typing import ClassVar, Final

from holdfast.errors import Unavailable
from holdfast_app.outbox.forge import INCOMPLETE, Activity, Ask, Forge

#: Time limit for one command, in seconds.
TIMEOUT_S: Final = 5.0
#: Maximum commits of a branch shown one by one. More become one line.
MOST_COMMITS: Final = 5
#: Maximum commits read for one report, claims checked, and changed files of a branch compared.
_MOST_READ: Final = 1000
_MOST_CLAIMS: Final = 20
_MOST_FILES: Final = 200
_USUAL: Final = ("main", "master", "trunk", "develop")
_LONGEST: Final = 200


class LocalGit(Forge):
    """The plugin ``git``."""

    title: ClassVar[str] = "git"
    publishes: ClassVar[bool] = False
    without_hooks: ClassVar[bool] = True
    known_settings: ClassVar[tuple[str, ...]] = ()

    @property
    def is_on(self) -> bool:
        return bool(_top(self._root))

    def activity(self, since: datetime, until: datetime) -> list[Activity]:
        """Commits and merges on local branches, and tags. See :meth:`Forge.activity`."""
        if self._is_empty():
            return []
        activities = [*self._commits(since, until), *self._fast_forwards(since, until), *self._tags(since, until)]
        return sorted(activities, key=lambda activity: (activity.at, activity.pointer))

    def facts(self, asks: Sequence[Ask], since: datetime) -> dict[Ask, tuple[str, ...]]:
        """Whether commits, tags and branches exist. See :meth:`Forge.facts`. In a shallow clone nothing is absent. A
        branch whose work is certainly not in the default branch is ``unmerged``."""
        asked = [ask for ask in asks if ask.about in ("commit", "tag", "branch")][:_MOST_CLAIMS]
        if not asked or self._is_empty():
            return {}
        is_whole = self._run("rev-parse", "--is-shallow-repository").strip() == "false"
        refs = set(self._run("for-each-ref", "--format=%(refname)").split())
        states = {ask: self._state_of(ask.about, ask.target, refs) for ask in asked}
        return {ask: (state,) for ask, state in states.items() if state and (is_whole or state != "absent")}

    def check(self) -> str:
        return "there are no commits yet" if self._is_empty() else "commits, merges and tags are read"

    def _state_of(self, kind: str, name: str, refs: set[str]) -> str:
        """A state; empty when it is unknown."""
        if kind == "commit":
            is_hash = 7 <= len(name) <= 64 and not set(name.lower()) - set("0123456789abcdef")
            return ("present" if self._run("rev-parse", f"--disambiguate={name}") else "absent") if is_hash else ""
        if kind == "tag":
            return "present" if f"refs/tags/{name}" in refs else "absent"
        branch = f"refs/heads/{name}"
        if branch not in refs:
            return "" if any(ref.startswith("refs/remotes/") and ref.endswith(f"/{name}") for ref in refs) else "absent"
        # A squashed merge leaves the branch apart, but then the default branch has since changed a file of it.
        default = self._default()
        files = [*filter(None, self._run("diff", "--name-only", "-z", f"{default}...{branch}", "--").split("\0"))]
        if not files or len(files) > _MOST_FILES:
            return "present"
        words = ("--literal-pathspecs", "log", "-1", "--format=%h", f"{branch}..{default}", "--", *files)
        return "present" if self._run(*words) else "unmerged"

    def _commits(self, since: datetime, until: datetime) -> Iterator[Activity]:
        """Merges one by one, and of each branch's other commits some one by one, or one line for all."""
        form = "--format=%h%x00%ct%x00%an%x00%P%x00%S%x00%s"
        branches: dict[str, list[Activity]] = {}
        read = 0
        window = [f"-{_MOST_READ}", f"--since={since.astimezone(UTC):%Y-%m-%dT%H:%M:%SZ}", default := self._default()]
        below = ["--", "."] if _top(self._root) != self._root else []  # a folder of a repository, or among dotfiles
        own = {*self._run("log", "--format=%h", "--first-parent", *window, *below).split()}
        for row in self._rows("log", form, "--source", *window, "--branches", *below):
            short, at, author, parents, source, subject = row
            read += 1
            # The source of a commit in several branches is the one with the newest.
            moment, branch = _moment(at), (default if short in own else source).removeprefix("refs/heads/")
            if since <= moment <= until:
                is_merge = " " in parents
                kind = "merge" if is_merge else "commit"
                commit = Activity(kind, branch, f"git show {short}", _short(subject), moment, _short(author))
                if is_merge:
                    yield commit
                else:
                    branches.setdefault(branch, []).append(commit)
        for branch, commits in branches.items():
            if len(commits) <= MOST_COMMITS:
                yield from commits
                continue
            last, authors = commits[0], list(dict.fromkeys(commit.author for commit in commits))
            by = ", ".join(authors[:3]) + (f" and {len(authors) - 3} more" if authors[3:] else "")
            summary = f"{len(commits)} commits by {by}; the last one: {last.text}"
            yield Activity("commit", branch, f"git log {branch}", _short(summary), last.at)
        if read == _MOST_READ:
            yield Activity(INCOMPLETE, "", "git log", f"Only the last {_MOST_READ} commits were read.", until)

    def _fast_forwards(self, since: datetime, until: datetime) -> Iterator[Activity]:
        """Merges that made no commit, from the log of HEAD."""
        form = "--format=%h%x00%gd%x00%gs"
        for short, entry, subject in self._rows("log", "-g", form, "--date=unix", f"-{_MOST_READ}", "HEAD"):
            name, is_merge, _ = subject.removeprefix("merge ").partition(": Fast-forward")
            moment = _moment(entry.partition("@{")[2].rstrip("}"))
            if subject.startswith("merge ") and is_merge and since <= moment <= until:
                yield Activity("merge", name, f"git show {short}", _short(f"{name} merged, fast-forward"), moment)

    def _tags(self, since: datetime, until: datetime) -> Iterator[Activity]:
        form = "--format=%(refname:strip=2)%00%(creatordate:unix)%00%(taggername)%00%(subject)"
        for name, at, author, subject in self._rows("for-each-ref", form, "refs/tags"):
            if at and since <= (moment := _moment(at)) <= until:
                yield Activity("tag", name, f"git show {name}", _short(f"tagged: {subject}"), moment, _short(author))

    def _default(self) -> str:
        """The reference that others merge into: the remote's, otherwise a usual name, otherwise the current one."""
        form = "--format=%(refname) %(symref)"
        rows = self._run("for-each-ref", form, "refs/heads", "refs/remotes/origin").splitlines()
        heads = {row.split()[0]: row.split()[-1] for row in rows}
        remote = heads.get("refs/remotes/origin/HEAD", "").removeprefix("refs/remotes/origin/")
        named = (f"refs/heads/{name}" for name in (remote, *_USUAL) if name)
        return next((name for name in named if name in heads), "HEAD")

    def _is_empty(self) -> bool:
        """Whether no commit exists yet. Raises: Unavailable."""
        return not self._run("rev-parse", "-q", "--verify", "HEAD")

    def _rows(self, *words: str) -> Iterator[list[str]]:
        """A command's rows, with NUL between the fields."""
        width = next(word for word in words if word.startswith("--format=")).count("00") + 1
        rows = (line.split("\0") for line in self._run(*words).split("\n"))
        return (row for row in rows if len(row) == width)

    def _run(self, *words: str) -> str:
        """A command's output. Raises: Unavailable."""
        from holdfast_file import gitrun  # an agent's hook does without

        answer = gitrun.run(self._root, *words, timeout_s=TIMEOUT_S)
        if answer is None:
            raise Unavailable(
                "git cannot read this repository, or took too long.",
                next_step="Install git, and check that the repository is yours and that `.git` has no links in it.",
            )
        return answer.decode("utf-8", "replace")


def _top(root: str) -> str:
    from holdfast_file import gitrun

    return gitrun.top(root)


def _moment(seconds: str) -> datetime:
    return datetime.fromtimestamp(int(seconds), UTC)


def _short(text: str) -> str:
    from holdfast.text.plain import one_line
    from holdfast_app.printable import cut, in_one_line

    return cut(one_line(in_one_line(text)), _LONGEST)
