"""What must hold in a simulated cluster when it has healed, whatever went wrong; watch.py looks while it runs."""

from __future__ import annotations

import os

from kafka_py.base.ids import TopicPartition
from kafka_py.log.partition_log import PartitionLog
from kafka_py.records.batch import decode_records, iter_headers
from kafka_py.testing.simulation.cluster import SimulatedCluster
from kafka_py.testing.simulation.reader import Reader
from kafka_py.testing.simulation.workload import Acknowledged
from kafka_py.testing.simulation.znodes import replicas_of


def log_bytes(log: PartitionLog, end_offset: int) -> bytes:
    """The batches of a log below an offset (exclusive), which is where a batch ends."""
    found = bytearray()
    offset = log.log_start_offset
    while offset < end_offset:
        part = log.read(offset, 1 << 30, up_to_offset=end_offset, min_one_batch=True).slice
        if part is None:
            break
        data = os.pread(part.file.fileno(), part.size, part.position)
        found += data
        offset = max(header.next_offset for _position, header in iter_headers(data))
    return bytes(found)


def check_logs(cluster: SimulatedCluster, told: Acknowledged, reader: Reader) -> list[str]:
    """What is wrong with the logs of a healed and quiet cluster.

    A log that a broker still has of a partition it was not there to give up counts for nothing: the classic's brokers
    keep it as well.
    """
    faults: list[str] = []
    for topic_partition, replicas in replicas_of(cluster.zookeeper).items():
        logs = {broker.broker_id: broker.log(topic_partition) for broker in cluster.brokers}
        held = {each: log_bytes(log, log.high_watermark) for each in replicas if (log := logs[each]) is not None}
        if len(held) != len(replicas) or len(set(held.values())) != 1:
            ends = {broker_id: log and (log.high_watermark, log.log_end_offset) for broker_id, log in logs.items()}
            faults.append(f"{topic_partition}: the replicas differ; (high watermark, log end offset) of each: {ends}")
        elif topic_partition in reader.seen:
            faults += _check_data(topic_partition, next(iter(held.values())), told, reader)
    return faults


def _check_data(topic_partition: TopicPartition, data: bytes, told: Acknowledged, reader: Reader) -> list[str]:
    """data: all that is committed."""
    records = {
        record.offset: record.value or b""
        for position, _header in iter_headers(data)
        for record in decode_records(data, position)
    }
    faults = _check_records(topic_partition, records, told.values.get(topic_partition, []))
    for offset, value in reader.seen[topic_partition].items():
        now = records.get(offset)
        if now != value:
            faults.append(f"{topic_partition}: a reader saw {value!r} at {offset}, it is now {now!r}")
            break
    return faults


def _check_records(
    topic_partition: TopicPartition, records: dict[int, bytes], told: list[tuple[int, int, bytes]]
) -> list[str]:
    faults = []
    lost = [(number, offset) for number, offset, value in told if records.get(offset) != value]
    if lost:
        faults.append(f"{topic_partition}: {len(lost)} acknowledged records are lost; (number, offset): {lost[:5]}")
    values = [records[offset] for offset in sorted(records)]
    if len(set(values)) != len(values):
        faults.append(f"{topic_partition}: {len(values) - len(set(values))} records stand twice")
    numbers = [int(value) for value in values]
    if numbers != sorted(numbers):
        faults.append(f"{topic_partition}: records are out of order")
    return faults
