"""Open transactions in partitions, and which of them hang."""

from kafka_py.base.errors import ErrorCode, KafkaError
from kafka_py.base.ids import TopicPartition
from kafka_py.clients.admin.transactions import ProducerDescription, TransactionDescription
from kafka_py.manager.pages.security.transactions import MINUTE_MS, open_ids, rows_of

HERE, THERE = TopicPartition("t", 0), TopicPartition("t", 1)
NOW_MS = 100 * MINUTE_MS
OLD = ProducerDescription(7, 3, 5, NOW_MS - 20 * MINUTE_MS, 2, 40)


def known(*partitions: TopicPartition) -> dict[str, TransactionDescription]:
    return {"id": TransactionDescription("id", 0, "Ongoing", 7, 3, 60_000, 0, partitions)}


def why(
    *producers: ProducerDescription, ids: dict[int, str], described: dict[str, TransactionDescription] | None
) -> list[str]:
    found: dict[TopicPartition, list[ProducerDescription] | KafkaError] = {
        HERE: list(producers),
        THERE: KafkaError(ErrorCode.UNSUPPORTED_VERSION),
    }
    return [row.why for row in rows_of(found, ids, described, NOW_MS, 15 * MINUTE_MS)]


def test_a_transaction_that_its_coordinator_knows_does_not_hang() -> None:
    assert why(OLD, ids={7: "id"}, described=known(HERE)) == [""]


def test_one_whose_coordinator_does_not_know_producer_or_partition_hangs() -> None:
    assert "producer" in why(OLD, ids={}, described={})[0]
    assert "partition" in why(OLD, ids={7: "id"}, described=known(THERE))[0]


def test_where_coordinators_cannot_be_asked_the_age_tells() -> None:
    assert "older than any time-out" in why(OLD, ids={}, described=None)[0]
    young = OLD._replace(last_timestamp=NOW_MS - MINUTE_MS)
    assert why(young, ids={}, described=None) == [""]


def test_a_producer_without_an_open_transaction_is_left_out() -> None:
    done = OLD._replace(transaction_start_offset=None)
    assert why(done, ids={}, described=None) == []
    assert open_ids({HERE: [done, OLD], THERE: KafkaError(ErrorCode.UNSUPPORTED_VERSION)}) == [7]
