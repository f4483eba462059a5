"""Who may do what: the one question that every handler asks, and for now the one answer, yes.

The operations and resource types carry the numbers of the protocol (they are the bits of "authorized operations").
An authorizer is handed in; ALLOW_ALL stands for a broker without `authorizer.class.name`.
Source: AclAuthorizer, KafkaApis; KIP-430 (authorized operations).
"""

from __future__ import annotations

from enum import IntEnum
from typing import Protocol

from kafka_py.net.principal import Principal

CLUSTER_NAME = "kafka-cluster"


class Operation(IntEnum):
    """What is to be done."""

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
    """What it is done to."""

    TOPIC = 2
    GROUP = 3
    CLUSTER = 4
    TRANSACTIONAL_ID = 5
    DELEGATION_TOKEN = 6


class Asker(Protocol):
    """Who asks, as far as authorization cares."""

    @property
    def principal(self) -> Principal: ...

    @property
    def host(self) -> str: ...


class Authorizer(Protocol):
    """Decides for one principal on one resource."""

    def allows(self, who: Asker, operation: Operation, resource_type: ResourceType, name: str) -> bool: ...


class AllowAll:
    """Everybody may do everything."""

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
"""Which operations make sense on which resource."""


def authorized_operations(authorizer: Authorizer, who: Asker, resource_type: ResourceType, name: str) -> int:
    """The operations that are allowed, as a bit field (KIP-430)."""
    return sum(
        1 << operation
        for operation in OPERATIONS_OF[resource_type]
        if authorizer.allows(who, operation, resource_type, name)
    )
