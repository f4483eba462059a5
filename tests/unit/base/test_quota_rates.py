"""Rates over samples and buckets of tokens, with the figures of Apache Kafka 2.8.2's own classes."""

import math

import pytest

from kafka_py.base.quota_rates import SampledRate, TokenBucket, Window, throttle_ms

MAX_LONG = (1 << 63) - 1

# (limit, samples, sample in ms, values with their moments, throttle time and rate after each)
RATES = [
    (
        500.0, 11, 1000,
        [
            (0, 5000), (0, 1), (500, 1000)
        ],
        [
            (0, 500.0), (2, 500.1), (1502, 571.5238095238095)
        ],
    ),
    (
        500.0, 11, 1000,
        [
            (0, 5001)
        ],
        [
            (2, 500.1)
        ],
    ),
    (
        500.0, 11, 1000,
        [
            (0, 400), (1000, 400), (2000, 400), (3000, 400), (4000, 400), (5000, 400), (6000, 400),
            (7000, 400), (8000, 400), (9000, 400), (10000, 400), (10500, 600), (11000, 2500),
            (12000, 0), (30000, 100)
        ],
        [
            (0, 40.0), (0, 80.0), (0, 120.0), (0, 160.0), (0, 200.0), (0, 240.0), (0, 280.0), (0,
            320.0), (0, 360.0), (0, 400.0), (0, 440.0), (0, 476.1904761904762), (4200, 710.0),
            (3400, 670.0), (0, 10.0)
        ],
    ),
    (
        1000.0, 11, 1000,
        [
            (0, 50000), (100, 0), (1000, 0), (5000, 0), (10000, 0), (10999, 0), (11000, 0), (11001,
            10)
        ],
        [
            (40000, 5000.0), (39900, 4950.495049504951), (40000, 5000.0), (40000, 5000.0), (40000,
            5000.0), (39001, 4545.867806164197), (0, 0.0), (0, 0.9999000099990002)
        ],
    ),
    (
        1000.0, 2, 1000,
        [
            (0, 1500), (500, 0), (999, 0), (1000, 600), (1500, 0), (1999, 0), (2000, 0)
        ],
        [
            (500, 1500.0), (0, 1000.0), (0, 750.3751875937969), (1100, 2100.0), (600, 1400.0), (101,
            1050.5252626313156), (0, 600.0)
        ],
    ),
    (
        10.0, 3, 2000,
        [
            (0, 30), (1, 20), (1999, 5), (2000, 1), (4000, 60), (5999, 0), (6000, 0)
        ],
        [
            (0, 7.5), (999, 12.496875781054735), (0, 9.168194699116519), (1600, 14.0), (7600, 29.0),
            (5601, 19.336556092682116), (2100, 15.25)
        ],
    ),
    (
        500.0, 11, 1000,
        [
            (0, 6000), (0, -6000), (10, 6000), (10, -6000), (20, 1000)
        ],
        [
            (2000, 600.0), (0, 0.0), (1990, 599.4005994005994), (0, 0.0), (0, 99.8003992015968)
        ],
    ),
    (
        10.0, 11, 1000,
        [
            (1600000000123, 1), (1600000000123, 150), (1600000003000, 1), (1600000007500, 40)
        ],
        [
            (0, 0.1), (5100, 15.1), (4323, 13.974441482026293), (8823, 18.502457357617807)
        ],
    ),
    (
        1.0, 1, 1000,
        [
            (0, 3), (500, 0), (1000, 0)
        ],
        [
            (0, math.inf), (2500, 6.0), (0, math.nan)
        ],
    ),
    (
        9.223372036854776e+18, 11, 1000,
        [
            (0, 1000000000000.0)
        ],
        [
            (0, 100000000000.0)
        ],
    ),
    (
        0.0, 11, 1000,
        [
            (0, 1)
        ],
        [
            (MAX_LONG, 0.1)
        ],
    ),
]
BOUNDED_RATES = [
    (
        1.0, 11, 1000,
        [
            (0, 50), (10, 50), (1000, 1)
        ],
        [
            (1000, 5.0), (1000, 9.990009990009991), (1000, 10.1)
        ],
    ),
    (
        100.5, 11, 1000,
        [
            (0, 1005.0), (1, 0.1), (2, 30)
        ],
        [
            (0, 100.5), (0, 100.4999500049995), (298, 103.48930213957208)
        ],
    ),
    (
        0.0, 11, 1000,
        [
            (0, 1)
        ],
        [
            (1000, 0.1)
        ],
    ),
]
# (limit, samples, seconds of a sample, permits with their moments, granted, throttle time and tokens after each)
STRICT = [
    (
        5.0, 100, 1,
        [
            (1600000000000, 560), (1600000000000, 1), (1600000011999, 1), (1600000012000, 1),
            (1600000012000, 1), (1600000012200, 1)
        ],
        [
            (True, 0, -60.0), (False, 12000, -60.0), (False, 1, -0.0049999999999954525), (True, 0,
            -0.9999999999999954), (False, 200, -0.9999999999999954), (True, 0, -0.9999999999999954)
        ],
    ),
    (
        1.0, 11, 1,
        [
            (1600000000000, 11), (1600000000000, 1), (1600000000000, 1), (1600000001000, 1),
            (1600000001500, 1), (1600000100000, 11), (1600000100000, 5), (1600000100001, 1)
        ],
        [
            (True, 0, 0.0), (True, 0, -1.0), (False, 1000, -1.0), (True, 0, -1.0), (False, 500,
            -0.5), (True, 0, 0.0), (True, 0, -5.0), (False, 4999, -4.999)
        ],
    ),
    (
        0.5, 2, 10,
        [
            (1600000000000, 10), (1600000000000, 3), (1600000000000, 1), (1600000006000, 1),
            (1600000006001, 1)
        ],
        [
            (True, 0, 0.0), (True, 0, -3.0), (False, 6000, -3.0), (True, 0, -1.0), (False, 1999,
            -0.9995)
        ],
    ),
    (
        10.0, 11, 1,
        [
            (1600000000000, 110.0), (1600000000000, 0), (1600000000000, 1), (1600000000000, 1),
            (1600000000050, 1), (1600000000150, 1)
        ],
        [
            (True, 0, 0.0), (True, 0, 0.0), (True, 0, -1.0), (False, 100, -1.0), (False, 50, -0.5),
            (True, 0, -0.5)
        ],
    ),
]
PERMISSIVE = [
    (
        5.0, 100, 1,
        [
            (1600000000000, 560), (1600000000000, 1), (1600000011999, 1), (1600000012000, 1),
            (1600000020000, 30)
        ],
        [
            (True, 12000, -60.0), (True, 12200, -61.0), (True, 401, -2.0049999999999955), (True,
            600, -2.9999999999999956), (True, 0, 7.000000000000007)
        ],
    ),
    (
        1.0, 11, 1,
        [
            (1600000000000, 5), (1600000000000, 10), (1600000001000, 1), (1600000060000, 1)
        ],
        [
            (True, 0, 6.0), (True, 4000, -4.0), (True, 4000, -4.0), (True, 0, 10.0)
        ],
    ),
]


def checked(rate: SampledRate, limit: float, now_ms: float) -> tuple[float, float]:
    """Throttle time and rate, as the broker computes them after it has recorded a value."""
    measured, spread_ms = rate.measure(now_ms)
    return min(throttle_ms(measured, limit, spread_ms), MAX_LONG), measured


@pytest.mark.parametrize(("limit", "samples", "sample_ms", "events", "expected"), RATES)
def test_throttle_times_are_those_of_apache_kafka(
    limit: float, samples: int, sample_ms: int, events: list[tuple[int, float]], expected: list[tuple[int, float]]
) -> None:
    rate = SampledRate(Window(samples, sample_ms))
    for (now_ms, value), (throttled, per_second) in zip(events, expected, strict=True):
        rate.record(value, now_ms)
        assert checked(rate, limit, now_ms) == (throttled if value >= 0 else 0, pytest.approx(per_second, nan_ok=True))


@pytest.mark.parametrize(("limit", "samples", "sample_ms", "events", "expected"), BOUNDED_RATES)
def test_throttle_times_of_request_time_end_with_the_sample(
    limit: float, samples: int, sample_ms: int, events: list[tuple[int, float]], expected: list[tuple[int, float]]
) -> None:
    rate = SampledRate(Window(samples, sample_ms))
    for (now_ms, value), (throttled, per_second) in zip(events, expected, strict=True):
        rate.record(value, now_ms)
        time_ms, measured = checked(rate, limit, now_ms)
        assert (min(time_ms, sample_ms), measured) == (throttled, pytest.approx(per_second))


@pytest.mark.parametrize(("limit", "samples", "seconds", "events", "expected"), STRICT)
def test_a_strict_bucket_refuses_while_it_is_exhausted(
    limit: float, samples: int, seconds: int, events: list[tuple[int, float]], expected: list[tuple[bool, int, float]]
) -> None:
    bucket = TokenBucket(Window.of_seconds(samples, seconds), limit)
    for (now_ms, permits), (granted, throttled, tokens) in zip(events, expected, strict=True):
        bucket.refill(now_ms)
        exhausted_ms = bucket.exhausted_ms()
        assert ((bucket.tokens >= 0), exhausted_ms) == (granted, throttled)
        if granted:
            bucket.take(permits, now_ms)
        assert bucket.tokens == pytest.approx(tokens)


@pytest.mark.parametrize(("limit", "samples", "seconds", "events", "expected"), PERMISSIVE)
def test_a_permissive_bucket_grants_and_throttles(
    limit: float, samples: int, seconds: int, events: list[tuple[int, float]], expected: list[tuple[bool, int, float]]
) -> None:
    bucket = TokenBucket(Window.of_seconds(samples, seconds), limit)
    for (now_ms, permits), (_, throttled, tokens) in zip(events, expected, strict=True):
        bucket.take(permits, now_ms)
        assert (bucket.exhausted_ms(), bucket.tokens) == (throttled, pytest.approx(tokens))


def test_a_lower_limit_empties_a_bucket_down_to_its_new_size() -> None:
    bucket = TokenBucket(Window.of_seconds(11, 1), 100.0)
    bucket.take(0, 1_000)
    assert bucket.tokens == 1100.0
    bucket.limit = 1.0
    bucket.refill(1_000)
    assert bucket.tokens == 11.0


def test_a_rate_knows_when_it_was_last_used() -> None:
    rate = SampledRate(Window(11, 1_000))
    assert rate.is_idle_since(0)
    rate.record(1, 5_000)
    assert not rate.is_idle_since(5_000)
    assert rate.is_idle_since(6_001)
    assert rate.per_second(4_000_000) == 0.0


def test_a_rate_that_is_measured_often_is_idle_all_the_same() -> None:
    """Metrics are read every few seconds, and a measurement begins new samples in place of old ones."""
    rate = SampledRate(Window(11, 1_000))
    for used_ms in (0, 95_500, 3_000_000):
        rate.record(1, used_ms)
        for now_ms in range(used_ms + 5_000, used_ms + 100_000, 5_000):
            rate.per_second(now_ms)
            assert not rate.is_idle_since(used_ms)
            assert rate.is_idle_since(used_ms + 1_001)


def test_no_rate_exceeds_the_total_over_the_shortest_window() -> None:
    window = Window(3, 1_000)
    rate = SampledRate(window)
    for now_ms in range(0, 20_000, 137):
        rate.record(100, now_ms)
        assert rate.per_second(now_ms) <= rate.total / window.shortest_s
    assert math.isclose(rate.per_second(20_000), 730, rel_tol=0.05)


def test_a_rate_is_that_of_the_samples_of_its_window_however_long_it_runs() -> None:
    """Beside a rate that keeps every sample as a row of its own, as Rate and SampledStat do it."""
    window = Window(3, 1_000)
    rate = SampledRate(window)
    rows: list[list[float]] = []
    at, now_ms = -1, 0.0
    for number in range(2_000):
        now_ms += (number * 37) % 401 if number % 97 else 2_750  # now and then some samples are left out
        value = (number % 13) / 8
        rate.record(value, now_ms)
        if at < 0 or now_ms - rows[at][0] >= window.sample_ms:
            at = (at + 1) % window.samples
            rows[at : at + 1] = [[now_ms, 0.0]]
        rows[at][1] += value
        if number % 5 == 0:
            now_ms += 3_500  # the present sample is too old when it is looked at
        if number % 3 == 0:
            for row in rows:
                if now_ms - row[0] >= window.length_ms:
                    row[:] = now_ms, 0.0
            elapsed_ms = now_ms - min(start for start, _ in rows)
            spread_ms = elapsed_ms + max(window.samples - 1 - elapsed_ms // window.sample_ms, 0) * window.sample_ms
            assert rate.measure(now_ms) == (sum(row[1] for row in rows) / (spread_ms / 1000), spread_ms)
