"""Records of brokers' own topics: what each is about, and that damaged or unknown ones are refused."""

import struct

import pytest

from kafka_py.manager.messages.decoding.stored_topics import STORED_TOPICS, stored_record
from kafka_py.wire.compiler import encode_versioned
from kafka_py.wire.messages.consumer_protocol import ConsumerProtocolAssignment, TopicPartitions
from kafka_py.wire.messages.group_metadata_record import GroupMetadataKey, GroupMetadataValue, MemberMetadata
from kafka_py.wire.messages.offset_commit_record import OffsetCommitKey
from kafka_py.wire.messages.transaction_log_record import PartitionsSchema, TransactionLogKey, TransactionLogValue
from kafka_py.wire.stored_records import UndecodableRecord

OFFSETS, TRANSACTIONS = STORED_TOPICS
ASSIGNED = encode_versioned(
    ConsumerProtocolAssignment(assigned_partitions=[TopicPartitions(topic="t", partitions=[0])], user_data=None), 1
)
GROUP_KEY = encode_versioned(GroupMetadataKey(group="g"), 2)


def member(assignment: bytes) -> MemberMetadata:
    return MemberMetadata(member_id="m", client_id="c", client_host="/h", rebalance_timeout=1, session_timeout=2,
                          subscription=b"", assignment=assignment)  # fmt: skip


def group(assignment: bytes, protocol_type: str = "consumer") -> bytes:
    value = GroupMetadataValue(protocol_type=protocol_type, generation=3, protocol="range", leader="m",
                               current_state_timestamp=1, members=[member(assignment)])  # fmt: skip
    return encode_versioned(value, 3)


def test_tombstones_say_what_was_removed() -> None:
    key = encode_versioned(OffsetCommitKey(group="g", topic="t", partition=4), 1)
    assert stored_record(OFFSETS, key, None) == ("offsets", {"group": "g", "topic": "t", "partition": 4}, None)
    assert stored_record(OFFSETS, GROUP_KEY, None) == ("group", {"group": "g"}, None)
    about = encode_versioned(TransactionLogKey(transactional_id="id"), 0)
    assert stored_record(TRANSACTIONS, about, None) == ("transaction", {"transactional_id": "id"}, None)


@pytest.mark.parametrize(("protocol", "assignment"), [("connect", ASSIGNED), ("consumer", b"\x00\x01"), ("", b"")])
def test_an_assignment_of_another_protocol_or_a_damaged_one_is_shown_as_bytes(protocol: str, assignment: bytes) -> None:
    kind, _, document = stored_record(OFFSETS, GROUP_KEY, group(assignment, protocol))
    assert kind == "group" and document is not None
    [shown] = document["members"]
    assert (shown["assignment"], shown["member_id"]) == (assignment.hex(), "m")


@pytest.mark.parametrize(("status", "state"), [(1, "Ongoing"), (99, "unknown (99)"), (-1, "unknown (-1)")])
def test_a_state_that_is_not_known_is_shown_by_its_number(status: int, state: str) -> None:
    value = TransactionLogValue(
        producer_id=7, producer_epoch=1, transaction_timeout_ms=5, transaction_status=status,
        transaction_partitions=[PartitionsSchema(topic="t", partition_ids=[0, 2])],
        transaction_last_update_timestamp_ms=8, transaction_start_timestamp_ms=9,
    )  # fmt: skip
    key = encode_versioned(TransactionLogKey(transactional_id="id"), 0)
    _, _, document = stored_record(TRANSACTIONS, key, encode_versioned(value, 0))
    assert document is not None and (document["state"], document["partitions"]) == (state, {"t": [0, 2]})
    assert (document["start_timestamp"], document["last_update_timestamp"]) == (9, 8)


@pytest.mark.parametrize("key", [None, b"", b"\x00", struct.pack(">h", 77) + b"rest", GROUP_KEY[:-1]])
@pytest.mark.parametrize("topic", STORED_TOPICS)
def test_what_is_no_such_record_is_refused(topic: str, key: bytes | None) -> None:
    with pytest.raises(UndecodableRecord):
        stored_record(topic, key, None)
