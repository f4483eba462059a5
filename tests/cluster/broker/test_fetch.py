"""Fetch on a whole broker: limits, long polls, sessions, versions (docs/reference/replication.md, sections 9 to 11)."""

import asyncio
import struct
import time
import zlib
from typing import Any

from kafka_py.base.errors import ErrorCode
from kafka_py.base.ids import TopicPartition
from kafka_py.log.segments.time_index import TimeOffset
from kafka_py.records.batch import iter_headers, iter_records
from kafka_py.records.compression import Codec
from kafka_py.testing.local_broker import LocalBroker, batch, on_broker
from kafka_py.wire.messages.fetch import FetchPartition, FetchResponse, ForgottenTopic
from kafka_py.wire.messages.metadata import MetadataRequest
from kafka_py.wire.messages.produce import PartitionProduceData, ProduceRequest, TopicProduceData

T0, T1 = TopicPartition("t", 0), TopicPartition("t", 1)


def values(row: Any) -> list[bytes]:
    """The values of whole batches; an incomplete tail is dropped, as clients do."""
    records = row.record_set
    return [record.value for position, _ in iter_headers(records) for record in iter_records(records, position)]


def rows(response: FetchResponse) -> dict[TopicPartition, Any]:
    return {
        TopicPartition(topic.topic, row.partition): row
        for topic in response.responses
        for row in topic.partition_responses
    }


@on_broker()
async def test_what_was_produced_is_fetched_in_every_version_that_reads_format_2(broker: LocalBroker) -> None:
    await broker.create_topic("t")
    await broker.produce("t", batch(b"a", b"b"))
    for version in range(4, 13):
        row = await broker.fetch("t", 0, version=version)
        assert (row.error_code, row.high_watermark, row.last_stable_offset) == (0, 2, 2)
        assert values(row) == [b"a", b"b"]


@on_broker()
async def test_older_versions_are_given_the_formats_they_read(broker: LocalBroker) -> None:
    """A directory of an old cluster: entries of format 1, which are converted for versions 0 and 1 alone."""
    await broker.create_topic("t")
    log = broker.server.node.hosted.partitions[TopicPartition("t", 0)].log
    assert log is not None
    entry = bytearray(legacy_entry(magic=1, value=b"old"))
    log.write(memoryview(entry), 0, 0, TimeOffset(5, 0), 0)
    log.update_high_watermark(1)
    for version in range(4):
        row = await broker.fetch("t", 0, version=version)
        expected = legacy_entry(magic=0, value=b"old") if version < 2 else bytes(entry)
        assert (row.error_code, bytes(row.record_set or b"")) == (ErrorCode.NONE, expected)


def legacy_entry(*, magic: int, value: bytes) -> bytes:
    """One message of format 0 or 1 at offset 0."""
    body = struct.pack(">bb", magic, 0) + (struct.pack(">q", 5) if magic else b"")
    body += struct.pack(">ii", -1, len(value)) + value
    return struct.pack(">qiI", 0, 4 + len(body), zlib.crc32(body)) + body


@on_broker()
async def test_an_offset_inside_a_batch_returns_the_whole_batch(broker: LocalBroker) -> None:
    """docs/reference/pitfalls.md, section 1: fetch inside a batch."""
    await broker.create_topic("t")
    for codec in (Codec.NONE, Codec.GZIP):
        await broker.produce("t", batch(b"a", b"b", b"c", codec=codec))
    assert values(await broker.fetch("t", 1)) == [b"a", b"b", b"c"] * 2
    assert values(await broker.fetch("t", 4)) == [b"a", b"b", b"c"]


@on_broker()
async def test_a_first_batch_larger_than_the_limits_is_still_returned(broker: LocalBroker) -> None:
    """docs/reference/pitfalls.md, section 1: KIP-74, else the consumer is stuck."""
    await broker.create_topic("t", 2)
    for partition in (0, 1):
        await broker.produce("t", batch(b"x" * 5000), partition=partition)
    request = broker.fetch_request({T0: 0, T1: 0}, max_bytes=100, partition_max_bytes=100)
    got = rows(await broker.ask(request, 11))
    assert values(got[T0]) == [b"x" * 5000]
    assert values(got[T1]) == []
    assert got[T1].high_watermark == 1


@on_broker()
async def test_the_broker_bounds_a_fetch_by_its_own_setting(broker: LocalBroker) -> None:
    await broker.create_topic("t", 2)
    for partition in (0, 1):
        await broker.produce("t", batch(b"x" * 1500), partition=partition)
    broker.server._live.set_own({})
    broker.server._live.current.__dict__["fetch_max_bytes"] = 1024
    got = rows(await broker.ask(broker.fetch_request({T0: 0, T1: 0}), 11))
    assert [len(values(row)) for row in got.values()] == [1, 0]


@on_broker()
async def test_partitions_come_in_the_order_asked_for(broker: LocalBroker) -> None:
    await broker.create_topic("t", 2)
    await broker.create_topic("u")
    asked = {TopicPartition("u", 0): 0, T1: 0, T0: 0}
    response = await broker.ask(broker.fetch_request(asked), 11)
    assert list(rows(response)) == list(asked)


@on_broker()
async def test_offsets_outside_of_the_log_are_out_of_range_and_the_end_is_not(broker: LocalBroker) -> None:
    await broker.create_topic("t")
    await broker.produce("t", batch())
    assert (await broker.fetch("t", 1)).error_code == 0
    for offset in (2, -1):
        row = await broker.fetch("t", offset)
        assert (row.error_code, row.high_watermark, row.log_start_offset) == (ErrorCode.OFFSET_OUT_OF_RANGE, -1, -1)


@on_broker()
async def test_unknown_partitions_and_wrong_epochs_are_told(broker: LocalBroker) -> None:
    await broker.create_topic("t")
    assert (await broker.fetch("t", 0, partition=9)).error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    assert (await broker.fetch("t", 0, current_leader_epoch=3)).error_code == ErrorCode.UNKNOWN_LEADER_EPOCH
    assert (await broker.fetch("t", 0, current_leader_epoch=0)).error_code == 0


@on_broker()
async def test_an_isolation_level_that_does_not_exist_is_refused(broker: LocalBroker) -> None:
    await broker.create_topic("t")
    response = await broker.ask(broker.fetch_request({T0: 0}, isolation_level=7), 11)
    assert response.error_code == ErrorCode.INVALID_REQUEST


@on_broker()
async def test_a_long_poll_is_answered_by_the_append(broker: LocalBroker) -> None:
    await broker.create_topic("t")
    reader = await broker.connect()
    waiting = reader.send_nowait(broker.fetch_request({T0: 0}, max_wait_ms=10_000), 11)
    purgatory = broker.server.node.replicas.parked.fetch
    await broker.until(lambda: purgatory.delayed)
    assert not waiting.done()
    await broker.produce("t", batch(b"news"))
    assert values(rows(await waiting)[T0]) == [b"news"]
    assert purgatory.delayed == 0
    reader.close()


@on_broker()
async def test_a_long_poll_ends_empty_with_its_time(broker: LocalBroker) -> None:
    await broker.create_topic("t")
    began = time.monotonic()
    row = await broker.fetch("t", 0, max_wait_ms=50)
    assert time.monotonic() - began >= 0.05
    assert (row.error_code, values(row)) == (0, [])


@on_broker()
async def test_a_parked_fetch_does_not_hold_up_other_connections_nor_the_same_ones_produce(broker: LocalBroker) -> None:
    await broker.create_topic("t")
    waiting = broker.client.send_nowait(broker.fetch_request({T0: 0}, max_wait_ms=10_000), 11)
    produced = asyncio.ensure_future(broker.produce("t", batch(b"mine")))
    assert values(rows(await waiting)[T0]) == [b"mine"]
    assert (await produced).base_offset == 0


@on_broker()
async def test_a_deleted_topic_answers_the_long_poll_on_it(broker: LocalBroker) -> None:
    from kafka_py.wire.messages.delete_topics import DeleteTopicsRequest

    await broker.create_topic("t")
    reader = await broker.connect()
    waiting = reader.send_nowait(broker.fetch_request({T0: 0}, max_wait_ms=10_000), 11)
    await broker.until(lambda: broker.server.node.replicas.parked.fetch.delayed)
    deleted = await broker.ask(DeleteTopicsRequest(topic_names=["t"], timeout_ms=5000), 3)
    assert deleted.responses[0].error_code == 0
    assert rows(await waiting)[T0].error_code in (
        ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
        ErrorCode.NOT_LEADER_OR_FOLLOWER,
    )
    reader.close()


# Sessions


@on_broker()
async def test_a_session_answers_what_changed_and_wakes_for_any_of_its_partitions(broker: LocalBroker) -> None:
    await broker.create_topic("t", 3)
    offsets = {TopicPartition("t", number): 0 for number in range(3)}
    full = await broker.ask(broker.fetch_request(offsets, session_epoch=0), 11)
    assert full.session_id > 0
    assert len(rows(full)) == 3
    session: dict[str, Any] = {"session_id": full.session_id}
    empty = await broker.ask(broker.fetch_request({}, session_epoch=1, **session), 11)
    assert (empty.error_code, empty.session_id, rows(empty)) == (0, full.session_id, {})
    reader = await broker.connect()
    waiting = reader.send_nowait(broker.fetch_request({}, session_epoch=2, max_wait_ms=10_000, **session), 11)
    await broker.until(lambda: broker.server.node.replicas.parked.fetch.delayed)
    await broker.produce("t", batch(b"news"), partition=2)
    woken = rows(await waiting)
    assert list(woken) == [TopicPartition("t", 2)]
    assert values(woken[TopicPartition("t", 2)]) == [b"news"]
    reader.close()


@on_broker()
async def test_a_session_forgets_and_refuses_what_does_not_fit(broker: LocalBroker) -> None:
    await broker.create_topic("t", 2)
    full = await broker.ask(broker.fetch_request({T0: 0, T1: 0}, session_epoch=0), 11)
    wrong = await broker.ask(broker.fetch_request({}, session_id=full.session_id, session_epoch=5), 11)
    assert (wrong.error_code, wrong.session_id) == (ErrorCode.INVALID_FETCH_SESSION_EPOCH, 0)
    unknown = await broker.ask(broker.fetch_request({}, session_id=12345, session_epoch=1), 11)
    assert unknown.error_code == ErrorCode.FETCH_SESSION_ID_NOT_FOUND
    forget = [ForgottenTopic(topic="t", partitions=[0])]
    request = broker.fetch_request({}, session_id=full.session_id, session_epoch=1, forgotten_topics_data=forget)
    assert (await broker.ask(request, 11)).error_code == 0
    await broker.produce("t", batch(), partition=0)
    await broker.produce("t", batch(), partition=1)
    after = await broker.ask(broker.fetch_request({}, session_id=full.session_id, session_epoch=2), 11)
    assert list(rows(after)) == [T1]


@on_broker()
async def test_a_refused_isolation_level_leaves_the_session_where_it_was(broker: LocalBroker) -> None:
    await broker.create_topic("t")
    full = await broker.ask(broker.fetch_request({T0: 0}, session_epoch=0), 11)
    session: dict[str, Any] = {"session_id": full.session_id, "session_epoch": 1}
    refused = await broker.ask(broker.fetch_request({}, isolation_level=7, **session), 11)
    assert refused.error_code == ErrorCode.INVALID_REQUEST
    again = await broker.ask(broker.fetch_request({}, **session), 11)
    assert (again.error_code, again.session_id) == (0, full.session_id)


@on_broker()
async def test_a_partition_that_is_named_often_is_read_once_with_the_last_of_its_offsets(broker: LocalBroker) -> None:
    await broker.create_topic("t")
    await broker.produce("t", batch(b"a"))
    await broker.produce("t", batch(b"b"))
    for times in (2, 5000):  # few are answered at once, many in turns
        request = broker.fetch_request({T0: 0})
        request.topics[0].partitions = [
            FetchPartition(partition=0, fetch_offset=number % 2, partition_max_bytes=1000) for number in range(times)
        ]
        [topic] = (await broker.ask(request, 11)).responses
        assert [values(row) for row in topic.partition_responses] == [[b"b"]]


@on_broker()
async def test_a_fetch_of_thousands_of_partitions_answers_each_and_those_behind_it_wait(broker: LocalBroker) -> None:
    await broker.create_topic("t", 2)
    await broker.produce("t", batch(b"a"))
    asked = {T0: 0, T1: 0, **{TopicPartition(f"none-{number}", 0): 0 for number in range(3000)}}
    first = broker.client.send_nowait(broker.fetch_request(asked, session_epoch=0, max_wait_ms=10_000), 11)
    behind = broker.client.send_nowait(broker.fetch_request({T0: 0}), 11)
    answer = rows(await first)
    assert values(answer.pop(T0)) == [b"a"]
    assert answer.pop(T1).error_code == 0
    assert len(answer) == 3000
    assert {row.error_code for row in answer.values()} == {ErrorCode.UNKNOWN_TOPIC_OR_PARTITION}
    assert values(rows(await behind)[T0]) == [b"a"]


@on_broker()
async def test_an_idle_session_of_many_partitions_costs_no_reads(broker: LocalBroker) -> None:
    """W6.1: a stable incremental request carries no partition, and its answer none either."""
    await broker.create_topic("t", 50)
    offsets = {TopicPartition("t", number): 0 for number in range(50)}
    full = await broker.ask(broker.fetch_request(offsets, session_epoch=0), 11)
    await broker.ask(broker.fetch_request({}, session_id=full.session_id, session_epoch=1), 11)
    metrics = broker.server.node.replicas.metrics.all_topics
    before = metrics.fetch_requests
    for epoch in range(2, 12):
        response = await broker.ask(broker.fetch_request({}, session_id=full.session_id, session_epoch=epoch), 11)
        assert rows(response) == {}
    assert metrics.fetch_requests == before


@on_broker()
async def test_data_of_several_segments_is_read_on_to_the_end(broker: LocalBroker) -> None:
    await broker.create_topic("t", configs={"segment.bytes": "200"})
    for number in range(20):
        await broker.produce("t", batch(b"%03d" % number))
    got: list[bytes] = []
    while len(got) < 20:
        row = await broker.fetch("t", len(got))
        assert row.error_code == 0
        got += values(row)
    assert got == [b"%03d" % number for number in range(20)]


@on_broker()
async def test_a_zstd_topic_needs_v10(broker: LocalBroker) -> None:
    await broker.create_topic("t", configs={"compression.type": "zstd"})
    assert (await broker.fetch("t", 0, version=9)).error_code == ErrorCode.UNSUPPORTED_COMPRESSION_TYPE
    await broker.produce("t", batch(b"a", codec=Codec.ZSTD))
    assert (await broker.fetch("t", 0, version=9)).error_code == ErrorCode.UNSUPPORTED_COMPRESSION_TYPE
    assert values(await broker.fetch("t", 0, version=10)) == [b"a"]


@on_broker()
async def test_traffic_out_is_counted_per_topic(broker: LocalBroker) -> None:
    await broker.create_topic("t")
    await broker.produce("t", batch(b"a"))
    row = await broker.fetch("t", 0)
    metrics = broker.server.node.replicas.metrics
    assert metrics.topic("t").bytes_out == metrics.all_topics.bytes_out == len(row.record_set)


@on_broker()
async def test_a_request_behind_a_waiting_fetch_is_answered_without_waiting(broker: LocalBroker) -> None:
    """A C client sends its look-ups of offsets behind the fetch of the partitions that it has begun with."""
    for name, partitions in (("few", 1), ("many", 300)):
        await broker.create_topic(name, partitions)
        offsets = {TopicPartition(name, number): 0 for number in range(partitions)}
        parked = broker.client.send_nowait(broker.fetch_request(offsets, max_wait_ms=600_000), 11)
        await broker.until(lambda: broker.server.node.replicas.parked.fetch.watched)
        metadata = await broker.ask(MetadataRequest(topics=None), 9)
        assert {topic.name for topic in metadata.topics} >= {name}
        answer = await parked
        assert {one.error_code for topic in answer.responses for one in topic.partition_responses} == {0}
        assert not broker.server.node.replicas.parked.fetch.watched


@on_broker()
async def test_a_fetch_of_very_many_partitions_is_answered_as_a_small_one(broker: LocalBroker) -> None:
    """Without a session, and in the first, second and third fetch of one."""
    await broker.create_topic("many", 400)
    for number in (0, 7, 399):
        await broker.produce("many", batch(b"%d" % number), partition=number)
    offsets = {TopicPartition("many", number): 0 for number in range(400)}

    def sizes(answer: FetchResponse) -> dict[int, int]:
        rows = [one for topic in answer.responses for one in topic.partition_responses]
        assert {one.error_code for one in rows} <= {0}
        return {one.partition: len(one.record_set or b"") for one in rows}

    plain = sizes(await broker.ask(broker.fetch_request(offsets, session_epoch=-1), 11))
    assert [number for number, size in plain.items() if size] == [0, 7, 399]
    assert len(plain) == 400
    first = await broker.ask(broker.fetch_request(offsets, session_epoch=0), 11)
    assert sizes(first) == plain
    assert first.session_id
    session = {"session_id": first.session_id}
    second = sizes(await broker.ask(broker.fetch_request({}, session_epoch=1, **session), 11))
    assert {number: size for number, size in second.items() if size} == {n: plain[n] for n in (0, 7, 399)}
    read = {TopicPartition("many", number): 1 for number in (0, 7, 399)}
    third = broker.client.send_nowait(
        broker.fetch_request(read, session_epoch=2, max_wait_ms=60_000, **session), 11
    )  # fmt: skip
    await broker.until(lambda: broker.server.node.replicas.parked.fetch.watched)
    other = await broker.connect()
    data = TopicProduceData(name="many", partition_data=[PartitionProduceData(index=200, records=batch(b"new"))])
    await other.send(ProduceRequest(acks=1, timeout_ms=1000, topic_data=[data]), 8)
    assert [number for number, size in sizes(await third).items() if size] == [200]
    other.close()
