"""What must hold in a simulated cluster when all faults are over; watch.py checks while it runs.

Replicas are equal; every record that was promised to stay is at the offset that its producer received, once and in
order as far as that producer may expect; what a reader read is still there. A compacted log has the same last value of
every key as all records that were ever written.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from kafka_py.base.ids import TopicPartition
from kafka_py.log.partition.partition_log import PartitionLog
from kafka_py.records.batch import Record, decode_records, iter_headers
from kafka_py.testing.simulation.cluster import SimulatedCluster
from kafka_py.testing.simulation.history import ClusterHistory
from kafka_py.testing.simulation.reader import Reader
from kafka_py.testing.simulation.workload import Acknowledged, AcknowledgedValue, Promise
from kafka_py.testing.simulation.znodes import replicas_of


def log_bytes(log: PartitionLog, start_offset: int, end_offset: int) -> bytes:
    """The batches of a log from that which holds an offset to another one (exclusive), which is where a batch ends."""
    found = bytearray()
    offset = start_offset
    while offset < end_offset:
        part = log.read(offset, 1 << 30, up_to_offset=end_offset, min_one_batch=True).slice
        if part is None:
            break
        data = part.read()
        found += data
        offset = max(header.next_offset for _position, header in iter_headers(data))
    return bytes(found)


def records_of(log: PartitionLog) -> list[Record]:
    """All that is committed, from the start of the log."""
    data = log_bytes(log, log.log_start_offset, log.high_watermark)
    return [record for position, _header in iter_headers(data) for record in decode_records(data, position)]


def check_logs(
    cluster: SimulatedCluster, told: Sequence[Acknowledged], readers: Sequence[Reader]
) -> list[str]:  # fmt: skip
    """What is wrong with the logs of a healed and quiet cluster.

    A log that a broker still has of a partition it was not there to drop counts for nothing: Apache's brokers keep it
    as well.
    """
    faults: list[str] = []
    for name, replicas in replicas_of(cluster.zookeeper).items():
        logs = {broker.broker_id: broker.log(name) for broker in cluster.brokers}
        here = {each: log for each in replicas if (log := logs[each]) is not None}
        start = max((log.log_start_offset for log in here.values()), default=0)
        is_compacted = any(log.config.is_compacted for log in here.values())
        contents = {log_bytes(log, start, log.high_watermark) for log in here.values()}
        if len(here) != len(replicas) or (len(contents) != 1 and not is_compacted):
            ends = {each: log and (log.high_watermark, log.log_end_offset) for each, log in logs.items()}
            faults.append(f"{name}: the replicas differ; (high watermark, log end offset) of each: {ends}")
            continue
        if is_compacted:
            leader = here[cluster.history.elections[name][-1].leader]
            faults += [f"{name}: what was committed in epoch {each} is not in the log of the leader"
                       for each in cluster.history.left_out(leader)]  # fmt: skip
            for broker_id, log in here.items():
                faults += check_compacted(f"{name} on broker{broker_id}", cluster.history, leader, log)
        for reader in readers:
            if name in reader.seen:
                log = next(iter(here.values()))
                records = {record.offset: record.value for record in records_of(log)}
                faults += _check_reader(name, cluster.history, records, reader, start)
        if any(name in each.values for each in told):
            log = next(iter(here.values()))
            records = {record.offset: record.value for record in records_of(log)}
            for each in told:
                faults += _check_producer(name, cluster.history, log, records, each, start)
    return faults


def promised(history: ClusterHistory, log: PartitionLog, told: Acknowledged) -> list[AcknowledgedValue]:
    """The acknowledged records of a log that have to be there still, unless their time was over."""
    name = log.topic_partition
    if told.kind.promise is Promise.NEVER or history.had_unclean_election(name):
        return []
    records = told.values.get(name, [])
    if told.kind.promise is Promise.ALWAYS:
        return records
    return [each for each in records if len(history.leaders_since(log, each.offset)) == 1]


def _check_reader(
    name: TopicPartition, history: ClusterHistory, records: dict[int, bytes | None], reader: Reader, start_offset: int
) -> list[str]:
    if history.had_unclean_election(name):
        return []
    for offset, value in reader.seen[name].items():
        if offset >= start_offset and records.get(offset, b"nothing") != value:
            return [f"{name}: a reader saw {value!r} at {offset}, it is now {records.get(offset)!r}"]
    return []


def _check_producer(
    name: TopicPartition, history: ClusterHistory, log: PartitionLog, records: dict[int, bytes | None],
    told: Acknowledged, start_offset: int,
) -> list[str]:  # fmt: skip
    """What is wrong with one producer's records."""
    faults = []
    lost = [(each.number, each.offset) for each in promised(history, log, told)
            if each.offset >= start_offset and records.get(each.offset) != each.value]  # fmt: skip
    if lost:
        faults.append(f"{name}: {len(lost)} acknowledged records are lost; (number, offset): {lost[:5]}")
    if history.had_unclean_election(name):
        return faults
    prefix = b"%s:" % told.name.encode()
    numbers = [int(value[len(prefix):]) for _offset, value in sorted(records.items())
               if value is not None and value.startswith(prefix)]  # fmt: skip
    first_times = list(dict.fromkeys(numbers))
    if len(first_times) != len(numbers) and not told.kind.may_repeat:
        faults.append(f"{name}: {len(numbers) - len(first_times)} records are there twice")
    if first_times != sorted(first_times) and not told.kind.may_reorder:
        faults.append(f"{name}: records of {told.name} are out of order")
    return faults


def check_compacted(where: str, history: ClusterHistory, leader: PartitionLog, log: PartitionLog) -> list[str]:
    """Whether a compacted replica says of each key what all records say that were ever written to its leader's log.

    After an unclean election keys may be missing, as with Apache Kafka: a leader compacts older values away for newer
    ones, and is then cut, as a follower of a leader that never had the newer ones. What was deleted stays deleted.
    """
    written = list(history.lineage(leader, log.high_watermark))
    kept = records_of(log)
    faults = []
    by_offset = {record.offset: record for record in written}
    for record in kept:
        known = by_offset.get(record.offset)
        if known is None or (known.key, known.value) != (record.key, record.value):
            faults.append(f"{where}: no producer wrote {record.key!r} = {record.value!r} at {record.offset}")
            break
    expected, found = _values(written), _values(kept)
    compared = found.keys() if history.had_unclean_election(log.topic_partition) else expected.keys() | found.keys()
    for key in sorted(compared):
        if expected.get(key) != found.get(key):
            faults.append(
                f"{where}: {key!r} is {found.get(key)!r}, the records that were written say {expected.get(key)!r}"
            )
    return faults[:3]


def _values(records: Iterable[Record]) -> dict[bytes, bytes]:
    """What a reader of all records holds in the end: the last value of each key that was not deleted."""
    values: dict[bytes, bytes] = {}
    for record in records:
        if record.key is None:
            continue
        key = bytes(record.key)
        if record.value is None:
            values.pop(key, None)
        else:
            values[key] = bytes(record.value)
    return values
