"""Issues and pull requests, with the server's quirks (unfiltered lists, cut titles, a single compare-and-swap)."""

from typing import Any
from urllib.parse import urlencode

from . import shapes
from .calls import Answer, Call, Stop
from .state import Issue
from .titles import stored


def listing(call: Call) -> Answer:
    """By default open issues and pull requests, newest first, in pages; ``state`` and ``type`` change that."""
    found = [i for i in call.repo.issues.values() if _wanted(call, i)]
    found.sort(key=lambda i: (i.created, i.id), reverse=True)
    return _paged(call, found, [shapes.issue(call.world, i, call.caller) for i in _slice(call, found)])


def _wanted(call: Call, issue: Issue) -> bool:
    since, before = call.window()
    return (
        _in_state(issue, call.query.get("state", "open"))
        and call.query.get("type") != ("issues" if issue.pull else "pulls")
        and since <= issue.updated
        and (before is None or issue.updated <= before)
    )


def _in_state(issue: Issue, state: str) -> bool:
    return state == "all" or (issue.closed is not None) == (state == "closed")


def _slice(call: Call, found: list[Issue]) -> list[Issue]:
    page, size = call.page()
    start = (max(page, 1) - 1) * size
    return found[start : start + size]


def _paged(call: Call, found: list[Issue], shown: list[dict[str, Any]]) -> Answer:
    page, size = call.page()
    last = max(-(-len(found) // size), 1)
    page = min(max(page, 1), last)
    wanted = {"next": page + 1, "last": last} if page < last else {}
    if page > 1:
        wanted |= {"first": 1, "prev": page - 1}
    links = [f'<{_at(call, number)}>; rel="{name}"' for name, number in wanted.items()]
    headers = {"X-Total-Count": str(len(found))} | ({"Link": ",".join(links)} if links else {})
    return Answer(200, shown, headers)


def _at(call: Call, page: int) -> str:
    query = dict(sorted({**call.query, "page": str(page)}.items()))
    return f"{call.world.url}{call.path}?{urlencode(query)}"


def get(call: Call) -> Answer:
    return Answer(200, shapes.issue(call.world, call.issue(), call.caller))


def create(call: Call) -> Answer:
    doer, repo = call.doer, call.live_repo()
    form = call.form("title")
    issue = call.world.new_issue(repo, doer, form["title"], form.get("body") or "")
    if form.get("closed"):
        _set_state(call, issue, "closed")
    return Answer(201, shapes.issue(call.world, issue, doer))


def edit(call: Call) -> Answer:
    """201, also on an archived repository. Title, body and state are written one after the other."""
    doer, form = call.doer, call.form()
    issue = call.issue()
    if issue.poster is not doer and not call.repo.may_write(doer):
        raise Stop(Answer(403))
    version = form.get("content_version") if call.world.flavour == "1.26" else None
    if version not in (None, issue.version):
        raise call.fail(409, "the issue is already changed")
    if form.get("title"):
        _set_title(call, issue, form["title"])
    if form.get("body") is not None:
        issue.body, issue.version, issue.updated = form["body"], issue.version + 1, call.world.now()
    if form.get("state") is not None:
        _set_state(call, issue, form["state"])
    return Answer(201, shapes.issue(call.world, issue, doer))


def _set_title(call: Call, issue: Issue, title: str) -> None:
    if issue.title != stored(title):
        issue.title = stored(title)
        call.world.new_row(issue, call.doer, "", "change_title")


def _set_state(call: Call, issue: Issue, state: str) -> None:
    if state not in ("open", "closed"):
        raise call.fail(412, f"unknown state: {state}")
    if issue.merged is not None:
        raise call.fail(412, "cannot change state of this pull request, it was already merged")
    if (issue.closed is None) != (state == "open"):
        call.world.new_row(issue, call.doer, "", "reopen" if state == "open" else "close")
        issue.closed = None if state == "open" else call.world.now()


def delete(call: Call) -> Answer:
    call.need_token()
    if call.repo.right_of(call.caller) != "admin":
        raise call.fail(403, "user should be an owner or a collaborator with admin write of a repository")
    del call.repo.issues[call.issue().number]
    return Answer(204)
