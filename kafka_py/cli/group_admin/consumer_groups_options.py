"""The option table of kafka-consumer-groups.sh and the rules between its options.

Source: docs/reference/tools.md, section 4; ConsumerGroupCommand (whose messages these are).
"""

from __future__ import annotations

import argparse
import sys

from kafka_py.cli.common.command import CommandParser, UsageError, forbid_together, require
from kafka_py.cli.common.connection_options import add_connection
from kafka_py.cli.common.documents import output_option

ACTIONS = ("list", "describe", "delete", "reset-offsets", "delete-offsets")
SCENARIOS = (
    "to-offset", "to-datetime", "by-duration", "to-earliest", "to-latest", "to-current", "shift-by", "from-file",
)  # fmt: skip
VALID_STATES = ("PreparingRebalance", "CompletingRebalance", "Stable", "Dead", "Empty")

_NO_EXECUTE = (
    "WARN: No action will be performed as the --execute option is missing. Say --dry-run where that is what you want: "
    "a later release may ask before it resets, instead of only showing what it would do."
)


def parser() -> CommandParser:
    table = CommandParser("kafka-consumer-groups.sh", "List and describe consumer groups, delete them, and reset or "
                          "delete their offsets.")  # fmt: skip
    add_connection(table)
    table.flag("--list", "List all consumer groups.")
    table.flag("--describe", "Describe consumer groups: committed offsets and lag, members, or state.")
    table.flag("--delete", "Delete groups without members, with all their offsets.")
    table.flag("--reset-offsets", "Reset the offsets of groups without members. A scenario says where to: --to-offset, "
               "--shift-by, --to-datetime, --by-duration, --to-earliest, --to-latest, --to-current or --from-file; "
               "a scope says what: --topic or --all-topics.")  # fmt: skip
    table.flag("--delete-offsets", "Delete the offsets of a group for topics that it does not subscribe to.")
    table.repeatable("--group", "The consumer group; may be given many times.", metavar="String: consumer group")
    table.flag("--all-groups", "All consumer groups.")
    table.repeatable("--topic", "A topic, or some of its partitions as topic:0,1,2; may be given many times.",
                     metavar="String: topic")  # fmt: skip
    table.flag("--all-topics", "With --reset-offsets: all partitions with a committed offset.")
    table.flag("--offsets", "With --describe: offsets and lag; this is the default.")
    table.flag("--members", "With --describe: the members.")
    table.option("--state", "With --describe: the state. With --list: shows the states; with a value, only groups in "
                 f"these (parted by commas): {', '.join(VALID_STATES)}.", metavar="String", nargs="?",
                 const="")  # fmt: skip
    table.flag("--verbose", "With --describe --members: the partitions too.")
    table.option("--timeout", "How long each step may take, in ms.", kind=int, metavar="Long: timeout (ms)",
                 default=5000)  # fmt: skip
    output_option(table)
    table.flag("--dry-run", "With --reset-offsets: only show what would be done. This is the default.")
    table.flag("--execute", "With --reset-offsets: do it.")
    table.flag("--export", "With --reset-offsets: show it as CSV, as --from-file takes it.")
    table.option("--to-offset", "Reset to this offset.", kind=int, metavar="Long: offset")
    table.option("--shift-by", "Reset to the committed offset plus this, which may be negative.", kind=int,
                 metavar="Long: number-of-offsets")  # fmt: skip
    table.option("--to-datetime", "Reset to the first record at or after this time: 'YYYY-MM-DDTHH:mm:SS.sss', with a "
                 "zone behind or in UTC.", metavar="String: datetime")  # fmt: skip
    table.option("--by-duration", "Reset to the first record not older than this: 'PnDTnHnMnS'.",
                 metavar="String: duration")  # fmt: skip
    table.flag("--to-earliest", "Reset to the first records there are.")
    table.flag("--to-latest", "Reset to the records to come next.")
    table.flag("--to-current", "Reset to the committed offsets, or to the end where there is none.")
    table.option("--from-file", "Reset to the offsets in this CSV file: topic,partition,offset for one --group, "
                 "group,topic,partition,offset for any number.", metavar="String: path to CSV file")  # fmt: skip
    return table


def _check_output(options: argparse.Namespace) -> None:
    for action in ("delete", "reset-offsets", "delete-offsets"):
        forbid_together(options, "output", action)


def check(options: argparse.Namespace) -> None:
    """The rules between the options, in Apache Kafka's order. Raises UsageError for the first that is broken."""
    _check_output(options)
    require(options, "bootstrap-server")
    if options.describe:
        _check_describe(options)
    if options.delete:
        _require_groups(options, "delete")
        if options.topic:
            raise UsageError("The consumer does not support topic-specific offset deletion from a consumer group.")
    if options.delete_offsets and not (options.group and options.topic):
        raise UsageError("Option [delete-offsets] takes the following options: [group], [topic]")
    if options.reset_offsets:
        _check_reset(options)
    forbid_together(options, "group", "all-groups", "list")
    forbid_together(options, "topic", "list", "describe")
    if sum(getattr(options, action.replace("-", "_")) for action in ACTIONS) != 1:
        listed = ", ".join(f"--{action}" for action in ACTIONS)
        raise UsageError(f"Command must include exactly one action: {listed}")
    if options.list:
        wanted_states(options)


def _check_describe(options: argparse.Namespace) -> None:
    _require_groups(options, "describe")
    if sum((options.members, options.offsets, options.state is not None)) > 1:
        raise UsageError("Option [describe] takes at most one of these options: [members], [offsets], [state]")
    if options.state:
        raise UsageError("Option [describe] does not take a value for [state]")


def _check_reset(options: argparse.Namespace) -> None:
    if options.dry_run and options.execute:
        raise UsageError("Option [reset-offsets] only accepts one of [execute] and [dry-run]")
    if not options.dry_run and not options.execute:
        print(_NO_EXECUTE, file=sys.stderr)
    _require_groups(options, "reset-offsets")
    for scenario in SCENARIOS:
        forbid_together(options, scenario, *(other for other in SCENARIOS if other != scenario))
    if scenario_of(options) is None:
        listed = ", ".join(f"[{scenario}]" for scenario in SCENARIOS)
        raise UsageError(f"Option '[reset-offsets]' requires one of the following scenarios: {listed}")
    if not options.topic and not options.all_topics and options.from_file is None:
        raise UsageError("One of the reset scopes should be defined: --all-topics, --topic.")


def _require_groups(options: argparse.Namespace, action: str) -> None:
    if not options.group and not options.all_groups:
        raise UsageError(f"Option [{action}] takes one of these options: [group], [all-groups]")


def scenario_of(options: argparse.Namespace) -> str | None:
    """The scenario that is given, by its option; None when there is none."""
    for scenario in SCENARIOS:
        value = getattr(options, scenario.replace("-", "_"))
        if value is not None and value is not False:
            return scenario
    return None


def wanted_states(options: argparse.Namespace) -> list[str]:
    """The states that --list --state names; none of them stands for all. Raises UsageError."""
    text: str = options.state or ""
    states = [state.strip() for state in text.split(",")] if text else []
    if not set(states) <= set(VALID_STATES):
        raise UsageError(f"Invalid state list '{text}'. Valid states are: {', '.join(VALID_STATES)}")
    return states
