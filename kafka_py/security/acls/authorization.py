"""The interface of an authorizer, and the one of a broker without `authorizer.class.name`, which allows everything.

An authorizer of the operator's own need not keep ACLs.
Source: docs/reference/security/acls.md, section 3; AclAuthorizer; KIP-430 (authorized operations); KIP-504.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from enum import Enum
from typing import NamedTuple, Protocol

from kafka_py.base.errors import ErrorCode, KafkaError
from kafka_py.net.principal import Principal
from kafka_py.security.acls.bindings import AclBinding, AclFilter
from kafka_py.security.acls.vocabulary import OPERATIONS_OF, Operation, ResourceType

MOST_ALLOWED_AT_ONCE = 64
"""Resources that a handler asks for before others have the loop: a line of the audit log takes some 15 microseconds."""


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


class Removal(NamedTuple):
    """An ACL that a filter selected. error: why it was not removed."""

    binding: AclBinding
    error: KafkaError | None = None


class Authorizer(Protocol):
    """Decides whether a principal may do an operation on a resource, and keeps the ACLs that say so."""

    def allows(
        self, who: Asker, operation: Operation, resource_type: ResourceType, name: str, audit: Audit = Audit.ALWAYS, /
    ) -> bool: ...

    def allows_on_any(self, who: Asker, operation: Operation, resource_type: ResourceType, /) -> bool:
        """Whether there is, or could be, a resource of that type on which the operation is allowed (KIP-679)."""
        ...

    def acls(self) -> Iterable[AclBinding]:
        """All ACLs at this moment; they may be taken in turns. Raises KafkaError if it keeps none."""
        ...

    async def create_acls(self, bindings: Sequence[AclBinding]) -> Sequence[KafkaError | None]:
        """The result of each; returns when they are stored. Raises KafkaError if it keeps none."""
        ...

    async def delete_acls(self, filters: Sequence[AclFilter]) -> Sequence[Sequence[Removal]]:
        """What each filter selected first; returns when it is removed. Raises KafkaError if it keeps none."""
        ...

    async def start(self) -> None:
        """Gets ready to decide; the broker serves no request before."""
        ...

    async def close(self) -> None: ...


def no_authorizer() -> KafkaError:
    """What a change of ACLs is answered without an authorizer."""
    return KafkaError(ErrorCode.SECURITY_DISABLED, "No Authorizer is configured on the broker.")


class AllowAll:
    """Allows every operation to every principal, and keeps no ACLs."""

    __slots__ = ()

    def allows(
        self, who: Asker, operation: Operation, resource_type: ResourceType, name: str, audit: Audit = Audit.ALWAYS, /
    ) -> bool:
        return True

    def allows_on_any(self, who: Asker, operation: Operation, resource_type: ResourceType, /) -> bool:
        return True

    def acls(self) -> Iterable[AclBinding]:
        raise KafkaError(ErrorCode.SECURITY_DISABLED, "No Authorizer is configured on the broker")

    async def create_acls(self, bindings: Sequence[AclBinding]) -> Sequence[KafkaError | None]:
        raise no_authorizer()

    async def delete_acls(self, filters: Sequence[AclFilter]) -> Sequence[Sequence[Removal]]:
        raise no_authorizer()

    async def start(self) -> None:
        """Nothing to read."""

    async def close(self) -> None:
        """Nothing to close."""


ALLOW_ALL = AllowAll()


def authorized_operations(authorizer: Authorizer, who: Asker, resource_type: ResourceType, name: str) -> int:
    """The allowed operations, as a bit field (KIP-430)."""
    return sum(
        1 << operation
        for operation in OPERATIONS_OF[resource_type]
        if authorizer.allows(who, operation, resource_type, name, Audit.NEVER)
    )
