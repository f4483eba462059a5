"""The ACLs and filters that the options of kafka-acls.sh mean.

Pure. Source: docs/reference/security/acls.md, section 6.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterable, Iterator, Sequence

from kafka_py.cli.common.command import CommandFailed, UsageError
from kafka_py.security.acls.bindings import AclEntry, PatternFilter, ResourcePattern
from kafka_py.security.acls.vocabulary import (
    CLUSTER_NAME,
    OPERATIONS_OF,
    WILDCARD,
    Operation,
    PatternType,
    Permission,
    ResourceType,
)

Entries = tuple[AclEntry, ...]

_CLUSTER = PatternFilter(ResourceType.CLUSTER, CLUSTER_NAME, PatternType.LITERAL)
_OPTIONS = {
    ResourceType.TOPIC: "topic",
    ResourceType.GROUP: "group",
    ResourceType.TRANSACTIONAL_ID: "transactional_id",
    ResourceType.DELEGATION_TOKEN: "delegation_token",
}
_PRODUCER_ON_TOPIC = (Operation.WRITE, Operation.DESCRIBE, Operation.CREATE)
_PRODUCER_ON_ID = (Operation.WRITE, Operation.DESCRIBE)
_CONSUMER_ON_TOPIC = (Operation.READ, Operation.DESCRIBE)


def acls_to_add(options: argparse.Namespace) -> dict[ResourcePattern, Entries]:
    """The entries to add to each pattern. Raises UsageError."""
    pattern_type = options.resource_pattern_type
    if pattern_type not in (PatternType.LITERAL, PatternType.PREFIXED):
        text = f"A '--resource-pattern-type' value of '{pattern_type.name}' is not valid when adding acls."
        raise UsageError(text)
    wanted = {
        ResourcePattern(each.type, each.name or "", each.pattern_type): entries
        for each, entries in acls_by_filter(options).items()
    }
    if not all(wanted.values()):
        raise UsageError("You must specify one of: --allow-principal, --deny-principal when trying to add ACLs.")
    return wanted


def acls_by_filter(options: argparse.Namespace) -> dict[PatternFilter, Entries]:
    """The entries that are meant on each resource; none at all: every entry of it. Raises UsageError."""
    filters = resource_filters(options)
    if not filters:
        raise UsageError(
            "You must provide at least one resource: --topic <topic> or --cluster or --group <group> or "
            "--delegation-token <Delegation Token ID>"
        )
    wanted: dict[PatternFilter, Entries] = {}
    if not options.producer and not options.consumer:
        wanted = dict.fromkeys(filters, _entries(options, _operations(options.operation)))
    if options.producer:
        wanted.update(_of_producer(options, filters))
    if options.consumer:
        for each, entries in _of_consumer(options, filters):
            wanted[each] = tuple(dict.fromkeys((*entries, *wanted.get(each, ()))))
    for each, entries in wanted.items():
        _check_operations(each.type, entries)
    return wanted


def resource_filters(options: argparse.Namespace) -> list[PatternFilter]:
    """The resources of the options; none for all."""
    pattern_type = options.resource_pattern_type
    found = [
        PatternFilter(kind, name.strip(), pattern_type)
        for kind, option in _OPTIONS.items()
        for name in getattr(options, option) or ()
    ]
    if pattern_type is PatternType.LITERAL and (options.cluster or options.idempotent):
        found.append(_CLUSTER)
    return list(dict.fromkeys(found))


def principals(texts: Iterable[str] | None) -> list[str]:
    """Principals as `type:name`. Raises CommandFailed."""
    found = []
    for text in texts or ():
        kind, colon, name = text.strip().partition(":")
        if not colon or not kind:
            raise CommandFailed(f"expected a string in format principalType:principalName but got {text.strip()}")
        found.append(f"{kind}:{name}")
    return list(dict.fromkeys(found))


def _of_producer(
    options: argparse.Namespace, filters: Sequence[PatternFilter]
) -> Iterator[tuple[PatternFilter, Entries]]:
    for each in filters:
        if each.type is ResourceType.TOPIC:
            yield each, _entries(options, _PRODUCER_ON_TOPIC)
        if each.type is ResourceType.TRANSACTIONAL_ID:
            yield each, _entries(options, _PRODUCER_ON_ID)
    if options.idempotent:
        yield _CLUSTER, _entries(options, (Operation.IDEMPOTENT_WRITE,))


def _of_consumer(
    options: argparse.Namespace, filters: Sequence[PatternFilter]
) -> Iterator[tuple[PatternFilter, Entries]]:
    for each in filters:
        if each.type is ResourceType.TOPIC:
            yield each, _entries(options, _CONSUMER_ON_TOPIC)
        if each.type is ResourceType.GROUP:
            yield each, _entries(options, (Operation.READ,))


def _entries(options: argparse.Namespace, operations: Iterable[Operation]) -> Entries:
    """Principals, operations and hosts, each with each; a host without a principal means nothing."""
    sides = (
        (Permission.ALLOW, principals(options.allow_principal), options.allow_host),
        (Permission.DENY, principals(options.deny_principal), options.deny_host),
    )
    every = (
        AclEntry(principal, host.strip(), operation, permission)
        for permission, whose, hosts in sides
        for principal in whose
        for operation in operations
        for host in hosts or (WILDCARD,)
    )
    return tuple(dict.fromkeys(every))


def _operations(texts: Iterable[str] | None) -> list[Operation]:
    """Raises CommandFailed for a word that is no operation."""
    found = []
    for text in texts or (Operation.ALL.title,):
        operation = Operation.titled(text.strip())
        if operation is None:
            operation = Operation.UNKNOWN
        found.append(operation)
    return list(dict.fromkeys(found))


def _check_operations(kind: ResourceType, entries: Entries) -> None:
    known = (*OPERATIONS_OF[kind], Operation.ALL)
    if any(entry.operation not in known for entry in entries):
        names = ",".join(operation.name for operation in known)
        raise UsageError(f"ResourceType {kind.name} only supports operations {names}")
