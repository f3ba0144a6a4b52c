"""Check digits and ranges of numbers that identify a person or an account, and other countries' national numbers.

Most national numbers are plain digits with a check digit, so without a word that names them every tenth would match.
"""

# ruff: noqa: E501 - tables of formats
from __future__ import annotations

import re
from functools import lru_cache

from holdfast.text.lazy import Lazy
from holdfast_redaction.patterns import Hit

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


def luhn(digits: str) -> bool:
    """Whether the last digit is the Luhn check digit of the others. Source: ISO/IEC 7812-1, annex B."""
    doubled = (0, 2, 4, 6, 8, 1, 3, 5, 7, 9)
    total = sum(int(d) for d in digits[::-2]) + sum(doubled[int(d)] for d in digits[-2::-2])
    return total % 10 == 0


def is_card(digits: str) -> bool:
    """Whether ``digits`` is a payment card number, by known network, its length and the check digit."""
    for first, last, lengths in _NETWORKS:
        if len(digits) in lengths and first <= digits[: len(first)] <= last:
            return len(set(digits)) > 1 and luhn(digits)
    return False


def is_iban(text: str) -> bool:
    """Whether ``text``, without blanks and in capitals, is an IBAN: its country's length and the remainder 1 by 97."""
    if IBAN_LENGTHS.get(text[:2]) != len(text) or not text.isalnum():
        return False
    return int("".join(str(int(c, 36)) for c in text[4:] + text[:4])) % 97 == 1


def is_ssn(area: str, group: str, serial: str) -> bool:
    """Whether the three parts can be a US social security or taxpayer number. Source: SSA, randomisation of 2011."""
    return area not in ("000", "666") and group != "00" and serial != "0000" and (area < "900" or group >= "50")


def is_cpf(digits: str) -> bool:
    """Whether ``digits`` (11) is a Brazilian CPF: two check digits, not all equal."""
    for size in (9, 10):
        rest = sum(int(d) * (size + 1 - i) for i, d in enumerate(digits[:size])) * 10 % 11 % 10
        if rest != int(digits[size]):
            return False
    return len(set(digits)) > 1


RANK = 20_000

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
    if not _is_installed():
        return
    for name, module in ((name, module) for names, module in NUMBERS for name in names):
        size = len(name.rstrip())
        at = lower.find(name)
        while at >= 0:
            if not lower[at - 1 : at].isalnum() and not lower[at + size : at + size + 1].isalnum():
                _behind(text, at + len(name), module, hits)
            at = lower.find(name, at + len(name))


@lru_cache(1)
def _is_installed() -> bool:
    try:
        import stdnum  # noqa: F401
    except ModuleNotFoundError:  # an extra
        return False
    return True


def _behind(text: str, at: int, module: str, hits: list[Hit]) -> None:
    from importlib import import_module

    check = import_module(module)
    for found in _NUMBER.finditer(text, at, min(len(text), at + _REACH)):
        if check.is_valid(found[0]):
            hits.append(Hit(*found.span(), "government", RANK - 1, "government"))
            return
