"""Which path is answered by what, and which scope it asks for."""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from . import comments, events, issues, shapes
from .calls import Answer, Call, Stop

Handler = Callable[[Call], Answer]

VERSIONS = {"1.26": "1.26.3", "forgejo": "11.0.1+gitea-1.22.0"}


def version(call: Call) -> Answer:
    return Answer(200, {"version": VERSIONS[call.world.flavour]})


def user(call: Call) -> Answer:
    return Answer(200, shapes.user(call.world, call.doer, call.doer))


def someone(call: Call) -> Answer:
    """An account, by its login. Anonymous callers see it, too, unless the server requires a login."""
    name = call.params["username"]
    found = call.world.users.get(name.lower())
    if found is None:
        raise call.fail(404, f"user redirect does not exist [name: {name}]")
    return Answer(200, shapes.user(call.world, found, call.caller))


def organization(call: Call) -> Answer:
    """An owner of repositories for whom no token was ever made; 404 for users."""
    name = call.params["org"]
    found = call.world.users.get(name.lower())
    if found is None or any(token.user is found for token in call.world.tokens.values()):
        raise call.fail(404, f"org does not exist [name: {name}]")
    texts = dict.fromkeys(("avatar_url", "description", "email", "full_name", "location", "website"), "")
    more = {"visibility": "public", "repo_admin_change_team_access": False}
    return Answer(200, {"id": found.id, "name": found.login, "username": found.login, **texts, **more})


def repository(call: Call) -> Answer:
    """A few of its fields."""
    one = call.repo
    found = {"id": one.id, "name": one.name, "full_name": one.full_name, "private": one.private, "internal": False}
    found |= {"default_branch": "main", "empty": not one.feeds}
    return Answer(200, {**found, "owner": shapes.user(call.world, one.owner, email=True)})


def collaborators(call: Call) -> Answer:
    """Everyone with their own access rights, without the owner."""
    logins = [login for login in sorted(call.repo.rights) if login != call.repo.owner.login]
    return Answer(200, [shapes.user(call.world, call.world.user(login), call.caller) for login in logins])


@dataclass(frozen=True)
class Route:
    """A path with its handlers by method. Without ``scope`` any token will do, and none."""

    pattern: re.Pattern[str]
    scope: str
    handlers: Mapping[str, Handler]


def _route(path: str, scope: str, **handlers: Handler) -> Route:
    return Route(re.compile("/api/v1" + re.sub(r"\{(\w+)\}", r"(?P<\1>[^/]+)", path)), scope, handlers)


_REPO = "/repos/{owner}/{repo}"
_ISSUE = _REPO + "/issues/{index}"
_COMMENT = _REPO + "/issues/comments/{id}"

ROUTES = (
    _route("/version", "", GET=version),
    _route("/user", "user", GET=user),
    _route("/users/{username}", "user", GET=someone),
    _route("/orgs/{org}", "organization", GET=organization),
    _route(_REPO, "repository", GET=repository),
    _route(_REPO + "/collaborators", "repository", GET=collaborators),
    _route(_REPO + "/pulls/{index}/reviews", "repository", GET=events.reviews),
    _route(_REPO + "/pulls/{index}/reviews/{id}/comments", "repository", GET=events.review_comments),
    _route(_REPO + "/pulls/{index}", "repository", GET=events.pull),
    _route(_REPO + "/commits/{sha}/status", "repository", GET=events.status),
    _route(_REPO + "/activities/feeds", "repository", GET=events.feeds),
    _route(_REPO + "/releases", "repository", GET=events.releases),
    _route(_REPO + "/issues", "issue", GET=issues.listing, POST=issues.create),
    _route(_REPO + "/issues/comments", "issue", GET=comments.in_repository),
    _route(_COMMENT, "issue", GET=comments.get, PATCH=comments.edit, DELETE=comments.delete),
    _route(_ISSUE, "issue", GET=issues.get, PATCH=issues.edit, DELETE=issues.delete),
    _route(_ISSUE + "/comments", "issue", GET=comments.on_issue, POST=comments.create),
    _route(_ISSUE + "/timeline", "issue", GET=comments.timeline),
    _route(_ISSUE + "/reactions", "issue", POST=comments.react),
)


def answer(call: Call) -> Answer:
    """Run the checks and the handler. The caller holds the world's lock."""
    for route in ROUTES:
        match = route.pattern.fullmatch(call.path)
        if match is None:
            continue
        handler = route.handlers.get(call.method)
        if handler is None:
            return Answer(405)
        call.params = match.groupdict()
        try:
            call.authenticate()
            if route.scope:
                call.need_scope(route.scope)
            if "owner" in call.params:
                call.check_repo()
            return handler(call)
        except Stop as stop:
            return stop.answer
    return Answer(404, b"404 page not found\n", {"Content-Type": "text/plain; charset=utf-8"})
