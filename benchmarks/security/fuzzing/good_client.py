"""A user beside the changed frames: how long its requests wait, and whether all of its records are there at the end.

It writes a record with its number, and asks for metadata, in turn and every few milliseconds.
"""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Mapping

from benchmarks.security.failed_logins import login
from kafka_py.cli.local_cluster.broker_view import plain_connection, receive
from kafka_py.records.batch import iter_headers, iter_records
from kafka_py.records.builder import BatchBuilder
from kafka_py.testing.peers.wire_client import WireClient
from kafka_py.wire.messages.fetch import FetchPartition, FetchRequest, FetchTopic
from kafka_py.wire.messages.metadata import MetadataRequest
from kafka_py.wire.messages.produce import PartitionProduceData, ProduceRequest, TopicProduceData

GOOD_USER, GOOD_PASSWORD, GOOD_TOPIC = "bob", "bob-secret", "good"
PAUSE_S = 0.004
METADATA_VERSION, PRODUCE_VERSION, _FETCH_VERSION = 9, 7, 11


def logged_in(host: str, port: int, timeout_s: float) -> socket.socket:
    """A connection of the good user."""
    connection = plain_connection(host, port, timeout_s)
    connection.sendall(login(GOOD_USER, GOOD_PASSWORD))
    for _ in range(2):
        receive(connection, int.from_bytes(receive(connection, 4), "big"))
    return connection


class GoodClient(threading.Thread):
    """mark: under which name waits are noted now, None: under none. failure: what has ended it too early.

    first_offset: of its records, -1 before the first.
    """

    def __init__(self, port: int) -> None:
        super().__init__(daemon=True)
        self._client = WireClient(f"127.0.0.1:{port}", connect=logged_in)
        self._over = threading.Event()
        self.mark: str | None = None
        self.waits_ms: dict[str, list[float]] = {}
        self.written = 0
        self.first_offset = -1
        self.failure: BaseException | None = None

    def run(self) -> None:
        try:
            while not self._over.wait(PAUSE_S):
                self._ask()
        except Exception as error:
            self.failure = error

    def _ask(self) -> None:
        mark, began_s = self.mark, time.perf_counter()
        self._client.ask(MetadataRequest(topics=[]), METADATA_VERSION)
        between_s = time.perf_counter()
        answer = self._client.ask(record(GOOD_TOPIC, 0, self.written), PRODUCE_VERSION)
        ended_s = time.perf_counter()
        appended = answer.responses[0].partition_responses[0]
        if appended.error_code:
            raise ConnectionError(f"a good record was refused with error code {appended.error_code}")
        if not self.written:
            self.first_offset = appended.base_offset
        self.written += 1
        if mark is not None and mark == self.mark:
            self.waits_ms.setdefault(mark, []).extend([(between_s - began_s) * 1e3, (ended_s - between_s) * 1e3])

    def stop(self) -> None:
        """Raises what has ended it too early."""
        self._over.set()
        self.join()
        self._client.close()
        if self.failure is not None:
            raise self.failure

    def figures(self) -> Mapping[str, tuple[int, float, float, float]]:
        """By mark: the number of requests; the median, the 99th percentile and the longest of their waits in ms."""
        found = {}
        for mark, waits in self.waits_ms.items():
            ordered = sorted(waits)
            found[mark] = len(ordered), ordered[len(ordered) // 2], ordered[int(len(ordered) * 0.99)], ordered[-1]
        return found


def record(topic: str, partition: int, number: int) -> ProduceRequest:
    """Writes one record with this number as its value."""
    batch = BatchBuilder()
    batch.append(int(time.time() * 1000), None, str(number).encode())
    data = [PartitionProduceData(index=partition, records=batch.build())]
    topics = [TopicProduceData(name=topic, partition_data=data)]
    return ProduceRequest(acks=-1, timeout_ms=10_000, topic_data=topics)


def missing_records(port: int, first_offset: int, written: int) -> int:
    """How many of the numbers below `written` are not, or not in their places, in the topic."""
    missing, next_offset, end_offset = 0, first_offset, first_offset + written
    with WireClient(f"127.0.0.1:{port}", connect=logged_in) as client:
        while next_offset < end_offset:
            partition = FetchPartition(partition=0, fetch_offset=next_offset, partition_max_bytes=1 << 20)
            topics = [FetchTopic(topic=GOOD_TOPIC, partitions=[partition])]
            request = FetchRequest(
                replica_id=-1, max_wait_ms=100, min_bytes=1, topics=topics, forgotten_topics_data=[]
            )
            data = bytes(client.ask(request, _FETCH_VERSION).responses[0].partition_responses[0].record_set or b"")
            before = next_offset
            for position, _ in iter_headers(data):
                for each in iter_records(data, position):
                    missing += each.value != str(next_offset - first_offset).encode()
                    next_offset += 1
            if next_offset == before:
                return missing + end_offset - next_offset
    return missing
