"""Whether new stores may replace those of a listener that is being served.

A mistake would cut the listener off, and it could not be put right over it. Pure.
Source: docs/reference/security/tls.md, section 3; KIP-226; SslFactory (CertificateEntries).
"""

from __future__ import annotations

from kafka_py.base.errors import ConfigError
from kafka_py.security.tls.der import certificate_fields
from kafka_py.security.tls.names import distinguished_name
from kafka_py.security.tls.stores import Stores


def check_replacement(old: Stores, new: Stores) -> None:
    """Raises ConfigError, which says what must not change."""
    if (old.own is None) is not (new.own is None):
        raise ConfigError("Key store cannot be added or removed while the broker runs")
    if old.trusted is None and new.trusted is not None:
        raise ConfigError("Trust store cannot be added while the broker runs")
    if old.own is None or new.own is None:
        return
    # The authorities above the own certificate may change: a public one signs with another of its keys every year.
    _check_certificate(old.own.chain[0], new.own.chain[0])


def _check_certificate(before: bytes, after: bytes) -> None:
    old, new = certificate_fields(before), certificate_fields(after)
    name, other = distinguished_name(old.subject), distinguished_name(new.subject)
    if _canonical(name) != _canonical(other):
        raise ConfigError(f"Key store must keep the name of its certificate: {name} became {other}")
    missing = old.alternative_names - new.alternative_names
    if missing:
        shown = ", ".join(sorted(_shown(*each) for each in missing))
        raise ConfigError(f"The new certificate of {name} lacks the subject alternative names {shown}")


def _canonical(name: str) -> str:
    """As Java compares names: without regard to case and to how many blanks there are."""
    return " ".join(name.lower().split())


def _shown(tag: int, value: bytes) -> str:
    """An address as numbers, other names as text."""
    return ".".join(map(str, value)) if tag == 0x87 else value.decode("utf-8", "replace")
