"""A dream without a model over notes that are long and hold nothing."""

import pytest
from tests.support import processes


@pytest.mark.parametrize("form", ["{}\n", "- {}\n", "- Fact: {}\n"])
def test_dream__note_of_one_word_lines_in_a_fresh_folder__is_skipped_and_succeeds(form, project):
    """A note of 300 kB, more than the 200 kB that a dream reads."""
    notes = project / ".holdfast" / "memory"
    notes.mkdir(parents=True)
    words = "".join(form.format(f"w{number:x}") for number in range(300_000 // len(form.format("wfffff"))))
    (notes / "2026-11-20.md").write_text(f"# Daily Memory: 2026-11-20\n\n{words}", encoding="utf-8")
    told = processes.run("--root", str(project), "dream", "--force")
    assert told.returncode == 0, told.stdout + told.stderr
    assert "skipped" in told.stdout
