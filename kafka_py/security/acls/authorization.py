"""The interface of an authorizer, and the one of a broker without `authorizer.class.name`, which allows everything.

Knows nothing of ACLs: an authorizer of the operator's own need not have any.
Source: docs/reference/security/acls.md, section 3; AclAuthorizer; KIP-430 (authorized operations); KIP-504.
"""

from __future__ import annotations

from enum import Enum
from typing import Protocol

from kafka_py.net.principal import Principal
from kafka_py.security.acls.vocabulary import OPERATIONS_OF, Operation, ResourceType


class Audit(Enum):
    """Which decisions the audit log shows at its usual levels; others are shown at TRACE only.

    IF_ALLOWED: a denial has no effect by itself, because another resource is asked for next or something is left out.
    NEVER: nothing is granted; the decision is only told to the client.
    """

    ALWAYS = "always"
    IF_ALLOWED = "if allowed"
    NEVER = "never"


class Asker(Protocol):
    """The identity that an authorizer checks, and the name of the request."""

    @property
    def principal(self) -> Principal: ...

    @property
    def host(self) -> str: ...

    @property
    def request_name(self) -> str: ...


class Authorizer(Protocol):
    """Decides whether a principal may do an operation on a resource."""

    def allows(
        self, who: Asker, operation: Operation, resource_type: ResourceType, name: str, audit: Audit = Audit.ALWAYS, /
    ) -> bool: ...

    def allows_on_any(self, who: Asker, operation: Operation, resource_type: ResourceType, /) -> bool:
        """Whether there is, or could be, a resource of that type on which the operation is allowed (KIP-679)."""
        ...


class AllowAll:
    """Allows every operation to every principal."""

    __slots__ = ()

    def allows(
        self, who: Asker, operation: Operation, resource_type: ResourceType, name: str, audit: Audit = Audit.ALWAYS, /
    ) -> bool:
        return True

    def allows_on_any(self, who: Asker, operation: Operation, resource_type: ResourceType, /) -> bool:
        return True


ALLOW_ALL = AllowAll()


def authorized_operations(authorizer: Authorizer, who: Asker, resource_type: ResourceType, name: str) -> int:
    """The allowed operations, as a bit field (KIP-430)."""
    return sum(
        1 << operation
        for operation in OPERATIONS_OF[resource_type]
        if authorizer.allows(who, operation, resource_type, name, Audit.NEVER)
    )
