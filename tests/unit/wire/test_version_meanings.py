"""version_meanings.py: one row for every version, and no handler compares versions itself."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

import kafka_py.broker.handlers as handlers
from kafka_py.base.errors import ErrorCode
from kafka_py.wire import version_meanings
from kafka_py.wire.apis import APIS
from kafka_py.wire.version_meanings import (
    ADD_OFFSETS_TO_TXN_FENCED,
    ADD_PARTITIONS_TO_TXN_FENCED,
    API_VERSIONS_NAMES_CLIENT,
    CREATE_TOPICS_RETURNS_CONFIGS,
    DELETE_TOPICS_BY_ID,
    DELETE_TOPICS_DISABLED,
    DELETE_TOPICS_HAS_MESSAGE,
    DESCRIBE_CONFIGS_HAS_IS_DEFAULT,
    ELECT_LEADERS_HAS_TYPE,
    END_TXN_FENCED,
    INIT_PRODUCER_ID_FENCED,
    JOIN_GROUP,
    LEADER_AND_ISR_BY_TOPIC,
    LEADER_AND_ISR_BY_TOPIC_ID,
    LEAVE_GROUP_IN_BULK,
    LIST_OFFSETS,
    METADATA,
    OFFSET_COMMIT_TO_ZOOKEEPER,
    OFFSET_FETCH_FROM_ZOOKEEPER,
    STOP_REPLICA,
    SYNC_GROUP_NAMES_PROTOCOL,
    TXN_OFFSET_COMMIT_WHILE_LOADING,
    UPDATE_METADATA_ADDRESSES,
    UPDATE_METADATA_BY_TOPIC,
    BrokerAddresses,
    StopReplicaForm,
)

WORDS = ("api_version", "version >", "version <", "version ==")
COMPARING = {"produce.py", "fetch.py", "old_readers.py"}
"""For every partition of a request, where a row would cost more than the comparison."""


def test_every_version_has_a_row():
    rows = {name: table for name, table in vars(version_meanings).items() if type(table) is tuple}
    assert len(rows) == 24
    for name, table in rows.items():
        key = max((key for key in APIS if name.startswith(key.name)), key=lambda key: len(key.name))
        assert len(table) == APIS[key].max_version + 1, name


def test_no_handler_compares_versions():
    found = set()
    for path in Path(handlers.__file__).parent.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Compare) and any(word in ast.unparse(node) for word in WORDS):
                found.add(path.name)
    assert found == COMPARING


def test_a_version_that_does_not_know_an_error_gets_one_that_it_knows():
    assert [row.offset_not_available for row in LIST_OFFSETS[4:6]] == [
        ErrorCode.LEADER_NOT_AVAILABLE, ErrorCode.OFFSET_NOT_AVAILABLE
    ]  # fmt: skip
    assert [row.listener_not_found for row in METADATA[5:7]] == [
        ErrorCode.LEADER_NOT_AVAILABLE, ErrorCode.LISTENER_NOT_FOUND
    ]  # fmt: skip


def test_the_oldest_versions_mean_something_else():
    assert [row.empty_is_all for row in METADATA[:2]] == [True, False]
    assert [row.lists_segments for row in LIST_OFFSETS[:2]] == [True, False]
    assert [row.no_protocol for row in JOIN_GROUP[6:]] == ["", None]
    assert UPDATE_METADATA_ADDRESSES[:4] == (
        BrokerAddresses.ONE, BrokerAddresses.BY_PROTOCOL, BrokerAddresses.BY_PROTOCOL, BrokerAddresses.BY_LISTENER
    )  # fmt: skip
    assert STOP_REPLICA == (
        StopReplicaForm.FLAT, StopReplicaForm.BY_TOPIC, StopReplicaForm.BY_TOPIC, StopReplicaForm.STATES
    )  # fmt: skip


@pytest.mark.parametrize(
    ("rows", "first"),
    [
        ([row.has_leader_epoch for row in LIST_OFFSETS], 4),
        ([row.has_rebalance_timeout for row in JOIN_GROUP], 1),
        ([row.needs_known_id for row in JOIN_GROUP], 4),
        ([row.lists_instances for row in JOIN_GROUP], 5),
        (LEADER_AND_ISR_BY_TOPIC, 2),
        (LEADER_AND_ISR_BY_TOPIC_ID, 5),
        (UPDATE_METADATA_BY_TOPIC, 5),
        (DELETE_TOPICS_BY_ID, 6),
        (DELETE_TOPICS_HAS_MESSAGE, 5),
        (ELECT_LEADERS_HAS_TYPE, 1),
        (LEAVE_GROUP_IN_BULK, 3),
        (SYNC_GROUP_NAMES_PROTOCOL, 5),
        (API_VERSIONS_NAMES_CLIENT, 3),
        (CREATE_TOPICS_RETURNS_CONFIGS, 5),
        ([row is ErrorCode.TOPIC_DELETION_DISABLED for row in DELETE_TOPICS_DISABLED], 3),
        ([row is ErrorCode.PRODUCER_FENCED for row in INIT_PRODUCER_ID_FENCED], 4),
        ([row is ErrorCode.PRODUCER_FENCED for row in ADD_PARTITIONS_TO_TXN_FENCED], 2),
        ([row is ErrorCode.PRODUCER_FENCED for row in ADD_OFFSETS_TO_TXN_FENCED], 2),
        ([row is ErrorCode.PRODUCER_FENCED for row in END_TXN_FENCED], 2),
    ],
)
def test_a_meaning_holds_from_its_first_version_on(rows, first):
    assert [version for version, holds in enumerate(rows) if holds] == list(range(first, len(rows)))


@pytest.mark.parametrize(
    "rows",
    [
        [row.only_reachable for row in METADATA],
        OFFSET_COMMIT_TO_ZOOKEEPER,
        OFFSET_FETCH_FROM_ZOOKEEPER,
        DESCRIBE_CONFIGS_HAS_IS_DEFAULT,
    ],
)
def test_a_meaning_of_the_first_version_alone(rows):
    assert [version for version, holds in enumerate(rows) if holds] == [0]


def test_producers_before_version_2_are_told_that_there_is_no_coordinator_while_it_loads():
    assert TXN_OFFSET_COMMIT_WHILE_LOADING == (
        ErrorCode.COORDINATOR_NOT_AVAILABLE, ErrorCode.COORDINATOR_NOT_AVAILABLE,
        ErrorCode.COORDINATOR_LOAD_IN_PROGRESS, ErrorCode.COORDINATOR_LOAD_IN_PROGRESS,
    )  # fmt: skip
