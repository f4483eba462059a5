"""How throughput depends on the number of partitions: the same records to and from topics of more and more of them.

    python -m benchmarks.partitions [--records N] [--bytes N] [--partitions N,...]

One broker, one topic for each count, one producer (acks=1) and then one consumer of our own clients, through the
commands kafka-producer-perf-test and kafka-consumer-perf-test as a user runs them. CPU is the broker's. Prints lines
of a table for README.md.
"""

from __future__ import annotations

import argparse
import subprocess
import time

from benchmarks.protocol import Refused
from benchmarks.servers import BIN
from kafka_py.testing.cluster import KafkaCluster

COUNTS = (1, 20, 50, 100, 200, 500, 1000)
DEADLINE_S = 600


def run(command: str, *arguments: str) -> list[str]:
    """What a command prints. Raises Refused."""
    done = subprocess.run([str(BIN / command), *arguments], capture_output=True, text=True, timeout=DEADLINE_S)
    if done.returncode:
        raise Refused(f"{command}: {done.stderr.strip()}")
    return done.stdout.splitlines()


def produce(cluster: KafkaCluster, topic: str, records: int, size: int) -> float:
    """Records/s, as the command says it."""
    summary = run(
        "kafka-producer-perf-test.sh", "--topic", topic, "--num-records", str(records), "--record-size", str(size),
        "--throughput", "-1", "--producer-props", f"bootstrap.servers={cluster.bootstrap_servers}", "acks=1",
    )[-1]  # fmt: skip
    return float(summary.split(", ")[1].split()[0])


def consume(cluster: KafkaCluster, topic: str, records: int) -> float:
    """Records/s of fetching, without the time to join the group, as the command says it."""
    row = run(
        "kafka-consumer-perf-test.sh", "--bootstrap-server", cluster.bootstrap_servers, "--topic", topic,
        "--messages", str(records), "--timeout", "60000",
    )[-1]  # fmt: skip
    return float(row.split(", ")[-1])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--records", type=int, default=1_000_000)
    parser.add_argument("--bytes", type=int, default=1024)
    parser.add_argument("--partitions", type=lambda text: [int(part) for part in text.split(",")], default=COUNTS)
    options = parser.parse_args()
    with KafkaCluster() as cluster:
        [broker] = cluster.brokers
        print("| partitions | produced/s | broker's CPU | consumed/s | broker's CPU |")
        print("|---:|---:|---:|---:|---:|", flush=True)
        for count in options.partitions:
            topic = cluster.create_topic(f"sweep-{count}", count)
            time.sleep(1)  # until its small files are on disk
            used = [broker.cpu_seconds()]
            produced = produce(cluster, topic, options.records, options.bytes)
            used.append(broker.cpu_seconds())
            consumed = consume(cluster, topic, options.records)
            used.append(broker.cpu_seconds())
            writing, reading = used[1] - used[0], used[2] - used[1]
            print(f"| {count} | {produced:,.0f} | {writing:.2f} s | {consumed:,.0f} | {reading:.2f} s |", flush=True)


if __name__ == "__main__":
    main()
