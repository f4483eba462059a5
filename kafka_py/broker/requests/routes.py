"""The table of APIs: API -> handler, authorization rule of the whole request, quota class.

The quota class says what a request is charged to (throttling.py). Knows handlers only by their name; service.py imports
them.
Source: docs/reference/apis.tsv; docs/reference/later-apis.tsv; docs/reference/protocol.md, section 2.
"""

from __future__ import annotations

from enum import Enum
from typing import NamedTuple

from kafka_py.base.errors import ErrorCode
from kafka_py.security.acls.vocabulary import Operation, ResourceType
from kafka_py.wire.apis import ApiKey


class QuotaClass(Enum):
    """The quota that a request counts against."""

    PRODUCE = "produce"
    FETCH = "fetch"
    REQUEST = "request"
    MUTATION = "controller mutation"
    EXEMPT = "exempt"


class Rule(NamedTuple):
    """Authorization of a request as a whole; handlers check topics and groups."""

    operation: Operation
    resource_type: ResourceType
    refusal: ErrorCode


CLUSTER_ACTION = Rule(Operation.CLUSTER_ACTION, ResourceType.CLUSTER, ErrorCode.CLUSTER_AUTHORIZATION_FAILED)
ALTER_CLUSTER = Rule(Operation.ALTER, ResourceType.CLUSTER, ErrorCode.CLUSTER_AUTHORIZATION_FAILED)
ALTER_CLUSTER_CONFIGS = ALTER_CLUSTER._replace(operation=Operation.ALTER_CONFIGS)
DESCRIBE_CLUSTER_CONFIGS = ALTER_CLUSTER._replace(operation=Operation.DESCRIBE_CONFIGS)
DESCRIBE_CLUSTER = Rule(Operation.DESCRIBE, ResourceType.CLUSTER, ErrorCode.CLUSTER_AUTHORIZATION_FAILED)


class Route(NamedTuple):
    """One row. handler: a module of handlers/, or the error code of an API without one. text: its error message."""

    handler: str | ErrorCode
    rule: Rule | None = None
    throttle: QuotaClass = QuotaClass.REQUEST
    text: str = ""


ROUTES: dict[ApiKey, Route] = {
    ApiKey.PRODUCE: Route("records.produce", throttle=QuotaClass.PRODUCE),
    ApiKey.FETCH: Route("records.fetch", throttle=QuotaClass.FETCH),
    ApiKey.LIST_OFFSETS: Route("records.list_offsets"),
    ApiKey.METADATA: Route("admin.metadata"),
    ApiKey.LEADER_AND_ISR: Route("brokers.leader_and_isr", CLUSTER_ACTION, QuotaClass.EXEMPT),
    ApiKey.STOP_REPLICA: Route("brokers.stop_replica", CLUSTER_ACTION, QuotaClass.EXEMPT),
    ApiKey.UPDATE_METADATA: Route("brokers.update_metadata", CLUSTER_ACTION, QuotaClass.EXEMPT),
    ApiKey.CONTROLLED_SHUTDOWN: Route("brokers.controlled_shutdown", CLUSTER_ACTION, QuotaClass.EXEMPT),
    ApiKey.OFFSET_COMMIT: Route("groups.offset_commit"),
    ApiKey.OFFSET_FETCH: Route("groups.offset_fetch"),
    ApiKey.FIND_COORDINATOR: Route("groups.find_coordinator"),
    ApiKey.JOIN_GROUP: Route("groups.join_group"),
    ApiKey.HEARTBEAT: Route("groups.heartbeat"),
    ApiKey.LEAVE_GROUP: Route("groups.leave_group"),
    ApiKey.SYNC_GROUP: Route("groups.sync_group"),
    ApiKey.DESCRIBE_GROUPS: Route("groups.describe_groups"),
    ApiKey.LIST_GROUPS: Route("groups.list_groups"),
    ApiKey.SASL_HANDSHAKE: Route(ErrorCode.ILLEGAL_SASL_STATE),
    ApiKey.API_VERSIONS: Route("admin.api_versions"),
    ApiKey.CREATE_TOPICS: Route("admin.create_topics", throttle=QuotaClass.MUTATION),
    ApiKey.DELETE_TOPICS: Route("admin.delete_topics", throttle=QuotaClass.MUTATION),
    ApiKey.DELETE_RECORDS: Route("records.delete_records"),
    ApiKey.INIT_PRODUCER_ID: Route("records.init_producer_id"),
    ApiKey.OFFSET_FOR_LEADER_EPOCH: Route("records.offset_for_leader_epoch"),
    ApiKey.ADD_PARTITIONS_TO_TXN: Route("records.add_partitions_to_txn"),
    ApiKey.ADD_OFFSETS_TO_TXN: Route("records.add_offsets_to_txn"),
    ApiKey.END_TXN: Route("records.end_txn"),
    ApiKey.WRITE_TXN_MARKERS: Route("records.write_txn_markers", CLUSTER_ACTION, QuotaClass.EXEMPT),
    ApiKey.TXN_OFFSET_COMMIT: Route("groups.txn_offset_commit"),
    ApiKey.DESCRIBE_ACLS: Route("admin.describe_acls", DESCRIBE_CLUSTER),
    ApiKey.CREATE_ACLS: Route("admin.create_acls", ALTER_CLUSTER),
    ApiKey.DELETE_ACLS: Route("admin.delete_acls", ALTER_CLUSTER),
    ApiKey.DESCRIBE_CONFIGS: Route("admin.describe_configs"),
    ApiKey.ALTER_CONFIGS: Route("admin.alter_configs"),
    ApiKey.ALTER_REPLICA_LOG_DIRS: Route("admin.alter_replica_log_dirs"),
    ApiKey.DESCRIBE_LOG_DIRS: Route("admin.describe_log_dirs"),
    ApiKey.SASL_AUTHENTICATE: Route(ErrorCode.ILLEGAL_SASL_STATE),
    ApiKey.CREATE_PARTITIONS: Route("admin.create_partitions", throttle=QuotaClass.MUTATION),
    ApiKey.CREATE_DELEGATION_TOKEN: Route("tokens.create_delegation_token"),
    ApiKey.RENEW_DELEGATION_TOKEN: Route("tokens.renew_delegation_token"),
    ApiKey.EXPIRE_DELEGATION_TOKEN: Route("tokens.expire_delegation_token"),
    ApiKey.DESCRIBE_DELEGATION_TOKEN: Route("tokens.describe_delegation_token"),
    ApiKey.DELETE_GROUPS: Route("groups.delete_groups"),
    ApiKey.ELECT_LEADERS: Route("admin.elect_leaders", ALTER_CLUSTER),
    ApiKey.INCREMENTAL_ALTER_CONFIGS: Route("admin.incremental_alter_configs"),
    ApiKey.ALTER_PARTITION_REASSIGNMENTS: Route("admin.alter_partition_reassignments", ALTER_CLUSTER),
    ApiKey.LIST_PARTITION_REASSIGNMENTS: Route("admin.list_partition_reassignments", DESCRIBE_CLUSTER),
    ApiKey.OFFSET_DELETE: Route("groups.offset_delete"),
    ApiKey.DESCRIBE_CLIENT_QUOTAS: Route("admin.describe_client_quotas", DESCRIBE_CLUSTER_CONFIGS),
    ApiKey.ALTER_CLIENT_QUOTAS: Route("admin.alter_client_quotas", ALTER_CLUSTER_CONFIGS),
    ApiKey.DESCRIBE_USER_SCRAM_CREDENTIALS: Route("admin.describe_user_scram_credentials", DESCRIBE_CLUSTER),
    ApiKey.ALTER_USER_SCRAM_CREDENTIALS: Route("admin.alter_user_scram_credentials"),
    ApiKey.ALTER_ISR: Route("brokers.alter_isr", CLUSTER_ACTION, QuotaClass.EXEMPT),
    ApiKey.UPDATE_FEATURES: Route("admin.update_features", ALTER_CLUSTER),
    ApiKey.DESCRIBE_CLUSTER: Route("admin.describe_cluster"),
    ApiKey.DESCRIBE_PRODUCERS: Route("records.describe_producers"),
    ApiKey.DESCRIBE_TRANSACTIONS: Route("records.describe_transactions"),
    ApiKey.LIST_TRANSACTIONS: Route("records.list_transactions"),
}
