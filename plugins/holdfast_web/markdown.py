"""Markdown to a safe subset of HTML.

The tokens of markdown-it-py are rendered here, not by the library: only the listed tags are ever written, all text is
escaped, HTML in the source is shown as text, images are shown as their description, and a link is made only of an http
or https address. Blocks have the ids ``L1``, ``L2``, ... of their source lines, so that a pointer leads to its line.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from html import escape
from typing import TYPE_CHECKING, Final
from urllib.parse import urlsplit

from holdfast.text.plain import printable

if TYPE_CHECKING:
    from markdown_it import MarkdownIt
    from markdown_it.token import Token

#: Tags that may be written, for tokens that open and close an element.
_PAIRS: Final = frozenset(
    {"p", "em", "strong", "s", "ul", "ol", "li", "blockquote", "table", "thead", "tbody", "tr", "th", "td"}
    | {"h1", "h2", "h3", "h4", "h5", "h6"}
)
#: A document's heading is below the page's, so its levels begin at 2.
_HEADINGS: Final = {f"h{n}": f"h{min(n + 1, 6)}" for n in range(1, 7)}
_NUMBERED: Final = frozenset({"p", "li", "blockquote", "table", "tr", "h2", "h3", "h4", "h5", "h6"})
#: Emphasis and lists nested deeper than this are shown as text.
_DEPTH: Final = 40


def to_html(text: str, *, after: Mapping[int, str] | None = None) -> str:
    """``text`` as HTML. ``after`` maps a heading's line number to HTML that follows the heading."""
    tokens = _parser().parse(printable(text))
    return "".join(_blocks(tokens, after or {}))


@cache
def _parser() -> MarkdownIt:
    from markdown_it import MarkdownIt

    made = MarkdownIt("commonmark", {"html": False, "maxNesting": _DEPTH})
    made.enable(["table", "strikethrough"])
    return made.disable(["html_block", "html_inline"])


def _blocks(tokens: Sequence[Token], after: Mapping[int, str]) -> Iterator[str]:
    seen: set[int] = set()
    hidden: list[bool] = []
    following = ""
    for token in tokens:
        if token.type == "inline":
            yield from _inline(token.children or ())
        elif token.type in ("fence", "code_block"):
            yield f"<pre{_id(token, seen)} tabindex=0><code>{escape(token.content)}</code></pre>\n"
        elif token.type == "hr":
            yield "<hr>\n"
        elif token.nesting == 1:
            tag = _HEADINGS.get(token.tag, token.tag)
            shown = token.tag in _PAIRS and not token.hidden
            hidden.append(not shown)
            if shown:
                yield f"<{tag}{_id(token, seen) if tag in _NUMBERED else ''}>"
            if tag != token.tag and token.map:
                following = after.get(token.map[0] + 1, "")
        elif token.nesting == -1:
            if not hidden.pop():
                yield f"</{_HEADINGS.get(token.tag, token.tag)}>\n{following}"
                following = ""
            elif token.type == "paragraph_close":
                yield " "
        elif token.content:
            yield escape(token.content)


def _id(token: Token, seen: set[int]) -> str:
    if token.map is None or token.map[0] in seen:
        return ""
    seen.add(token.map[0])
    return f" id=L{token.map[0] + 1}"


def _inline(tokens: Sequence[Token]) -> Iterator[str]:
    links: list[bool] = []
    for token in tokens:
        if token.type == "link_open":
            href = str(token.attrGet("href") or "")
            links.append(_is_web(href))
            if links[-1]:
                yield f'<a href="{escape(href)}" rel="noopener noreferrer">'
        elif token.type == "link_close":
            if links.pop():
                yield "</a>"
        elif token.type == "code_inline":
            yield f"<code>{escape(token.content)}</code>"
        elif token.type == "softbreak":
            yield "\n"
        elif token.type == "hardbreak":
            yield "<br>\n"
        elif token.type == "image":
            yield f"[image: {escape(token.content or str(token.attrGet('src') or ''))}]"
        elif token.nesting and token.tag in _PAIRS:
            yield f"<{'/' if token.nesting < 0 else ''}{token.tag}>"
        else:
            yield escape(token.content)


def _is_web(href: str) -> bool:
    try:
        parts = urlsplit(href)
    except ValueError:
        return False
    return parts.scheme in ("http", "https") and bool(parts.netloc)
