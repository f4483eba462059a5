"""The SASL mechanism DIGEST-MD5, the client's side, as ZooKeeper's servers offer it.

Pure: tokens in, tokens out. Names and passwords that have Latin-1 characters only are hashed in that encoding, others
in UTF-8. Source: RFC 2831; SaslClientCallbackHandler; DigestLoginModule.
"""

from __future__ import annotations

import hashlib
import hmac
import re
from dataclasses import dataclass, field

from kafka_py.base.chance import Chance

SERVICE = "zookeeper"
HOST = "zk-sasl-md5"
"""ZooKeeper's servers take this name in place of that of their host."""

_DIRECTIVE = re.compile(rb'\s*([A-Za-z-]+)\s*=\s*(?:"((?:[^"\\]|\\.)*)"|([^",\s]*))\s*(?:,|$)')
_COUNT = "00000001"
_QOP = "auth"


class LoginFailed(Exception):
    """The exchange cannot succeed: the text says why, and has no secret."""


@dataclass(frozen=True, slots=True)
class DigestMd5:
    """A name and a password to log in with."""

    username: str
    password: str = field(repr=False)
    chance: Chance = field(repr=False, default_factory=Chance)

    def exchange(self, _host: str = "") -> DigestMd5Exchange:
        """The exchange of one login, which is the same at every host."""
        return DigestMd5Exchange(self.username, self.password, self.chance.new_uuid().hex)


class DigestMd5Exchange:
    """One login: an empty token, the answer to the server's challenge, the check of the server's own proof."""

    def __init__(self, username: str, password: str, client_nonce: str) -> None:
        self._username = username
        self._password = password
        self._client_nonce = client_nonce
        self._expected: str | None = None
        self.is_complete = False

    def first(self) -> bytes:
        """The token that begins the exchange: the mechanism has the server speak first."""
        return b""

    def respond(self, challenge: bytes | None) -> bytes:
        """The next token. Raises LoginFailed."""
        if challenge is None:
            raise LoginFailed("the server has no logins with SASL, or none for this mechanism")
        directives = parse_directives(challenge)
        if self._expected is not None:
            if not hmac.compare_digest(directives.get("rspauth", b""), self._expected.encode()):
                raise LoginFailed("the server has not proved that it knows the password")
            self.is_complete = True
            return b""
        if _QOP.encode() not in directives.get("qop", b"auth").replace(b" ", b"").split(b","):
            raise LoginFailed("the server does not offer a login without encryption (qop=auth)")
        if "nonce" not in directives:
            raise LoginFailed("the server's challenge has no nonce")
        is_utf8 = directives.get("charset", b"").lower() == b"utf-8"
        realm = directives.get("realm", b"").decode("utf-8" if is_utf8 else "latin-1", "replace")
        nonce = directives["nonce"].decode("latin-1")
        response, self._expected = self._proofs(realm, nonce, is_utf8=is_utf8)
        given = {
            "username": _quoted(self._username),
            "realm": _quoted(realm),
            "nonce": _quoted(nonce),
            "nc": _COUNT,
            "cnonce": _quoted(self._client_nonce),
            "digest-uri": _quoted(f"{SERVICE}/{HOST}"),
            "maxbuf": "65536",
            "response": response,
            "qop": _QOP,
        }
        text = ",".join(f"{name}={value}" for name, value in given.items())
        if not is_utf8:
            return text.encode("latin-1", "replace")
        return f"charset=utf-8,{text}".encode()

    def _proofs(self, realm: str, nonce: str, *, is_utf8: bool) -> tuple[str, str]:
        """The client's proof, and the one that is expected of the server."""
        secret = b":".join(_hashed_form(text, is_utf8=is_utf8) for text in (self._username, realm, self._password))
        session = b":".join((_md5(secret), nonce.encode("latin-1"), self._client_nonce.encode()))
        key = _md5(session).hex()

        def proof(method: str) -> str:
            target = _md5(f"{method}:{SERVICE}/{HOST}".encode()).hex()
            rest = ":".join((nonce, _COUNT, self._client_nonce, _QOP, target))
            return _md5(f"{key}:{rest}".encode("latin-1")).hex()

        return proof("AUTHENTICATE"), proof("")


def parse_directives(text: bytes) -> dict[str, bytes]:
    """The name=value pairs of a challenge; of a name that is there twice the first. Raises LoginFailed."""
    found: dict[str, bytes] = {}
    position = 0
    while position < len(text.rstrip()):
        match = _DIRECTIVE.match(text, position)
        if match is None:
            raise LoginFailed("the server's challenge cannot be read")
        value = match[3] if match[2] is None else re.sub(rb"\\(.)", rb"\1", match[2], flags=re.DOTALL)
        found.setdefault(match[1].decode().lower(), value)
        position = match.end()
    return found


def _quoted(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'


def _hashed_form(text: str, *, is_utf8: bool) -> bytes:
    try:
        return text.encode("latin-1")
    except UnicodeEncodeError:
        return text.encode() if is_utf8 else text.encode("latin-1", "replace")


def _md5(data: bytes) -> bytes:
    return hashlib.md5(data, usedforsecurity=False).digest()
