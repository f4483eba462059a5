"""Scripts before a login, and of logins that fail somewhere in the middle.

Before: many ApiVersions requests that a listener with logins answers and stays with, of versions that it lacks or with
invalid names, then something that ends the connection; and TLS handshakes with bytes changed. During: the exchanges of
each mechanism, up to a token or request that they cannot take, also in the renewal of a session (KIP-368).
"""

from __future__ import annotations

import base64
import json
import ssl
import struct
from random import Random

from benchmarks.security.failed_logins import PASSWORD, USER
from benchmarks.security.fuzzing.scripts import Frame, Script
from kafka_py.testing.fuzz.broker_cases import random_requests
from kafka_py.testing.fuzz.mutations import mutate
from kafka_py.wire.apis import APIS, ApiKey
from kafka_py.wire.frames import encode_request
from kafka_py.wire.messages.api_versions import ApiVersionsRequest
from kafka_py.wire.messages.sasl_authenticate import SaslAuthenticateRequest
from kafka_py.wire.messages.sasl_handshake import SaslHandshakeRequest

MECHANISMS = ("PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512", "OAUTHBEARER")
CLIENT = "fuzz-client"
MOST_ANSWERED = 40
"""ApiVersions requests of one connection."""
TLS_SHARE = 0.01
_CLIENT_ID = range(14, 14 + len(CLIENT))
"""Where a client id is in a request, counted with the size."""
_AUTHENTICATE_ENDS = (0, 1)
"""Versions of SaslAuthenticate whose responses have the error code right behind the correlation id."""
_OTHER_FIRST_BYTES = (
    b"GET / HTTP/1.1\r\nHost: broker\r\n\r\n", b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03", bytes(64),
)  # fmt: skip


def before_scripts(chance: Random, count: int) -> list[Script]:
    """Connections that never log in; the first share of them is for a listener with TLS."""
    requests = random_requests(chance, 3000)
    of_tls = max(int(count * TLS_SHARE), 1)
    return [
        *(_handshake_script(chance) for _ in range(of_tls)),
        *(_refused_script(chance, requests) for _ in range(count - of_tls)),
    ]


def during_scripts(chance: Random, count: int) -> list[Script]:
    """Logins that fail, and renewals that fail after a good login."""
    requests = random_requests(chance, 1000)
    return [(_login_script, _renewal_script)[chance.random() < 0.4](chance, requests) for _ in range(count)]


# ---- before


def _refused_script(chance: Random, requests: list[bytes]) -> Script:
    frames = [_answered_versions(chance) for _ in range(chance.randint(MOST_ANSWERED // 2, MOST_ANSWERED))]
    if chance.random() < 0.3:
        frames.append(_versions(chance.randint(0, 2)))
    return Script([*frames, _refused_frame(chance, requests)])


def _answered_versions(chance: Random) -> Frame:
    """An ApiVersions request after which a client may still begin its login."""
    if chance.random() < 0.3:
        names = ApiVersionsRequest(client_software_name="?" + "x" * chance.randint(0, 60), client_software_version="1")
        data = bytes(encode_request(names, 3, 0, CLIENT))
        return Frame(data, len(data), [*_CLIENT_ID, *range(17 + len(CLIENT), len(data) - 4)])
    version = chance.choice((4, 5, 7, 100, 32767, chance.randint(4, 32767), -1, -32768))
    made = struct.pack(">hhih", ApiKey.API_VERSIONS, version, 0, len(CLIENT)) + CLIENT.encode()
    made += (b"\0" if version > 0 else b"") + chance.randbytes(chance.choice((0, 0, 5, 20, 200, 1000)))
    data = len(made).to_bytes(4, "big") + made
    rest = range(15 + len(CLIENT), len(data))
    return Frame(data, min(15 + len(CLIENT), len(data)), [*_CLIENT_ID, *rest])


def _versions(version: int) -> Frame:
    data = bytes(encode_request(ApiVersionsRequest(), version, 0, CLIENT))
    return Frame(data, len(data), _CLIENT_ID)


def _refused_frame(chance: Random, requests: list[bytes]) -> Frame:
    """Something that is no part of a login."""
    kind = chance.randrange(6)
    if kind == 0:
        return _raw(chance.choice(_OTHER_FIRST_BYTES) + chance.randbytes(chance.randint(0, 100)))
    made = bytes(mutate(chance.choice(requests), chance))
    size = len(made)
    if kind == 1:
        made = chance.randbytes(chance.randint(0, 300))
        size = len(made)
    elif kind == 2:
        size = chance.choice((-1, -(1 << 31), 0, 1, size - 1, size + 1, 524_288, 524_289, 1 << 27, (1 << 31) - 1))
    elif kind == 3:
        name = chance.choice(("PLAIN", "GSSAPI", "", "x" * 200, "SCRAM-SHA-1"))
        handshake = bytes(encode_request(SaslHandshakeRequest(mechanism=name), chance.randrange(2), 0, CLIENT))[4:]
        made = bytes(mutate(handshake, chance))
        size = len(made)
    return _raw(struct.pack(">i", max(min(size, (1 << 31) - 1), -(1 << 31))) + made)


def _raw(data: bytes) -> Frame:
    """Bytes as they are, of which those behind the first eight may be changed."""
    return Frame(data, min(8, len(data)), range(12, len(data)), is_numbered=False)


def _handshake_script(chance: Random) -> Script:
    """A TLS client's first record, then one that belongs nowhere."""
    outgoing = ssl.MemoryBIO()
    client = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    client.check_hostname, client.verify_mode = False, ssl.CERT_NONE
    try:
        client.wrap_bio(ssl.MemoryBIO(), outgoing).do_handshake()
    except ssl.SSLWantReadError:
        pass
    hello = outgoing.read()
    if chance.random() < 0.7:
        hello = bytes(mutate(hello, chance))
    more = struct.pack(">BHH", chance.randint(20, 23), 0x0303, 50) + chance.randbytes(50)
    return Script(
        [Frame(hello, 11, range(11, min(43, len(hello))), is_numbered=False), Frame(more, 5, is_numbered=False)],
        is_tls=True,
    )


# ---- during


def _login_script(chance: Random, requests: list[bytes]) -> Script:
    """A handshake, the first token of two where the mechanism has two, and something that ends it."""
    outside = [_answered_versions(chance)] if chance.random() < 0.5 else []
    mechanism = chance.choice(MECHANISMS)
    in_requests = chance.random() < 0.8
    frames = [*outside, _handshake(mechanism, in_requests=in_requests)]
    first = _first_token(mechanism, chance)
    if mechanism != "PLAIN":
        token, places = first
        frames.append(_token(token, places, chance, in_requests=in_requests))
        first = _second_token(mechanism, chance), ()
    frames.append(_last_token(bytes(mutate(first[0], chance)), chance, requests, in_requests=in_requests))
    return Script(frames, outside=len(outside))


def _renewal_script(chance: Random, requests: list[bytes]) -> Script:
    """A good login, and at once a second one that fails. Only the client ids of the first one change."""
    good = f"\0{USER}\0{PASSWORD}".encode()
    mechanism = "PLAIN" if chance.random() < 0.8 else chance.choice(MECHANISMS)
    frames = [
        _handshake("PLAIN", in_requests=True), _token(good, (), chance, in_requests=True),
        _handshake(mechanism, in_requests=True),
        _last_token(bytes(mutate(good, chance)), chance, requests, in_requests=True),
    ]  # fmt: skip
    return Script(frames)


def _handshake(mechanism: str, *, in_requests: bool) -> Frame:
    data = bytes(encode_request(SaslHandshakeRequest(mechanism=mechanism), int(in_requests), 0, CLIENT))
    return Frame(data, len(data), _CLIENT_ID)


def _token(token: bytes, places: range | tuple[()], chance: Random, *, in_requests: bool) -> Frame:
    """places: of the token, that may be changed."""
    if not in_requests:
        return Frame(len(token).to_bytes(4, "big") + token, len(token) + 4, [4 + place for place in places], False)
    request = SaslAuthenticateRequest(auth_bytes=token)
    data = bytes(encode_request(request, chance.choice(_AUTHENTICATE_ENDS), 0, CLIENT))
    begins = data.index(token)
    return Frame(data, len(data), [*_CLIENT_ID, *(begins + place for place in places)])


def _last_token(token: bytes, chance: Random, requests: list[bytes], *, in_requests: bool) -> Frame:
    """A changed token, in a request that may be changed as well, or another request, or invalid data."""
    kind = chance.randrange(8)
    if kind == 0:
        return _raw(_sized(chance.choice(requests)))
    if kind == 1:
        return _raw(_sized(chance.randbytes(chance.randint(0, 200))))
    if not in_requests:
        return _raw(_sized(token))
    request = SaslAuthenticateRequest(auth_bytes=token)
    made = encode_request(request, chance.randint(0, APIS[ApiKey.SASL_AUTHENTICATE].max_version), 0, CLIENT)[4:]
    return _raw(_sized(mutate(bytes(made), chance) if kind < 4 else bytes(made)))


def _sized(data: bytes | bytearray) -> bytes:
    return len(data).to_bytes(4, "big") + data


def _first_token(mechanism: str, chance: Random) -> tuple[bytes, range | tuple[()]]:
    """A good first token, and where it may be changed to be still good, or refused with a challenge."""
    if mechanism == "OAUTHBEARER":
        claims = {"sub": USER, "exp": chance.choice((1, 1 << 50)), "x": chance.random()}
        parts = [base64.b64encode(json.dumps(each).encode()).decode() for each in ({"alg": "none"}, claims)]
        bearer = ".".join(part.rstrip("=") for part in parts)
        return f"n,,\x01auth=Bearer {bearer}.{'' if claims['exp'] == 1 else 'x'}\x01\x01".encode(), ()
    if mechanism == "PLAIN":
        return f"\0{USER}\0{PASSWORD}".encode(), ()
    token = f"n,,n={USER},r={chance.getrandbits(128):032x}".encode()
    return token, ()


def _second_token(mechanism: str, chance: Random) -> bytes:
    if mechanism == "OAUTHBEARER":
        return b"\x01"
    proof = base64.b64encode(chance.randbytes(chance.choice((32, 64)))).decode()
    return f"c=biws,r={chance.getrandbits(256):064x},p={proof}".encode()
