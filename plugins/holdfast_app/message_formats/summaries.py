"""A client's own summary at a compaction."""

import re
from typing import Final

from holdfast.text.lazy import Lazy

#: The tool name of its message, whose role is ``system``.
SUMMARY: Final = "summary"
#: How the summary was made, its tags, and the client's words to the next model. Each was seen in a recording.
_AROUND: Final = Lazy(
    r"<analysis>.*?</analysis>(?:\s*<summary>)?|\A.{0,400}?^Analysis:\s*$.*?(?=^Summary:\s*$)"
    r"|^[ \t]*</?summary>[ \t]*$|\A\s*<summary>|</summary>\s*\Z"
    r"|^This session is being continued[^\n]*$|^Another language model started[^\n]*$"
    r"|^(?:The (?:conversation|summary)[^\n]{0,40} (?:is )?(?:summarized )?below[^\n]*:[ \t]*$)"
    r"|^(?:Please c|C)ontinue the conversation from where (?:we|it) left (?:it )?off.*\Z"
    r"|^If you need specific details from before compaction[^\n]*$|^Recent messages are preserved verbatim\.[ \t]*$",
    re.DOTALL | re.MULTILINE,
)
_BLANK_LINES: Final = Lazy(r"\n(?:[ \t]*\n){2,}")


def own_summary(text: str) -> str:
    """The summary itself, without the client's words around it."""
    return _BLANK_LINES.sub("\n\n", _AROUND.sub("", text)).strip("\n").removeprefix("Summary:\n").lstrip("\n")
