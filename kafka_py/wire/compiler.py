"""(class, version) -> one encode and one decode function, in straight-line Python, made on first use.

Holds the public face: encode, decode, encoder, decoder, and the forms with a version in front that records and the
consumer protocol use. The code itself is written by encoding.py and decoding.py from the declaration (schema.py);
adjacent fields of fixed size become one struct, nested structs stand inlined in their loops. The sources are known to
linecache, so tracebacks show them, and `python -m kafka_py.wire source NAME VERSION` prints them.
"""

from collections.abc import Callable, Generator
from struct import error as struct_error
from struct import pack, unpack_from
from typing import Any, TypeAlias, TypeVar

from kafka_py.base.errors import ErrorCode, KafkaError
from kafka_py.wire.decoding import DecoderSource, Form
from kafka_py.wire.encoding import EncoderSource
from kafka_py.wire.primitives import Buffer, MalformedMessage, SliceList
from kafka_py.wire.schema import schema_of

T = TypeVar("T")
Encoder: TypeAlias = Callable[[Any, bytearray, SliceList], None]
Decoder: TypeAlias = Callable[[Buffer, int], tuple[T, int]]

Steps: TypeAlias = Generator[None, None, tuple[T, int]]
EncoderInTurns: TypeAlias = Callable[[Any, bytearray, SliceList], Generator[None, None, None]]
CountedDecoder: TypeAlias = Callable[[Buffer, int, int], tuple[T, int]]
StepwiseDecoder: TypeAlias = Callable[[Buffer, int, int], Steps[T]]

_encoders: dict[tuple[type, int], Encoder] = {}
_encoders_in_turns: dict[tuple[type, int], EncoderInTurns] = {}
_decoders: dict[tuple[type, int], Decoder[Any]] = {}
_counted_decoders: dict[tuple[type, int], CountedDecoder[Any]] = {}
_stepwise_decoders: dict[tuple[type, int], StepwiseDecoder[Any]] = {}


def encoder(cls: type, version: int) -> Encoder:
    """encode(message, out, slices): appends the body to `out`.

    Record bytes given as FileSlice are not read: `slices` gets (len(out) at their place, slice), and lengths count
    them.
    Raises KafkaError(UNSUPPORTED_VERSION) here for a version that the class lacks, and when called for a field that is
        set, absent from the version and not ignorable; UnencodableMessage for a value that its field cannot carry.
    """
    made = _encoders.get((cls, version))
    if made is None:
        check_version(cls, version)
        made = _encoders[cls, version] = EncoderSource(cls, version).build()
    return made


def encoder_in_turns(cls: type, version: int) -> EncoderInTurns:
    """As encoder(), but a generator that yields now and then; the message must not change meanwhile."""
    made = _encoders_in_turns.get((cls, version))
    if made is None:
        check_version(cls, version)
        made = _encoders_in_turns[cls, version] = EncoderSource(cls, version, in_turns=True).build()
    return made


def decoder(cls: type[T], version: int) -> Decoder[T]:
    """decode(buf, pos) -> (message, position after it). Raises MalformedMessage, naming message and field.

    Records fields are slices of a memoryview over `buf`, writable if `buf` is; all else is copied out.
    """
    made = _decoders.get((cls, version))
    if made is None:
        check_version(cls, version)
        made = _decoders[cls, version] = DecoderSource(cls, version).build()
    return made


def counted_decoder(cls: type[T], version: int) -> CountedDecoder[T]:
    """decode(buf, pos, elements): as decoder(), for bytes and bytearray.

    elements: the most array elements and tagged fields that the message may have; one with more raises MessageTooLarge
        before they are made.
    """
    made = _counted_decoders.get((cls, version))
    if made is None:
        check_version(cls, version)
        made = _counted_decoders[cls, version] = DecoderSource(cls, version, Form.COUNTED).build()
    return made


def stepwise_decoder(cls: type[T], version: int) -> StepwiseDecoder[T]:
    """decode(buf, pos, elements): a generator that yields now and then and returns what counted_decoder() would."""
    made = _stepwise_decoders.get((cls, version))
    if made is None:
        check_version(cls, version)
        made = _stepwise_decoders[cls, version] = DecoderSource(cls, version, Form.STEPWISE).build()
    return made


def encode(msg: object, version: int) -> bytes:
    """The body alone, without header; see encoder(). File slices have no place in it."""
    out = bytearray()
    slices: SliceList = []
    encoder(type(msg), version)(msg, out, slices)
    if slices:
        raise TypeError(f"{type(msg).__name__} holds file slices: encode it with frames.encode_response")
    return bytes(out)


def decode(cls: type[T], version: int, buf: Buffer, pos: int = 0) -> T:
    """The body at `pos`; bytes after it are left alone. See decoder()."""
    return decoder(cls, version)(buf, pos)[0]


def encode_versioned(msg: object, version: int) -> bytes:
    """The body after its version as int16: keys and values of internal topics, the consumer protocol."""
    return pack(">h", version) + encode(msg, version)


def read_version(buf: Buffer) -> int:
    """The int16 that encode_versioned puts first."""
    try:
        (version,) = unpack_from(">h", buf)
    except struct_error:
        raise MalformedMessage("no room for a version") from None
    return int(version)


def decode_versioned(cls: type[T], buf: Buffer, *, newest_known: bool = False) -> tuple[int, T]:
    """(the version in front, the message after it).

    newest_known: a version above all known is read as the newest known one, as the consumer protocol promises that new
        fields come last. Otherwise it raises KafkaError(UNSUPPORTED_VERSION).
    """
    version = read_version(buf)
    known = min(version, schema_of(cls).versions.high) if newest_known else version
    return version, decode(cls, known, buf, 2)


def check_version(cls: type, version: int) -> None:
    """Raises KafkaError(UNSUPPORTED_VERSION) if the class lacks the version."""
    schema = schema_of(cls)
    if version not in schema.versions:
        detail = f"{schema.name} has versions {schema.versions}, not {version}"
        raise KafkaError(ErrorCode.UNSUPPORTED_VERSION, detail)
