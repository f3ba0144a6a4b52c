"""Which standing rule a user's sentence withdraws. In doubt none: a rule too many does less harm."""

import re
from collections.abc import Collection, Iterable
from typing import Final

from holdfast.text.lazy import Lazy
from holdfast_app.sentences import vocabulary as v

_BEGIN: Final = "No longer a rule: “"
#: The first ones are enough to point at a rule. The others are more often about the code.
_POINT: Final = r"(?:rule|instruction|regel|anweisung|r[èe]gle|regla|规则|规定)"
_NOUN: Final = (
    rf"(?:(?:{_POINT}|requirement|convention|restriction|policy|vorgabe|consigne|norma)s?(?!\w)|规[则定]|要求)"
)
_FORGET: Final = (
    r"(?:forget(?: about)?|scrap|disregard|revoke|withdraw|(?:drop|cancel|lift)(?! \w+ \w+\W*$)|vergiss|streiche?"
    r"|oublie[zr]?|olvid[ae]|取消|忘掉|忘了|忘记|废除|撤销)"
)
_OVER: Final = (
    r"(?:no longer (?:applies|apply|holds?|counts?|stands?)|(?:does not|doesn['’]t) (?:apply|hold|count) any ?more"
    r"|is (?:no longer (?:valid|in force|in effect|needed)|off|void|withdrawn|cancell?ed|obsolete|lifted)"
    r"|(?:gilt|zählt)(?: \w+)? nicht mehr|ist (?:hinfällig|aufgehoben|gestrichen)|ne s['’]applique plus|ne vaut plus"
    r"|n['’]est plus (?:valable|en vigueur)|est (?:annulée|caduque|levée)|ya no (?:se aplica|aplica|vale|rige)"
    r"|queda (?:anulada|sin efecto)|作废|取消|不再适用|不适用了|失效|废除)"
)
#: A sentence about a rule. The groups are the words that say which one.
_RULE: Final = (
    rf"{_FORGET}(.*?){_NOUN}(.*)",
    rf"(.*?\b|.*?){_NOUN}(.*?){_OVER}[了吧]*(.*)",
    rf"(?:ab \w+ )?gilt\b(.*?){_NOUN}(.*?)\bnicht mehr(.*)",
    r"i(?:['’]ve| have)? changed my mind (?:about|on)\b(.+)",
    rf"{_FORGET},? (?:what i (?:said|told you) about|was ich (?:über|zu)|lo que dije sobre)\b(.+?)(?: gesagt habe)?",
)
#: A sentence about what need not be done any more. The group is what.
_NO_NEED: Final = (
    r"(?:you|we) (?:no longer (?:need|have) to|(?:can|may) stop)\b(.*)",
    r"(?:(?:you|we) (?:do not|don['’]t) (?:need|have)|(?:there(?:['’]s| is) )?no need) to\b(?=.* any ?more)(.*)",
    r"(?:du|ihr|wir) (?:musst|müsst|müssen|brauchst|braucht|brauchen)\b(.*?)\bnicht mehr\b(.*)",
    r"(?:(?:tu n['’]as|vous n['’]avez|on n['’]a) )?plus besoin (?:de |d['’])(.*)",
    r"ya no (?:hace falta|es necesario|hay|tienes|tenemos|necesitas)(?: que)?\b(.*)",
)
#: The same, or a rule of its own when it withdraws none.
_STOP: Final = (
    r"stop (?=\w+ing\b)(.*)",
    r"(?:以后|今后|现在|从现在起)*(?:你|我们)?(?:不用|不必|不需要|无需|不再需要)再?(.*?)了",
    r"(?:以后|今后)(?:不用|不必|不需要|无需)(.*)",
)
_FORMS: Final = [(Lazy(form, re.IGNORECASE), kind) for kind in (_RULE, _NO_NEED, _STOP) for form in kind]
#: Where, or until when, a rule does not hold. So it stays.
_LIMIT: Final = Lazy(
    r"\b(?:if|when|while|unless|until|except|only|but|for now|right now|today|this time|here|yet|wenn|falls|bis|außer"
    r"|nur|heute|diesmal|hier|vorerst|erstmal|si|quand|sauf|pour l['’]instant|aujourd['’]hui|cette fois|ici|cuando"
    r"|salvo|excepto|s[óo]lo|por ahora|hoy|esta vez|aquí)\b|如果|要是|除非|除了|的时候|这次|今天|暂时|先|只|但",
    re.IGNORECASE,
)
#: What forbids something is not withdrawn by a sentence that it need not be done.
_FORBIDS: Final = Lazy(r"\b(?:never|not|no|nie|nicht|kein\w*|jamais|pas|nunca)\b|n['’]t\b|[不别勿]|禁止", re.IGNORECASE)
#: When to do what a rule orders is not what it orders.
_WHEN: Final = Lazy(
    r"\b(?:before|after|when|whenever|if|once|bevor|vor|nach|wenn|avant|après|quand|antes de|después de|cuando)"
    r"(?: \S+){1,2}|[^，。]{1,8}?(?:之前|之后|前|时)",
    re.IGNORECASE,
)
_WORD: Final = Lazy(r"[\u4e00-\u9fff]|[^\W_\u4e00-\u9fff]+")
_CLAUSE: Final = Lazy(r"\s*(?:[,;:(—，；：。](?! was ich )|[.!](?!\w))\s*")
_LEAD: Final = Lazy(r"^(?:(?:ok(?:ay)?|so|and|also|please|bitte|und|et|y|por favor)\b\W*|请)+", re.IGNORECASE)
_SEVERAL: Final = Lazy(r"[.!?] +\S|[。！？].")
_EMPTY: Final = v.EMPTY | v.PLACES.keys() | v.QUANTIFIERS | v.BE
_LIGHT: Final = frozenset(v.stem(word)[:5] for word in v.LIGHT)


def line(rule: str, sentence: str) -> str:
    """The entry among a flush's rules by which the user's ``sentence`` withdraws ``rule``."""
    return f"{_BEGIN}{rule}” The user: “{sentence}”"


def is_line(text: str) -> bool:
    """Whether ``text`` was made by :func:`line`."""
    return text.startswith(_BEGIN)


def ended(text: str, rules: Iterable[str]) -> list[str]:
    """Those of ``rules`` that the entry ``text`` withdraws."""
    return [rule for rule in rules if text.startswith(f"{_BEGIN}{rule}” ")]


def find(sentence: str, rules: Collection[str], stated: Collection[str]) -> str | None:
    """The only one of ``rules`` that ``sentence`` withdraws, which is named by its own words or as "that rule", when
    there is no other, or no other was ``stated`` in the session. Empty when it withdraws a rule that is not known, and
    None when it withdraws none."""
    if sentence.rstrip().endswith(("?", "？")) or _LIMIT.search(sentence):
        return None
    for clause in _CLAUSE.split(sentence):
        clause = _LEAD.sub("", clause)
        for form, kind in _FORMS:
            if hit := form.fullmatch(clause):
                named = _words(" ".join(filter(None, hit.groups())))
                matches = [rule for rule in rules if _is_named(named, rule, kind)]
                if not named and kind is _RULE and re.search(_POINT, clause, re.IGNORECASE):
                    matches = [rule for rule in rules if len(rules) == 1 or rule in stated]
                if len(matches) == 1:
                    return matches[0]
                is_limited = not matches and any(named & _words(rule) for rule in rules)
                return None if is_limited or kind is _STOP else ""
    return None


def _is_named(named: frozenset[str], rule: str, kind: tuple[str, ...]) -> bool:
    """Whether all the words are the rule's, and enough for that kind: one word of an order may be about another."""
    if _SEVERAL.search(rule) or named - _words(rule) - _LIGHT or (kind is not _RULE and _FORBIDS.search(rule)):
        return False
    shared = named & _words(rule if kind is _RULE else _WHEN.sub(" ", rule))
    weight = sum(1 if word.isascii() or len(word) > 1 else 0.5 for word in shared)
    return weight >= (1 if kind is _RULE else 1.5)


def _words(text: str) -> frozenset[str]:
    """The stems of the words that name something, Chinese characters one by one."""
    return frozenset(v.stem(word)[:5] for word in _WORD.findall(text.casefold()) if word not in _EMPTY)
