"""Open transactions in partitions, and which of them hang."""

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

from kafka_py.base.errors import ErrorCode, KafkaError
from kafka_py.base.ids import TopicPartition
from kafka_py.clients.admin.results import Results
from kafka_py.clients.admin.transactions import AbortTransactionSpec, ProducerDescription, TransactionDescription
from kafka_py.manager.pages.security.transactions import MINUTE_MS, open_ids, rows_of
from kafka_py.testing.web_manager import CalledManager

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


class TransactionAdmin(SimpleNamespace):
    """A partition with two open transactions; notes which are aborted."""

    async def describe_producers(self, wanted: list[TopicPartition]) -> Results[TopicPartition, Any]:
        return Results({each: [OLD._replace(producer_id=8, transaction_start_offset=50), OLD] for each in wanted})

    async def abort_transaction(self, spec: AbortTransactionSpec) -> None:
        self.aborted.append(spec)

    async def close(self) -> None: ...


def test_the_transaction_that_begins_at_the_offset_is_aborted(played: Callable[..., None]) -> None:
    admin = TransactionAdmin(aborted=[])
    path, fields = "/clusters/test/transactions/abort", {"topic": "t", "partition": 0}

    async def scene(manager: CalledManager) -> None:
        assert (await manager.call(path, start_offset=41, **fields)).status_code == 404
        assert (await manager.call(path, start_offset=40, **fields)).json()["is_done"]
        assert admin.aborted == [AbortTransactionSpec(HERE, 7, 3, 2)]

    played(scene, admin=admin, allow_changes=True)
