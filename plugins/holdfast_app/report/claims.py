"""Compare claims in the notes with the forges, such as a flush that says "merged #7" while #7 is open there.

A claim is a statement in the indicative, past or present, about work, a release, a tag, a branch or its checks. Plans,
questions, conditions, denials and quotations are not claims. A claim is contradicted when the forges know its
subject (:meth:`holdfast_app.outbox.forge.Forge.facts`) and none of them had its value, at any time of the report.
"""

import functools
import re
from collections.abc import Iterable, Iterator
from contextlib import suppress
from datetime import datetime
from typing import Final, NamedTuple

from holdfast_app.outbox.forge import Ask, Forge
from holdfast_app.report.report import CHANGED, HAPPENED, PROOF, Line, Report

_TARGET: Final = (
    r"(?:(?<![\w/])(?:[A-Za-z0-9._-]+/[A-Za-z0-9._-]+)?[#!][1-9][0-9]*\b|https?://\S+/(?:issues|pulls?)/[0-9]+)"
)
_NOUN: Final = r"(?:(?:the|both|issues?|tickets?|bugs?|prs?|mrs?|pull|merge|requests?)\s+)*"
_ONES: Final = rf"(?P<ones>{_TARGET}(?:(?:,|,?\s+and|\s+&)\s+{_NOUN}{_TARGET})*)"
_DONE: Final = (
    r"(?:(?:is|are|was|were|has|have|been|got|both|all|now|already|finally|also|just|since|successfully)\s+)*"
)
_BY: Final = r"(?:\s+(?:[\w-]+\s+)?(?:by|from)\s+@?(?P<by>[\w.-]*\w))?"
#: An active sentence's subject.
_WHO: Final = rf"(?:@?(?P<who>\w[\w.-]*)\s+)?{_DONE}"
_VERSION: Final = r"(?:(?:the|version|release|tag)\s+)*(?P<name>v?[0-9]+(?:\.[0-9]+)+(?:[\w.-]*\w)?|v[0-9]+)"
_REF: Final = r"`?(?P<name>[\w./-]*\w)`?"
_CI: Final = (
    r"(?:(?:all|the)\s+)*(?:CI|checks?|pipelines?|builds?|tests\s+in\s+CI)(?:\s+(?:runs?|checks?|builds?|pipelines?))?"
)
_WHERE: Final = rf"(?:\s+(?:run\s+)?(?:on|for|of|in)\s+{_NOUN}(?P<ones>{_TARGET}|main\b|master\b))"
_GREEN: Final = (
    r"\s+(?:(?:(?:is|are|was|were|has|have|now|all|already|finally|still|again|finished)\s+)*"
    r"(?P<good>green|passe?[sd]|pass|passing|succeed(?:s|ed)|successful(?:ly)?|finished successfully)"
    r"|(?:(?:is|are|was|were|has|have|now|all|still|again)\s+)*(?P<bad>red|broken|fail(?:s|ed|ing)?))\b"
)


class Claim(NamedTuple):
    """``says`` completes "the notes say that". ``value`` is the forges' state, or ``by`` the person, or neither."""

    ask: Ask
    value: str
    by: str
    says: str


def _of_verb(verb: str) -> tuple[str, ...]:
    """A verb's forms: active, passive or headline, and as the same subject's second verb."""
    return (
        rf"\b{_WHO}{verb}\s+(?:as\s+|\()?{_NOUN}{_ONES}",
        rf"{_ONES}\)?\s+{_DONE}{verb}\b(?!\s+(?:main|with|without))" + _BY,
        rf"{_ONES}\)?\s+(?:[\w-]+\s+){{0,4}}and\s+{_DONE}{verb}\b(?!\s+\W*#)(?:\s+it\b)?" + _BY,
    )


_RELEASED: Final = r"(?:released|published|shipped)"
_LABEL: Final = r"`?(?P<name>[\w/.:-]*\w)`?"
_PERSON: Final = r"@?(?P<by>[\w.-]*\w)"
#: The question, the value that makes the claim true, how it is said, and its forms.
_FORMS: Final = (
    ("state", "merged", "is merged", (
        *_of_verb(r"(?:squash-|(?:squashed|rebased)\s+and\s+)?(?:merged|landed)"),
        rf"{_ONES}\s+(?:(?:is|are)\s+(?:now\s+)?(?:in|on)\s+(?:main|master)\b|made\s+it\s+into\b)",
        rf"\b(?:merge|merging)\s+(?:of\s+)?{_NOUN}{_ONES}\s+(?:is|was|went)\s+(?:done|complete|fine|through)",
    )),
    ("state", "closed", "is closed", (
        *_of_verb(r"(?:closed|resolved|completed)"),
        rf"\bclosing\s+(?:of\s+)?{_NOUN}{_ONES}\s+(?:is|was|went)\s+(?:done|complete|fine)",
        rf"{_ONES}\s+is\s+complete\b",
    )),
    ("state", "unmerged", "is closed unmerged", (
        rf"\bclosed\s+{_NOUN}{_ONES}\s+unmerged",
        rf"{_ONES}\s+{_DONE}closed\s+(?:unmerged|without\s+(?:being\s+)?merg)",
    )),
    ("state", "open", "is open", (
        *_of_verb(r"re-?opened"),
        rf"\bhad\s+to\s+re-?open\s+{_NOUN}{_ONES}",
        rf"{_ONES}\s+(?:(?:is|are)(?:\s+still)?|remains?|stays?)\s+(?:open\b|waiting\s+to\s+be\s+merged)",
    )),
    ("state", "not merged", "is not merged", (rf"{_ONES}\s+(?:is|was|has)\s+not\s+(?:been\s+)?merged",)),
    ("state", "present", "exists", (
        rf"\b(?:opened|filed|created|comment(?:ed)?\s+on|fixed|fixed\s+in)\s+{_NOUN}{_ONES}",
        rf"\b(?:filed|opened|reported)\s+(?:[\w-]+\s+){{1,5}}?as\s+{_ONES}",
        rf"{_NOUN}{_ONES}\s+that\s+(?:we|I)\s+(?:opened|filed)",
    )),
    ("approved by", "", "is approved", (
        *_of_verb("approved"),
        rf"{_ONES}\s+(?:received|got|has)\s+(?:an?\s+|two\s+|three\s+)?approvals?\b{_BY}",
        rf"\breview\s+(?:of|on)\s+{_NOUN}{_ONES}\s+(?:is\s+approved|(?:was\s+|has\s+)?passed)",
    )),
    ("changes by", "", "has changes requested", (
        rf"\b{_WHO}requested\s+changes\s+(?:on|in|to|for)\s+{_NOUN}{_ONES}",
        rf"\bchanges\s+(?:were|are|have\s+been)\s+requested\s+(?:on|in|to|for)\s+{_NOUN}{_ONES}",
        rf"{_ONES}\s+has\s+(?:requested\s+changes|changes\s+requested){_BY}",
    )),
    ("reviewed by", "", "is reviewed", (
        rf"{_ONES}\s+{_DONE}reviewed\s+by\s+{_PERSON}",
        rf"\b{_WHO}reviewed\s+{_NOUN}{_ONES}",
    )),
    ("assigned to", "", "is assigned", (
        rf"\b(?:re-?)?assigned\s+{_NOUN}{_ONES}\s+to\s+{_PERSON}",
        rf"{_ONES}\s+{_DONE}(?:re-?)?assigned\s+to\s+{_PERSON}",
        rf"\b{_PERSON}\s+(?:{_DONE}(?:assigned\s+to|the\s+assignee\s+of)|took\s+over)\s+{_NOUN}{_ONES}",
        rf"\bassigned\s+{_PERSON}\s+to\s+{_NOUN}{_ONES}",
    )),
    ("labels", "", "has the label", (
        rf"\blabell?ed\s+{_NOUN}{_ONES}\s+(?:as|with)\s+{_LABEL}",
        rf"{_ONES}\s+{_DONE}labell?ed\s+(?:as\s+|with\s+)?{_LABEL}",
        rf"\b(?:added|set)\s+the\s+label\s+{_LABEL}\s+(?:to|on)\s+{_NOUN}{_ONES}",
    )),
    ("checks", "", "CI", (
        rf"\b{_CI}{_WHERE}{_GREEN}",
        rf"\b{_CI}{_GREEN}{_WHERE}?",
        rf"(?P<ones>{_TARGET})(?:'s)?\s+{_CI}{_GREEN}",
        rf"(?P<ones>{_TARGET})\s+(?P<good>passe[sd])\s+{_CI}\b",
        r"^\W*(?P<ones>main|master)\s+is\s+(?:now\s+)?(?:(?P<good>green)|(?P<bad>red))\b",
    )),
    ("release", "present", "is released", (
        rf"(?:^\W*|\b(?:we|I|and)\s+)(?:have\s+|finally\s+|just\s+)*(?:{_RELEASED}|cut)\s+{_VERSION}",
        rf"^\W*(?P<who>\w[\w.-]*)\s+{_RELEASED}\s+{_VERSION}",
        rf"(?:^\W*|[,:;]\s+|\band\s+|\bthat\s+){_VERSION}\s+{_DONE}(?:{_RELEASED}|out\b|live\b)",
    )),
    ("tag", "present", "is tagged", (
        rf"(?:^\W*|\b(?:we|I|and)\s+)(?:have\s+)?(?:tagged|(?:pushed|created)\s+(?:the\s+)?tag)\s+{_VERSION}",
        rf"(?:^\W*|[,:;]\s+|\band\s+|\bthat\s+){_VERSION}\s+(?:{_DONE}tagged|exists)\b",
    )),
    ("commit", "present", "is committed", (
        r"\b(?:landed\s+in\s+)?commit(?:ted)?\s+(?:(?:[\w-]+\s+){0,3}?(?:as|in)\s+)?`?(?P<name>(?=[a-f]*[0-9])[0-9a-f]{7,40})\b",
    )),
    ("branch", "not unmerged", "is merged", (
        rf"\bmerged\s+(?:the\s+)?branch\s+{_REF}",
        rf"\bmerged\s+{_REF}\s+(?:in)?to\s+`?(?:main|master)\b",
        rf"\bbranch\s+{_REF}\s+{_DONE}merged\b",
        rf"(?<!\S)(?=`?\w+[-/]){_REF}\s+{_DONE}merged\s+(?:in)?to\s+`?(?:main|master)\b",
    )),
    ("branch", "absent", "is deleted", (
        rf"\bdeleted\s+(?:(?:the|branch)\s+)+{_REF}",
        rf"\bbranch\s+{_REF}\s+(?:{_DONE}deleted|is\s+gone)",
    )),
)  # fmt: skip


@functools.cache
def _forms() -> list[tuple[str, str, str, re.Pattern[str]]]:
    return [(about, value, says, re.compile(f"(?i){form}")) for about, value, says, forms in _FORMS for form in forms]


#: A state change in the day's summary.
_CHANGE: Final = re.compile(rf"\*\*(\w+)\*\* ({_TARGET}): (.*)")
_VERB: Final = re.compile(r"(?i)(merged|closed|reopened|approved|resolved)\b")
_FAILED: Final = re.compile(r"(?i)\b(not|fail\w*|block\w*|wait\w*|request\w*|ask\w*|will|should|open)\b|n't")
#: Words with which an earlier part of the sentence makes it no claim.
_DENIED: Final = re.compile(
    r"(?i)\b(not|never|no|nobody|none|neither|nor|cannot|be|if|unless|until|when|once|after|before|whether|will|would"
    r"|shall|should|must|may|might|can|could|wants?|needs?|plan\w*|hopes?|expect\w*|wait\w*|next|todo|please|asks?"
    r"|says?|said|claims?|thinks?|tried|try|fail\w*|to)\b|n't|[:?>]"
)
#: What may precede a claim in its part of the sentence: adverbs, a pronoun, the kind of work, or "the fix in".
_LEAD: Final = re.compile(
    r"(?i)\W*(?:(?:(?:we|i)(?:'ve)?|also|then|and|finally|just|now|today|yesterday|later|meanwhile"
    r"|successfully|have|has|already|got|both|so|this\s+(?:morning|evening|week)|as\s+of\s+today|pr|prs|mr|pull|merge"
    r"|requests?|issues?|ticket|bug|the|release|version|branch)\b[\s,(]*)*"
    r"(?:(?:[\w-]+\s+){0,2}(?:fix|change|work|patch|timeout|rewrite|bug|pr|issue)\s+(?:in\s+|of\s+|\()?)?"
)
#: What follows a claim and limits it, such as "merged in my working copy".
_LIMITED: Final = re.compile(
    r"(?i)\s+(?:only|except|for|to|in|into|without)\b"
    r"(?!\s+(?:(?:the\s+)?(?:main|master|production|morning|evening)|v?[0-9]))"
)
_PART: Final = re.compile(r"(?:[,;]|\band|\bthen)\s")
_QUOTED: Final = re.compile(r"\"[^\"\n]*\"|“[^”\n]*”|```.*?```|`[^`\n]*\s[^`\n]*`")
_SENTENCE: Final = re.compile(r"(?<=[.;!?])\s+|\n")
#: "Pull request 9" without its mark.
_BARE: Final = re.compile(r"(?i)(?:(?<=\bpull request )|(?<=\bissue )|(?<=\bticket )|(?<=\bpr ))(?=[1-9])")
#: Words before a number that does not name work.
_COUNTED: Final = re.compile(
    r"(?i)\b(step|task|item|point|option|phase|part|chapter|section|case|test|line|rule|try|attempt|number)s?\s*$"
)
#: Words in a login's place that are not logins.
_NO_LOGIN: Final = frozenset((
    "and", "also", "by", "ci", "finally", "he", "i", "it", "just", "she", "successfully", "that", "the", "then", "they",
    "ve", "we",
))  # fmt: skip

#: For a claim of the key, one of these values must be known.
_ENOUGH: Final = {
    "closed": {"closed", "merged"},
    "unmerged": {"closed"},
    "not merged": {"open", "closed"},
    "not unmerged": {"present", "absent"},
    "present": {"present", "open", "closed", "merged"},
}


def findings(forges: Iterable[Forge], files: Report, since: datetime) -> Iterator[Line]:
    """One line for each claim that the forges contradict. A forge that does not answer contradicts nothing."""
    claimed: dict[Claim, Line] = {}
    for name in (HAPPENED, CHANGED, PROOF):
        for line in files.sections[name]:
            for claim in claims(line.text):
                claimed.setdefault(claim, line)
    people = (Ask("user", claim.by) for claim in claimed if claim.by)
    asks = list(dict.fromkeys((*(claim.ask for claim in claimed), *people)))
    known: dict[Ask, set[str]] = {}
    titles: dict[Ask, dict[str, None]] = {}
    for forge in forges if asks else ():
        with suppress(Exception):  # a plugin's fault must not cost the report
            for ask, values in forge.facts(asks, since).items():
                known.setdefault(ask, set()).update(value.casefold() for value in values)
                titles.setdefault(ask, {})[forge.title] = None
    reported: set[tuple[str, str]] = set()
    for claim, line in claimed.items():
        if claim.ask in known and not _fits(claim, known) and (claim.ask.target, line.text) not in reported:
            reported.add((claim.ask.target, line.text))
            where, what = " and ".join(titles[claim.ask]), " and ".join(sorted(known[claim.ask])) or "not"
            text = f"The notes say that {claim.says}, but on {where} it is {what}: {line.text}"
            yield Line(text=text, pointer=line.pointer, short=f"notes: {claim.says}; {where}: {what}")


def _fits(claim: Claim, known: dict[Ask, set[str]]) -> bool:
    values = known[claim.ask]
    if claim.by and (values or claim.ask.about == "assigned to"):  # which can be nobody
        # A name that is not a login may be that person's other name.
        return claim.by.casefold() in values or "present" not in known.get(Ask("user", claim.by), ())
    return bool(values & _ENOUGH.get(claim.value, {claim.value}) if claim.value else values)


def claims(text: str) -> Iterator[Claim]:
    """The claims in a line of the notes."""
    if change := _CHANGE.match(text):
        kind, target, text = change.groups()
        verb = _VERB.match(text)
        if verb is not None and not re.match(rf"{_VERB.pattern}\s+{_NOUN}{_TARGET}", text):  # about another target
            text = f"{target} {text}"
        elif kind == "merge" and not _FAILED.search(text):
            yield Claim(Ask("state", target), "merged", "", f"{target} is merged")
    for sentence in _SENTENCE.split(_BARE.sub("#", _QUOTED.sub(" ", text))):
        if not sentence.rstrip().endswith("?"):
            for about, value, says, form in _forms():
                for match in form.finditer(sentence):
                    if _is_said(sentence, match, value):
                        yield from _of_match(about, value, says, match.groupdict())


def _is_said(sentence: str, match: re.Match[str], value: str) -> bool:
    """Whether the sentence says it, not only mentions it, and the words before it leave no doubt."""
    before, who = sentence[: match.start()], match.groupdict().get("who") or ""
    if who.casefold() in _NO_LOGIN:
        before, who = f"{before}{who} ", ""
    parts = [0, *(part.end() for part in _PART.finditer(before))]
    if _COUNTED.search(before) or _DENIED.search(before + who) or not _LEAD.fullmatch(before[parts[-1] :]):
        return False
    is_limited = value in ("merged", "closed") and _LIMITED.match(sentence, match.end())
    if is_limited or re.search(r"(?i)ly$|^almost$", who):
        return False
    bare = "good" in match.groupdict() and not match["ones"]  # "CI is green", on whatever follows
    return not (bare and re.match(r"\W*\w", re.sub(r"^\s+(?:now|again|today)\b", "", sentence[match.end() :])))


def _of_match(about: str, value: str, says: str, groups: dict[str, str | None]) -> Iterator[Claim]:
    name = groups.get("name") or ""
    by = groups.get("by") or groups.get("who") or ""
    by = "" if by.casefold() in _NO_LOGIN else by
    if about in ("release", "tag", "branch", "commit"):
        yield Claim(Ask(about, name), value, "", f"{name} {says}")
        return
    for target in re.findall(rf"(?i){_TARGET}|main|master", groups.get("ones") or "") or [""]:
        if target and about != "checks":
            yield Claim(Ask("state", target), "present", "", f"{target} exists")
        if about == "checks":
            value, says = ("success", "is green") if groups.get("good") else ("failure", "fails")
            yield Claim(Ask(about, target), value, "", f"CI {says}{f' on {target}' if target else ''}")
        elif about == "state":
            yield Claim(Ask(about, target), value, "", f"{target} {says}")
            if value == "merged" and by:
                yield Claim(Ask("merged by", target), "", by, f"{target} is merged by {by}")
        elif about == "labels":
            yield Claim(Ask(about, target), name.casefold(), "", f"{target} {says} {name}")
        elif by or about in ("approved by", "changes by"):
            yield Claim(Ask(about, target), "", by, f"{target} {says}" + (f" {about.split()[1]} {by}" if by else ""))
