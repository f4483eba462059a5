"""The chain of interceptors: order, failures, what it hears of a record's end."""

from typing import Any

import pytest

from kafka_py.base.errors import ConfigError, ErrorCode, KafkaError
from kafka_py.clients.producer.accumulator import Lane
from kafka_py.clients.producer.batches import ProducerBatch, RecordMetadata
from kafka_py.clients.producer.interceptors import ProducerInterceptors, ProducerRecord, interceptors_of
from kafka_py.records.builder import BatchBuilder


class Prefix:
    def __init__(self, prefix: str = "p-") -> None:
        self.prefix = prefix
        self.heard: list[tuple[RecordMetadata, KafkaError | None]] = []
        self.closed = 0
        self.configs: Any = None

    def configure(self, configs: Any) -> None:
        self.configs = configs

    def on_send(self, record: ProducerRecord) -> ProducerRecord:
        return record._replace(value=self.prefix + record.value)

    def on_acknowledgement(self, metadata: RecordMetadata, error: KafkaError | None) -> None:
        self.heard.append((metadata, error))

    def close(self) -> None:
        self.closed += 1


class Failing:
    def on_send(self, record: ProducerRecord) -> ProducerRecord:
        raise ValueError("on_send")

    def on_acknowledgement(self, metadata: RecordMetadata, error: KafkaError | None) -> None:
        raise ValueError("on_acknowledgement")

    def close(self) -> None:
        raise ValueError("close")


class Forgetful(Failing):
    def on_send(self, record: ProducerRecord) -> Any:
        return None


RECORD = ProducerRecord("t", "kafka")


def batch(count: int, *chain: Any) -> ProducerBatch:
    made = ProducerBatch(Lane("t", 3), BatchBuilder(), 1000, 0, 0.0, ProducerInterceptors(chain).on_answer)
    made.details = [(100 + number, -1, number) for number in range(count)]
    return made


def test_each_gets_what_the_one_before_made() -> None:
    chain = ProducerInterceptors([Prefix("1-"), Prefix("2-")])
    assert chain.on_send(RECORD).value == "2-1-kafka"


@pytest.mark.parametrize("broken", [Failing(), Forgetful()])
def test_after_a_failure_the_next_goes_on_from_the_last_success(broken: Any, caplog: pytest.LogCaptureFixture) -> None:
    chain = ProducerInterceptors([Prefix("1-"), broken, Prefix("2-")])
    assert chain.on_send(RECORD).value == "2-1-kafka"
    assert f"{type(broken).__name__}.on_send failed for topic t" in caplog.text


def test_all_hear_of_every_record_of_an_answered_batch_before_its_callbacks() -> None:
    order: list[str] = []
    last = Prefix()
    made = batch(2, Failing(), last)
    made.callbacks.append((0, lambda _metadata, _error: order.append(f"callback after {len(last.heard)}")))
    made.succeed(40)
    assert last.heard == [
        (RecordMetadata("t", 3, 40, 100, -1, 0), None),
        (RecordMetadata("t", 3, 41, 101, -1, 1), None),
    ]
    assert order == ["callback after 2"]


def test_of_a_failed_record_only_topic_and_partition_are_told() -> None:
    last = Prefix()
    made = batch(1, last)
    error = KafkaError(ErrorCode.REQUEST_TIMED_OUT)
    made.fail(error)
    assert last.heard == [(RecordMetadata("t", 3, -1, -1, -1, -1), error)]


@pytest.mark.parametrize(("partition", "told"), [(None, -1), (2, 2)])
def test_a_record_that_send_refused_is_heard_of_too(partition: int | None, told: int) -> None:
    last = Prefix()
    error = KafkaError(ErrorCode.MESSAGE_TOO_LARGE)
    ProducerInterceptors([last]).on_send_error(RECORD._replace(partition=partition), error)
    assert last.heard == [(RecordMetadata("t", told, -1, -1, -1, -1), error)]


def test_closing_closes_all_whatever_one_of_them_does() -> None:
    first, last = Prefix(), Prefix()
    ProducerInterceptors([first, Failing(), last]).close()
    assert (first.closed, last.closed) == (1, 1)


def test_the_setting_names_classes_or_objects_and_configures_them() -> None:
    chain = interceptors_of([f"{__name__}.Prefix", Prefix], {"a": 1}, "producer-9")
    assert chain is not None
    first = chain._chain[0]
    assert isinstance(first, Prefix)
    assert first.configs == {"a": 1, "client.id": "producer-9"}
    assert interceptors_of([], {}, "me") is None
    with pytest.raises(ConfigError, match=r"interceptor\.classes: it has no method on_send"):
        interceptors_of([object()], {}, "me")
