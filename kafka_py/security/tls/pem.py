"""Keys and certificates as PEM text. Source: docs/reference/security/tls.md, section 1; KIP-651; RFC 7468."""

from __future__ import annotations

import base64
import re

_BLOCK = re.compile(r"-----BEGIN ([A-Z0-9 ]+)-----(.*?)-----END \1-----", re.DOTALL)
_KEYS = ("PRIVATE KEY", "ENCRYPTED PRIVATE KEY")


class MalformedPem(ValueError):
    """Text in which what is looked for is not, or not as it should be."""


def certificates_in(text: str) -> list[bytes]:
    """All certificates as DER, in order. Raises MalformedPem when there is none."""
    found = [_decoded(body) for kind, body in _BLOCK.findall(text) if kind in ("CERTIFICATE", "X509 CERTIFICATE")]
    if not found:
        raise MalformedPem("it holds no certificate (-----BEGIN CERTIFICATE-----)")
    return found


def key_in(text: str) -> tuple[str, bool]:
    """The private key as PEM text of its own, and whether it is encrypted. Raises MalformedPem."""
    found = [(kind, body) for kind, body in _BLOCK.findall(text) if kind in _KEYS]
    if not found:
        other = next((kind for kind, _ in _BLOCK.findall(text) if kind.endswith("PRIVATE KEY")), None)
        if other is not None:
            raise MalformedPem(f"its key is of the form {other!r}; `openssl pkcs8 -topk8` makes one that can be read")
        raise MalformedPem("it holds no private key (-----BEGIN PRIVATE KEY-----)")
    if len(found) > 1:
        raise MalformedPem("it holds more than one private key")
    kind, body = found[0]
    return pem_of(kind, _decoded(body)), kind != "PRIVATE KEY"


def pem_of(kind: str, der: bytes) -> str:
    """One block."""
    text = base64.b64encode(der).decode()
    lines = "\n".join(text[at : at + 64] for at in range(0, len(text), 64))
    return f"-----BEGIN {kind}-----\n{lines}\n-----END {kind}-----\n"


def _decoded(body: str) -> bytes:
    lines = [line for line in body.split("\n") if ":" not in line]  # without headers
    try:
        return base64.b64decode("".join("".join(lines).split()), validate=True)
    except ValueError:
        raise MalformedPem("a block of it is not valid base64") from None
