"""What a fetch of an old version gets: error codes, codecs and record formats that it knows.

Fetch versions 0 and 1 read message format 0, versions 2 and 3 format 1; zstd from version 10 on. Which partitions need
conversion is read from the bytes themselves, because message.format.version applies only to later appends.
Source: docs/reference/record-formats.md, section 4; KafkaApis.handleFetchRequest.
"""

from __future__ import annotations

import os
from collections.abc import Callable

from kafka_py.base.errors import ErrorCode
from kafka_py.base.slices import FileSlice
from kafka_py.broker.requests.node import Node
from kafka_py.broker.requests.request_context import RequestContext
from kafka_py.log.validation.record_work import plain_limit
from kafka_py.records.batch import LOG_OVERHEAD, MAGIC, SIZE_UP_TO_MAGIC
from kafka_py.replication.leader.down_conversions import Converted, OldRead
from kafka_py.replication.state.reads import FetchEntry, FetchResults, PartitionRead

FIRST_WITH_ZSTD = 10
_LAST_WITHOUT_STORAGE_ERROR = 5
_FIRST_WITH_FORMAT_1 = 2
_FIRST_WITH_FORMAT_2 = 4
_HEADERS_READ_BYTES = 16 * 1024
"""Bytes read at a time when record formats are determined; in most logs the first batch suffices."""
_LOOKS = 2000
"""How many batches of a fetch are looked at, each for about half a microsecond on the event loop."""
_FEWEST_LOOKS = 20
"""Of one partition, however many the fetch has."""


def for_old_reader(
    node: Node, context: RequestContext, results: FetchResults, done: Callable[[FetchResults], object], *,
    is_follower: bool,
) -> FetchResults | None:  # fmt: skip
    """The results as a version before FIRST_WITH_ZSTD may have them; None if some are converted: `done` gets them."""
    version = context.api_version
    results = [(entry, _known(node, entry, read, version)) for entry, read in results]
    reads: dict[int, OldRead] = {}  # by place in the results
    if version < _FIRST_WITH_FORMAT_2:
        magic = 0 if version < _FIRST_WITH_FORMAT_1 else 1
        left = _LOOKS
        for place, (entry, read) in enumerate(results):
            records = read.records
            if not isinstance(records, FileSlice):
                continue
            newest, size, count = newest_format(records, max(left, _FEWEST_LOOKS))
            left -= count
            if newest <= magic:
                if size < records.size:  # the reader gets only what was looked at, and fetches on
                    records = FileSlice(records.file, records.position, size)
                    results[place] = entry, read._replace(records=records, size=size)
                continue
            config = node.topic_configs.of(entry.topic_partition.topic)
            if not (config.message_downconversion_enable or is_follower):
                results[place] = entry, PartitionRead(ErrorCode.UNSUPPORTED_VERSION)
                continue
            limit = plain_limit(config.max_message_bytes)
            reads[place] = OldRead(entry.topic_partition.topic, records, magic, entry.fetch_offset, limit)
    if not reads:
        return results

    def take(converted: list[Converted]) -> None:
        for place, made in zip(reads, converted, strict=True):
            entry, read = results[place]
            results[place] = entry, _known(node, entry, _replaced(read, made), version)
        connection.unmute()
        done(results)

    connection = context.connection
    connection.mute()  # what is converted is in memory: the next request waits until this one is answered
    node.replicas.down_conversions.convert(
        list(reads.values()), take, lambda: not connection.closed, lambda: connection.queued_responses > 0
    )
    return None


def _replaced(read: PartitionRead, made: Converted) -> PartitionRead:
    if made.error is not ErrorCode.NONE:
        return PartitionRead(made.error)
    return read._replace(records=made.data, size=len(made.data))


def _known(node: Node, entry: FetchEntry, read: PartitionRead, version: int) -> PartitionRead:
    """The read for a request version that lacks an error code or a codec."""
    if read.error is ErrorCode.KAFKA_STORAGE_ERROR and version <= _LAST_WITHOUT_STORAGE_ERROR:
        return PartitionRead(ErrorCode.NOT_LEADER_OR_FOLLOWER)
    if read.error is not ErrorCode.NONE:
        return read
    if node.topic_configs.of(entry.topic_partition.topic).compression_type == "zstd":
        return PartitionRead(ErrorCode.UNSUPPORTED_COMPRESSION_TYPE)
    return read


def newest_format(records: FileSlice, most: int) -> tuple[int, int, int]:
    """(newest record format, size, count) of the first batches to be sent, `most` of them or up to one of MAGIC.

    -1 when there is not even one header.
    """
    newest, position, count = -1, 0, 0
    data, start = b"", 0
    while position + SIZE_UP_TO_MAGIC <= records.size and newest < MAGIC and count < most:
        at = position - start
        if at + SIZE_UP_TO_MAGIC > len(data):
            size = min(_HEADERS_READ_BYTES, records.size - position)
            data, start, at = os.pread(records.file.fileno(), size, records.position + position), position, 0
            if len(data) < SIZE_UP_TO_MAGIC:
                break
        newest = max(newest, data[at + 16])
        position += LOG_OVERHEAD + max(int.from_bytes(data[at + 8 : at + 12], "big", signed=True), 0)
        count += 1
    return newest, position if count == most and position < records.size else records.size, count
