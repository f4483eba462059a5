"""A message as the pages show it: decoded fields with their sizes, and how much of them is sent to a browser."""

from __future__ import annotations

from typing import Any, Final, NamedTuple


class _AbsentDocument:
    """The type of NO_DOCUMENT."""

    def __repr__(self) -> str:
        return "NO_DOCUMENT"


NO_DOCUMENT: Final = _AbsentDocument()
"""Of a field that has no structure; None is the document of a JSON null."""

NULL_SIZE = -1
SHOWN_CHARACTERS = 4_096
LEAST_OF_A_HEADER = 16
"""What an empty header counts, so that very many of them are bounded as well."""
EXPORTED_CHARACTERS = 4 * 1024 * 1024


class MessageField(NamedTuple):
    """A key, a value or the value of a header.

    kind: what it was decoded as: null, text, json, hex, avro, msgpack, offsets, group, transaction or masked.
    size: in bytes, as stored; NULL_SIZE for null. document: what JSON and its like decode to. is_cut: the text is not
    whole. problem: why it could not be decoded as asked.
    """

    kind: str
    text: str
    size: int
    document: Any = NO_DOCUMENT
    is_cut: bool = False
    problem: str | None = None

    def cut_to(self, characters: int) -> MessageField:
        """The field with so much of its text, and without its document where that is longer."""
        if len(self.text) <= characters:
            return self
        return self._replace(text=self.text[:characters], document=NO_DOCUMENT, is_cut=True)


NULL_FIELD = MessageField("null", "", NULL_SIZE, None)


class MessageHeader(NamedTuple):
    """A header; names may repeat."""

    name: str
    field: MessageField


class TopicMessage(NamedTuple):
    """One record, decoded. timestamp: ms UTC, -1 where it has none. more_headers: those that were left out."""

    topic: str
    partition: int
    offset: int
    timestamp: int
    timestamp_type: str
    key: MessageField
    value: MessageField
    headers: tuple[MessageHeader, ...] = ()
    more_headers: int = 0

    def cut_to(self, characters: int) -> TopicMessage:
        """The message with so much of its key, of its value, and of its headers together."""
        headers: list[MessageHeader] = []
        left = characters
        for header in self.headers:
            if left <= 0:
                break
            headers.append(MessageHeader(header.name[:left], header.field.cut_to(left)))
            left -= len(header.name) + len(headers[-1].field.text) + LEAST_OF_A_HEADER
        return self._replace(
            key=self.key.cut_to(characters),
            value=self.value.cut_to(characters),
            headers=tuple(headers),
            more_headers=self.more_headers + len(self.headers) - len(headers),
        )

    @property
    def order(self) -> tuple[int, int, int]:
        """Its place among the messages of several partitions: by time."""
        return self.timestamp, self.partition, self.offset

    @property
    def kept_characters(self) -> int:
        """About how much memory it takes."""
        texts = (self.key.text, self.value.text, *(header.field.text for header in self.headers))
        return sum(map(len, texts)) + sum(len(header.name) for header in self.headers)


def printable(text: str) -> str:
    """The text with what no page and no UTF-8 can hold (control characters, half surrogates) written as escapes."""
    if text.isprintable():
        return text
    return "".join(
        character if character.isprintable() or character in "\n\t\r" else _escaped(character) for character in text
    )


def _escaped(character: str) -> str:
    code = ord(character)
    if 0xD800 <= code <= 0xDFFF or code < 0x20 or 0x7F <= code < 0xA0 or code in _DIRECTIONS:
        return f"\\u{code:04x}"
    return character


_DIRECTIONS = {0x200E, 0x200F, 0x061C, *range(0x202A, 0x202F), *range(0x2066, 0x206A)}
"""Characters that change the direction of the text around them, which would show another text than is there."""
