"""A producer that remembers what was acknowledged, and what must be true of the replicas afterwards.

librdkafka with acks=all and idempotence: each value is a number, rising per partition, so that what is lost, repeated
or out of order shows. Replicas are read from their files, not through a broker.
"""

import json
import threading
import time
from collections.abc import Iterable, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

import confluent_kafka
import kazoo.client

from kafka_py.records.batch import iter_headers
from kafka_py.testing.broker import AnyBroker
from kafka_py.testing.fakes.stored_logs import records_of

SETTINGS = {
    "acks": "all",
    "enable.idempotence": True,
    "linger.ms": 2,
    "delivery.timeout.ms": 120_000,
    "retry.backoff.ms": 50,
    "reconnect.backoff.max.ms": 500,
    "topic.metadata.refresh.interval.ms": 2_000,
    "log_level": 0,
}
TIMEOUT_S = 100


class Load:
    """Writes numbers to all partitions of a topic until `end`. acknowledged: by partition, number -> its offset."""

    def __init__(self, bootstrap: str, topic: str, partitions: int, *, pause_s: float = 0.002) -> None:
        self.acknowledged: list[dict[int, int]] = [{} for _ in range(partitions)]
        self.failures: list[str] = []
        self._topic = topic
        self._pause_s = pause_s
        self._producer = confluent_kafka.Producer({**SETTINGS, "bootstrap.servers": bootstrap})
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, name="load")
        self._thread.start()

    def _run(self) -> None:
        number = 0
        while not self._stop.is_set():
            for partition in range(len(self.acknowledged)):
                try:
                    self._producer.produce(
                        self._topic, b"%d" % number, partition=partition, on_delivery=self._delivered
                    )
                except BufferError:
                    self._producer.poll(0.05)
            number += 1
            self._producer.poll(0)
            time.sleep(self._pause_s)

    def _delivered(self, error: Any, message: Any) -> None:
        if error is None:
            self.acknowledged[message.partition()][int(message.value())] = message.offset()
        else:
            self.failures.append(str(error))

    @property
    def count(self) -> int:
        return sum(map(len, self.acknowledged))

    def wait_more(self, more: int = 100) -> None:
        """Until so many more were acknowledged."""
        until(lambda wanted=self.count + more: self.count >= wanted)

    def end(self) -> None:
        """Stops; everything that was sent must have been acknowledged."""
        self._stop.set()
        self._thread.join()
        left = self._producer.flush(TIMEOUT_S)
        assert (left, self.failures) == (0, [])


def until(condition: Any, timeout_s: float = TIMEOUT_S) -> None:
    ends = time.monotonic() + timeout_s
    while not condition():
        assert time.monotonic() < ends, "it did not happen in time"
        time.sleep(0.05)


def log_bytes(broker: AnyBroker, topic: str, partition: int) -> bytes:
    """All segments of a replica, in order."""
    folder = next(path for path in (one / f"{topic}-{partition}" for one in broker.log_dirs) if path.exists())
    return b"".join(path.read_bytes() for path in sorted(folder.glob("*.log")))


def check_replica(data: bytes, acknowledged: dict[int, int]) -> None:
    """Nothing acknowledged is missing, nothing is there twice, the order is that of sending.

    One repetition is the client's: librdkafka raises its producer epoch when a batch arrives at a new leader before the
    batch in front of it (OUT_OF_ORDER_SEQUENCE_NUMBER, which the Java client only retries), and sends all that was not
    acknowledged again (its issue 4953). So a number may be stored again under a later producer epoch, if it was
    acknowledged only there.
    """
    places: dict[int, int] = {}
    rows = []
    for position, header in iter_headers(data):
        for record in records_of(data[position : position + header.size_bytes]):
            number = int(record.value or b"-1")
            places[number] = record.offset
            rows.append((header.producer_epoch, number))
    assert {number: offset for number, offset in acknowledged.items() if places.get(number) != offset} == {}
    assert all(first < second for first, second in pairwise(rows))


def check_replicas(brokers: Sequence[AnyBroker], topic: str, load: Load) -> None:
    """Waits until all replicas are equal, then checks each partition."""
    for partition, acknowledged in enumerate(load.acknowledged):
        until(lambda number=partition: len({log_bytes(broker, topic, number) for broker in brokers}) == 1)
        check_replica(log_bytes(brokers[0], topic, partition), acknowledged)


class Peek:
    """A look into a cluster's ZooKeeper."""

    def __init__(self, connect: str) -> None:
        self._client = kazoo.client.KazooClient(connect)
        self._client.start()

    def state(self, topic: str, partition: int) -> dict[str, Any]:
        """The partition's state znode."""
        data, _ = self._client.get(f"/brokers/topics/{topic}/partitions/{partition}/state")
        return dict(json.loads(data))

    def isr(self, topic: str, partition: int = 0) -> set[int]:
        return set(self.state(topic, partition)["isr"])

    def controller(self) -> int | None:
        """None while there is none."""
        try:
            return int(json.loads(self._client.get("/controller")[0])["brokerid"])
        except Exception:
            return None

    def depose_controller(self) -> None:
        """Has the brokers elect anew."""
        self._client.delete("/controller")

    def children(self, path: str) -> list[str]:
        return list(self._client.get_children(path))

    def close(self) -> None:
        self._client.stop()
        self._client.close()


def epochs_of(broker: AnyBroker, topic: str, partition: int = 0) -> list[tuple[int, int]]:
    """(epoch, first offset) pairs of a replica's leader-epoch-checkpoint."""
    for folder in map(Path, broker.log_dirs):
        path = folder / f"{topic}-{partition}" / "leader-epoch-checkpoint"
        if path.exists():
            return [(int(a), int(b)) for a, b in map(str.split, path.read_text().splitlines()[2:])]
    return []


def bootstrap_of(brokers: Iterable[AnyBroker]) -> str:
    return ",".join(broker.bootstrap for broker in brokers)
