"""Uuids as the text that znodes and files hold."""

import uuid

import pytest

from kafka_py.base.ids import TopicPartition, uuid_from_text, uuid_to_text


def test_uuid_text_is_unpadded_base64url():
    value = uuid.UUID(int=0x0123456789ABCDEFFEDCBA9876543210)
    assert uuid_to_text(value) == "ASNFZ4mrze_-3LqYdlQyEA"
    assert uuid_from_text("ASNFZ4mrze_-3LqYdlQyEA") == value


@pytest.mark.parametrize("text", ["", "short", "ASNFZ4mrze_-3LqYdlQyEA_more", "ASNFZ4mrze+/3LqYdlQyEA"])
def test_anything_else_is_refused(text):
    with pytest.raises(ValueError, match="uuid"):
        uuid_from_text(text)


def test_a_partition_prints_as_its_directory():
    assert str(TopicPartition("a-b", 3)) == "a-b-3"
