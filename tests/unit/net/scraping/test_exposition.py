"""The text of metric families, whole and in pieces."""

from kafka_py.net.scraping.exposition import LINES_PER_PIECE, MetricFamilies


def families() -> MetricFamilies:
    made = MetricFamilies()
    made.of("a", "counter", 'With "quotes" \\ and\nlines.').lines.append("a 1")
    made.of("unused", "gauge", "None.")
    many = made.of("b", "gauge", "")
    many.lines += [f'b{{n="{number}"}} 0' for number in range(2 * LINES_PER_PIECE + 1)]
    return made


def test_a_family_is_described_before_its_samples_and_left_out_without_any() -> None:
    lines = families().text.splitlines()
    assert lines[:4] == ['# HELP a With "quotes" \\\\ and lines.', "# TYPE a counter", "a 1", "# HELP b b"]
    assert not [line for line in lines if "unused" in line]


def test_pieces_are_the_same_text() -> None:
    made = families()
    text = made.text
    pieces = list(made.pieces())
    assert b"".join(pieces).decode() == text
    assert len(pieces) == 4
    assert made.text == "", "the samples are gone, so that none is in memory twice"
