"""Releases as API versions show them, and protocol versions that stayed behind."""

import pytest

from kafka_py.clients.admin.brokers import VersionRange
from kafka_py.operations.doctor.checks import releases
from kafka_py.operations.doctor.checks.controller import KRAFT_API
from kafka_py.wire.apis import ApiKey

from .seen_clusters import VERSIONS, ids, only, seen, snapshot


def offered(**highest: int) -> dict[int, VersionRange]:
    return {int(ApiKey[name]): VersionRange(0, version) for name, version in highest.items()}


@pytest.mark.parametrize(
    ("versions", "release"),
    [
        (offered(FETCH=3), None),
        (offered(FETCH=5), (0, 11)),
        (offered(FETCH=8), (2, 0)),
        (offered(FETCH=11, INCREMENTAL_ALTER_CONFIGS=0), (2, 3)),
        (offered(FETCH=12, METADATA=9), (2, 7)),
        (offered(FETCH=12, METADATA=11), (2, 8)),
        (offered(FETCH=12, LIST_OFFSETS=7), (3, 0)),
        (offered(FETCH=17), (4, 0)),
    ],
)
def test_the_release_follows_from_the_newest_versions(
    versions: dict[int, VersionRange], release: tuple[int, int] | None
) -> None:
    assert releases.release_of(versions) == release


def test_names_of_protocol_versions_are_understood() -> None:
    assert releases.protocol_release("2.8-IV1") == (2, 8)
    assert releases.protocol_release("0.11.0-IV2") == (0, 11)
    assert releases.protocol_release("1.0") == (1, 0)
    assert releases.protocol_release("?") is None
    assert releases.protocol_release(None) is None


def test_brokers_of_two_releases_are_noted_and_too_old_ones_found() -> None:
    mixed = snapshot(versions={1: VERSIONS, 2: offered(FETCH=5)})
    assert [found for found, _ in ids(releases.releases, seen(snapshot=mixed))] == ["releases-differ"]
    old = snapshot(versions={1: offered(FETCH=3)})
    assert [found for found, _ in ids(releases.releases, seen(snapshot=old))] == ["release-too-old"]


def test_a_protocol_version_behind_the_release_is_found() -> None:
    finding = only(releases.old_protocol, seen(settings={"inter.broker.protocol.version": "2.4-IV1"}))
    assert (finding.id, "inter.broker.protocol.version=2.8" in finding.repair) == ("old-protocol", True)
    assert ids(releases.old_protocol, seen(settings={"inter.broker.protocol.version": "2.8-IV1"})) == []
    assert ids(releases.releases, seen()) == []


def test_kraft_brokers_have_no_use_for_a_protocol_version() -> None:
    kraft = {**VERSIONS, KRAFT_API: VersionRange(0, 1)}
    what = seen(snapshot=snapshot(versions={1: kraft}), settings={"inter.broker.protocol.version": "2.4-IV1"})
    assert ids(releases.old_protocol, what) == []
