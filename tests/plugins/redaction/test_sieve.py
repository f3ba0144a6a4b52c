"""The sieve: with google-re2 the same is found as without it, only sooner."""

from __future__ import annotations

import random
from types import ModuleType

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.plugins.redaction.test_laws import pieces

from holdfast_redaction.engine import WORTH_IMPORTING, Scanner
from holdfast_redaction.layers import sieve as sieve_module
from holdfast_redaction.layers.pii import EVERY

pytest.importorskip("re2", reason="google-re2 is an extra: holdfast-memory[redaction]")

WALLET = "witch collapse practice feed shame open despair creek road again ice least"
#: What turns a text into one that nobody thought of.
ODD = (
    *" \t\n\"'`()[]{}<>|,;:=.-_*\\/#@!?&%$~^+é\u00a0İ“”’0aZ",
    *("[REDACTED:", "password", "token", "is ", "the ", "value: ", "-> ", " = ", "\n\n", "\x0b", "\ud800"),
)


def scanners() -> tuple[Scanner, Scanner]:
    """One that never asks for google-re2, and one that has it from the start."""
    plain, sifting = Scanner(), Scanner()
    plain._searched = None
    sifting._sieve, sifting._searched = sieve_module.load(), None
    assert sifting._sieve
    return plain, sifting


PLAIN, SIFTING = scanners()


def found(scanner: Scanner, text: str) -> list[tuple[int, int, str]]:
    return [(hit.start, hit.end, hit.rule) for hit in scanner.find(text)]


def masked(scanner: Scanner, text: str) -> set[int]:
    return {at for start, end, _ in found(scanner, text) for at in range(start, end)}


def texts(corpus: ModuleType, seed: int) -> list[str]:
    cases = (*corpus.formats(seed), *corpus.assignments(seed), *corpus.prose(seed), *corpus.personal(seed))
    return [case.text for case in (*cases, *corpus.clean(seed))]


def changed(text: str, others: list[str], rng: random.Random) -> str:
    for _ in range(rng.randint(1, 4)):
        at = rng.randint(0, len(text))
        match rng.randrange(4):
            case 0 | 1:
                text = text[:at] + rng.choice(ODD) + text[at:]
            case 2:
                text = text[:at] + text[at + rng.randint(1, 4) :]
            case _:
                text = text + rng.choice(("\n", " ", "")) + rng.choice(others)
    return text


def test_sieve__labelled_texts_and_changed_ones__leaves_nothing_out(corpus: ModuleType) -> None:
    known = texts(corpus, 31)
    rng = random.Random(32)
    for text in (*known, *(changed(rng.choice(known), known, rng) for _ in range(4_000))):
        assert found(SIFTING, text) == found(PLAIN, text), text


@pytest.mark.parametrize("between", ["\n", " ", ""])
def test_sieve__one_long_text__leaves_nothing_out_at_the_ends_of_its_pieces(corpus: ModuleType, between: str) -> None:
    known = texts(corpus, 33)
    for seed in range(4):
        text = between.join(random.Random(seed).sample(known, 400))
        # more may be masked: behind a long value that is no secret the other search goes on later
        assert masked(SIFTING, text) >= masked(PLAIN, text)


@settings(max_examples=300, deadline=None)
@given(st.lists(pieces, max_size=8).map("\n".join))
def test_sieve__any_text__leaves_nothing_out(text: str) -> None:
    assert masked(SIFTING, text) >= masked(PLAIN, text)


def test_sieve__a_value_below_its_name__is_found_over_the_end_of_a_piece() -> None:
    padding = "x" * (sieve_module._PIECE - 20) + "\n"
    text = padding + "- name: API_TOKEN\n  value: q1w2e3r4t5y6\n" + "and so on\n" * 50
    assert [text[start:end] for start, end, _ in found(SIFTING, text)] == ["q1w2e3r4t5y6"]


@pytest.mark.parametrize(
    ("given", "secret"),
    [
        ("- name: API_TOKEN\n  value: q1w2e3r4t5y6", "q1w2e3r4t5y6"),
        ("- name: API_TOKEN,\n\n  'value': 'q1w2e3r4t5y6'", "q1w2e3r4t5y6"),
        ('password = """\nTr0ub4dor&3x\n"""', "\nTr0ub4dor&3x\n"),
        ("<password>\n  Tr0ub4dor&3x\n</password>", "\n  Tr0ub4dor&3x\n"),
        ("| password | Tr0ub4dor\n&3x |", "Tr0ub4dor\n&3x"),
        (f"seed phrase:\n{WALLET}", WALLET),
        (f"seed phrase\n: {WALLET}", WALLET),
        (f"the seed phrase is\n{WALLET}", WALLET),
    ],
)
def test_sieve__a_value_on_another_line_than_its_name__is_found_as_without(given: str, secret: str) -> None:
    text = f"The release went well.\n{given}\nThen we had lunch.\n"
    assert [text[start:end] for start, end, _ in found(PLAIN, text)] == [secret]
    assert found(SIFTING, text) == found(PLAIN, text)


def test_sieve__lines_that_give_nothing__are_left_out_of_their_piece() -> None:
    sieve = SIFTING._sieve
    assert sieve
    text = "the password is kept elsewhere\nDB_PASSWORD=q1w2e3r4t5\nno token was used\n"
    assert [text[start:end] for start, end in sieve.lines(text, text.lower(), 0, len(text), striking=False)] == [
        text.splitlines(True)[1]
    ]


def test_sieve__clean_notes__gives_nothing_to_search() -> None:
    note = "Next: flush the session; src/auth/token.py and commit 3f2a9c1 are done, the token budget is 4000.\n" * 20
    assert SIFTING._sieve
    assert not any(SIFTING._sieve.possible(piece) for _, _, piece in SIFTING._sieve.pieces(note, None))


def test_sieve__names_of_searches__are_those_of_the_search() -> None:
    assert set(sieve_module.needs.PERSONAL) == EVERY


def test_sieve__automata_without_room__are_not_used(monkeypatch: pytest.MonkeyPatch) -> None:
    """They say that nothing matches, and raise nothing."""
    monkeypatch.setattr(sieve_module, "_MEMORY", 300_000)
    assert sieve_module.load() is None


def test_scanner__much_text__takes_google_re2() -> None:
    scanner = Scanner()
    scanner.find("x" * WORTH_IMPORTING)
    assert scanner._sieve is None
    scanner.find("y")
    assert scanner._sieve
