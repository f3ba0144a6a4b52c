"""The ``holdfast doctor`` checks for a store in issues, for changes by people or machines that no reader shows."""

from collections.abc import Callable, Iterator

from holdfast.api import Check, Holdfast, HoldfastError
from holdfast_gitea import invitations
from holdfast_gitea.authors import NEXT_STEP
from holdfast_gitea.backend import GiteaBackend
from holdfast_gitea.compaction import TO_REMOVE
from holdfast_gitea.documents import TITLE as DOCUMENT
from holdfast_gitea.facts import TITLE as FACTS
from holdfast_gitea.log import Log
from holdfast_gitea.log_view import LogView, shown
from holdfast_gitea.replay import ACCEPT, is_accept
from holdfast_gitea.wire.models import Comment, Issue
from holdfast_keys.faults import Closed


def checks(memory: Holdfast) -> Iterator[Check]:
    """Nothing for another backend. Otherwise a line for each finding, or a single line if all is well."""
    backend = memory.store.backend
    if not isinstance(backend, GiteaBackend):
        return
    yield from access(backend.log)
    findings = list(inspect(backend.log))
    yield from findings
    if not findings:
        yield Check.good(f"no manual edits in {backend.log.repo.url}")


def access(log: Log) -> Iterator[Check]:
    """Whether the token may write, who else can read the store, and whose records count."""
    try:
        log.repo.check_write()
    except Closed as error:  # another error would be that of all that follows
        yield Check.fail(error.message, error.next_step)
    kind, logins = log.repo.readers()
    name = log.repo.name
    if kind in ("public", "internal"):
        who = "everyone" if kind == "public" else "everyone with an account on the server"
        yield Check.warn(f"{who} can read this memory, in {name}.", "Make the repository private in its settings.")
    elif logins:
        yield Check.good(f"{', '.join(logins)} can read {name}, too")
    log.index.refresh()
    who = ", ".join(f"{login} ({why})" for login, why in invitations.writers(log))
    yield Check.good(f"records count from {who}")


def inspect(log: Log) -> Iterator[Check]:
    """Read the whole store and report edited and deleted records. Changes nothing."""
    log.index.refresh(whole=True)
    if unknown_members := list(_failing(log.index.check_members)):
        yield from unknown_members
        return
    yield from _failing(log.check_own)
    for member in (member for member in log.authors.members.values() if member.state == "left"):
        step = f"Run `holdfast gitea invite {member.login} --revoke` again."
        yield Check.warn(f"The revocation of {member.login}, who can still edit stored content, was interrupted.", step)
    for issue in log.index.foreign.values():
        message = f"#{issue.number} is named like a part of the store. {issue.author} made it, so it is not read."
        yield Check.warn(message, _about(log, issue))
    if not log.index.known(FACTS):
        yield from _failing(lambda: log.load(FACTS))
    for title, entries in log.index.titles().items():
        for entry in (entry for entry in entries if entry.shown):
            message = f"#{entry.number} holds {shown(title)}, and its title was changed to {entry.shown[:80]!r}."
            yield Check.warn(message, f"Nothing is lost. People find it again with the title {title!r}.")
        if title.startswith(DOCUMENT) or title == FACTS:
            yield from _log(log, title)
        elif title == TO_REMOVE:
            issues = ", ".join(f"#{entry.number}" for entry in entries)
            message = f"{issues} are empty, but the server keeps an issue's earlier versions."
            yield Check.warn(message, "Delete these issues on the server.")


def _log(log: Log, title: str) -> Iterator[Check]:
    try:
        view = log.load(title)
        yield from _of_others(log, title, view)
        view.check()
    except HoldfastError as error:
        yield Check.fail(error.message, error.next_step)
        return
    for record in (record for record in view.replay.accepted if record.source.was_edited or not record.intact):
        approved = view.approves(record)
        where = f"{shown(title)}: {record.source.url} was edited"
        if not record.intact:
            step = "" if approved else "Restore the earlier version, or accept this one; see docs/forges.md."
            yield Check.warn(f"{where} manually{', and a user accepted that.' if approved else '.'}", step)
        elif not approved:
            step = "The server shows the edit history. Users with write access can do this."
            yield Check.warn(f"{where} on the server, and its checksum fits the new text.", step)


def _of_others(log: Log, title: str, view: LogView) -> Iterator[Check]:
    """What users wrote into a log whose records do not count."""
    groups: dict[tuple[str, str], list[Comment]] = {}
    for comment in (comment for segment in view.segments for comment in segment.foreign):
        kind = "unread" if comment.unread else "accept" if is_accept(comment) else "record"
        groups.setdefault((kind, comment.author), []).append(comment)
    for (kind, author), comments in groups.items():
        urls, step = [comment.url for comment in comments], _about(log, comments[-1])
        if kind == "unread":
            message = f"{_some(urls, 'comment')} by {author} are too long and are not read."
            step = "They slow every machine down. Delete them on the server, and block their author."
        elif kind == "record":
            message = f"{_some(urls)} by {author} do not count."
        else:
            message = f"`{ACCEPT}` by {author} has no effect ({urls[0]})."
        yield Check.warn(f"{shown(title)}: {message}", step)


def _about(log: Log, post: Comment | Issue) -> str:
    """The next step for a user's content that does not count."""
    member = log.authors.members.get(post.author_id)
    return NEXT_STEP if member is None else "It is not from the time of the invitation. Delete it on the server."


def _failing(call: Callable[[], object]) -> Iterator[Check]:
    try:
        call()
    except HoldfastError as error:
        yield Check.fail(error.message, error.next_step)


def _some(urls: list[str], what: str = "record") -> str:
    return f"{len(urls)} {what}{'s' if urls[1:] else ''} ({', '.join(urls[:3])}{', ...' if urls[3:] else ''})"
