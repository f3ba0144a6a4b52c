"""A long text is searched in chunks: what is found is the same as in one search, wherever a secret is."""

import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from holdfast import Holdfast
from holdfast.validation import CHUNK_CHARS, ValidationRequest
from holdfast_app.message_formats.leaves import MAX_CALL_CHARS, MAX_RESULT_CHARS, call_text, clip
from holdfast_redaction import redact
from holdfast_redaction.engine import Scanner

#: Made up, in the published forms.
PEM = "-----BEGIN RSA PRIVATE KEY-----\n" + "MIIEpAIBAAKCAQEA7bq2hX9sT4\n" * 40 + "-----END RSA PRIVATE KEY-----"
SECRETS = [
    "ghp_" + "A1b2C3d4E5f6G7h8I9j0K1l2M3n4O5p6Q7r8",
    'password = "n0tAW0rd-9xKq"',
    "The password of the database is\n  c0rrect-H0rse-77xZ",
    "https://jane:s3cr3tPa55@db.corp.dev/app",
    "jane.miller@corp-mail.dev",
    "DE89 3704 0044 0532 0130 00",
    "4111 1111 1111 1111",
    PEM,
    PEM.replace("\n", "\\n"),
    PEM[:500],
]
LINES = "def read(path):\n    return 1\nThe tests pass now.\nkey value token order\n" * 60
WORDS = "alpha beta gamma delta order value " * 80
FILLERS = (LINES, WORDS, "abcdefghij" * 240)


def places(hits):
    return [(hit.start, hit.end, hit.rule, hit.kind) for hit in hits]


@settings(max_examples=25)
@given(data=st.data())
def test_chunks__any_text_with_secrets__are_one_search(data):
    drawn = data.draw(
        st.lists(st.tuples(st.integers(0, 2), st.integers(0, 900), st.integers(0, len(SECRETS) - 1)), min_size=1)
    )
    text = "".join(f"{FILLERS[f][:length]} {SECRETS[s]}\n" for f, length, s in drawn) + LINES[:600]
    size = data.draw(st.integers(200, 900))
    *steps, hits = Scanner().in_chunks(text, size)
    assert len(steps) >= len(text) // size
    assert places(hits) == places(Scanner().find(text))


def test_on_validate__five_million_characters__masked_like_a_short_text(tmp_path):
    chance = random.Random(3)
    length = 5_000_000
    places = [*sorted(chance.sample(range(length // 5000), 5)), CHUNK_CHARS // 5000]
    lines = [("filler words of no meaning " * 185)[:4999] for _ in range(length // 5000)]
    for place in places:
        lines[place] += SECRETS[0]
    text = "\n".join(lines)
    with Holdfast.open(tmp_path) as memory:
        stored = memory.session("one").add("user", text)
        found = memory.services.gate.findings(ValidationRequest("journal", "", text))
    assert SECRETS[0] not in stored.text
    assert stored.text.count("[REDACTED:github-token:") == len(set(places))
    assert [text.count("\n", 0, f.span[0]) + 1 for f in found] == [f.line for f in found]


TOKEN = SECRETS[0]
PARTS = (TOKEN[:8], TOKEN[-8:])


@pytest.mark.parametrize("between", [" ", "\n", '"', ","])
def test_clip__secret_at_the_cut__no_part_of_it_is_left(between):
    rest = f"{between}y" * MAX_RESULT_CHARS
    for before in range(1_860, 1_935, 3):
        start = "x" * before + between + TOKEN
        for text in (start + rest, rest[::-1] + start[::-1].replace(TOKEN[::-1], TOKEN)):
            excerpt = clip(text)
            assert len(excerpt) <= MAX_RESULT_CHARS
            assert not [part for part in PARTS if part in redact(excerpt)], before


def test_call_text__secret_at_the_end_of_the_first_line__no_part_of_it_is_left():
    for before in range(MAX_CALL_CHARS - 60, MAX_CALL_CHARS):
        said = redact(call_text("Bash", {"command": "x" * before + f" {TOKEN} " + "y " * 200}))
        assert not [part for part in PARTS if part in said], before
