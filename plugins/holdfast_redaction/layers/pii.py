"""Personal data: identifiers of one person or one machine. Names, roles and preferences are not included.

Without any library it finds e-mail addresses, phone numbers, cards, IBANs, US, UK and Brazilian numbers, and public IP
and MAC addresses. ``python-stdnum``, if installed, adds other countries' numbers.
"""

from __future__ import annotations

import re

from holdfast.text.lazy import Lazy
from holdfast_redaction.layers import numbers
from holdfast_redaction.patterns import Budget, Hit

#: Ranks after all secrets, because an address in a connection string belongs to that.
RANK = 20_000

_LOCAL = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789!#$%&'*+-/=?^_`{|}~.")
_DOMAIN = Lazy(
    r"@(?:[A-Za-z0-9](?:[A-Za-z0-9-]{0,61}[A-Za-z0-9])?\.){1,8}([A-Za-z]{2,24}|xn--[A-Za-z0-9-]{2,59})\b", re.ASCII
)
#: Mailboxes of programs, and example addresses.
_NO_PERSON = Lazy(
    r"(?i)(?:no-?reply|do-?not-?reply|git|hg|svn|ssh|mailer-daemon|postmaster|notifications?|bot|you|your[a-z._-]*|name|email|e-mail|someone|user(?:name)?|me|x+)"
)
#: Before the user name of a URL, as in ``ssh://ann@host.dev``.
_URL_USER = Lazy(r"(?i)[a-z][a-z0-9+.-]*://$")
#: Endings after ``@`` in a package or file name rather than a mail address.
_NO_DOMAIN = frozenset("""
    internal js json jsx local localhost lock md png py service sh socket svg timer toml ts tsx txt yaml yml
""".split())  # fmt: skip  # noqa: SIM905
_EXAMPLE = Lazy(r"(?i)@(?:[a-z0-9-]+\.)*(?:example\.(?:com|org|net)|example|test|invalid)$")

# `re` skips to the next character of a class twice as fast when the class comes first without a repetition.
_DIGITS = Lazy(r"\d[\d \t().\u2010\u2011\u2013/-]{5,40}\d", re.ASCII)
_IPV4 = Lazy(r"\d\d{0,2}\.\d{1,3}\.\d{1,3}\.\d{1,3}", re.ASCII)
#: A possible IPv6 address from its first colon on.
_IPV6 = Lazy(r":[0-9A-Fa-f]{0,4}:[0-9A-Fa-f:]{1,40}", re.ASCII)
_MAC = Lazy(r"[0-9A-Fa-f][0-9A-Fa-f]([:-])(?:[0-9A-Fa-f]{2}\1){4}[0-9A-Fa-f]{2}", re.ASCII)
_IBAN = Lazy(r"[A-Z][A-Z]\d{2}(?:[ -]?[A-Z0-9]{2,4}){2,8}(?:[ -]?[A-Z0-9]{1,3})?", re.ASCII)
_NINO = Lazy(r"[A-CEGHJ-PR-TW-Z][A-CEGHJ-NPR-TW-Z] ?\d{2} ?\d{2} ?\d{2} ?[A-D]", re.ASCII)
_SSN = Lazy(r"(\d{3})-(\d{2})-(\d{4})", re.ASCII)
_CPF = Lazy(r"\d{3}\.\d{3}\.\d{3}-\d{2}", re.ASCII)

_PHONE_WORD = Lazy(
    r"\b(?:phone|tel|mobile|cell|call|fax|whatsapp|sms|handy|contact|number is|rufnummer|text me|dial|ring)\b"
)
_VERSION_WORDS = (
    "version", "release", "build", " v", "==", ">=", "~=", "firmware", "driver", "upgrade", "rev", "chrome/", "oid",
)  # fmt: skip
#: Six digits with at most a few signs between, or letters and two digits as in an Italian tax code. Every identifying
#: number has at least one such sequence.
_SIX_DIGITS = Lazy(r"\d(?:[ ./()\t-]{0,3}\d){5}", re.ASCII)
_TAX_CODE = Lazy(r"[A-Z][A-Z]{3}\d\d", re.ASCII)
_LONG = Lazy(r"\d(?:[ -]?\d){12,18}", re.ASCII)


def find(text: str, lower: str, kinds: frozenset[str], budget: Budget) -> list[Hit]:
    """All identifiers of the given kinds. ``lower`` is ``text`` in lower case, with the same length."""
    hits: list[Hit] = []
    if "email" in kinds:
        _emails(text, hits)
        budget.check("email")
    if _SIX_DIGITS.search(text) or _TAX_CODE.search(text):
        _groups_of_digits(text, lower, kinds, hits)
        budget.check("phone")
        if "iban" in kinds:
            _each(_IBAN, text, hits, "iban", lambda t: numbers.is_iban(t.replace(" ", "").replace("-", "")))
            budget.check("iban")
        if "government" in kinds:
            _each(_NINO, text, hits, "government", lambda t: " " in t or "insurance" in lower or "nino" in lower)
            numbers.find_national(text, lower, hits)
            budget.check("government")
    if "ip" in kinds:
        if text.count(".") >= 3:
            _ipv4(text, lower, hits)
        if text.count(":") >= 2:
            _ipv6(text, hits)
        budget.check("ip")
    if "mac" in kinds and (text.count(":") >= 5 or text.count("-") >= 5):
        _each(_MAC, text, hits, "mac", _is_machine)
        budget.check("mac")
    return hits


def _each(pattern: Lazy, text: str, hits: list[Hit], kind: str, ok: Callable[[str], bool]) -> None:
    for found in pattern.finditer(text):
        start, end = found.span()
        if not _joins(text[start - 1 : start]) and not _joins(text[end : end + 1]) and ok(found[0]):
            hits.append(Hit(start, end, kind, RANK, kind))


def _joins(character: str) -> bool:
    """Whether the text next to a number makes it part of something longer."""
    return character.isalnum() or character in ("_", ":", "-")


def _emails(text: str, hits: list[Hit]) -> None:
    at = text.find("@")
    while at >= 0:
        start = at
        while start > 0 and at - start < 64 and text[start - 1] in _LOCAL:
            start -= 1
        while start < at and text[start] in "./=&?'`{|*-+~":
            start += 1
        domain = _DOMAIN.match(text, at) if start < at else None
        if domain:
            local = text[start:at].rpartition("=")[2].rpartition("/")[2]
            start = at - len(local)
            known = _NO_PERSON.fullmatch(local) and (
                _EXAMPLE.search(domain[0])
                or not re.fullmatch(r"(?i)(?:you.*|name|e-?mail|someone|user(?:name)?|me|x+)", local)
            )
            after = text[domain.end() : domain.end() + 1]
            port = after == ":" and local in ("git", "hg")
            url = after != "@" and _URL_USER.search(text, max(0, start - 20), start)
            if local and not (known or port or url or domain[1].lower() in _NO_DOMAIN or "noreply" in domain[0]):
                hits.append(Hit(start, domain.end(), "email", RANK, "email"))
        at = text.find("@", domain.end() if domain else at + 1)


def _groups_of_digits(text: str, lower: str, kinds: frozenset[str], hits: list[Hit]) -> None:
    """Cards, phone numbers and some national numbers: digits in groups, distinguished by their form."""
    for found in _DIGITS.finditer(text):
        start, end = found.span()
        while start and text[start - 1] in "+(" and found.start() - start < 2:
            start -= 1
        before, after = text[start - 1 : start], text[end : end + 1]
        if before.isalnum() or (before and before in "_.#/-@") or after.isalnum() or after == "_":
            continue
        digits = text[start:end]
        ssn = _SSN.fullmatch(digits) if "government" in kinds else None
        if (ssn and numbers.is_ssn(*ssn.groups())) or (
            "government" in kinds and _CPF.fullmatch(digits) and numbers.is_cpf(re.sub(r"\D", "", digits))
        ):
            hits.append(Hit(start, end, "government", RANK, "government"))
        elif "card" in kinds and (cards := [m for m in _LONG.finditer(text, start, end) if _is_card(m)]):
            hits += [Hit(*m.span(), "card", RANK, "card") for m in cards]
        elif "phone" in kinds and _is_phone(digits, lower[max(0, start - 30) : start]):
            hits.append(Hit(start, end, "phone", RANK, "phone"))


def _is_card(found: re.Match[str]) -> bool:
    fraction = re.search(r"\d\.$", found.string[max(0, found.start() - 2) : found.start()])
    return not fraction and numbers.is_card(re.sub(r"\D", "", found[0])) and _evenly(found[0])


def _evenly(number: str) -> bool:
    """Whether the digits are in one piece or grouped as on cards."""
    sizes = [len(g) for g in re.split(r"[ -]", number)]
    return len(sizes) == 1 or all(s == 4 for s in sizes[:-1]) or sizes in ([4, 6, 5], [4, 6, 4])


def _is_phone(number: str, before: str) -> bool:
    digits = re.sub(r"\D", "", number)
    if (
        not 7 <= len(digits) <= 15
        or re.match(r"\d{4}[-/.]\d{1,2}[-/.]\d{1,2}|\d{1,2}[-/.]\d{1,2}[-/.]\d{4}|\d+(?:\.\d+)+$", number)
        or re.search(r"\d{4}-\d\d-\d\d", number)
        or len(set(digits)) < 3
    ):
        return False
    if number.startswith("+"):
        return len(digits) >= 8 and digits[0] != "0" and not re.fullmatch(r"\+\d{8}", number)
    north_american = re.fullmatch(r"(?:1[ .-]?)?(?:\([2-9]\d\d\) ?|[2-9]\d\d[ .-])[2-9]\d\d[ .-]\d{4}", number)
    if north_american:
        return True
    return bool(_PHONE_WORD.search(before)) and (
        number[0] in "0(" or len(digits) >= 10 or bool(re.search(r"\d[ .()/-]+\d", number))
    )


def _ipv4(text: str, lower: str, hits: list[Hit]) -> None:
    for found in _IPV4.finditer(text):
        start, end = found.span()
        if text[start - 1 : start] in tuple("0123456789.-_/v=~^<>") and start and text[start - 3 : start] != "://":
            continue
        if text[end : end + 1].isalnum() or (text[end : end + 2][1:].isdigit() and text[end] in ".-"):
            continue
        if not any(word in lower[max(0, start - 12) : start] for word in _VERSION_WORDS) and _identifies(found[0]):
            hits.append(Hit(start, end, "ip", RANK, "ip"))


def _ipv6(text: str, hits: list[Hit]) -> None:
    for found in _IPV6.finditer(text):
        start, end = found.span()
        first = start
        while start > 0 and first - start < 4 and text[start - 1] in "0123456789abcdefABCDEF":
            start -= 1
        beside = text[start - 1 : start] + text[end : end + 1]
        if not any(c.isalnum() or c in "_:" for c in beside) and end - start > 7 and _identifies(text[start:end]):
            hits.append(Hit(start, end, "ip", RANK, "ip"))


#: Addresses of public services, namely the resolvers of Google, Cloudflare, Quad9 and OpenDNS.
_PUBLIC_SERVICES = frozenset(
    ("8.8.8.8", "8.8.4.4", "1.1.1.1", "1.0.0.1", "9.9.9.9", "208.67.222.222", "208.67.220.220")
)


def _identifies(address: str) -> bool:
    """Whether an IP address is public and so identifies a machine. Loopback, private, link-local, documentation and
    multicast addresses do not."""
    import ipaddress

    if address in _PUBLIC_SERVICES:
        return False
    try:
        parsed = ipaddress.ip_address(address)
    except ValueError:
        return False
    return parsed.is_global and not parsed.is_multicast


def _is_machine(address: str) -> bool:
    """Whether a MAC address is globally unique to one card. Source: IEEE 802, the U/L and I/G bits; RFC 7042 2.1.2."""
    first = int(address[:2], 16)
    low = address.replace("-", ":").lower()
    return not first & 3 and not low.startswith("00:00:5e:00:53") and len(set(low)) > 3


TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
