"""Which texts can stand as a fact: whole statements, never fragments, exclamations, offers or prompts of a harness."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast_app.offline.worth import is_statement

GOOD = (
    "the billing service listens on port 8080",
    "we always squash before merging",
    "Tests run with `uv run pytest`",
    "the column is called cust_ref",
    "use tabs",
    "port 8080",
    "releases are cut on Tuesdays",
    "the staging database is a copy from last night",
    "I prefer short commit messages",
    "mypy runs in strict mode",
    "die Tests laufen mit pytest",
    "テストは毎晩実行されます",
    "the API returns cents, never floats",
    "it is forbidden to push to main",
    "that table has no index",
    "deploys need two reviewers",
)
FRAGMENTS = (
    "the",
    "",
    "   ",
    "tests",
    "the migration and",
    "because",
    "we use it for",
    "a list of the...",
    "the config is…",
    "steps (",
    "it works",
    "that one",
    "this breaks",
    ") and then",
    "; drop it",
    "the value is:",
    "name, email,",
)
EXCLAMATIONS = ("great work!", "The build is green!", "WARNING: DO NOT TOUCH THIS FILE EVER", "never do this again!")
QUESTIONS = ("shall I go on", "does the service listen on 8080?", "would you like tests for it")
PROMPTS = (
    "You can only enter one command at a time",
    "you must always answer in JSON",
    "You are a helpful assistant",
    "your task is to fix the issue",
    "Your final answer should be short",
    "respond only with the patch",
    "think step by step about the problem",
    "you will be given an issue",
)
OFFERS = (
    "I can use tabs if you prefer",
    "use spaces if you'd like that",
    "pick whichever you want",
    "let me know about the port",
    "feel free to change the name",
    "rename it, unless you want to keep it as you like",
)
CODE = (
    "const x = {a: 1}",
    "return value;",
    "make && make install",
    "Mozilla/5.0 (X11; Linux x86_64)",
    "$ pytest -q",
    "<div>the text</div>",
    "items.map(x => x.id)",
)

#: Made-up sentences: who, what of it, and a value.
SUBJECTS = st.sampled_from(
    ["the parser", "our API", "the nightly job", "the users table", "the login page", "Ada", "the release branch"]
)
PREDICATES = st.sampled_from(
    ["runs on", "depends on", "is owned by", "lives in", "was moved to", "is written in", "must keep"]
)
VALUES = st.sampled_from(["Postgres 16", "services/api", "the platform team", "Rust", "port 9000", "two reviewers"])
SENTENCES = st.builds("{} {} {}".format, SUBJECTS, PREDICATES, VALUES)


@pytest.mark.parametrize("text", GOOD)
def test_is_statement__whole_statement__is_kept(text: str) -> None:
    assert is_statement(text)


@pytest.mark.parametrize("text", [*FRAGMENTS, *EXCLAMATIONS, *QUESTIONS, *PROMPTS, *OFFERS, *CODE])
def test_is_statement__anything_else__is_never_kept(text: str) -> None:
    assert not is_statement(text)


@given(SENTENCES, st.sampled_from(["", ".", " "]), st.sampled_from(["", "**", "_", " "]))
def test_is_statement__made_up_sentence__is_kept_with_any_emphasis(sentence: str, end: str, mark: str) -> None:
    assert is_statement(f"{mark}{sentence}{end}{mark}")


@given(SENTENCES, st.sampled_from(["!", "?", " ...", "…", ",", ";", ":", " and", " because", " of", " the", " ("]))
def test_is_statement__cut_off_or_called_out__is_never_kept(sentence: str, end: str) -> None:
    assert not is_statement(sentence + end)


@given(
    SENTENCES, st.sampled_from(["if you prefer", "if you'd like", "as you wish", "unless you want", "should you need"])
)
def test_is_statement__depends_on_what_the_reader_wants__is_never_kept(sentence: str, condition: str) -> None:
    assert not is_statement(f"{sentence} {condition}")
    assert not is_statement(f"{condition.capitalize()}, {sentence}")


@given(SENTENCES, st.sampled_from(["You must always", "you can only", "Your task is:", "Respond only with"]))
def test_is_statement__of_a_prompt__is_never_kept(sentence: str, beginning: str) -> None:
    assert not is_statement(f"{beginning} {sentence}")


@given(SENTENCES)
def test_is_statement__shouted__is_never_kept(sentence: str) -> None:
    assert not is_statement(sentence.upper()) or sum(c.isalpha() for c in sentence) <= 12


@given(st.text(max_size=200))
def test_is_statement__any_text__gives_an_answer_and_blanks_change_nothing(text: str) -> None:
    assert is_statement(text) is is_statement(f" {text}\n")
