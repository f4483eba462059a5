"""kill -9 under load, again and again: what was acknowledged is there, once, in order.

An idempotent producer keeps writing rising numbers while its broker is killed and started again on the same
directory. Since every number is sent once, in order, the partition must read 0, 1, 2 ... without a gap or a repeat,
as far as anything was acknowledged.
"""

import threading
from collections.abc import Callable

import confluent_kafka
import pytest

KILLS = 20
TIMEOUT_S = 60


class Load:
    """Writes rising numbers to one partition until it is stopped, and knows how far it was acknowledged."""

    def __init__(self, send: Callable[[bytes, Callable[[bool], None]], None], poll: Callable[[float], object]) -> None:
        self.acknowledged = 0
        self.failed = 0
        self.sent = 0
        self._send, self._poll = send, poll
        self._changed = threading.Condition()
        self._stop = threading.Event()
        self._abandoned = threading.Event()
        self._flowing = threading.Event()
        self._flowing.set()
        self._thread = threading.Thread(target=self._run, name="load")
        self._thread.start()

    def _run(self) -> None:
        while not self._stop.is_set():
            if self.sent - self.acknowledged > 20_000 or not self._flowing.is_set():
                self._poll(0.05)
                continue
            for _ in range(100):
                self._send(b"%d" % self.sent, self._delivered)
                self.sent += 1
            self._poll(0)
        while self.acknowledged + self.failed < self.sent and not self._abandoned.is_set():
            self._poll(0.05)

    def _delivered(self, ok: bool) -> None:
        with self._changed:
            if ok:
                self.acknowledged += 1
            else:
                self.failed += 1
            self._changed.notify_all()

    def wait_acknowledged(self, count: int) -> None:
        with self._changed:
            assert self._changed.wait_for(lambda: self.failed or self.acknowledged >= count, TIMEOUT_S)
        assert not self.failed

    def hold(self) -> None:
        """Sends nothing new; what is on its way still is, and is sent again as long as it has to be."""
        self._flowing.clear()

    def go_on(self) -> None:
        self._flowing.set()

    def finish(self) -> None:
        """Sends nothing more and waits until all that was sent is acknowledged."""
        self._stop.set()
        self._thread.join(TIMEOUT_S)
        assert (self.acknowledged, self.failed) == (self.sent, 0)

    def stop(self) -> None:
        self._stop.set()
        self._abandoned.set()
        self._thread.join(TIMEOUT_S)


def read_numbers(bootstrap: str, topic: str, start: int, stop: int) -> list[int]:
    """The numbers at offsets start (inclusive) to stop (exclusive)."""
    consumer = confluent_kafka.Consumer(
        {"bootstrap.servers": bootstrap, "group.id": "unused", "enable.auto.commit": False, "check.crcs": True}
    )
    try:
        consumer.assign([confluent_kafka.TopicPartition(topic, 0, start)])
        numbers: list[int] = []
        while start + len(numbers) < stop:
            record = consumer.poll(TIMEOUT_S)
            assert record is not None, f"nothing came at offset {start + len(numbers)} of {stop}"
            assert record.error() is None, record.error()
            assert record.offset() == start + len(numbers)
            numbers.append(int(record.value()))
        return numbers
    finally:
        consumer.close()


def confluent_load(bootstrap: str, topic: str) -> Load:
    producer = confluent_kafka.Producer(
        {"bootstrap.servers": bootstrap, "enable.idempotence": True, "acks": "all", "linger.ms": 2,
         "delivery.timeout.ms": 120_000, "reconnect.backoff.max.ms": 200, "retry.backoff.ms": 50}
    )  # fmt: skip

    def send(value: bytes, delivered: Callable[[bool], None]) -> None:
        producer.produce(topic, value=value, partition=0, on_delivery=lambda error, _: delivered(error is None))

    return Load(send, lambda seconds: producer.poll(seconds))


def our_load(bootstrap: str, topic: str) -> Load:
    from kafka_py.clients import Producer

    producer = Producer(
        {"bootstrap.servers": bootstrap, "enable.idempotence": True, "acks": "all", "linger.ms": 2,
         "delivery.timeout.ms": 120_000, "reconnect.backoff.max.ms": 200, "retry.backoff.ms": 50}
    )  # fmt: skip
    pause = threading.Event()

    def send(value: bytes, delivered: Callable[[bool], None]) -> None:
        producer.send(topic, value=value, partition=0, callback=lambda _, error: delivered(error is None))

    return Load(send, lambda seconds: pause.wait(seconds))


@pytest.mark.timeout(400)
@pytest.mark.parametrize("make_load", [confluent_load, our_load])
def test_nothing_acknowledged_is_lost_repeated_or_out_of_order(broker_process, make_load):
    broker, topic = broker_process, f"killed-{make_load.__name__}".replace("_", "-")
    broker.create_topic(topic, partitions=1, configs={"segment.bytes": "4000000"})
    load = make_load(broker.bootstrap, topic)
    verified = 0
    try:
        for _ in range(KILLS):
            load.wait_acknowledged(load.acknowledged + 2000)
            broker.kill()
            load.hold()
            acknowledged = load.acknowledged
            broker.start()
            assert read_numbers(broker.bootstrap, topic, verified, acknowledged) == list(range(verified, acknowledged))
            verified = acknowledged
            load.go_on()
        load.wait_acknowledged(load.acknowledged + 2000)
        load.finish()
    finally:
        load.stop()
    assert read_numbers(broker.bootstrap, topic, verified, load.sent) == list(range(verified, load.sent))
