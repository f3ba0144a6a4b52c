"""Words in content and questions, as indexed: stop words, and character pairs for text without spaces."""

import functools
import re
from collections.abc import Collection, Iterable
from typing import Final

from holdfast.text.humanize import nearest
from holdfast.text.lazy import Lazy

#: Chinese, Japanese and Korean characters: text without spaces, found by overlapping pairs.
_WIDE: Final = "\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af\uf900-\ufaff\U00020000-\U0003134f"
_WIDE_RUN: Final = Lazy(f"[{_WIDE}]+")
_WORD: Final = Lazy(rf"[^\W{_WIDE}]+(?:['’][^\W{_WIDE}]+)?")
_ASCII_WORD: Final = Lazy(r"\w+(?:'\w+)?")
#: How FTS5 makes tokens of words.
TOKENS: Final = "tokenize='porter unicode61 remove_diacritics 2'"
#: Length of a word's prefix, in letters, used as a cheap stem for any language with an alphabet.
STEM: Final = 5
#: Length of a word from which one edit is forgiven, and from which two are. Shorter words would match any other.
_ONE, _TWO = 4, 8

#: Characters of a passage, about 120 words, and of the longest entry that stays one passage.
_PASSAGE, _ONE_PASSAGE = 700, 1_000
_END_OF_SENTENCE: Final = Lazy(r"(?<![.!?])[.!?]+\s+|[。！？]+\s*|\n\s*")

STOP: Final = frozenset(
    """a about after again all also am an and any are aren't as at be because been before being both but by can
    can't could did didn't do does doesn't doing don't down during each few for from further had has have having he
    her here hers him his how i i'm if in into is isn't it it's its itself just let's me more most my myself no nor
    not now of off on once only or other our ours out over own same she should so some such than that that's the
    their theirs them then there these they this those through to too under until up us very was wasn't we were
    weren't what what's when where which while who whom whose why will with won't would you you're your yours tell
    remember know say said does anyone ever please kind many much
    der die das den dem des ein eine einen einem einer und oder aber nicht ist sind war waren wird werden wurde wurden
    ich du er sie es wir ihr mich mir dich dir uns euch was wer wie wo wann warum welche welcher welches mit von zu zum
    zur im am auf für bei nach aus hat haben hatte
    le la les un une des du de et ou mais est sont était que qui quoi où quand comment pourquoi dans sur pour avec
    el los las una unos unas y o pero es son era qué quién dónde cuándo cómo por para con en
    """.split()  # noqa: SIM905 - read as prose
)

#: Forms of a word that begin differently, one group per word. A question with one form also means the others.
_FORMS: Final = """
    become became; begin began begun; bite bit bitten; blow blew; break broke broken; bring brought; build built;
    buy bought; catch caught; child children kid kids; choose chose chosen; come came; deal dealt; dig dug;
    draw drew drawn; drink drank drunk; drive drove driven; eat ate eaten; fall fell; father dad; feed fed; feel felt;
    fight fought; find found; fly flew flown; foot feet; forget forgot; forgive forgave; freeze froze frozen;
    get got gotten; give gave; go went gone; grow grew; hang hung; hear heard; hide hid hidden; hold held; keep kept;
    lead led; leave left; lend lent; life lives; lose lost; make made; man men; mean meant; meet met; mother mom mum;
    pay paid; person people; ride rode ridden; ring rang rung; rise rose risen; run ran; see saw seen; seek sought;
    sell sold; send sent; shake shook; shoot shot; sing sang sung; sit sat; sleep slept; speak spoke spoken;
    spend spent; stand stood; steal stole; stick stuck; study studied; swim swam swum; take took; teach taught;
    tear tore torn; tell told; think thought; throw threw thrown; understand understood; wake woke woken;
    wear wore worn; win won; woman women; write wrote written
"""
#: Begins the word for a kind of tool.
WHICH: Final = "which "
#: Kinds of tools, as questions call them, with names of such tools, which the answers have.
_TOOLS: Final = {f"{WHICH}{kind}": [kind, *names.split()] for kinds, names in (
    ("package manager|dependency manager|paketmanager",
     "npm pnpm yarn bun pip uv poetry pdm conda cargo composer bundler maven gradle nuget"),
    ("database|datenbank|db", "postgres postgresql mysql mariadb sqlite mongodb redis duckdb bigquery dynamodb"),
    ("formatter", "prettier black ruff biome gofmt rustfmt ktlint dprint clang-format"),
    ("linter", "eslint ruff biome oxlint flake8 pylint clippy golangci-lint ktlint rubocop"),
    ("type checker", "mypy pyright tsc"),
    ("test runner|test framework|testframework", "pytest vitest jest mocha junit rspec unittest"),
    ("editor|ide", "vim neovim emacs vscode vs-code zed jetbrains intellij pycharm"),
    ("build tool|bundler", "gradle maven cmake bazel vite webpack esbuild rollup turbopack"),
    ("ci", "github-actions gitlab jenkins circleci buildkite"),
    ("orm", "prisma drizzle sqlalchemy kysely hibernate typeorm sequelize"),
) for kind in kinds.split("|")}  # fmt: skip
#: Where a question asks for the tool.
_TOOL: Final = Lazy(
    r"\b(?:(?:which|what|what is|what['’]s|welche\w?|was ist|as|als)(?: the| an?| our| my| unsere?| die| der)?) "
    rf"({'|'.join(kind for kind, *_ in _TOOLS.values())})s?\b",
    re.IGNORECASE,
)
#: Questions about what was said or done, and about a time.
_PAST: Final = Lazy(
    r"\b(?:did|had|have (?:i|we|you)|has my|was|were|said|say|mention\w*|discuss\w*|brought|summar\w+"
    r"|how (?:many|much|long|often)|conversations?)\b",
    re.IGNORECASE,
)
WHEN: Final = Lazy(r"\b(?:when|what (?:date|time|day|year|month)\w*|how long|days|weeks)\b", re.IGNORECASE)


def pairs(text: str) -> str:
    """The wide characters of ``text`` as overlapping pairs. A run's last character follows alone, so that each of them
    begins a token, which :func:`quoted` relies on."""
    return "" if text.isascii() else " ".join(" ".join([*_pairs(run), run[-1]]) for run in _WIDE_RUN.findall(text))


def passages(text: str, most: int) -> list[str]:
    """Whole sentences and lines of ``text``, about 120 words each, at most ``most``. Joined they are the text."""
    if len(text) <= _ONE_PASSAGE:
        return [text]
    size = max(_PASSAGE, 2 * len(text) // most)
    parts, start, end = [], 0, 0
    for match in _END_OF_SENTENCE.finditer(text):
        if match.end() - start > size and end > start:
            parts.append(text[start:end])
            start = end
        end = match.end()
    return [*parts, text[start:]]


def quoted(word: str) -> str:
    """A word and its forms, as FTS5 searches for them. A single wide character matches in every pair."""
    if len(word) == 1 and not word.isascii() and _WIDE_RUN.match(word):
        return f'"{word}"*'
    forms = " OR ".join(f'"{form}"' for form in _forms().get(word, [word]))
    return f"({forms})"


@functools.cache
def _forms() -> dict[str, list[str]]:
    """Each word of :data:`_FORMS` with its group, and each kind of tool with the names."""
    groups = [group.split() for group in _FORMS.split(";")]
    return {word: group for group in groups for word in group} | _TOOLS


def asked(question: str) -> list[str]:
    """The words to look for, once, in lower case, without stop words if others are there. :data:`WHICH` ends a kind."""
    tools = [WHICH + match[1].lower() for match in _TOOL.finditer(question)]
    words = [word.lower() for word in _words(_TOOL.sub(" ", question))] + tools + _wide(question)
    content = [word for word in words if word not in STOP and _without_s(word) not in STOP]
    return list(dict.fromkeys(content or words))


def advice(question: str) -> float:
    """How far the user's orders and preferences answer it: not what was said or done, in part some words."""
    return 0.0 if _PAST.search(question) else 1.0 if "?" in question else 0.5


def stems(text: str) -> set[str]:
    """The first letters of each word that is not a stop word, and the pairs of wide characters."""
    return {word.lower()[:STEM] for word in _words(text) if word.lower() not in STOP}.union(_wide(text))


def pattern(question: str) -> re.Pattern[str]:
    """Matches each of the question's words in content."""
    return re.compile("|".join(_patterns(question)) or "(?!)", re.IGNORECASE)


def share(question: str, text: str) -> float:
    """The share of the question's words that ``text`` has, 0 without a word."""
    matches = [re.search(pattern, text, re.IGNORECASE) is not None for pattern in _patterns(question)]
    return sum(matches) / max(1, len(matches))


@functools.lru_cache(8)  # asked about each hit
def _patterns(question: str) -> list[str]:
    """For each word of the question an expression for its forms, by their first letters."""
    return list(dict.fromkeys("|".join(map(_matching, _forms().get(word, [word]))) for word in asked(question)))


def _matching(form: str) -> str:
    begin, end = r"\b" if form[0].isascii() else "", r"\b" if form[0].isascii() and len(form) < STEM else ""
    return f"{begin}{re.escape(form[:STEM])}{end}"


def _pairs(run: str) -> list[str]:
    return [run[i : i + 2] for i in range(len(run) - 1)]


def _words(text: str) -> list[str]:
    return (_ASCII_WORD if text.isascii() else _WORD).findall(text)


def _wide(text: str) -> list[str]:
    return [] if text.isascii() else [pair for run in _WIDE_RUN.findall(text) for pair in _pairs(run) or [run]]


def _without_s(word: str) -> str:
    return word.removesuffix("'s").removesuffix("’s")


# typing errors, in a question that finds nothing as written


def corrected(texts: Iterable[str], question: str) -> str:
    """The question's words, with unknown words replaced by the nearest word in ``texts``.

    Empty when no word is unknown, or when none is near.
    """
    known = {_without_s(word.lower()) for text in texts for word in _words(text)}
    wanted = asked(question)
    corrections = {word: near for word in wanted if word not in known and (near := _nearest(known, word))}
    return " ".join(corrections.get(word, word) for word in wanted) if corrections else ""


def _nearest(known: Collection[str], word: str) -> str:
    if not word.isalpha() or len(word) < _ONE:
        return ""
    forgiven = 1 if len(word) < _TWO else 2
    alike = [other for other in known if other[0] == word[0] and abs(len(other) - len(word)) <= forgiven]
    return nearest(word, alike, 1 - forgiven / len(word))  # with the same first letter, which is seldom wrong
