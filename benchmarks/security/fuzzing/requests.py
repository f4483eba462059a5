"""Scripts of a user who has logged in: requests of every API in every version, with values and bytes at random.

Requests that can be decoded follow each other over one connection; one that cannot, or whose size is wrong, is the last
of its script. Those that change the cluster's metadata in ZooKeeper are rarer than the others.
"""

from __future__ import annotations

import struct
from random import Random

from benchmarks.hostile import flood
from benchmarks.security.fuzzing.good_client import METADATA_VERSION, PRODUCE_VERSION, record
from benchmarks.security.fuzzing.scripts import Frame, Script
from kafka_py.records.builder import BatchBuilder
from kafka_py.records.crc32c import crc32c
from kafka_py.testing.fuzz.broker_cases import random_requests
from kafka_py.testing.fuzz.mutations import mutate
from kafka_py.wire.apis import APIS, ApiKey
from kafka_py.wire.compiler import decoder
from kafka_py.wire.frames import encode_request, read_request_header
from kafka_py.wire.messages.api_versions import ApiVersionsRequest
from kafka_py.wire.messages.metadata import MetadataRequest
from kafka_py.wire.primitives import MalformedMessage

FRAMES = 60
"""Of one script, before the last one."""
CHANGED = 1
"""So many of them get another byte anywhere, on average."""
MUTATED = 0.4
ENDING = 0.2
"""The share of scripts whose last frame cannot be decoded, or has a wrong size."""
RARE = frozenset((
    ApiKey.CREATE_TOPICS, ApiKey.DELETE_TOPICS, ApiKey.CREATE_PARTITIONS, ApiKey.ALTER_CONFIGS,
    ApiKey.INCREMENTAL_ALTER_CONFIGS, ApiKey.ALTER_REPLICA_LOG_DIRS, ApiKey.JOIN_GROUP, ApiKey.SYNC_GROUP,
))  # fmt: skip
"""They wait for ZooKeeper, disks or other members."""
RARE_SHARE = 0.003
FLOODED = (
    ApiKey.METADATA, ApiKey.FETCH, ApiKey.LIST_OFFSETS, ApiKey.OFFSET_FETCH, ApiKey.DESCRIBE_CONFIGS,
    ApiKey.ADD_PARTITIONS_TO_TXN, ApiKey.OFFSET_COMMIT, ApiKey.DESCRIBE_GROUPS,
)  # fmt: skip
FLOOD_ELEMENTS = 3000
_LAST = bytes(encode_request(ApiVersionsRequest(), 0, 0, "fuzz"))
_CRC = struct.Struct(">I").pack_into


def request_scripts(chance: Random, count: int) -> list[Script]:
    """So many scripts, each with a valid ApiVersions request as its last frame or with one that ends the connection."""
    often, rare, broken = _pools(chance, count * FRAMES)
    scripts = []
    for number in range(count):
        frames = [chance.choice(rare if rare and chance.random() < RARE_SHARE else often) for _ in range(FRAMES)]
        changed = chance.randint(0, 2 * CHANGED)
        if number % 250 == 249:
            data = flood(FLOODED[number // 250 % len(FLOODED)], FLOOD_ELEMENTS)
            frames[chance.randrange(FRAMES)] = Frame(data, len(data))
        if chance.random() < ENDING:
            scripts.append(Script([*frames, _ending(chance, broken)], changed=changed))
        else:
            scripts.append(Script([*frames, Frame(_LAST, len(_LAST))], ends=False, changed=changed))
    return scripts


def valid_scripts(chance: Random, count: int) -> list[Script]:
    """What a client sends that has nothing wrong with it: one record and a question for metadata, in turn."""
    topic = "fuzz-a"
    frames = []
    for number in range(FRAMES):
        request = record(topic, chance.randrange(2), number) if number % 2 else MetadataRequest(topics=[])
        made = bytes(encode_request(request, PRODUCE_VERSION if number % 2 else METADATA_VERSION, 0, "valid"))
        frames.append(Frame(made, len(made)))
    return [Script(frames, ends=False)] * count


def _pools(chance: Random, count: int) -> tuple[list[Frame], list[Frame], list[bytes]]:
    """(usual requests, rare ones, those that cannot be decoded, without their sizes)."""
    batches = damaged_batches(chance, 2000)
    often: list[Frame] = []
    rare: list[Frame] = []
    broken: list[bytes] = []
    for request in random_requests(chance, count, {"records": lambda: chance.choice(batches)}):
        _, body = read_request_header(request)
        made = request
        if chance.random() < MUTATED:
            made = request[:body] + mutate(request[body:], chance)
        if not is_decodable(made):
            broken.append(bytes(made))
            continue
        pool = rare if int.from_bytes(made[:2], "big") in RARE else often
        pool.append(Frame(len(made).to_bytes(4, "big") + made, body + 4, places(made, body, chance)))
    return often, rare, broken


def is_decodable(request: bytes) -> bool:
    """Whether a broker that has logged its client in goes on after it."""
    try:
        header, pos = read_request_header(request)
        api = APIS[header.api_key]
        if header.api_version > api.max_version:
            return False
        decoder(api.request, header.api_version)(bytearray(request), pos)
    except MalformedMessage:
        return False
    return True


def places(request: bytes, body: int, chance: Random) -> list[int]:
    """Up to three places of the body, counted with the size, where another byte leaves the request decodable."""
    found = []
    for _ in range(3 if len(request) > body else 0):
        place = chance.randrange(body, len(request))
        changed = bytearray(request)
        changed[place] = chance.randrange(128)
        if is_decodable(bytes(changed)):
            found.append(place + 4)
    return found


def _ending(chance: Random, broken: list[bytes]) -> Frame:
    """A last frame that cannot be decoded; some have another size, or bytes changed in the header."""
    made = chance.choice(broken) if broken else chance.randbytes(40)
    kind = chance.randrange(5)
    if kind == 0:
        made = bytes(mutate(made, chance))
    size = len(made)
    if kind == 1:
        size = chance.choice((-1, -(1 << 31), 0, 1, 7, size - 1, size + 1, size + 1000, 1 << 27, (1 << 31) - 1))
    return Frame(struct.pack(">i", size) + made, min(len(made), 14), is_numbered=False)


def damaged_batches(chance: Random, count: int) -> list[bytes]:
    """Small batches with bytes changed; every other one has a checksum that is right nevertheless."""
    batches = []
    for number in range(count):
        made = BatchBuilder()
        for _ in range(chance.randint(1, 3)):
            made.append(1000, b"k", chance.randbytes(chance.randint(0, 40)))
        data = bytearray(made.build())
        if number % 4:
            data = mutate(bytes(data), chance)
        if number % 2 and len(data) > 21:
            _CRC(data, 17, crc32c(bytes(data[21:])))
        batches.append(bytes(data))
    return batches


