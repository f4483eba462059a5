"""Whole frames: a size, a header, a body. The bytes on a socket, without the socket.

Layout: int32 size of all that follows; header; body. Request header: api_key int16, api_version int16, correlation_id
int32, from v1 client_id string (int16 length, also in flexible versions), from v2 tagged fields. Response header:
correlation_id int32, from v1 tagged fields. Which version belongs to which request is in apis.py; messages/headers.py
has the declarations, this file the same by hand, for it runs for every request.
"""

from collections.abc import Generator
from struct import Struct, pack, pack_into, unpack_from
from struct import error as struct_error
from typing import NamedTuple, TypeVar

from kafka_py.base.errors import ErrorCode
from kafka_py.base.slices import FileSlice
from kafka_py.wire.apis import APIS, ApiKey, api_of
from kafka_py.wire.compiler import (
    Encoder,
    decoder,
    encoder,
    encoder_in_turns,
    stepwise_decoder,
)
from kafka_py.wire.primitives import (
    Buffer,
    MalformedMessage,
    SliceList,
    skip_tagged_fields,
    write_string,
)
from kafka_py.wire.schema import schema_of

T = TypeVar("T")

_REQUEST_HEADER = Struct(">hhih").unpack_from  # with the length of the client id, or of v0's body the first bytes
_RESPONSE_START = Struct(">ii").pack_into  # size, correlation id
_new = tuple.__new__

LARGE_FRAME_BYTES = 64 * 1024
"""Frames from this size on may hold so many elements that they are better decoded in turns with other work."""


class RequestHeader(NamedTuple):
    """What a request says of itself, besides its body."""

    api_key: ApiKey
    api_version: int
    correlation_id: int
    client_id: str | None


def read_request_header(frame: Buffer) -> tuple[RequestHeader, int]:
    """(header, where the body begins) of a frame without its size.

    The version need not be one that the API has: an ApiVersions request of any version gets an answer, so whoever
    dispatches asks Api.supports. Raises MalformedMessage for an API that is not served; the connection is then closed.
    """
    try:
        key, version, correlation_id, length = _REQUEST_HEADER(frame)
    except struct_error:
        raise MalformedMessage(f"request header cut off after {len(frame)} bytes") from None
    api = APIS.get(key)
    if api is None:
        raise MalformedMessage(f"no API has key {key}")
    is_flexible = version >= api.first_flexible
    if not is_flexible and not api.plain_headers[version != 0]:
        return RequestHeader(api.key, version, correlation_id, None), 8
    pos = 10
    client_id = None
    try:
        if length != -1:
            pos += length
            if length < 0 or pos > len(frame):
                raise MalformedMessage(f"client id of {length} bytes, {len(frame) - 10} left")
            client_id = str(frame[10:pos], "utf-8", "replace")  # as Java reads it
        if is_flexible:
            pos = skip_tagged_fields(frame, pos)
    except MalformedMessage as error:
        raise MalformedMessage(f"{api.name} v{version}, request header: {error}") from None
    return _new(RequestHeader, (api.key, version, correlation_id, client_id)), pos


def encode_request(msg: object, version: int, correlation_id: int, client_id: str | None) -> bytes:
    """A request ready for the socket, size included. Records in it are copied."""
    encode = encoder(type(msg), version)
    out = _request_start(type(msg), version, correlation_id, client_id)
    slices: SliceList = []
    encode(msg, out, slices)
    _end_request(type(msg), out, slices)
    return bytes(out)


def encode_request_in_turns(
    msg: object, version: int, correlation_id: int, client_id: str | None
) -> Generator[None, None, bytearray]:
    """As encode_request, but a generator that stops after every few elements."""
    encode = encoder_in_turns(type(msg), version)
    out = _request_start(type(msg), version, correlation_id, client_id)
    slices: SliceList = []
    yield from encode(msg, out, slices)
    _end_request(type(msg), out, slices)
    return out


def _request_start(cls: type, version: int, correlation_id: int, client_id: str | None) -> bytearray:
    """Room for the size, and the header."""
    key = schema_of(cls).api
    assert key is not None, f"{cls.__name__} is not a request"
    header_version = api_of(key).request_header_version(version)
    out = bytearray(pack(">ihhi", 0, key, version, correlation_id))
    if header_version:
        write_string(out, client_id)
        if header_version == 2:
            out.append(0)
    return out


def _end_request(cls: type, out: bytearray, slices: SliceList) -> None:
    """Writes the size."""
    if slices:
        raise TypeError(f"{cls.__name__}: a request cannot hold file slices")
    pack_into(">i", out, 0, len(out) - 4)


def put_correlation_id(frame: bytearray, correlation_id: int) -> None:
    """Another correlation id for an encoded request."""
    pack_into(">i", frame, 8, correlation_id)


_responses: dict[tuple[type, int], tuple[Encoder, bytes]] = {}
"""Class and version -> the encoder of its body, and the bytes before it."""


def encode_response(msg: object, version: int, correlation_id: int) -> list[bytes | FileSlice]:
    """A response ready for the socket, size included, in the order to send.

    One `bytes` if there are no file slices; otherwise bytes and slices in turn.
    """
    cls = type(msg)
    encode, start = _responses.get((cls, version)) or _response_form(cls, version)
    out = bytearray(start)
    slices: SliceList = []
    encode(msg, out, slices)
    if not slices:
        _RESPONSE_START(out, 0, len(out) - 4, correlation_id)
        return [bytes(out)]
    return _with_slices(out, slices, correlation_id)


def encode_response_in_turns(
    msg: object, version: int, correlation_id: int
) -> Generator[None, None, list[bytes | FileSlice]]:
    """As encode_response, but a generator that stops after every few elements."""
    encode = encoder_in_turns(type(msg), version)
    out = bytearray(_response_start(type(msg), version))
    slices: SliceList = []
    yield from encode(msg, out, slices)
    if not slices:
        _RESPONSE_START(out, 0, len(out) - 4, correlation_id)
        return [bytes(out)]
    return _with_slices(out, slices, correlation_id)


def _with_slices(out: bytearray, slices: SliceList, correlation_id: int) -> list[bytes | FileSlice]:
    """The bytes and slices of a response in turn, its size and correlation id written."""
    end = len(out)
    _RESPONSE_START(out, 0, end - 4 + sum([piece.size for _, piece in slices]), correlation_id)
    parts: list[bytes | FileSlice] = []
    view = memoryview(out)
    done = 0
    for place, piece in slices:
        if place > done:
            parts.append(bytes(view[done:place]))
            done = place
        parts.append(piece)
    if done < end:
        parts.append(bytes(view[done:]))
    return parts


def _response_form(cls: type, version: int) -> tuple[Encoder, bytes]:
    """Its encoder, and the bytes before its body."""
    form = encoder(cls, version), _response_start(cls, version)
    _responses[cls, version] = form
    return form


def _response_start(cls: type, version: int) -> bytes:
    """Room for size and correlation id, with the empty tagged fields of a flexible header."""
    key = schema_of(cls).api
    assert key is not None, f"{cls.__name__} is not a response"
    return bytes(8 + api_of(key).response_header_version(version))


def read_response_header(cls: type, version: int, payload: Buffer) -> tuple[int, int]:
    """(correlation id, where the body begins) of a response frame without its size."""
    key = schema_of(cls).api
    assert key is not None, f"{cls.__name__} is not a response"
    try:
        (correlation_id,) = unpack_from(">i", payload)
    except struct_error:
        raise MalformedMessage(f"response header cut off after {len(payload)} bytes") from None
    pos = 4
    if api_of(key).response_header_version(version):
        pos = skip_tagged_fields(payload, pos)
    return correlation_id, pos


def decode_response(cls: type[T], version: int, payload: Buffer) -> tuple[int, T]:
    """(correlation id, message) of a response frame without its size.

    version: of the request that it answers. A broker that does not know an ApiVersions version answers with v0, which
        is recognised by its error code (KIP-511).
    """
    correlation_id, pos = read_response_header(cls, version, payload)
    if version and schema_of(cls).api is ApiKey.API_VERSIONS and payload[pos : pos + 2] == _UNSUPPORTED_VERSION:
        version = 0
    return correlation_id, decoder(cls, version)(payload, pos)[0]


def decode_response_in_turns(cls: type[T], version: int, payload: Buffer) -> Generator[None, None, tuple[int, T]]:
    """As decode_response, but a generator that stops after every few elements; not for ApiVersions."""
    correlation_id, pos = read_response_header(cls, version, payload)
    message, _ = yield from stepwise_decoder(cls, version)(payload, pos, len(payload))
    return correlation_id, message


def read_correlation_id(payload: Buffer) -> int:
    """Which request a response frame answers, before its class is known."""
    try:
        (correlation_id,) = unpack_from(">i", payload)
    except struct_error:
        raise MalformedMessage(f"response header cut off after {len(payload)} bytes") from None
    return int(correlation_id)


def split_frames(received: bytearray, max_size: int = 0x7FFFFFFF) -> list[bytearray]:
    """Takes whole frames off the front of `received` and returns them without their sizes, each in its own memory.

    Raises MalformedMessage for a size that is negative or above `max_size`; nothing is kept for it beforehand.
    """
    frames = []
    pos, end = 0, len(received)
    while end - pos >= 4:
        (size,) = unpack_from(">i", received, pos)
        if not 0 <= size <= max_size:
            raise MalformedMessage(f"frame size {size}, allowed are 0 to {max_size}")
        if end - pos - 4 < size:
            break
        frames.append(received[pos + 4 : pos + 4 + size])
        pos += 4 + size
    if pos:
        del received[:pos]
    return frames


_UNSUPPORTED_VERSION = pack(">h", ErrorCode.UNSUPPORTED_VERSION)
