"""SCRAM credentials: derived from a password, and as ZooKeeper holds them
(`salt=...,stored_key=...,server_key=...,iterations=...`).

A credential checks a password, which cannot be found from it. Source: RFC 5802; ScramFormatter, ScramCredentialUtils;
docs/reference/zookeeper.md, section 14.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
import re
from typing import NamedTuple

from kafka_py.base.chance import Chance
from kafka_py.base.options import MAX_INT
from kafka_py.security.sasl.mechanisms import SCRAM_SHA_256, SCRAM_SHA_512

LEAST_ITERATIONS = 4096
MOST_ITERATIONS = 16_384
"""Of credentials that AlterUserScramCredentials sets."""
DIGESTS = {SCRAM_SHA_256: "sha256", SCRAM_SHA_512: "sha512"}
"""The mechanisms, with the digest each is built on."""
MECHANISM_IDS = {SCRAM_SHA_256: 1, SCRAM_SHA_512: 2}
"""The numbers of the protocol (KIP-554)."""

_NONCE_BITS = 130
_BASE_36 = "0123456789abcdefghijklmnopqrstuvwxyz"
_FIELD = re.compile(r"(\w+)=(.*)", re.DOTALL)
_FIELDS = ("salt", "stored_key", "server_key", "iterations")


class ScramCredential(NamedTuple):
    """What a broker needs to check a password."""

    salt: bytes
    stored_key: bytes
    server_key: bytes
    iterations: int

    def text(self) -> str:
        """As stored in ZooKeeper."""
        salt, stored_key, server_key = (base64.b64encode(each).decode() for each in self[:3])
        return f"salt={salt},stored_key={stored_key},server_key={server_key},iterations={self.iterations}"

    def __repr__(self) -> str:
        return f"<ScramCredential of {self.iterations} iterations>"


def parse_credential(text: str) -> ScramCredential:
    """The credential of a stored text. Raises ValueError, without anything of the text."""
    found = [_FIELD.fullmatch(part) for part in text.split(",")]
    fields = {match[1]: match[2] for match in found if match is not None}
    if len(found) != len(_FIELDS) or sorted(fields) != sorted(_FIELDS):
        raise ValueError(f"a SCRAM credential has the fields {', '.join(_FIELDS)}")
    count = fields["iterations"]
    if not (count.isascii() and count.isdigit() and len(count) <= len(str(MAX_INT)) and int(count) <= MAX_INT):
        raise ValueError("the iterations of a SCRAM credential are not a number")
    try:
        salt, stored_key, server_key = (base64.b64decode(fields[name], validate=True) for name in _FIELDS[:3])
    except (binascii.Error, ValueError):
        raise ValueError("a field of a SCRAM credential is not base64") from None
    return ScramCredential(salt, stored_key, server_key, int(count))


def salted_password(mechanism: str, password: str, salt: bytes, iterations: int) -> bytes:
    """Takes about a millisecond for a few thousand iterations."""
    return hashlib.pbkdf2_hmac(DIGESTS[mechanism], password.encode(), salt, iterations)


def credential_of(mechanism: str, salted: bytes, salt: bytes, iterations: int) -> ScramCredential:
    """The credential of a salted password."""
    digest = DIGESTS[mechanism]
    stored_key = hashlib.new(digest, client_key(mechanism, salted)).digest()
    return ScramCredential(salt, stored_key, server_key(mechanism, salted), iterations)


def client_key(mechanism: str, salted: bytes) -> bytes:
    return hmac.digest(salted, b"Client Key", DIGESTS[mechanism])


def server_key(mechanism: str, salted: bytes) -> bytes:
    return hmac.digest(salted, b"Server Key", DIGESTS[mechanism])


def random_text(chance: Chance) -> str:
    """A number that cannot be guessed, in base 36: a nonce, or a salt."""
    number, digits = chance.number(1, (1 << _NONCE_BITS) - 1), ""
    while number:
        number, digit = divmod(number, len(_BASE_36))
        digits = _BASE_36[digit] + digits
    return digits
