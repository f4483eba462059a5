"""What idempotence costs in produce rate: acks=all with enable.idempotence=true beside false, by two client libraries.

    python -m benchmarks.idempotence [--records N] [--rounds N] [--clients librdkafka,java] [--apache]

First what an append of a batch costs by itself, in CPU time of this process: the least of the rounds, which other work
on the machine hardly moves. Then what whole requests of one batch cost the broker in CPU, encoded beforehand, so that
both kinds come alike: the lower quartiles of many short rounds in turn. Then rates: librdkafka sends as one
confluent-kafka producer, Java as Apache's own producer-perf-test of 2.8.2; 100-byte records, one topic of four
partitions, one broker. Each round runs both, in turn first; the ratio of a round is idempotent over plain, and the
median of the rounds is printed, with the broker's CPU likewise. Prints lines for people.
"""

from __future__ import annotations

import argparse
import re
import statistics
import time
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from confluent_kafka import Producer

from benchmarks import load, protocol, servers
from kafka_py.records.batch import NO_PRODUCER_EPOCH, NO_PRODUCER_ID, NO_SEQUENCE
from kafka_py.records.builder import BatchBuilder
from kafka_py.testing.fakes.stored_logs import LogWorld
from kafka_py.testing.peers.apache import apache_kafka
from kafka_py.testing.topics import create_topic

TOPIC = "bench-idempotence"
VALUE = b"x" * 100
FLUSHED_AFTER = 200_000
TIMEOUT_S = 600
APPENDS, APPENDED_MS = 4_000, 1_700_000_000_000
REQUESTS, SHORT_ROUNDS, DEPTH, FIRST_PRODUCER_ID = 2_000, 30, 5, 1_000_000
SETTINGS = {"log.cleaner.enable": "false"}


class ProduceRate(NamedTuple):
    """records_s: per second of the client's time. cpu_s: of the broker."""

    records_s: float
    cpu_s: float


Send = Callable[[str, int, bool], float]
"""(bootstrap servers, records, whether idempotent) -> records per second."""


def librdkafka(bootstrap: str, records: int, is_idempotent: bool) -> float:
    producer = Producer({
        "bootstrap.servers": bootstrap, "acks": "all", "enable.idempotence": is_idempotent, "linger.ms": 5,
        "queue.buffering.max.messages": 1_000_000,
    })  # fmt: skip
    producer.produce(TOPIC, VALUE, partition=0)
    producer.flush(TIMEOUT_S)
    began = time.monotonic()
    for number in range(records):
        producer.produce(TOPIC, VALUE, partition=number % servers.PARTITIONS)
        if number % FLUSHED_AFTER == FLUSHED_AFTER - 1:
            producer.flush(TIMEOUT_S)
    assert producer.flush(TIMEOUT_S) == 0
    return records / (time.monotonic() - began)


def java(bootstrap: str, records: int, is_idempotent: bool) -> float:
    done = apache_kafka().run_fast(
        "org.apache.kafka.tools.ProducerPerformance",
        "--topic", TOPIC, "--num-records", str(records), "--record-size", str(len(VALUE)), "--throughput", "-1",
        "--producer-props", f"bootstrap.servers={bootstrap}", "acks=all", "linger.ms=5",
        f"enable.idempotence={str(is_idempotent).lower()}", timeout_s=TIMEOUT_S,
    )  # fmt: skip
    found = re.search(r"([\d.]+) records/sec", done.lines[-1]) if done.lines else None
    if done.exit_code or found is None:
        raise RuntimeError(done.stderr[-2000:])
    return float(found[1])


CLIENTS: dict[str, Send] = {"librdkafka": librdkafka, "java": java}


def measure(server: servers.Server, send: Send, records: int, is_idempotent: bool) -> ProduceRate:
    cpu = server.cpu_seconds()
    rate = send(f"127.0.0.1:{server.port}", records, is_idempotent)
    return ProduceRate(rate, server.cpu_seconds() - cpu)


def compare(server: servers.Server, name: str, records: int, rounds: int) -> str:
    """One line: both rates, and the medians of the rounds' ratios."""
    send = CLIENTS[name]
    measure(server, send, records // 10, True)  # files, connections and code are warm then
    pairs = []
    for number in range(rounds):
        order = (False, True) if number % 2 == 0 else (True, False)
        found = {is_idempotent: measure(server, send, records, is_idempotent) for is_idempotent in order}
        pairs.append((found[False], found[True]))
    plain, idempotent = (statistics.median(pair[each].records_s for pair in pairs) for each in (0, 1))
    rates = [after.records_s / before.records_s for before, after in pairs]
    spent = [after.cpu_s / max(before.cpu_s, 0.01) for before, after in pairs]
    return (
        f"{name}: {plain:,.0f} records/s plain, {idempotent:,.0f} idempotent; rate {statistics.median(rates):.3f} "
        f"({min(rates):.3f} to {max(rates):.3f}), broker's CPU {statistics.median(spent):.3f}"
    )


def batches(
    count: int, records: int, is_idempotent: bool, producer_id: int = 7, now_ms: int = APPENDED_MS
) -> list[memoryview]:
    made = []
    for number in range(count):
        plain = (NO_PRODUCER_ID, NO_PRODUCER_EPOCH, NO_SEQUENCE)
        producer = (producer_id, 0, number * records) if is_idempotent else plain
        builder = BatchBuilder(producer_id=producer[0], producer_epoch=producer[1], base_sequence=producer[2])
        for _ in range(records):
            builder.append(now_ms, None, VALUE)
        made.append(memoryview(bytearray(builder.build())))
    return made


def append_us(records: int, is_idempotent: bool) -> float:
    """The CPU time of one append of a batch of so many records to a log in memory, in microseconds."""
    world = LogWorld({})
    made = batches(APPENDS, records, is_idempotent)
    began = time.process_time()
    for batch in made:
        world.append(batch)
    return (time.process_time() - began) / APPENDS * 1e6


def append_costs(rounds: int) -> None:
    for records in (1, 10, 100):
        pairs = [(append_us(records, False), append_us(records, True)) for _ in range(rounds)]
        plain, idempotent = (min(pair[each] for pair in pairs) for each in (0, 1))
        print(f"append of a batch of {records}: {plain:.1f} us plain, {idempotent:.1f} us idempotent", flush=True)


def cpu_us(server: servers.Server) -> float:
    """What the server's threads have used, finer than cpu_seconds."""
    times = Path(f"/proc/{server.pid}/task").glob("*/schedstat")
    return sum(int(each.read_text().split()[0]) for each in times) / 1000


def accepted(body: memoryview) -> None:
    produced = protocol.read_produced(body)
    if produced.error:
        raise protocol.Refused(f"produce: error {produced.error}")


def request_us(server: servers.Server, records: int, producer_id: int | None) -> float:
    """The broker's CPU for one request of one batch, from one connection with five under way."""
    now_ms = time.time_ns() // 1_000_000
    made = batches(REQUESTS, records, producer_id is not None, producer_id or 0, now_ms)
    requests = [protocol.produce(TOPIC, 0, bytes(each), acks=-1) for each in made]
    stream = load.Stream(load.connect(server.port), requests, DEPTH, accepted)
    before = cpu_us(server)
    load.run([stream], TIMEOUT_S, REQUESTS - 2 * DEPTH)  # before they come round again
    spent = cpu_us(server) - before
    stream.socket.close()
    return spent / stream.answers


def request_costs(server: servers.Server) -> None:
    for records in (1, 10):
        plain, idempotent = [], []
        for number in range(SHORT_ROUNDS):
            for producer_id in (None, FIRST_PRODUCER_ID * records + number)[:: -1 if number % 2 else 1]:
                (plain if producer_id is None else idempotent).append(request_us(server, records, producer_id))
        low, high = (statistics.quantiles(each, n=4)[0] for each in (plain, idempotent))
        print(f"{server.name}, request with a batch of {records}: {low:.1f} us plain, {high:.1f} us idempotent, "
              f"ratio {high / low:.3f}", flush=True)  # fmt: skip


def run(server: servers.Server, options: argparse.Namespace) -> None:
    create_topic([f"127.0.0.1:{server.port}"], TOPIC, servers.PARTITIONS)
    request_costs(server)
    for name in options.clients.split(","):
        print(f"{server.name}, {compare(server, name, options.records, options.rounds)}", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--records", type=int, default=1_000_000)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--clients", default=",".join(CLIENTS))
    parser.add_argument("--apache", action="store_true", help="the same on Apache Kafka 2.8.2")
    options = parser.parse_args()
    append_costs(options.rounds)
    servers.with_each(lambda server: run(server, options), SETTINGS, apache=options.apache)


if __name__ == "__main__":
    main()
