"""Which znode gets which list."""

import pytest

from kafka_py.zk.secured.access_lists import (
    CREATOR_AND_READERS,
    CREATOR_ONLY,
    OPEN,
    Access,
    AccessEntry,
    access_list_of,
    access_of,
)
from kafka_py.zk.znodes import TOP_LEVEL_PATHS, table


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("/", CREATOR_AND_READERS),
        ("/kafka", CREATOR_AND_READERS),
        ("/consumers", OPEN),
        ("/consumers/g/offsets/t/0", CREATOR_AND_READERS),
        ("/config", CREATOR_AND_READERS),
        ("/config/topics/t", CREATOR_AND_READERS),
        ("/config/changes/config_change_0000000001", CREATOR_AND_READERS),
        ("/config/users", CREATOR_ONLY),
        ("/config/users/alice/clients/c", CREATOR_ONLY),
        ("/config/users-of-another-kind", CREATOR_ONLY),
        ("/config/brokers/<default>", CREATOR_ONLY),
        ("/delegation_token", CREATOR_AND_READERS),
        ("/delegation_token/tokens", CREATOR_ONLY),
        ("/delegation_token/tokens/t", CREATOR_ONLY),
        ("/delegation_token/token_changes/token_change_0000000001", CREATOR_AND_READERS),
        ("/controller", CREATOR_AND_READERS),
        ("/brokers/ids/0", CREATOR_AND_READERS),
        ("/kafka-acl/Topic/t", CREATOR_AND_READERS),
    ],
)
def test_protected_znodes_have_the_list_of_2_8_and_others_are_open(path, expected):
    assert access_list_of(path, protected=True) == expected
    assert access_list_of(path, protected=False) == OPEN


def test_lists_as_zookeepers_shell_shows_them():
    def shown(entries):
        return [(entry.scheme, entry.id, entry.letters) for entry in entries]

    assert shown(OPEN) == [("world", "anyone", "cdrwa")]
    assert shown(CREATOR_ONLY) == [("auth", "", "cdrwa")]
    assert shown(CREATOR_AND_READERS) == [("auth", "", "cdrwa"), ("world", "anyone", "r")]


def test_only_secrets_are_kept_from_readers_and_only_old_consumers_have_an_open_znode():
    templates = [*TOP_LEVEL_PATHS, *table()]
    hidden = {path for path in templates if access_list_of(path, protected=True) == CREATOR_ONLY}
    assert {path for path in hidden if not path.startswith("/delegation_token/tokens")} == {
        "/config/users", "/config/brokers",
    }  # fmt: skip
    assert {path for path in templates if access_list_of(path, protected=True) == OPEN} == {"/consumers"}


def test_permissions_are_written_and_read_as_zookeepers_shell_has_them():
    assert AccessEntry(Access.ALL, "world", "anyone").letters == "cdrwa"
    assert AccessEntry(Access.READ | Access.ADMIN, "sasl", "a").letters == "ra"
    assert access_of("arwcd") == Access.ALL
    assert access_of("r") == Access.READ
    with pytest.raises(ValueError, match="'x'"):
        access_of("rx")
