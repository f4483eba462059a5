"""Where kafka-console-producer.sh gets its records: the lines of a stream, with or without keys.

A reader of one's own is a class named by --line-reader with the methods of `RecordReader`; it is made without
arguments. Knows nothing of the producer. Source: docs/reference/tools.md, section 12 (reader properties).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import BinaryIO, Protocol, cast

from kafka_py.cli.common.client_properties import is_true
from kafka_py.cli.common.command import CommandFailed

CHUNK_BYTES = 1 << 16
CLASSIC_NAME = "kafka.tools.ConsoleProducer$LineMessageReader"

KeyAndValue = tuple[bytes | None, bytes | None]


class RecordReader(Protocol):
    """What --line-reader may name."""

    def configure(self, stream: BinaryIO, properties: Mapping[str, str]) -> None:
        """Called once, with the stream to read (standard input) and the --property pairs."""
        ...

    def records(self) -> Iterator[KeyAndValue]:
        """Key and value of each record, as soon as it is there; the end of it ends the command."""
        ...

    def close(self) -> None: ...


class LineReader:
    """Lines as records: the bytes between line ends as they are; a last line needs no end.

    before_read: called before every read that may wait, to show a prompt.
    """

    def __init__(self, before_read: Callable[[], object] | None = None) -> None:
        self._before_read = before_read

    def configure(self, stream: BinaryIO, properties: Mapping[str, str]) -> None:
        self._stream = stream
        self._parse_key = is_true(properties, "parse.key")
        self._separator = properties.get("key.separator", "\t").encode()
        self._ignore_error = is_true(properties, "ignore.error")
        if self._parse_key and not self._separator:
            raise CommandFailed("The property key.separator is empty; it must hold what parts a key from its value")

    def records(self) -> Iterator[KeyAndValue]:
        """Raises CommandFailed for a line without key, unless such lines are to be sent without one."""
        found = lines(self._stream, self._before_read)
        if not self._parse_key:
            for line in found:
                yield None, line
            return
        for number, line in enumerate(found, 1):
            key, separator, value = line.partition(self._separator)
            if separator:
                yield key, value
            elif self._ignore_error:
                yield None, line
            else:
                raise CommandFailed(f"No key found on line {number}: {line.decode(errors='replace')}")

    def close(self) -> None:
        """Nothing of our own is open."""


def lines(stream: BinaryIO, before_read: Callable[[], object] | None = None) -> Iterator[bytes]:
    """The lines of a stream without their ends (LF or CR LF), each as soon as it has come."""
    read = cast(Callable[[int], bytes], getattr(stream, "read1", stream.read))
    begun: list[bytes] = []
    while True:
        if before_read is not None and not begun:
            before_read()
        chunk = read(CHUNK_BYTES)
        if not chunk:
            break
        head, *rest = chunk.split(b"\n")
        begun.append(head)
        if not rest:
            continue
        whole = [b"".join(begun), *rest[:-1]]
        begun = [rest[-1]] if rest[-1] else []
        if b"\r" in chunk or whole[0].endswith(b"\r"):
            whole = [line.removesuffix(b"\r") for line in whole]
        yield from whole
    if begun:
        yield b"".join(begun)


def reader_named(name: str | None, before_read: Callable[[], object] | None = None) -> RecordReader:
    """The built-in reader for no name or its classic one, else an instance of the class `package.module.Class`.

    Raises ConfigError for a class that cannot be found.
    """
    if name is None or name == CLASSIC_NAME:
        return LineReader(before_read)
    from kafka_py.base.plugins import load_class

    return cast(RecordReader, load_class("line-reader", name)())
