"""ACLs and filters as requests have them, read into values. Source: docs/reference/security/acls.md, section 5."""

from __future__ import annotations

from kafka_py.base.errors import ErrorCode, KafkaError
from kafka_py.security.acls.bindings import (
    AclBinding,
    AclEntry,
    AclFilter,
    EntryFilter,
    PatternFilter,
    ResourcePattern,
)
from kafka_py.security.acls.vocabulary import Operation, PatternType, Permission, ResourceType
from kafka_py.wire.messages.create_acls import AclCreation
from kafka_py.wire.messages.delete_acls import DeleteAclsFilter
from kafka_py.wire.messages.describe_acls import DescribeAclsRequest

Words = tuple[ResourceType, PatternType, Operation, Permission]


class UnknownWord(ValueError):
    """A code that is 0 or not defined. Apache Kafka closes the connection, as if the request could not be decoded."""


def binding_of(row: AclCreation) -> AclBinding:
    """The ACL to create. Raises UnknownWord, and KafkaError for words that only filters have."""
    words = _words(row.resource_type, row.resource_pattern_type, row.operation, row.permission_type)
    resource_type, pattern_type, operation, permission = words
    if pattern_type is PatternType.MATCH or any(word.name == "ANY" for word in words):
        raise KafkaError(ErrorCode.UNKNOWN_SERVER_ERROR)
    pattern = ResourcePattern(resource_type, row.resource_name, pattern_type)
    return AclBinding(pattern, AclEntry(row.principal, row.host, operation, permission))


def filter_of(row: DescribeAclsRequest | DeleteAclsFilter) -> AclFilter:
    """The filter. Raises UnknownWord."""
    resource_type, pattern_type, operation, permission = _words(
        row.resource_type_filter, row.pattern_type_filter, row.operation, row.permission_type
    )
    return AclFilter(
        PatternFilter(resource_type, row.resource_name_filter, pattern_type),
        EntryFilter(row.principal_filter, row.host_filter, operation, permission),
    )


def _words(resource_type: int, pattern_type: int, operation: int, permission: int) -> Words:
    words = ResourceType(resource_type), PatternType(pattern_type), Operation(operation), Permission(permission)
    if 0 in words:
        raise UnknownWord(f"an ACL with unknown codes: {(resource_type, pattern_type, operation, permission)}")
    return words
