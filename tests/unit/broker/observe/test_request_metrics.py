"""The times of requests: noted down as moments, worked out in bulk."""

import pytest

from kafka_py.base.meters import MetricRegistry
from kafka_py.broker.observe.metrics import (
    FOLD_AT,
    AllRequestMetrics,
    ApiMetrics,
    Finished,
    count_open_files,
    resident_bytes,
)
from kafka_py.testing.clock import ManualClock
from kafka_py.wire.apis import APIS, ApiKey

# read, taken up, parked, answered, turn to be sent, sent, bytes
PARKED: Finished = (10.0, 10.001, 10.003, 10.1, 10.2, 10.25, 80)
AT_ONCE: Finished = (10.0, 10.001, 0.0, 10.003, 10.003, 10.004, 20)


@pytest.fixture
def registry() -> MetricRegistry:
    return MetricRegistry(ManualClock())


def counts(registry: MetricRegistry, name: str) -> dict[str, object]:
    return {
        ",".join(reading.tags.values()): reading.attributes["Count"]
        for reading in registry.read()
        if reading.row is not None and reading.row.name == name
    }


def test_the_whole_time_is_split_into_its_steps(registry: MetricRegistry) -> None:
    metrics = ApiMetrics(registry, "Produce")
    metrics.finished.append(PARKED)
    metrics.fold()
    times = metrics.times
    assert times.request_queue_time.read()["Max"] == pytest.approx(1)
    assert times.local_time.read()["Max"] == pytest.approx(2)
    assert times.remote_time.read()["Max"] == pytest.approx(97)
    assert times.response_queue_time.read()["Max"] == pytest.approx(100)
    assert times.response_send_time.read()["Max"] == pytest.approx(50)
    assert times.total_time.read()["Max"] == pytest.approx(250)
    assert times.request_bytes.read()["Max"] == 80


def test_a_request_answered_at_once_has_no_remote_time(registry: MetricRegistry) -> None:
    metrics = ApiMetrics(registry, "Produce")
    metrics.finished.append(AT_ONCE)
    metrics.fold()
    assert metrics.times.remote_time.read()["Max"] == 0
    assert metrics.times.local_time.read()["Max"] == pytest.approx(2)


def test_all_requests_count_though_only_a_sample_is_worked_out(registry: MetricRegistry) -> None:
    metrics = ApiMetrics(registry, "Produce")
    metrics.finished += [AT_ONCE] * (FOLD_AT - 1) + [PARKED]
    values = next(each for each in registry.read() if each.row is not None and each.row.name == "TotalTimeMs")
    assert values.attributes["Count"] == FOLD_AT
    assert values.attributes["Max"] == pytest.approx(250)
    assert metrics.times.local_time.count == FOLD_AT
    assert metrics.times.local_time.read()["50thPercentile"] == pytest.approx(2, rel=0.05)
    assert metrics.finished == []


def test_the_fetches_of_consumers_count_among_all_fetches(registry: MetricRegistry) -> None:
    metrics = AllRequestMetrics(registry)
    metrics.fetch_consumer.finished.append(AT_ONCE)
    metrics.fetch_follower.finished += [PARKED, PARKED]
    metrics.fetch_consumer.count_error("OFFSET_OUT_OF_RANGE")
    assert counts(registry, "TotalTimeMs") == {"Fetch": 3, "FetchConsumer": 1, "FetchFollower": 2}
    errors = counts(registry, "ErrorsPerSec")
    assert errors["Fetch,OFFSET_OUT_OF_RANGE"] == errors["FetchConsumer,OFFSET_OUT_OF_RANGE"] == 1


def test_answers_without_an_error_count_as_none(registry: MetricRegistry) -> None:
    metrics = ApiMetrics(registry, "Produce")
    metrics.count_error("NOT_LEADER_OR_FOLLOWER")
    metrics.finished += [AT_ONCE] * 3
    registry.tick()
    assert counts(registry, "ErrorsPerSec") == {"Produce,NOT_LEADER_OR_FOLLOWER": 1, "Produce,NONE": 2}


def test_apis_that_nobody_asked_for_show_nothing(registry: MetricRegistry) -> None:
    metrics = AllRequestMetrics(registry)
    registry.tick()
    assert list(registry.read()) == []
    metrics.of(APIS[ApiKey.METADATA]).count(4)
    assert counts(registry, "RequestsPerSec") == {"Metadata,4": 1}


def test_the_process_measures_itself() -> None:
    assert resident_bytes() > 1 << 20
    before = count_open_files()
    with open("/dev/null"):
        assert count_open_files() == before + 1
