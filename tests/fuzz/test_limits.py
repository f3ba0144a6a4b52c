"""No reader takes more memory than twenty times its input, above a base of 8 MB. docs/trust.md states this."""

from typing import Any

import pytest
from tests.fuzz.test_fuzz import SEEDS, TARGETS

from holdfast.fs import records

#: Records as long as real ones are: of a record of a few words, the object in memory is most.
LONG = {
    "outbox": records.encode({"id": "0" * 16, "plugin": "x", "flush": "f", "target": "a/b#1", "body": "word " * 200})
}
#: What a reader may use, in bytes for a byte of input, above what it uses for an empty one.
_FACTOR = 20
_BASE = 8 << 20


@pytest.mark.parametrize("target", ["settings", "journal", "facts", "handoff", "note", "outbox"])
def test_a_file_of_ours__of_half_a_megabyte__costs_at_most_twenty_times_its_size(target, made):
    name, commands = TARGETS[target]
    path = made.path(name)
    seed: Any = path.read_bytes() if path.is_file() else LONG.get(target) or SEEDS[target][0]
    data = (seed * ((1 << 19) // max(1, len(seed)) + 1))[: 1 << 19]
    path.parent.mkdir(parents=True, exist_ok=True)
    for words in commands[:2]:
        made.run(*words)  # what is imported and made once does not count
        path.write_bytes(data)
        try:
            _, peak = made.measure(*words)
        finally:
            made.put_back()
        assert peak < _BASE + _FACTOR * len(data), (words, peak // len(data))


def test_a_dream__over_a_memory_of_distinct_words__succeeds_within_a_fixed_bound(made):
    """A dream reads at most ``[dream] max_chars``, so its memory has a bound for any input, see docs/dream.md."""
    words = [f"{n:x}".translate(str.maketrans("0123456789", "ghijklmnop")) for n in range(4096, 4096 + 2_400)]
    items = [f"- {' '.join(words[n : n + 12])}\n" for n in range(0, len(words), 12)]
    path = made.path(".holdfast/MEMORY.md")
    path.write_text("# Memory\n\n" + "".join(items), encoding="utf-8")
    made.run("dream", "--dry-run", "--force")

    code, peak = made.measure("dream", "--dry-run", "--force")

    assert code == 0
    assert peak < 64 << 20
