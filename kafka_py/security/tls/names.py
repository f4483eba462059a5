"""A distinguished name as RFC 2253 text, in the spelling of Java's `X500Principal.getName`.

Source: docs/reference/security/tls.md, section 5; RFC 2253.
"""

from __future__ import annotations

from kafka_py.security.tls.der import Element, elements, object_id

_KEYWORDS = {
    "2.5.4.3": "CN",
    "2.5.4.6": "C",
    "2.5.4.7": "L",
    "2.5.4.8": "ST",
    "2.5.4.9": "STREET",
    "2.5.4.10": "O",
    "2.5.4.11": "OU",
    "0.9.2342.19200300.100.1.25": "DC",
    "0.9.2342.19200300.100.1.1": "UID",
}
_ESCAPED = frozenset(',=+<>#;"\\')
_ENCODINGS = {12: "utf-8", 19: "ascii", 20: "latin-1", 22: "ascii", 28: "utf-32-be", 30: "utf-16-be"}
"""By tag: UTF8String, PrintableString, TeletexString, IA5String, UniversalString, BMPString."""


def distinguished_name(name: bytes) -> str:
    """The DER of a name as text, its last part first. Raises MalformedCertificate, UnicodeDecodeError."""
    (sequence,) = elements(name)
    parts = ["+".join(_attribute(each) for each in elements(part.content)) for part in elements(sequence.content)]
    return ",".join(reversed(parts))


def _attribute(attribute: Element) -> str:
    kind, value = elements(attribute.content)
    number = object_id(kind.content)
    keyword = _KEYWORDS.get(number)
    encoding = _ENCODINGS.get(value.tag)
    if keyword is None or encoding is None:
        return f"{keyword or number}=#{value.whole.hex()}"
    return f"{keyword}={_escaped(value.content.decode(encoding))}"


def _escaped(text: str) -> str:
    inner = text.strip(" ")
    before = len(text) - len(text.lstrip(" ")) if inner else 0
    after = len(text) - before - len(inner)
    body = "".join(f"\\{each}" if each in _ESCAPED else "\\00" if each == "\0" else each for each in inner)
    return "\\ " * before + body + "\\ " * after
