r"""Necessary conditions for each search to find anything, as RE2 expressions.

An expression may match more than the search finds, never less. ``sieve`` skips a search where its expression does not
match, and a test compares the results with and without. Repeat limits are dropped, and white space is "anything but a
visible ASCII character", which includes more than Python's ``\s``.
"""

from __future__ import annotations

from holdfast_redaction.layers import national

#: Parts of passwords' names, whose value may be any word, and of other secrets' names, whose value looks random.
_NAMES_WORD = r"(?:pass|pw|kennwort|contrase[nñ]a|mot de passe|seed|recovery|mnemonic)"
_NAMES_RANDOM = (
    r"(?:secret|token|key|cred|auth|pin|salt|cookie|bearer|licen|otp|login|log in|logged in|sign in|schl(?:ü|ue)ssel"
    r"|jeton|clave)"
)

_BLANKS = r"[ \t]*"
_SPACE = r"[^!-~\n]+"
#: After a name: closing quotes, brackets and marks, and blanks.
_BEHIND = r"[0-9A-Za-z_.-]*\\?[\"'`]?[)\]?!*]*" + _BLANKS
_SIGN = r"(?:={1,3}>?|:{1,3}=|:|[?+.]=|\|\|=?|->|→|<-)\**" + _BLANKS + r"(?:[A-Za-z_&][\w.\[\]&' |]*=[ \t]*)?"

#: Upper case after lower case, and other signs of a random value. Other scripts may have either.
_MIXED = r"(?-i:[a-z][A-Z])"
_RANDOM = rf"(?:[0-9]|{_MIXED}|[^\x00-\x7f])"
#: ... and a password from a word in a sentence.
_SYMBOL = rf"(?:[0-9!@#$%^&*+=~|?]|{_MIXED}|[^\x00-\x7f])"
#: ... and separates a value from words joined by single signs. It is a character not used in words, or a sign without
#: a word after it.
_NO_WORD = rf"[^\t-\r A-Za-z_.'/\"`,;)\]}}({{\[<\\-]|{_MIXED}|[_.'/-](?:[^0-9A-Za-z]|\z)|\\(?:[^\"'`]|\z)"
#: Marks that a value may hold, though they often end it.
_MARKS = r"[,;)\]}]"

#: A type between a name and its assignment sign.
_DECLARED = r"[*&\[\]]*(?:string|str|char|byte|rune|text|varchar|nsstring)[^\n=]*=" + _BLANKS

_QUOTE = r"[bBrRfFuUN@]{0,2}\\?(?:[\"'`“«]|\*\*)+\s*"
#: First character of a quoted secret. It does not start a template or an earlier redaction.
_FIRST = (
    r"(?:[^\t-\r \"'`<{\[]"
    r"|\[(?:[^R]|R(?:[^E]|E(?:[^D]|D(?:[^A]|A(?:[^C]|C(?:[^T]|T(?:[^E]|E(?:[^D]|D[^:])))))))))"
)
#: A type whose constructor gets a literal.
_WRAP = (
    r"(?:(?:\[\](?:byte|rune)|str|string|bytes|buffer\.from|secret|secretstr|secretstring)(?:::from|::new)?\("
    r"|convertto-securestring[ \t]+(?:-string[ \t]+)?)?"
)
_QUOTED = rf"{_WRAP}{_QUOTE}{_FIRST}[^\n]{{2}}"
_QUOTED_RANDOM = (
    rf"{_WRAP}{_QUOTE}(?:[A-Za-z]{{8,}}[\"'`*\\”]|(?:{_FIRST}[^ \n]*)?(?:{_NO_WORD}|{_MARKS})|[^ \n]+ [^ \n]*[0-9])"
)
#: A password's value, and another secret's. Without quotes it is not a bracket, and for other secrets not a variable.
_ANY_VALUE = rf"(?:{_QUOTED}|[^\t-\r \"'`{{(\[<][^\t-\r ]{{2}})"
_RANDOM_VALUE = (
    rf"(?:{_QUOTED_RANDOM}"
    rf"|[A-Za-z][^\t-\r ({{\[<]*(?:{_NO_WORD}|(?:{_MARKS}|[\"'`])[^\t-\r ]|['/][^\t-\r ({{\[<]*[({{\[<])"
    rf"|[a-f]{{8}}|[^\t-\r A-Za-z\"'`{{(\[<$%@&*!?|>\\][^\t-\r ]{{5}})"
)
#: The same inside an element or a table cell.
_ANY_CONTENT = r"[^\t-\r <|][^<|]{2}"
_RANDOM_CONTENT = rf"(?:[A-Za-z]{{8}}|[^ <|]*(?:{_NO_WORD}|{_MARKS})|[\"'`][^ <|]{{2}})"

_BE = (
    r"(?:is|was|are|were|(?:will|should|must|would|could|to)[ \t]+be|it's|that's|here's|ser[íi]a|serait|wäre"
    r"|has[ \t]+been|reads|equals|became|becomes|ist|lautet"
    r"|war|es|est|:|=|->|→|–|—)"
)
_MORE = (
    r"(?:[ \t]+(?:now|still|currently|just|simply|literally|actually|set[ \t]+to|changed[ \t]+to|updated[ \t]+to"
    r"|reset[ \t]+to|rotated[ \t]+to|going[ \t]+to[ \t]+be|called|the[ \t]+following|as[ \t]+follows|this|to))"
)
#: Words in a sentence between a noun and its value, as in prose.py.
_TELLS = (
    r"(?:[ \t]+(?:base|value|string|phrase|nueva|actual))?(?:[ \t]*\([^)\n]+\))?"
    r"(?:,?[ \t]+(?:for|of|to|on|in|at|from|I|we|you|they|that|which|used|using|here|there|between|protecting|behind"
    r"|changed|rotated|reset|updated|für|von|vom|zum|der|des|im|de|del|du|d'acc|d'api|pour|para|por)[^\n\"`]*)?"
    rf"(?:[,;?][ \t]+)?[ \t]*(?:{_BE}{_MORE}{{0,2}}[ \t]*:?[ \t]*|(?:to|as|auf)[ \t]+)"
)


def _given(name: str, value: str, content: str) -> tuple[str, ...]:
    """A secret's ``name`` with ``value`` in code or configuration, or with ``content`` in an element or a table."""
    return (
        rf"{name}{_BEHIND}(?:(?:{_SIGN}|{_DECLARED}){value}|[(,]{_BLANKS}{_QUOTED}|\|{_BLANKS}{content})",
        rf"<[0-9A-Za-z_.-]*{name}{_BEHIND}>\s*{content}",
        rf"<[^<>\n]*[\"']{name}{_BEHIND}>\s*{content}",
        rf"{name}{_BEHIND}\{{[^{{}}\n]*\}}[ \t]*=[ \t]*{_QUOTED}",
        rf"{name}{_BEHIND}\s*\{{[^{{}}]*default\s*=\s*{_QUOTED}",
        rf"--[0-9A-Za-z_.-]*{name}{_BEHIND}{value}",
        rf"{name}{_BEHIND}\s*,?\s*(?:-\s)?[\"']?value[\"']?{_BLANKS}[:=]{_BLANKS}{value}",
    )


def _in_prose(noun: str, quoted: str, bare: str) -> tuple[str, ...]:
    """A secret's ``noun`` followed by a value in a sentence, ``quoted`` or with ``bare`` in it."""
    return (
        rf"{noun}[A-Za-z]*{_TELLS}(?:{quoted}|[^\t-\r ]*{bare})",
        rf"{noun}[A-Za-z]*(?:[ \t]{{1,2}}(?:(?:of|be|to)[ \t]+)?|,[ \t]+)[^ \n]*{bare}",
    )


_WORD_NOUN = rf"{_NAMES_WORD}(?:[A-Za-z]*[ -]keys?)?"

#: "x is the token"
_BEFORE = (
    rf"(?:[\"'`]|{_SYMBOL}[^\t-\r \"'`]*),?{_SPACE}(?:as|is|was|for|=|that's|als|comme|como){_SPACE}"
    r"(?:[^\n]*[^!-~\n])?[A-Za-z]*(?:api[-_])?"
    rf"(?:{_NAMES_WORD}|{_NAMES_RANDOM})"
)
#: "credentials are admin / x"
_PAIR = (
    rf"(?:cred|login|log in|logged in|sign in)[^\n]*[\w.@+-]{{2}}[\"'`]?"
    rf"(?:{_BLANKS}[/:,|]{_BLANKS}|[ \t]+(?:and|with)[ \t]+)[\"'`]?[^\t-\r \"'`]*{_SYMBOL}"
)
#: A seed phrase: three words or more.
_PHRASE = (
    rf"(?:phrase|mnemonic|seed|recovery)[\"'`]?[^\n:=\"'`]*(?:{_SPACE}(?:is|was)\s|\s*[:=]\s*)[\"'`]?"
    r"(?:[a-z]{3,10}[ ,-]+){2}[a-z]{3}"
)

#: A noun, and below it a line that contains only a secret.
_BELOW = (
    rf"(?:{_NAMES_WORD}|{_NAMES_RANDOM})[A-Za-z]*[ \t]*:[ \t]*\n[^0-9A-Za-z]*(?:\w+\s*\n[^0-9A-Za-z]*)?"
    rf"[^ \n]*{_RANDOM}"
)

#: For ``context``.
CONTEXT = "(?i)" + "|".join(
    (
        *_given(_WORD_NOUN, _ANY_VALUE, _ANY_CONTENT),
        *_given(_NAMES_RANDOM, _RANDOM_VALUE, _RANDOM_CONTENT),
        *_in_prose(_WORD_NOUN, _QUOTED, _SYMBOL),
        rf"{_WORD_NOUN}[^\n]*,[ \t]+[^\t-\r ,]*{_SYMBOL}[^\t-\r ,]*,",
        _BELOW,
        *_in_prose(_NAMES_RANDOM, _QUOTED_RANDOM, _RANDOM),
        _BEFORE,
        _PAIR,
        _PHRASE,
    )
)

_MIXTURE = "(?-i:[a-z][A-Z][0-9]|[a-z][0-9][A-Z]|[A-Z][a-z][0-9]|[A-Z][0-9][a-z]|[0-9][a-z][A-Z]|[0-9][A-Z][a-z])"
#: Also for ``context``: a noun and an obvious secret on the same line.
NEAR = rf"(?i)(?:{_NAMES_WORD}|{_NAMES_RANDOM})[^\n]*{_MIXTURE}|{_MIXTURE}[^\n]*(?:{_NAMES_WORD}|{_NAMES_RANDOM})"

#: For ``pem``.
KEY = "-----BEGIN "

_PHONE = r"phone|tel|mobile|cell|call|fax|whatsapp|sms|handy|contact|number is|rufnummer|text me|dial|ring"
_GROUPED = r"[0-9 \t().\x{2010}\x{2011}\x{2013}/-]"
#: A card, a US or Brazilian number, an international or North American phone number, or six digits after a word for a
#: phone.
_DIGITS = (
    r"[0-9](?:[ -]?[0-9]){12}",
    r"[0-9]{3}-[0-9]{2}-[0-9]{4}",
    r"[0-9]{3}\.[0-9]{3}\.[0-9]{3}-[0-9]{2}",
    rf"\+\(?[1-9]{_GROUPED}{{6}}",
    r"[2-9][0-9]{2}(?:\) ?|[ .-])[2-9][0-9]{2}[ .-][0-9]{4}",
    rf"(?i:\b(?:{_PHONE})\b)(?:.|\n)*[0-9]{_GROUPED}{{5}}",
)
#: For the searches of ``pii``.
PERSONAL = {
    "email": r"[0-9A-Za-z!#$%&'*+\-/=?^_`{|}~.]@[0-9A-Za-z](?:[0-9A-Za-z.-]*)\.(?:[A-Za-z]{2}|xn--)",
    "digits": "|".join(_DIGITS),
    "iban": r"\b[A-Z]{2}[0-9]{2}(?:[ -]?[A-Z0-9]){11}",
    "insurance": r"\b[A-Z]{2} ?[0-9]{2} ?[0-9]{2} ?[0-9]{2} ?[A-D]",
    "ipv4": r"[0-9]{1,3}\.[0-9]{1,3}\.[0-9]{1,3}\.[0-9]",
    "ipv6": r"(?:[0-9A-Fa-f]{1,4}:){7}[0-9A-Fa-f]|(?:[0-9A-Fa-f]{1,4}:){2}:|::[0-9A-Fa-f]",
    "mac": r"[0-9A-Fa-f]{2}[:-](?:[0-9A-Fa-f]{2}[:-]){4}[0-9A-Fa-f]{2}",
    "national": rf"(?i)(?:\A|[^0-9a-z])(?:{'|'.join(name.rstrip() for name, _ in national.NAMES)})(?:[^0-9a-z]|\z)",
}
