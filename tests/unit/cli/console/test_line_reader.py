"""How the console producer reads its input."""

import io

import pytest

from kafka_py.base.errors import ConfigError
from kafka_py.cli.common.command import CommandFailed
from kafka_py.cli.console.line_reader import CLASSIC_NAME, LineReader, lines, reader_named


class Dribble(io.RawIOBase):
    """A stream that gives its data in the pieces it was made of."""

    def __init__(self, *pieces):
        self.pieces = list(pieces)

    def read1(self, _size):
        return self.pieces.pop(0) if self.pieces else b""


def records(data, **properties):
    reader = LineReader()
    reader.configure(io.BytesIO(data), {key.replace("_", "."): value for key, value in properties.items()})
    return list(reader.records())


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        (b"", []),
        (b"\n", [b""]),
        (b"a\nb\n", [b"a", b"b"]),
        (b"a\n\nb", [b"a", b"", b"b"]),
        (b"dos\r\nunix\nold\rmac\n", [b"dos", b"unix", b"old\rmac"]),
        (b"\xff\x00\xfe\nx", [b"\xff\x00\xfe", b"x"]),
        (b"last\r\n", [b"last"]),
        (b"x" * 200_000 + b"\n" + b"y" * 100_000, [b"x" * 200_000, b"y" * 100_000]),
    ],
)
def test_lines_are_bytes_between_line_ends(data, expected):
    assert list(lines(io.BytesIO(data))) == expected
    if len(data) < 100:
        assert list(lines(Dribble(*(data[at : at + 1] for at in range(len(data)))))) == expected


def test_a_line_is_there_before_the_next_read():
    stream = Dribble(b"one\ntw", b"o\n", b"three")
    found = lines(stream)
    assert next(found) == b"one" and len(stream.pieces) == 2
    assert next(found) == b"two" and len(stream.pieces) == 1
    assert list(found) == [b"three"]


def test_a_prompt_comes_before_each_line():
    asked = []
    assert len(list(lines(Dribble(b"one\n", b"two\n"), lambda: asked.append(1)))) == 2
    assert len(asked) == 3


def test_without_key_parsing_the_key_is_null():
    assert records(b"k\tv\n") == [(None, b"k\tv")]


def test_the_first_separator_parts_key_from_value():
    assert records(b"k\tv\tw\n\tv\nk\t\n", parse_key="true") == [(b"k", b"v\tw"), (b"", b"v"), (b"k", b"")]
    assert records(b"k=>v\n", parse_key="TRUE", key_separator="=>") == [(b"k", b"v")]


def test_a_line_without_key_ends_it_after_the_lines_before():
    reader = LineReader()
    reader.configure(io.BytesIO(b"k\tv\nplain\nk\tv\n"), {"parse.key": "true"})
    found = reader.records()
    assert next(found) == (b"k", b"v")
    with pytest.raises(CommandFailed, match=r"^No key found on line 2: plain$"):
        next(found)


def test_a_line_without_key_may_be_taken_as_a_value():
    assert records(b"plain\n", parse_key="true", ignore_error="true") == [(None, b"plain")]


def test_an_empty_separator_is_refused():
    with pytest.raises(CommandFailed, match=r"key\.separator"):
        records(b"", parse_key="true", key_separator="")


def test_readers_by_name():
    assert isinstance(reader_named(None), LineReader) and isinstance(reader_named(CLASSIC_NAME), LineReader)
    assert isinstance(reader_named("kafka_py.cli.console.line_reader.LineReader"), LineReader)
    with pytest.raises(ConfigError, match=r"no\.such\.Reader"):
        reader_named("no.such.Reader")
