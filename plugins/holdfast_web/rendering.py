"""Jinja2 with escaping and visible control characters by construction, and Markdown to a safe subset of HTML.

markdown-it-py escapes all text and shows HTML in the source as text. Here attributes are dropped, images are shown as
their description, and a link is made only of an http or https address. Blocks have the ids ``L1``, ``L2``, ... of their
source lines, so that a pointer leads to its line.
"""

import html
import os
import re
from collections.abc import Mapping, Sequence
from datetime import datetime
from functools import cache
from http import HTTPStatus
from typing import Any, Final
from urllib.parse import quote, urlencode, urlsplit

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markdown_it import MarkdownIt
from markdown_it.renderer import RendererHTML
from markdown_it.token import Token
from markdown_it.utils import OptionsDict
from markupsafe import Markup, escape

from holdfast.text.humanize import ago, count
from holdfast.text.plain import is_none
from holdfast_app.printable import in_one_line, printable, size
from holdfast_app.view.project import Project

#: A document's heading is below the page's, so its levels begin at 2.
_HEADINGS: Final = {f"h{n}": f"h{min(n + 1, 6)}" for n in range(1, 7)}
_NUMBERED: Final = frozenset({"p", "li", "blockquote", "table", "tr", "code", *_HEADINGS})
#: Emphasis and lists nested deeper than this are shown as text.
_DEPTH: Final = 40


def to_html(text: str, after: Mapping[int, str] | None = None) -> Markup:
    """``text`` as HTML. ``after`` maps a heading's line number to HTML that follows the heading."""
    return _rendered(_safe(_parser().parse(printable(text)), after or {}))


def _rendered(tokens: list[Token]) -> Markup:
    return Markup(_parser().renderer.render(tokens, _parser().options, {}))  # noqa: S704 - escapes everything itself


@cache
def _parser() -> MarkdownIt:
    class Renderer(RendererHTML):
        def image(self, tokens: Sequence[Token], idx: int, options: OptionsDict, env: Any) -> str:
            return f"[image: {html.escape(tokens[idx].content or str(tokens[idx].attrGet('src') or ''))}]"

        def fence(self, tokens: Sequence[Token], idx: int, options: OptionsDict, env: Any) -> str:
            shown = html.escape(tokens[idx].content)
            return f"<pre{self.renderAttrs(tokens[idx])} tabindex=0><code>{shown}</code></pre>\n"

        code_block = fence

    made = MarkdownIt("commonmark", {"html": False, "maxNesting": _DEPTH, "xhtmlOut": False}, renderer_cls=Renderer)
    made.enable(["table", "strikethrough"])
    return made.disable(["html_block", "html_inline"])


def _safe(tokens: Sequence[Token], after: Mapping[int, str], *, linked: bool = True) -> list[Token]:
    """The tokens with no attributes but line numbers and web addresses."""
    safe: list[Token] = []
    numbered: set[int] = set()
    links: list[bool] = []
    following = ""
    for token in tokens:
        href = str(token.attrGet("href") or "")
        token.attrs = token.attrs if token.type == "image" else {}
        if token.map and token.map[0] not in numbered and token.nesting >= 0 and token.tag in _NUMBERED:
            numbered.add(token.map[0])
            token.attrs["id"] = f"L{token.map[0] + 1}"
        if token.type == "link_open":
            links.append(linked and _is_web(href))
            token.attrs, token.hidden = {"href": href, "rel": "noopener noreferrer"}, not links[-1]
        elif token.type == "link_close":
            token.hidden = not links.pop()
        elif token.type == "heading_open" and token.map:
            following = after.get(token.map[0] + 1, "")
        token.tag = _HEADINGS.get(token.tag, token.tag)
        token.children = token.children and _safe(token.children, after, linked=linked)
        safe.append(token)
        if token.type == "heading_close" and following:
            safe.append(Token("html_block", "", 0, content=following))
            following = ""
    return safe


#: A line's Markdown block marks, and lines that are nothing but marks, such as fences and comments.
_BLOCK_MARKS: Final = re.compile(r"\s*(?:(?:#{1,6}|[-*+]|>)\s+)*")
_ONLY_MARKS: Final = re.compile(r"\s*(?:<!--.*-->|(?:```|~~~).*|[-|:*_#>\s]*)")


def line_to_html(line: str) -> Markup:
    """One line of a Markdown document as HTML without links; empty for a line of only marks."""
    if _ONLY_MARKS.fullmatch(line):
        return Markup()
    text = printable(line[_BLOCK_MARKS.match(line).end() :])  # type: ignore[union-attr]  # it matches an empty string
    if text.startswith("|"):
        text = re.sub(r"\s*\|\s*", " · ", text.strip("| "))
    return _rendered(_safe(_parser().parseInline(text), {}, linked=False))


def _is_web(href: str) -> bool:
    try:
        parts = urlsplit(href)
    except ValueError:
        return False
    return parts.scheme in ("http", "https") and bool(parts.netloc)


#: Reasons of a flush in words for people. The others are such words already.
_CAUSES: Final = {
    "manual": "manual flush",
    "end": "flush at the session's end",
    "switch": "flush before other work",
    "trim": "flush before old turns left",
    "overflow": "flush of a full context",
    "daily": "daily flush",
}
#: The menu: path and label, in order.
MENU: Final[tuple[tuple[str, str], ...]] = (
    ("", "Overview"),
    ("timeline", "Timeline"),
    ("sessions", "Sessions"),
    ("notes", "Notes"),
    ("memory", "Memory"),
    ("facts", "Facts"),
    ("dreams", "Dreams"),
    ("work", "Open work"),
    ("outbox", "Outbox"),
    ("start", "Next start"),
)


class Renderer:
    """Makes pages from templates. Addresses begin with ``prefix``."""

    def __init__(self, project: Project, prefix: str) -> None:
        self._project = project
        self._prefix = prefix
        #: The data's version, set before each page: :meth:`holdfast_app.view.project.Project.version`.
        self.version = ""
        folder = os.path.join(os.path.dirname(__file__), "templates")
        self._environment = Environment(
            loader=FileSystemLoader(folder),
            autoescape=True,
            undefined=StrictUndefined,
            finalize=_visible,
            trim_blocks=True,
            lstrip_blocks=True,
            auto_reload=False,
        )
        self._environment.filters |= {
            "ago": lambda at: self._when(at, is_ago=True),
            "cause": lambda reason: _CAUSES.get(reason, reason),
            "coded": _coded,
            "count": count,
            "day": project.day,
            "line": in_one_line,
            "markdown": to_html,
            "markdown_line": line_to_html,
            "number": lambda value: f"{value:,}",
            "size": size,
            "when": self._when,
        }
        self._environment.globals |= {"url": self.url, "address": self.document, "query": _query}
        self._environment.tests["nothing"] = is_none

    def page(self, name: str, *, here: str | None = None, title: str = "", **values: Any) -> str:
        """The page of the template ``name``. ``here`` is the path of its menu entry, by default ``name``; the title is
        the entry's label if not given."""
        project, here = self._project, name if here is None else here
        values |= {
            "here": here,
            "title": title or dict(MENU)[here],
            "project_name": project.name,
            "root": project.root,
            "menu": MENU,
            "alarms": project.alarms(),
            "version": "" if here in ("search", "error") else self.version,
        }
        return self._environment.get_template(f"{name}.html").render(**values)

    def part(self, template: str, **values: Any) -> Markup:
        return Markup(self._environment.get_template(template).render(**values))  # noqa: S704 - escaped by the template

    def error(self, status: HTTPStatus, message: str, next_step: str, *, home: str = "") -> str:
        """An error page. Without ``home`` it shows nothing of the project, because the reader is not known."""
        values: dict[str, Any] = {"status": status.value, "phrase": status.phrase, "title": status.phrase, "home": home}
        values |= {"message": message, "next_step": next_step}
        if home and status is not HTTPStatus.INTERNAL_SERVER_ERROR:
            return self.page("error", **values)
        return self._environment.get_template("error.html").render(**values)

    def url(self, *parts: str, **query: object) -> str:
        """A page's address, with one segment for each part. Empty values are left out of the query."""
        return self._prefix + "/".join(quote(part, safe="") for part in parts) + (_query(query) if query else "")

    def document(self, pointer: str) -> str:
        """The address of ``NAME`` or ``NAME:LINE``."""
        name, colon, line = pointer.rpartition(":")
        if not (colon and line.isascii() and line.isdigit()):
            return self._prefix + "documents/" + quote(pointer)
        return f"{self._prefix}documents/{quote(name)}#L{line}"

    def _when(self, at: datetime | None, *, is_ago: bool = False) -> Markup:
        """A time in the project's zone, or how long ago, with the time as a tooltip."""
        if at is None:
            return Markup("<span class=quiet>never</span>")
        local = at.astimezone(self._project.zone)
        second, minute = local.isoformat(timespec="seconds"), f"{local:%Y-%m-%d %H:%M}"
        if is_ago:
            shown = ago(at, self._project.services.now())
            return Markup('<time datetime="{}" title="{}">{}</time>').format(second, minute, shown)
        return Markup('<time datetime="{}">{}</time>').format(second, minute)


def _query(fields: Mapping[str, object], name: str = "", value: object = "") -> str:
    """A page's fields, and ``name`` set to ``value``. Empty values are left out."""
    return "?" + urlencode({key: field for key, field in {**fields, name: value}.items() if field not in ("", None)})


def _visible(value: Any) -> Any:
    """Every printed value: control and reordering characters become visible escapes. Markup made here has none."""
    if isinstance(value, Markup):
        return value
    return "" if value is None else printable(str(value))


def _coded(text: str) -> Markup:
    """A message of holdfast: commands between backticks become code."""
    parts = printable(text).split("`")
    if len(parts) % 2 == 0:
        return escape("`".join(parts))
    return Markup("").join(Markup("<code>{}</code>").format(p) if n % 2 else escape(p) for n, p in enumerate(parts))
