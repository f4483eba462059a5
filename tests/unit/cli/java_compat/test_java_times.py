"""Moments and durations on the command line."""

import pytest

from kafka_py.cli.java_compat.java_times import duration_ms, moment_ms

AT = 1_600_000_005_000  # 2020-09-13T12:26:45Z


@pytest.mark.parametrize(
    ("text", "ms"),
    [
        ("2020-09-13T12:26:45.000", AT),
        ("2020-09-13T12:26:45.000Z", AT),
        ("2020-09-13T12:26:45.5", AT + 5),
        ("2020-09-13T13:26:45.000+01", AT),
        ("2020-09-13T13:26:45.000+0100", AT),
        ("2020-09-13T11:56:45.000-00:30", AT),
        ("1969-12-31T23:59:59.999", -1),
        ("9999-12-31T23:59:59.999", 253402300799999),
    ],
)
def test_a_moment_is_in_utc_unless_it_names_a_zone(text, ms):
    assert moment_ms(text) == ms


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("2020-09-13", "does not contain a 'T'"),
        ("2020-09-13T12:26:45", 'Unparseable date: "2020-09-13T12:26:45Z"'),
        ("2020-13-13T12:26:45.000Z", 'Unparseable date: "2020-13-13T12:26:45.000Z"'),
        ("2020-02-30T12:26:45.000", "Unparseable date"),
        ("0000-01-01T00:00:00.000", "Unparseable date"),
        ("soonT", "Unparseable date"),
    ],
)
def test_other_texts_are_refused_with_the_classics_words(text, words):
    with pytest.raises(ValueError, match=words):
        moment_ms(text)


@pytest.mark.parametrize(
    ("text", "ms"),
    [
        ("P1D", 86_400_000),
        ("PT1H", 3_600_000),
        ("P1DT2H3M4.5S", 93_784_500),
        ("pt0,25s", 250),
        ("-PT1M", -60_000),
        ("PT-1.5S", -1500),
        ("-P-2D", 172_800_000),
        ("PT1.S", 1000),
    ],
)
def test_durations(text, ms):
    assert duration_ms(text) == ms


@pytest.mark.parametrize("text", ["", "P", "PT", "P1DT", "P1Y", "1D", "PT1H1D", "P1M", "PT1.1234567890S", "PTS"])
def test_what_is_no_duration_is_refused(text):
    with pytest.raises(ValueError, match="Text cannot be parsed to a Duration"):
        duration_ms(text)
