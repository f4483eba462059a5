"""Whether a private key signs quickly, by its public key.

Ed25519 and ECDSA over P-256 take 0.02 to 0.05 ms and RSA of 2048 bits 0.3 to 0.6, but RSA of 4096 bits 2 to 4 ms, and
the other curves have no code of their own in every build of OpenSSL. Source: RFC 5480; RFC 8017; RFC 8410.
"""

from __future__ import annotations

from kafka_py.security.tls.der import MalformedCertificate, elements, object_id

MOST_RSA_BITS = 2048

_RSA = "1.2.840.113549.1.1.1"
_EC = "1.2.840.10045.2.1"
_P256 = "1.2.840.10045.3.1.7"
_ED25519 = "1.3.101.112"


def signs_quickly(public_key: bytes) -> bool:
    """public_key: the DER of SubjectPublicKeyInfo. False for what is not known here."""
    try:
        algorithm, key = elements(next(elements(public_key)).content)
        name, *parameters = (each.content for each in elements(algorithm.content))
        kind = object_id(name)
        if kind == _RSA:
            modulus = next(elements(next(elements(key.content[1:])).content))  # the first byte counts unused bits
            return int.from_bytes(modulus.content).bit_length() <= MOST_RSA_BITS
        return kind == _ED25519 or (kind == _EC and [object_id(each) for each in parameters] == [_P256])
    except (MalformedCertificate, StopIteration, ValueError):
        return False
