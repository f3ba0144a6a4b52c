"""The three-file memory of document 004: workflows that load and update it, and patterns captured during work.

The methods are ``memory.workflow()``, ``update()`` and ``capture()``, the commands ``holdfast workflow``, ``update``
and ``capture``. This is the plugin ``anchors``, which checks the structure of the three files: required anchors
(:data:`holdfast_app.workflow.three.ANCHORS`), each once, none empty. :mod:`holdfast_app.workflow.sections` lists
the findings. It has no settings.

This module runs at every agent event, usually only to skip the text, so everything else is imported when needed.
Besides the framework it uses the standard library only (R232).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, ClassVar

from holdfast.hooks import hookimpl

if TYPE_CHECKING:
    from holdfast.models import Finding
    from holdfast.validation import ValidationRequest


class Anchors:
    """The plugin's class."""

    known_settings: ClassVar[tuple[str, ...]] = ()

    @hookimpl
    def on_validate(self, request: ValidationRequest) -> Sequence[Finding]:
        """Findings for whole documents with anchors, in line order. Other text has none.

        Text without a document name is a fragment (an entry about to be placed under an anchor).
        """
        if not request.name or request.surface not in ("active_context", "patterns", "progress"):
            return ()
        from holdfast_app.workflow.sections import check

        return check(request)


plugin = Anchors()
