"""Rules, hits and a search's time limit. Plain classes, because this module is loaded at every agent event, where
importing ``typing`` or ``attrs`` would cost more than the search."""

from collections import namedtuple
from functools import lru_cache
from math import log2
from time import monotonic, thread_time

from holdfast.errors import Refused

#: Kinds of findings for the policy: secrets, and kinds of personal data.
KINDS = ("secret", "email", "phone", "card", "iban", "government", "ip", "mac")

#: A format in the table. The comment at the top of ``rules.toml`` describes the fields. ``check`` is "", "check",
#: "random" or "secretlike".
Rule = namedtuple("Rule", "id regex group entropy before before_max after check overrides min_word")  # noqa: PYI024


class Hit:
    """A string to mask, with its offsets and the rule that found it. Overlapping hits take the name with the lowest
    ``rank``."""

    __slots__ = ("end", "kind", "rank", "rule", "start")

    def __init__(self, start: int, end: int, rule: str, rank: int, kind: str = "secret") -> None:
        self.start = start
        self.end = end
        self.rule = rule
        self.rank = rank
        self.kind = kind


def entropy(text: str) -> float:
    """Shannon entropy in bits per character, 0 for an empty string."""
    size = len(text)
    return log2(size) - sum(map(_weighted, map(text.count, set(text)))) / size if size else 0.0


@lru_cache(None)
def _weighted(count: int) -> float:
    return count * log2(count)


#: Seconds for one rule, plus seconds per million characters. The slowest rule needs less than a tenth of it on hostile
#: text, so only a real runaway is stopped, even on a loaded machine.
SECONDS = 2.0
SECONDS_PER_MILLION = 4.0


class RedactionFailed(Refused):
    """A rule failed or took too long, so the text was not searched completely and must not be stored.

    The message names the rule, never the text.
    """


class Budget:
    """Measures the time between checks, because an unsearched rest may hold secrets. Only this thread's own time
    counts, so a busy machine does not matter."""

    def __init__(self, size: int, seconds: float = SECONDS) -> None:
        self.limit_s = seconds + SECONDS_PER_MILLION * size / 1_000_000
        self._first = thread_time()
        self._last = monotonic()

    def check(self, rule: str) -> None:
        """Check ``rule`` after it ran. Raises: RedactionFailed when it took too long."""
        now = monotonic()
        if now - self._last > self.limit_s and thread_time() - self._first > self.limit_s:
            raise RedactionFailed(
                f"The redaction rule {rule!r} took {now - self._last:.1f} s, over its limit of {self.limit_s:.1f} s.",
                next_step="Shorten the text, or switch the rule off with `[plugins.redaction] disable`.",
            )
        self._last = now
