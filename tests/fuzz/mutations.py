"""Hostile bytes: valid files of ours and of the clients, changed in the ways that break parsers."""

from collections.abc import Callable, Sequence

from hypothesis import strategies as st

_NASTY = (
    b"\0",
    b"\xff\xfe",
    b"\xef\xbb\xbf",
    b"\xed\xa0\x80",
    b"\\ud800",
    b"\x1b]52;c;eA==\x07",
    "\u202e\u2028\u0085".encode(),
    b"\r\n",
    b"\r",
    b'"',
    b"'''",
    b"{",
    b"}",
    b"[",
    b"<<<<<<< HEAD\n",
    b"```",
    b"-->",
    b"<!--",
    b"../../x",
    b"null",
    b"NaN",
    b"1e999",
    b"-1",
    b"9" * 5000,
    b"true",
    b"\n\n\n",
    b"+99999999-01-01T00:00:00Z",
    b"0000-00-00",
)


def mutated(*seeds: bytes) -> st.SearchStrategy[bytes]:
    """One of ``seeds`` after up to six changes, or bytes of any kind."""
    changed = st.builds(_apply, st.sampled_from(seeds), st.lists(_changes(), min_size=1, max_size=6))
    return st.one_of(changed, changed, changed, st.binary(max_size=2_000), st.text(max_size=500).map(_encode))


def deep() -> st.SearchStrategy[bytes]:
    """JSON and TOML that nest far deeper than any recursion allows."""
    shapes: Sequence[Callable[[int], bytes]] = (
        lambda n: b"[" * n + b"]" * n,
        lambda n: b'{"a":' * n + b"1" + b"}" * n,
        lambda n: b"x = " + b"[" * n + b"]" * n,
        lambda n: b"x = " + b"{a=" * n + b"1" + b"}" * n,
        lambda n: b"a" + b".a" * n + b" = 1",
        lambda n: b"[" + b"a." * n + b"a]",
        lambda n: b"> " * n + b"x",
        lambda n: b"<recalled-memory>" * n,
    )
    depths = st.sampled_from((200, 900, 5_000, 30_000))
    return st.builds(lambda make, n: make(n) + b"\n", st.sampled_from(shapes), depths)


def _encode(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")


def _changes() -> st.SearchStrategy[Callable[[bytes], bytes]]:
    place = st.floats(0, 1, exclude_max=True)
    length = st.integers(1, 200)
    return st.one_of(
        st.builds(_inserted, place, st.sampled_from(_NASTY)),
        st.builds(_inserted, place, st.binary(max_size=20)),
        st.builds(_cut, place, length),
        st.builds(_zeroed, place, length),
        st.builds(_repeated, place, length, st.integers(2, 50)),
        st.builds(_truncated, place),
        st.builds(_overwritten, place, st.sampled_from(_NASTY)),
        st.builds(_swapped, place, place, length),
    )


def _apply(data: bytes, changes: Sequence[Callable[[bytes], bytes]]) -> bytes:
    for change in changes:
        data = change(data)
    return data[: 1 << 20]


def _at(data: bytes, place: float) -> int:
    return int(place * (len(data) + 1))


def _inserted(place: float, new: bytes) -> Callable[[bytes], bytes]:
    return lambda data: data[: _at(data, place)] + new + data[_at(data, place) :]


def _overwritten(place: float, new: bytes) -> Callable[[bytes], bytes]:
    return lambda data: data[: _at(data, place)] + new + data[_at(data, place) + len(new) :]


def _cut(place: float, length: int) -> Callable[[bytes], bytes]:
    return lambda data: data[: _at(data, place)] + data[_at(data, place) + length :]


def _zeroed(place: float, length: int) -> Callable[[bytes], bytes]:
    return lambda data: (
        data[: _at(data, place)]
        + b"\0" * len(data[_at(data, place) : _at(data, place) + length])
        + data[_at(data, place) + length :]
    )


def _repeated(place: float, length: int, times: int) -> Callable[[bytes], bytes]:
    return lambda data: (
        data[: _at(data, place)] + data[_at(data, place) : _at(data, place) + length] * times + data[_at(data, place) :]
    )


def _truncated(place: float) -> Callable[[bytes], bytes]:
    return lambda data: data[: _at(data, place)]


def _swapped(one: float, other: float, length: int) -> Callable[[bytes], bytes]:
    def swap(data: bytes) -> bytes:
        first, second = sorted((_at(data, one), _at(data, other)))
        if second < first + length:
            return data
        a, b = data[first : first + length], data[second : second + length]
        return data[:first] + b + data[first + length : second] + a + data[second + length :]

    return swap
