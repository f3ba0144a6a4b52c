"""Names from clients, archives and documents, by the rules of Windows paths, on any system."""

import ntpath
from pathlib import PureWindowsPath

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from holdfast.api import Refused, check_name
from holdfast.journal.journal import file_stem

DEVICES = {"CON", "PRN", "AUX", "NUL", "CONIN$", "CONOUT$"}
DEVICES |= {port + number for port in ("COM", "LPT") for number in "123456789\u00b9\u00b2\u00b3"}
HOSTILE = (
    "C:/x.md", "C:x.md", "c:\\x.md", "//server/share/x.md", "\\\\server\\share\\x.md", "\\\\?\\C:\\x.md", "\\\\.\\NUL",
    "memory\\x.md", "..\\x.md", "a/..\\..\\x.md", "/x.md", "../x.md", "a/../../x.md", "NUL", "nul.md", "memory/CON.md",
    "Com1.md", "lpt9", "COM\u00b9.md", "CONIN$", "con .md", "aux/x.md", "x.md.", "x.md ", "a./x.md", "a /x.md",
    "x.md:stream", "x.md::$DATA", "a\x00.md", "what?.md", "x|y.md", "x<.md",
)  # fmt: skip


def on_windows(name):
    """The reasons why a relative name does not stay a plain file below its folder on Windows."""
    path, root = PureWindowsPath(name), "C:\\project\\.holdfast"
    if path.drive or path.root or path.is_absolute():
        yield "has a drive or root"
    if not ntpath.normpath(ntpath.join(root, name)).startswith(root + "\\"):
        yield "leaves the folder"
    if "/".join(path.parts) != name:
        yield "has other parts"
    for part in path.parts:
        if part.partition(".")[0].rstrip(" ").upper() in DEVICES:
            yield "is a device"
        if part != part.rstrip(". ") or not set('<>:"|?*').isdisjoint(part) or not part.isprintable():
            yield "has characters that Windows drops or refuses"


@pytest.mark.parametrize("name", HOSTILE)
def test_document_name__that_means_another_place_on_windows__is_refused(name):
    with pytest.raises(Refused, match="not allowed"):
        check_name(name)


PIECES = st.sampled_from(
    [*"aZ:/\\.. ?~$", "..", "con", "NUL", "com1", "lpt", "\u00b2", "C:", "//", "\\\\", "x.md", "\x1f", "\u0130"]
)


@given(st.lists(PIECES, min_size=1, max_size=8).map("".join))
@example("memory/2026-11-20.md")
def test_document_name__that_is_accepted__is_a_plain_file_below_the_folder_on_windows(name):
    try:
        check_name(name)
    except Refused:
        return
    assert list(on_windows(name)) == []


@given(st.one_of(st.text(max_size=120), st.sampled_from(HOSTILE), st.lists(PIECES, max_size=8).map("".join)))
def test_session_id__of_any_client__becomes_a_plain_file_name_on_windows(session):
    name = f"{file_stem(session)}.jsonl"
    assert "/" not in name
    assert list(on_windows(name)) == []
