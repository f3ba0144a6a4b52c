"""What is asked of every value: the short ways to an answer give the answer of the long ones."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from holdfast_redaction import redact, values

words = st.text("abcXYZ019_-", max_size=24) | st.sampled_from(
    ["env", "secret", "secrets", "projects", "vault", "a-b", "file", "x-y_z", "py", "key"]
)
phrases = st.lists(
    st.sampled_from(
        ["change", "me", "this", "my", "your", "the", "an", "insert", "api", "token", "key", "secret", "x", "here"]
    ),
    min_size=1,
    max_size=5,
).flatmap(lambda found: st.sampled_from("-_ .").map(lambda between: between.join(found)))


@settings(max_examples=300, deadline=None)
@given(words)
def test_is_reference__a_word_without_other_signs__is_one_only_as_a_keyword_of_code(word: str) -> None:
    assert values._REFERENCE.fullmatch(word) is None
    assert values.is_reference(word) == (word in values._KEYWORDS)


@settings(max_examples=300, deadline=None)
@given(phrases)
def test_is_placeholder__two_words_that_stand_for_a_value__is_one(phrase: str) -> None:
    assert values.is_placeholder(phrase) or not values._STAND.search(phrase)


@settings(max_examples=300, deadline=None)
@given(st.text("aZ09!#|é²٣ ", max_size=12))
def test_has_secret_mix__any_value__is_a_letter_with_a_digit_or_a_symbol(value: str) -> None:
    letters = any(c.isalpha() for c in value)
    assert values.has_secret_mix(value) == (letters and any(c.isdigit() or c in "!@#$%^&*+=~|?" for c in value))


@pytest.mark.parametrize("text", ["REPLACE", "xxx", "xXx", "XXXXXXXX", "abcxxxxxdef", "aaaaaaaaaaaaaaaa", "abababab"])
def test_is_placeholder__one_piece_that_stands_for_a_value__is_one(text: str) -> None:
    assert values.is_placeholder(text)


@pytest.mark.req("R240")
def test_redact__a_sentence_in_capitals__is_read_like_any_other() -> None:
    secret = "N0TSOS3" + "CURE9"
    assert secret not in redact(f"SET THE ADMIN PASSWORD TO {secret} YESTERDAY")
    assert secret not in redact(f"USE {secret} AS THE PASSWORD")


def test_redact__a_value_that_is_masked__what_the_sentence_says_before_it_is_found() -> None:
    masked = redact("Tr0ub4dor&3 is the password: [REDACTED:password:12ab]")
    assert "Tr0ub4dor" not in masked


@pytest.mark.parametrize("behind", ["\r\n", "\r\nport: 1\r\n", " \xa0\n", " \x0b\n", ",\u2003;\n"])
def test_redact__a_word_before_a_strange_end_of_line__is_masked_as_before_any_other(behind: str) -> None:
    text = f"host: db\npassword: swordfish{behind}"
    assert redact(text) == text.replace("swordfish", redact("password: swordfish")[len("password: ") :])


WALLET = "witch collapse practice feed shame open despair creek road again ice least"


@pytest.mark.req("R240")
@pytest.mark.parametrize(
    "text",
    [
        "my seed phrase: {}",
        "The recovery phrase (never share it) is {}.",
        "wallet seed words: {}",
        "mnemonic: {}\nnetwork: main",
        '{{"seed_phrase": "{}", "network": "main"}}',
        "WALLET_SEED={}",
        "export MNEMONIC='{}'",
    ],
)
def test_redact__the_words_of_a_wallet__are_masked_whole(text: str) -> None:
    masked = redact(text.format(WALLET))
    assert not set(WALLET.split()) & set(masked.split())
    assert masked.startswith(text[: text.index("{}")].replace("{{", "{"))
    assert redact(masked) == masked


@pytest.mark.parametrize(
    "text",
    [
        "random seed: 42",
        "seed words: generate random numbers every time",
        "the recovery plan is stop workers, flush queues, check logs, open traffic, go home, eat well, sleep, get up",
        "the passphrase is optional",
    ],
)
def test_redact__words_that_open_no_wallet__stay(text: str) -> None:
    assert redact(text) == text
