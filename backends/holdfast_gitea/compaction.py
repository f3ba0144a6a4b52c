"""Remove deleted and overwritten data: current data moves to a new issue, and the older issues are removed.

If the token's user administers the repository, the whole issue is removed. Otherwise its comments are deleted and its
body is emptied, but the server keeps an issue's earlier bodies until the issue is removed.
"""

from typing import Final

from holdfast.errors import Unavailable
from holdfast_gitea import index, marker
from holdfast_gitea.documents import COPY, state_of
from holdfast_gitea.documents import TITLE as DOCUMENT
from holdfast_gitea.facts import TITLE as FACTS
from holdfast_gitea.facts import Facts
from holdfast_gitea.index import PREFIX, STORE, Entry
from holdfast_gitea.log import TRIES, Log
from holdfast_gitea.log_view import LogView, overtaken
from holdfast_gitea.replay import DELETED, NEXT, SNAPSHOT, VERSION, new_id, starts_whole
from holdfast_keys.faults import Closed

#: Titles of emptied issues, and of issues whose body held text.
_EMPTIED: Final = PREFIX + "emptied"
TO_REMOVE: Final = PREFIX + "to be removed by an administrator"


def compact(log: Log, facts: Facts) -> None:
    """Compact all documents and the facts. The caller holds this machine's lock.

    Raises: Unavailable when earlier bodies stay in the server's history, naming the issues, after doing the rest.
    """
    log.index.refresh(whole=True)
    for title in log.index.titles():
        if title.startswith(DOCUMENT) or title == FACTS:
            view = log.load(title)
            has_past = _has_past(view)
            view = _repeat(log, facts, view) if has_past else view
            active = view.active or 0
            # Without a past, an issue that is still read stays.
            needed = set() if has_past else {segment.number for segment in view.segments}
            for entry in log.index.known(title):
                if entry.number < active and entry.number not in needed and not _removed(log, entry.number):
                    _empty(log, entry, active)
    log.index.refresh()
    if stay := [entry for entry in log.index.titles().get(TO_REMOVE, ()) if not _removed(log, entry.number)]:
        raise Unavailable(
            "The server may still show earlier content in the history of "
            f"{', '.join(f'#{entry.number}' for entry in stay)}, which are empty now.",
            next_step="Delete these issues there, or make the token's user an administrator of the repository.",
        )


def take_over(log: Log, facts: Facts, user_id: int) -> int:
    """Repeat in new issues, as the token's user, every log to which that user has contributed. Returns their number.

    Nothing the user can edit or delete on the server is read afterwards. Nothing is removed.
    The caller holds this machine's lock. Raises: Corrupt; Unavailable.
    """
    log.index.refresh(whole=True)
    count = 0
    for title, entries in log.index.titles().items():
        theirs = {entry.number for entry in entries if entry.author == user_id}
        if title == STORE and all(entry.author == user_id for entry in entries):
            issue = log.repo.issue(entries[0].number)  # described again, in an issue of the token's user
            framed = marker.framed(issue.body) if issue else None
            log.make(STORE, index.store_body(framed.text or "" if framed else "", **index.store_fields(entries[0])))
            count += 1
        elif title.startswith(DOCUMENT) or title == FACTS:
            view = log.load(title)
            used = {segment.number for segment in view.segments}
            if not (theirs & used or any(record.source.author_id == user_id for record in view.replay.accepted)):
                continue
            count += 1
            if title == FACTS or state_of(view).text is not None:  # of a deleted document nothing is read
                _repeat(log, facts, view)
    return count


def _repeat(log: Log, facts: Facts, view: LogView) -> LogView:
    """Repeat the log's current content in a new issue, so that none before it is needed. The updated log."""
    for _ in range(TRIES):
        if view.title == FACTS:
            view = facts.snapshot(log.step(view))
            if _is_fresh(view):
                return view
        else:
            text = state_of(view).text
            view = log.step(view)
            if state_of(view).text == text and view.replay.accepted[-1].kind == NEXT:
                if text is None:
                    return view
                view, record_id = log.post(view, VERSION, text, "The document, without its past.", root=1)
                if _is_fresh(view):
                    return log.show(view, record_id, text, COPY)
        view = log.load(view.title)  # another writer came first
    raise overtaken(view.title)


def _has_past(view: LogView) -> bool:
    """Whether the log holds text that is no longer in the document or the facts. Raises: Corrupt."""
    if view.title == FACTS:
        return bool(view.replay.late) or any(record.kind != SNAPSHOT for record in view.replay.accepted)
    state_of(view)
    kinds = [record.kind for record in view.replay.accepted if record.kind != NEXT]
    return DELETED in kinds or VERSION in kinds[1:] or any(record.size for record in view.replay.late)


def _is_fresh(view: LogView) -> bool:
    """Whether the newest issue needs none before it. Another machine may have been the first to write to it."""
    return any(starts_whole(segment) for segment in view.segments if segment.number == view.active)


def _removed(log: Log, number: int) -> bool:
    """Remove the issue; False when the token's user may not."""
    try:
        log.repo.remove(f"/issues/{number}")
    except Closed:
        return False
    log.index.gone(number)
    return True


def _empty(log: Log, entry: Entry, goes_on_in: int) -> None:
    """Empty an issue except for the reference to the new one, because another machine may still look here first. The
    issue's new title names the remaining work."""
    repo, number = log.repo, entry.number
    before = repo.comments(number).values
    record_id = new_id()
    note = f"This goes on in issue {goes_on_in}."
    repo.publish(number, marker.frame(note, "", id=record_id, kind=NEXT, root=1, to=goes_on_in), record_id)
    for comment in before:
        repo.remove(f"/issues/comments/{comment.id}")
    repo.transport.patiently(lambda: repo.edit_issue(number, body=note))
    repo.transport.patiently(lambda: repo.edit_issue(number, state="closed"))
    title = TO_REMOVE if entry.head or entry.deleted else _EMPTIED
    log.index.saw(repo.transport.patiently(lambda: repo.edit_issue(number, title=title)))
