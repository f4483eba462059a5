"""The api table: every API's key, versions, flexible version, the most a request may cost, and its message classes.

APIS is what a 2.8 broker in ZooKeeper mode serves and advertises, and two APIs of later releases; ApiKey also names
what only KRaft has. Message modules are imported when their class is first asked for, so this table costs nothing at
start-up.
Source: docs/reference/apis.tsv; docs/reference/later-apis.tsv; a test compares each row with the message declarations.
"""

from enum import IntEnum
from importlib import import_module
from typing import Any

from kafka_py.wire.primitives import SPREAD_OUT

KiB = 1024
MiB = 1024 * KiB


class ApiKey(IntEnum):
    """Every key of the 2.8 protocol, and those in LATER."""

    PRODUCE = 0
    FETCH = 1
    LIST_OFFSETS = 2
    METADATA = 3
    LEADER_AND_ISR = 4
    STOP_REPLICA = 5
    UPDATE_METADATA = 6
    CONTROLLED_SHUTDOWN = 7
    OFFSET_COMMIT = 8
    OFFSET_FETCH = 9
    FIND_COORDINATOR = 10
    JOIN_GROUP = 11
    HEARTBEAT = 12
    LEAVE_GROUP = 13
    SYNC_GROUP = 14
    DESCRIBE_GROUPS = 15
    LIST_GROUPS = 16
    SASL_HANDSHAKE = 17
    API_VERSIONS = 18
    CREATE_TOPICS = 19
    DELETE_TOPICS = 20
    DELETE_RECORDS = 21
    INIT_PRODUCER_ID = 22
    OFFSET_FOR_LEADER_EPOCH = 23
    ADD_PARTITIONS_TO_TXN = 24
    ADD_OFFSETS_TO_TXN = 25
    END_TXN = 26
    WRITE_TXN_MARKERS = 27
    TXN_OFFSET_COMMIT = 28
    DESCRIBE_ACLS = 29
    CREATE_ACLS = 30
    DELETE_ACLS = 31
    DESCRIBE_CONFIGS = 32
    ALTER_CONFIGS = 33
    ALTER_REPLICA_LOG_DIRS = 34
    DESCRIBE_LOG_DIRS = 35
    SASL_AUTHENTICATE = 36
    CREATE_PARTITIONS = 37
    CREATE_DELEGATION_TOKEN = 38
    RENEW_DELEGATION_TOKEN = 39
    EXPIRE_DELEGATION_TOKEN = 40
    DESCRIBE_DELEGATION_TOKEN = 41
    DELETE_GROUPS = 42
    ELECT_LEADERS = 43
    INCREMENTAL_ALTER_CONFIGS = 44
    ALTER_PARTITION_REASSIGNMENTS = 45
    LIST_PARTITION_REASSIGNMENTS = 46
    OFFSET_DELETE = 47
    DESCRIBE_CLIENT_QUOTAS = 48
    ALTER_CLIENT_QUOTAS = 49
    DESCRIBE_USER_SCRAM_CREDENTIALS = 50
    ALTER_USER_SCRAM_CREDENTIALS = 51
    VOTE = 52
    BEGIN_QUORUM_EPOCH = 53
    END_QUORUM_EPOCH = 54
    DESCRIBE_QUORUM = 55
    ALTER_ISR = 56
    UPDATE_FEATURES = 57
    ENVELOPE = 58
    FETCH_SNAPSHOT = 59
    DESCRIBE_CLUSTER = 60
    DESCRIBE_PRODUCERS = 61
    BROKER_REGISTRATION = 62
    BROKER_HEARTBEAT = 63
    UNREGISTER_BROKER = 64
    DESCRIBE_TRANSACTIONS = 65
    LIST_TRANSACTIONS = 66


class Api:
    """One row: what is asked and answered under one key, in which versions, and how large a request may be.

    max_version: the highest that brokers of 2.8 serve, and ours. known_version: the highest that our clients can speak
        with brokers of later releases.
    request_bytes: the largest frame, without its size; None where socket.request.max.bytes alone decides.
    elements: the most array elements, of all arrays and nesting depths together; tagged fields count as well. Both are
        far above what clients send: they keep one request from taking the memory and the loop from all others.
    """

    __slots__ = (
        "_flexible_response_header",
        "_request",
        "_response",
        "brokers_only",
        "elements",
        "first_flexible",
        "flexible_from",
        "key",
        "known_version",
        "max_version",
        "min_version",
        "name",
        "plain_headers",
        "request_bytes",
    )

    def __init__(
        self,
        key: ApiKey,
        max_version: int,
        flexible_from: int | None,
        *,
        known_version: int | None = None,
        brokers_only: bool = False,
        request_bytes: int | None = 8 * MiB,
        elements: int = 100_000,
    ) -> None:
        self.key = key
        self.name = "".join(word.capitalize() for word in key.name.split("_"))
        self.min_version = 0
        self.max_version = max_version
        self.known_version = max_version if known_version is None else known_version
        self.flexible_from = flexible_from  # the first version with compact lengths and tags (KIP-482)
        self.first_flexible = 32768 if flexible_from is None else flexible_from
        self._flexible_response_header = int(key is not ApiKey.API_VERSIONS)
        # Header version of version 0, then of the other versions that are not flexible.
        self.plain_headers = (0, 1) if key is ApiKey.CONTROLLED_SHUTDOWN else (1, 1)
        self.brokers_only = brokers_only  # asks for CLUSTER_ACTION; ordinary clients have no use for it
        self.request_bytes = request_bytes
        self.elements = elements
        self._request: type[Any] | None = None
        self._response: type[Any] | None = None

    @property
    def request(self) -> type[Any]:
        """The request class."""
        if self._request is None:
            self._request = self._message_class("Request")
        return self._request

    @property
    def response(self) -> type[Any]:
        """The response class."""
        if self._response is None:
            self._response = self._message_class("Response")
        return self._response

    def supports(self, version: int) -> bool:
        return self.min_version <= version <= self.max_version

    def is_flexible(self, version: int) -> bool:
        return version >= self.first_flexible

    def request_header_version(self, version: int) -> int:
        """0: without a client id, ControlledShutdown v0 alone; 1: with it; 2: with tagged fields as well."""
        return 2 if version >= self.first_flexible else self.plain_headers[version != 0]

    def response_header_version(self, version: int) -> int:
        """1 adds tagged fields; never for ApiVersions: its reader does not know yet what the broker has (KIP-511)."""
        return self._flexible_response_header if version >= self.first_flexible else 0

    def __repr__(self) -> str:
        return f"Api({self.name}, {self.min_version}-{self.max_version})"

    def _message_class(self, suffix: str) -> type[Any]:
        module = import_module(f"kafka_py.wire.messages.{self.key.name.lower()}")
        cls: type[Any] = getattr(module, self.name + suffix)
        return cls


APIS: dict[ApiKey, Api] = {
    api.key: api
    for api in (
        Api(ApiKey.PRODUCE, 9, 9, request_bytes=None, elements=20_000),
        Api(ApiKey.FETCH, 12, 12, request_bytes=32 * MiB, elements=60_000),
        Api(ApiKey.LIST_OFFSETS, 6, 6),
        Api(ApiKey.METADATA, 11, 9),
        Api(ApiKey.LEADER_AND_ISR, 5, 4, brokers_only=True, request_bytes=None, elements=5_000_000),
        Api(ApiKey.STOP_REPLICA, 3, 2, brokers_only=True, request_bytes=None, elements=1_000_000),
        Api(ApiKey.UPDATE_METADATA, 7, 6, brokers_only=True, request_bytes=None, elements=5_000_000),
        Api(ApiKey.CONTROLLED_SHUTDOWN, 3, 3, brokers_only=True, request_bytes=64 * KiB, elements=100),
        Api(ApiKey.OFFSET_COMMIT, 8, 8, request_bytes=32 * MiB),
        Api(ApiKey.OFFSET_FETCH, 7, 6),
        Api(ApiKey.FIND_COORDINATOR, 3, 3, request_bytes=256 * KiB, elements=1_000),
        Api(ApiKey.JOIN_GROUP, 7, 6, request_bytes=16 * MiB, elements=10_000),
        Api(ApiKey.HEARTBEAT, 4, 4, request_bytes=256 * KiB, elements=1_000),
        Api(ApiKey.LEAVE_GROUP, 4, 4, elements=10_000),
        Api(ApiKey.SYNC_GROUP, 5, 4, request_bytes=32 * MiB),
        Api(ApiKey.DESCRIBE_GROUPS, 5, 5),
        Api(ApiKey.LIST_GROUPS, 4, 3, request_bytes=256 * KiB, elements=1_000),
        Api(ApiKey.SASL_HANDSHAKE, 1, None, request_bytes=64 * KiB, elements=100),
        Api(ApiKey.API_VERSIONS, 3, 3, request_bytes=64 * KiB, elements=100),
        Api(ApiKey.CREATE_TOPICS, 7, 5, request_bytes=32 * MiB, elements=500_000),
        Api(ApiKey.DELETE_TOPICS, 6, 4),
        Api(ApiKey.DELETE_RECORDS, 2, 2),
        Api(ApiKey.INIT_PRODUCER_ID, 4, 2, request_bytes=256 * KiB, elements=1_000),
        Api(ApiKey.OFFSET_FOR_LEADER_EPOCH, 4, 4, request_bytes=32 * MiB),
        Api(ApiKey.ADD_PARTITIONS_TO_TXN, 3, 3, elements=10_000),
        Api(ApiKey.ADD_OFFSETS_TO_TXN, 3, 3, elements=10_000),
        Api(ApiKey.END_TXN, 3, 3, request_bytes=256 * KiB, elements=1_000),
        Api(ApiKey.WRITE_TXN_MARKERS, 1, 1, brokers_only=True, request_bytes=None, elements=1_000_000),
        Api(ApiKey.TXN_OFFSET_COMMIT, 3, 3, request_bytes=32 * MiB),
        Api(ApiKey.DESCRIBE_ACLS, 2, 2, elements=10_000),
        Api(ApiKey.CREATE_ACLS, 2, 2, elements=10_000),
        Api(ApiKey.DELETE_ACLS, 2, 2, elements=10_000),
        Api(ApiKey.DESCRIBE_CONFIGS, 4, 4),
        Api(ApiKey.ALTER_CONFIGS, 2, 2, request_bytes=32 * MiB),
        Api(ApiKey.ALTER_REPLICA_LOG_DIRS, 2, 2),
        Api(ApiKey.DESCRIBE_LOG_DIRS, 2, 2, known_version=4),
        Api(ApiKey.SASL_AUTHENTICATE, 2, 2, request_bytes=512 * KiB, elements=100),
        Api(ApiKey.CREATE_PARTITIONS, 3, 2, request_bytes=32 * MiB, elements=200_000),
        Api(ApiKey.CREATE_DELEGATION_TOKEN, 2, 2, request_bytes=256 * KiB, elements=10_000),  # fits a znode, escaped
        Api(ApiKey.RENEW_DELEGATION_TOKEN, 2, 2, request_bytes=64 * KiB, elements=100),
        Api(ApiKey.EXPIRE_DELEGATION_TOKEN, 2, 2, request_bytes=64 * KiB, elements=100),
        Api(ApiKey.DESCRIBE_DELEGATION_TOKEN, 2, 2, elements=10_000),
        Api(ApiKey.DELETE_GROUPS, 2, 2),
        Api(ApiKey.ELECT_LEADERS, 2, 2, elements=50_000),
        Api(ApiKey.INCREMENTAL_ALTER_CONFIGS, 1, 1, request_bytes=32 * MiB),
        Api(ApiKey.ALTER_PARTITION_REASSIGNMENTS, 0, 0, request_bytes=32 * MiB, elements=1_000_000),
        Api(ApiKey.LIST_PARTITION_REASSIGNMENTS, 0, 0),
        Api(ApiKey.OFFSET_DELETE, 0, None),
        Api(ApiKey.DESCRIBE_CLIENT_QUOTAS, 1, 1, elements=10_000),
        Api(ApiKey.ALTER_CLIENT_QUOTAS, 1, 1, elements=10_000),
        Api(ApiKey.DESCRIBE_USER_SCRAM_CREDENTIALS, 0, 0, elements=10_000),
        Api(ApiKey.ALTER_USER_SCRAM_CREDENTIALS, 0, 0, elements=10_000),
        Api(ApiKey.ALTER_ISR, 0, 0, brokers_only=True, request_bytes=None, elements=1_000_000),
        Api(ApiKey.UPDATE_FEATURES, 0, 0, request_bytes=256 * KiB, elements=1_000),
        Api(ApiKey.DESCRIBE_CLUSTER, 0, 0, request_bytes=64 * KiB, elements=100),
        Api(ApiKey.DESCRIBE_PRODUCERS, 0, 0),
        Api(ApiKey.DESCRIBE_TRANSACTIONS, 0, 0, elements=10_000),
        Api(ApiKey.LIST_TRANSACTIONS, 1, 0, elements=10_000),
    )
}

LATER = frozenset((ApiKey.DESCRIBE_TRANSACTIONS, ApiKey.LIST_TRANSACTIONS))
"""What releases after 2.8.2 brought: kafka-transactions.sh finds hanging transactions with it (KIP-664). A client of
2.8 skips keys that it does not know.
"""


def size_fault(key: int, size: int) -> str | None:
    """Why a request of `size` bytes is not taken, known as soon as its api key has arrived; None when it is."""
    api = APIS.get(key)  # type: ignore[call-overload]  # an IntEnum key is found by its number
    if api is None:
        return f"a request of {size} bytes for API {key}, which does not exist"
    most = api.request_bytes
    if most is None or size <= most:
        return None
    return f"{api.name} request of {size} bytes, at most {most} are allowed for this API: {SPREAD_OUT}"


ENVELOPE = Api(ApiKey.ENVELOPE, 0, 0, brokers_only=True, request_bytes=None)
"""Carries a forwarded request (KIP-590). Declared, but not served: in ZooKeeper mode nothing is forwarded."""


def api_of(key: ApiKey) -> Api:
    """The row of a key that has messages here. Raises KeyError for what only KRaft has."""
    return ENVELOPE if key is ApiKey.ENVELOPE else APIS[key]
