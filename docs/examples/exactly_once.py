"""Exactly once from topic to topic: results and the offsets of their input in one transaction.

Each record of one topic becomes one of another. Whatever happens, readers with isolation.level=read_committed
find each result exactly once (example W7.26). Several of these programs share the partitions as one group; each has a
transactional.id of its own. One that has lost its partitions to another cannot commit their offsets: its transaction is
aborted.

    python docs/examples/exactly_once.py localhost:9092 lines upper-case transformer-1
"""

import sys

from kafka_py.clients import Consumer, Producer, TransactionFailed


def reader_settings(bootstrap, group):
    return {
        "bootstrap.servers": bootstrap,
        "group.id": group,
        "enable.auto.commit": False,
        "auto.offset.reset": "earliest",
        "isolation.level": "read_committed",
    }


def writer_settings(bootstrap, transactional_id):
    return {"bootstrap.servers": bootstrap, "transactional.id": transactional_id}


def rewind(consumer):
    """Goes back to what is committed: the records that were read since had no effect."""
    for partition, committed in consumer.committed(list(consumer.assignment())).items():
        if committed is None:
            consumer.seek_to_beginning([partition])
        else:
            consumer.seek(partition, committed)


def run(consumer, producer, source, target, transform, until):
    """Transforms records until `until` says so. Raises ProducerFenced when another program has the same id."""
    producer.init_transactions()
    consumer.subscribe([source])
    while not until():
        records = consumer.poll(0.5)
        if not records:
            continue
        try:
            with producer.transaction():
                for record in records:
                    producer.send(target, transform(record.value), key=record.key)
                offsets = {partition: consumer.position(partition) for partition in consumer.assignment()}
                producer.send_offsets_to_transaction(offsets, consumer.group_metadata())
        except TransactionFailed as error:
            if not error.abortable:
                raise
            print(f"Aborted, and read again: {error}", file=sys.stderr)
            rewind(consumer)


def main():
    bootstrap, source, target, transactional_id = sys.argv[1:]
    with (
        Consumer(reader_settings(bootstrap, f"{source}-to-{target}")) as consumer,
        Producer(writer_settings(bootstrap, transactional_id)) as producer,
    ):
        run(consumer, producer, source, target, bytes.upper, lambda: False)


if __name__ == "__main__":
    main()
