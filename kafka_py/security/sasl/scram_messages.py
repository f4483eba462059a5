"""The four messages of a SCRAM exchange. Source: RFC 5802, section 7; ScramMessages."""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Mapping
from dataclasses import dataclass, field

TOKEN_EXTENSION = "tokenauth"
"""Extension with the value `true`: the user name is the id of a delegation token (KIP-48)."""
GS2_HEADER = "n,,"
MOST_BYTES = 16_384
"""Of a message. Expressions take up to 0.15 microseconds a character, and before a login anyone may send messages."""

_SAFE = r"[\x01-\x2b\x2d-\x3c\x3e-\x7f]"
_VALUE = r"[\x01-\x2b\x2d-\x7f]+"
_NAME = rf"(?:{_SAFE}|=2C|=3D)+"
_NONCE = r"[\x21-\x2b\x2d-\x7e]+"
_BASE_64 = r"[A-Za-z0-9+/]+={0,2}"
_CLIENT_FIRST = re.compile(
    rf"(?P<gs2>n,(?:a=(?P<authzid>{_NAME}))?,)(?P<bare>(?:m={_VALUE},)?n=(?P<name>{_NAME}),r=(?P<nonce>{_NONCE})"
    rf"(?P<extensions>(?:,[A-Za-z]+={_VALUE})*))"
)
_SERVER_FIRST = re.compile(
    rf"(?:m={_VALUE},)?r=(?P<nonce>{_NONCE}),s=(?P<salt>{_BASE_64}),i=(?P<iterations>[0-9]{{1,10}})"
    rf"(?:,[A-Za-z]+={_VALUE})*"
)
_CLIENT_FINAL = re.compile(
    rf"(?P<unproven>c=(?P<binding>{_BASE_64}),r=(?P<nonce>{_NONCE})(?:,[A-Za-z]+={_VALUE})*),p=(?P<proof>{_BASE_64})"
)
_SERVER_FINAL = re.compile(
    rf"(?:e=(?P<error>{_VALUE})|v=(?P<signature>{_BASE_64}))(?:,[A-Za-z]+={_VALUE})*", re.DOTALL
)


@dataclass(frozen=True, slots=True)
class ClientFirst:
    """bare: the message without its header `gs2`, as received, which the signatures cover."""

    username: str
    nonce: str
    authorization_id: str
    extensions: Mapping[str, str]
    gs2: str
    bare: str

    @property
    def is_token(self) -> bool:
        """Whether the client logs in with a delegation token."""
        return self.extensions.get(TOKEN_EXTENSION, "").lower() == "true"


@dataclass(frozen=True, slots=True)
class ServerFirst:
    nonce: str
    salt: bytes
    iterations: int

    @property
    def text(self) -> str:
        return f"r={self.nonce},s={base64.b64encode(self.salt).decode()},i={self.iterations}"


@dataclass(frozen=True, slots=True)
class ClientFinal:
    """unproven: the message without the proof."""

    binding: bytes
    nonce: str
    proof: bytes = field(repr=False)
    unproven: str = ""


@dataclass(frozen=True, slots=True)
class ServerFinal:
    """Either of the two is None."""

    signature: bytes | None
    error: str | None = None


def client_first_bare(username: str, nonce: str, extensions: Mapping[str, str]) -> str:
    """The client's first message without its header."""
    more = "".join(f",{key}={value}" for key, value in extensions.items())
    return f"n={username.replace('=', '=3D').replace(',', '=2C')},r={nonce}{more}"


def parse_client_first(message: bytes) -> ClientFirst:
    """Raises ValueError, as the other parsers here do."""
    found = _matched(_CLIENT_FIRST, message, "first message of a client")
    return ClientFirst(
        username=_plain_name(found["name"]),
        nonce=found["nonce"],
        authorization_id=_plain_name(found["authzid"] or ""),
        extensions=dict(part.split("=", 1) for part in found["extensions"].split(",") if part),
        gs2=found["gs2"],
        bare=found["bare"],
    )


def parse_server_first(message: bytes) -> ServerFirst:
    found = _matched(_SERVER_FIRST, message, "first message of a server")
    return ServerFirst(found["nonce"], _bytes(found["salt"]), int(found["iterations"]))


def parse_client_final(message: bytes) -> ClientFinal:
    found = _matched(_CLIENT_FINAL, message, "last message of a client")
    return ClientFinal(_bytes(found["binding"]), found["nonce"], _bytes(found["proof"]), found["unproven"])


def parse_server_final(message: bytes) -> ServerFinal:
    found = _matched(_SERVER_FINAL, message, "last message of a server")
    if found["error"] is not None:
        return ServerFinal(None, found["error"])
    return ServerFinal(_bytes(found["signature"]))


def _matched(pattern: re.Pattern[str], message: bytes, what: str) -> re.Match[str]:
    if len(message) > MOST_BYTES:
        raise ValueError(f"{len(message)} bytes are too many for the {what}")
    try:
        found = pattern.fullmatch(message.decode())
    except UnicodeDecodeError:
        found = None
    if found is None:
        raise ValueError(f"not the {what}")
    return found


def _plain_name(text: str) -> str:
    return text.replace("=2C", ",").replace("=3D", "=")


def _bytes(text: str) -> bytes:
    try:
        return base64.b64decode(text, validate=True)
    except binascii.Error:
        raise ValueError("not base64") from None
