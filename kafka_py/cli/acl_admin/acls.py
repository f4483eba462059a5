"""kafka-acls.sh: adds, removes and lists access control lists.

Source: docs/reference/security/acls.md, section 6; AclCommand; KIP-140; KIP-290.
"""

from __future__ import annotations

import argparse
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any

from kafka_py.base.errors import KafkaError
from kafka_py.cli.acl_admin.acl_options import check, parser
from kafka_py.cli.acl_admin.acl_services import AclService, service_of
from kafka_py.cli.acl_admin.wanted_acls import acls_by_filter, acls_to_add, principals, resource_filters
from kafka_py.cli.common.command import CommandFailed, log_warnings, run
from kafka_py.cli.common.documents import print_document
from kafka_py.cli.java_compat.java_errors import exception_text
from kafka_py.security.acls.bindings import (
    ALL_ACLS,
    AclBinding,
    AclEntry,
    AclFilter,
    EntryFilter,
    PatternFilter,
    ResourcePattern,
)


async def add(service: AclService, options: argparse.Namespace) -> None:
    """Adds the ACLs of each resource, then lists. Raises UsageError, KafkaError."""
    for pattern, entries in acls_to_add(options).items():
        print(f"Adding ACLs for resource `{pattern}`: \n {_tabbed(entries)} \n", flush=True)
        await service.add([AclBinding(pattern, entry) for entry in entries])
    await list_acls(service, options)


async def remove(service: AclService, options: argparse.Namespace) -> None:
    """Removes the ACLs of each resource, if the user says so, then lists. Raises UsageError, KafkaError."""
    for pattern, entries in acls_by_filter(options).items():
        question = f"Are you sure you want to delete all ACLs for resource filter `{pattern}`? (y/n)"
        if entries:
            question = (
                f"Are you sure you want to remove ACLs: \n {_tabbed(entries)} \n"
                f" from resource filter `{pattern}`? (y/n)"
            )
        if options.force or _says_yes(question):
            await service.remove([AclFilter(pattern, EntryFilter(*entry)) for entry in entries] or [AclFilter(pattern)])
    await list_acls(service, options)


async def list_acls(service: AclService, options: argparse.Namespace) -> None:
    """Prints the ACLs of the resources in the options, or all, by resource; for some principals one after the other."""
    filters = [AclFilter(pattern) for pattern in resource_filters(options)] or [ALL_ACLS]
    by_pattern: dict[ResourcePattern, list[AclEntry]] = {}
    for pattern, entry in await service.select(filters):
        by_pattern.setdefault(pattern, []).append(entry)
    whose = principals(options.principal)
    if options.output is not None:
        print_document(documents(by_pattern, whose), options.output)
        return
    if not whose:
        _print_current(by_pattern.items())
    for principal in whose:
        print(f"ACLs for principal `{principal}`")
        theirs = {
            pattern: [entry for entry in entries if entry.principal == principal]
            for pattern, entries in by_pattern.items()
        }
        _print_current((pattern, entries) for pattern, entries in theirs.items() if entries)


def documents(
    by_pattern: Mapping[ResourcePattern, Iterable[AclEntry]], whose: Collection[str]
) -> list[dict[str, Any]]:
    """For --output: an object for each resource, in order, with the ACLs of `whose`; of all if there are none."""
    rows = [
        {
            "resource_type": pattern.type.name,
            "name": pattern.name,
            "pattern_type": pattern.pattern_type.name,
            "acls": [
                {"principal": each.principal, "host": each.host, "operation": each.operation.name,
                 "permission": each.permission.name}
                for each in sorted(entries) if not whose or each.principal in whose
            ],
        }
        for pattern, entries in sorted(by_pattern.items())
    ]  # fmt: skip
    return [row for row in rows if row["acls"]]


def _print_current(acls: Iterable[tuple[ResourcePattern | PatternFilter, Collection[AclEntry]]]) -> None:
    for pattern, entries in acls:
        print(f"Current ACLs for resource `{pattern}`: \n {_tabbed(entries)} \n", flush=True)


def _tabbed(entries: Iterable[AclEntry]) -> str:
    return "\n".join(f"\t{entry}" for entry in entries)


def _says_yes(question: str) -> bool:
    print(question, flush=True)
    try:
        return input().lower() == "y"
    except EOFError:
        return False


async def _carry_out(options: argparse.Namespace) -> None:
    async with service_of(options) as service:
        if options.add:
            await add(service, options)
        elif options.remove:
            await remove(service, options)
        else:
            await list_acls(service, options)


def main(arguments: Sequence[str]) -> int:
    options = parser().parse(arguments)
    check(options)
    if options.add:
        acls_to_add(options)  # wrong usage is told before anything is connected
    elif options.remove:
        acls_by_filter(options)
    log_warnings()
    import asyncio

    from kafka_py.zk.schema import MalformedZNode
    from kafka_py.zk.session import ZkError

    try:
        asyncio.run(_carry_out(options))
    except KafkaError as error:
        return _fail(exception_text(error))
    except (CommandFailed, ZkError, MalformedZNode) as error:
        return _fail(str(error))
    return 0


def _fail(text: str) -> int:
    print(f"Error while executing ACL command: {text}", flush=True)
    return 1


def cli() -> None:
    run(main, parser)


if __name__ == "__main__":
    cli()
