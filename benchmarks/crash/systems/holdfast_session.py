"""holdfast: a message of a session, which is acknowledged when it is in the journal (docs/crash-safety.md)."""

from collections.abc import Iterable

from holdfast import Holdfast


class Store:
    def __init__(self, folder: str) -> None:
        self.session = Holdfast.open(folder).session("board")

    def write(self, text: str) -> None:
        self.session.add("user", text)

    def read(self) -> Iterable[str]:
        return [message.text for message in self.session.messages]
