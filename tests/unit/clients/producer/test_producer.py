"""Ctrl-C in the midst of `send`: the producer goes on, and what was accepted is sent."""

import random
import signal
import threading
from collections.abc import Callable

import pytest

from kafka_py.base.errors import KafkaError
from kafka_py.clients import Producer, RecordFuture
from kafka_py.records.batch import decode_records
from kafka_py.testing.fakes.memory_wire import MemoryCluster, MemoryWires
from kafka_py.testing.interrupts import interrupts
from kafka_py.wire.apis import ApiKey


@pytest.mark.filterwarnings("ignore:coroutine .* was never awaited")  # an interrupt before the call had begun
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_random_interrupts_of_send_leave_a_producer_that_works() -> None:
    draw = random.Random(3)
    cluster = MemoryCluster()
    cluster.create_topic("t", 2)
    wires = MemoryWires(cluster)
    accepted: list[tuple[int, RecordFuture]] = []
    attempted = 0
    configs = {
        "bootstrap.servers": "h:9092",
        "linger.ms": 1,
        "batch.size": 200,
        "enable.idempotence": True,
        "acks": "all",
    }
    with interrupts() as interrupt, Producer(configs, environment=wires.environment()) as producer:
        producer.partitions_for("t")
        accumulator = producer._core.accumulator
        while interrupt.raised < 2_000:
            try:
                interrupt.within(draw.uniform(1e-6, 3e-4))
                while interrupt.armed:
                    attempted += 1
                    future = producer.send("t", b"%d" % attempted)
                    accepted.append((attempted, future))
            except KeyboardInterrupt:
                pass
            assert accumulator.lock.acquire(timeout=10)
            for lane in accumulator.lanes():
                for batch in lane.queue:
                    assert len(batch.details) == batch.builder.record_count > 0
            accumulator.lock.release()
        producer.flush(30)
        assert not accumulator.incomplete
    assert all(future.result(1).offset >= 0 for _, future in accepted)
    stored = sorted(
        int(bytes(record.value or b""))
        for partition in cluster.partitions.values()
        for batch in partition.batches
        for record in decode_records(batch)
    )
    assert len(stored) == len(set(stored))
    assert {number for number, _ in accepted} <= set(stored) <= set(range(1, attempted + 1))


def test_what_is_sent_after_an_interrupt_needs_no_flush(monkeypatch: pytest.MonkeyPatch) -> None:
    cluster = MemoryCluster()
    cluster.create_topic("t", 1)
    wires = MemoryWires(cluster)
    with Producer({"bootstrap.servers": "h:9092"}, environment=wires.environment()) as producer:
        producer.partitions_for("t")
        accumulator = producer._core.accumulator
        open_batch: Callable[..., object] = accumulator._open

        def interrupted(*arguments: object) -> object:
            open_batch(*arguments)
            raise KeyboardInterrupt

        monkeypatch.setattr(accumulator, "_open", interrupted)
        with pytest.raises(KeyboardInterrupt):
            producer.send("t", b"lost")
        monkeypatch.undo()
        assert producer.send("t", b"v").result(10).offset == 0
        assert accumulator.pool.available == accumulator.pool.total


def test_an_interrupted_close_ends_the_thread_and_fails_what_was_not_answered() -> None:
    cluster = MemoryCluster()
    cluster.create_topic("t", 1)
    asked = threading.Event()

    def interrupt_and_stay_silent(_request: object) -> None:
        if not asked.is_set():
            asked.set()
            signal.setitimer(signal.ITIMER_REAL, 0.01)

    cluster.answers[ApiKey.PRODUCE] = interrupt_and_stay_silent
    settings = {"bootstrap.servers": "h:9092", "linger.ms": 60_000}
    with interrupts() as interrupt:
        producer = Producer(settings, environment=MemoryWires(cluster).environment())
        future = producer.send("t", b"v")
        interrupt.armed = True
        with pytest.raises(KeyboardInterrupt):
            producer.close()
    assert not producer._thread._thread.is_alive()
    assert isinstance(future.exception(0), KafkaError)


def test_a_producer_that_cannot_start_leaves_no_thread(monkeypatch: pytest.MonkeyPatch) -> None:
    def start(_core: object) -> None:
        raise ValueError("no")

    monkeypatch.setattr("kafka_py.clients.producer.core.ProducerCore.start", start)
    before = set(threading.enumerate())
    with pytest.raises(ValueError, match="no"):
        Producer({"bootstrap.servers": "h:9092"})
    assert set(threading.enumerate()) <= before
