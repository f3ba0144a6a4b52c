"""Labels: names need not be unique, and unknown names are dropped silently."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from . import shapes
from .calls import Answer, Call, Stop
from .state import Label


def of_repository(call: Call) -> Answer:
    """By name, in pages from 1.26 on, before that only on request."""
    found = sorted(call.repo.labels, key=lambda label: label.name)
    page, size = call.page()
    shown = found
    if page or call.world.flavour == "1.26":
        start = (max(page, 1) - 1) * size
        shown = found[start : start + size]
    return Answer(200, shapes.labels(call.world, call.repo, shown), {"X-Total-Count": str(len(found))})


def create(call: Call) -> Answer:
    """201. Names are not unique, so a second label with the same name is created silently."""
    if not call.repo.may_write(call.doer):
        raise call.fail(403, "user should have a permission to write to a repo")
    form = call.form("name", "color")
    color = form["color"].strip().lower().lstrip("#")
    if len(color) not in (3, 6) or not set(color) <= set("0123456789abcdef"):
        raise call.fail(422, f"invalid color: #{color}")
    if len(color) == 3:
        color = "".join(letter * 2 for letter in color)
    label = Label(call.world.new_id(), form["name"], color, form.get("description") or "")
    call.repo.labels.append(label)
    return Answer(201, shapes.label(call.world, call.repo, label))


def get(call: Call) -> Answer:
    found = next((label for label in call.repo.labels if label.id == call.number("id")), None)
    if found is None:
        raise call.missing()
    return Answer(200, shapes.label(call.world, call.repo, found))


def of_issue(call: Call) -> Answer:
    issue = call.issue()
    return Answer(200, shapes.labels(call.world, call.repo, issue.labels))


def change(call: Call) -> Answer:
    """POST adds, PUT replaces. Ids or names; those that do not exist are dropped without a word."""
    doer, form = call.doer, call.form()
    issue = call.issue()
    if not call.repo.may_write(doer):
        raise call.fail(403, "write permission is required")
    wanted = _labels_of(call, form)
    kept = [] if call.method == "PUT" else issue.labels
    issue.labels = kept + [label for label in wanted if label not in kept]
    call.world.new_row(issue, doer, "", "label")
    return Answer(200, shapes.labels(call.world, call.repo, issue.labels))


def _labels_of(call: Call, form: Mapping[str, Any]) -> list[Label]:
    given = form.get("labels") or []
    kinds = {isinstance(each, str) for each in given}
    if {type(each) for each in given} - {int, float, str}:
        raise call.fail(400, "a label must be an integer or a string")
    if len(kinds) > 1:
        raise call.fail(400, "labels should be an array of strings or integers")
    return [label for label in call.repo.labels if label.id in given or label.name in given]


def remove(call: Call) -> Answer:
    """204 for one or all."""
    doer, issue = call.doer, call.issue()
    if not call.repo.may_write(doer):
        raise Stop(Answer(403))
    if "id" in call.params and call.number("id") not in {label.id for label in call.repo.labels}:
        raise call.fail(422, "label does not exist [label_id: 0]")
    issue.labels = [label for label in issue.labels if "id" in call.params and label.id != call.number("id")]
    call.world.new_row(issue, doer, "", "label")
    return Answer(204)
