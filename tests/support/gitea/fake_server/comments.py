"""Comments: never paginated on an issue, a server error where the issue is missing, and edits without a guard."""

from . import shapes
from .calls import Answer, Call, Stop
from .state import Comment

#: The reactions allowed by default; any other is 403.
REACTIONS = ("+1", "-1", "laugh", "hooray", "confused", "heart", "rocket", "eyes")


def on_issue(call: Call) -> Answer:
    """All of them, whatever ``page`` and ``limit`` say. A missing issue is 500."""
    issue = call.issue(otherwise=call.broken())
    since, before = call.window()
    found = [c for c in issue.comments() if since <= c.updated and (before is None or c.updated <= before)]
    return Answer(200, [shapes.comment(call.world, c) for c in found], {"X-Total-Count": str(len(found))})


def in_repository(call: Call) -> Answer:
    """The repository's comments, in pages from 1.26 on, before that only on request."""
    since, before = call.window()
    rows = (c for issue in call.repo.issues.values() for c in issue.comments())
    found = [c for c in rows if since <= c.updated and (before is None or c.updated <= before)]
    found.sort(key=lambda c: (c.created, c.id))
    page, size = call.page()
    shown = found
    if page or call.world.flavour == "1.26":
        start = (max(page, 1) - 1) * size
        shown = found[start : start + size]
    return Answer(200, [shapes.comment(call.world, c) for c in shown], {"X-Total-Count": str(len(found))})


def timeline(call: Call) -> Answer:
    """Comments and events in pages. The count is the page's."""
    issue = call.issue(otherwise=call.broken())
    since, before = call.window()
    rows = [r for r in issue.rows if since <= r.updated and (before is None or r.updated <= before)]
    page, size = call.page()
    start = (max(page, 1) - 1) * size
    shown = rows[start : start + size]
    return Answer(200, [shapes.row(call.world, r) for r in shown], {"X-Total-Count": str(len(shown))})


def create(call: Call) -> Answer:
    doer, repo = call.doer, call.live_repo()
    form = call.form("body")
    gone = call.missing() if call.world.flavour == "forgejo" else call.broken()
    issue = call.issue(otherwise=gone)
    if issue.locked and not repo.may_write(doer):
        raise call.fail(403, "You cannot comment on a locked issue.")
    return Answer(201, shapes.comment(call.world, call.world.new_row(issue, doer, form["body"])))


def get(call: Call) -> Answer:
    comment = call.comment()
    return Answer(200, shapes.comment(call.world, comment)) if comment.kind == "comment" else Answer(204)


def edit(call: Call) -> Answer:
    """The last write wins. An edit that changes nothing is answered without saying whose comment it is."""
    call.live_repo()
    call.need_token()
    form = call.form("body")
    comment = _own(call, call.comment())
    if comment.kind != "comment":
        return Answer(204)
    if comment.body == form["body"]:
        return Answer(200, {**shapes.comment(call.world, comment), "user": None})
    comment.body, comment.version, comment.updated = form["body"], comment.version + 1, call.world.now()
    return Answer(200, shapes.comment(call.world, comment))


def delete(call: Call) -> Answer:
    """An archived repository does not stop it."""
    call.need_token()
    comment = _own(call, call.comment())
    if comment.kind != "comment":
        return Answer(400)
    comment.issue.rows.remove(comment)
    return Answer(204)


def _own(call: Call, comment: Comment) -> Comment:
    if comment.poster is not call.caller and not call.repo.may_write(call.caller):
        raise Stop(Answer(403))
    return comment


def react(call: Call) -> Answer:
    """Add one's own reaction: 201 the first time, 200 after."""
    doer, thing, content = call.doer, call.issue(), call.form().get("content") or ""
    if content not in REACTIONS:
        raise call.fail(403, f"'{content}' is not an allowed reaction")
    known = (doer.login, content) in thing.reactions
    thing.reactions.add((doer.login, content))
    made = {
        "user": shapes.user(call.world, doer, doer),
        "content": content,
        "created_at": shapes.moment(call.world.now()),
    }
    return Answer(200 if known else 201, made)
