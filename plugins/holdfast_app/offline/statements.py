"""Explicit statements: rules, facts, decisions, failures, blockers, promises and pointers, in the speaker's words.

A user's statements come only from the user's own words. A message as long as a pasted document yields no statements.
"""

import re
from collections.abc import Sequence
from itertools import islice, pairwise
from typing import Final, TypeVar

from attrs import define, evolve, field

from holdfast.models import Category, FactCandidate, Message
from holdfast.text.lazy import Lazy
from holdfast.text.plain import same_key
from holdfast_app.authorship.ownwords import own_lines, own_words, without_reported
from holdfast_app.markdown.lines import Lines, read_line
from holdfast_app.offline import asked, cues
from holdfast_app.offline.calls import pointers
from holdfast_app.offline.cues import Cue, Kind
from holdfast_app.offline.speech import clip, listed, replies, sentences
from holdfast_app.sentences import lasting, withdrawal
from holdfast_app.sentences.relation import outdated

T = TypeVar("T")

#: Number of newest statements of each kind to keep.
MAX_ITEMS: Final = 20
MAX_ITEM_CHARS: Final = 500
#: Maximum length of a user message to search for statements, in characters. Longer messages were pasted.
MAX_STATED_CHARS: Final = 1_500
#: Limits per message: number of lines to read, and characters read per line.
MAX_LINES: Final = 50_000
MAX_LINE_CHARS: Final = 20_000

_NOTHING: Final = Lazy(r"(?:none|nothing|n/?a|no|null|tbd|-+|—)(?: yet| so far| at the moment)?[.!]?", re.IGNORECASE)
_BOX: Final = Lazy(r"\[([ xX])\]\s+")
#: "Decision: whether to retry, and why" names an open question, and "Decision: option A" needs the options.
_TOPIC: Final = Lazy(r"(?:whether|how|why|which|option \w)\b|[#|]", re.IGNORECASE)
#: A fact that only refers to something shown or done, or that breaks off: "this is the command I ran".
_NO_FACT: Final = Lazy(
    r"(?:you(?! must)|it(?:['’]s| is)(?! \w+ to\b)|das ist|es el)\b|.*(?:[!,(…{}]|\.\.\.)$", re.IGNORECASE
)
#: Minimum probability of a request for now, which ends what a label covers and replaces no rule.
_ASKS: Final = 0.95
#: Minimum probability that a sentence of a task without a label lasts.
_LASTS: Final = 0.9
#: A question to the agent, also without a question mark.
_ASKED: Final = Lazy(r"(?:can|could|would|will|do|did) (?:you|we|i)\b", re.IGNORECASE)
#: A sentence that goes on with the rule before it.
_GOES_ON: Final = Lazy(
    r"(?:(?:it|they|that|this|these|use (?:it|them)|unless|except|otherwise|exceptions?)\b)", re.IGNORECASE
)
#: A sentence about what the one before it names.
_REFERS: Final = Lazy(r"(?:her|his|their|its|she|he|they|this|that|these|those|deren|dessen|dies\w*)\b", re.IGNORECASE)
_ORDER: Final = Lazy(r"(?:please )?(?:always|never|do not|don['’]?t|no|only)\b", re.IGNORECASE)
_SHORT_ORDER: Final = 7
#: What the user rejects, and the sentence after it that says what to use.
_REJECTS: Final = Lazy(r"(?:(?:stopp?|no|nope|nein|wait)\b\W*)*(?:not|don['’]?t use|nicht)\b", re.IGNORECASE)
_USES: Final = Lazy(r"(?:please |bitte )?(?:use|take|go with|nimm|verwende|benutze)\b", re.IGNORECASE)
#: A withdrawal with these words states what holds now, too.
_INSTEAD: Final = Lazy(r"\b(?:instead|stattdessen|à la place|en su lugar)\b|改[用成为]", re.IGNORECASE)
#: A pasted prompt for an agent, or a document: a person's role, or a tag on a separate line.
_PROMPT: Final = Lazy(
    r"^[^\w\n]*you (?:are (?:a|an|the|now)\b|are [\w-]+,|must (?:fully|act|assume|embody|become)\b)"
    r"|^[^\S\n]*</?[\w-]++[^<>\n]*>[^\S\n]*$",
    re.IGNORECASE | re.MULTILINE,
)
#: Code and the nested lines of a pasted configuration.
_INDENTED: Final = ("    ", "\t")
#: Kinds that outlive the work.
_KEPT: Final = (Kind.RULE, Kind.FACT, Kind.DECISION, Kind.REJECTED)
#: Minimum number of words of a fact; fewer are a fragment.
_LEAST_WORDS: Final = 3


@define(eq=False, repr=False)
class Statements:
    """The statements in the messages read so far. ``standing`` are the user's rules from before, ``stored`` the facts,
    ``task`` is a message that is the task itself, so its sentences must be surer to last.
    ``kept`` has each kind's newest by key, in order of their last mention. ``next_step`` is the next task named in the
    user's newest message with a request or a statement; empty when it names none. ``told`` has the keys of all the
    user's sentences that state something, also of replaced ones, and ``labelled`` those of statements with a label.
    ``withdrawn`` has an entry of :func:`withdrawal.line` by the key of each rule that the user withdrew."""

    standing: Sequence[str] = ()
    stored: Sequence[str] = ()
    task: Message | None = None
    next_step: str = ""
    kept: dict[Kind, dict[str, str]] = field(factory=lambda: {kind: {} for kind in Kind})
    pointers: dict[str, str] = field(factory=dict)
    facts: dict[str, FactCandidate] = field(factory=dict)
    told: set[str] = field(factory=set)
    labelled: set[str] = field(factory=set)
    withdrawn: dict[str, str] = field(factory=dict)

    def of(self, kind: Kind) -> list[str]:
        """One kind's statements, oldest first; those with a label after the others, because they are surer."""
        statements = self.kept[kind]
        return [statements[key] for key in sorted(statements, key=self.labelled.__contains__)]

    def read(self, message: Message, *, point: bool = True) -> None:
        """Read a message of the user or the agent, or the user's reply in a tool result, without its pointers."""
        if message.role == "tool":
            for reply in replies(message):
                if reply.refuses:
                    self.read(evolve(message, role="user", tool="", text=reply.text), point=False)
            return
        user = message.role == "user"
        text = without_reported(own_words(message.text)) if user else message.text
        kind = asked.kind_of_words(text) if user else None
        if kind is asked.Kind.REQUEST:
            self.next_step = ""
        is_document = sum(line.level > 0 for line in Lines(text)) > 1 or _PROMPT.search(text) is not None
        stating = not (is_document or (user and len(text) > MAX_STATED_CHARS))
        only_labels = user and stating and (kind is asked.Kind.PAUSE or any(map(asked.is_pasted, own_lines(text))))
        announced: Cue | None = None  # a cue with its text on the next line or in a list
        taken = 0
        lines = own_lines(text) if stating or point else ()
        for line in islice(lines, MAX_LINES):
            if user and line.startswith(_INDENTED):
                continue
            line = line[:MAX_LINE_CHARS]
            for pointer in pointers(line) if point else ():
                _keep(self.pointers, pointer, pointer)
            item = listed(line)
            statements = self._sentences(_as_label(line), message, only_labels or item is not None) if stating else []
            if statements and not statements[-1][1].strip(" .!*_"):
                announced, taken = statements[-1][0], 0
            elif announced and not statements and (item is not None or not taken):
                self._take(announced, line if item is None else item, message)
                announced, taken = announced if item is not None else None, taken + 1
            elif not statements or item is None:
                announced = None

    def _sentences(self, line: str, message: Message, only_labels: bool) -> list[tuple[Cue, str]]:
        """Collect statements from a line's sentences; returns each with its cue. The last one may be a label without
        text, which introduces the next lines. In lists and near pasted text ``only_labels`` of the user count."""
        statements: list[tuple[Cue, str]] = []
        last: Cue | None = None  # of the sentence before
        spoken: list[str] = []
        for before, sentence in pairwise(("", *sentences(line))):
            if message.role == "user" and not only_labels and self._withdraws(sentence):
                last = None
                continue
            hit = self._cue(sentence, message, only_labels)
            if last and _goes_on(*statements[-1], hit, sentence):
                is_new = statements[-1][1] and not _GOES_ON.match(sentence)
                is_fact = last.category in (Category.KNOWLEDGE, Category.CORRECTION)  # each sentence is one
                if is_new and not hit and lasting.judge(sentence).asks > _ASKS:  # a request ends what the label covers
                    last = None
                    continue
                if is_new and is_fact:
                    statements.append((hit[0] if hit else last, sentence))
                else:
                    statements[-1] = (statements[-1][0], f"{statements[-1][1]} {sentence}")
                spoken.append(sentence)
                continue
            last = hit[0] if hit else None
            if hit:
                text = sentence[hit[1] :]
                if len(before.split()) >= _LEAST_WORDS and hit[0].whole and _REFERS.match(sentence):
                    text = f"{statements.pop()[1] if statements and statements[-1][1] == before else before} {text}"
                statements.append((hit[0], text))
                spoken.append(sentence)
        for cue, text in statements:
            if text.strip(" .!*_"):
                self._take(cue, text, message)
        if statements and message.role == "user":
            self.told |= {same_key((listed(text) or text).strip(" *_")) for text in spoken}
        return statements

    def _cue(self, sentence: str, message: Message, only_labels: bool) -> tuple[Cue, int] | None:
        user = message.role == "user"
        hit = cues.match(sentence, user=user)
        if message is self.task and hit and hit[0].whole and lasting.judge(sentence).lasting < _LASTS:
            return None
        if user and only_labels and hit and (hit[0].whole or hit[0].kind is Kind.BLOCKER):
            # Depends on the line above, defines a word, or is someone else's; but what blocks is why work pauses.
            return hit if hit[0].kind is Kind.BLOCKER and asked.kind(message.text) is asked.Kind.PAUSE else None
        if not user or only_labels or (hit and not hit[0].whole):
            return hit
        rules, words = self.of(Kind.RULE), cues.LEAD.sub("", sentence)
        if hit is None and _ASKED.match(words):
            return None
        if hit is None and (old := outdated(words, self._known())):
            return (cues.RULE if old[0] in rules else cues.STATED_FACT), 0
        if (hit or lasting.judge(sentence).asks < _ASKS) and outdated(words, [*self.standing, *rules]):
            return cues.RULE, 0
        if hit is None and outdated(words, self.stored):
            return cues.STATED_FACT, 0
        return hit

    def _withdraws(self, sentence: str) -> bool:
        """Whether the user's sentence withdraws a rule, and so is none."""
        stated = self.of(Kind.RULE)
        rules = {same_key(rule): rule for rule in (*self.standing, *stated)}
        gone = withdrawal.find(sentence, [rules[key] for key in rules if key not in self.withdrawn], stated)
        if gone:
            self.kept[Kind.RULE].pop(same_key(gone), None)
            self.withdrawn[same_key(gone)] = withdrawal.line(gone, sentence)
            return not _INSTEAD.search(sentence)
        hit = cues.match(sentence, user=True)
        return gone is not None and hit is not None and hit[0].kind is Kind.RULE

    def _known(self) -> list[str]:
        return [*self.of(Kind.RULE), *(fact.content for fact in self.facts.values())]

    def _take(self, cue: Cue, text: str, message: Message) -> None:
        if box := _BOX.match(text.strip()):
            if box[1] != " ":
                return  # done
            text = text.strip()[box.end() :]
        text = clip(text.strip(" \t*_").replace("**", ""), MAX_ITEM_CHARS)
        text = text if cue.kind is Kind.RULE else cues.LEAD.sub("", text).rstrip(".;, *_")
        question = cue.kind is not Kind.BLOCKER and cue != cues.RULE and text.endswith("?")
        if len(text) < 2 or question or text.endswith(":") or _NOTHING.fullmatch(text):
            return
        if cue.kind is Kind.DECISION and (len(text.split()) < 2 or (not cue.whole and _TOPIC.match(text))):
            return
        if cue.kind is Kind.FACT and (_NO_FACT.match(text) or (cue.whole and lasting.is_private(text))):
            return
        if cue.kind in _KEPT and lasting.unfit(text, is_order=cue.kind is Kind.RULE):
            return
        if cue.kind is Kind.NEXT:
            self.next_step = text
        elif cue.kind is not Kind.FACT:
            if cue.kind is Kind.RULE:
                self._retire(text)
                self.withdrawn.pop(same_key(text), None)
            _keep(self.kept[cue.kind], text, text)
            if not cue.whole:
                self.labelled.add(same_key(text))
        is_plain = cue.category is Category.KNOWLEDGE and not cue.whole
        category = lasting.by_words(text, Category.KNOWLEDGE) if is_plain else cue.category
        if category and message.role == "user" and len(text.split()) >= _LEAST_WORDS:
            fact = FactCandidate(content=text, category=category, confidence=cue.confidence, source=message.id)
            self._retire(text)
            _keep(self.facts, text, fact)

    def _retire(self, text: str) -> None:
        """Remove the rules and facts that ``text`` repeats or replaces."""
        for old in outdated(text, self._known()):
            self.kept[Kind.RULE].pop(same_key(old), None)
            self.facts.pop(same_key(old), None)


def _keep(kept: dict[str, T], text: str, value: T) -> None:
    """Add a statement, or move it to the end. Only the newest are kept."""
    kept.pop(same_key(text), None)
    kept[same_key(text)] = value
    if len(kept) > MAX_ITEMS:
        del kept[next(iter(kept))]


def _goes_on(before: Cue, text: str, hit: tuple[Cue, int] | None, sentence: str) -> bool:
    """Whether a sentence belongs to the statement ``text`` before: under a label any unlabelled one, after a rule
    a reference to it, after a limit a short order, and after what is rejected what to use."""
    if hit is None and _REJECTS.match(text) and _USES.match(sentence):
        return True
    if not before.line or (hit and not hit[0].whole):
        return False
    if hit is None or not before.whole:
        return not before.whole or _GOES_ON.match(sentence) is not None
    return bool(_ORDER.match(sentence)) and not _ORDER.match(text) and len(sentence.split()) <= _SHORT_ORDER


def _as_label(line: str) -> str:
    """A heading or a line in bold as a label for the list below it."""
    parsed = read_line(line)
    bold = parsed.text.startswith("**") and parsed.text.endswith("**")
    return f"{parsed.text.strip('*_: ')}:" if parsed.level or bold else line
