"""The one rule for whether a newer statement repeats, replaces or is different from an older one."""

from pathlib import Path

from hypothesis import assume, given
from hypothesis import strategies as st

from holdfast_app.sentences.relation import Known, Relation, outdated, relation

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


PAIRS = (Path(__file__).parents[2] / "data" / "values" / "pairs.tsv").read_text(encoding="utf-8").splitlines()


def test_outdated__pairs__another_value_of_one_thing_ends_the_older_one_all_others_stay():
    rows = [row.split("\t") for row in PAIRS]
    wrong = [(how, old, new) for how, old, new in rows if outdated(new, [old]) != [old] * (how == "replaces")]
    assert len(wrong) <= 3, wrong  # a fitted model decides about reported changes


def test_relation__endless_text__is_different():
    assert relation("The port is 8080", "The port is " + "[a](" * 100_000) is Relation.DIFFERENT


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


@given(st.lists(st.tuples(SUBJECTS, PREDICATES).map(" ".join), unique=True), SUBJECTS, PREDICATES)
def test_known__any_statements__finds_what_comparing_all_finds_or_one_that_may_have_ended(texts, one, said):
    known = Known[int]()
    for at, text in enumerate(texts):
        known.add(at, text)
    new = f"{one} {said}"
    expected = {at: found for at, text in enumerate(texts) if (found := relation(new, text)) is not Relation.DIFFERENT}
    found = dict(known.related(new))
    assert found == expected or (not expected and set(found.values()) == {Relation.ENDS})
    for at in range(len(texts)):
        known.remove(at)
    assert list(known.related(new)) == []
