"""Operations, resource types, pattern types and permissions of ACLs, with the numbers of the protocol.

Each has two names: that of the protocol (`TRANSACTIONAL_ID`), and the one in ZooKeeper and logs (`TransactionalId`).
Source: docs/reference/security/acls.md, section 1; KIP-140; KIP-290; KIP-430.
"""

from __future__ import annotations

from enum import IntEnum
from functools import cache
from typing import Self

CLUSTER_NAME = "kafka-cluster"
"""The name of the one resource of the type CLUSTER."""

WILDCARD = "*"
"""As a literal resource name: every resource of the type. As a host: every host."""

EVERYONE = "User:*"
"""In an ACL: every principal, whatever its type."""


@cache
def _titled(name: str) -> str:
    return "".join(word.capitalize() for word in name.split("_"))


class AclWord(IntEnum):
    """A word with a number, and the two spellings of its name. A number that is not known is UNKNOWN."""

    @classmethod
    def _missing_(cls, value: object) -> Self | None:
        return cls(0) if isinstance(value, int) else None

    @property
    def title(self) -> str:
        """The name in ZooKeeper and in logs: `ClusterAction`."""
        return _titled(self.name)

    @classmethod
    def titled(cls, title: str) -> Self | None:
        """The word with that title, in any case of its letters; None if there is none."""
        lower = title.lower()
        return next((word for word in cls if word.title.lower() == lower), None)


class Operation(AclWord):
    """What is done to a resource. The numbers are also the bits of "authorized operations"."""

    UNKNOWN = 0
    ANY = 1
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


class ResourceType(AclWord):
    """What there are ACLs for."""

    UNKNOWN = 0
    ANY = 1
    TOPIC = 2
    GROUP = 3
    CLUSTER = 4
    TRANSACTIONAL_ID = 5
    DELEGATION_TOKEN = 6


class PatternType(AclWord):
    """How the name in an ACL is meant. ANY and MATCH are for filters: exactly that name, or all that apply to it."""

    UNKNOWN = 0
    ANY = 1
    MATCH = 2
    LITERAL = 3
    PREFIXED = 4


class Permission(AclWord):
    """Whether an ACL allows or denies."""

    UNKNOWN = 0
    ANY = 1
    DENY = 2
    ALLOW = 3


RESOURCE_TYPES = (
    ResourceType.TOPIC,
    ResourceType.GROUP,
    ResourceType.CLUSTER,
    ResourceType.TRANSACTIONAL_ID,
    ResourceType.DELEGATION_TOKEN,
)
"""The types that resources have."""

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
    ResourceType.DELEGATION_TOKEN: (Operation.DESCRIBE,),
}
"""The operations that apply to each resource type."""
