"""Arrow batches cut and routed for a producer that only notes what it is given."""

from __future__ import annotations

from typing import Any

import pytest

pytest.importorskip("pyspark")
pytest.importorskip("pyarrow")

import numpy as np
import pyarrow as pa

from kafka_py.base.errors import KafkaError
from kafka_py.base.ids import TopicPartition
from kafka_py.clients.errors import ClientTimeout
from kafka_py.clients.producer.batches import RecordMetadata
from kafka_py.pipeline import bulk
from kafka_py.pipeline.bulk import BulkSender, packed, runs_of
from kafka_py.pipeline.commit_protocol import Written
from kafka_py.pipeline.sink import Tally
from kafka_py.records.batch import decode_records
from kafka_py.records.builder import BatchBuilder
from kafka_py.records.murmur2 import partition_for_key


class NotingProducer:
    """Takes a batch every other time, as if memory were short, and acknowledges it at once."""

    def __init__(self, partitions: int = 3, *, short: bool = False) -> None:
        self.sent: dict[int, list[list[tuple[bytes | None, bytes | None]]]] = {each: [] for each in range(partitions)}
        self._short, self._full = short, True

    def partitions_for(self, topic: str) -> list[int]:
        return list(self.sent)

    def send_batch(self, topic: str, partition: int, timestamp: int, records: bytes, count: int, done: Any) -> bool:
        self._full = self._short and not self._full
        if self._full:
            return False
        builder = BatchBuilder()
        builder.extend(timestamp, records, count)
        batches = self.sent[partition]
        before = sum(map(len, batches))
        batches.append([(each.key, each.value) for each in decode_records(builder.build())])
        done(RecordMetadata(topic, partition, before + count - 1, timestamp, -1, -1), None)
        return True

    def values(self) -> dict[int, list[bytes | None]]:
        return {number: [value for batch in found for _, value in batch] for number, found in self.sent.items()}


def sender(producer: NotingProducer, tally: Tally, size: int = 100) -> BulkSender:
    return BulkSender(producer, size, tally.note)  # type: ignore[arg-type]


def test_keys_choose_partitions_and_order_is_kept() -> None:
    producer, tally = NotingProducer(), Tally()
    keys: list[bytes | None] = [b"k%d" % (n % 7) for n in range(50)]
    values = [b"v%d" % n for n in range(50)]
    sender(producer, tally).send("t", pa.array(keys), pa.array(values), None)
    expected: dict[int, list[bytes]] = {0: [], 1: [], 2: []}
    for key, value in zip(keys, values, strict=True):
        expected[partition_for_key(key or b"", 3)].append(value)
    assert producer.values() == expected
    assert tally.written() == {
        TopicPartition("t", number): Written(len(found), 0, len(found) - 1)
        for number, found in expected.items() if found
    }  # fmt: skip


def test_records_that_may_go_anywhere_go_round_in_batches() -> None:
    producer, tally = NotingProducer(), Tally()
    values = [b"%03d" % n for n in range(60)]
    sender(producer, tally, 16 * 10).send("t", None, pa.array(values), None)
    assert sorted(value or b"" for found in producer.values().values() for value in found) == values
    assert all(len(batch) <= 10 for found in producer.sent.values() for batch in found)
    assert all(producer.sent.values())


def test_the_column_partition_counts_more_than_the_key() -> None:
    producer, tally = NotingProducer(), Tally()
    keys, values = pa.array([b"a", b"a", None, None]), pa.array([b"1", b"2", None, b"4"])
    sender(producer, tally).send("t", keys, values, pa.array([2, None, 0, 0], pa.int32()))
    found = producer.values()
    assert found[2][0] == b"1"
    assert found[0][-2:] == [None, b"4"]
    assert b"2" in found[partition_for_key(b"a", 3)]


@pytest.mark.parametrize("wrong", [3, -1])
def test_a_partition_that_does_not_exist_is_named(wrong: int) -> None:
    with pytest.raises(KafkaError, match=f"the column partition is {wrong} for t, which has 3"):
        sender(NotingProducer(), Tally()).send("t", None, pa.array([b"v"]), pa.array([wrong], pa.int32()))


def test_missing_memory_is_waited_for() -> None:
    producer = NotingProducer(1, short=True)
    sender(producer, Tally(), 20).send("t", None, pa.array([b"%d" % n for n in range(5)]), None)
    assert producer.values() == {0: [b"%d" % n for n in range(5)]}


def test_memory_that_never_comes_ends_the_wait(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bulk, "BLOCK_S", 0.0)
    producer = NotingProducer(1)
    monkeypatch.setattr(producer, "send_batch", lambda *_arguments: False)
    with pytest.raises(ClientTimeout, match="t-0: nothing was acknowledged"):
        sender(producer, Tally()).send("t", None, pa.array([b"v"]), None)


class ForgetfulProducer(NotingProducer):
    """Forgets the topic's metadata between two calls, as a producer does after metadata.max.idle.ms."""

    known = False

    def partitions_for(self, topic: str) -> list[int]:
        self.known = True
        return super().partitions_for(topic)

    def send_batch(self, *arguments: Any) -> bool:
        return self.known and super().send_batch(*arguments)


def test_a_topic_that_the_producer_forgot_while_it_was_idle_is_asked_for_again() -> None:
    producer = ForgetfulProducer(1)
    bulk_sender = sender(producer, Tally())
    bulk_sender.send("t", None, pa.array([b"1"]), None)
    producer.known = False
    bulk_sender.send("t", None, pa.array([b"2"]), None)
    assert producer.values() == {0: [b"1", b"2"]}


def test_metadata_that_expires_within_a_batch_is_asked_for_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bulk, "BLOCK_S", 2.0)
    producer = ForgetfulProducer(1)
    bulk_sender = sender(producer, Tally(), 20)
    original = producer.send_batch

    def send_batch(*arguments: Any) -> bool:
        taken = original(*arguments)
        producer.known = False
        return taken

    monkeypatch.setattr(producer, "send_batch", send_batch)
    bulk_sender.send("t", None, pa.array([b"1", b"2", b"3"]), None)
    assert producer.values() == {0: [b"1", b"2", b"3"]}


def test_partitions_added_meanwhile_are_used() -> None:
    producer = NotingProducer(1)
    bulk_sender = sender(producer, Tally())
    bulk_sender.send("t", None, pa.array([b"1"]), None)
    producer.sent[1] = []
    bulk_sender.send("t", None, pa.array([b"2"]), pa.array([1], pa.int32()))
    assert producer.values() == {0: [b"1"], 1: [b"2"]}


def test_equal_codes_come_together_and_keep_their_order() -> None:
    order, runs = runs_of(np.array([2, 0, 2, -1, 0, 2]))
    assert order.to_pylist() == [3, 1, 4, 0, 2, 5]
    assert runs == [(-1, 0, 1), (0, 1, 2), (2, 3, 3)]
    assert runs_of(np.array([], np.int64))[1] == []


def test_slices_of_arrow_arrays_are_taken_as_they_are() -> None:
    array = pa.array([b"a", None, b"ccc", b"dd"]).slice(1, 3)
    column = packed(array)
    assert column.offsets.tolist() == [1, 1, 4, 6]
    assert column.valid is not None
    assert column.valid.tolist() == [False, True, True]
    assert packed(pa.array([], pa.binary())).offsets.tolist() == [0]
    assert packed(pa.array(["ä"])).data.tobytes()[:2] == "ä".encode()


def test_a_failure_names_how_many_and_why() -> None:
    from kafka_py.base.errors import ErrorCode

    tally = Tally()
    tally.note(None, KafkaError(ErrorCode.MESSAGE_TOO_LARGE, "t-1: too large"), 5)
    with pytest.raises(KafkaError, match="5 records were not acknowledged; the first: t-1: too large"):
        tally.check()
