"""What transactions cost the Spark sink: writes with exactlyOnce beside plain ones, in one run on one broker of ours.

    .venv/bin/python -m benchmarks.exactly_once [--records N] [--rounds N]

A write has a fixed cost, most of it Spark's, and one per record. So each mode writes 1,000 records and many, the modes
in turn first; printed are the medians: the time of a small write, and the rate of the records beyond it. Before that
the first write in transactions, which creates the topic of decisions and that of the coordinators. Last, without Spark,
how long the driver's steps around a batch of two tasks take. 100-byte records, 4 partitions, local[2].
"""

from __future__ import annotations

import argparse
import statistics
import tempfile
from pathlib import Path

from benchmarks.pipeline import Measure, best, session
from kafka_py.base.ids import TopicPartition
from kafka_py.clients.producer.producer import Producer
from kafka_py.pipeline.exactly_once.batches import OnceBatches, OnceReport, TaskPlace, prepared_from
from kafka_py.pipeline.exactly_once.coordination import SinkName
from kafka_py.testing.cluster import KafkaCluster

SMALL = 1_000
SMALL_ROUNDS = 10
PARTITIONS = 4
TASKS = 2
BATCHES = 30
TIMEOUT_MS = 900_000


def written_s(cluster: KafkaCluster, measure: Measure, count: int, *, once: bool) -> float:
    """Seconds of one write to a new topic."""
    topic = cluster.create_topic(partitions=PARTITIONS)
    return best(lambda: (measure.write_once if once else measure.write)(topic, count), 1)


def medians(cluster: KafkaCluster, measure: Measure, count: int, rounds: int) -> tuple[float, float]:
    """Seconds of a plain write and of one in transactions."""
    found: dict[bool, list[float]] = {False: [], True: []}
    for number in range(rounds):
        for once in (False, True) if number % 2 == 0 else (True, False):
            found[once].append(written_s(cluster, measure, count, once=once))
    return statistics.median(found[False]), statistics.median(found[True])


def compare(cluster: KafkaCluster, measure: Measure, count: int, rounds: int) -> None:
    measure.write(cluster.create_topic(partitions=PARTITIONS), SMALL)  # classes loaded, workers started
    first_s = written_s(cluster, measure, SMALL, once=True)
    print(f"first write in transactions: {first_s * 1000:,.0f} ms", flush=True)
    small = medians(cluster, measure, SMALL, SMALL_ROUNDS)
    large = medians(cluster, measure, count, rounds)
    rates = [(count - SMALL) / (after - before) for before, after in zip(small, large, strict=True)]
    for mode, before, after, rate in zip(("plain", "transactions"), small, large, rates, strict=True):
        print(f"{mode}: {SMALL:,} records {before * 1000:,.0f} ms, {count:,} records {after:.2f} s "
              f"({count / after:,.0f}/s), beyond the small write {rate:,.0f}/s")  # fmt: skip
    whole, marginal = large[0] / large[1], rates[1] / rates[0]
    print(f"transactions over plain: {whole:.2f} of the rate, {marginal:.2f} beyond the small write", flush=True)


def steps_ms(cluster: KafkaCluster) -> list[tuple[float, float]]:
    """Milliseconds of begin and of commit, of one batch after the other; each task sends one record."""
    settings = {"bootstrap.servers": cluster.bootstrap_servers}
    topic = cluster.create_topic(partitions=PARTITIONS)
    found = []
    for number in range(BATCHES):
        batches = OnceBatches(SinkName("steps", "__steps", TIMEOUT_MS), settings, False, None)
        begin_s = best(batches.begin, 1)
        reports = [write_task(batches, settings, topic, number, task) for task in range(TASKS)]
        found.append((begin_s * 1000, best(lambda each=batches, made=reports: each.commit(made), 1) * 1000))
    return found


def write_task(batches: OnceBatches, settings: dict[str, str], topic: str, number: int, task: int) -> OnceReport:
    place = TaskPlace("steps", number, task, 0, number * TASKS + task)
    with batches.transaction(place, lambda more: Producer({**settings, "acks": "all", **more})) as producer:
        sent = producer.send(topic, b"x", partition=task)
        producer.flush()
        offsets = {TopicPartition(topic, task): sent.result().offset}
        return batches.report(place, prepared_from(*producer.prepare_transaction(), offsets))


def run(count: int, rounds: int) -> None:
    with tempfile.TemporaryDirectory() as folder, KafkaCluster() as cluster:
        with session([], Path(folder)) as spark:
            compare(cluster, Measure(spark, "kafka_py", cluster.bootstrap_servers), count, rounds)
        first, *rest = steps_ms(cluster)
        begin, commit = (statistics.median(each) for each in zip(*rest, strict=True))
        print(f"without Spark: begin {begin:.1f} ms ({first[0]:.0f} ms with the topic to create), commit {commit:.1f}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--records", type=int, default=4_000_000)
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args()
    run(options.records, options.rounds)


if __name__ == "__main__":
    main()
