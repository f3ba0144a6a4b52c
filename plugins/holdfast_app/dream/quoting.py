"""Replaces a draft line that its sources do not prove by the source lines it is about, word for word.

    draft:   Jonas reviews what Elif writes        the sources do not say this
    source:  - Fact: Elif reviews what Jonas writes
    quoted:  Elif reviews what Jonas writes

A refused line is often true. Its nearest source lines say the same, and when the line is false they state the truth.
So the dream keeps the subject without trusting the wording.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Final

from holdfast.models import Finding
from holdfast_app.dream.grounding import Grounded, ground
from holdfast_app.dream.grounding.sources import blocks, strip_marks, words
from holdfast_app.dream.memorytext import LASTING, Item
from holdfast_app.sentences.relation import Known, Relation

#: Maximum length of a quotation, in characters.
MAX_CHARS: Final = 500
#: Maximum number of source lines quoted for one draft line.
_MOST: Final = 2
#: Minimum share of a draft line's words that a first and a further source line must have. An invention may be about
#: nothing in the sources.
_LEAST: Final = {"unproven": (0.35, 0.3), "invented": (0.5, 0.4), "supported": (0.35, 0.3)}
#: Labels of lines in a daily note that are never quoted, because they are open work and circumstances, or read like
#: advice without their heading.
_PASSING: Final = frozenset(["State", "Blocker", "Needed", "Next step", "Promised", "Artifact", "Rejected"])
#: Findings that come from comparing a line with the sources.
_COMPARED: Final = re.compile("grounding/(?!length).*")


def instead(
    gone: Iterable[tuple[str, Finding]],
    draft: Iterable[Item],
    kept: Iterable[Item],
    sources: Sequence[tuple[str, str]],
    *,
    is_barred: Callable[[str], bool],
) -> list[tuple[Item, str]]:
    """Quotations for the removed lines ``gone``, each as an item under the line's heading, with the line.

    They are at most as many as the lines. Quotations that repeat or contradict a ``kept`` item are left out, and so
    are those that ``is_barred`` rejects.
    """
    refused = [line.removeprefix("- ") for line, finding in gone if _COMPARED.fullmatch(finding.rule)]
    headings = {item.text: item.heading for item in draft}
    near = quotations([f"- {line}" for line in refused], sources) if refused else {}
    known = Known((item.text, item.text) for item in kept)
    quoted: list[tuple[Item, str]] = []
    for rank in range(_MOST):  # the best quotation of each line before the second ones
        for line in refused:
            for text in near.get(f"- {line}", ())[rank : rank + 1]:
                if all(how is Relation.ENDS for _, how in known.related(text)) and not is_barred(text):
                    quoted.append((Item(text=text, heading=headings.get(line, "")), line))
                    known.add(text, text)
    return quoted[: len(refused)]


def quotations(lines: Sequence[str], sources: Sequence[tuple[str, str]]) -> dict[str, tuple[str, ...]]:
    """Draft lines -> up to two statements in ``sources`` about their subject, best first, if there are any."""
    places = {name: _statements(text) for name, text in sources}
    near = {line.text: tuple(dict.fromkeys(_near(line, places))) for line in ground(lines, sources)}
    return {line: texts for line, texts in near.items() if texts}


def _near(line: Grounded, places: Mapping[str, Mapping[int, str]]) -> Iterator[str]:
    first, more = _LEAST[line.answer]
    wanted, covered, count = words(line.text), set[str](), 0
    for support in line.supports:
        block = places[support.document].get(support.line, "")
        adds = words(block) & wanted - covered
        if support.score < (more if count else first) or count == _MOST or (count and not adds):
            continue
        if block:
            covered |= adds
            count += 1
            yield block


def _statements(text: str) -> dict[int, str]:
    """Line number -> the whole item or paragraph of that line, if it may be quoted."""
    statements: dict[int, str] = {}
    for number, kind, body in blocks(text):
        said = " ".join(strip_marks(body).split())
        label, _, rest = said.partition(": ")
        said = rest if label in LASTING else said
        says = kind in ("item", "paragraph") and (len(said.split()) > 1 or not said.isascii())
        is_state = kind == "paragraph" and ":**" in said  # as in a daily note: "**Objective:** Add a retry"
        is_label = said.startswith("**") and (is_state or said.endswith("**"))
        is_passing = is_label or label in _PASSING or "[REDACTED" in said
        if says and not is_passing and len(said) <= MAX_CHARS:
            statements.update(dict.fromkeys(range(number, number + body.count("\n") + 1), said))
    return statements
