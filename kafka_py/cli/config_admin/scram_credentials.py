"""SCRAM credentials as ZooKeeper holds them: `salt=...,stored_key=...,server_key=...,iterations=...`.

Source: RFC 5802; docs/reference/zookeeper.md, section 14.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import re
import secrets
from typing import NamedTuple

from kafka_py.cli.common.command import CommandFailed

LEAST_ITERATIONS = 4096
DIGESTS = {"SCRAM-SHA-256": "sha256", "SCRAM-SHA-512": "sha512"}
"""The mechanisms, with the digest each is built on."""

_GIVEN = re.compile(r"(?:iterations=(\d*),)?password=(.*)", re.DOTALL)
_SALT_BITS = 130
_DIGITS = "0123456789abcdefghijklmnopqrstuvwxyz"


class ScramCredential(NamedTuple):
    """What a broker needs to check a password, from which it cannot be found again."""

    salt: bytes
    stored_key: bytes
    server_key: bytes
    iterations: int

    def text(self) -> str:
        encoded = (base64.b64encode(each).decode() for each in self[:3])
        salt, stored_key, server_key = encoded
        return f"salt={salt},stored_key={stored_key},server_key={server_key},iterations={self.iterations}"


def credential_of(mechanism: str, given: str) -> ScramCredential:
    """The credential for `iterations=8192,password=secret` (4096 where no number is given). Raises CommandFailed."""
    shown = mechanism.replace("-", "_")
    match = _GIVEN.fullmatch(given)
    if match is None:
        raise CommandFailed(f"Invalid credential property {shown}={given}")
    iterations = int(match[1]) if match[1] else LEAST_ITERATIONS
    if iterations < LEAST_ITERATIONS:
        text = f"Iterations {iterations} is less than the minimum {LEAST_ITERATIONS} required for {shown}"
        raise CommandFailed(text)
    return salted(mechanism, match[2], random_salt(), iterations)


def salted(mechanism: str, password: str, salt: bytes, iterations: int) -> ScramCredential:
    """The credential of a password with this salt."""
    digest = DIGESTS[mechanism]
    key = hashlib.pbkdf2_hmac(digest, password.encode(), salt, iterations)
    client_key = hmac.digest(key, b"Client Key", digest)
    stored_key = hashlib.new(digest, client_key).digest()
    return ScramCredential(salt, stored_key, hmac.digest(key, b"Server Key", digest), iterations)


def random_salt() -> bytes:
    """A random number in base 36, as text."""
    number, digits = secrets.randbits(_SALT_BITS), []
    while number:
        number, digit = divmod(number, 36)
        digits.append(_DIGITS[digit])
    return ("".join(reversed(digits)) or "0").encode()
