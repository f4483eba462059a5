"""kafka-consumer-groups.sh: lists, describes, resets and deletes consumer groups.

The options are in consumer_groups_options.py, --describe is group_description.py, --reset-offsets group_resetting.py
and group_offsets_csv.py. As with Apache Kafka, what fails on the cluster is said on standard output and the exit code
stays 0; only wrong usage exits with 1. Source: docs/reference/tools.md, section 4.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from kafka_py.base.errors import ConfigError, ErrorCode, KafkaError
from kafka_py.base.ids import TopicPartition
from kafka_py.cli.common.command import CommandFailed, Refused, log_warnings, run
from kafka_py.cli.common.connection_options import admin_properties
from kafka_py.cli.common.documents import print_document
from kafka_py.cli.group_admin import consumer_groups_options
from kafka_py.cli.java_compat.java_errors import classic_text

if TYPE_CHECKING:
    from kafka_py.clients.admin.client import AsyncAdminClient

parser = consumer_groups_options.parser

NO_PARTITION = -1


def print_error(text: str) -> None:
    """A failure as Apache Kafka shows it."""
    print(f"\nError: {text}")


async def groups_of(admin: AsyncAdminClient, options: argparse.Namespace) -> list[str]:
    """The groups that the options mean."""
    if not options.all_groups:
        return list(dict.fromkeys(options.group))
    return [group.group_id for group in await admin.list_consumer_groups(timeout=options.timeout / 1000)]


# ---- list


async def list_groups(admin: AsyncAdminClient, options: argparse.Namespace) -> None:
    states = consumer_groups_options.wanted_states(options)
    groups = await admin.list_consumer_groups(states=states, timeout=options.timeout / 1000)
    if options.output is not None:
        print_document([{"group": group.group_id, "state": group.state} for group in groups], options.output)
        return
    if options.state is None:
        for group in groups:
            print(group.group_id)
        return
    width = max([15, *(len(group.group_id) for group in groups)])
    print(f"{'GROUP':<{width}} STATE")
    for group in groups:
        print(f"{group.group_id:<{width}} {group.state}")


# ---- describe


async def describe(admin: AsyncAdminClient, options: argparse.Namespace) -> None:
    from kafka_py.cli.group_admin.group_description import (
        collect_offsets,
        group_documents,
        member_lines,
        offset_lines,
        says_more,
        state_lines,
    )

    groups, timeout = await groups_of(admin, options), options.timeout / 1000
    if options.output is not None:
        print_document(await group_documents(admin, groups, timeout), options.output)
        return
    if options.members or options.state is not None:
        described = (await admin.describe_consumer_groups(groups, timeout=timeout)).all()
        for group, description in sorted(described.items()):
            if options.members:
                if says_more(group, description.state, len(description.members)):
                    _print_lines(member_lines(group, description.members, verbose=options.verbose))
            elif says_more(group, description.state, 1):
                _print_lines(state_lines(description))
        return
    for description, rows in await collect_offsets(admin, groups, timeout):
        if says_more(description.group_id, description.state, len(rows)):
            _print_lines(offset_lines(description.group_id, rows))


# ---- reset


async def reset(admin: AsyncAdminClient, options: argparse.Namespace) -> None:
    from kafka_py.cli.group_admin.group_offsets_csv import csv_lines
    from kafka_py.cli.group_admin.group_resetting import Resetting

    resetting = Resetting(options, admin)
    groups, timeout = await groups_of(admin, options), options.timeout / 1000
    described = (await admin.describe_consumer_groups(groups, timeout=timeout)).all()
    new: dict[str, dict[TopicPartition, int]] = {}
    for group in groups:
        state = described[group].state
        new[group] = {}
        if state in ("Empty", "Dead"):
            new[group] = await resetting.new_offsets(group)
            if options.execute:
                (await admin.alter_consumer_group_offsets(group, new[group], timeout=timeout)).all()
        else:
            print_error(f"Assignments can only be reset if the group '{group}' is inactive, "
                        f"but the current state is {state}.")  # fmt: skip
    if options.export:
        _print_lines([*csv_lines(new, with_group=len(options.group or ()) != 1), ""])
    elif new:
        _print_lines(reset_lines(new))


def reset_lines(offsets: Mapping[str, Mapping[TopicPartition, int]]) -> Iterator[str]:
    """The table of new offsets, an empty line first."""
    yield ""
    yield f"{'GROUP':<30} {'TOPIC':<30} {'PARTITION':<10} {'NEW-OFFSET':<15}"
    for group, by_partition in offsets.items():
        for (topic, number), offset in by_partition.items():
            yield f"{group:<30} {topic:<30} {number:<10} {offset:<15}"


# ---- delete


async def delete(admin: AsyncAdminClient, options: argparse.Namespace) -> None:
    groups = await groups_of(admin, options)
    results = await admin.delete_consumer_groups(groups, timeout=options.timeout / 1000)
    failed = results.errors()
    deleted = ", ".join(f"'{group}'" for group in results if group not in failed)
    if not failed:
        none = "''"
        print(f"Deletion of requested consumer groups ({deleted or none}) was successful.")
        return
    print_error("Deletion of some consumer groups failed:")
    for group, error in failed.items():
        cause = f"java.util.concurrent.ExecutionException: {classic_text(error)}"
        print(f"* Group '{group}' could not be deleted due to: {cause}")
    if deleted:
        print(f"\nThese consumer groups were deleted successfully: {deleted}")


Outcome = dict[TopicPartition, KafkaError | None]


async def delete_offsets(admin: AsyncAdminClient, options: argparse.Namespace) -> None:
    from kafka_py.cli.group_admin.group_resetting import parse_topics

    group, timeout = options.group[-1], options.timeout / 1000
    partitions, whole = parse_topics(options.topic)
    outcome: Outcome = {}
    for topic, description in (await admin.describe_topics(whole, timeout=timeout)).items():
        if isinstance(description, KafkaError):
            outcome[TopicPartition(topic, NO_PARTITION)] = description
        else:
            partitions += [TopicPartition(topic, info.partition) for info in description.partitions]
    problem: KafkaError | None = None
    try:
        deleted = await admin.delete_consumer_group_offsets(group, partitions, timeout=timeout)
    except KafkaError as error:
        problem = error
        outcome |= dict.fromkeys(partitions, error)
    else:
        problem = next(iter(deleted.errors().values()), None)
        outcome |= deleted
    if problem is None:
        print(f"Request succeed for deleting offsets with topic {', '.join(options.topic)} group {group}")
    else:
        print_error(_deletion_problem(group, problem.code))
    _print_lines(deletion_lines(outcome))


def _deletion_problem(group: str, code: ErrorCode) -> str:
    match code:
        case ErrorCode.INVALID_GROUP_ID:
            return f"'{group}' is not valid."
        case ErrorCode.GROUP_ID_NOT_FOUND:
            return f"'{group}' does not exist."
        case ErrorCode.GROUP_AUTHORIZATION_FAILED:
            return f"Access to '{group}' is not authorized."
        case ErrorCode.NON_EMPTY_GROUP:
            return f"Deleting offsets of a consumer group '{group}' is forbidden if the group is not empty."
        case (
            ErrorCode.GROUP_SUBSCRIBED_TO_TOPIC
            | ErrorCode.TOPIC_AUTHORIZATION_FAILED
            | ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
        ):
            return "Encounter some partition level error, see the follow-up details:"
    return f"Encounter some unknown error: {code.name}"


def deletion_lines(outcome: Mapping[TopicPartition, KafkaError | None]) -> Iterator[str]:
    """The table of deleted offsets, an empty line first."""
    yield ""
    yield f"{'TOPIC':<30} {'PARTITION':<15} {'STATUS':<15}"
    for (topic, number), error in sorted(outcome.items(), key=lambda each: f"{each[0].topic}{each[0].partition}"):
        shown = "Not Provided" if number == NO_PARTITION else str(number)
        status = "Successful" if error is None else f"Error: {classic_text(error)}"
        yield f"{topic:<30} {shown:<15} {status:<15}"


# ---- the command


def _print_lines(lines: Iterable[str]) -> None:
    for line in lines:
        print(line)


async def execute(options: argparse.Namespace) -> None:
    """Does what the options ask for. Raises KafkaError and what wrong usage raises."""
    from kafka_py.clients.admin.client import AsyncAdminClient

    actions = {
        "list": list_groups,
        "describe": describe,
        "delete": delete,
        "reset_offsets": reset,
        "delete_offsets": delete_offsets,
    }
    action = next(action for name, action in actions.items() if getattr(options, name))
    async with AsyncAdminClient(admin_properties(options)) as admin:
        await action(admin, options)


def main(arguments: Sequence[str]) -> int:
    options = parser().parse(arguments)
    consumer_groups_options.check(options)
    log_warnings()
    import asyncio


    try:
        asyncio.run(execute(options))
    except (ConfigError, CommandFailed):
        raise
    except (Refused, ValueError) as error:
        print_error(f"Executing consumer group command failed due to {error}")
    except KafkaError as error:
        print_error(f"Executing consumer group command failed due to {classic_text(error)}")
        print(error, file=sys.stderr)
    return 0


def cli() -> None:
    run(main, parser)


if __name__ == "__main__":
    cli()
