"""Batches as clients send them, sound ones and others, and what validation makes of them."""

import random
import struct

from kafka_py.log.model.answers import Origin
from kafka_py.log.model.configs import LogConfig
from kafka_py.log.validation.header_trust import VERIFIED_FIRST, HeaderTrust
from kafka_py.log.validation.record_work import RecordWork
from kafka_py.log.validation.validation import prepare_leader_append
from kafka_py.records.batch import BatchHeader, read_header
from kafka_py.records.builder import with_records
from kafka_py.records.compression import Codec, compress
from kafka_py.records.crc32c import crc32c
from kafka_py.records.varints import encode_varint
from kafka_py.testing.fakes.stored_logs import LogWorld, batch

NOW = 1_600_000_000_000
BASE_TIMESTAMP, MAX_TIMESTAMP, RECORD_COUNT, LAST_OFFSET_DELTA = (27, ">q"), (35, ">q"), (57, ">i"), (23, ">i")


class Loaded(random.Random):
    """Chance that always, or never, asks for a look."""

    def __init__(self, value: float) -> None:
        super().__init__(0)
        self._value = value

    def expovariate(self, lambd: float = 1.0) -> float:
        return self._value


def trust(*, lucky: bool = True, seen: int = VERIFIED_FIRST) -> HeaderTrust:
    """Of a connection that has sent `seen` batches; `lucky`: chance never asks for a look."""
    made = HeaderTrust("client", Loaded(1e9 if lucky else 0.0))
    header = read_header(batch())
    for _ in range(seen):
        made.wants_verification(header)
    return made


def patched(data, *fields) -> bytearray:
    """`data` with header fields changed, its checksum made right again."""
    changed = bytearray(data)
    for (position, layout), value in fields:
        struct.pack_into(layout, changed, position, value)
    struct.pack_into(">I", changed, 17, crc32c(memoryview(changed)[21:]))
    return changed


def prepare(data, known: HeaderTrust | None = None, topic=None) -> tuple[memoryview, BatchHeader]:
    config = LogConfig.for_topic(None, topic or {})
    prepared = prepare_leader_append(memoryview(bytearray(data)), config, NOW, Origin.CLIENT, known)
    assert isinstance(prepared, (tuple, RecordWork))
    return prepared.run() if isinstance(prepared, RecordWork) else prepared


def hand_made(body: bytes, count: int, *, base_timestamp: int = NOW, codec: Codec = Codec.NONE) -> bytearray:
    """A batch of these encoded records, its timestamps implausible."""
    header = read_header(batch())._replace(
        record_count=count, last_offset_delta=count - 1, base_timestamp=base_timestamp
    )
    return with_records(header, codec, compress(codec, body), -1)


def encoded(timestamp_delta: int, offset_delta: int, *, headers: int = 0, value: bytes = b"") -> bytes:
    """One record without a key; its headers are empty."""
    body = b"\0" + encode_varint(timestamp_delta) + encode_varint(offset_delta) + b"\1"
    body += encode_varint(len(value)) + value + encode_varint(headers) + b"\0\1" * headers
    return encode_varint(len(body)) + body


def begun(data) -> tuple[RecordWork, object]:
    """The work that a batch needs, and what came of it on the event loop."""
    work = prepare_leader_append(memoryview(data), LogConfig.for_topic(), NOW, Origin.CLIENT, trust())
    assert isinstance(work, RecordWork)
    return work, work.run_on_loop()


def stored_with(world: LogWorld, data: bytearray) -> None:
    """Appends as a broker that does not verify headers once did."""
    world.append(memoryview(data), origin=Origin.COORDINATOR)


def bomb(plain_bytes: int, count: int, codec: Codec, max_timestamp: int = NOW) -> bytearray:
    """A batch of which so many bytes come out."""
    header = read_header(batch(timestamp=NOW))._replace(record_count=count, last_offset_delta=count - 1)
    return with_records(header, codec, compress(codec, bytes(plain_bytes)), max_timestamp)
