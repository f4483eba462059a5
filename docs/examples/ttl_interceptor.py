"""A consumer interceptor that drops records which have outlived their time (example WE3-17).

A record expires ten seconds after its timestamp, or after `ttl.ms` of the consumer's settings. Dropped records count as
read: positions and plain commits go past them. Offsets named in a commit are the application's own business, and it
does not see the dropped ones, so such a consumer should commit without naming offsets.

    python docs/examples/ttl_interceptor.py localhost:9092 orders billing
"""

import sys
import time

from kafka_py.clients import Consumer, ConsumerInterceptor, ConsumerRecords

EXPIRE_INTERVAL_MS = 10_000


class TtlInterceptor(ConsumerInterceptor):
    """Lets only records through that are younger than their time to live."""

    def configure(self, configs):
        self.ttl_ms = int(configs.get("ttl.ms", EXPIRE_INTERVAL_MS))

    def on_consume(self, records):
        oldest_ms = time.time() * 1000 - self.ttl_ms
        return ConsumerRecords({
            partition: [record for record in records.records(partition) if record.timestamp > oldest_ms]
            for partition in records.partitions()
        })  # fmt: skip

    def on_commit(self, offsets):
        for partition, committed in offsets.items():
            print(f"{partition}: {committed.offset}")


def main(bootstrap, topic, group):
    settings = {
        "bootstrap.servers": bootstrap,
        "group.id": group,
        "interceptor.classes": [TtlInterceptor],
    }
    with Consumer(settings) as consumer:
        consumer.subscribe([topic])
        for record in consumer:
            print(record.timestamp, record.value)


if __name__ == "__main__":
    main(*sys.argv[1:])
