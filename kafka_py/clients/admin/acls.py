"""Admin calls on access control lists.

Any broker answers. An ACL is an AclBinding, a selection of them an AclFilter (security/acls/bindings.py).
Source: KIP-140; KIP-290; KafkaAdminClient.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from kafka_py.base.errors import KafkaError
from kafka_py.clients.admin.core import AdminCore, error_of
from kafka_py.clients.admin.results import Results
from kafka_py.security.acls.bindings import ALL_ACLS, AclBinding, AclEntry, AclFilter, ResourcePattern
from kafka_py.security.acls.vocabulary import Operation, PatternType, Permission, ResourceType
from kafka_py.wire.messages.create_acls import AclCreation, CreateAclsRequest
from kafka_py.wire.messages.delete_acls import DeleteAclsFilter, DeleteAclsMatchingAcl, DeleteAclsRequest
from kafka_py.wire.messages.describe_acls import AclDescription, DescribeAclsRequest


async def describe_acls(
    core: AdminCore, wanted: AclFilter = ALL_ACLS, *, timeout: float | None = None
) -> list[AclBinding]:
    """The ACLs that a filter selects, those of one resource pattern side by side. Raises KafkaError."""
    request = DescribeAclsRequest(**_filter_fields(wanted))
    response = await core.once(lambda timeout_ms: core.cluster.send_any(request, timeout_ms=timeout_ms), timeout)
    error = error_of(response.error_code, response.error_message, "the ACLs are not described")
    if error is not None:
        raise error
    return [
        AclBinding(_pattern(row.resource_type, row.resource_name, row.pattern_type), _entry(each))
        for row in response.resources
        for each in row.acls
    ]


async def create_acls(
    core: AdminCore, bindings: Collection[AclBinding], *, timeout: float | None = None
) -> Results[AclBinding, None]:
    """Adds ACLs; one that exists already is a success."""

    async def attempt(some: list[AclBinding], timeout_ms: int) -> dict[AclBinding, KafkaError | None]:
        request = CreateAclsRequest(
            creations=[
                AclCreation(
                    resource_type=pattern.type,
                    resource_name=pattern.name,
                    resource_pattern_type=pattern.pattern_type,
                    principal=entry.principal,
                    host=entry.host,
                    operation=entry.operation,
                    permission_type=entry.permission,
                )
                for pattern, entry in some
            ]
        )
        response = await core.cluster.send_any(request, timeout_ms=timeout_ms)
        return {
            binding: error_of(row.error_code, row.error_message, "the ACL is not created")
            for binding, row in zip(some, response.results, strict=False)
        }

    return await core.per_item(dict.fromkeys(bindings), attempt, timeout)


async def delete_acls(
    core: AdminCore, filters: Collection[AclFilter], *, timeout: float | None = None
) -> Results[AclFilter, list[AclBinding]]:
    """Removes ACLs; returns those that each filter removed. One that is not removed is the error of its filter."""

    async def attempt(some: list[AclFilter], timeout_ms: int) -> dict[AclFilter, list[AclBinding] | KafkaError]:
        request = DeleteAclsRequest(filters=[DeleteAclsFilter(**_filter_fields(each)) for each in some])
        response = await core.cluster.send_any(request, timeout_ms=timeout_ms)
        found: dict[AclFilter, list[AclBinding] | KafkaError] = {}
        for wanted, result in zip(some, response.filter_results, strict=False):
            rows = [result, *result.matching_acls]
            errors = [error_of(row.error_code, row.error_message, "the ACL is not deleted") for row in rows]
            failed = next(filter(None, errors), None)
            found[wanted] = failed or [
                AclBinding(_pattern(row.resource_type, row.resource_name, row.pattern_type), _entry(row))
                for row in result.matching_acls
            ]
        return found

    return await core.per_item(dict.fromkeys(filters), attempt, timeout)


def _filter_fields(wanted: AclFilter) -> dict[str, Any]:
    """The fields that DescribeAcls and a filter of DeleteAcls share."""
    pattern, entry = wanted
    return {
        "resource_type_filter": pattern.type,
        "resource_name_filter": pattern.name,
        "pattern_type_filter": pattern.pattern_type,
        "principal_filter": entry.principal,
        "host_filter": entry.host,
        "operation": entry.operation,
        "permission_type": entry.permission,
    }


def _pattern(resource_type: int, name: str, pattern_type: int) -> ResourcePattern:
    return ResourcePattern(ResourceType(resource_type), name, PatternType(pattern_type))


def _entry(row: AclDescription | DeleteAclsMatchingAcl) -> AclEntry:
    return AclEntry(row.principal, row.host, Operation(row.operation), Permission(row.permission_type))
