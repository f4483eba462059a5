"""A load whose every acknowledgement can be checked: rising numbers, each sent once, in order, to one partition.

By idempotent producers with acks=all, third-party and our own; so the partition must read 0, 1, 2 ... without a gap or
a repeat, as far as anything was acknowledged. Blocking; needs confluent-kafka.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from functools import partial

import confluent_kafka

TIMEOUT_S = 60
DELIVERY_TIMEOUT_MS = 300_000


class Load:
    """Writes rising numbers to one partition until it is stopped, and knows how far it was acknowledged.

    send: hands a value over, with a callback that gets whether it was acknowledged. poll: lets the producer work, for
    at most so many seconds. close: ends the producer and its connections, whatever is unsent.
    """

    def __init__(
        self,
        send: Callable[[bytes, Callable[[bool], None]], None],
        poll: Callable[[float], object],
        close: Callable[[], object],
    ) -> None:
        self.acknowledged = 0
        self.failed = 0
        self.sent = 0
        self._send, self._poll, self._close = send, poll, close
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
        """Until so many are acknowledged, none having failed."""
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
        """Ends the load, whatever is unacknowledged, and its connections."""
        self._stop.set()
        self._abandoned.set()
        self._thread.join(TIMEOUT_S)
        self._close()


def read_numbers(bootstrap: str, topic: str, start: int, stop: int, partition: int = 0) -> list[int]:
    """The numbers at offsets start (inclusive) to stop (exclusive)."""
    consumer = confluent_kafka.Consumer(
        {"bootstrap.servers": bootstrap, "group.id": "unused", "enable.auto.commit": False, "check.crcs": True}
    )
    try:
        consumer.assign([confluent_kafka.TopicPartition(topic, partition, start)])
        numbers: list[int] = []
        while start + len(numbers) < stop:
            record = consumer.poll(TIMEOUT_S)
            assert record is not None, f"nothing came at offset {start + len(numbers)} of {stop}"
            assert record.error() is None, record.error()
            assert record.offset() == start + len(numbers)
            numbers.append(int(record.value() or b""))
        return numbers
    finally:
        consumer.close()


def read_all(bootstrap: str, topic: str, sent: int, partition: int = 0, verified: int = 0) -> None:
    """Asserts that the partition holds 0 to `sent` (exclusive), once each, in order, and not a record more.

    verified: how many of them were read and compared before. The end is compared as well: a repeat of the last record
    would be behind everything that a reader of `sent` records sees.
    """
    assert read_numbers(bootstrap, topic, verified, sent, partition) == list(range(verified, sent))
    end = end_offset(bootstrap, topic, partition)
    assert end == sent, f"{topic}-{partition} ends at {end}, {sent} records were sent"


def end_offset(bootstrap: str, topic: str, partition: int = 0) -> int:
    """The partition's high watermark, as a consumer gets it."""
    consumer = confluent_kafka.Consumer({"bootstrap.servers": bootstrap, "group.id": "unused"})
    try:
        _, high = consumer.get_watermark_offsets(confluent_kafka.TopicPartition(topic, partition), timeout=TIMEOUT_S)
        return int(high)
    finally:
        consumer.close()


def end_producer(producer: confluent_kafka.Producer) -> None:
    """Ends a producer of librdkafka with its threads and connections; what is unsent is dropped."""
    producer.purge()
    producer.close()


def confluent_load(bootstrap: str, topic: str, partition: int = 0) -> Load:
    """A load by librdkafka's idempotent producer."""
    producer = confluent_kafka.Producer(
        {"bootstrap.servers": bootstrap, "enable.idempotence": True, "acks": "all", "linger.ms": 2,
         "delivery.timeout.ms": DELIVERY_TIMEOUT_MS, "reconnect.backoff.max.ms": 200, "retry.backoff.ms": 50}
    )  # fmt: skip

    def send(value: bytes, delivered: Callable[[bool], None]) -> None:
        producer.produce(topic, value=value, partition=partition, on_delivery=lambda error, _: delivered(error is None))

    return Load(send, lambda seconds: producer.poll(seconds), partial(end_producer, producer))


def our_load(bootstrap: str, topic: str, partition: int = 0) -> Load:
    """A load by our own idempotent producer."""
    from kafka_py.clients import Producer

    producer = Producer(
        {"bootstrap.servers": bootstrap, "enable.idempotence": True, "acks": "all", "linger.ms": 2,
         "delivery.timeout.ms": DELIVERY_TIMEOUT_MS, "reconnect.backoff.max.ms": 200, "retry.backoff.ms": 50}
    )  # fmt: skip
    pause = threading.Event()

    def send(value: bytes, delivered: Callable[[bool], None]) -> None:
        producer.send(topic, value=value, partition=partition, callback=lambda _, error: delivered(error is None))

    return Load(send, lambda seconds: pause.wait(seconds), lambda: producer.close(timeout=0))
