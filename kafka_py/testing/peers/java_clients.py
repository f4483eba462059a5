"""Producing and consuming with Apache's Java clients, of 2.8.2 or the newest, by the programs in tests/compat/java.

One call is one Java process: half a second when its classes are in the cache. Values are bytes, None is null.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from kafka_py.testing.peers.apache import Jars, Result

HeaderList = tuple[tuple[str, bytes | None], ...]


class ToSend(NamedTuple):
    """A record for `produce`. partition None: the partitioner's choice; timestamp None: the clock's."""

    topic: str
    partition: int | None = None
    key: bytes | None = None
    value: bytes | None = None
    headers: HeaderList = ()
    timestamp: int | None = None


class Sent(NamedTuple):
    """Where a record went. timestamp: what the producer was told, its own or the broker's."""

    topic: str
    partition: int
    offset: int
    timestamp: int


class Consumed(NamedTuple):
    """A record as it was read."""

    topic: str
    partition: int
    offset: int
    timestamp_type: str
    timestamp: int
    leader_epoch: int | None
    key: bytes | None
    value: bytes | None
    headers: HeaderList


class JavaFailed(Exception):
    """The program ended with an error; the text is what it wrote."""


def produce(jars: Jars, bootstrap: str, script: Iterable[ToSend | str], **settings: object) -> list[Sent]:
    """Sends records in order and waits for all of them.

    script: records, and the words flush, begin, commit, abort between them.
    settings: of the producer, with _ for dots. Raises JavaFailed.
    """
    lines = [step if isinstance(step, str) else _line(step) for step in script]
    result = jars.run_source("Produce", *_settings(bootstrap, settings), stdin="".join(f"{line}\n" for line in lines))
    rows = (line.split(" ") for line in _lines(result))
    return [Sent(topic, int(partition), int(offset), int(timestamp)) for topic, partition, offset, timestamp in rows]


def consume(jars: Jars, bootstrap: str, partitions: Sequence[str], **settings: object) -> list[Consumed]:
    """All records of `topic:partition`s, or of `topic:partition:timestamp`s from that time on; sorted.

    settings: of the consumer, with _ for dots. Raises JavaFailed.
    """
    result = jars.run_source("Consume", *_settings(bootstrap, settings), *partitions)
    return sorted((_consumed(line) for line in _lines(result)), key=lambda record: record[:3])


def _settings(bootstrap: str, settings: dict[str, object]) -> list[str]:
    named = {"bootstrap.servers": bootstrap, **{name.replace("_", "."): value for name, value in settings.items()}}
    return [f"{name}={value}" for name, value in named.items()]


def _lines(result: Result) -> list[str]:
    if result.exit_code:
        raise JavaFailed(result.stderr)
    return result.lines


def _line(record: ToSend) -> str:
    fields = [
        "record",
        record.topic,
        "-" if record.partition is None else str(record.partition),
        "-" if record.timestamp is None else str(record.timestamp),
        _hex(record.key),
        _hex(record.value),
        *(f"{name}={_hex(content)}" for name, content in record.headers),
    ]
    return "\t".join(fields)


def _consumed(line: str) -> Consumed:
    topic, partition, offset, kind, timestamp, epoch, key, value, *headers = line.split("\t")
    pairs = (header.rpartition("=") for header in headers)
    return Consumed(
        topic,
        int(partition),
        int(offset),
        kind,
        int(timestamp),
        None if epoch == "-" else int(epoch),
        _bytes(key),
        _bytes(value),
        tuple((name, _bytes(content)) for name, _, content in pairs),
    )


def _hex(data: bytes | None) -> str:
    return "-" if data is None else data.hex()


def _bytes(text: str) -> bytes | None:
    return None if text == "-" else bytes.fromhex(text)
