"""The stored documents as resources: ``holdfast://documents/NAME``. Nothing here knows MCP."""

from __future__ import annotations

from typing import Final
from urllib.parse import quote, unquote

from holdfast.errors import NotFound, Refused
from holdfast.text import recall
from holdfast.text.plain import BOM
from holdfast_app.trust import provenance

PREFIX: Final = "holdfast://documents/"
MIME_TYPE: Final = "text/markdown"


def uri_of(name: str) -> str:
    """A document's URI."""
    return PREFIX + quote(name)


def names(root: str) -> list[str]:
    """All stored documents that are not withheld, sorted. Raises: any HoldfastError."""
    from holdfast import Holdfast

    with Holdfast.open(root) as memory:
        return [name for name in memory.store.names() if not memory.store.is_withheld(name)]


def read(root: str, uri: str) -> str:
    """The document's text, masked like everything sent to a model, and fenced as data.

    Raises: NotFound for another URI or a missing document; Refused for a withheld document or a name that is not
    allowed; any HoldfastError.
    """
    from holdfast import Holdfast

    if not uri.startswith(PREFIX):
        raise _unknown(uri)
    name = unquote(uri.removeprefix(PREFIX))
    with Holdfast.open(root) as memory:
        layout = memory.services.layout
        # Where the store's folder is the project itself, only the layout's folders are holdfast's.
        document = memory.store.read(name) if name.startswith(tuple(layout.prefixes())) else None
        if document is None:
            raise _unknown(uri)
        shown = memory.services.recalled_from(document)
        if shown is None:
            raise Refused(
                "This document is withheld because this machine did not write it. It may have come with a clone.",
                next_step=provenance.NEXT_STEP,
            )
        return recall.fence(shown.text.removeprefix(BOM))


def _unknown(uri: str) -> NotFound:
    return NotFound(f"There is no resource {uri[:200]!r}.", next_step="List the resources to find their names.")
