"""Personal data: identifiers of one person or one machine. Names, roles and preferences are not included.

Without any library it finds e-mail addresses, phone numbers, cards, IBANs, US, UK and Brazilian numbers, and public IP
and MAC addresses, by their check digits and ranges. ``python-stdnum``, if installed, adds other countries'  Most
are plain digits with a check digit, so without a word that names them every tenth would match.
"""

# ruff: noqa: E501 - tables of formats
import re
from collections.abc import Callable
from itertools import islice

from holdfast.text.lazy import Lazy
from holdfast_redaction.patterns import Budget, Hit

#: Length of an IBAN by country. Source: SWIFT IBAN Registry, release 99.
IBAN_LENGTHS = {
    "AD": 24, "AE": 23, "AL": 28, "AT": 20, "AZ": 28, "BA": 20, "BE": 16, "BG": 22, "BH": 22, "BI": 27, "BR": 29, "BY": 28,
    "CH": 21, "CR": 22, "CY": 28, "CZ": 24, "DE": 22, "DJ": 27, "DK": 18, "DO": 28, "EE": 20, "EG": 29, "ES": 24, "FI": 18,
    "FK": 18, "FO": 18, "FR": 27, "GB": 22, "GE": 22, "GI": 23, "GL": 18, "GR": 27, "GT": 28, "HN": 28, "HR": 21, "HU": 28,
    "IE": 22, "IL": 23, "IQ": 23, "IS": 26, "IT": 27, "JO": 30, "KW": 30, "KZ": 20, "LB": 28, "LC": 32, "LI": 21, "LT": 20,
    "LU": 20, "LV": 21, "LY": 25, "MC": 27, "MD": 24, "ME": 22, "MK": 19, "MN": 20, "MR": 27, "MT": 31, "MU": 30, "NI": 28,
    "NL": 18, "NO": 15, "OM": 23, "PK": 24, "PL": 28, "PS": 29, "PT": 25, "QA": 29, "RO": 24, "RS": 22, "RU": 33, "SA": 24,
    "SC": 31, "SD": 18, "SE": 24, "SI": 19, "SK": 24, "SM": 27, "SO": 23, "ST": 25, "SV": 28, "TL": 23, "TN": 24, "TR": 26,
    "UA": 29, "VA": 22, "VG": 24, "XK": 20, "YE": 30,
}  # fmt: skip

#: Payment networks: first and last prefix (inclusive) and the lengths they issue. Source: ISO/IEC 7812 and the
#: networks' published ranges.
_NETWORKS = (
    ("34", "34", (15,)), ("37", "37", (15,)),  # American Express
    ("4", "4", (16,)),  # Visa; its old 13 digits look like a time stamp
    ("51", "55", (16,)), ("2221", "2720", (16,)),  # Mastercard
    ("6011", "6011", (16,)), ("644", "649", (16,)), ("65", "65", (16,)),  # Discover
    ("3528", "3589", (16,)),  # JCB
    ("300", "305", (14,)), ("36", "36", (14,)), ("38", "39", (14,)),  # Diners Club
    ("62", "62", (16, 17, 18, 19)),  # UnionPay
    ("5018", "5018", (16,)), ("5020", "5020", (16,)), ("5038", "5038", (16,)), ("6304", "6304", (16,)), ("6759", "6763", (16,)),  # Maestro
)  # fmt: skip


def is_iban(text: str) -> bool:
    """Whether ``text``, without blanks and in capitals, is an IBAN: its country's length and the remainder 1 by 97."""
    if IBAN_LENGTHS.get(text[:2]) != len(text) or not text.isalnum():
        return False
    return int("".join(str(int(c, 36)) for c in text[4:] + text[:4])) % 97 == 1


def is_cpf(digits: str) -> bool:
    """Whether ``digits`` (11) is a Brazilian CPF: two check digits, not all equal."""
    for size in (9, 10):
        if sum(int(d) * (size + 1 - i) for i, d in enumerate(digits[:size])) * 10 % 11 % 10 != int(digits[size]):
            return False
    return len(set(digits)) > 1


#: Words that name a number, and the modules of stdnum that check it.
NUMBERS: tuple[tuple[tuple[str, ...], str], ...] = (
    (
        ("steuer-id", "steuer-identifikationsnummer", "steueridentifikationsnummer", "idnr", "steuer id"),
        "stdnum.de.idnr",
    ),
    (("bsn", "burgerservicenummer"), "stdnum.nl.bsn"),
    (("dni", "documento nacional"), "stdnum.es.dni"),
    (("nie ", "número de identidad de extranjero"), "stdnum.es.nie"),
    (("codice fiscale", "codicefiscale"), "stdnum.it.codicefiscale"),
    (("nir", "numéro de sécurité sociale", "insee", "securite sociale"), "stdnum.fr.nir"),
    (("rijksregister", "registre national", "national register"), "stdnum.be.nn"),
    (("pesel",), "stdnum.pl.pesel"),
    (("personnummer", "samordningsnummer"), "stdnum.se.personnummer"),
    (("cpr",), "stdnum.dk.cpr"),
    (("fødselsnummer", "fodselsnummer"), "stdnum.no.fodselsnummer"),
    (("hetu", "henkilötunnus", "henkilotunnus"), "stdnum.fi.hetu"),
    (("nhs",), "stdnum.gb.nhs"),
    (("ppsn", "pps number", "pps no"), "stdnum.ie.pps"),
    (("ahv", "avs", "ssn"), "stdnum.ch.ssn"),
    (("nif", "contribuinte"), "stdnum.pt.nif"),
    (("rodné číslo", "rodne cislo", "rodné", "rc"), "stdnum.cz.rc"),
    (("isikukood",), "stdnum.ee.ik"),
    (("cnp",), "stdnum.ro.cnp"),
    (("egn",), "stdnum.bg.egn"),
    (("aadhaar", "aadhar"), "stdnum.in_.aadhaar"),
    (("pan ", "permanent account"), "stdnum.in_.pan"),
    (("tfn", "tax file number"), "stdnum.au.tfn"),
    (("social insurance", "sin "), "stdnum.ca.sin"),
    (("cpf",), "stdnum.br.cpf"),
    (("curp",), "stdnum.mx.curp"),
    (("rfc ",), "stdnum.mx.rfc"),
    (("cuit", "cuil"), "stdnum.ar.cuit"),
    (("rut",), "stdnum.cl.rut"),
    (("身份证", "resident identity", "id card"), "stdnum.cn.ric"),
    (("rrn", "resident registration", "주민등록"), "stdnum.kr.rrn"),
    (("tckn", "t.c. kimlik", "kimlik"), "stdnum.tr.tckimlik"),
    (("teudat", "תעודת"), "stdnum.il.idnr"),
    (("south african id", "sa id"), "stdnum.za.idnr"),
    (("utr", "unique taxpayer"), "stdnum.gb.utr"),
    (("social security", "ssn"), "stdnum.us.ssn"),
    (("itin",), "stdnum.us.itin"),
)

_NUMBER = Lazy(r"(?<!\w)[A-Z0-9](?:[A-Z0-9]|[ ./+-](?=[A-Z0-9])){6,24}(?!\w)", re.ASCII)
#: Maximum distance of a number after its word, in characters.
_REACH = 60


def find_national(text: str, lower: str, hits: list[Hit]) -> None:
    """Add the numbers that follow a word naming them and have the check digits that ``python-stdnum`` knows."""
    from importlib import import_module

    try:
        import stdnum  # noqa: F401
    except ModuleNotFoundError:  # an extra
        return
    for name, module in ((name, module) for names, module in NUMBERS for name in names):
        size = len(name.rstrip())
        at = lower.find(name)
        while at >= 0:
            if not lower[at - 1 : at].isalnum() and not lower[at + size : at + size + 1].isalnum():
                numbers = _NUMBER.finditer(text, at + len(name), min(len(text), at + len(name) + _REACH))
                valid = (match for match in numbers if import_module(module).is_valid(match[0]))
                hits += [Hit(*match.span(), "government", RANK - 1, "government") for match in islice(valid, 1)]
            at = lower.find(name, at + len(name))


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
#: Before a mail's id.
_MAIL_ID = Lazy(r"(?i)\b(?:message-id|in-reply-to|references): ?<$")
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
#: A US social security or taxpayer number. Source: SSA, randomisation of 2011.
_SSN = Lazy(r"(?!000|666)(?:[0-8]\d\d-(?!00)\d\d|9\d\d-[5-9]\d)-(?!0000)\d{4}", re.ASCII)
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


def find(text: str, lower: str, budget: Budget) -> list[Hit]:
    """All identifiers. ``lower`` is ``text`` in lower case, with the same length."""
    hits: list[Hit] = []
    _emails(text, hits)
    budget.check("email")
    if _SIX_DIGITS.search(text) or _TAX_CODE.search(text):
        _groups_of_digits(text, lower, hits)
        budget.check("phone")
        _each(_IBAN, text, hits, "iban", lambda t: is_iban(t.replace(" ", "").replace("-", "")))
        budget.check("iban")
        _each(_NINO, text, hits, "government", lambda t: " " in t or "insurance" in lower or "nino" in lower)
        find_national(text, lower, hits)
        budget.check("government")
    if text.count(".") >= 3:
        _ipv4(text, lower, hits)
    if text.count(":") >= 2:
        _ipv6(text, hits)
    budget.check("ip")
    if text.count(":") >= 5 or text.count("-") >= 5:
        _each(_MAC, text, hits, "mac", _is_machine)
        budget.check("mac")
    return hits


def _each(pattern: re.Pattern[str], text: str, hits: list[Hit], kind: str, ok: Callable[[str], bool]) -> None:
    for match in pattern.finditer(text):
        start, end = match.span()
        if not _joins(text[start - 1 : start]) and not _joins(text[end : end + 1]) and ok(match[0]):
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
            is_url = after != "@" and _URL_USER.search(text, max(0, start - 20), start)
            is_mail = local[-1:] != "}" and not _MAIL_ID.search(text, max(0, start - 20), start)
            if (
                local
                and is_mail
                and not (known or port or is_url or domain[1].lower() in _NO_DOMAIN or "noreply" in domain[0])
            ):
                hits.append(Hit(start, domain.end(), "email", RANK, "email"))
        at = text.find("@", domain.end() if domain else at + 1)


def _groups_of_digits(text: str, lower: str, hits: list[Hit]) -> None:
    """Cards, phone numbers and some national numbers: digits in groups, distinguished by their form."""
    for match in _DIGITS.finditer(text):
        start, end = match.span()
        while start and text[start - 1] in "+(" and match.start() - start < 2:
            start -= 1
        before, after = text[start - 1 : start], text[end : end + 1]
        if before.isalnum() or (before and before in "_.#/-@") or after.isalnum() or after == "_":
            continue
        digits = text[start:end]
        if _SSN.fullmatch(digits) or (_CPF.fullmatch(digits) and is_cpf(re.sub(r"\D", "", digits))):
            hits.append(Hit(start, end, "government", RANK, "government"))
        elif cards := [m for m in _LONG.finditer(text, start, end) if _is_card(m)]:
            hits += [Hit(*m.span(), "card", RANK, "card") for m in cards]
        elif _is_phone(digits, lower[max(0, start - 30) : start]):
            hits.append(Hit(start, end, "phone", RANK, "phone"))


def _is_card(match: re.Match[str]) -> bool:
    """Whether it is a payment card's number, by known network, its length and the check digit of Luhn, not a fraction,
    in one piece or grouped as on cards. Source: ISO/IEC 7812-1, annex B."""
    digits, doubled = re.sub(r"\D", "", match[0]), (0, 2, 4, 6, 8, 1, 3, 5, 7, 9)
    is_known = any(len(digits) in sizes and first <= digits[: len(first)] <= last for first, last, sizes in _NETWORKS)
    checked = sum(map(int, digits[::-2])) + sum(doubled[int(d)] for d in digits[-2::-2])
    fraction = re.search(r"\d\.$", match.string[max(0, match.start() - 2) : match.start()])
    sizes = [len(group) for group in re.split(r"[ -]", match[0])]
    evenly = all(size == 4 for size in sizes[:-1]) or sizes in ([4, 6, 5], [4, 6, 4])
    return evenly and not fraction and is_known and len(set(digits)) > 1 and checked % 10 == 0


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
    if re.fullmatch(r"(?:1[ .-]?)?(?:\([2-9]\d\d\) ?|[2-9]\d\d[ .-])[2-9]\d\d[ .-]\d{4}", number):
        return True  # North American
    return bool(_PHONE_WORD.search(before)) and (
        number[0] in "0(" or len(digits) >= 10 or bool(re.search(r"\d[ .()/-]+\d", number))
    )


def _ipv4(text: str, lower: str, hits: list[Hit]) -> None:
    for match in _IPV4.finditer(text):
        start, end = match.span()
        if text[start - 1 : start] in tuple("0123456789.-_/v=~^<>") and start and text[start - 3 : start] != "://":
            continue
        if text[end : end + 1].isalnum() or (text[end : end + 2][1:].isdigit() and text[end] in ".-"):
            continue
        if not any(word in lower[max(0, start - 12) : start] for word in _VERSION_WORDS) and _identifies(match[0]):
            hits.append(Hit(start, end, "ip", RANK, "ip"))


def _ipv6(text: str, hits: list[Hit]) -> None:
    for match in _IPV6.finditer(text):
        start, end = match.span()
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
