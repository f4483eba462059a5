"""What becomes of a batch, seen through the futures and callbacks of its records."""

import asyncio
import threading
from itertools import count

import pytest

from kafka_py.base.errors import ErrorCode, KafkaError
from kafka_py.clients.errors import ClientTimeout
from kafka_py.clients.producer.accumulator import Lane
from kafka_py.clients.producer.batches import ProducerBatch, RecordFuture, RecordMetadata, advance_sequence
from kafka_py.records.batch import decode_records, read_header
from kafka_py.records.builder import BatchBuilder
from kafka_py.testing.interrupts import InterruptAt


def batch_of(*values: bytes) -> tuple[ProducerBatch, list[RecordFuture]]:
    batch = ProducerBatch(Lane("t", 3), BatchBuilder(), 1000, 1000, 0.0)
    futures = []
    for number, value in enumerate(values):
        batch.builder.append(100 + number, None, value)
        batch.details.append((100 + number, -1, len(value)))
        batch.size += len(value)
        futures.append(RecordFuture(batch, number))
    return batch, futures


def test_we2_2_a_future_gives_topic_partition_offset_and_timestamp() -> None:
    batch, futures = batch_of(b"a", b"bc")
    assert not futures[1].done()
    batch.succeed(40)
    assert futures[1].result() == RecordMetadata("t", 3, 41, 101, -1, 2)


def test_we2_2_a_bounded_wait_raises_when_it_is_over() -> None:
    _, futures = batch_of(b"a")
    with pytest.raises(ClientTimeout):
        futures[0].result(timeout=0)


def test_the_brokers_time_replaces_the_records_own() -> None:
    batch, futures = batch_of(b"a")
    batch.succeed(0, log_append_time=777)
    assert futures[0].result().timestamp == 777


def test_an_unknown_offset_is_not_counted_on_from() -> None:
    batch, futures = batch_of(b"a", b"b")
    batch.succeed(-1)
    assert futures[1].result().offset == -1


def test_we2_3_callbacks_run_in_order_with_exactly_one_argument_set() -> None:
    calls: list[tuple[str, RecordMetadata | None, KafkaError | None]] = []
    batch, _ = batch_of(b"a", b"b")
    batch.callbacks += [(0, lambda m, e: calls.append(("1", m, e))), (1, lambda m, e: calls.append(("2", m, e)))]
    batch.succeed(5)
    assert [name for name, _, _ in calls] == ["1", "2"]
    assert all(metadata is not None and error is None for _, metadata, error in calls)
    batch, _ = batch_of(b"a")
    batch.callbacks.append((0, lambda m, e: calls.append(("3", m, e))))
    batch.fail(KafkaError(ErrorCode.MESSAGE_TOO_LARGE))
    assert calls[-1][1] is None
    assert calls[-1][2] is not None


def test_a_callback_that_fails_does_not_stop_the_others(caplog: pytest.LogCaptureFixture) -> None:
    calls: list[int] = []

    def broken(*_: object) -> None:
        raise RuntimeError("mine")

    batch, _ = batch_of(b"a", b"b")
    batch.callbacks += [(0, broken), (1, lambda _m, _e: calls.append(1))]
    batch.succeed(0)
    assert calls == [1]
    assert "mine" in caplog.text


def test_a_failure_is_raised_by_every_future() -> None:
    batch, futures = batch_of(b"a", b"b")
    batch.fail(KafkaError(ErrorCode.INVALID_TIMESTAMP, "no"))
    for future in futures:
        with pytest.raises(KafkaError, match="no"):
            future.result()


def test_a_thread_that_waits_is_woken() -> None:
    batch, futures = batch_of(b"a")
    results: list[int] = []
    thread = threading.Thread(target=lambda: results.append(futures[0].result(5).offset))
    thread.start()
    batch.succeed(9)
    thread.join(5)
    assert results == [9]


def test_a_wait_that_is_interrupted_does_not_hold_up_who_answers() -> None:
    """Wherever it is interrupted: no lock is left behind that the producer's thread would wait for."""
    for moment in count(1):
        batch, futures = batch_of(b"a")
        interrupt = InterruptAt(moment, ("producer/batches.py", "clients/waiting.py", "/threading.py"))
        try:
            with interrupt:
                futures[0].result(0.001)
        except (KeyboardInterrupt, ClientTimeout):
            pass
        answers = threading.Thread(target=batch.succeed, args=(5,), daemon=True)
        answers.start()
        answers.join(30)
        assert not answers.is_alive()
        assert futures[0].result(30).offset == 5
        if not interrupt.came:
            break
    assert moment > 5


def test_a_future_can_be_awaited() -> None:
    async def scenario() -> int:
        batch, futures = batch_of(b"a")
        asyncio.get_running_loop().call_soon(batch.succeed, 12)
        return (await futures[0]).offset + (await futures[0]).offset

    assert asyncio.run(scenario()) == 24


def test_futures_and_callbacks_follow_a_batch_that_is_split() -> None:
    calls: list[int] = []
    batch, futures = batch_of(b"a" * 100, b"b" * 100, b"c" * 100)
    batch.callbacks.append((2, lambda m, _e: calls.append(m.offset if m else -1)))
    batch.producer_id, batch.producer_epoch, batch.sequence = 7, 1, 2**31 - 1
    first, rest = batch.split()
    assert [len(part.details) for part in (first, rest)] == [2, 1]
    assert [part.sequence for part in (first, rest)] == [2**31 - 1, 1]
    assert not any(future.done() for future in futures)
    first.succeed(10)
    rest.succeed(12)
    assert [future.result().offset for future in futures] == [10, 11, 12]
    assert calls == [12]


def test_a_large_record_behind_small_ones_gets_a_batch_of_its_own() -> None:
    """Else a broker that refuses it would refuse what it was split into, again and again."""
    batch, _ = batch_of(b"a", b"b", b"c" * 5000)
    assert [len(part.details) for part in batch.split()] == [2, 1]
    batch, _ = batch_of(b"a", b"c" * 5000, b"b")
    first, _ = batch.split()
    assert [len(part.details) for part in first.split()] == [1, 1]


def test_who_observes_a_batch_observes_what_it_is_split_into() -> None:
    ended: list[ProducerBatch] = []
    batch, _ = batch_of(b"a" * 100, b"b" * 100)
    batch.observer = ended.append
    parts = batch.split()
    for number, part in enumerate(parts):
        part.succeed(number)
    assert len(parts) == 2
    assert ended == parts


def test_a_thread_waiting_through_a_split_gets_its_answer() -> None:
    batch, futures = batch_of(b"a" * 100, b"b" * 100)
    results: list[int] = []
    thread = threading.Thread(target=lambda: results.append(futures[1].result(5).offset))
    thread.start()
    for number, part in enumerate(batch.split()):
        part.succeed(number)
    thread.join(5)
    assert results == [1]


def test_encoding_carries_the_present_producer_fields() -> None:
    batch, _ = batch_of(b"a")
    assert read_header(batch.encode()).producer_id == -1
    batch.producer_id, batch.producer_epoch, batch.sequence, batch.data = 7, 2, 30, None
    header = read_header(batch.encode())
    assert (header.producer_id, header.producer_epoch, header.base_sequence) == (7, 2, 30)
    assert [record.value for record in decode_records(batch.encode())] == [b"a"]


@pytest.mark.parametrize(("sequence", "count", "then"), [(0, 5, 5), (2**31 - 1, 1, 0), (2**31 - 3, 5, 2)])
def test_sequences_go_on_at_zero_after_the_largest(sequence: int, count: int, then: int) -> None:
    assert advance_sequence(sequence, count) == then
