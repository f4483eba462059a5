"""Which keys sign quickly."""

import time

import pytest

pytest.importorskip("cryptography")

from cryptography.hazmat.primitives.asymmetric import ec, ed25519
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

from kafka_py.security.tls.certificates import Authority
from kafka_py.security.tls.der import certificate_fields
from kafka_py.security.tls.key_costs import signs_quickly


def in_certificate(rsa_bits: int) -> bytes:
    certified = Authority(time.time() * 1000).issue("b", ["localhost"], rsa_bits=rsa_bits)
    return certificate_fields(certified.certificate.public_bytes(Encoding.DER)).public_key


@pytest.mark.parametrize(("rsa_bits", "expected"), [(0, True), (2048, True), (2056, False), (3072, False)])
def test_keys_of_certificates(rsa_bits: int, expected: bool) -> None:
    assert signs_quickly(in_certificate(rsa_bits)) is expected


def test_curves() -> None:
    found = {}
    for key in (*(ec.generate_private_key(curve()) for curve in (ec.SECP256R1, ec.SECP384R1, ec.SECP521R1)),
                ed25519.Ed25519PrivateKey.generate()):  # fmt: skip
        public = key.public_key().public_bytes(Encoding.DER, PublicFormat.SubjectPublicKeyInfo)
        found[getattr(getattr(key, "curve", None), "name", "ed25519")] = signs_quickly(public)
    assert found == {"secp256r1": True, "secp384r1": False, "secp521r1": False, "ed25519": True}


def test_what_is_no_key_is_not_quick() -> None:
    whole = in_certificate(2048)
    without_name = b"\x30\x06\x30\x02\x06\x00\x03\x00"
    for data in (b"", b"\x30", b"\x30\x00", b"\x30\x02\x05\x00", whole[:60], whole[:4], without_name):
        assert not signs_quickly(data)
