"""The English words by which :mod:`holdfast_app.sentences.relation` reads a statement."""

import re
from functools import lru_cache
from typing import Final

from holdfast.text.lazy import Lazy


def _set(words: str) -> frozenset[str]:
    return frozenset(words.split())


#: In this order.
CONTRACTED: Final = {
    "’": "'", "can't": "can not", "cannot": "can not", " no longer ": " not ", "won't": "will not", "n't ": " not ",
    "'re ": " are ",
}  # fmt: skip
BE: Final = _set("is are was were be been am being = :")
MODALS: Final = _set("may can must should shall will could might")
NEGATIONS: Final = _set("not never")
QUANTIFIERS: Final = _set("every each all some any most many few")
ARTICLES: Final = _set("the a an our my your their")
#: Words without which a statement says the same.
FILLING: Final = BE | ARTICLES | _set("now currently current also already always still just today")
#: Words that name neither the thing nor a value.
EMPTY: Final = FILLING | _set(
    "this that these those its his her it's i we they you he she it us what who which again only then here there so"
    " very too yet since due has have had do does did having than and or but if while when effective anymore longer"
    " more once out over back behind between"
)
JOINING: Final = _set("and or then")
#: Classes of prepositions. "for" and "of" name the thing.
PLACES: Final = {
    word: words.split()[0]
    for words in ("with by via through using", "in on at under inside", "to into onto", "from", "as", "for of about")
    for word in words.split()
}
#: Verbs that say only that something is somewhere or used somehow.
LIGHT: Final = _set(
    "use uses used using run runs running ran go goes live lives sit sits keep keeps kept store stores stored host"
    " hosts hosted serve serves served deploy deployed stay stays work works take takes place get gets come comes"
    " make makes made set send sends sent power powered put call called name named locate located base based planned"
    " scheduled"
)
#: Verbs of change.
CHANGED: Final = _set(
    "moved switched changed migrated replaced replace swapped renamed upgraded downgraded bumped raised lowered"
    " increased reduced shifted converted extended shortened abandoned dropped cut retired became went gave given took"
    " taken handed rotated rebased slipped postponed stricter tighter looser"
)
UNSAID: Final = EMPTY | CHANGED | LIGHT | PLACES.keys() | MODALS | NEGATIONS | QUANTIFIERS
_DAY: Final = "(?:(?:this|last) [a-z]+|yesterday|today|(?:mon|tues|wednes|thurs|fri|satur|sun)day)"
#: Signs of a change, and of an end.
CHANGE: Final = Lazy(
    r"\b(?:from .+ to|instead of|rather than|no longer|any ?more|after all|used to|now|gone|stepped down|as of"
    rf"|since {_DAY})\b|, not [\w:./@-]*\w(?=[,;.]|$)"
)
#: When it changed, and a remark before it. They say nothing about the thing.
ASIDE: Final = Lazy(
    rf"^change of plans?: |,? ?\b(?:(?:since|as of|effective|starting) {_DAY}|from (?:now on|today)|over ?night"
    r"|yesterday|(?:this|last) (?:morning|night|week)|after all)\b",
    re.IGNORECASE,
)
#: "At 03:30, not 02:00": the value that no longer holds.
FORMER: Final = Lazy(r", not [\w:./@-]*\w(?=[,;.]|$)")
#: What stands after it no longer holds.
INSTEAD: Final = Lazy(
    r"(?:(?:, not|\b(?:instead of|rather than|no longer|no more(?! than)|and not|so forget(?! to)|(?:an)?statt"
    r"|nicht mehr|nicht(?= [\w.:/]*\d)|en (?:lugar|vez) de|ya no|au lieu de|et plus|em vez de|e não mais|invece di"
    r"|e non più|вместо|а не|больше не))\b"
    r"|不再(?:用|使用)?|而不是)(?P<old>[^,;，。；]{1,40})"
    r"|(?P<former>[^,;，。；\s]{1,40})\s*(?:の代わりに|ではなく|じゃなく)"
    r"|\b(?:we|i)(?:['’]ve| have)?(?: \w+)? (?:stopped using|replaced"
    r"|(?:switched|moved|migrated|changed)(?: over| away)? from) (?P<left>[^,;]{1,40}?)(?= (?:to|with|by)\b|[,;.]|$)",
    re.IGNORECASE,
)
#: What ends something, in a clause of its own.
ENDED: Final = Lazy(r"no longer|(?:\bnot|n['’]t) .*\b(?:any ?more|after all)", re.IGNORECASE)
#: A clause that names a thing or value, or says where the one before it holds.
SAYS: Final = Lazy(
    r".*\d|.*\b[A-Z]\w|(?:in|on|at|for|with|without|by|to|from|under|only|except|but|and|or|no|not|never|unless|if"
    r"|when|while|where|which|who|that)\b"
)
DONE: Final = Lazy(
    r"\b(?:(?:is|are|was|were|been|got) (?:now )?(?:fixed|resolved|solved|repaired|gone|finished|closed|done)"
    r"|works? again|no longer (?:fails?|broken|blocked|flaky))\b"
)
#: Relations that one person has to a thing.
ROLES: Final = _set(
    "own owns lead leads maintain maintains supervise supervises manage manages chair chairs head heads"
    " handle handles approve approves call charge responsible"
)
#: Finite verbs that cannot be nouns, or have no ending. The words before the verb are the subject.
VERBS: Final = BE | MODALS | LIGHT | CHANGED | _set("has have do does cost costs last lasts need needs fail fails")
#: Verbs and participles that allow several values at once.
MANY: Final = _set(
    "support supports supported include includes contain contains test tests tested read reads cover covers covered"
    " accept accepts allow allows write writes exported available compatible known affected allergic"
)
#: Opposites, and words of one scale, of which only one can hold.
OPPOSED: Final = {word: words.split()[0] for words in (
    "before after", "up down", "above below", "over under", "on off", "with without", "inside outside",
    "enabled disabled", "enable disable", "allowed forbidden prohibited", "true false", "public private",
    "open closed", "opened closed", "first last", "left right", "minimum maximum", "more less fewer",
    "ascending descending", "increase decrease", "increases decreases", "synchronous asynchronous",
    "synchronously asynchronously", "online offline", "mandatory voluntary optional required", "stable unstable",
    "signed unsigned", "pending granted approved rejected", "mutable immutable", "included excluded",
    "hourly daily nightly weekly monthly yearly quarterly",
) for word in words.split()}  # fmt: skip
#: Nouns whose value may be any word, and words that cannot be values.
HEADS: Final = _set(
    "address branch deadline endpoint formatter hostname language licence license limit linter"
    " maintainer name owner password port region release timeout url version"
)
ADJECTIVE: Final = Lazy(
    r".+(?:ed|ing|able|ible|ous|ful|ive|less|ly)|(?:un)?(?:known|clear)|slow|fast|full|empty|down|up|ready|new|old|stale"
    r"|green|red|dead|fine|good|bad|high|low|wrong|long|short"
)
POINTING: Final = _set("it this that there they he she what who these those")
#: After these words a possible verb is a noun, or belongs to the verb before.
BEFORE_NOUN: Final = (
    ARTICLES | MODALS | BE | QUANTIFIERS | PLACES.keys() | OPPOSED.keys() | _set("only during per until")
)
#: A number after these is a name.
LABELS: Final = _set("issue pr mr ticket adr rfc step section chapter phase task question part item page line option")
#: Numbers, versions, dates and times, with a unit at most; and words for them.
NUMBER: Final = Lazy(
    r"(?P<digits>[~<>≤≥$€£-]?v?\d[\d.,:/_-]*)(?P<unit>[a-zµ]{1,4}|[%°]c?)?(?:/[a-z]{1,5})?(?:[+-]\d[\d.]*)?"
)
COUNTS: Final = {
    "one": "1", "two": "2", "three": "3", "four": "4", "five": "5", "six": "6", "seven": "7", "eight": "8", "nine": "9",
    "ten": "10", "twelve": "12", "twenty": "20", "thirty": "30", "sixty": "60", "hundred": "100",
}  # fmt: skip
CALENDAR: Final = Lazy(
    r"(?P<day>(?:mon|tues|wednes|thurs|fri|satur|sun)days?)|january|february|april|june|july|august|september|october"
    r"|november|december|march|may|noon|midnight"
)
SECONDS: Final = {
    "ms": 0.001, "s": 1, "sec": 1, "second": 1, "min": 60, "minut": 60, "h": 3600, "hour": 3600, "day": 86400,
    "week": 604800,
}  # fmt: skip
CODE: Final = Lazy(r".*[\d_/.@#+].*|.*-.*-.*|.*[a-z].*[A-Z].*|[A-Z]{2,}.*")


@lru_cache(maxsize=4_096)
def stem(word: str) -> str:
    """A word without its ending, so that its forms are one."""
    if not word.isalpha() or len(word) < 4:
        return word
    for ending, end in (("ies", "y"), ("ing", ""), ("ed", ""), ("ly", ""), ("es", ""), ("s", ""), ("e", "")):
        if word.endswith(ending) and len(word) - len(ending) > 2 and not word.endswith(("ss", "us", "is")):
            word = word[: -len(ending)] + end
            break
    return word[:-1] if len(word) > 3 and word[-1] == word[-2] and word[-1] not in "sle" else word
