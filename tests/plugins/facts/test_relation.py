"""The one rule for whether a newer statement repeats, replaces or is different from an older one."""

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from holdfast_app.sentences.relation import Known, Relation, relation

WORDS = st.text(st.characters(codec="utf-8", categories=("L", "N", "P", "S")), min_size=1, max_size=8)
SENTENCES = st.lists(WORDS, min_size=1, max_size=9)
#: Subjects with words that can be verbs, values and opposites too.
SUBJECTS = st.sampled_from([
    "Migrations", "The deploy", "Test runs", "Tests without mocks", "Release 2.3", "Port 80", "Port 81", "Node 3",
    "Ada", "Bob", "We", "The API", "The build cache", "Python 3.11", "Python 3.12", "Nightly jobs", "Logs before noon",
    "Logs after noon", "The default branch", "Agents",
])  # fmt: skip
PREDICATES = st.sampled_from([
    "run before the deploy", "may push to main", "is 8080", "is main", "uses Redis for caching", "lives in Oslo",
    "is on", "needs two reviews", "runs every 5 minutes", "has 4 workers", "is not public", "expires after 60 s",
    "are stored with a salt",
])  # fmt: skip


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("Migrations run before the deploy", "Migrations run after the deploy"),
        ("The list scrolls up", "The list scrolls down"),
        ("The bar stays above the fold", "The bar stays below the fold"),
        ("Turn the cache on", "Turn the cache off"),
        ("Tokens are stored with a salt", "Tokens are stored without a salt"),
        ("Agents may push to main", "Agents must not push to main"),
        ("Agents can push to main", "Agents can't push to main"),
        ("Every release needs a review", "Some releases need a review"),
        ("use a unique index on (a, b)", "never use a unique index on (a, b)"),
        ("Use Redis for caching", "Do not use Redis for caching"),
        ("We use Redis for caching", "We use Valkey for caching"),
        ("The release is 2.2.0", "The current release is 2.3.0"),
        ("Use Python 3.11", "Use Python 311"),
        ("The default branch is master", "The default branch is main"),
        ("Release day is Friday", "Release day is Monday"),
        ("The token expires after 60 s", "The token expires after 90 s"),
        ("Ana lives in Oslo", "Ana lives in Leeds"),
        ("Ana lives in Oslo", "Ana moved to Leeds"),
        ("The database is hosted on db-1", "The database moved from db-1 to db-2"),
        ("Dark mode is disabled", "Dark mode is enabled"),
        ("The cache is not persistent", "The cache is persistent"),
        ("Ada owns billing", "Bob owns billing"),
        ("The core is written in C", "The core is written in C++"),
        ("Uploads are capped at 2 MB", "The cap for uploads went up to 8 MB"),
        ("Python 3.11 is the minimum version", "The minimum version is Python 3.12"),
        ("CI runs on Jenkins", "CI moved from Jenkins to Actions"),
        ("Production runs Node 18", "Production was bumped to Node 22"),
        ("The login page crashes in Safari 17", "The crash of the login page in Safari is fixed"),
        ("The mail provider is SES", "Mails were moved from SES to Postmark"),
        ("We deploy with Ansible", "Ansible is no longer used to deploy"),
        ("The API listens on port 9090", "The API is now listening on port 9090"),
    ],
)
def test_relation__another_value_of_one_attribute__replaces(old, new):
    assert relation(new, old) is relation(old, new) is Relation.REPLACES


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("Elif reviews what Jonas writes", "Jonas reviews what Elif writes"),
        ("The API calls the worker", "The worker calls the API"),
        ("Port 80 is open", "Port 81 is open"),
        ("Rack 5 holds 35 servers", "Rack 4 holds 28 servers"),
        ("Ada finished step 5", "Ada finished step 2"),
        ("Python 3.11 is supported", "Python 3.12 is supported"),
        ("The library supports Python 3.11", "The library supports Python 3.12"),
        ("The service uses Redis", "The service uses Postgres"),
        ("We use Redis for caching", "We use Redis for rate limits"),
        ("We use Redis for caching", "Redis is used for caching"),
        ("The port is 8080 in dev", "The port is 9090 in prod"),
        ("The default branch is main", "The default branch is protected"),
        ("The API is slow", "The API is public"),
        ("ADR 12 covers caching", "ADR 13 covers caching"),
        ("Unit tests with mocks fail nightly", "Unit tests without mocks fail nightly"),
        ("Jobs that run before noon are paid", "Jobs that run after noon are paid"),
        ("It is 3", "It is 4"),
        ("It moves them", "Some are left to you"),
        ("The worker reads from Kafka", "The worker reads from Postgres"),
        ("The app is available in English", "The app is available on Android"),
        ("CI takes 12 minutes", "CI moved to GitHub Actions"),
        ("The login page supports Safari 15", "The login bug in Safari is fixed"),
        ("Access logs are kept for 90 days", "Log files are kept for 14 days"),
        ("Admin sessions last 8 hours", "Checkout sessions last 20 minutes"),
        ("The frame rate is 30 fps on Switch", "The frame rate is 120 fps on PC"),
        ("The cap for photos went up to 8 MB", "Product videos are capped at 40 MB"),
        ("Never push to main", "Never push to release"),
        ("Never use tabs in YAML", "Never use tabs in Python"),
        ("The user is allergic to nuts", "The user is allergic to penicillin"),
        ("Billing backups go to Heroku", "Billing moved from Heroku to Fly"),
        ("The API is slow", "The API was moved to Fly"),
        ("Do we use Redis?", "We use Redis"),
        ("The port is " + "[a](" * 100_000, "The port is 8080"),
    ],
)
def test_relation__another_subject_case_or_wording__is_different(old, new):
    assert relation(new, old) is relation(old, new) is Relation.DIFFERENT


@given(SENTENCES, st.sampled_from(["", ".", "!", " .", "…"]), st.sampled_from([" ", "  ", "\n", "\t"]))
def test_relation__only_case_spacing_or_final_punctuation_differs__is_same(words, end, space):
    text = " ".join(words)
    assume(text.strip(" .!;,:…。！"))
    assert relation(f" {space.join(words)}{end}", text) is Relation.SAME
    if text.isascii():
        assert relation(text.upper(), text) is Relation.SAME


@given(SENTENCES, st.integers(0, 8), WORDS)
def test_relation__any_word_changed__is_never_same(words, at, word):
    at %= len(words)
    other = [*words[:at], word, *words[at + 1 :]]
    plain = [" ".join(one).casefold().rstrip(" .!;,:…。！") for one in (words, other)]
    assume(plain[0] != plain[1] and all(plain))
    assert relation(" ".join(other), " ".join(words)) is not Relation.SAME


@given(SUBJECTS, SUBJECTS, PREDICATES, PREDICATES)
def test_relation__another_subject__never_replaces(one, other, first, second):
    assume(one != other)
    assert relation(f"{one} {first}", f"{other} {second}") is Relation.DIFFERENT


@given(st.lists(st.tuples(SUBJECTS, PREDICATES).map(" ".join), unique=True), SUBJECTS, PREDICATES)
def test_known__any_statements__finds_what_comparing_all_of_them_finds(texts, one, said):
    known = Known[int]()
    for at, text in enumerate(texts):
        known.add(at, text)
    new = f"{one} {said}"
    expected = {at: found for at, text in enumerate(texts) if (found := relation(new, text)) is not Relation.DIFFERENT}
    assert dict(known.related(new)) == expected
    for at in range(len(texts)):
        known.remove(at)
    assert list(known.related(new)) == []
