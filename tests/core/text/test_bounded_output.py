"""What a program prints is kept within bounds."""

from __future__ import annotations

import tracemalloc

from hypothesis import given, settings, strategies as st

from demeanor.core.text.bounded_output import BoundedOutput


def kept(limit: int, *pieces: bytes) -> BoundedOutput:
    """Everything that was printed, taken in piece by piece."""
    stream = BoundedOutput(limit)
    for piece in pieces:
        stream.add(piece)
    return stream


@settings(deadline=None)
@given(st.lists(st.text().map(str.encode), max_size=20))
def test_all_of_it_is_kept_while_it_fits(pieces: list[bytes]) -> None:
    """However it was cut on its way, a character in two included."""
    whole = b"".join(pieces)
    bytewise = [whole[at : at + 1] for at in range(len(whole))]
    for way in (pieces, bytewise):
        output = kept(len(whole) + 1, *way).output()
        assert (output.text, output.total_bytes, output.truncated) == (whole.decode(), len(whole), False)


@settings(deadline=None)
@given(st.lists(st.binary(max_size=50)), st.integers(2, 64))
def test_first_and_last_half_are_kept_and_the_rest_is_counted(pieces: list[bytes], limit: int) -> None:
    """What is shown, with what was left out, is always what was printed."""
    whole = b"".join(pieces)
    output = kept(limit, *pieces).output()
    assert output.total_bytes == len(whole)
    assert output.truncated == (output.left_out > 0)
    if output.truncated:
        mark = f"\n[… {output.left_out} bytes left out …]\n"
        first, _, last = output.text.partition(mark)
        assert whole[: limit // 2].decode("utf-8", "backslashreplace").startswith(first)
        assert whole[-(limit // 2) :].decode("utf-8", "backslashreplace").endswith(last)
        assert len(whole) - limit <= output.left_out <= len(whole) - limit + 8


def test_characters_are_not_cut_in_two() -> None:
    """Where the middle is left out, no half of a character is shown at the seams."""
    output = kept(12, "ä€𝄞ä€𝄞ä€𝄞ä€𝄞".encode()).output()
    assert output.text == "ä€\n[… 27 bytes left out …]\n𝄞"


def test_bytes_that_are_no_text_are_shown_as_escapes() -> None:
    """Nothing is lost, nothing is raised."""
    assert kept(100, b"ok \xff\xfe\n").output().text == "ok \\xff\\xfe\n"


def test_much_output_costs_little_memory() -> None:
    """A hundred megabytes in, a megabyte kept."""
    tracemalloc.start()
    stream, piece = BoundedOutput(2**20), b"x" * 65536
    for _ in range(1600):
        stream.add(piece)
    assert stream.output().left_out == 1600 * 65536 - 2**20
    assert tracemalloc.get_traced_memory()[1] < 6 * 2**20
    tracemalloc.stop()
