"""What consumers of a group send each other: subscriptions, assignments, user data."""

import pytest

from kafka_py.base.errors import KafkaError
from kafka_py.base.ids import TopicPartition
from kafka_py.clients.consumer.assignors.assignor import Assignment, Subscription
from kafka_py.clients.consumer.protocol import (
    decode_assignment,
    decode_claim,
    decode_generation,
    decode_subscription,
    encode_assignment,
    encode_claim,
    encode_generation,
    encode_subscription,
)

PARTITIONS = [TopicPartition("a", 0), TopicPartition("a", 2), TopicPartition("b", 1)]


def test_what_goes_out_comes_in() -> None:
    subscription = Subscription(["a", "b"], b"data", PARTITIONS)
    read = decode_subscription(encode_subscription(subscription), "instance")
    assert (read.topics, read.user_data, read.owned) == (["a", "b"], b"data", PARTITIONS)
    assert read.group_instance_id == "instance"
    assert decode_assignment(encode_assignment(Assignment(PARTITIONS, b"x"))) == Assignment(PARTITIONS, b"x")
    assert decode_claim(encode_claim(PARTITIONS, 7)) == (PARTITIONS, 7)
    assert decode_generation(encode_generation(7)) == 7


def test_the_layout_is_that_of_the_classic() -> None:
    """Version, topics, user data, owned partitions; version, partitions, user data."""
    topic = b"\x00\x01a"
    one = b"\x00\x00\x00\x01"
    assert encode_subscription(Subscription(["a"])) == (
        b"\x00\x01" + one + topic + b"\xff\xff\xff\xff" + b"\x00\x00\x00\x00"
    )
    assert encode_assignment(Assignment([TopicPartition("a", 3)])) == (
        b"\x00\x01" + one + topic + one + b"\x00\x00\x00\x03" + b"\xff\xff\xff\xff"
    )
    assert encode_claim([TopicPartition("a", 3)], 9) == one + topic + one + b"\x00\x00\x00\x03" + b"\x00\x00\x00\x09"


def test_older_and_newer_members_are_understood() -> None:
    """Version 0 knows no owned partitions; what a version 2 adds at the end is passed over."""
    body = encode_subscription(Subscription(["a"]))[2:]
    assert decode_subscription(b"\x00\x00" + body[:-4]).owned == []
    assert decode_subscription(b"\x00\x02" + body + b"more").topics == ["a"]


def test_a_claim_of_the_first_version_has_no_generation() -> None:
    assert decode_claim(encode_claim(PARTITIONS, 7)[:-4]) == (PARTITIONS, -1)


@pytest.mark.parametrize("data", [b"", b"\x00", b"\x00\x01\x00\x00"])
def test_what_cannot_be_read_is_said_so(data: bytes) -> None:
    with pytest.raises(KafkaError, match="subscription is malformed"):
        decode_subscription(data)
    with pytest.raises(KafkaError, match="assignment is malformed"):
        decode_assignment(data)
