"""Committed offsets: how fast they are taken, and how fast a million of them is read back after a kill -9.

    python -m benchmarks.offsets [--groups N] [--partitions N] [--seconds S]

Starts a broker and its ZooKeeper. First groups commit, ten partitions at a time, over a few pipelined connections;
then the offsets topic is filled until every group has an offset for every partition. The broker is killed and started
again; from the moment it serves, all groups are asked for until the last one is there, while another connection asks
for something else every 5 ms: its longest wait is what loading costs others. Prints lines for people.
"""

from __future__ import annotations

import argparse
import threading
import time
from collections.abc import Iterator

from benchmarks import load
from kafka_py.testing.broker import BrokerProcess
from kafka_py.testing.cluster import KafkaCluster
from kafka_py.testing.peers.wire_client import WireClient
from kafka_py.wire.frames import encode_request
from kafka_py.wire.messages.api_versions import ApiVersionsRequest
from kafka_py.wire.messages.find_coordinator import FindCoordinatorRequest
from kafka_py.wire.messages.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
)
from kafka_py.wire.messages.offset_fetch import OffsetFetchRequest

TOPIC = "benchmark"
AT_ONCE = 10
CONNECTIONS = 4
DEPTH = 8
PROBE_S = 0.005
DEADLINE_S = 120.0
VERSION = 7


def commits(groups: range, partitions: int) -> Iterator[bytes]:
    """Every commit that fills these groups."""
    for group in groups:
        for first in range(0, partitions, AT_ONCE):
            rows = [
                OffsetCommitRequestPartition(
                    partition_index=number, committed_offset=1000 + number, committed_leader_epoch=0,
                    committed_metadata="",
                )
                for number in range(first, first + AT_ONCE)
            ]  # fmt: skip
            request = OffsetCommitRequest(
                group_id=name_of(group), member_id="", topics=[OffsetCommitRequestTopic(name=TOPIC, partitions=rows)]
            )
            yield bytes(encode_request(request, VERSION, 1, "bench"))


def name_of(group: int) -> str:
    return f"group-{group:06}"


def wait_coordinator(bootstrap: str) -> None:
    deadline = time.monotonic() + DEADLINE_S
    with WireClient(bootstrap) as client:
        while client.ask(FindCoordinatorRequest(key="x", key_type=0), 3).error_code:
            if time.monotonic() > deadline:
                raise TimeoutError("there is no coordinator")
            time.sleep(0.05)


class Probe(threading.Thread):
    """Asks for the API versions every 5 ms; `longest_s` is the longest answer took."""

    def __init__(self, bootstrap: str) -> None:
        super().__init__(daemon=True)
        self.longest_s = 0.0
        self.asked = 0
        self.over = threading.Event()
        self._where = bootstrap

    def run(self) -> None:
        with WireClient(self._where) as client:
            request = ApiVersionsRequest(client_software_name="bench", client_software_version="1")
            while not self.over.is_set():
                began = time.monotonic()
                client.ask(request, 3)
                self.longest_s = max(self.longest_s, time.monotonic() - began)
                self.asked += 1
                time.sleep(PROBE_S)


def load_time(broker: BrokerProcess, groups: int, partitions: int) -> tuple[float, Probe]:
    """From when the broker serves until every group is there; with the probe that ran meanwhile."""
    broker.kill()
    broker.start()
    began = time.monotonic()
    probe = Probe(broker.bootstrap)
    probe.start()
    deadline = began + DEADLINE_S
    with WireClient(broker.bootstrap) as client:
        for group in range(groups):
            is_counted = group % 50 == 0
            request = OffsetFetchRequest(group_id=name_of(group), topics=None if is_counted else [])
            while True:
                answer = client.ask(request, 5)
                if not answer.error_code:
                    break
                if time.monotonic() > deadline:
                    raise TimeoutError(f"group {group} is not there: error {answer.error_code}")
                time.sleep(0.02)
            if is_counted and sum(len(topic.partitions) for topic in answer.topics) != partitions:
                raise AssertionError(f"group {group} has lost offsets")
    took = time.monotonic() - began
    probe.over.set()
    probe.join()
    return took, probe


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--groups", type=int, default=10_000)
    parser.add_argument("--partitions", type=int, default=100)
    parser.add_argument("--seconds", type=float, default=5.0)
    options = parser.parse_args()
    settings = {"offsets.topic.num.partitions": 50, "log.retention.check.interval.ms": 3_600_000}
    with KafkaCluster(settings=settings) as cluster:
        broker = cluster.brokers[0]
        cluster.create_topic(TOPIC, options.partitions)
        wait_coordinator(broker.bootstrap)
        time.sleep(1)
        share = options.groups // CONNECTIONS
        requests = [
            list(commits(range(number * share, (number + 1) * share), options.partitions))
            for number in range(CONNECTIONS)
        ]
        streams = [load.Stream(load.connect(broker.port), rows, DEPTH, lambda _: None) for rows in requests]
        took = load.run(streams, options.seconds, 1 << 60)["seconds"]
        answers = sum(stream.answers for stream in streams)
        print(f"{answers * AT_ONCE / took:,.0f} commits/s in {answers / took:,.0f} requests/s of {AT_ONCE} partitions")
        missing = sum(map(len, requests)) - answers
        for stream in streams:
            stream.depth = DEPTH
        load.run(streams, DEADLINE_S, missing + CONNECTIONS * len(requests[0]) // 10)
        for stream in streams:
            stream.socket.close()
        total = share * CONNECTIONS * options.partitions
        took, probe = load_time(broker, share * CONNECTIONS, options.partitions)
        print(
            f"{total:,} offsets of {share * CONNECTIONS:,} groups were there after {took:.1f} s; "
            f"of {probe.asked} other requests meanwhile the longest took {probe.longest_s * 1000:.0f} ms"
        )


if __name__ == "__main__":
    main()
