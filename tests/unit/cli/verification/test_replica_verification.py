"""kafka-replica-verification.sh: how the batches of replicas are compared (docs/reference/tools.md, section 19)."""

import asyncio
import re

import pytest

from kafka_py.base.errors import ErrorCode
from kafka_py.base.ids import TopicPartition
from kafka_py.cli.common.command import CommandFailed, UsageError
from kafka_py.cli.verification.replica_verification import (
    Fetched,
    FetchedBatch,
    Verification,
    compare,
    main,
    parser,
    read_fetched,
)
from kafka_py.records.batch import CRC_START, read_header
from kafka_py.records.builder import BatchBuilder
from kafka_py.wire.messages.fetch import FetchablePartitionResponse, FetchableTopicResponse, FetchResponse

T0 = TopicPartition("t", 0)


def batches(*values, base=0):
    """One batch per value, of two records each."""
    headers = []
    for number, value in enumerate(values):
        builder = BatchBuilder()
        builder.append(1000, None, value)
        builder.append(1000, None, value)
        header = read_header(builder.build())._replace(base_offset=base + 2 * number)
        headers.append(FetchedBatch(header, header.crc))
    return headers


def test_equal_replicas_are_gone_through_up_to_the_high_watermark():
    held = batches(b"a", b"b", b"c")
    result = compare(T0, 0, {1: Fetched(4, held), 2: Fetched(6, held[:2])})
    assert (result.next_offset, result.lag, result.unmatched, result.broken) == (4, 2, [], "")


def test_a_replica_that_has_less_holds_all_back():
    held = batches(b"a", b"b")
    assert compare(T0, 0, {1: Fetched(4, held), 2: Fetched(4, held[:1]), 3: Fetched(4, held)}).next_offset == 2
    nothing = compare(T0, 7, {1: Fetched(10, []), 2: Fetched(10, [])})
    assert (nothing.next_offset, nothing.lag) == (7, 3)


def test_another_checksum_is_told():
    result = compare(T0, 0, {1: Fetched(4, batches(b"a", b"b")), 2: Fetched(4, batches(b"a", b"x"))})
    [line] = result.unmatched
    assert re.fullmatch(
        r"partition t-0 has unmatched checksum at offset 3; replica 1's checksum \d+; replica 2's checksum \d+", line
    )
    assert result.next_offset == 4


@pytest.mark.parametrize("position", [-3, CRC_START - 1], ids=["records", "checksum"])
def test_what_a_disk_has_changed_is_told_be_it_the_records_or_the_stored_checksum(position):
    builder = BatchBuilder()
    builder.append(1000, None, b"value")
    sound = builder.build()
    rotten = bytearray(sound)
    rotten[position] ^= 1
    read = {1: read_fetched(T0, 1, 1, bytes(sound)), 2: read_fetched(T0, 2, 1, bytes(rotten))}
    assert read[1].batches == [FetchedBatch(header := read_header(sound), header.crc)]
    [line] = compare(T0, 0, read).unmatched
    assert re.fullmatch(
        rf"partition t-0 has unmatched checksum at offset 0; replica 1's checksum {header.crc}; "
        rf"replica 2's checksum (?!{header.crc})\d+", line
    )  # fmt: skip


def test_a_header_that_cannot_be_one_ends_it():
    builder = BatchBuilder()
    builder.append(1000, None, b"value")
    damaged = bytearray(builder.build())
    damaged[16] = 9
    with pytest.raises(CommandFailed, match=r"partition t-0: replica 2 has a damaged batch: .*magic"):
        read_fetched(T0, 2, 1, bytes(damaged))


class DamagedBroker:
    """An admin client and its cluster in one; the broker finds that its records are damaged."""

    def __init__(self):
        self.cluster = self

    async def know(self, broker):
        pass

    async def send(self, broker, request):
        damaged = FetchablePartitionResponse(
            partition=0, error_code=ErrorCode.CORRUPT_MESSAGE, high_watermark=-1, record_set=None
        )
        return FetchResponse(responses=[FetchableTopicResponse(topic="t", partition_responses=[damaged])])


def test_a_broker_that_finds_its_records_damaged_ends_it():
    options = parser().parse(["--broker-list", "b:9092"])
    with pytest.raises(CommandFailed, match=r"partition t-0: replica 3 says that its records are damaged at offset 5"):
        asyncio.run(Verification(DamagedBroker(), {T0: [3]}, {T0: 5}, options).round())


def test_other_offsets_end_it():
    result = compare(T0, 0, {1: Fetched(9, batches(b"a")), 2: Fetched(9, batches(b"a", base=1))})
    assert result.broken == "partition t-0: replica 1's offset 1 doesn't match replica 2's offset 2"


@pytest.mark.parametrize(
    ("arguments", "error", "says"),
    [
        (["--time", "-1"], UsageError, 'Missing required argument "[broker-list]"'),
        (["--broker-list", "here"], UsageError, "Please provide valid host:port like host1:9091,host2:9092"),
        (["--broker-list", "b:1", "--topic-white-list", "*"], CommandFailed, "* is an invalid regex."),
    ],
)
def test_what_cannot_be_meant(arguments, error, says):
    with pytest.raises(error, match=re.escape(says)):
        main(arguments)
