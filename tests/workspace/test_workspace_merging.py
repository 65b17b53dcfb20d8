"""Taking one change back out of a text that has changed since."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from backend.workspace.merging import take_back

LINES = st.lists(st.sampled_from([b"a\n", b"b\n", b"c\n", b"d\n"]), max_size=8)


@pytest.mark.parametrize(
    ("before", "after", "now", "wanted"),
    [
        (b"1\n2\n3\n4\n", b"1\nX\n3\n4\n", b"1\nX\n3\nY\n", b"1\n2\n3\nY\n"),
        (b"1\n", b"1\n2\n", b"0\n1\n2\n", b"0\n1\n"),
        (b"1\n2\n", b"X\n2\n", b"Y\n2\n", None),
        (b"1\n2\n", b"X\n2\n", b"X\nY\n", None),  # neighbours: whose line is whose cannot be told
        (b"\x00\x01", b"\x00\x02", b"\x00\x03", None),
        (b"1\r\n2\r\n3\r\n", b"X\r\n2\r\n3\r\n", b"X\r\n2\r\nY\r\n", b"1\r\n2\r\nY\r\n"),
    ],
)
def test_examples(before: bytes, after: bytes, now: bytes, wanted: bytes | None) -> None:
    assert take_back(before, after, now) == wanted


@given(LINES, LINES)
def test_without_later_edits_it_is_as_before(before: list[bytes], after: list[bytes]) -> None:
    assert take_back(b"".join(before), b"".join(after), b"".join(after)) == b"".join(before)


@given(LINES, LINES)
def test_a_change_that_did_nothing_takes_nothing_back(same: list[bytes], now: list[bytes]) -> None:
    assert take_back(b"".join(same), b"".join(same), b"".join(now)) == b"".join(now)
