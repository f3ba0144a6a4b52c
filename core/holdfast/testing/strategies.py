"""Hypothesis strategies for what breaks stores: hard text, document names, facts."""

import unicodedata
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import Any, Final

from hypothesis import strategies as st

from holdfast.errors import Refused
from holdfast.models import Category, Fact
from holdfast.storage import block_marker, check_name

#: Pairs that are easily confused, and strings that are easily changed on the way.
TRAPS: Final = (
    "Stra\u00dfe", "STRASSE", "strasse",  # sharp s folds to two letters
    "\u039f\u0394\u039f\u03a3", "\u03bf\u03b4\u03bf\u03c2", "\u03bf\u03b4\u03bf\u03c3",  # final sigma
    "\ufb01le", "file", "\ufb01LE",  # a ligature folds to two letters under casefold, and is kept by NFC
    "caf\u00e9", "cafe\u0301", "CAFE\u0301",  # composed and decomposed
    "\u0130stanbul", "i\u0307stanbul", "istanbul", "\u0131stanbul",  # dotted and dotless i
    "\u01c6", "\u01c5", "\u01c4",  # one letter in three cases
    "\u1e9e", "\u017f", "\u212a",  # capital sharp s, long s, Kelvin sign
    "\u0645\u0631\u062d\u0628\u0627 abc \u05e9\u05dc\u05d5\u05dd", "\u202eabc\u202c",  # right to left
    "a\u2028b", "a\u2029b", "a\u0085b", "a\x0bb", "a\x0cb", "a\x1cb",  # line ends to str.splitlines, not to a store
    "a\r\nb", "a\rb", "a\n\nb", "a\tb", " a ", "a  b", "\ufeffa", "\u200b", "\u00a0a\u00a0",
    "\U0001f469\u200d\U0001f4bb", "\U0001d518", "\ufffd", "\uffff", "\U0010ffff", "\x7f", "\x01",
    '{"id": "fact_00000000"}', '", "crc": "00000000"}', "\\u0000", "\\", "'; --", "%s", "```", "---", "<!-- -->",
)  # fmt: skip

_ANY = st.characters(exclude_categories=["Cs"], exclude_characters="\0")


def texts(*, min_size: int = 0, max_size: int = 60) -> st.SearchStrategy[str]:
    """Any text a store must keep: every Unicode category but surrogates, no NUL."""
    free = st.text(_ANY, min_size=min_size, max_size=max_size)
    return st.one_of(free, st.sampled_from(TRAPS), st.tuples(free, st.sampled_from(TRAPS)).map("".join))


def documents() -> st.SearchStrategy[str]:
    """Document content: several lines, with all sorts of line ends and with or without a last one."""
    lines = st.lists(
        st.tuples(texts(max_size=20), st.sampled_from(("\n", "\r\n", "\n\n", ""))).map("".join), max_size=6
    )
    return lines.map("".join)


def names() -> st.SearchStrategy[str]:
    """Document names that :func:`~holdfast.storage.check_name` lets through, in lower-case ASCII."""
    part = st.text("abcxyz0189-_. ", min_size=1, max_size=8).map(lambda s: s.strip(" .") or "a")
    return st.lists(part, min_size=1, max_size=3).map("/".join).map(lambda name: f"d-{name}.md").filter(_allowed)


def _allowed(name: str) -> bool:
    try:
        return bool(check_name(name))
    except Refused:
        return False


def block_ids() -> st.SearchStrategy[str]:
    """Ids of blocks, of the kind that flushes have."""
    return st.from_regex(r"[a-z0-9]{1,12}", fullmatch=True)


def blocks(block_id: str) -> st.SearchStrategy[str]:
    """Blocks that hold their marker line, among other lines."""
    before = documents().map(lambda text: text and text.removesuffix("\n") + "\n")
    return st.tuples(before, documents(), st.sampled_from(("\n", ""))).map(
        lambda parts: f"{parts[0]}{block_marker(block_id)}\n{parts[1]}{parts[2]}"
    )


def contents() -> st.SearchStrategy[str]:
    """Contents of facts: stripped and not blank, as core hands them to a store, with many near-duplicates."""
    near = st.sampled_from(TRAPS).flatmap(
        lambda text: st.sampled_from((text, text.upper(), text.lower(), text.casefold(), text.title()))
    )
    return st.one_of(near, texts(min_size=1)).map(str.strip).filter(bool)


def forms() -> st.SearchStrategy[Callable[[str], str]]:
    """Functions that write a content in another form: other case, composed, decomposed or compatible characters."""
    normal = [partial(unicodedata.normalize, form) for form in ("NFC", "NFD", "NFKC", "NFKD")]
    return st.sampled_from([str.upper, str.lower, str.title, str.casefold, *normal])


def confidences() -> st.SearchStrategy[float]:
    """0.0 to 1.0, often equal to one another."""
    return st.one_of(st.sampled_from((0.0, 0.5, 0.5, 0.9, 1.0)), st.floats(0.0, 1.0))


def categories() -> st.SearchStrategy[str]:
    """Any of the six categories."""
    return st.sampled_from([str(category) for category in Category])


def moments() -> st.SearchStrategy[datetime]:
    """Instants in UTC, often equal to one another, to the microsecond."""
    few = st.sampled_from([datetime(2026, 1, day, 12, tzinfo=UTC) for day in (1, 2, 3)])
    seconds = st.integers(-(10**9), 7 * 10**9).map(lambda s: datetime.fromtimestamp(s, UTC))
    return st.one_of(few, st.tuples(seconds, st.integers(0, 999_999)).map(lambda t: t[0].replace(microsecond=t[1])))


#: The time before the first fact of a run with a pace, see :func:`paces`.
START: Final = datetime(2026, 1, 31, 12, tzinfo=UTC)


def paces() -> st.SearchStrategy[timedelta | None]:
    """The time from one fact to the next: times rise, fall or stay equal; None for times without order."""
    steps = (timedelta(microseconds=1), timedelta(seconds=1), timedelta(days=1))
    return st.one_of(
        st.sampled_from(steps), st.sampled_from([-step for step in steps]), st.just(timedelta(0)), st.none()
    )


def ids() -> st.SearchStrategy[str]:
    """Ids of facts: few, so that they collide."""
    return st.integers(0, 60).map(lambda number: f"fact_{number:08x}")


def facts() -> st.SearchStrategy[Fact]:
    """Whole facts."""
    return st.builds(
        Fact,
        id=ids(),
        content=contents(),
        category=categories(),
        confidence=confidences(),
        created_at=moments(),
        source=texts(max_size=10),
    )


def changes() -> st.SearchStrategy[dict[str, Any]]:
    """Arguments of :func:`holdfast.storage.update_fact`."""
    fields = {"content": contents(), "category": categories(), "confidence": confidences(), "source": texts(max_size=9)}
    return st.fixed_dictionaries({}, optional=fields)
