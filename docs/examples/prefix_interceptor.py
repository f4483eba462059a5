"""Producer interceptors: one that puts a prefix before every value and counts what arrives, and a second one.

    python docs/examples/prefix_interceptor.py localhost:9092 topic-demo

sends `kafka` ten times through both, and prints what a consumer finds and what the first interceptor has counted.

`on_send` sees a record before it is serialized and returns the one to send; `on_acknowledgement` hears of its end,
before the callback given to `send`. They run in the order of `interceptor.classes`, which names classes by their
dotted path, or holds the classes themselves. What one of them raises is logged and reaches nobody: the next one goes
on with what the last one without failure returned.
"""

from __future__ import annotations

import sys

from kafka_py.clients import (
    Consumer,
    KafkaError,
    Producer,
    ProducerInterceptor,
    ProducerRecord,
    RecordMetadata,
    TopicPartition,
)

TEXT = "org.apache.kafka.common.serialization.String"


class PrefixInterceptor(ProducerInterceptor):
    """Adds `prefix1-` and counts successes; its `close`, called once, prints their share."""

    def __init__(self) -> None:
        self.sent = 0
        self.failed = 0

    def on_send(self, record: ProducerRecord) -> ProducerRecord:
        return record._replace(value="prefix1-" + record.value)

    def on_acknowledgement(self, metadata: RecordMetadata, error: KafkaError | None) -> None:
        if error is None:
            self.sent += 1
        else:
            self.failed += 1

    def close(self) -> None:
        print(f"success ratio: {self.sent / max(self.sent + self.failed, 1):.2%}")


class SecondPrefixInterceptor(ProducerInterceptor):
    """Adds `prefix2-`; of the ends of records it wants to know nothing."""

    def on_send(self, record: ProducerRecord) -> ProducerRecord:
        return record._replace(value="prefix2-" + record.value)


def send(bootstrap_servers: str, topic: str, interceptors: list[type[ProducerInterceptor] | str]) -> None:
    """Ten times `kafka` to partition 0, through these."""
    settings = {
        "bootstrap.servers": bootstrap_servers,
        "value.serializer": f"{TEXT}Serializer",
        "interceptor.classes": interceptors,
    }
    with Producer(settings) as producer:
        for _ in range(10):
            producer.send(topic, "kafka", partition=0)


def read(bootstrap_servers: str, topic: str, count: int) -> list[str]:
    """The first values of partition 0."""
    partition = TopicPartition(topic, 0)
    settings = {
        "bootstrap.servers": bootstrap_servers,
        "value.deserializer": f"{TEXT}Deserializer",
        "auto.offset.reset": "earliest",
    }
    values: list[str] = []
    with Consumer(settings) as consumer:
        consumer.assign([partition])
        while len(values) < count:
            values += [record.value for record in consumer.poll(timeout=1.0)]
    return values


if __name__ == "__main__":
    servers, name = sys.argv[1:]
    send(servers, name, [PrefixInterceptor, SecondPrefixInterceptor])
    for value in read(servers, name, 10):
        print(value)
