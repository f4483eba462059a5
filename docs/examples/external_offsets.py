"""Exactly once into a database: results and offsets are stored in one transaction there, not in the group.

The group still shares the partitions out. Whoever gets a partition goes on at the offset that the database has, so a
crash between two transactions repeats nothing and leaves nothing out (example WE3-16b). Here the results are sums
per key.

    python docs/examples/external_offsets.py localhost:9092 payments sums sums.sqlite
"""

import sqlite3
import sys
from contextlib import closing

from kafka_py.clients import Consumer, RebalanceListener


class Sums:
    """Sums per key, and how far they have come in each partition."""

    def __init__(self, path):
        self.database = sqlite3.connect(path, timeout=30)
        with self.database:
            self.database.execute("CREATE TABLE IF NOT EXISTS sums (key TEXT PRIMARY KEY, total INTEGER)")
            self.database.execute(
                "CREATE TABLE IF NOT EXISTS offsets (topic TEXT, part INTEGER, next INTEGER, PRIMARY KEY (topic, part))"
            )

    def add(self, partition, records):
        """Adds a partition's records, all of them or none. Raises LookupError when another process has done so."""
        with self.database:  # one transaction
            if self.next_offset(partition) not in (None, records[0].offset):
                raise LookupError(f"{partition} is not at offset {records[0].offset} any more")
            for record in records:
                self.database.execute(
                    "INSERT INTO sums VALUES (?, ?) ON CONFLICT (key) DO UPDATE SET total = total + excluded.total",
                    (record.key.decode(), int(record.value)),
                )
            self.database.execute("REPLACE INTO offsets VALUES (?, ?, ?)", (*partition, records[-1].offset + 1))

    def next_offset(self, partition):
        """Where to go on; None for a partition that is new here."""
        row = self.database.execute("SELECT next FROM offsets WHERE topic = ? AND part = ?", partition).fetchone()
        return row and row[0]

    def totals(self):
        return dict(self.database.execute("SELECT key, total FROM sums"))

    def close(self):
        self.database.close()


class SeekToStored(RebalanceListener):
    """Goes on where the database stands."""

    def __init__(self, consumer, sums):
        self.consumer = consumer
        self.sums = sums

    def on_partitions_assigned(self, partitions):
        for partition in partitions:
            offset = self.sums.next_offset(partition)
            if offset is not None:
                self.consumer.seek(partition, offset)


def settings(bootstrap, group):
    return {
        "bootstrap.servers": bootstrap,
        "group.id": group,
        "enable.auto.commit": False,
        "auto.offset.reset": "earliest",
        "isolation.level": "read_committed",
    }


def run(consumer, topic, sums, until=lambda: False):
    """Reads and adds up until it is time to end."""
    consumer.subscribe([topic], listener=SeekToStored(consumer, sums))
    while not until():
        records = consumer.poll(0.5)
        for partition in records.partitions():
            sums.add(partition, records.records(partition))


def main(bootstrap, topic, group, path):
    with closing(Sums(path)) as sums, Consumer(settings(bootstrap, group)) as consumer:
        run(consumer, topic, sums)


if __name__ == "__main__":
    main(*sys.argv[1:])
