# ruff: noqa: E501 - tables of words
"""Layer three, prose: "the password for staging is X", "use X as the token", "credentials: admin / X".

Prose often mentions passwords and tokens without containing one. So a value counts only where the sentence assigns it,
and only when it is quoted or cannot be a word.
"""

import re
from bisect import bisect_left
from functools import lru_cache

from holdfast.text.lazy import Lazy
from holdfast_redaction.layers import names, values
from holdfast_redaction.layers.assign import SCRIPT, Value
from holdfast_redaction.layers.values import FAINT, PASSWORD, WEAK

# All of these read lower-case text, because an expression that ignores case takes twice the time.
_VALUE = r"(?:\*\*([^*\n]{2,200})\*\*|\"([^\"\n]{2,200})\"|'([^'\n]{2,200})'|`([^`\n]{2,200})`|“([^”\n]{2,200})”|[「『]([^」』\n]{2,200})[」』]|«[ \u00a0]?([^»\n]{2,200}?)[ \u00a0]?»|(\S{2,400}))"
_BE = (
    r"(?:\b(?:is|was|are|were|(?:will|should|must|would|could|to)[ \t]+be|it's|that's|here's|ser[íi]a|serait|wäre|has[ \t]+been|reads|equals|became|becomes|ist|lautet|war|es|est)\b"
    r"|:(?!//)|=|->|→|–|—)"  # not a URL's
)
_MORE = (
    r"(?:[ \t]+(?:now|still|currently|just|simply|literally|actually|set[ \t]+to|changed[ \t]+to|updated[ \t]+to|reset[ \t]+to|rotated[ \t]+to|going[ \t]+to[ \t]+be"
    r"|called|the[ \t]+following|as[ \t]+follows|this|to))"
)
#: Words between the noun and the value's assignment.
_ABOUT = frozenset("""
    for of to on in at from i we you they that which used using here there between protecting behind changed rotated
    reset updated für fürs von vom zum der des im de del du d'accès d'api pour para por da do
""".split())  # fmt: skip  # noqa: SIM905


def _after(between: str, about: str = "|".join(sorted(_ABOUT)), be: str = _BE) -> re.Pattern[str]:
    return Lazy(
        r"(?:[ \t]+(?:base|value|string|phrase|nueva|actual))?(?:[ \t]*\([^)\n]{1,60}\))?"
        rf"(?:,?[ \t]+(?:{about})\b{between})?"
        rf"(?:[,;?][ \t]+)?[ \t]*(?:{be}{_MORE}{{0,2}}[ \t]*:?[ \t]*|[ \t](?:to|as)[ \t]+(?=[\"'`*])|(?<=[ \t])(?:to|auf)[ \t]+){_VALUE}"
    )


#: The first verb or sign may belong to something else. Then the last one counts.
_AFTER, _AFTER_ALL = _after(r"[^:=\n\"`]{0,70}?"), _after(r"[^\n\"`]{0,70}")
#: After a word of another language, whose prepositions and verbs are not all known.
_FOREIGN = _after(
    r"[^:=\n\"`]{0,70}?",
    r"\w+",
    r"(?:\b(?:is|ist|lautet|es|est|é|e|è|este|jest|to|je|är|er|on|adalah|là|является|это|هي|هو)\b|:|=|->|→|–|—|[是为為成はが는은가이]|है)",
)
#: "the old password, x, ..."
_APPOSED = Lazy(r"(?:[ \t]+[^,\n\"`]{1,60})?,[ \t]+([^\s,]{8,64}),")
#: "Token:" or "What is the password?", and in the next line only the answer.
_BELOW = Lazy(
    r"[^\n?:]{0,60}[?:]\**[ \t\r]*\n(?:[> \t]*(?:```\w*)?[ \t]*\n){0,2}[> \t*]*(?:(?:[A-Z][a-z]{0,11}|user|human|me):\**[ \t]*)?[\"'`]?"
    r"([^\s\"'`]{4,200})[\"'`]{0,3}[.]?[ \t]*(?:\n|$)"
)
#: Before a public value, an id or a hash.
_PUBLIC = Lazy(
    r"(?i)\b(?:mint(?:ed)?|address|contract|doc(?:ument)?s?|sheet|hash|digest|checksum|fingerprint|blob|commit|ids?|tx)\b"
    r"[^\n\w]{0,3}(?:\w{1,12}[^\n\w]{1,3}){0,2}$"
)
_DIRECT = Lazy(r"[ \t]{1,2}(?:of[ \t]+|be[ \t]+|to[ \t]+)?" + _VALUE)
_BEFORE = Lazy(
    r"(?:\"([^\"\n]{2,100})\"|'([^'\n]{2,100})'|`([^`\n]{2,100})`|(?:^|(?<=\s))([^\s\"'`]{4,200}))[,]?\s+(?:as|is|was|for|=|that's|als|comme|como)\s+(?:(?:the|my|our|your|its|his|her|their|a|an|new|this)\s+)?"
    r"(?:[\w-]{1,20}\s+){0,3}$"
)
_GIVES = (" is ", " for ", " as ", " was ", " = ", " that's ", " als ", " comme ", " como ")
_PAIR = Lazy(
    r"(?:[^\n:=]{0,40}?)(?:[ \t]+(?:is|are|were|was|with|as|using|into)[ \t]+|[ \t]*[:=][ \t]*|[ \t]+)[\"'`(*]{0,2}"
    r"([\w.@+-]{2,64})[\"'`]?(?:[ \t]*[/:,|][ \t]*|[ \t]+(?:and|with)[ \t]+)[\"'`]?([^\s\"'`/][^\s\"'`]{3,200})"
)
_PHRASE = Lazy(
    r"[\"'`]?[^\n:=\"'`]{0,60}?(?:\s(?:is|was)\s|\s*[:=]\s*)[\"'`]?((?:[a-z]{3,10}[ ,-]+){2,23}[a-z]{3,10})(?:[\"'`]|\s*(?:[.,;}()\n]|$))"
)
#: A word outside of paths, addresses and assignments, and the signs that distinguish it from other words.
_TOKEN = Lazy(r"(?<![^\s\"'`(\[{,;:])[A-Za-z0-9][^\s\"'`<>(){}\[\],;|/\\=@:]{7,127}(?![/\\=@:\[(]\S)")
_MIXTURE = Lazy(
    r"[0-9](?:(?=[a-z][A-Z]|[A-Z][a-z])|(?<=[a-z].)(?=[A-Z])|(?<=[A-Z].)(?=[a-z])|(?<=[a-z][A-Z].)|(?<=[A-Z][a-z].))",
    re.ASCII,
)
_RUNS = Lazy(r"[0-9]+|[A-Za-z]+", re.ASCII)
#: Names with digits, and ids with a type prefix.
_NAMED = Lazy(
    r"(?i:sha-?\d+|base-?\d\d|utf-?\d+|o?auth2?|md5|rsa-?\d+|aes-?\d+|https?2?|ipv[46]|x509|[ehr]s\d{3}|py3|k8s|s3|ec2|web3|h2|p256"
    r"|pbkdf2|argon2|win\d\d|x86|arm64|u?int\d+|float\d+|v\d+)"
)
_OTHER_ID = Lazy(r"(?!(?:sk|rk|pk|tok|key|pat|pw|api)_)[a-z]{2,8}_")
#: Words of a passphrase, and an id that may be called an API key.
_ROW = Lazy(r"[a-z]{3,12}(?:-[a-z]{3,12}){2,7}")
_SEPARATES = Lazy(r"[\"'`]?[ \t]*[/:,|]")
#: Users whose password may be words.
_ACCOUNTS = frozenset(("admin", "administrator", "root"))
_UUID_FORM = r"(?i:[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})"
_UUID = Lazy(_UUID_FORM)
#: A UUID, or more hexadecimal digits than a number or a short commit has.
_ID = Lazy(_UUID_FORM + r"|(?i:[0-9a-f]{20,31})")
#: ``pass name=value``
_OPTION = Lazy(r"[A-Za-z_]\w*=[^=]")
#: The shortest token after its noun that has no digit.
_LETTERS = 16
#: Maximum distance from the noun, in characters.
_NEAR = 120
_COUNTED = Lazy(
    r"\d+(?:st|nd|rd|th|x|s|k|m|h|d|-?[a-z]+)|[A-Za-z]+-\d{1,2}|v\d[\d.]*|[A-Z]{1,5}\d{1,2}|u?int\d+|float\d+"
)
#: Words that may follow the noun in a sentence that assigns a value: everything that _AFTER begins with.
_STARTS = frozenset(
    """
    is was are were will should must has reads equals became becomes ist lautet war es est as auf base value string
    phrase would could it's that's here's sería seria serait wäre nueva actual which
    """.split()  # noqa: SIM905
).union(_ABOUT)
_SIGNS = tuple("(:=-–—→")
#: Names of secrets made of words. The last three are names of a wallet's phrase, with a minimum number of words and a
#: maximum length of each. Source: BIP-39.
PHRASES = ("passphrase", "mnemonic", "phrase", "seed", "recovery")
_FEW, _MANY, _LONGEST = 3, 12, 8
#: ... and "recovery" alone is many things.
_OF_WORDS = (" phrase", " words", " seed", " mnemonic", " key")
_TAIL = ".,;:!?)]}'\"`*"


def phrase_behind(lower: str, end: int, noun: str) -> Value | None:
    """A seed phrase's words after its name, which ends at ``end``, or None. ``lower`` is the text in lower
    case."""
    match = _PHRASE.match(lower, end, min(len(lower), end + 300))
    if not match or (noun.endswith("recovery") and not lower.startswith(_OF_WORDS, end)):
        return None
    row = match[1].replace(",", " ").split()
    likely = len(row) >= _FEW if noun.endswith(PHRASES[:2]) else len(row) >= _MANY and max(map(len, row)) <= _LONGEST
    return Value(*match.span(1), " ", quoted=True) if likely and values.COMMON.isdisjoint(row) else None


def value_behind(text: str, lower: str, end: int, strength: int, noun: str) -> Value | None:
    """The secret that a sentence assigns after the noun that ends at ``end``, or None. ``lower`` is ``text`` in lower
    case, with the same length."""
    stop = min(len(text), end + 300)
    following = lower[end : end + 40].lstrip(",;?").split(maxsplit=1)
    first = following[0].rstrip(",;?") if following else ""
    foreign = names.is_foreign(noun)
    patterns = [_FOREIGN if foreign else _AFTER] if first in _STARTS or first[:1] in _SIGNS or foreign else []
    patterns += [_AFTER_ALL] if first in _ABOUT else []
    patterns += [_APPOSED] if lower[end : end + 1] == "," or strength == PASSWORD else []
    for pattern in patterns:
        match = pattern.match(lower, end, stop)
        value = match and _judge(text, match, strength, noun, sure=True)
        if value:
            return value
    line = lower.find("\n", end, end + 70)
    below = _BELOW.match(text, end, stop) if line > 0 and lower[line - 1] in "?:* \r" else None
    if below and stands_out(below[1], strength):
        return Value(below.start(1), _rstrip(text, *below.span(1)), " ", quoted=False)
    at = lower.find(first, end, end + 60)
    letters = len(first) >= _LETTERS and values.is_mixed(text[at : at + len(first)])  # a token of letters alone
    if first in ("of", "be", "to") or not first.isalpha() or letters:
        match = _DIRECT.match(lower, end, stop)
        return match and _judge(text, match, strength, noun, sure=False)
    return None


def value_before(text: str, lower: str, start: int, strength: int, noun: str) -> Value | None:
    """The secret that a sentence puts before the noun at ``start``, or None: "use X as the token"."""
    window = max(0, start - 140)
    if not any(word in lower[window:start] for word in _GIVES):  # a tenth of the expression's time
        return None
    line = text.rfind("\n", window, start) + 1
    before = _BEFORE.search(lower, max(window, line), start)
    value = before and _judge(text, before, strength, noun, sure=True)
    if not value:
        return None
    content = text[value.start : value.end]  # "3f2a9c1 is the password fix" names a commit
    return None if values.is_protected(content) and not _UUID.fullmatch(content) else value


def value_near(text: str, start: int, end: int, strength: int) -> Value | None:
    """A secret in the same line as the noun at ``text[start:end]``, whatever the sentence says. Only unmistakable
    values count. None when the line mentions a masked secret."""
    first = text.rfind("\n", max(0, start - _NEAR), start) + 1 or max(0, start - _NEAR)
    last = text.find("\n", end, end + _NEAR)
    last = last if last >= 0 else min(len(text), end + _NEAR)
    if text.find(values.MARK, first, last) >= 0:
        return None
    spans = _striking(text, strength)
    for at, stop in spans[bisect_left(spans, (first, 0)) :]:
        if at > last:
            break
        if stop <= last + 1 and (stop <= start or at >= end):
            return Value(at, stop, " ", quoted=False)
    return None


@lru_cache(4)
def _striking(text: str, strength: int) -> list[tuple[int, int]]:
    """Begin and end of each word that can only be a secret."""
    spans = []
    for match in _TOKEN.finditer(text) if _MIXTURE.search(text) else ():
        at = match.start()
        stop = _rstrip(text, at, match.end())
        stop += text.startswith("!", stop)  # a password may end so
        if _is_striking(text[at:stop], strength):
            spans.append((at, stop))
    return spans


@lru_cache(1024)
def _is_striking(value: str, strength: int) -> bool:
    """Whether capitals, small letters and digits are mixed more closely than in any word, name or id."""
    mixed = _MIXTURE.search(value) and _MIXTURE.search(" ".join(_NAMED.split(value)))
    if not mixed or _OTHER_ID.match(value):
        return False
    digits = sum(map(str.isdigit, value))
    if strength == PASSWORD:
        ok = len(value) >= 8 and (digits > 1 or any(sign in value for sign in "!#$%^&*+?"))
    else:
        ok = len(value) >= 16 and digits > 1 and len(_RUNS.findall(value)) > 4
    return ok and not values.is_protected(value) and values.can_be_secret(value, strength, quoted=False)


def pair_near(text: str, lower: str, end: int, *, signs: bool) -> Value | None:
    """The password of "credentials: admin / X". ``signs``: no word may separate it from the user."""
    at, stop = end, min(len(text), end + 320)
    while match := _PAIR.match(lower, at, stop):
        at, value = match.end(1), Value(match.start(2), _rstrip(text, *match.span(2)), " ", quoted=False)
        if signs and not _SEPARATES.match(text, at):
            continue
        is_account = match[1] in _ACCOUNTS or "@" in match[1]
        if stands_out(text[value.start : value.end], PASSWORD) or (is_account and _ROW.fullmatch(lower, *value[:2])):
            return value
        if at > end + _NEAR:
            break
    return None


def _judge(text: str, match: re.Match[str], strength: int, noun: str, *, sure: bool) -> Value | None:
    group = match.lastindex or 0
    quoted = group < match.re.groups
    start, end = match.span(group)
    if not quoted:
        while start < end and text[start] in "([*“'\"`":
            start += 1
        end = _rstrip(text, start, end)
        script = SCRIPT.search(text, start, end)
        end = script.start() if script else end
    value = text[start:end]
    if value[:1] in (",", ";", ")") or values.is_placeholder(value):  # of code
        return None
    named = (
        (noun in names.PINS and value.isdigit() and 4 <= len(value) <= 10)
        or (noun == "passphrase" and quoted and _ROW.fullmatch(value))
        or ((strength > (FAINT if sure else WEAK) or noun.endswith("secret")) and _ID.fullmatch(value))
    )
    if not named and not sure and strength < PASSWORD and len(value) < 12:
        return None
    is_name = "_" in value and not any(map(str.isdigit, value))
    assigned = sure and quoted and not is_name and values.can_be_secret(value, strength, quoted=True)
    return Value(start, end, " ", quoted=quoted) if named or assigned or stands_out(value, strength) else None


def stands_out(value: str, strength: int) -> bool:
    """Whether an unquoted value in a sentence cannot be a word, a name, a number or a term."""
    if len(value) < 4 or not value[-1:].strip() or "(" in value or value.endswith("'s") or _OPTION.match(value):
        return False
    if strength < PASSWORD:
        if values.is_protected(value) and not (len(value) >= 32 and value.isalnum()):
            return False
        return values.is_random(value) and values.can_be_secret(value, strength, quoted=False)
    if values.is_term(value) or not values.can_be_secret(value, PASSWORD, quoted=False):
        return False
    if value.isdigit():
        return len(value) >= 6
    return not _COUNTED.fullmatch(value) and (values.has_secret_mix(value) or values.is_mixed(value))


def is_public(text: str, value: Value) -> bool:
    """Whether the words before ``value`` call it an address, an id or a hash."""
    return bool(_PUBLIC.search(text, max(0, value.start - 40), value.start))


def _rstrip(text: str, start: int, end: int) -> int:
    while end > start and text[end - 1] in _TAIL:
        end -= 1
    return end
