"""Statements removed, purged or replaced on this machine, so that they do not come back by themselves.

``state/rejected`` has one line for each, with a keyed digest and the time, never the statement itself. Extractors,
imports and dreams may not bring such a statement back. Stating it later lifts that.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Final

from holdfast.config.serde import moment, stamp
from holdfast.flush import notes
from holdfast.fs import durable, ownership_mark, private
from holdfast.storage import sha256_of
from holdfast.text.plain import same_key

if TYPE_CHECKING:
    from holdfast_app.base import Services

NAME: Final = "rejected"
REASON: Final = "it was removed or replaced here, and only `holdfast remember` brings it back"
#: The list is cut to the newest half when it has more lines than this.
MOST: Final = 20_000
_LIFTED: Final = "-"


def key_of(text: str) -> str:
    """A statement's key. It changes with the words, but not with case or surrounding whitespace."""
    return sha256_of(same_key(text).encode("utf-8", "surrogatepass"))[:24]


class Rejected:
    """One project's list, read when it is made. Raises: Unavailable, here and on every change."""

    def __init__(self, services: Services) -> None:
        self._services = services
        self._path = services.private(NAME)
        self._secret = b""
        self._times: dict[str, datetime] = {}
        for line in (private.read(self._path) or b"").decode("ascii", "replace").split("\n"):
            digest, _, time = line.partition(" ")
            self._times.pop(digest, None)
            if time and time != _LIFTED:
                try:
                    self._times[digest] = moment(time)
                except ValueError:
                    continue  # a crash truncated the line

    def at(self, text: str) -> datetime | None:
        """When ``text`` was rejected; None when it was not."""
        return self._times.get(self._digest(key_of(text))) if self._times else None

    def has(self, text: str, said: datetime | None = None) -> bool:
        """Whether ``text``, stated at ``said``, was rejected later. Without a time, whether it was rejected."""
        at = self.at(text)
        return at is not None and (said is None or said <= at)

    def add(self, keys: Iterable[str], at: datetime, *, kept: bool = True) -> None:
        """Reject statements by :func:`key_of`, durably. Without ``kept``, for this object alone."""
        digests = [self._digest(key) for key in keys]
        new = {one: at for one in digests if one not in self._times or self._times[one] < at}
        self._times.update(new)
        if new and kept:
            self._append(f"{one} {stamp(at.astimezone(UTC))}\n" for one in new)

    def lift(self, text: str) -> None:
        """Accept a statement again, because it was stated anew."""
        if self.at(text) is not None:
            digest = self._digest(key_of(text))
            del self._times[digest]
            self._append([f"{digest} {_LIFTED}\n"])

    def blanked(self, text: str, day: datetime, reached: dict[str, datetime]) -> tuple[str, int]:
        """A note with the lines empty that state something rejected later, and how many they are. For ``day`` and
        ``reached`` see :func:`holdfast.flush.notes.in_order`."""
        count = 0
        for block, at in notes.in_order(text, day, reached) if self._times else ():
            gone = {f"- {label}: {item}" for _, label, item in block.lines if self.has(item, at)}
            if gone:
                lines = block.text.split("\n")
                count += sum(line in gone for line in lines)
                text = text.replace(block.text, "\n".join("" if line in gone else line for line in lines), 1)
        return text, count

    def _digest(self, key: str) -> str:
        self._secret = self._secret or ownership_mark.secret(make=True)
        return ownership_mark.digest(key.encode("ascii"), size=16, key=self._secret)

    def _append(self, lines: Iterable[str]) -> None:
        private.make(self._services.state)
        # It also begins with a line end, because a crash can leave the previous line without one.
        data = ("\n" + "".join(lines)).encode("ascii")
        with private.lock(self._path):
            whole = private.read(self._path) or b""
            if whole.count(b"\n") > MOST:
                durable.replace(self._path, whole[whole.find(b"\n", len(whole) // 2) + 1 :] + data)
            else:
                durable.append(self._path, data)
