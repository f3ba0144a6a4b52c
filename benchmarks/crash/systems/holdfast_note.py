"""holdfast: a flush with a stated decision, acknowledged when the daily note was read back (docs/flush-contract.md)."""

from collections.abc import Iterable
from pathlib import Path

from holdfast import Holdfast
from holdfast.models import Payload


class Store:
    def __init__(self, folder: str) -> None:
        self.folder = Path(folder)
        self.session = Holdfast.open(folder).session("board")

    def write(self, text: str) -> None:
        self.session.add("user", "Go on.")
        self.session.flush(Payload(objective="Play the board", decisions=[text], curated="none", work_open=False))

    def read(self) -> Iterable[str]:
        notes = sorted(self.folder.glob(".holdfast/memory/2*.md"))
        lines = [line for note in notes for line in note.read_text(encoding="utf-8").splitlines()]
        return [line for line in lines if "Decision: item" in line]
