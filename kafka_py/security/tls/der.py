"""What is needed of DER: elements, object identifiers, and four fields of a certificate.

Nothing is verified here; OpenSSL does that. Source: RFC 5280.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

_SEQUENCE = 0x30
_OCTETS = 0x04
_OBJECT_ID = 0x06
_VERSION = 0xA0
_EXTENSIONS = 0xA3
_ALTERNATIVE_NAMES = "2.5.29.17"


class MalformedCertificate(ValueError):
    """Bytes that are no certificate."""


class Element(NamedTuple):
    """One element. whole: with its tag and length."""

    tag: int
    content: bytes
    whole: bytes


def elements(data: bytes) -> Iterator[Element]:
    """The elements that follow each other in `data`. Raises MalformedCertificate."""
    at = 0
    while at < len(data):
        start = at
        if at + 2 > len(data):
            raise MalformedCertificate("an element is cut off")
        tag, size = data[at], data[at + 1]
        at += 2
        if size & 0x80:
            count = size & 0x7F
            if not 0 < count <= 4 or at + count > len(data):
                raise MalformedCertificate("an element has no valid length")
            size = int.from_bytes(data[at : at + count])
            at += count
        if at + size > len(data):
            raise MalformedCertificate("an element is cut off")
        yield Element(tag, data[at : at + size], data[start : at + size])
        at += size


def object_id(content: bytes) -> str:
    """As `2.5.4.3`."""
    numbers: list[int] = []
    value = 0
    for byte in content:
        value = value << 7 | byte & 0x7F
        if not byte & 0x80:
            numbers.append(value)
            value = 0
    if not numbers:
        raise MalformedCertificate("an empty object identifier")
    first = min(numbers[0] // 40, 2)
    return ".".join(map(str, [first, numbers[0] - 40 * first, *numbers[1:]]))


class CertificateFields(NamedTuple):
    """Of one certificate. issuer, subject: the DER of a name. alternative_names: (tag, value) of each.

    public_key: the DER of SubjectPublicKeyInfo.
    """

    issuer: bytes
    subject: bytes
    alternative_names: frozenset[tuple[int, bytes]]
    public_key: bytes


def certificate_fields(certificate: bytes) -> CertificateFields:
    """Reads a certificate. Raises MalformedCertificate."""
    try:
        signed = next(elements(certificate))
        body = list(elements(next(elements(signed.content)).content))
        if body[0].tag == _VERSION:
            del body[0]
        issuer, _validity, subject, public_key = body[2:6]  # after serial number and algorithm
        extensions = next((each for each in body[6:] if each.tag == _EXTENSIONS), None)
    except (StopIteration, IndexError, ValueError):
        raise MalformedCertificate("fields of the certificate are missing") from None
    names = frozenset[tuple[int, bytes]]() if extensions is None else _alternative_names(extensions.content)
    return CertificateFields(issuer.whole, subject.whole, names, public_key.whole)


def _alternative_names(extensions: bytes) -> frozenset[tuple[int, bytes]]:
    for block in elements(extensions):
        for extension in elements(block.content):
            parts = list(elements(extension.content))
            if parts and parts[0].tag == _OBJECT_ID and object_id(parts[0].content) == _ALTERNATIVE_NAMES:
                value = next((each.content for each in parts if each.tag == _OCTETS), b"")
                outer = next(elements(value), None)
                names = elements(outer.content) if outer is not None and outer.tag == _SEQUENCE else ()
                return frozenset((each.tag, each.content) for each in names)
    return frozenset()
