"""The words by which :mod:`holdfast_app.sentences.relation` reads a statement: English, and in other languages those of
change, negation and grammar."""

import re
from functools import lru_cache
from typing import Final

from holdfast.text.lazy import Lazy


def _set(words: str) -> frozenset[str]:
    return frozenset(words.split())


#: Characters of scripts without spaces are words of their own.
DENSE: Final = Lazy(r"\d+月\d+日|[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]")
#: In this order.
CONTRACTED: Final = {
    "’": "'", "，": ", ", "；": "; ", "：": ": ", "、": ", ", "can't": "can not", "cannot": "can not",
    "won't": "will not", "isn't": "is not", "n't ": " not ", " no longer ": " not ", " not used": " gone",
    "no more ": "not ", "No more ": "Not ", " any more": " anymore", "'re ": " are ", "'ve ": " have ",
}  # fmt: skip
BE: Final = _set("is are was were be been am being ist sind est es é 是 为 = :")
MODALS: Final = _set("may can must should shall will could might darfst dürfen puedes pueden peux pouvez pode podem 可")
NEGATIONS: Final = _set("not nicht kein keine keinen pas não no non не 不 never nie niemals jamais nunca 别 勿")
QUANTIFIERS: Final = _set("every each all some any most many few")
ARTICLES: Final = _set("the a an our my your their der die das den dem el la los las le les un una une o os um uma")
#: Words without which a statement says the same.
FILLING: Final = BE | ARTICLES | _set("now currently current also already always still just today")
#: Words that name neither the thing nor a value.
EMPTY: Final = FILLING | _set(
    "this that these those its his her it's i we they you he she it us what who which again only then here there so"
    " very too yet since due has have had do does did having than and or but if while when effective anymore longer"
    " more once out over back behind between please instead got per enough mine sorry me"
    " des ein eine einen diese dieser meine zu zum zur von vom und wird wurde haben hat ich wir du ihr er dich mich mir"
    " man ab seit mehr bitte sofort immer über wegen dass gestern"
    " l d de du à au aux et sont ce c'est cette ma mon on je nous vous tu te que qui toujours avec plus"
    " y son está se al del lo ya vez esa esta mi con siempre sobre são foi do da dos no na com"
    " 的 那 这 条 个 之 前 后 了 吧 也 都 请 就 还 我 你 们 已 经 现 到 成 变 更 改 変 可 以 要 再 用 把 对 于 关 写"
)
JOINING: Final = _set("and or then")
#: Classes of prepositions. "for" and "of" name the thing.
PLACES: Final = {
    word: words.split()[0]
    for words in (
        "with by via through using mit par por pelo pela 由",
        "in on at under inside im auf em en sur 在", "to into onto",
        "from", "as como", "for of about für pour para",
    )
    for word in words.split()
}  # fmt: skip
#: Verbs that say only that something is somewhere or used somehow.
LIGHT: Final = _set(
    "use uses used using run runs running ran go goes live lives sit sits keep keeps kept store stores stored host"
    " hosts hosted serve serves served deploy deployed stay stays work works take takes place get gets come comes"
    " make makes made set send sends sent power powered put call called name named locate located base based planned"
    " scheduled nutzen verwenden benutzen utilise usamos"
)
#: Verbs and other signs of change.
CHANGED: Final = _set(
    "moved switched changed migrated replaced replace swapped renamed upgraded downgraded bumped raised lowered"
    " increased reduced shifted converted extended shortened abandoned dropped cut retired became went gave given took"
    " taken handed rotated rebased slipped postponed stricter tighter looser pushed ripped sold rebranded relaxed"
    " rewritten again correction typo mistake decided actually"
    " jetzt nun künftig wieder umgestellt umgezogen gewechselt erhöht gesenkt verschoben ersetzt seit"
    " ahora otra cambió cambiamos pasó dejamos subimos bajamos movió reemplazamos"
    " maintenant désormais nouveau remplacé passe passés repoussée"
    " agora novo trocamos adiado aumentamos mudou passou"
)
#: Before a value that no longer holds.
_LEFT: Final = _set(
    "dropped drop renamed abandoned ditched retired sold removed replaced replace forget than from instead"
    " ersetzt statt anstatt dejamos lugar vez remplacé abandonné lieu deixamos trocamos invece вместо"
)
UNSAID: Final = EMPTY | CHANGED | _LEFT | LIGHT | PLACES.keys() | MODALS | NEGATIONS | QUANTIFIERS
_DAY: Final = "(?:(?:this|last) [a-z]+|yesterday|today|(?:mon|tues|wednes|thurs|fri|satur|sun)day)"
#: "At 03:30, not 02:00": the value that no longer holds.
FORMER: Final = Lazy(_NOT := r", not (?:as |from |in |by )?[\w:./@-]*\w(?=[,;.]|$)")
#: Signs of a change, and of an end.
CHANGE: Final = Lazy(
    r"\b(?:from .+ to|from (?:next )?\w+ on|instead of|rather than|no longer|no more|no need|any ?more|after all|now"
    r"|(?:is|are|was|were|been|got) (?:now )?(?:fixed|resolved|solved|repaired|finished|closed|done)|works again"
    rf"|these days|gone|stepped down|as of|since (?:the|this|{_DAY}))\b|{_NOT}"
    r"|现在|已经|改|推迟|提前|调整|换|不再|不用|以后|[变変]|延期|更|やめ|これから"
)
#: What does not say that something holds from now on, for all of the thing.
LIMITED: Final = Lazy(
    r"\?$|\b(?:also|too$|as well|additionally|only|once|if|maybe|might|could|would|suppose|considering|used to be"
    r"|originally|ago|for now|wrote|claims|thinks|says (?:that|the|[\"“])|auch|außerdem|nur|heute|falls|wenn|vielleicht"
    r"|früher|también|s[óo]lo|quizás?|antes|aussi|seulement|peut-être|avant|também|talvez)\b|[也只如？]|だけ|もし"
)
#: When it changed, and a remark before it. They say nothing about the thing.
ASIDE: Final = Lazy(
    rf"^change of plans?: |,? ?\b(?:(?:since|as of|effective|starting) {_DAY}|from (?:now on|today|{_DAY})|over ?night"
    r"|yesterday|(?:this|last) (?:morning|night|week)|after all)\b",
    re.IGNORECASE,
)
#: A clause that says where the one before it holds, and one that may also name a thing or value.
_WHERE: Final = (
    r"(?:in|on|at|for|with|without|by|to|from|under|only|except|but|and|or|no|not|never|unless|if|when|while"
    r"|where|which|who|that|it)\b"
)
WHERE: Final = Lazy(_WHERE)
SAYS: Final = Lazy(rf".*\d|.*\b[A-Z]\w|{_WHERE}")
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
    "enabled disabled", "enable disable", "allowed forbidden prohibited fine okay", "true false", "public private",
    "open closed", "opened closed", "first last", "left right", "minimum maximum", "more less fewer",
    "ascending descending", "increase decrease", "increases decreases", "synchronous asynchronous",
    "synchronously asynchronously", "online offline", "mandatory voluntary optional required", "stable unstable",
    "signed unsigned", "pending granted approved rejected", "mutable immutable", "included excluded",
    "hourly daily nightly weekly monthly yearly quarterly",
) for word in words.split()}  # fmt: skip
#: Nouns whose value may be any word, and words that cannot be values.
HEADS: Final = _set(
    "account address branch date deadline endpoint file formatter host hostname language licence license limit linter"
    " maintainer manager maximum minimum module name number owner password port provider region release server time"
    " timeout tracker url version window"
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
#: An address, a path, a name in code, or another word that is no plain one.
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
