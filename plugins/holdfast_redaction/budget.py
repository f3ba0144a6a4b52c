"""A search's time limit. After it the text is refused, because an unsearched rest may hold secrets."""

from __future__ import annotations

from time import monotonic, thread_time

from holdfast.errors import Refused

#: Seconds for one rule, plus seconds per million characters. The slowest rule needs less than a tenth of it on hostile
#: text, so only a real runaway is stopped, even on a loaded machine.
SECONDS = 2.0
SECONDS_PER_MILLION = 4.0


class RedactionFailed(Refused):
    """A rule failed or took too long, so the text was not searched completely and must not be stored.

    The message names the rule, never the text.
    """


class Budget:
    """Measures the time between checks. Only this thread's own time counts, so a busy machine does not matter."""

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
