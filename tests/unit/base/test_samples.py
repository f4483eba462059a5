"""Rates, averages and extremes over the last windows."""

import math

import pytest

from kafka_py.base.samples import RecentRate, Samples, Sampling

TWO_OF_30_S = Sampling(window_ms=30_000.0, past=1, fills_up=True)


def test_a_young_client_spreads_its_events_over_a_past_window_that_never_was() -> None:
    rate = RecentRate(0.0, TWO_OF_30_S.past)
    assert rate.read(350, 5_000.0, TWO_OF_30_S) == 350 / 35.0
    assert rate.read(0, 0.0, TWO_OF_30_S) == 0.0


def test_a_rate_covers_the_present_window_and_the_one_before() -> None:
    rate = RecentRate(0.0, TWO_OF_30_S.past)
    rate.tick(300, 30_000.0)
    assert rate.read(340, 40_000.0, TWO_OF_30_S) == pytest.approx(340 / 40.0)
    rate.tick(400, 60_000.0)
    assert rate.read(500, 70_000.0, TWO_OF_30_S) == pytest.approx((500 - 300) / 40.0)


def test_otherwise_at_least_a_second_counts_as_passed() -> None:
    rate = RecentRate(0.0, 6)
    assert rate.read(10, 100.0, Sampling()) == 10.0
    assert rate.read(10, 4_000.0, Sampling()) == 2.5


def test_samples_forget_what_is_older_than_their_windows_but_not_the_total() -> None:
    samples = Samples(past=1)
    samples.update(10.0)
    samples.tick()
    samples.update(2.0)
    samples.update(3.0)
    assert (samples.average, samples.least, samples.greatest, samples.total) == (5.0, 2.0, 10.0, 15.0)
    samples.tick()
    assert (samples.average, samples.least, samples.greatest, samples.total) == (2.5, 2.0, 3.0, 15.0)
    samples.tick()
    assert math.isnan(samples.average) and math.isnan(samples.least) and math.isnan(samples.greatest)
    assert samples.total == 15.0


def test_a_single_window_has_no_past() -> None:
    samples = Samples(past=0)
    samples.update(1.0)
    samples.tick()
    assert math.isnan(samples.greatest)
    rate = RecentRate(0.0, 0)
    rate.tick(5, 1000.0)
    assert rate.read(7, 2000.0, Sampling(1000.0, 0)) == 2.0
