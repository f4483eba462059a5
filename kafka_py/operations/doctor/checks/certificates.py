"""Certificates that are still valid, but not for long."""

from __future__ import annotations

from collections.abc import Iterator

from kafka_py.operations.doctor.examination import DAY_MS, CertificateSeen, Examination
from kafka_py.operations.doctor.findings import DoctorFinding, Severity

SOON_DAYS = 30


def certificates_that_expire(seen: Examination) -> Iterator[DoctorFinding]:
    """Those of brokers within SOON_DAYS, each once."""
    places: dict[CertificateSeen, list[str]] = {}
    for reached in (*seen.bootstrap, *seen.advertised.values()):
        if reached.certificate is not None and reached.where not in places.get(reached.certificate, ()):
            places.setdefault(reached.certificate, []).append(reached.where)
    for certificate, where in places.items():
        left_days = (certificate.not_after_ms - seen.now_ms) / DAY_MS
        if 0 <= left_days < SOON_DAYS:
            yield DoctorFinding(
                "tls-expires-soon",
                Severity.WARNING,
                f"The certificate of {', '.join(where)} expires in {left_days:.0f} days.",
                "From then on no client and no other broker can connect to this listener.",
                "Issue a new one; `kafka-configs.sh --alter --entity-type brokers --entity-name ID --add-config "
                "listener.name.NAME.ssl.keystore.location=FILE` loads it without a restart.",
                (f"{certificate.subject}, issued by {certificate.issuer}",),
            )


def own_certificate(seen: Examination) -> Iterator[DoctorFinding]:
    """The client's own one."""
    own = seen.own_certificate
    if own is None:
        return
    left_days = (own.not_after_ms - seen.now_ms) / DAY_MS
    if left_days < SOON_DAYS:
        is_over = left_days < 0
        yield DoctorFinding(
            "tls-own-expires",
            Severity.ERROR if is_over else Severity.WARNING,
            f"This client's certificate {'has expired' if is_over else f'expires in {left_days:.0f} days'}.",
            "Brokers with ssl.client.auth refuse a client whose certificate is not valid.",
            "Issue a new one and put it into ssl.keystore.location of the client.",
            (f"{own.subject}, issued by {own.issuer}",),
        )
