"""Decoders: what each shows, and that no bytes make one raise."""

import json

import msgpack
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafka_py.clients.consumer.fetching.records import ConsumerRecord
from kafka_py.manager.messages.decoding.avro_schemas import NO_SCHEMAS, load_schemas
from kafka_py.manager.messages.decoding.decoders import (
    DECODERS,
    MOST_DECODED_BYTES,
    MOST_HEADERS,
    RecordDecoder,
    decode_field,
)
from kafka_py.manager.messages.message import NO_DOCUMENT, NULL_FIELD
from kafka_py.records.batch import TimestampType
from kafka_py.wire.compiler import encode_versioned
from kafka_py.wire.messages.consumer_protocol import ConsumerProtocolAssignment, TopicPartitions
from kafka_py.wire.messages.group_metadata_record import GroupMetadataKey, GroupMetadataValue, MemberMetadata
from kafka_py.wire.messages.offset_commit_record import OffsetCommitKey, OffsetCommitValue
from kafka_py.wire.messages.transaction_log_record import PartitionsSchema, TransactionLogKey, TransactionLogValue


def record(key, value, topic="t", headers=()):
    return ConsumerRecord(topic, 1, 7, 9, TimestampType.CREATE_TIME, 0, 0, key, value, tuple(headers), 0)


@pytest.mark.parametrize(
    ("data", "name", "kind", "text"),
    [
        (b'{"a": 1}', "auto", "json", '{"a": 1}'),
        (b"[broken", "auto", "text", "[broken"),
        (b"<b>text</b>", "auto", "text", "<b>text</b>"),
        (b"", "auto", "text", ""),
        (b"\x00\x01\xff", "auto", "hex", "0001ff"),
        (b"a\x00b", "auto", "hex", "610062"),
        (b"\xff", "text", "text", "\ufffd"),
        (b"abc", "hex", "hex", "616263"),
        (b"7", "json", "json", "7"),
        (b"x", "json", "text", "x"),
        (b"\x00x", "json", "hex", "0078"),
        (msgpack.packb({"a": [1, b"\xff"], 5: None}), "msgpack", "msgpack", '{"a": [1, "/w=="], "5": null}'),
        (b"\xc1", "msgpack", "hex", "c1"),
        (b"x", "avro", "text", "x"),
    ],
)
def test_what_each_decoder_shows(data, name, kind, text):
    field = decode_field(data, name, NO_SCHEMAS)
    assert (field.kind, field.text, field.size) == (kind, text, len(data))
    assert (field.problem is not None) == (name in ("json", "msgpack", "avro") and kind != name)


def test_null_is_null_for_every_decoder():
    assert {decode_field(None, name, NO_SCHEMAS) for name in DECODERS} == {NULL_FIELD}


def test_a_huge_field_is_cut_with_its_size():
    for data in (b"x" * 3_000_000, "é".encode() * 1_500_000, b"\x00" * 3_000_000):
        field = decode_field(data, "auto", NO_SCHEMAS)
        assert (field.size, field.is_cut, field.document) == (3_000_000, True, NO_DOCUMENT)
        assert len(field.text) <= 2 * MOST_DECODED_BYTES
    assert decode_field(b"x" * MOST_DECODED_BYTES, "text", NO_SCHEMAS).is_cut is False
    assert decode_field(("x" + "é" * 600_000).encode(), "auto", NO_SCHEMAS).kind == "text"


@given(st.binary(max_size=60), st.sampled_from(DECODERS))
def test_no_bytes_make_a_decoder_raise(data, name):
    schemas = load_schemas({"1.avsc": '"string"'})
    field = decode_field(data, name, schemas)
    assert field.size == len(data)
    field.text.encode()
    decode_field(b"\x00\x00\x00\x00\x01" + data, name, schemas).text.encode()
    decode_field(b"Obj\x01" + data, name, schemas).text.encode()


@given(st.binary(max_size=60), st.binary(max_size=60), st.sampled_from(["__consumer_offsets", "__transaction_state"]))
def test_no_bytes_make_a_stored_record_raise(key, value, topic):
    for made in (record(key, value, topic), record(b"\x00\x01" + key, value, topic), record(None, None, topic)):
        RecordDecoder().decode(made)


def test_a_message_has_all_that_the_record_has():
    headers = [("h", b"v"), ("h", None), ("bad\ud800", b"\xff")]
    message = RecordDecoder("text", "hex").decode(record(b"k", b"v", headers=headers))
    assert message[:5] == ("t", 1, 7, 9, "CreateTime")
    assert (message.key.text, message.value.text) == ("k", "76")
    assert [(header.name, header.field.kind) for header in message.headers] == [
        ("h", "text"), ("h", "null"), ("bad\\ud800", "hex"),
    ]  # fmt: skip
    assert len(RecordDecoder().decode(record(b"", b"", headers=[("h", b"")] * 5_000)).headers) == MOST_HEADERS


COMMIT = record(
    encode_versioned(OffsetCommitKey(group="g", topic="t", partition=2), 1),
    encode_versioned(OffsetCommitValue(offset=41, metadata="m", commit_timestamp=1_000), 3),
    "__consumer_offsets",
)
ASSIGNMENT = encode_versioned(
    ConsumerProtocolAssignment(assigned_partitions=[TopicPartitions(topic="t", partitions=[0, 1])]), 1
)
MEMBERS = [
    MemberMetadata(member_id="m-1", client_id="<script>", client_host="/1.2.3.4", rebalance_timeout=1,
                   session_timeout=2, subscription=b"", assignment=data)
    for data in (ASSIGNMENT, b"\x00\x01\xff")
]  # fmt: skip
GROUP = record(
    encode_versioned(GroupMetadataKey(group="g"), 2),
    encode_versioned(GroupMetadataValue(protocol_type="consumer", generation=3, protocol="range", leader="m-1",
                                        current_state_timestamp=5, members=MEMBERS), 3),
    "__consumer_offsets",
)  # fmt: skip
TRANSACTION = record(
    encode_versioned(TransactionLogKey(transactional_id="tx"), 0),
    encode_versioned(
        TransactionLogValue(producer_id=9, producer_epoch=1, transaction_timeout_ms=60_000, transaction_status=1,
                            transaction_partitions=[PartitionsSchema(topic="t", partition_ids=[0])],
                            transaction_last_update_timestamp_ms=7, transaction_start_timestamp_ms=6), 0),
    "__transaction_state",
)  # fmt: skip


def test_commits_groups_and_transactions_are_documents():
    commit, group, transaction = (RecordDecoder().decode(each) for each in (COMMIT, GROUP, TRANSACTION))
    assert (commit.key.kind, commit.key.document) == ("offsets", {"group": "g", "topic": "t", "partition": 2})
    assert commit.value.document["offset"] == 41
    assert json.loads(group.value.text) == group.value.document
    assert [member["assignment"] for member in group.value.document["members"]] == [{"t": [0, 1]}, "0001ff"]
    assert transaction.key.document == {"transactional_id": "tx"}
    assert transaction.value.document["state"] == "Ongoing"
    assert transaction.value.document["partitions"] == {"t": [0]}


def test_a_tombstone_and_a_record_that_cannot_be_read():
    assert RecordDecoder().decode(COMMIT._replace(value=None)).value == NULL_FIELD
    damaged = RecordDecoder().decode(COMMIT._replace(value=b"\x00\x03\x00"))
    assert damaged.key.kind == "hex" and damaged.key.problem
    as_hex = RecordDecoder(value_as="hex").decode(COMMIT)
    assert as_hex.value.kind == "hex"
