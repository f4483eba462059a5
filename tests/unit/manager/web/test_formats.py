"""Numbers, sizes and times as readers see them."""

import pytest

from kafka_py.manager.web import formats


@pytest.mark.parametrize(
    ("value", "text"),
    [(None, "–"), (0, "0 B"), (1023, "1023 B"), (1024, "1.0 KiB"), (1536 << 20, "1.5 GiB"), (1 << 62, "4096.0 PiB")],
)
def test_sizes_have_a_unit(value: int | None, text: str) -> None:
    assert formats.size(value) == text


def test_thousands_are_apart() -> None:
    assert formats.count(1234567) == "1\u2009234\u2009567"
    assert formats.count(None) == "–"


@pytest.mark.parametrize(
    ("value", "text"),
    [(None, "–"), (0, "0.0 s"), (9_900, "9.9 s"), (59_000, "59 s"), (3_900_000, "1 h 5 min"), (90_000_000, "1 d 1 h"),
     (-61_000, "−1 min 1 s"), (7_200_000, "2 h")],
)  # fmt: skip
def test_durations_have_their_two_largest_units(value: int | None, text: str) -> None:
    assert formats.duration(value) == text


@pytest.mark.parametrize(
    ("value", "text"),
    [(None, "–"), (-1, "–"), (0, "1970-01-01 00:00:00"), (1_600_000_000_000, "2020-09-13 12:26:40"),
     (1 << 62, str(1 << 62))],
)  # fmt: skip
def test_moments_are_in_utc_and_any_number_is_shown(value: int | None, text: str) -> None:
    assert formats.moment(value) == text


def test_a_part_of_a_path_may_be_any_text() -> None:
    assert formats.part("a/b?c&d#é\"'<>") == "a%2Fb%3Fc%26d%23%C3%A9%22%27%3C%3E"
