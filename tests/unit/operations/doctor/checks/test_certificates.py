"""Certificates that are valid, but not for long; and the client's own."""

from kafka_py.operations.doctor.checks import certificates
from kafka_py.operations.doctor.findings import Severity

from .seen_clusters import certificate, ids, only, reached, seen


def test_a_certificate_that_expires_soon_is_found_once_for_all_its_places() -> None:
    soon = certificate(10, "kafka1")
    what = seen(bootstrap=(reached(1, certificate=soon),), advertised={1: reached(1, certificate=soon)})
    finding = only(certificates.certificates_that_expire, what)
    assert (finding.id, "10 days" in finding.what) == ("tls-expires-soon", True)


def test_one_that_lasts_is_no_finding() -> None:
    lasting = seen(bootstrap=(reached(1, certificate=certificate(100, "kafka1")),))
    assert ids(certificates.certificates_that_expire, lasting) == []
    over = seen(bootstrap=(reached(1, certificate=certificate(-3, "kafka1")),))
    assert ids(certificates.certificates_that_expire, over) == [], "the way to the broker has that"


def test_the_own_certificate_is_looked_at_as_well() -> None:
    assert ids(certificates.own_certificate, seen()) == []
    assert ids(certificates.own_certificate, seen(own_certificate=certificate(100))) == []
    assert ids(certificates.own_certificate, seen(own_certificate=certificate(3))) == [
        ("tls-own-expires", Severity.WARNING)
    ]
    assert ids(certificates.own_certificate, seen(own_certificate=certificate(-3))) == [
        ("tls-own-expires", Severity.ERROR)
    ]
