"""Invite users, whose records then count, and revoke invitations. The list is in the store, so all machines read it.

The list is a separate log (:mod:`holdfast_gitea.log`), so a changed or deleted entry is detected as in a
document. Only the repository's owner, users named in the settings and the token's own user may write it. Invited users
may not invite others.
"""

from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Final
from urllib.parse import quote

from attrs import evolve

from holdfast.errors import BadValue, Corrupt, NotFound, Refused, Unavailable
from holdfast_gitea import index
from holdfast_gitea.authors import NEVER, THIS, Member, Span, members_in, text_of
from holdfast_gitea.index import AUTHORS, STORE
from holdfast_gitea.log import TRIES, Log
from holdfast_gitea.log_view import RESTORE, LogView
from holdfast_gitea.replay import VERSION
from holdfast_gitea.wire import models
from holdfast_gitea.wire.models import garbled
from holdfast_keys.faults import Absent, Closed

_NOTE: Final = (
    "Users who joined by an invitation: their records count, too. `holdfast gitea invite` shows and changes this list."
)


def attach(log: Log) -> None:
    log.index.read_members = lambda entry: _invited(log.load_from(AUTHORS, [entry]))


def listed(log: Log) -> list[Member]:
    """The users on the list by id, also those whose invitation was revoked. Raises: Corrupt; Unavailable."""
    with log.reading():
        log.index.refresh()
        log.index.check_members()
        return sorted(log.authors.members.values(), key=lambda member: member.id)


def invite(log: Log, login: str, user_id: int = 0) -> Member:
    """Make that user's records count from now on, on all machines.

    ``user_id`` is needed only when the token may not ask the server and the user has written nothing yet.
    Raises: NotFound; BadValue without an id; Refused for a user who counts anyway, and when the token's user may not
    invite; Unavailable.
    """
    with log.writing():
        _prepare(log)
        name, account_id = (login, user_id) if user_id else _account(log, login)
        if name.casefold() in (log.authors.own, log.authors.owner.casefold()):
            raise Refused(f"The records of {name} count anyway.", next_step="Invite another user.")

        def joined(before: Member | None) -> Member | None:
            if before is not None and before.state == "joined":
                return evolve(before, login=name) if before.login != name else None
            if before is not None and before.state == "left":
                step = f"Run `holdfast gitea invite {name} --revoke` again."
                raise Refused(f"The invitation of {name} is not yet revoked completely.", next_step=step)
            spans = (*(before.spans if before else ()), Span(since=THIS, since_at=NEVER))
            return Member(id=account_id, login=name, by=log.authors.own, state="joined", spans=spans)

        return _change(log, account_id, joined)


def revoke(log: Log, login: str) -> Member:
    """End the invitation. That user's later records do not count; earlier records still do.

    The caller then copies the user's records to new issues (:func:`holdfast_gitea.compaction.take_over`) and calls
    :func:`close`, because on the server users can edit and delete their own comments. Raises: as :func:`invite`.
    """
    with log.writing():
        _prepare(log)
        members, wanted = log.authors.members.values(), login.casefold()
        named = (member for member in members if wanted in (str(member.id), member.login.casefold()))
        if (member := next(named, None)) is None:
            raise NotFound(f"{login!r} was not invited.", next_step="`holdfast gitea invite` lists the users who were.")

        def left(before: Member | None) -> Member | None:
            if before is None or before.state != "joined":
                return None
            *earlier, last = before.spans
            return evolve(before, state="left", spans=(*earlier, evolve(last, until=THIS)))

        return _change(log, member.id, left)


def close(log: Log, user_id: int) -> Member:
    """Note that nothing this user can edit is read any more."""
    with log.writing():
        return _change(log, user_id, lambda user: evolve(user, state="out") if user and user.state == "left" else None)


def writers(log: Log) -> list[tuple[str, str]]:
    by_login = {log.authors.owner.casefold(): (log.authors.owner, "owner of the repository")}
    for name in sorted(log.authors.named):
        by_login.setdefault(name, (name, "named in `[storage] authors` on this machine"))
    for member in log.authors.members.values():
        if member.state == "joined":
            why = f"invited by {member.by} on {member.spans[-1].since_at:%Y-%m-%d}"
            by_login.setdefault(member.login.casefold(), (member.login, why))
    own = log.authors.own
    with suppress(Refused):
        log.index.check_own()
        if own and own not in {member.login.casefold() for member in log.authors.members.values()}:
            by_login.setdefault(own, (own, "the user of this machine's token"))
    return list(by_login.values())


def _prepare(log: Log) -> None:
    """Raises: Refused when the token's user may not change the list."""
    log.index.refresh(whole=True)
    if not log.index.known(STORE):
        log.make(STORE, index.store_body())
    own = log.authors.own_member(log.index.known(STORE)[0].number)
    if own is not None:
        raise Refused(
            f"{own.login} joined by an invitation itself, and may not change who counts.", next_step=f"Ask {own.by}."
        )
    if not log.authors.own_invites and log.authors.own not in (log.authors.owner.casefold(), *log.authors.named):
        step = f"Ask {log.authors.owner}, or name the user in `[storage] authors` on all machines."
        raise Refused(f"{log.authors.own} may not change who counts in {log.repo.name}.", next_step=step)


def _account(log: Log, login: str) -> tuple[str, int]:
    """The user's name and id. Raises: NotFound; BadValue."""
    for member in log.authors.members.values():
        if member.login.casefold() == login.casefold() and member.state == "joined":
            return member.login, member.id
    try:
        account = log.repo.outside(f"/users/{quote(login, safe='')}").data
    except Absent as error:
        raise NotFound(
            f"The server has no user {login!r}, or does not show it.", next_step="Check the name on the server."
        ) from error
    except Closed as error:
        raise BadValue(
            "USER",
            f"This token cannot find the user {login!r}",
            next_step="Add `read:user` to its scopes, or pass the user's number with --id; `holdfast doctor` shows "
            "it once the user has written here.",
        ) from error
    name, user_id = models.text(account, "login"), models.id_of(account)
    if not name or not user_id:
        raise garbled("a user was expected")
    return name, user_id


def _change(log: Log, user_id: int, change: Callable[[Member | None], Member | None]) -> Member:
    """Write a version of the list with that user changed; ``change`` returns None when it is as it should be."""
    for _ in range(TRIES):
        view = log.load(AUTHORS)
        # When the list was deleted, this machine's copy keeps the spans of those who are on it.
        known = _invited(view) if view.replay.accepted else log.authors.members.values()
        members = {member.id: member for member in known}
        made = change(members.get(user_id))
        if made is None and view.replay.accepted:
            return members[user_id]
        made = made or members[user_id]
        text = text_of([*(member for member in members.values() if member.id != user_id), made])
        view, record_id = log.post(view, VERSION, text, "Whose records count was changed.", language="json")
        if not view.accepts(record_id):
            continue
        view = log.show(view, record_id, text, _NOTE)
        if view.accepts(record_id) and view.active is not None:
            store = next(iter(log.index.known(STORE)), None)
            if store is not None and store.authors != view.active:  # every machine then notices when the list is gone
                log.describe_store(store, authors=view.active)
            log.index.refresh()
            return log.authors.members[user_id]
    raise Unavailable("Too many processes change the list of invited users at once.", next_step="Try again.")


def _invited(view: LogView) -> Sequence[Member]:
    """The list. Raises: Corrupt when it was changed manually."""
    view.check()
    if not view.replay.accepted:
        return ()
    last = view.replay.accepted[-1]
    text = view.check_text(last)
    if last.source.was_edited and not view.approves(last):
        raise Corrupt(f"The list of invited users was edited manually: {last.source.url}", next_step=RESTORE)
    try:
        return members_in(text, last.comment, last.source.updated_at)
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise Corrupt(f"The list of invited users at {last.source.url} cannot be read.", next_step=RESTORE) from error
