"""Key stores in the format JKS, which Java wrote by default before release 9 and still reads.

A key is protected by a key stream of SHA-1, the whole by a digest.
Source: docs/reference/security/tls.md, section 1; DefaultSslEngineFactory.
"""

from __future__ import annotations

import hashlib
import struct
from typing import NamedTuple

from kafka_py.security.tls.der import MalformedCertificate, elements, object_id

MAGIC = b"\xfe\xed\xfe\xed"
_DIGEST_BYTES = 20
_WHITENER = b"Mighty Aphrodite"
_KEY_PROTECTION = "1.3.6.1.4.1.42.2.17.1.1"
_KEY_ENTRY = 1
_TRUSTED_ENTRY = 2


class UnreadableStore(ValueError):
    """A store that is damaged, or whose password is another one."""


class KeyEntry(NamedTuple):
    """key: encrypted, as it is stored. chain: certificates as DER, the own one first."""

    key: bytes
    chain: list[bytes]


class JavaStore(NamedTuple):
    keys: list[KeyEntry]
    trusted: list[bytes]


class _StoreBytes:
    def __init__(self, data: bytes) -> None:
        self._data = data
        self.at = 0

    def number(self, size: int = 4) -> int:
        return int.from_bytes(self.bytes(size))

    def bytes(self, size: int) -> bytes:
        end = self.at + size
        if end > len(self._data):
            raise UnreadableStore("it ends too early")
        taken = self._data[self.at : end]
        self.at = end
        return taken

    def text(self) -> str:
        return self.bytes(self.number(2)).decode("utf-8", "replace")


def read_java_store(data: bytes, password: str | None) -> JavaStore:
    """The entries, in order. password: None leaves the integrity unchecked. Raises UnreadableStore."""
    reader = _StoreBytes(data)
    if reader.bytes(4) != MAGIC:
        raise UnreadableStore("it is no Java key store")
    version = reader.number()
    if version not in (1, 2):
        raise UnreadableStore(f"it has version {version} of the format, which is not known")
    store = JavaStore([], [])
    for _ in range(reader.number()):
        kind = reader.number()
        reader.text()  # the alias
        reader.number(8)  # when it was made
        if kind == _KEY_ENTRY:
            key = reader.bytes(reader.number())
            store.keys.append(KeyEntry(key, [_certificate(reader, version) for _ in range(reader.number())]))
        elif kind == _TRUSTED_ENTRY:
            store.trusted.append(_certificate(reader, version))
        else:
            raise UnreadableStore(f"it has an entry of the unknown kind {kind}")
    if password is not None:
        digest = hashlib.sha1(_bytes_of(password) + _WHITENER + data[: reader.at]).digest()
        if digest != reader.bytes(_DIGEST_BYTES):
            raise UnreadableStore("the password is another one, or the file is damaged")
    return store


def _certificate(reader: _StoreBytes, version: int) -> bytes:
    if version == 2:
        reader.text()  # X.509
    return reader.bytes(reader.number())


def unprotected_key(protected: bytes, password: str) -> bytes:
    """A key entry's key as DER (PKCS#8). Raises UnreadableStore."""
    try:
        (outer,) = elements(protected)
        algorithm, octets = elements(outer.content)
        number = object_id(next(elements(algorithm.content)).content)
    except (MalformedCertificate, ValueError, StopIteration):
        raise UnreadableStore("its key is damaged") from None
    if number != _KEY_PROTECTION:
        raise UnreadableStore(f"its key is protected by the unknown algorithm {number}")
    data, secret = octets.content, _bytes_of(password)
    stream, cipher_text = data[:_DIGEST_BYTES], data[_DIGEST_BYTES:-_DIGEST_BYTES]
    plain = bytearray()
    for at in range(0, len(cipher_text), _DIGEST_BYTES):
        stream = hashlib.sha1(secret + stream).digest()
        plain += bytes(a ^ b for a, b in zip(cipher_text[at : at + _DIGEST_BYTES], stream, strict=False))
    if hashlib.sha1(secret + bytes(plain)).digest() != data[-_DIGEST_BYTES:]:
        raise UnreadableStore("the password of its key is another one")
    return bytes(plain)


def _bytes_of(password: str) -> bytes:
    return b"".join(struct.pack(">H", ord(each) & 0xFFFF) for each in password)
