"""What reads text: property files, meta.properties, checkpoints, partition metadata, and the JSON of every znode.

Each promises one error; a checkpoint's is an OSError, for it takes its directory offline.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from random import Random
from typing import Any

from kafka_py.base.errors import KafkaError
from kafka_py.base.properties import parse_properties
from kafka_py.log.loading.meta_properties import InconsistentMetadata, parse_meta_properties
from kafka_py.log.state.checkpoints import CorruptCheckpoint, read_epochs, read_offsets
from kafka_py.log.state.partition_metadata import CorruptPartitionMetadata, read_topic_id
from kafka_py.testing.fakes.files import FakeFiles
from kafka_py.testing.fuzz.cases import Case
from kafka_py.zk.schema import MalformedZNode, ZNode
from kafka_py.zk.znodes import table

_PATH = "/file"
_VALUES: tuple[Any, ...] = (
    0, 1, -1, 2**63, "", "t", "1", "EXTERNAL:SSL", "PLAINTEXT://h:9092", None, True, 1.5,
    [], [0], ["t"], {}, {"0": [0]}, {"a": "b"}, [{"topic": "t", "partition": 0}],
    [{"topic": "t", "partition": 0, "replicas": [0]}], {"f": {"min_version_level": 1, "max_version_level": 2}},
)  # fmt: skip


def text_cases(chance: Random) -> list[Case]:
    checkpoints = [b"0\n0\n", b"0\n2\nt 0 100\ntopic-b 12 0\n", b""]
    meta = [b"#x\nversion=0\nbroker.id=0\ncluster.id=abcdefghijklmnopqrstuv\n", b"version=0\n"]
    ids = [b"version: 0\ntopic_id: 0123456789abcdefghijkA"]
    return [
        *(_znode_case(cls, chance) for cls in table().values()),
        Case("offset checkpoint", checkpoints, _file_reader(read_offsets, (CorruptCheckpoint,))),
        Case("epoch checkpoint", [b"0\n2\n0 0\n4 17\n"], _file_reader(read_epochs, (CorruptCheckpoint,))),
        Case("partition.metadata", ids, _file_reader(read_topic_id, (CorruptPartitionMetadata,))),
        Case("meta.properties", meta, _text_reader(parse_meta_properties, (InconsistentMetadata, KafkaError))),
        Case("properties", [b"a=b\n", b"a\\u0041 = b\\\n  c\n! d\n"], _text_reader(parse_properties, (KafkaError,))),
    ]


def _text_reader(
    parse: Callable[[str, str], object], errors: tuple[type[Exception], ...]
) -> Callable[[bytearray], None]:
    def feed(data: bytearray) -> None:
        try:
            parse(data.decode("utf-8", "replace"), _PATH)
        except errors:
            pass

    return feed


def _file_reader(
    read: Callable[[FakeFiles, str], object], errors: tuple[type[Exception], ...]
) -> Callable[[bytearray], None]:
    def feed(data: bytearray) -> None:
        files = FakeFiles()
        files.open(_PATH, create=True).write(data, 0)
        try:
            read(files, _PATH)
        except errors:
            pass

    return feed


def _znode_case(cls: type[ZNode], chance: Random) -> Case:
    def feed(data: bytearray) -> None:
        try:
            cls.decode(bytes(data))
        except MalformedZNode:
            pass

    return Case(f"{cls.__name__}", list(_znode_seeds(cls, chance)), feed)


def _znode_seeds(cls: type[ZNode], chance: Random) -> Iterable[bytes]:
    """JSON objects with the declared keys and values of any type; some are what is meant."""
    yield from (b"", b"17", b"[]", b"[" * 2000, b'{"a":' * 2000, b"1" * 5000, b'{"version":' + b"1" * 5000 + b"}")
    for _ in range(40):
        row = {"version": chance.choice((0, 1, 2, 3, 4, 5, "1"))}
        row.update({key: chance.choice(_VALUES) for key in cls.FIELDS})
        yield json.dumps(row).encode()
