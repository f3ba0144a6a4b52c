"""How long a search may take. Past it the text is refused, not let through: what was not searched is not clean."""

from __future__ import annotations

from time import monotonic, thread_time

#: Seconds for one rule on a text, plus seconds for each million characters. Generous: the slowest rule stays under a
#: tenth of it on hostile text, so that only a real runaway ends here, even on a loaded machine.
SECONDS = 2.0
SECONDS_PER_MILLION = 4.0


class Budget:
    """Counts from one check to the next. On a machine that is busy with other things, only time spent here counts."""

    def __init__(self, size: int, seconds: float = SECONDS) -> None:
        self.limit_s = seconds + SECONDS_PER_MILLION * size / 1_000_000
        self._first = thread_time()
        self._last = monotonic()

    def check(self, rule: str) -> None:
        """Called when ``rule`` is through. Raises: RedactionFailed when it took too long."""
        now = monotonic()
        if now - self._last > self.limit_s and thread_time() - self._first > self.limit_s:
            from holdfast_redaction.failure import RedactionFailed

            raise RedactionFailed(
                f"The redaction rule {rule!r} took {now - self._last:.1f} s; {self.limit_s:.1f} s are allowed.",
                next_step="Shorten the text, or switch the rule off with `[plugins.redaction] disable`.",
            )
        self._last = now
