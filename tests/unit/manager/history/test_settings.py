"""Bounds of the history's settings."""

import pytest

from kafka_py.manager.history.metrics import LAG, metric_named
from kafka_py.manager.history.settings import LEAST_LIMIT_BYTES, HistorySettings


def test_a_history_without_room_or_time_is_refused() -> None:
    with pytest.raises(ValueError, match="bytes"):
        HistorySettings(limit_bytes=LEAST_LIMIT_BYTES - 1)
    with pytest.raises(ValueError, match="positive"):
        HistorySettings(interval_ms=0)


def test_a_metric_is_found_by_its_name() -> None:
    assert metric_named("lag") is LAG
    with pytest.raises(ValueError, match="no metric 'log'"):
        metric_named("log")
