"""Requests of a transactional producer, field by field, and the errors in their responses."""

from __future__ import annotations

from kafka_py.base.errors import ErrorCode
from kafka_py.base.ids import TopicPartition
from kafka_py.clients.consumer.assignors.assignor import GroupMetadata
from kafka_py.clients.offsets import OffsetAndMetadata
from kafka_py.clients.producer.idempotence import ProducerIdentity
from kafka_py.clients.producer.transactions.coordinator_requests import (
    OffsetsCommit,
    add_offsets,
    add_partitions,
    commit_offsets,
    end,
    explanation,
    init_producer_id,
    needs_members,
)

A, B, C = TopicPartition("t", 0), TopicPartition("t", 1), TopicPartition("u", 0)


def identity() -> ProducerIdentity:
    made = ProducerIdentity()
    made.assume(7, 3)
    return made


def test_the_id_is_named_only_when_its_epoch_is_to_be_increased() -> None:
    first = init_producer_id("x", 60_000, identity()).message
    assert (first.transactional_id, first.transaction_timeout_ms) == ("x", 60_000)
    assert (first.producer_id, first.producer_epoch) == (-1, -1)
    renewal = init_producer_id("x", 60_000, identity(), renews=True).message
    assert (renewal.producer_id, renewal.producer_epoch) == (7, 3)


def test_partitions_are_sent_by_topic() -> None:
    request = add_partitions("x", identity(), [A, C, B])
    assert [(topic.name, topic.partitions) for topic in request.message.topics] == [("t", [0, 1]), ("u", [0])]
    assert request.partitions == (A, C, B)


def test_offsets_name_the_member_of_the_group() -> None:
    commit = OffsetsCommit("send", offsets={A: OffsetAndMetadata(5, "note", 2)}, group=GroupMetadata("g", 4, "m", "i"))
    assert add_offsets("x", identity(), commit).message.group_id == "g"
    request = commit_offsets("x", identity(), commit)
    assert request.is_for_group
    message = request.message
    assert (message.transactional_id, message.group_id, message.generation_id) == ("x", "g", 4)
    assert (message.member_id, message.group_instance_id) == ("m", "i")
    [row] = message.topics[0].partitions
    assert (row.partition_index, row.committed_offset, row.committed_leader_epoch) == (0, 5, 2)
    assert row.committed_metadata == "note"


def test_a_group_by_its_id_alone_needs_no_members() -> None:
    assert not needs_members(OffsetsCommit("send", group=GroupMetadata("g")))
    assert not needs_members(None)
    for group in (GroupMetadata("g", 0), GroupMetadata("g", -1, "m"), GroupMetadata("g", -1, "", "i")):
        assert needs_members(OffsetsCommit("send", group=group))


def test_errors_name_the_setting_that_causes_them() -> None:
    first = init_producer_id("x", 1_000_000, identity())
    assert "transaction.timeout.ms, 1000000 ms," in explanation(first, ErrorCode.INVALID_TRANSACTION_TIMEOUT)
    assert "transactional.id 'x'" in explanation(first, ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED)
    for code in ErrorCode:
        assert explanation(end("x", identity(), committed=True), code)


def test_the_end_says_which() -> None:
    for committed in (True, False):
        message = end("x", identity(), committed=committed).message
        assert (message.producer_id, message.producer_epoch, message.committed) == (7, 3, committed)
