"""kafka-streams-application-reset.sh: makes a Kafka Streams application process its input from scratch.

Resets the application's offsets of its input topics, puts those of intermediate topics to the end, and deletes the
topics that the application made for itself. Needs its group to be empty.
Source: docs/reference/tools.md, section 20; KIP-171.
"""

from __future__ import annotations

import argparse
import re
import sys
import time
from collections.abc import Collection, Iterable, Sequence
from typing import TYPE_CHECKING

from kafka_py.base.errors import ConfigError, KafkaError
from kafka_py.base.ids import EARLIEST_TIMESTAMP, LATEST_TIMESTAMP, TopicPartition
from kafka_py.base.properties import read_properties
from kafka_py.cli.common.command import CommandParser, Refused, UsageError, forbid_together, log_warnings, run
from kafka_py.cli.group_admin.group_resetting import read_plan
from kafka_py.cli.java_compat.java_times import duration_ms, moment_ms
from kafka_py.operations.groups.resetting import OffsetLookup, Offsets

if TYPE_CHECKING:
    from kafka_py.clients.admin.client import AsyncAdminClient

SCENARIOS = ("to-offset", "to-datetime", "by-duration", "to-earliest", "to-latest", "from-file", "shift-by")
DESCRIBE_S, LIST_S = 10.0, 60.0

_INTERNAL = re.compile(
    r".*(-changelog|-repartition|-subscription-(registration|response)-topic"
    r"|.-KTABLE-FK-JOIN-SUBSCRIPTION-(REGISTRATION|RESPONSE)-\d+-topic)",
    re.ASCII | re.DOTALL,
)
"""Names of topics that Kafka Streams makes for an application."""


def parser() -> CommandParser:
    table = CommandParser("kafka-streams-application-reset.sh", "Have a Kafka Streams application process its data "
                          "from scratch: reset its offsets of input topics, skip to the end of intermediate topics, "
                          "delete the topics that it made for itself. Output topics stay, and so does what its "
                          "instances keep on their disks: call KafkaStreams#cleanUp() or delete that, or the results "
                          "will be wrong.")  # fmt: skip
    table.option("--application-id", "REQUIRED: the application.id.", metavar="String: id")
    table.option("--bootstrap-servers", "The brokers to connect to, host:port,host:port.", metavar="String: urls",
                 default="localhost:9092")  # fmt: skip
    table.option("--input-topics", "Topics whose offsets are reset, parted by commas.", metavar="String: list",
                 default="")  # fmt: skip
    table.option("--intermediate-topics", "Topics that are output and input of the application, parted by commas; it "
                 "will go on at their ends.", metavar="String: list", default="")  # fmt: skip
    table.option("--to-offset", "Reset to this offset.", kind=int, metavar="Long")
    table.option("--to-datetime", "Reset to the first record at or after this time: 'YYYY-MM-DDTHH:mm:SS.sss'.")
    table.option("--by-duration", "Reset to the first record not older than this: 'PnDTnHnMnS'.")
    table.flag("--to-earliest", "Reset to the first records there are; this is the default.")
    table.flag("--to-latest", "Reset to the records to come next.")
    table.option("--from-file", "Reset to the offsets in this CSV file: topic,partition,offset.",
                 metavar="String: file")  # fmt: skip
    table.option("--shift-by", "Reset to the committed offset plus this, which may be negative.", kind=int,
                 metavar="Long: number-of-offsets")  # fmt: skip
    table.option("--config-file", "Property file for the admin client.", metavar="String: file name")
    table.flag("--force", "Remove the members of the application's group first. Stop all of its instances before, or "
               "they come back.")  # fmt: skip
    table.flag("--execute", "Do it; this is the default.")
    table.flag("--dry-run", "Only show what would be done.")
    table.option("--zookeeper", "Accepted without effect.", nargs="?")
    return table


def check(options: argparse.Namespace) -> None:
    """The rules between the options. Raises UsageError."""
    if options.application_id is None:
        raise UsageError("Missing required option(s) [application-id]")
    if options.execute and options.dry_run:
        raise UsageError("Only one of --dry-run and --execute can be specified")
    for scenario in SCENARIOS:
        forbid_together(options, scenario, *(other for other in SCENARIOS if other != scenario))


def listed(text: str) -> list[str]:
    """What commas part."""
    return [each for each in text.split(",") if each]


def is_internal(topic: str, application: str, others: Collection[str]) -> bool:
    """Whether the application made the topic for itself. others: topics that the user names, whatever their form."""
    return topic not in others and topic.startswith(f"{application}-") and bool(_INTERNAL.fullmatch(topic))


# ---- offsets


def within(_partition: TopicPartition, offset: int, start: int, end: int) -> int:
    """The offset, or the end of the log that it is at or past, which is said as Apache Kafka says it."""
    if offset >= end:
        print(f"New offset ({offset}) is higher than latest offset. Value will be set to {end}")
        return end
    if offset <= start:
        print(f"New offset ({offset}) is lower than earliest offset. Value will be set to {start}")
        return start
    return offset


async def input_offsets(look: OffsetLookup, options: argparse.Namespace, partitions: list[TopicPartition]) -> Offsets:
    """The offsets from which input topics are read again. Raises KafkaError, ValueError, Refused."""
    if options.to_latest:
        return await look.at(partitions, LATEST_TIMESTAMP)
    if options.to_datetime is not None:
        return await look.at_time(partitions, moment_ms(options.to_datetime))
    if options.by_duration is not None:
        return await look.at_time(partitions, time.time_ns() // 1_000_000 - duration_ms(options.by_duration))
    if options.to_offset is not None:
        return await look.within_log(dict.fromkeys(partitions, options.to_offset), within)
    if options.shift_by is not None:
        current = await look.current(options.application_id, partitions)
        shifted = {partition: offset + options.shift_by for partition, offset in current.items()}
        return await look.within_log(shifted, within)
    if options.from_file is not None:
        return await look.within_log(planned(options, partitions), within)
    return await look.at(partitions, EARLIEST_TIMESTAMP)


def planned(options: argparse.Namespace, partitions: Collection[TopicPartition]) -> Offsets:
    """What the file says of these partitions. Raises Refused when it leaves one out."""
    wanted = read_plan(options.from_file, [options.application_id]).get(options.application_id, {})
    missing = [str(partition) for partition in sorted(partitions) if partition not in wanted]
    if missing:
        raise Refused(f"{options.from_file} has no offset for {', '.join(missing)}")
    return {partition: wanted[partition] for partition in partitions}


def existing(topics: Iterable[str], known: Collection[str], kind: str, prefix: str) -> list[str]:
    """Those of the topics that there are; the others are said, each behind the prefix."""
    wanted = list(topics)
    missing = [topic for topic in wanted if topic not in known]
    if missing:
        print(f"Following {kind} topics are not found, skipping them")
        for topic in missing:
            print(f"{prefix}{topic}")
    return [topic for topic in wanted if topic in known]


async def reset_offsets(admin: AsyncAdminClient, options: argparse.Namespace, known: Collection[str]) -> bool:
    """Resets the offsets, or shows what would be done; False when a topic is missing. Raises what fails."""
    inputs, intermediates = listed(options.input_topics), listed(options.intermediate_topics)
    if not inputs and not intermediates:
        print("No input or intermediate topics specified. Skipping seek.")
        return True
    if inputs:
        print(f"Reset-offsets for input topics [{', '.join(inputs)}]")
    if intermediates:
        print(f"Seek-to-end for intermediate topics [{', '.join(intermediates)}]")
    found_inputs = existing(inputs, known, "input", "Topic: ")
    found_intermediates = existing(intermediates, known, "intermediate", "Topic:")
    if found_inputs or found_intermediates:
        new = await new_offsets(admin, options, found_inputs, found_intermediates)
        if not options.dry_run:
            (await admin.alter_consumer_group_offsets(options.application_id, new)).all()
        print("Done.")
    return len(found_inputs) == len(inputs) and len(found_intermediates) == len(intermediates)


async def new_offsets(
    admin: AsyncAdminClient, options: argparse.Namespace, inputs: list[str], intermediates: list[str]
) -> Offsets:
    """The offsets at which the application will continue; prints them. Raises what fails."""
    look, group = OffsetLookup(admin), options.application_id
    new: Offsets = {}
    if inputs:
        print(f"Following input topics offsets will be reset to (for consumer group {group})")
        new = await input_offsets(look, options, await look.partitions(inputs))
        for (topic, number), offset in new.items():
            print(f"Topic: {topic} Partition: {number} Offset: {offset}")
    to_end = await look.partitions([topic for topic in intermediates if topic not in inputs])
    if to_end:
        print(f"Following intermediate topics offsets will be reset to end (for consumer group {group})")
        for topic, _ in to_end:
            print(f"Topic: {topic}")
    return {**new, **await look.at(to_end, LATEST_TIMESTAMP)}


# ---- topics, members


async def delete_internal_topics(admin: AsyncAdminClient, options: argparse.Namespace, known: Collection[str]) -> bool:
    """Deletes what the application made for itself, or shows it; False when a topic could not be deleted."""
    print(f"Deleting all internal/auto-created topics for application {options.application_id}")
    named = {*listed(options.input_topics), *listed(options.intermediate_topics)}
    internal = sorted(topic for topic in known if is_internal(topic, options.application_id, named))
    failed: dict[str, KafkaError] = {}
    if options.dry_run:
        for topic in internal:
            print(f"Topic: {topic}")
    else:
        failed = (await admin.delete_topics(internal)).errors()
        for topic, error in failed.items():
            print(f"ERROR: deleting topic {topic}: {error}", file=sys.stderr)
    print("Done.")
    return not failed


async def send_members_away(admin: AsyncAdminClient, options: argparse.Namespace) -> None:
    """Sees to it that the application's group is empty. Raises Refused when it is not to be emptied."""
    group = options.application_id
    members = (await admin.describe_consumer_groups([group], timeout=DESCRIBE_S)).value(group).members
    if not members:
        return
    if not options.force:
        raise Refused(
            f"Consumer group '{group}' is still active with {len(members)} members. Make sure to stop all running "
            "application instances before running the reset tool.\n"
            "You can use option '--force' to remove active members from the group."
        )
    print(f"Force deleting all active members in the group: {group}")
    (await admin.remove_members_from_consumer_group(group)).all()


async def reset(options: argparse.Namespace) -> int:
    """Does what the options ask for; returns the exit code. Raises what fails."""
    from kafka_py.clients.admin.client import AsyncAdminClient

    properties = read_properties(options.config_file) if options.config_file else {}
    async with AsyncAdminClient({**properties, "bootstrap.servers": options.bootstrap_servers}) as admin:
        await send_members_away(admin, options)
        known = set(await admin.list_topics(timeout=LIST_S))
        if options.dry_run:
            print("----Dry run displays the actions which will be performed when running Streams Reset Tool----")
        is_reset = await reset_offsets(admin, options, known)
        is_deleted = await delete_internal_topics(admin, options, known)
    return 0 if is_reset and is_deleted else 1


def main(arguments: Sequence[str]) -> int:
    options = parser().parse(arguments)
    check(options)
    log_warnings()
    import asyncio

    try:
        return asyncio.run(reset(options))
    except ConfigError:
        raise
    except (KafkaError, Refused, ValueError) as error:
        print(f"ERROR: {error}", file=sys.stderr)
        return 1


def cli() -> None:
    run(main, parser)


if __name__ == "__main__":
    cli()
