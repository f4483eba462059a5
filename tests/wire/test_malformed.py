"""Bytes from anywhere: MalformedMessage is all that may come out, and memory stays in proportion to the bytes."""

import random
import tracemalloc

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from kafka_py.wire.__main__ import message_classes
from kafka_py.wire.apis import APIS
from kafka_py.wire.compiler import decode, decoder, encode
from kafka_py.wire.frames import read_request_header
from kafka_py.wire.messages.create_topics import CreatableReplicaAssignment, CreatableTopic, CreateTopicsRequest
from kafka_py.wire.messages.metadata import MetadataRequest, MetadataRequestTopic
from kafka_py.wire.primitives import MalformedMessage
from kafka_py.wire.schema import schema_of

CLASSES = {cls.__name__: cls for cls in message_classes()}
NASTY = [
    *(bytes([byte]) for byte in (0x00, 0x01, 0x7F, 0x80, 0xC3, 0xFE, 0xFF)),
    *(
        bytes.fromhex(text)
        for text in ("7fffffff", "ffffffff", "fffffffe", "80000000", "ffffffff0f", "8080808080", "7fff")
    ),
]


def mutations(encoded: bytes, rng: random.Random, count: int):
    """Copies with a few bytes overwritten, cut out or put in."""
    for _ in range(count):
        mutated = bytearray(encoded)
        for _ in range(rng.randint(1, 3)):
            position = rng.randint(0, len(mutated))
            nasty = rng.choice(NASTY)
            mutated[position : position + rng.choice((0, len(nasty), rng.randint(0, 8)))] = nasty
        yield mutated


def decode_or_refuse(cls, version, buf):
    try:
        decoder(cls, version)(buf, 0)
    except MalformedMessage as error:
        assert str(error).startswith(f"{cls.__name__} v{version}, ")


@pytest.mark.parametrize("name", CLASSES)
def test_mutated_golden_bytes(name, golden_lines):
    rng = random.Random(name)
    for version, _, encoded in golden_lines[name]:
        for mutated in mutations(encoded, rng, 12):
            decode_or_refuse(CLASSES[name], version, mutated)
            decode_or_refuse(CLASSES[name], version, memoryview(mutated))


@pytest.mark.parametrize("cls", CLASSES.values(), ids=CLASSES)
@settings(
    max_examples=10,
    deadline=None,
    database=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
@given(data=st.data())
def test_mutated_messages(cls, messages, data):
    low, high = schema_of(cls).versions
    version = data.draw(st.integers(low, high), label="version")
    encoded = encode(data.draw(messages(cls, version), label="message"), version)
    for mutated in mutations(encoded, random.Random(data.draw(st.integers(0, 2**32))), 10):
        decode_or_refuse(cls, version, mutated)


@settings(max_examples=200, deadline=None, database=None)
@given(
    frame=st.binary(max_size=60)
    | st.builds(lambda key, rest: bytes([0, key, 0, 1]) + rest, st.integers(0, 64), st.binary())
)
def test_any_bytes_as_a_request(frame):
    try:
        header, pos = read_request_header(bytearray(frame))
        if APIS[header.api_key].supports(header.api_version):
            decode(APIS[header.api_key].request, header.api_version, bytearray(frame), pos)
    except MalformedMessage:
        pass


@pytest.mark.parametrize("name", CLASSES)
def test_a_huge_count_or_length_anywhere_allocates_nothing(name, golden_lines):
    """Every position of an encoding is overwritten with the largest int32, and with the largest varint."""
    cls = CLASSES[name]
    newest = max(version for version, _, _ in golden_lines[name])
    seen = set()
    for version, _, encoded in golden_lines[name]:
        if version not in (newest, 0, 1) or version in seen or len(encoded) > 400:
            continue
        seen.add(version)
        decode_or_refuse(cls, version, encoded)  # compiled outside of the measurement
        tracemalloc.start()
        for position in range(len(encoded)):
            for huge in (b"\x7f\xff\xff\xff", b"\xfe\xff\xff\xff\x07"):
                decode_or_refuse(cls, version, encoded[:position] + huge + encoded[position + len(huge) :])
        _, peak = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        assert peak < 200_000


@pytest.mark.parametrize("version", [1, 9])
def test_a_count_beyond_the_bytes_is_refused_before_anything_is_read(version):
    """Ten million topics of least size would fit in no frame of 100 bytes."""
    body = encode(MetadataRequest(topics=[MetadataRequestTopic(name="t")]), version)
    prefix = (10_000_000).to_bytes(4, "big") if version == 1 else bytes.fromhex("81 ad e2 04")
    with pytest.raises(MalformedMessage, match="topics: length 10000000"):
        decode(MetadataRequest, version, prefix + body[4 if version == 1 else 1 :])


@pytest.mark.parametrize("version", [4, 7])
def test_a_count_of_numbers_beyond_the_bytes(version):
    assignment = CreatableReplicaAssignment(partition_index=0, broker_ids=[1, 2, 3])
    request = CreateTopicsRequest(topics=[CreatableTopic(name="t", assignments=[assignment])])
    body = bytearray(encode(request, version))
    at = body.index(b"\x00\x00\x00\x01\x00\x00\x00\x02\x00\x00\x00\x03") - 1
    assert body[at] == (3 if version == 4 else 4)
    body[at] += 40
    with pytest.raises(MalformedMessage, match=r"topics.assignments.broker_ids: length 43"):
        decode(CreateTopicsRequest, version, body)
