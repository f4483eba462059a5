"""Three brokers, replication factor 3, one C producer: what copying costs the leader and each follower.

    python -m benchmarks.replication [--lines N] [--partitions N] [--idle-seconds S] [--idle-partitions N]

kcat sends lines of 100 bytes with acks=1, then with acks=all, to a topic that one broker leads. The clock runs until
every replica has everything; CPU is that of each process, all threads, per million records. Then the cost at rest, of
partitions spread over all three brokers. All on one machine: brokers, ZooKeeper and kcat share its cores.
"""

from __future__ import annotations

import argparse
import subprocess
import tempfile
import time
from pathlib import Path

from benchmarks.protocol import Refused
from kafka_py.testing.broker import BrokerProcess
from kafka_py.testing.cluster import KafkaCluster

LINE_BYTES = 100
COPY_TIMEOUT_S = 60.0


def copied_bytes(broker: BrokerProcess, topic: str) -> int:
    """What the broker's replicas of the topic hold."""
    files = (path for folder in broker.log_dirs for path in folder.glob(f"{topic}-*/*.log"))
    return sum(path.stat().st_size for path in files)


def send(cluster: KafkaCluster, topic: str, lines: Path, acks: str) -> float:
    """Sends the file and waits until it is on every broker; the seconds until kcat had all its acknowledgements."""
    settings = ("linger.ms=5", "batch.num.messages=10000", "queue.buffering.max.messages=1000000", f"acks={acks}")
    command = ["kcat", "-P", "-b", cluster.bootstrap_servers, "-t", topic, "-l", str(lines)]
    began = time.perf_counter()
    done = subprocess.run(
        [*command, *(part for each in settings for part in ("-X", each))], capture_output=True, text=True
    )
    seconds = time.perf_counter() - began
    if done.returncode:
        raise Refused(f"kcat: {done.stderr.strip()}")
    ends = time.monotonic() + COPY_TIMEOUT_S
    while len({copied_bytes(broker, topic) for broker in cluster.brokers}) > 1:
        if time.monotonic() > ends:
            raise Refused("the followers did not catch up")
        time.sleep(0.01)
    return seconds


def under_load(cluster: KafkaCluster, lines: Path, count: int, partitions: int, acks: str) -> None:
    """One row per role."""
    topic = f"bench-{acks}"
    cluster.create_topic(topic, partitions, replication_factor=3)
    before = [broker.cpu_seconds() for broker in cluster.brokers]
    seconds = send(cluster, topic, lines, acks)
    per_million = [
        (broker.cpu_seconds() - used) / count * 1e6 for broker, used in zip(cluster.brokers, before, strict=True)
    ]
    leader = max(range(3), key=per_million.__getitem__)
    followers = [cpu for number, cpu in enumerate(per_million) if number != leader]
    print(
        f"acks={acks:<4} {count / seconds:>12,.0f} records/s   CPU s/M records: "
        f"leader {per_million[leader]:.3f}, followers {followers[0]:.3f} {followers[1]:.3f}",
        flush=True,
    )


def at_rest(cluster: KafkaCluster, partitions: int, seconds: float) -> None:
    cluster.create_topic("bench-idle", partitions, replication_factor=3)
    time.sleep(3)  # until the first watermarks are written and everybody is in sync
    before = [broker.cpu_seconds() for broker in cluster.brokers]
    time.sleep(seconds)
    shares = [(broker.cpu_seconds() - used) / seconds for broker, used in zip(cluster.brokers, before, strict=True)]
    print(f"{partitions} idle partitions: {', '.join(f'{share:.1%}' for share in shares)} of a core")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--lines", type=int, default=2_000_000)
    parser.add_argument("--partitions", type=int, default=1)
    parser.add_argument("--idle-partitions", type=int, default=1000)
    parser.add_argument("--idle-seconds", type=float, default=10.0)
    options = parser.parse_args()
    with tempfile.NamedTemporaryFile() as lines, KafkaCluster(brokers=3) as cluster:
        lines.write((b"x" * (LINE_BYTES - 1) + b"\n") * options.lines)
        lines.flush()
        for acks in ("1", "all"):
            under_load(cluster, Path(lines.name), options.lines, options.partitions, acks)
        if options.idle_partitions:
            at_rest(cluster, options.idle_partitions, options.idle_seconds)


if __name__ == "__main__":
    main()
