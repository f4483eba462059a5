"""The error table: code, what a client does next, meaning; and the one exception class that carries a code.

A handler raises KafkaError where the failure is known; the dispatcher turns it into a response once.
Source: docs/reference/errors.tsv; docs/reference/later-errors.tsv.
"""

from enum import Enum, IntEnum
from typing import Self


class Action(Enum):
    """What a client does after an error: the column that tells retriable from fatal."""

    NOTHING = "nothing"
    FAIL = "fail"
    RETRY = "retry"
    REFRESH_METADATA = "refresh metadata and retry"
    FIND_COORDINATOR = "find the coordinator and retry"


FAIL = Action.FAIL
RETRY = Action.RETRY
REFRESH_METADATA = Action.REFRESH_METADATA
FIND_COORDINATOR = Action.FIND_COORDINATOR


class ErrorCode(IntEnum):
    """Every code of the protocol. `action` says what a client does next, `meaning` what happened."""

    action: Action
    meaning: str

    def __new__(cls, code: int, action: Action = Action.FAIL, meaning: str = "") -> Self:
        member = int.__new__(cls, code)
        member._value_ = code
        member.action = action
        member.meaning = meaning
        return member

    @property
    def retriable(self) -> bool:
        """Whether the same request may succeed later."""
        return self.action in (RETRY, REFRESH_METADATA, FIND_COORDINATOR)

    @property
    def invalid_metadata(self) -> bool:
        """Whether the client's picture of the cluster is out of date."""
        return self.action is REFRESH_METADATA

    UNKNOWN_SERVER_ERROR = -1, FAIL, "any unforeseen failure inside the broker"
    NONE = 0, Action.NOTHING, "no error, the request part succeeded"
    OFFSET_OUT_OF_RANGE = 1, FAIL, "fetch position below log start or past end"
    CORRUPT_MESSAGE = 2, RETRY, "bad checksum, broken batch, or keyless record for compaction"
    UNKNOWN_TOPIC_OR_PARTITION = 3, REFRESH_METADATA, "topic or partition not known on this broker"
    INVALID_FETCH_SIZE = 4, FAIL, "fetch size value not acceptable (never sent today)"
    LEADER_NOT_AVAILABLE = 5, REFRESH_METADATA, "no leader right now, election pending"
    NOT_LEADER_OR_FOLLOWER = 6, REFRESH_METADATA, "broker is neither leader nor usable replica"
    REQUEST_TIMED_OUT = 7, RETRY, "work did not finish inside the timeout"
    BROKER_NOT_AVAILABLE = 8, FAIL, "target broker is not running (old tools)"
    REPLICA_NOT_AVAILABLE = 9, REFRESH_METADATA, "replica missing here, or log directory offline"
    MESSAGE_TOO_LARGE = 10, FAIL, "batch bigger than max.message.bytes"
    STALE_CONTROLLER_EPOCH = 11, FAIL, "sender is an outdated controller"
    OFFSET_METADATA_TOO_LARGE = 12, FAIL, "commit metadata string above offset.metadata.max.bytes"
    NETWORK_EXCEPTION = 13, REFRESH_METADATA, "connection dropped before reply (client side only)"
    COORDINATOR_LOAD_IN_PROGRESS = 14, RETRY, "coordinator partition still loading; retry same broker"
    COORDINATOR_NOT_AVAILABLE = 15, FIND_COORDINATOR, "no coordinator available; look up again later"
    NOT_COORDINATOR = 16, FIND_COORDINATOR, "this broker does not coordinate the group/id"
    INVALID_TOPIC_EXCEPTION = 17, FAIL, "bad topic name, or writing to internal topic"
    RECORD_LIST_TOO_LARGE = 18, FAIL, "batch set bigger than one log segment"
    NOT_ENOUGH_REPLICAS = 19, RETRY, "ISR below minimum before append, acks=all"
    NOT_ENOUGH_REPLICAS_AFTER_APPEND = 20, RETRY, "appended, then ISR fell below minimum"
    INVALID_REQUIRED_ACKS = 21, FAIL, "acks was not -1, 0 or 1"
    ILLEGAL_GENERATION = 22, FAIL, "generation id differs from the group generation"
    INCONSISTENT_GROUP_PROTOCOL = 23, FAIL, "protocol type or names do not match the group"
    INVALID_GROUP_ID = 24, FAIL, "group id empty or null where not allowed"
    UNKNOWN_MEMBER_ID = 25, FAIL, "member id is not in the group"
    INVALID_SESSION_TIMEOUT = 26, FAIL, "session timeout outside broker limits"
    REBALANCE_IN_PROGRESS = 27, FAIL, "group is rebalancing; member must rejoin"
    INVALID_COMMIT_OFFSET_SIZE = 28, FAIL, "commit record too large for offsets topic"
    TOPIC_AUTHORIZATION_FAILED = 29, FAIL, "principal lacks permission on the topic"
    GROUP_AUTHORIZATION_FAILED = 30, FAIL, "principal lacks permission on the group"
    CLUSTER_AUTHORIZATION_FAILED = 31, FAIL, "principal lacks permission on the cluster"
    INVALID_TIMESTAMP = 32, FAIL, "record timestamp too far from broker time"
    UNSUPPORTED_SASL_MECHANISM = 33, FAIL, "SASL mechanism not enabled on this listener"
    ILLEGAL_SASL_STATE = 34, FAIL, "request not allowed in this authentication step"
    UNSUPPORTED_VERSION = 35, FAIL, "API version, or feature, not supported here"
    TOPIC_ALREADY_EXISTS = 36, FAIL, "topic of that name already exists"
    INVALID_PARTITIONS = 37, FAIL, "partition count zero, negative or not larger"
    INVALID_REPLICATION_FACTOR = 38, FAIL, "replication factor below one or above live brokers"
    INVALID_REPLICA_ASSIGNMENT = 39, FAIL, "manual replica list malformed or unknown broker"
    INVALID_CONFIG = 40, FAIL, "configuration key or value rejected"
    NOT_CONTROLLER = 41, RETRY, "request needs the active controller, elsewhere"
    INVALID_REQUEST = 42, FAIL, "malformed or contradictory request contents"
    UNSUPPORTED_FOR_MESSAGE_FORMAT = 43, FAIL, "topic message format too old for request"
    POLICY_VIOLATION = 44, FAIL, "create-topic or alter-config policy said no"
    OUT_OF_ORDER_SEQUENCE_NUMBER = 45, FAIL, "sequence gap for an idempotent producer"
    DUPLICATE_SEQUENCE_NUMBER = 46, FAIL, "repeated sequence outside cached batches (unused broker-side)"
    INVALID_PRODUCER_EPOCH = 47, FAIL, "producer epoch older than the stored epoch"
    INVALID_TXN_STATE = 48, FAIL, "transaction step illegal in current state"
    INVALID_PRODUCER_ID_MAPPING = 49, FAIL, "producer id not the one mapped to transactional id"
    INVALID_TRANSACTION_TIMEOUT = 50, FAIL, "timeout above transaction.max.timeout.ms, or not positive"
    CONCURRENT_TRANSACTIONS = 51, FAIL, "earlier transaction step still in progress; retry"
    TRANSACTION_COORDINATOR_FENCED = 52, FAIL, "marker sent by an outdated transaction coordinator"
    TRANSACTIONAL_ID_AUTHORIZATION_FAILED = 53, FAIL, "principal lacks permission on transactional id"
    SECURITY_DISABLED = 54, FAIL, "ACL request but no authorizer configured"
    OPERATION_NOT_ATTEMPTED = 55, FAIL, "not executed because another batch item failed"
    KAFKA_STORAGE_ERROR = 56, REFRESH_METADATA, "log directory failed with an I/O error"
    LOG_DIR_NOT_FOUND = 57, FAIL, "named log directory not configured, or offline"
    SASL_AUTHENTICATION_FAILED = 58, FAIL, "credentials rejected during SASL"
    UNKNOWN_PRODUCER_ID = 59, FAIL, "no state for producer id (not emitted in 2.8)"
    REASSIGNMENT_IN_PROGRESS = 60, FAIL, "reassignment already running for the partition"
    DELEGATION_TOKEN_AUTH_DISABLED = 61, FAIL, "delegation tokens off: no master/secret key"
    DELEGATION_TOKEN_NOT_FOUND = 62, FAIL, "no token with that id or HMAC"
    DELEGATION_TOKEN_OWNER_MISMATCH = 63, FAIL, "principal is neither token owner nor renewer"
    DELEGATION_TOKEN_REQUEST_NOT_ALLOWED = 64, FAIL, "channel type may not manage tokens"
    DELEGATION_TOKEN_AUTHORIZATION_FAILED = 65, FAIL, "no permission to see the tokens"
    DELEGATION_TOKEN_EXPIRED = 66, FAIL, "token is past its expiry time"
    INVALID_PRINCIPAL_TYPE = 67, FAIL, "renewer principal type must be User"
    NON_EMPTY_GROUP = 68, FAIL, "group still has members, cannot delete"
    GROUP_ID_NOT_FOUND = 69, FAIL, "group does not exist"
    FETCH_SESSION_ID_NOT_FOUND = 70, RETRY, "fetch session id unknown or evicted"
    INVALID_FETCH_SESSION_EPOCH = 71, RETRY, "fetch session epoch not the expected one"
    LISTENER_NOT_FOUND = 72, REFRESH_METADATA, "leader lacks the listener the client used"
    TOPIC_DELETION_DISABLED = 73, FAIL, "topic deletion switched off (delete.topic.enable false)"
    FENCED_LEADER_EPOCH = 74, REFRESH_METADATA, "request leader epoch older than broker epoch"
    UNKNOWN_LEADER_EPOCH = 75, RETRY, "request leader epoch newer than broker epoch"
    UNSUPPORTED_COMPRESSION_TYPE = 76, FAIL, "client version cannot read zstd data"
    STALE_BROKER_EPOCH = 77, FAIL, "broker epoch in request is outdated"
    OFFSET_NOT_AVAILABLE = 78, RETRY, "new leader has not caught up its high watermark"
    MEMBER_ID_REQUIRED = 79, FAIL, "join again using the returned member id"
    PREFERRED_LEADER_NOT_AVAILABLE = 80, REFRESH_METADATA, "preferred replica not alive or not in ISR"
    GROUP_MAX_SIZE_REACHED = 81, FAIL, "group already holds group.max.size members"
    FENCED_INSTANCE_ID = 82, FAIL, "instance id now belongs to another member id"
    ELIGIBLE_LEADERS_NOT_AVAILABLE = 83, REFRESH_METADATA, "no live eligible replica can lead"
    ELECTION_NOT_NEEDED = 84, REFRESH_METADATA, "wanted leader already leads"
    NO_REASSIGNMENT_IN_PROGRESS = 85, FAIL, "nothing to cancel or list for partition"
    GROUP_SUBSCRIBED_TO_TOPIC = 86, FAIL, "group is subscribed to the topic"
    INVALID_RECORD = 87, FAIL, "record failed checks (keys, indexes, offsets)"
    UNSTABLE_OFFSET_COMMIT = 88, RETRY, "pending transactional commit on these offsets"
    THROTTLING_QUOTA_EXCEEDED = 89, RETRY, "controller mutation quota used up; retry later"
    PRODUCER_FENCED = 90, FAIL, "newer producer has the same transactional id"
    RESOURCE_NOT_FOUND = 91, FAIL, "named user, group or resource not found"
    DUPLICATE_RESOURCE = 92, FAIL, "same resource listed twice in the request"
    UNACCEPTABLE_CREDENTIAL = 93, FAIL, "SCRAM iterations or password data unacceptable"
    INCONSISTENT_VOTER_SET = 94, FAIL, "KRaft quorum only: voter mismatch"
    INVALID_UPDATE_VERSION = 95, FAIL, "ISR (AlterIsr) state version did not match"
    FEATURE_UPDATE_FAILED = 96, FAIL, "finalised feature change failed unexpectedly"
    PRINCIPAL_DESERIALIZATION_FAILURE = 97, FAIL, "forwarded principal could not be decoded"
    SNAPSHOT_NOT_FOUND = 98, FAIL, "KRaft only: no such snapshot"
    POSITION_OUT_OF_RANGE = 99, FAIL, "KRaft only: snapshot position out of range"
    UNKNOWN_TOPIC_ID = 100, REFRESH_METADATA, "no topic with this topic id here"
    DUPLICATE_BROKER_REGISTRATION = 101, FAIL, "KRaft only: broker id registered already"
    BROKER_ID_NOT_REGISTERED = 102, FAIL, "KRaft only: broker id not registered"
    INCONSISTENT_TOPIC_ID = 103, REFRESH_METADATA, "stored topic id differs from request id"
    INCONSISTENT_CLUSTER_ID = 104, FAIL, "cluster id differs from the server cluster id"
    TRANSACTIONAL_ID_NOT_FOUND = 105, FAIL, "the coordinator has no such transactional id (KIP-664)"


_CODES = {int(code): code for code in ErrorCode}


def error_code_of(number: int) -> ErrorCode:
    """The code with this number; UNKNOWN_SERVER_ERROR for a number of a later release."""
    return _CODES.get(number, ErrorCode.UNKNOWN_SERVER_ERROR)


class KafkaError(Exception):
    """A failure that has a place in the protocol.

    code: sent to the peer.
    detail: for people: names the topic, setting, file or offset, and what to do.
    """

    def __init__(self, code: ErrorCode, detail: str = "") -> None:
        super().__init__(code, detail)
        self.code = code
        self.detail = detail

    @property
    def message(self) -> str:
        """The detail, or the code's meaning when there is none."""
        return self.detail or self.code.meaning

    @property
    def retriable(self) -> bool:
        """Whether the same call may succeed later."""
        return self.code.retriable

    def __str__(self) -> str:
        return f"{self.code.name}: {self.message}"


class ConfigError(KafkaError):
    """A setting that cannot be taken; the detail names the setting, the value and what is allowed."""

    def __init__(self, detail: str) -> None:
        super().__init__(ErrorCode.INVALID_CONFIG, detail)
