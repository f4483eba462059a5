"""How long a C client takes to read back topics of many partitions with few records each, to the end of all.

    python -m benchmarks.small_partitions [--partitions N,...] [--records N] [--rounds N] [--apache]

kcat reads every partition from its beginning and ends when it has come to the end of each (-e): so what counts beside
the records is how soon the broker says that a partition has no more. Records are spread evenly. Times are from
the start of kcat to its end; half a second of each is the long poll after which it believes that no more will come.
With --apache the same with Apache Kafka 2.8.2.
"""

from __future__ import annotations

import argparse
import subprocess
import time
from statistics import median

from benchmarks.consumers import broker
from kafka_py.clients import Producer
from kafka_py.testing.topics import create_topic

COUNTS = (100, 300, 1000)


def fill(bootstrap: str, partitions: int, records: int, size: int) -> str:
    """Makes a topic with so many records in each partition, and returns its name."""
    topic = f"small-{partitions}"
    create_topic([bootstrap], topic, partitions)
    with Producer({"bootstrap.servers": bootstrap, "linger.ms": 50}) as producer:
        for number in range(records):
            for partition in range(partitions):
                producer.send(topic, b"%*d" % (size, number), partition=partition)
    return topic


def read(bootstrap: str, topic: str, records: int) -> float:
    """Seconds until kcat has read everything. Raises RuntimeError when some is missing."""
    begun = time.perf_counter()
    command = ["kcat", "-C", "-b", bootstrap, "-t", topic, "-o", "beginning", "-e", "-q", "-f", "%o\n"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=True)
    took = time.perf_counter() - begun
    found = done.stdout.count("\n")
    if found != records:
        raise RuntimeError(f"{found} records of {records}: {done.stderr[-500:]}")
    return took


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--partitions", type=lambda text: [int(part) for part in text.split(",")], default=COUNTS)
    parser.add_argument("--records", type=int, default=100, help="in each partition")
    parser.add_argument("--bytes", type=int, default=100, help="of each record")
    parser.add_argument("--rounds", type=int, default=10)
    parser.add_argument("--apache", action="store_true")
    options = parser.parse_args()
    print("| broker | partitions | records | best, s | median, s | all rounds, s |")
    print("|---|---:|---:|---:|---:|---|", flush=True)
    for apache in (False, True) if options.apache else (False,):
        name = "Apache 2.8.2" if apache else "kafka_py"
        with broker(apache=apache) as bootstrap:
            for partitions in options.partitions:
                topic = fill(bootstrap, partitions, options.records, options.bytes)
                records = partitions * options.records
                took = sorted(read(bootstrap, topic, records) for _ in range(options.rounds))
                rounds = ", ".join(f"{one:.1f}" for one in took)
                row = [name, partitions, records, f"{took[0]:.2f}", f"{median(took):.2f}", rounds]
                print("|", " | ".join(map(str, row)), "|", flush=True)


if __name__ == "__main__":
    main()
