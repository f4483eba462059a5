"""Transactions: how many a second one broker takes, what a commit costs, and how fast 100,000 ids are read back.

    python -m benchmarks.transactions [--seconds S] [--producers N] [--records N] [--partitions N] [--ids N] [--apache]

First confluent-kafka producers, one thread each, write transactions of `--records` 100-byte records over
`--partitions` partitions and commit them; `--apache` does the same on Apache Kafka 2.8.2. Then as many plain as
idempotent records are sent by one producer in turn, for what idempotence costs the broker. Last `--ids` transactional
ids are made, and the broker is killed and started again: from when it serves, ids of every partition of the transaction
log are asked for until all are there, while another connection asks for something else every 5 ms. Prints lines for
people.
"""

from __future__ import annotations

import argparse
import statistics
import threading
import time
from dataclasses import dataclass, field

from confluent_kafka import Producer

from benchmarks import load, servers
from benchmarks.offsets import DEADLINE_S, Probe
from kafka_py.base.errors import ErrorCode
from kafka_py.testing.broker import BrokerProcess
from kafka_py.testing.cluster import KafkaCluster
from kafka_py.testing.peers.wire_client import WireClient
from kafka_py.wire.frames import encode_request
from kafka_py.wire.messages.end_txn import EndTxnRequest
from kafka_py.wire.messages.find_coordinator import FindCoordinatorRequest
from kafka_py.wire.messages.init_producer_id import InitProducerIdRequest

TOPIC = "bench-transactions"
VALUE = b"x" * 100
CONNECTIONS, DEPTH = 4, 8
PROBED_IDS = 500
SETTINGS = {
    "transaction.state.log.replication.factor": "1", "transaction.state.log.min.isr": "1",
    "offsets.topic.replication.factor": "1", "log.cleaner.enable": "false",
}  # fmt: skip


@dataclass
class Done:
    """What the producers of one run did. commits_ms: how long each commit_transaction took."""

    seconds: float = 0.0
    broker_cpu_s: float = 0.0
    commits_ms: list[float] = field(default_factory=list)

    def __str__(self) -> str:
        ordered = sorted(self.commits_ms)
        p99 = ordered[int(len(ordered) * 0.99)]
        return (
            f"{len(ordered) / self.seconds:,.0f} transactions/s, a commit takes {statistics.median(ordered):.1f} ms "
            f"(p99 {p99:.1f} ms), {self.broker_cpu_s / len(ordered) * 1000:.2f} ms of the broker's CPU each"
        )


def _producer(bootstrap: str, **settings: object) -> Producer:
    return Producer(
        {"bootstrap.servers": bootstrap, "linger.ms": 2, "queue.buffering.max.messages": 1_000_000, **settings}
    )


def _commit_until(ends: float, producer: Producer, records: int, partitions: int, took_ms: list[float]) -> None:
    while time.monotonic() < ends:
        producer.begin_transaction()
        for number in range(records):
            producer.produce(TOPIC, VALUE, partition=number % partitions)
        producer.flush()
        began = time.monotonic()
        producer.commit_transaction()
        took_ms.append((time.monotonic() - began) * 1000)


def measure(server: servers.Server, options: argparse.Namespace) -> Done:
    """Runs the producers; the first transaction of each, which finds its coordinator, is not counted."""
    done, warm = Done(), []
    bootstrap = f"127.0.0.1:{server.port}"
    producers = [_producer(bootstrap, **{"transactional.id": f"bench-{n}"}) for n in range(options.producers)]
    for producer in producers:
        producer.init_transactions(60)
        _commit_until(time.monotonic() + 0.001, producer, options.records, options.partitions, warm)
    cpu, began = server.cpu_seconds(), time.monotonic()
    threads = [
        threading.Thread(
            target=_commit_until,
            args=(began + options.seconds, producer, options.records, options.partitions, done.commits_ms),
        )
        for producer in producers
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    done.seconds = time.monotonic() - began
    done.broker_cpu_s = server.cpu_seconds() - cpu
    return done


def idempotence(server: servers.Server, records: int, partitions: int, rounds: int) -> float:
    """The broker's CPU time for idempotent records, divided by that for plain ones; median of the rounds."""
    ratios = []
    for _ in range(rounds):
        spent = []
        for is_idempotent in (False, True):
            producer = _producer(
                f"127.0.0.1:{server.port}", acks="all", **{"enable.idempotence": is_idempotent, "linger.ms": 5}
            )
            cpu = server.cpu_seconds()
            for number in range(records):
                producer.produce(TOPIC, VALUE, partition=number % partitions)
                if number % 200_000 == 199_999:
                    producer.flush()
            producer.flush()
            spent.append(server.cpu_seconds() - cpu)
        ratios.append(spent[1] / max(spent[0], 0.01))
    return statistics.median(ratios)


def _name(number: int) -> str:
    return f"loaded-{number:06}"


def fill(broker: BrokerProcess, ids: int) -> None:
    """Makes transactional ids, as producers that start do."""
    share = ids // CONNECTIONS
    streams = []
    for place in range(CONNECTIONS):
        rows = [
            bytes(encode_request(
                InitProducerIdRequest(transactional_id=_name(number), transaction_timeout_ms=60_000), 1, 1, "bench"
            ))
            for number in range(place * share, (place + 1) * share)
        ]  # fmt: skip
        streams.append(load.Stream(load.connect(broker.port), rows, DEPTH, lambda _: None))
    load.run(streams, DEADLINE_S, ids - CONNECTIONS)
    for stream in streams:
        stream.socket.close()


def load_time(broker: BrokerProcess, ids: int) -> tuple[float, Probe]:
    """From when the broker serves until ids all over the transaction log are there; with the probe of meanwhile."""
    broker.kill()
    broker.start()
    began = time.monotonic()
    probe = Probe(broker.bootstrap)
    probe.start()
    with WireClient(broker.bootstrap) as client:
        for number in range(0, ids, max(ids // PROBED_IDS, 1)):
            request = EndTxnRequest(transactional_id=_name(number), producer_id=-5, producer_epoch=0, committed=True)
            while client.ask(request, 3).error_code != ErrorCode.INVALID_PRODUCER_ID_MAPPING:  # it is not its producer
                if time.monotonic() > began + DEADLINE_S:
                    raise TimeoutError(f"{_name(number)} is not there")
                time.sleep(0.02)
    took = time.monotonic() - began
    probe.over.set()
    probe.join()
    return took, probe


def loading(ids: int) -> None:
    """Prints how fast the transaction log is read back, and what an id costs in memory."""
    with KafkaCluster(settings=dict(SETTINGS)) as cluster:
        broker = cluster.brokers[0]
        deadline = time.monotonic() + DEADLINE_S
        with WireClient(broker.bootstrap) as client:
            while client.ask(FindCoordinatorRequest(key="x", key_type=1), 3).error_code:
                if time.monotonic() > deadline:
                    raise TimeoutError("there is no transaction coordinator")
                time.sleep(0.05)
        fill(broker, CONNECTIONS * DEPTH)
        resident_kb = _resident_kb(broker)
        fill(broker, ids)
        grown_kb = _resident_kb(broker) - resident_kb
        took, probe = load_time(broker, ids)
        print(
            f"{ids:,} transactional ids: {grown_kb * 1024 / ids:,.0f} bytes each in memory; there after {took:.1f} s; "
            f"of {probe.asked} other requests meanwhile the longest took {probe.longest_s * 1000:.0f} ms"
        )


def _resident_kb(broker: BrokerProcess) -> int:
    with open(f"/proc/{broker.pid}/status", encoding="ascii") as status:
        return int(status.read().partition("VmRSS:")[2].split()[0])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=5.0)
    parser.add_argument("--producers", type=int, default=8)
    parser.add_argument("--records", type=int, default=1_000)
    parser.add_argument("--partitions", type=int, default=10)
    parser.add_argument("--ids", type=int, default=100_000)
    parser.add_argument("--idempotent-records", type=int, default=1_000_000)
    parser.add_argument("--apache", action="store_true", help="the same on Apache Kafka 2.8.2")
    options = parser.parse_args()
    settings = {**SETTINGS, "num.partitions": str(options.partitions)}
    with servers.zookeeper() as connect:
        with servers.broker(connect, settings) as server:
            print(f"kafka_py: {measure(server, options)}", flush=True)
            ratio = idempotence(server, options.idempotent_records, options.partitions, 3)
            print(f"idempotence: {(ratio - 1) * 100:+.1f} % of the broker's CPU per record", flush=True)
        if options.apache:
            with servers.apache_broker(connect, settings) as server:
                print(f"Apache 2.8.2: {measure(server, options)}", flush=True)
    loading(options.ids)


if __name__ == "__main__":
    main()
