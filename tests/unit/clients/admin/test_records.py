"""Deleting records: each leader is asked about its own partitions."""

from typing import Any

from kafka_py.base.errors import ErrorCode
from kafka_py.base.ids import TopicPartition
from kafka_py.wire.apis import ApiKey
from kafka_py.wire.messages.delete_records import (
    DeleteRecordsPartitionResult,
    DeleteRecordsRequest,
    DeleteRecordsResponse,
    DeleteRecordsTopicResult,
)

A, B = TopicPartition("t", 0), TopicPartition("t", 1)


def refused(code: ErrorCode) -> DeleteRecordsResponse:
    row = DeleteRecordsPartitionResult(partition_index=0, low_watermark=-1, error_code=code)
    return DeleteRecordsResponse(throttle_time_ms=0, topics=[DeleteRecordsTopicResult(name="t", partitions=[row])])


def test_each_leader_is_asked_about_its_partitions(world: Any) -> None:
    world.cluster.create_topic("t", 2)
    world.cluster.partitions[A].end_offset = world.cluster.partitions[B].end_offset = 10
    assert world.ask(lambda admin: admin.delete_records({A: 4, B: -1})).all() == {A: 4, B: 10}
    asked = {node_id: request.topics[0].partitions[0].offset for node_id, request in world.asked(DeleteRecordsRequest)}
    assert asked == {0: 4, 1: -1}


def test_partitions_that_nobody_leads_are_not_waited_for(world: Any) -> None:
    world.cluster.create_topic("t", 2)
    world.cluster.down = {1}
    missing = TopicPartition("nowhere", 0)
    results = world.ask(lambda admin: admin.delete_records({A: 0, B: 0, missing: 0}))
    codes = {tp: error.code for tp, error in results.errors().items()}
    assert codes == {B: ErrorCode.LEADER_NOT_AVAILABLE, missing: ErrorCode.UNKNOWN_TOPIC_OR_PARTITION}


def test_an_error_says_what_it_means_for_records(world: Any) -> None:
    world.cluster.create_topic("t")
    world.cluster.answers[ApiKey.DELETE_RECORDS] = lambda _: refused(ErrorCode.POLICY_VIOLATION)
    error = world.ask(lambda admin: admin.delete_records({A: 4})).errors()[A]
    assert error.detail == "the cleanup.policy of t-0 does not allow the deletion of records"
