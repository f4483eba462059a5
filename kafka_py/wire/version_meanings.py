"""What a version of a request says besides its fields: one row for each version of an API, read by its handler.

A field that a version lacks has its default in the request and is dropped from the response by the encoder; that is
enough for most APIs, which are not named here. These are the others: where one version means by the same bytes, or
may answer, something else than the next. A handler looks its row up and sees values; it compares no versions.
Produce and Fetch do compare them: they are looked at for every partition of a request, which a row would make slower.
Source: docs/reference/apis.tsv; KafkaApis.
"""

from __future__ import annotations

from collections.abc import Callable
from enum import Enum
from typing import NamedTuple, TypeVar

from kafka_py.base.errors import ErrorCode
from kafka_py.wire.apis import APIS, ApiKey

T = TypeVar("T")


def _each_version(key: ApiKey, meaning: Callable[[int], T]) -> tuple[T, ...]:
    """The rows of an API, by version."""
    return tuple(meaning(version) for version in range(APIS[key].max_version + 1))


class ListOffsetsMeaning(NamedTuple):
    """lists_segments: the answer is a list of segment starts. has_leader_epoch: the answer names it.

    offset_not_available: the error with which a client retries until the high watermark is known.
    """

    lists_segments: bool
    has_leader_epoch: bool
    offset_not_available: ErrorCode


LIST_OFFSETS = _each_version(
    ApiKey.LIST_OFFSETS,
    lambda version: ListOffsetsMeaning(
        lists_segments=version == 0,
        has_leader_epoch=version >= 4,
        offset_not_available=ErrorCode.OFFSET_NOT_AVAILABLE if version >= 5 else ErrorCode.LEADER_NOT_AVAILABLE,
    ),
)


class MetadataMeaning(NamedTuple):
    """empty_is_all: an empty list asks for all topics, as null does. only_reachable: replicas that cannot be reached on
    the client's listener are left out, with an error.

    listener_not_found: the error of a partition whose leader is live but cannot be reached on the client's listener.
    throttle_at: where the throttle time stands in the answer, counted from behind the correlation id; None: nowhere.
    """

    empty_is_all: bool
    only_reachable: bool
    listener_not_found: ErrorCode
    throttle_at: int | None


METADATA = _each_version(
    ApiKey.METADATA,
    lambda version: MetadataMeaning(
        empty_is_all=version == 0,
        only_reachable=version == 0,
        listener_not_found=ErrorCode.LISTENER_NOT_FOUND if version >= 6 else ErrorCode.LEADER_NOT_AVAILABLE,
        throttle_at=None if version < 3 else 0 if version < 9 else 1,
    ),
)

LEADER_AND_ISR_BY_TOPIC = _each_version(ApiKey.LEADER_AND_ISR, lambda version: version >= 2)
"""Whether the request groups partitions by topic; else it is a flat list."""

LEADER_AND_ISR_BY_TOPIC_ID = _each_version(ApiKey.LEADER_AND_ISR, lambda version: version >= 5)
"""Whether the answer groups partitions by topic id; else it is a flat list with topic names."""


class BrokerAddresses(Enum):
    """How UpdateMetadata gives the addresses of a broker."""

    ONE = "host and port of a plaintext listener"
    BY_PROTOCOL = "one for each security protocol"
    BY_LISTENER = "one for each named listener"


UPDATE_METADATA_ADDRESSES = _each_version(
    ApiKey.UPDATE_METADATA,
    lambda version: (
        BrokerAddresses.BY_LISTENER
        if version >= 3
        else BrokerAddresses.BY_PROTOCOL
        if version >= 1
        else BrokerAddresses.ONE
    ),
)

UPDATE_METADATA_BY_TOPIC = _each_version(ApiKey.UPDATE_METADATA, lambda version: version >= 5)
"""Whether partitions are grouped by topic; else they are a flat list."""


class StopReplicaForm(Enum):
    """How StopReplica lists partitions, and what it says of each."""

    FLAT = "a flat list, with one flag for all that says whether they are deleted"
    BY_TOPIC = "by topic, with one flag for all"
    STATES = "by topic, each with a leader epoch and a flag of its own"


STOP_REPLICA = _each_version(
    ApiKey.STOP_REPLICA,
    lambda version: (
        StopReplicaForm.STATES if version >= 3 else StopReplicaForm.BY_TOPIC if version >= 1 else StopReplicaForm.FLAT
    ),
)

OFFSET_COMMIT_TO_ZOOKEEPER = _each_version(ApiKey.OFFSET_COMMIT, lambda version: version == 0)
"""Whether the offsets are stored in ZooKeeper, where old consumers look for them."""

TXN_OFFSET_COMMIT_WHILE_LOADING = _each_version(
    ApiKey.TXN_OFFSET_COMMIT,
    lambda version: (
        ErrorCode.COORDINATOR_LOAD_IN_PROGRESS if version >= 2 else ErrorCode.COORDINATOR_NOT_AVAILABLE
    ),
)
"""The error while the group's partition is loaded: producers before version 2 do not expect the exact one."""

OFFSET_FETCH_FROM_ZOOKEEPER = _each_version(ApiKey.OFFSET_FETCH, lambda version: version == 0)
"""Whether the offsets are those of old consumers in ZooKeeper."""


class JoinGroupMeaning(NamedTuple):
    """has_rebalance_timeout: else it is the session's. needs_known_id: a new member gets an id first (KIP-394).

    lists_instances: the leader gets the static members' names (KIP-345). no_protocol: how the answer says that there
    is none.
    """

    has_rebalance_timeout: bool
    needs_known_id: bool
    lists_instances: bool
    no_protocol: str | None


JOIN_GROUP = _each_version(
    ApiKey.JOIN_GROUP,
    lambda version: JoinGroupMeaning(
        has_rebalance_timeout=version >= 1,
        needs_known_id=version >= 4,
        lists_instances=version >= 5,
        no_protocol=None if version >= 7 else "",
    ),
)

LEAVE_GROUP_IN_BULK = _each_version(ApiKey.LEAVE_GROUP, lambda version: version >= 3)
"""Whether members are listed, each with an error of its own (KIP-345)."""

SYNC_GROUP_NAMES_PROTOCOL = _each_version(ApiKey.SYNC_GROUP, lambda version: version >= 5)
"""Whether the protocol that the member knows must be named (KIP-559)."""

API_VERSIONS_NAMES_CLIENT = _each_version(ApiKey.API_VERSIONS, lambda version: version >= 3)
"""Whether the client's software must be named (KIP-511)."""

CREATE_TOPICS_RETURNS_CONFIGS = _each_version(ApiKey.CREATE_TOPICS, lambda version: version >= 5)
"""Whether the answer lists the settings of a new topic (KIP-525)."""

DELETE_TOPICS_DISABLED = _each_version(
    ApiKey.DELETE_TOPICS,
    lambda version: ErrorCode.TOPIC_DELETION_DISABLED if version >= 3 else ErrorCode.INVALID_REQUEST,
)
"""The error where delete.topic.enable is false."""

DELETE_TOPICS_BY_ID = _each_version(ApiKey.DELETE_TOPICS, lambda version: version >= 6)
"""Whether topics are named or given by their ids; else there are names only (KIP-516)."""

_STRICT_SINCE = {ApiKey.CREATE_TOPICS: 6, ApiKey.DELETE_TOPICS: 5, ApiKey.CREATE_PARTITIONS: 3}
STRICT_MUTATION_QUOTA = {
    key: _each_version(key, lambda version, since=first: version >= since)  # type: ignore[misc]
    for key, first in _STRICT_SINCE.items()
}
"""Whether changes over the quota are refused; older clients do not know the error, and are throttled (KIP-599)."""

DELETE_TOPICS_HAS_MESSAGE = _each_version(ApiKey.DELETE_TOPICS, lambda version: version >= 5)
"""Whether an error comes with a message (KIP-599)."""

ELECT_LEADERS_HAS_TYPE = _each_version(ApiKey.ELECT_LEADERS, lambda version: version >= 1)
"""Whether the kind of election is named; else it is a preferred one (KIP-460)."""

DESCRIBE_CONFIGS_HAS_IS_DEFAULT = _each_version(ApiKey.DESCRIBE_CONFIGS, lambda version: version == 0)
"""Whether an entry says only that it is a default; else it names its source."""

INIT_PRODUCER_ID_FENCED = _each_version(
    ApiKey.INIT_PRODUCER_ID,
    lambda version: ErrorCode.PRODUCER_FENCED if version >= 4 else ErrorCode.INVALID_PRODUCER_EPOCH,
)
"""The error for a producer that another one has replaced (KIP-588)."""

ADD_PARTITIONS_TO_TXN_FENCED = _each_version(
    ApiKey.ADD_PARTITIONS_TO_TXN,
    lambda version: ErrorCode.PRODUCER_FENCED if version >= 2 else ErrorCode.INVALID_PRODUCER_EPOCH,
)
ADD_OFFSETS_TO_TXN_FENCED = _each_version(
    ApiKey.ADD_OFFSETS_TO_TXN,
    lambda version: ErrorCode.PRODUCER_FENCED if version >= 2 else ErrorCode.INVALID_PRODUCER_EPOCH,
)
END_TXN_FENCED = _each_version(
    ApiKey.END_TXN,
    lambda version: ErrorCode.PRODUCER_FENCED if version >= 2 else ErrorCode.INVALID_PRODUCER_EPOCH,
)
