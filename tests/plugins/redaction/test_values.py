"""What is asked of every value: the short ways to an answer give the answer of the long ones."""

from __future__ import annotations

import time

import pytest
from hypothesis import strategies as st
from tests.support.growth import grows_less_than

from holdfast_redaction import redact
from holdfast_redaction.engine import Scanner

words = st.text("abcXYZ019_-", max_size=24) | st.sampled_from(
    ["env", "secret", "secrets", "projects", "vault", "a-b", "file", "x-y_z", "py", "key"]
)


@pytest.mark.req("R240")
def test_redact__a_sentence_in_capitals__is_read_like_any_other() -> None:
    secret = "N0TSOS3" + "CURE9"
    assert secret not in redact(f"SET THE ADMIN PASSWORD TO {secret} YESTERDAY")
    assert secret not in redact(f"USE {secret} AS THE PASSWORD")


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
    "piece", ["password, ", "token abcdefghijklmnopqrst ", "key:\n```\n", "the password we x x x, "]
)
def test_redact__a_noun_again_and_again__takes_time_in_proportion_to_the_text(piece: str) -> None:
    scanner = Scanner()
    short, long = piece * (40_000 // len(piece)), piece * (160_000 // len(piece))
    scanner.find(short)  # compiled before it is timed
    assert grows_less_than(8, lambda: seconds(scanner, short), lambda: seconds(scanner, long), noise_s=0.2)


def seconds(scanner: Scanner, text: str) -> float:
    started = time.process_time()
    scanner.find(text)
    return time.process_time() - started


@pytest.mark.req("R240")
@pytest.mark.parametrize(
    "text",
    [
        "The sudo password on this box is {}.",
        "I tried the old one first; the password, {}, was rejected.",
        "the shared secret between radius and the switch is {}",
        "{} goes into the GITHUB_TOKEN variable",
        "Token:\n```\n{}\n```\n",
        "mot de passe « {} »",
        "Der API-Schlüssel ist {}.",
        "auth = ('admin', '{}')",
        'public string Password {{ get; set; }} = "{}";',
        'variable "db_password" {{ default = "{}" }}',
        '<property name="connection.password">{}</property>',
    ],
)
def test_redact__a_secret_told_in_many_ways__is_masked(text: str) -> None:
    secret = "q7Zp" + "2vXk9LmT4rWb8NcD5f"
    assert secret not in redact(text.format(secret))


@pytest.mark.parametrize(
    "text",
    [
        '--password "$(cat pw.txt)"',
        "arn:aws:secretsmanager:eu-west-1:123456789012:secret:prod/db-qhsRr1",
        "gpg: using EDDSA key E8E0FC7E1D881334DE8DC72F1ECA3052A34332B3",
        'text << "password=#{given}, "',
        "token pattern: [A-Za-z0-9_]{20,40}",
        "private_key: Ed25519PrivateKey",
        "def load(self, certfile, password=None):",
        "TEST_PASSWORD= make test",
    ],
)
def test_redact__code_and_names__stay(text: str) -> None:
    assert redact(text) == text
