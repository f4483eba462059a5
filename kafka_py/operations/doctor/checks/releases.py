"""Releases of brokers, as their API versions show them, and an inter.broker.protocol.version that stayed behind.

Source: docs/reference/apis.tsv; KIP-35; ApiVersion (names of protocol versions).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from kafka_py.clients.admin.brokers import VersionRange
from kafka_py.operations.doctor.checks.controller import KRAFT_API
from kafka_py.operations.doctor.examination import Examination
from kafka_py.operations.doctor.findings import DoctorFinding, Severity
from kafka_py.wire.apis import ApiKey

Release = tuple[int, int]

_SINCE: tuple[tuple[Release, int, int], ...] = (
    ((4, 0), ApiKey.FETCH, 17),
    ((3, 7), ApiKey.FETCH, 16),
    ((3, 5), ApiKey.FETCH, 15),
    ((3, 1), ApiKey.FETCH, 13),
    ((3, 0), ApiKey.LIST_OFFSETS, 7),
    ((2, 8), ApiKey.METADATA, 10),
    ((2, 7), ApiKey.FETCH, 12),
    ((2, 6), ApiKey.DESCRIBE_CLIENT_QUOTAS, 0),
    ((2, 4), ApiKey.OFFSET_DELETE, 0),
    ((2, 3), ApiKey.INCREMENTAL_ALTER_CONFIGS, 0),
    ((2, 2), ApiKey.ELECT_LEADERS, 0),
    ((2, 1), ApiKey.FETCH, 10),
    ((2, 0), ApiKey.FETCH, 8),
    ((1, 1), ApiKey.FETCH, 7),
    ((1, 0), ApiKey.FETCH, 6),
    ((0, 11), ApiKey.FETCH, 5),
)
"""(release, API, version): the release is the first one that offers this version."""
_PROTOCOL = re.compile(r"(\d+)\.(\d+)(?:\.\d+)?(?:-IV\d+)?")


def release_of(versions: Mapping[int, VersionRange]) -> Release | None:
    """The newest release whose versions a broker offers; None for one before 0.11."""
    for release, key, version in _SINCE:
        offered = versions.get(int(key))
        if offered is not None and offered.highest >= version:
            return release
    return None


def protocol_release(text: str | None) -> Release | None:
    """The release in a value of inter.broker.protocol.version, as 2.8-IV1."""
    found = _PROTOCOL.fullmatch(text or "")
    return (int(found[1]), int(found[2])) if found else None


def _shown(release: Release | None) -> str:
    return "before 0.11" if release is None else f"{release[0]}.{release[1]}"


def releases(seen: Examination) -> Iterator[DoctorFinding]:
    """Brokers of different releases, and such as are too old."""
    if seen.snapshot is None:
        return
    found = {broker: release_of(versions) for broker, versions in seen.snapshot.versions.items()}
    if len(set(found.values())) > 1:
        yield DoctorFinding(
            "releases-differ",
            Severity.NOTE,
            "The brokers are of different releases.",
            "During an upgrade that is as it should be; afterwards clients meet a different broker each time.",
            "Finish the upgrade: one broker after the other, then raise inter.broker.protocol.version.",
            tuple(f"broker {broker}: {_shown(release)} or later" for broker, release in sorted(found.items())),
        )
    old = sorted(broker for broker, release in found.items() if release is None)
    if old:
        yield DoctorFinding(
            "release-too-old",
            Severity.WARNING,
            f"Broker {', '.join(map(str, old))} is older than Kafka 0.11.",
            "It has no idempotent producers, transactions or record headers, and present clients drop it.",
            "Upgrade it.",
        )


def old_protocol(seen: Examination) -> Iterator[DoctorFinding]:
    """inter.broker.protocol.version below the release of the brokers."""
    if seen.snapshot is None:
        return
    behind = []
    newest: Release = (0, 0)
    for broker, versions in sorted(seen.snapshot.versions.items()):
        release = release_of(versions)
        if KRAFT_API in versions:  # where the setting has no effect
            continue
        value = seen.setting(broker, "inter.broker.protocol.version")
        spoken = protocol_release(value)
        if release is not None and spoken is not None and spoken < release:
            behind.append(f"broker {broker}: inter.broker.protocol.version={value}, its release is {_shown(release)}")
            newest = max(newest, release)
    if behind:
        yield DoctorFinding(
            "old-protocol",
            Severity.WARNING,
            "inter.broker.protocol.version is older than the brokers.",
            "Brokers among themselves do without what newer versions have: topic ids, fencing, faster reassignments. "
            "Often an upgrade was not finished.",
            f"When all brokers are upgraded, set inter.broker.protocol.version={_shown(newest)} in every "
            "server.properties (or remove it) and restart them one by one.",
            tuple(behind),
        )
