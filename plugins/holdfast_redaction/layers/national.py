"""National identification numbers that ``python-stdnum`` can check, next to a word that names them.

Most are plain digits with a check digit, so without the word every tenth number would match.
"""

from __future__ import annotations

import re
from functools import lru_cache

from holdfast.text.lazy import Lazy
from holdfast_redaction.patterns import Hit

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
#: Each name with its module.
NAMES = tuple([(name, module) for names, module in NUMBERS for name in names])

_NUMBER = Lazy(r"(?<!\w)[A-Z0-9](?:[A-Z0-9]|[ ./+-](?=[A-Z0-9])){6,24}(?!\w)", re.ASCII)
#: Maximum distance of a number after its word, in characters.
_REACH = 60


def find(text: str, lower: str, area: tuple[int, int], hits: list[Hit]) -> None:
    """Add the numbers in ``area`` that follow a word naming them and have the right check digits."""
    if not _is_installed():
        return
    start, end = area
    for name, module in NAMES:
        size = len(name.rstrip())
        last = end + len(name) - 1
        at = lower.find(name, start, last)
        while at >= 0:
            if not lower[at - 1 : at].isalnum() and not lower[at + size : at + size + 1].isalnum():
                _behind(text, at + len(name), module, hits)
            at = lower.find(name, at + len(name), last)


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
