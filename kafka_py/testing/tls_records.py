"""Records of TLS 1.3 that are made here and not by OpenSSL: what its own clients do not send.

Source: RFC 8446, sections 4.6.3 (KeyUpdate), 5.2 (protection of records), 5.3 and 7.2 (keys).
"""

from __future__ import annotations

import struct
from pathlib import Path

from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.hashes import SHA384
from cryptography.hazmat.primitives.kdf.hkdf import HKDFExpand

APPLICATION_DATA = 23
HANDSHAKE = 22
ALERT = 21
_KEY_BYTES, _NONCE_BYTES, _TAG_BYTES, _SECRET_BYTES = 32, 12, 16, 48
_SECRET = "CLIENT_TRAFFIC_SECRET_0"


class ClientRecords:
    """The records of a client that has sent none since its handshake, with TLS_AES_256_GCM_SHA384."""

    def __init__(self, key_log: Path) -> None:
        """key_log: what the client's context wrote (`keylog_filename`); the last session in it counts."""
        lines = [line.split() for line in key_log.read_text().splitlines()]
        self._take(bytes.fromhex([line[2] for line in lines if line and line[0] == _SECRET][-1]))

    def _take(self, secret: bytes) -> None:
        self._secret = secret
        self._cipher = AESGCM(_expanded(secret, "key", _KEY_BYTES))
        self._nonce = int.from_bytes(_expanded(secret, "iv", _NONCE_BYTES))
        self._number = 0

    def record(self, content: bytes, kind: int = APPLICATION_DATA) -> bytes:
        """The next record."""
        header = struct.pack(">BHH", APPLICATION_DATA, 0x0303, len(content) + 1 + _TAG_BYTES)
        nonce = (self._nonce ^ self._number).to_bytes(_NONCE_BYTES)
        self._number += 1
        encrypted: bytes = self._cipher.encrypt(nonce, content + bytes([kind]), header)
        return header + encrypted

    def key_update(self, *, asks_for_one: bool) -> bytes:
        """The record after which the client uses new keys. asks_for_one: the server shall do the same."""
        record = self.record(bytes([24, 0, 0, 1, asks_for_one]), HANDSHAKE)
        self._take(_expanded(self._secret, "traffic upd", _SECRET_BYTES))
        return record


def _expanded(secret: bytes, label: str, size: int) -> bytes:
    """HKDF-Expand-Label without a context."""
    name = b"tls13 " + label.encode()
    info = struct.pack(">HB", size, len(name)) + name + b"\0"
    expanded: bytes = HKDFExpand(SHA384(), size, info).derive(secret)
    return expanded
