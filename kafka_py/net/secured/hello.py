"""Which bytes of a client in a TLS handshake make short work, by the look of them.

What a server computes for a first message depends on the group that the client chose: a shared secret takes a tenth of
a millisecond on the usual curves, and 15 ms with the largest finite field group. So the key shares in the message are
read here. A server that asks for another group gets a second ClientHello, and a client may send records before it that
only look encrypted, which are skipped as early data: all records are looked at. Pure; malformed bytes are no error,
they only are not short. Source: RFC 8446, sections 4.1.2, 4.2.8, 4.2.10 and 5.1; RFC 7919.
"""

from __future__ import annotations

import enum
from collections.abc import Iterator

LONGEST_BYTES = 4096
"""Reading more would itself take time."""
MOST_PARTS = 64
"""Extensions and key shares that are looked at, for the same reason; clients send about 20."""

_HANDSHAKE, _APPLICATION_DATA = 22, 23
_CHANGE_CIPHER_SPEC = b"\x14\x03\x03\x00\x01\x01"
"""Sent for the sake of old proxies, and without a meaning in TLS 1.3 (appendix D.4)."""
_CLIENT_HELLO = 1
_SUPPORTED_VERSIONS, _KEY_SHARE = 43, 51
_TLS13 = 0x0304
_SHORT_GROUPS = frozenset({0x0017, 0x001D, 0x11EC})
"""secp256r1, x25519, X25519MLKEM768."""


class Flight(enum.Enum):
    """What a client has sent."""

    SHORT_HELLO = "a whole ClientHello of TLS 1.3, all of whose key shares are cheap to answer"
    ENCRYPTED = "whole records as they follow the server's messages: certificate, if it was asked for, and Finished"
    OTHER = "anything else"


def flight(data: bytes) -> Flight:
    """data: what has arrived since the last step of the handshake, which had consumed all before it."""
    at = len(_CHANGE_CIPHER_SPEC) if data.startswith(_CHANGE_CIPHER_SPEC) else 0
    kind = data[at] if at < len(data) else 0
    if len(data) > LONGEST_BYTES:
        return Flight.OTHER
    if kind == _APPLICATION_DATA:
        return Flight.ENCRYPTED if _is_whole_application_data(data, at) else Flight.OTHER
    if kind != _HANDSHAKE:
        return Flight.OTHER
    message = data[at + 5 :]
    is_whole = len(message) == int.from_bytes(data[at + 3 : at + 5]) >= 4 and message[0] == _CLIENT_HELLO
    if not is_whole or int.from_bytes(message[1:4]) != len(message) - 4:
        return Flight.OTHER
    try:
        groups = list(_key_share_groups(message[4:]))
    except IndexError:
        return Flight.OTHER
    return Flight.SHORT_HELLO if groups and _SHORT_GROUPS.issuperset(groups) else Flight.OTHER


def _is_whole_application_data(data: bytes, at: int) -> bool:
    """Whether nothing but whole records of application data is there from `at` on."""
    while at < len(data):
        if data[at] != _APPLICATION_DATA:
            return False
        at += 5 + int.from_bytes(data[at + 3 : at + 5])
    return at == len(data)


def _key_share_groups(hello: bytes) -> Iterator[int]:
    """The groups of all shares. Raises IndexError where the message is cut off or has too many parts.

    Also where TLS 1.3 is not offered: the server would take a group that the client only names, whatever shares it has.
    """
    at = 34  # version and random
    for size_bytes in (1, 2, 1):  # session id, cipher suites, compression methods
        at = _end(hello, at, size_bytes)
    end = _end(hello, at, 2)
    at += 2
    parts = 0
    offers_tls13 = False
    while at < end:
        parts = _counted(parts)
        kind, start = _number(hello, at), at + 4
        at = _end(hello, at + 2, 2)
        if kind == _KEY_SHARE:
            share, last = start + 2, _end(hello, start, 2)
            while share < last:
                parts = _counted(parts)
                yield _number(hello, share)
                share = _end(hello, share + 2, 2)
        elif kind == _SUPPORTED_VERSIONS:
            last = _end(hello, start, 1)
            for version in range(start + 1, last, 2):
                parts = _counted(parts)
                offers_tls13 = offers_tls13 or _number(hello, version) == _TLS13
    if not offers_tls13:
        raise IndexError


def _counted(parts: int) -> int:
    """One part more. Raises IndexError beyond the most that are looked at."""
    if parts >= MOST_PARTS:
        raise IndexError
    return parts + 1


def _number(data: bytes, at: int) -> int:
    return data[at] << 8 | data[at + 1]


def _end(data: bytes, at: int, size_bytes: int) -> int:
    """Where the vector at `at` ends, whose size has so many bytes. Raises IndexError where it is not all there."""
    size = data[at] if size_bytes == 1 else _number(data, at)
    end = at + size_bytes + size
    if end > len(data):
        raise IndexError
    return end
