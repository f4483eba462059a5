"""When the records at certain offsets were written: one record is read of each partition.

For lag in seconds where no history is kept: it is how long ago the next record to be consumed was written.
"""

from __future__ import annotations

from collections.abc import Mapping

from kafka_py.base.ids import TopicPartition
from kafka_py.manager.messages.positions import OffsetSpan
from kafka_py.manager.messages.scanning import PartitionScan, ScanBudget, ScanSource


async def record_times(
    source: ScanSource, spans: Mapping[TopicPartition, OffsetSpan], budget: ScanBudget
) -> dict[TopicPartition, int]:
    """The timestamp of the first record in each span, as far as the budget goes; partitions without one are left out.

    spans: from the committed offset to the log end.
    """
    by_topic: dict[str, dict[int, OffsetSpan]] = {}
    for partition, span in spans.items():
        by_topic.setdefault(partition.topic, {})[partition.partition] = span
    found: dict[TopicPartition, int] = {}
    for topic, some in by_topic.items():
        scan = PartitionScan(source, topic, some, budget)
        async for part in scan.parts():
            if part[0].timestamp >= 0:
                found.setdefault(TopicPartition(topic, part[0].partition), part[0].timestamp)
            await scan.finish(part[0].partition)
    return found
