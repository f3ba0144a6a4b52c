"""Layer three: finds values assigned to the names of secrets in code, configuration and prose."""

import re

from holdfast_redaction.layers import assign, names, prose, values
from holdfast_redaction.layers.values import FAINT, PASSWORD, STRONG, WEAK
from holdfast_redaction.patterns import Budget, Hit

#: Ranks after all formats in the table.
RANK = 10_000
_NAME = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-."
_NAME_CHARACTERS = frozenset(_NAME)
_MAX_NAME = 80
#: Ends of a table's column name.
_CELL_ENDS = ("", ",", ";", "\t", "|", "\n", "\r")
#: A longer unquoted value that is not a secret is skipped up to this length.
_LONG = 64
#: Nouns that name a secret only with the word before them: "api key".
_TWO_WORDS = ("key", "keys", "phrase", "token", "code", "pin", "seed")
#: Words before a noun that do not say which kind of token or key it is.
_SMALL_WORDS = frozenset("""
    the a an my our your his her its their this that each every any no of to for with and or in is as by on at from per
    new old one
""".split())  # fmt: skip  # noqa: SIM905
_CREDENTIALS = ("credentials", "creds", "credential", "login", "logins", *names.LOGINS)
#: Nouns that suffice in a sentence with a striking value. Others need a word before them: "signing key".
_TELLING = ("token", "tokens", "secret", "secrets", "credential", "credentials", "creds")


def find(text: str, lower: str, budget: Budget, heads: list[int]) -> list[Hit]:
    """All values of secrets' names. ``lower`` is ``text`` in lower case, of the same length. Adds the offsets of names
    that may head a column to ``heads``."""
    hits: list[Hit] = []
    seen: set[int] = set()
    for hint in names.HINTS if text.isascii() else (*names.HINTS, *names.FOREIGN_HINTS):
        at = lower.find(hint)
        while at >= 0:
            first, after = _name_around(text, at, at + len(hint))
            if first not in seen:
                seen.add(first)
                if text[after : after + 3].lstrip(" \"'*")[:1] in _CELL_ENDS:
                    heads.append(first)
                hit, through = _look(text, lower, first, after)
                if hit:
                    hits.append(hit)
                after = max(after, through)
            at = lower.find(hint, max(after, at + 1))
        budget.check(hint)
    return hits


def _name_around(text: str, start: int, end: int) -> tuple[int, int]:
    """The identifier around ``text[start:end]``, or the word in an alphabet."""
    if text[start - 1 : start] in _NAME_CHARACTERS:
        before = text[start - _MAX_NAME if start > _MAX_NAME else 0 : start]
        start -= len(before) - len(before.rstrip(_NAME))
    if text[end : end + 1] in _NAME_CHARACTERS:
        after = text[end : end + _MAX_NAME]
        end += len(after) - len(after.lstrip(_NAME))
        end = start + len(text[start:end].rstrip(".-"))
    while "\x7f" < text[end : end + 1] < "\u2e80" and text[end].isalpha():
        end += 1
    return start, end


def _look(text: str, lower: str, start: int, end: int) -> tuple[Hit | None, int]:
    """The secret with the name at ``text[start:end]``, and the offset where the search continues. Names inside a value
    are part of it."""
    name = text[start:end]
    flag = name.startswith("-")
    bare = name.lstrip("-.")
    noun = lower[start:end]
    masked = text.endswith(values.MARK, 0, start)  # the rule's id in an earlier redaction
    if noun.endswith(prose.PHRASES):
        row = prose.phrase_behind(lower, end, noun)
        if row and not masked:
            return _hit(row, bare, PASSWORD), row.end
    strength, only_prose = _strength(text, lower, start, end, bare)
    if not strength or masked or _in_arn(text, start):
        return None, end
    if flag and strength == WEAK:
        strength = STRONG
    value = None if only_prose else assign.value_of(text, start, end, flag=flag)
    if value and _accept(text, value, strength, name):
        return _hit(value, bare, strength), value.end
    if value and not value.quoted:
        end = max(end, min(value.start + _LONG, value.end) if value.end - value.start > _LONG else end)
    is_word = name.replace(" ", "").isalpha() or noun in ("api-key", "api_key", "apikey")
    if noun in _CREDENTIALS or (is_word and (strength > FAINT or noun in _TWO_WORDS)) or strength >= STRONG:
        if noun in ("pass", "pw"):
            strength = PASSWORD
        after = start + len(name)
        # Judged above, or masked, so nothing else is given here.
        is_settled = value is not None and (value.quoted or text.startswith(values.MARK, value.start))
        if noun in _CREDENTIALS:
            value = prose.pair_near(text, lower, after, signs="auth" in noun)
        else:
            value = None if is_settled else prose.value_behind(text, lower, after, strength, noun)
            if value is None and is_word and not only_prose:
                value = prose.value_before(text, lower, start, strength, noun)
        if value is None and not is_settled and (strength >= STRONG or noun in _TELLING):
            value = prose.value_near(text, start, after, PASSWORD if noun in _CREDENTIALS else strength)
        content = text[value.start : value.end] if value else ""
        if value and values.MARK not in content and not _is_assignment(content) and not prose.is_public(text, value):
            return _hit(value, bare, strength), value.end
    return None, end


def _strength(text: str, lower: str, start: int, end: int, bare: str) -> tuple[int, bool]:
    """The confidence that the name at ``text[start:end]`` names a secret, and whether only prose can assign it."""
    noun = lower[start:end]
    if noun in _TWO_WORDS and text[start - 1 : start] in (" ", "-"):
        before = re.split(r"\W", lower[max(0, start - 31) : start - 1])[-1]
        if before and before not in _SMALL_WORDS:
            return names.strength(f"{before}_{noun}"), False
        # Of what, the sentence may have told before: "with key ...".
        if noun == "key" and text.startswith((" ", ":\n"), end):
            return FAINT, True
    return names.strength(bare), False


def _accept(text: str, value: assign.Value, strength: int, name: str) -> bool:
    content = text[value.start : value.end]
    if value.sep == "=" and strength == WEAK and name.isupper():
        strength = STRONG
    if not values.can_be_secret(content, strength, quoted=value.quoted) or _is_assignment(content):
        return False
    if content.isalpha() and not value.quoted and names.is_foreign(name.lower()):  # a word of that language, too
        return False
    if value.sep == "=" and content.isalpha() and name.isupper() and text.endswith("= ", 0, value.start):
        return _ends_statement(text, value.end)  # "DB_PASSWORD= make test" gives nothing
    if value.sep in ("(", ","):  # a call may also be given a name or a message
        return values.is_random(content) or (strength == PASSWORD and values.has_secret_mix(content))
    if value.sep == "?" and not value.quoted:
        return values.has_secret_mix(content)
    if value.sep == " ":
        return not content.startswith("id=") and (name.startswith("--") or values.has_secret_mix(content))
    if not value.quoted and content.isalpha() and value.sep == ":":
        return _ends_statement(text, value.end)
    return True


def _is_assignment(content: str) -> bool:
    """Whether the value is itself an unassigned secret's name: "it is a secret: `API_KEY=`"."""
    name = content[:-1]
    return content[-1] in "=:" and ("_" in name or name.isupper()) and name.isidentifier() and names.strength(name) > 0


def _ends_statement(text: str, at: int) -> bool:
    """Whether only one plain word follows a colon: "password: swordfish", not "password: minimum length"."""
    rest = text[at : at + 60].split("\n", 1)[0].strip().strip(" \t.,;)|").lstrip()
    if not rest or rest.startswith(("#", "//", '"', "'", "}")):
        return True
    following = rest.split(maxsplit=1)[0]
    return following.endswith((":", "=")) or "=" in following or rest.startswith(("user", "login", "host"))


def _in_arn(text: str, at: int) -> bool:
    """Whether the name is part of an AWS resource name: "arn:aws:secretsmanager:...:secret:name"."""
    return text[at - 1 : at] == ":" and text[max(0, at - 100) : at].rsplit(maxsplit=1)[-1].lstrip("\"'`(<").startswith(
        "arn:"
    )


def _hit(value: assign.Value, name: str, strength: int) -> Hit:
    low = name.lower()
    rule = "password" if strength == PASSWORD else "token" if "token" in low else "key" if "key" in low else "secret"
    return Hit(value.start, value.end, rule, RANK)
