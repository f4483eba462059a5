"""Authorization: the authorizer interface, operations and resource types; so far everything is allowed.

Operations and resource types have the numbers of the protocol (operations are the bits of "authorized operations"). An
authorizer is passed in; ALLOW_ALL is that of a broker without `authorizer.class.name`.
Source: AclAuthorizer, KafkaApis; KIP-430 (authorized operations).
"""

from __future__ import annotations

from enum import IntEnum
from typing import Protocol

from kafka_py.net.principal import Principal

CLUSTER_NAME = "kafka-cluster"


class Operation(IntEnum):
    """ACL operations, with the numbers of the protocol."""

    ALL = 2
    READ = 3
    WRITE = 4
    CREATE = 5
    DELETE = 6
    ALTER = 7
    DESCRIBE = 8
    CLUSTER_ACTION = 9
    DESCRIBE_CONFIGS = 10
    ALTER_CONFIGS = 11
    IDEMPOTENT_WRITE = 12


class ResourceType(IntEnum):
    """ACL resource types, with the numbers of the protocol."""

    TOPIC = 2
    GROUP = 3
    CLUSTER = 4
    TRANSACTIONAL_ID = 5
    DELEGATION_TOKEN = 6


class Asker(Protocol):
    """The identity that an authorizer checks."""

    @property
    def principal(self) -> Principal: ...

    @property
    def host(self) -> str: ...


class Authorizer(Protocol):
    """Decides whether a principal may do an operation on a resource."""

    def allows(self, who: Asker, operation: Operation, resource_type: ResourceType, name: str) -> bool: ...


class AllowAll:
    """Allows every operation to every principal."""

    __slots__ = ()

    def allows(self, who: Asker, operation: Operation, resource_type: ResourceType, name: str) -> bool:
        return True


ALLOW_ALL = AllowAll()

OPERATIONS_OF = {
    ResourceType.TOPIC: (
        Operation.READ,
        Operation.WRITE,
        Operation.CREATE,
        Operation.DELETE,
        Operation.ALTER,
        Operation.DESCRIBE,
        Operation.DESCRIBE_CONFIGS,
        Operation.ALTER_CONFIGS,
    ),
    ResourceType.GROUP: (Operation.READ, Operation.DELETE, Operation.DESCRIBE),
    ResourceType.CLUSTER: (
        Operation.CREATE,
        Operation.ALTER,
        Operation.DESCRIBE,
        Operation.CLUSTER_ACTION,
        Operation.DESCRIBE_CONFIGS,
        Operation.ALTER_CONFIGS,
        Operation.IDEMPOTENT_WRITE,
    ),
    ResourceType.TRANSACTIONAL_ID: (Operation.WRITE, Operation.DESCRIBE),
}
"""The operations that apply to each resource type."""


def authorized_operations(authorizer: Authorizer, who: Asker, resource_type: ResourceType, name: str) -> int:
    """The allowed operations, as a bit field (KIP-430)."""
    return sum(
        1 << operation
        for operation in OPERATIONS_OF[resource_type]
        if authorizer.allows(who, operation, resource_type, name)
    )
