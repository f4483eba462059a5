"""Date patterns of SimpleDateFormat."""

import time

import pytest

from kafka_py.cli.java_compat.java_dates import DatePattern

MOMENT_MS = 1_600_000_005_007  # 2020-09-13 12:26:45.007 UTC, a Sunday


@pytest.fixture(autouse=True)
def _utc(monkeypatch):
    monkeypatch.setenv("TZ", "UTC")
    time.tzset()
    yield
    monkeypatch.undo()
    time.tzset()


@pytest.mark.parametrize(
    ("pattern", "text"),
    [
        ("yyyy-MM-dd HH:mm:ss:SSS", "2020-09-13 12:26:45:007"),
        ("yy/M/d h:m:s a", "20/9/13 12:26:45 PM"),
        ("EEE, d MMM yyyy", "Sun, 13 Sep 2020"),
        ("EEEE MMMM D", "Sunday September 257"),
        ("yyyy-MM-dd'T'HH:mm:ss.SSSZ", "2020-09-13T12:26:45.007+0000"),
        ("hh 'o''clock'", "12 o'clock"),
        ("K k ''", "0 12 '"),
        ("HHmmss z", "122645 UTC"),
    ],
)
def test_patterns(pattern, text):
    assert DatePattern(pattern).format_ms(MOMENT_MS) == text


@pytest.mark.parametrize("pattern", ["yyyy-xx", "'open"])
def test_patterns_that_mean_nothing_are_refused(pattern):
    with pytest.raises(ValueError, match="date format"):
        DatePattern(pattern)
