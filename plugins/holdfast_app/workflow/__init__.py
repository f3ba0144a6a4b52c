"""The three-file memory of document 004: workflows that load and update it, and patterns captured during work.

The methods are ``memory.workflow()``, ``update()`` and ``capture()``, the commands ``holdfast workflow``, ``update``
and ``capture``. This is the plugin ``anchors``, which checks the structure of documents: required anchors, each once,
none empty.

By default it checks the three files of document 004 (:data:`holdfast_app.workflow.three.ANCHORS`).
``[plugins.anchors.required]`` sets the anchors of any other document by name:
``"MEMORY.md" = ["## Tools", "## Rules"]``. An empty list removes a file's anchors.
:mod:`holdfast_app.workflow.anchor_check` lists the findings.

This module runs at every agent event, usually only to skip the text, so everything else is imported when needed.
Besides the framework it uses the standard library only (R232).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, ClassVar, Protocol

from holdfast.hooks import hookimpl

if TYPE_CHECKING:
    from holdfast.models import Finding
    from holdfast.validation import ValidationRequest

_SURFACES = ("active_context", "patterns", "progress")


class _Context(Protocol):
    @property
    def settings(self) -> Mapping[str, object]: ...


class Anchors:
    """The plugin. Raises: ConfigError for an unknown or unusable setting.

    A project may not set ``required`` without the user's trust: impossible headings would block all writes.
    """

    known_settings: ClassVar[tuple[str, ...]] = ("required",)

    def __init__(self, *, context: _Context) -> None:
        self.required = _required(context.settings)

    @hookimpl
    def on_validate(self, request: ValidationRequest) -> Sequence[Finding]:
        """Findings for whole documents with anchors, in line order. Other text has none.

        Text without a document name is a fragment (an entry about to be placed under an anchor).
        """
        if not request.name or (request.surface not in _SURFACES and request.name not in self.required):
            return ()
        from holdfast_app.workflow.anchor_check import check

        return check(request, self.required.get(request.name))


def _required(settings: Mapping[str, object]) -> dict[str, tuple[str, ...]]:
    table = settings.get("required", {})
    if not isinstance(table, Mapping):
        raise _bad("plugins.anchors.required is not a table")
    for name, anchors in table.items():
        if not isinstance(anchors, list) or not all(isinstance(a, str) and _is_heading(a) for a in anchors):
            raise _bad(f"plugins.anchors.required.{name} is not a list of headings")
    return {name: tuple(anchors) for name, anchors in table.items()}


def _is_heading(text: str) -> bool:
    hashes, _, title = text.partition(" ")
    return 1 <= len(hashes) <= 6 and not hashes.strip("#") and bool(title.strip())


def _bad(problem: str) -> Exception:
    from holdfast.errors import ConfigError

    return ConfigError(f"{problem}.", next_step='Write it like: required = { "MEMORY.md" = ["## Tools"] }.')
