"""What the agent reports in an answer as tried and failed, in English and German: its own attempt, in the past, and in
the same sentence or the next one its failure. In doubt nothing, because the next agent will avoid it: others' words, a
plan, a mended fault, and a task for which access was missing are no approach that failed."""

import re
from collections.abc import Iterator
from itertools import pairwise
from typing import Final

from holdfast.text.lazy import Lazy
from holdfast_app.offline.speech import units

_MAX_CHARS: Final = 400  # of a sentence; a longer one tells more than an attempt
_I: Final = (
    r"\b(?:i|we)(?:['’](?:ve|d)| have| had)?(?: (?:also|first|initially|originally|previously|then|even|just))* "
)
_ICH: Final = r"\b(?:(?:habe|hatte|bin|war) ich|ich (?:habe|hatte|bin|war)|(?:haben|hatten) wir|wir (?:haben|hatten))\b"
_FIRST: Final = r"(?:(?:at )?first|initially|originally|previously|zuerst|zunächst|anfangs|erst|eigentlich|als erstes)"
_LOOKED: Final = r"(?:checked|looked|read|searched|compared|measured|verified|ran|thought|suspected|found|saw|asked)\b"
_NOT: Final = r"(?: not|n['’]t)"
_FAIL: Final = (
    r"\b(?:fail(?:s|ed)?|br(?:oke|eaks)|crash\w*|h[aiu]ngs?|deadlock\w*|block(?:s|ed|te)|locked|timed out|timeouts?"
    r"|ran out|ran into|ended in|fell|los(?:t|es|ing)|miss(?:es|ed)|lacks|ignore[sd]|refuse[sd]|diverged|drop(?:s|ped)"
    r"|doubled|strips|vanish\w*|corrupt\w*|conflict\w*|clash\w*|segfault\w*|fr[eo]ezes?|froze|leak\w*|stutter\w*"
    r"|flicker\w*|swallow\w*|starve[sd]|overfit\w*|reject(?:s|ed)|worse|slower|wrong|flaky|brittle|dead end|too \w+"
    r"|impossible|garbled|un(?:reliable|usable|stable)|\w+n['’]t|not|never|no(?! longer)|nothing|cannot|neither|only"
    r"|nichts?|kein\w*|nie|gescheitert|scheiter\w+|fehl\w*|falsche\w*|schlechter|langsamer|(?:ab)?gestürzt|stürzte"
    r"|hing|blieb\w*|halbe\w*|zerstör\w*|verlor\w*|zu (?:groß|klein|langsam|ungenau|teuer|viele?|lang|kurz|schwer|laut"
    r"|hell|dunkel|grob))\b"
)
_BUT: Final = r"(?<!works)(?<!runs),? \b(?:but|yet|however|aber|doch|jedoch)\b"
_BECAUSE: Final = r"\b(?:because|since(?! \d)|weil|da|denn|dadurch)\b"
_INSTEAD: Final = (
    r"\b(?:(?:so|hence|therefore) (?:i|we|it|its|the|there)|which is why|instead|hence|stays?|switched|replaced|used"
    r"|undid|ended up|moved|swapped|now|jetzt|nun|stattdessen|deshalb|daher|bleibt|(?:geholfen|genommen) ha\w+"
    r"|put it back|(?:went|go|back|left) (?:\S+ )?(?:with|to|on|in))\b"
)
_REFERS: Final = (
    r"\n(?:but |yet )?(?:it|that|this|they|both|none|neither|the|das|dies|es|damit|dadurch|beide|die|der)\b"
)

#: What the agent says that it tried.
_TRIED: Final = (
    rf"(?:{_I}|(?:\A|[.;] |\bthat i )(?:(?:{_FIRST}|also),? )?)(?:tried|attempted|prototyped|experimented with)\b"
    rf"(?! (?:out|to|again|all|what|whether|how)\b)"
    rf"|\b(?:approaches|things|variants|ideas|options)(?: that)? {_I}(?:tried|dropped|ruled out)\b"
    rf"|{_ICH}[^\n]*\b(?:versucht|\w*probiert)\b|\b(?:versucht|probiert) (?:habe|hatte) ich\b"
)
_THEN_FAILED: Final = rf"(?![^\n]*\b(?:zu \w+|\w+zu\w+)en\b)(?:[^\n]*?(?:{_FAIL}|{_BUT})|[^\n]*{_REFERS}[^\n]*?{_FAIL})"
_UNDONE: Final = (
    rf"(?:{_I}|\A(?:so )?)(?:roll(?:ed|ing) (?:\S+ ){{0,6}}?back|revert(?:ed|ing)|backed out|undid|abandoned|gave up on"
    r"|dropped the (?:idea|plan|approach)|(?:removed|took|threw|dropped|pulled) (?:\S+ ){0,6}?(?:again|out|away)"
    rf"|(?:moved|switched) (?:back )?from)\b|{_ICH}[^\n]*\b(?:zurück(?:gerollt|genommen|gegangen|gestellt)"
    r"|rückgängig gemacht|verworfen|aufgegeben|abgebrochen|wieder (?:ab|aus|ent|zurück|raus)\w+)\b"
    r"|\w habe ich (?:wieder )?verworfen\b|\bverworfen habe ich\b"
)
_FOR_A_REASON: Final = rf"(?:(?! so )[^\n])*?(?:{_BECAUSE}|, (?:it|they|der|die)\b|: |{_FAIL})"
#: An outcome that only a remedy has.
_DID_NOT_HELP: Final = (
    rf"(?:\b(?:did{_NOT} (?:help|fix it|solve it|change anything|make a difference|suffice)|(?:made|had) no"
    rf" (?:difference|effect)|(?:was|were)(?:{_NOT} (?:enough|an option|viable|feasible)| no options?)|a dead end"
    rf"|what did{_NOT} work|nichts gebracht|nicht geholfen|brachten? (?:aber )?(?:nichts|keine)|half(?:en)? nicht"
    r"|führten? nicht weiter|eine sackgasse)\b)"
)
#: What may be an attempt, when it failed and something took its place.
_BEGUN: Final = (
    r"(?:(?<!['’]s )\b(?:attempts?|approach(?:es)?|idea|workaround|versuche?|ans[aä]tze?|idee)"
    r"|\b(?:first|initial|original|my|our|an early|erste\w?|mein\w?) (?:try|plan|choice|route|variant|version|weg"
    r"|variante|lösung))\b(?= (?:with|of|to|via|using|at|in|was|were|fell|did|could|used|failed|broke|mit|über|von|sind"
    r"|war|schlug|scheiterte|hat|ging|funktionierte|klappte)\b|[,:(])"
    rf"|(?:\b{_FIRST},? {_I}|\b(?:i|we) {_FIRST} )(?!{_LOOKED})|{_I}[^\n]*\bat first\b"
    rf"|{_I}(?:(?:went|started(?: out)?) with|(?:wanted|tried|attempted) to\b)|\b(?:i|we) also (?:tested|considered)\b"
    rf"|{_ICH} (?:\S+ ){{0,3}}{_FIRST}\b|\b(?:ich|wir) (?:es )?{_FIRST}\b|\A{_FIRST}\b[^\n]*\b(?:ich|wir)\b"
    rf"|\bgetestet habe ich\b|{_ICH} \w*probiert, "
)
_WAS_REPLACED: Final = rf"(?s:.*?)(?:{_FAIL}|{_BUT})(?s:.*){_INSTEAD}|[^\n]*{_FAIL}[^\n]*{_BECAUSE}"
_SUBJECT: Final = r"\A(?:an? |using |[a-z]+ing (?=\S+ )|both |neither |`[^`]+` |das \w+en (?:de[rs]|von|mit)\b|mit )"
_DID_NOT_WORK: Final = (
    rf"(?![^\n]*\bwould\b)(?:[^\n]*(?:(?:did{_NOT} work|worked|was{_NOT} possible),? (?:out|{_BECAUSE})"
    r"|bin ich gescheitert|\b(?:nicht|schlug) (?:funktioniert|geklappt|fehl)\b)"
    rf"|(?<!\ba )(?<!\ban )[^\n]*{_FAIL}[^\n]*\b(?:so (?:i|we) (?!will)|which is why i|instead)\b)"
)
#: What was done, and what has to follow it. A line break is between a sentence and the next one.
_FORMS: Final = tuple(
    (Lazy(done, re.IGNORECASE), Lazy(then, re.IGNORECASE))
    for done, then in (
        (_TRIED, _THEN_FAILED),
        (_UNDONE, _FOR_A_REASON),
        (rf"(?<!\bthat )(?<!\bthis )(?<!\bit ){_DID_NOT_HELP}", ""),
        (r"\A", rf"[^\n]*{_I}\w+ed\b[^\n]*\n(?:\w+ )?(?:that|this|it) {_DID_NOT_HELP}"),
        (_BEGUN, _WAS_REPLACED),
        (_SUBJECT, _DID_NOT_WORK),
    )
)
#: A question, a condition, others' words, what the user asked for, what works now, and what was not at hand.
_NOT_TOLD: Final = Lazy(
    r"\?\W*\Z|\A(?:if|should|wenn|falls|your?|dein\w*)\b|\b(?:says?|said|sagt|schreibt)\b"
    r"|[“„\"](?:.*\b)?(?:i|we|ich|wir)\b|\bas (?:you|requested|planned|agreed)\b|\bgewünscht\b"
    r"|\byou (?:want\w*|asked|prefer\w*|said|liked?)\b|\b(?:fixed|resolved|repaired|behoben|works? (?:again|now)"
    r"|no longer|pass(?:es|ed)?|permission|credentials|access|installed|zugang|noch nicht)\b"
    r"|\b(?:no|not|\w+n['’]t|0|zero|none|without|kein\w*|ohne) (?:\w+ )?"
    r"(?:errors?|problems?|crash\w*|fail\w*|los[est]\w*|fehler|probleme?)\b",
    re.IGNORECASE,
)


def failed(answer: str) -> Iterator[str]:
    """The sentences of ``answer`` that report a failed approach, each with the next one if that tells the failure."""
    told = [unit if len(unit) <= _MAX_CHARS and not _NOT_TOLD.search(unit) else "" for unit in units(answer)]
    for sentence, after in pairwise((*told, "")):
        text = f"{sentence}\n{after}"
        for done, then in _FORMS:
            if (begins := done.search(sentence)) and (ends := then.match(text, begins.end())):
                yield sentence if ends.end() <= len(sentence) else " ".join(text.split())
                break
