"""How records of the brokers' own topics are printed; the samples were printed by the classic's own formatters."""

import pytest

from kafka_py.base.ids import TopicPartition
from kafka_py.broker.settings import scala_order
from kafka_py.cli.console.internal_formatters import (
    GroupMetadataMessageFormatter,
    OffsetsMessageFormatter,
    TransactionLogMessageFormatter,
)
from kafka_py.cli.console.message_formatters import formatter_named
from kafka_py.clients.consumer.fetching.records import ConsumerRecord
from kafka_py.records.batch import TimestampType
from kafka_py.wire.compiler import encode_versioned
from kafka_py.wire.messages.group_metadata_record import GroupMetadataKey, GroupMetadataValue, MemberMetadata
from kafka_py.wire.messages.offset_commit_record import OffsetCommitKey, OffsetCommitValue
from kafka_py.wire.messages.transaction_log_record import PartitionsSchema, TransactionLogKey, TransactionLogValue
from kafka_py.wire.stored_records import UndecodableRecord

COMMIT_KEY = encode_versioned(OffsetCommitKey(group="g1", topic="t1", partition=0), 1)
GROUP_KEY = encode_versioned(GroupMetadataKey(group="g1"), 2)


def record(key, value):
    return ConsumerRecord("__x", 0, 0, 0, TimestampType.CREATE_TIME, 0, 0, key, value, (), 0)


def offset_value(version, **fields):
    named = {"offset": 5, "metadata": "m", "commit_timestamp": 1000, **fields}
    return encode_versioned(OffsetCommitValue(**named), version)


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (offset_value(3, leader_epoch=3), "offset=5, leaderEpoch=Optional[3], metadata=m, commitTimestamp=1000, "
         "expireTimestamp=None"),
        (offset_value(3, metadata=""), "offset=5, leaderEpoch=Optional.empty, metadata=, commitTimestamp=1000, "
         "expireTimestamp=None"),
        (offset_value(1, expire_timestamp=2000), "offset=5, leaderEpoch=Optional.empty, metadata=m, "
         "commitTimestamp=1000, expireTimestamp=Some(2000)"),
        (offset_value(1), "offset=5, leaderEpoch=Optional.empty, metadata=m, commitTimestamp=1000, "
         "expireTimestamp=None"),
    ],
)  # fmt: skip
def test_a_committed_offset(value, text):
    """S3-061, S3-062, W7.20a: the fields of key and value."""
    formatted = OffsetsMessageFormatter().format(record(COMMIT_KEY, value))
    assert formatted.decode() == f"[g1,t1,0]::OffsetAndMetadata({text})\n"


def test_a_tombstone_prints_null():
    """S3-063."""
    assert OffsetsMessageFormatter().format(record(COMMIT_KEY, None)) == b"[g1,t1,0]::NULL\n"
    assert GroupMetadataMessageFormatter().format(record(GROUP_KEY, None)) == b"g1::NULL\n"


def test_each_formatter_passes_over_what_is_not_for_it():
    assert OffsetsMessageFormatter().format(record(GROUP_KEY, None)) == b""
    assert GroupMetadataMessageFormatter().format(record(COMMIT_KEY, None)) == b""
    assert OffsetsMessageFormatter().format(record(None, b"x")) == b""


def member(member_id, instance=None):
    return MemberMetadata(
        member_id=member_id, group_instance_id=instance, client_id="c", client_host="/127.0.0.1",
        rebalance_timeout=300000, session_timeout=6000, subscription=b"", assignment=b"",
    )  # fmt: skip


def group_text(*members, **fields):
    named = {"protocol_type": "consumer", "generation": 2, "protocol": "range", "leader": "m"}
    value = GroupMetadataValue(**{**named, **fields}, members=list(members))
    return GroupMetadataMessageFormatter().format(record(GROUP_KEY, encode_versioned(value, 3))).decode()


def test_a_group_with_its_members_in_the_order_of_the_classics_table():
    first, second = "c2-a8e4a8d3-90a7-4b34-99d5-350cba38679c", "inst-3f813e0b-588a-4198-89c8-40904c3e35e9"
    rest = "clientId=c, clientHost=/127.0.0.1, sessionTimeoutMs=6000, rebalanceTimeoutMs=300000, " \
           "supportedProtocols=List(range), )"  # fmt: skip
    assert group_text(member(second, "inst"), member(first)) == (
        "g1::GroupMetadata(groupId=g1, generation=2, protocolType=Some(consumer), currentState=Stable, "
        f"members=HashMap({first} -> MemberMetadata(memberId={first}, groupInstanceId=None, {rest}, "
        f"{second} -> MemberMetadata(memberId={second}, groupInstanceId=Some(inst), {rest}))\n"
    )


def test_a_group_without_members():
    assert group_text(protocol=None, leader=None) == (
        "g1::GroupMetadata(groupId=g1, generation=2, protocolType=Some(consumer), currentState=Empty, "
        "members=HashMap())\n"
    )
    assert "protocolType=None" in group_text(protocol_type="")


def test_a_transaction():
    value = TransactionLogValue(
        producer_id=4, producer_epoch=1, transaction_timeout_ms=60000, transaction_status=1,
        transaction_partitions=[PartitionsSchema(topic="t2", partition_ids=[0]),
                                PartitionsSchema(topic="t1", partition_ids=[0])],
        transaction_last_update_timestamp_ms=8, transaction_start_timestamp_ms=7,
    )  # fmt: skip
    key = encode_versioned(TransactionLogKey(transactional_id="tx-1"), 0)
    formatter = TransactionLogMessageFormatter()
    assert formatter.format(record(key, encode_versioned(value, 0))).decode() == (
        "tx-1::TransactionMetadata(transactionalId=tx-1, producerId=4, producerEpoch=1, txnTimeoutMs=60000, "
        "state=Ongoing, pendingState=None, topicPartitions=HashSet(t1-0, t2-0), txnStartTimestamp=7, "
        "txnLastUpdateTimestamp=8)\n"
    )
    assert formatter.format(record(key, None)) == b"tx-1::NULL\n"


@pytest.mark.parametrize("key", [b"", b"\0", b"\0\7abc", b"\0\1\0\5a", b"hello"])
def test_a_record_of_another_topic_is_refused(key):
    with pytest.raises(UndecodableRecord):
        OffsetsMessageFormatter().format(record(key, b"x"))


@pytest.mark.parametrize("value", [b"", b"\0\7", b"\0\3\0"])
def test_a_value_that_cannot_be_read_is_refused(value):
    with pytest.raises(UndecodableRecord):
        OffsetsMessageFormatter().format(record(COMMIT_KEY, value))


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("kafka.coordinator.group.GroupMetadataManager$OffsetsMessageFormatter", OffsetsMessageFormatter),
        ("kafka.coordinator.group.GroupMetadataManager$GroupMetadataMessageFormatter", GroupMetadataMessageFormatter),
        ("kafka.coordinator.transaction.TransactionLog$TransactionLogMessageFormatter", TransactionLogMessageFormatter),
    ],
)
def test_the_classic_names(name, kind):
    assert isinstance(formatter_named(name, {}), kind)


def test_the_order_of_hash_tables():
    assert scala_order.of_strings(["a-much-longer-client-id-7fe56f0a-0534-4d43-9ebd-fc98fcd177b3",
                                   "c-1-eb8e0dc9-6e37-4bfb-94e3-920ea2ea1fa0"])[0].startswith("c-1")  # fmt: skip
    many = [f"k{number}" for number in range(40)]
    assert sorted(scala_order.of_strings(many)) == sorted(many)
    assert scala_order.of_strings(many) == scala_order.of_strings(reversed(many))
    assert scala_order.of_partitions([TopicPartition("t1", 1), TopicPartition("t1", 0)])[0].partition in (0, 1)
