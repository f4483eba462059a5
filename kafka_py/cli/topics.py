"""kafka-topics.sh: makes, lists, describes, changes and deletes topics.

This file holds the option table and its rules; topics_admin.py carries the action out through a broker,
topics_zookeeper.py straight in ZooKeeper (deprecated), and topic_description.py says how topics are shown.
Source: docs/reference/tools.md, section 2.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from typing import TYPE_CHECKING

from kafka_py.base.errors import KafkaError
from kafka_py.base.properties import read_properties
from kafka_py.cli.common.command import (
    CommandFailed,
    CommandParser,
    UsageError,
    forbid_together,
    log_warnings,
    require,
    run,
)
from kafka_py.cli.common.documents import output_option

if TYPE_CHECKING:
    from kafka_py.cli.topic_admin.topic_requests import TopicAction

ACTIONS = ("create", "list", "describe", "alter", "delete")
REPORTS = (
    "under-replicated-partitions",
    "unavailable-partitions",
    "under-min-isr-partitions",
    "at-min-isr-partitions",
)


def parser() -> CommandParser:
    table = CommandParser("kafka-topics.sh", "Create, list, describe, change or delete topics.")
    table.option("--bootstrap-server", "The brokers to connect to, host:port,host:port. Either this or --zookeeper "
                 "is required.", metavar="String: server(s)")  # fmt: skip
    table.option("--zookeeper", "DEPRECATED: the ZooKeeper servers with an optional chroot path, "
                 "host:port,host:port/path.", metavar="String: hosts")  # fmt: skip
    table.option("--command-config", "Property file for the admin client; only with --bootstrap-server.",
                 metavar="String: file")  # fmt: skip
    table.flag("--create", "Create a topic.")
    table.flag("--list", "List the topics.")
    table.flag("--describe", "Show partitions, leaders, replicas and own configs of topics.")
    table.flag("--alter", "Add partitions to topics; with --zookeeper also change their configs.")
    table.flag("--delete", "Delete topics.")
    table.option("--topic", "The topic. For all actions but --create a regular expression that must match the whole "
                 "name; commas part alternatives.", metavar="String: topic")  # fmt: skip
    table.option("--partitions", "How many partitions the topic shall have (WARNING: adding some changes which "
                 "partition a key belongs to). The broker's default if not given on --create.", kind=int,
                 metavar="Integer: partitions")  # fmt: skip
    table.option("--replication-factor", "How many replicas each partition shall have. The broker's default if not "
                 "given on --create.", kind=int, metavar="Integer: replicas")  # fmt: skip
    table.option("--replica-assignment", "Broker ids of each partition by hand, partitions parted by commas and "
                 "replicas by colons, the preferred leader first: 1:2,2:3.", metavar="String: b:b,b:b")  # fmt: skip
    table.repeatable("--config", "A config of the topic, on --create, or on --alter with --zookeeper "
                     "(kafka-configs.sh does it with --bootstrap-server).", metavar="String: key=value")  # fmt: skip
    table.repeatable("--delete-config", "A config to set back to its default, on --alter with --zookeeper.",
                     metavar="String: key")  # fmt: skip
    table.flag("--under-replicated-partitions", "Describe only partitions with fewer in-sync replicas than replicas.")
    table.flag("--unavailable-partitions", "Describe only partitions whose leader is not there.")
    table.flag("--under-min-isr-partitions", "Describe only partitions with fewer in-sync replicas than "
               "min.insync.replicas. Not with --zookeeper.")  # fmt: skip
    table.flag("--at-min-isr-partitions", "Describe only partitions with exactly min.insync.replicas in-sync "
               "replicas. Not with --zookeeper.")  # fmt: skip
    table.flag("--topics-with-overrides", "Describe only topics that have configs of their own, without partitions.")
    table.flag("--if-exists", "With --alter, --delete or --describe: no error if there is no such topic.")
    table.flag("--if-not-exists", "With --create: no error if there is such a topic.")
    table.flag("--exclude-internal", "With --list or --describe: leave the brokers' own topics out.")
    table.flag("--disable-rack-aware", "With --zookeeper: place replicas without regard to racks.")
    table.flag("--force", "Accepted without effect: no question is ever asked.")
    output_option(table)
    return table


def check(options: argparse.Namespace) -> None:
    """The rules between the options. Raises UsageError for the first that is broken."""
    actions = [action for action in ACTIONS if getattr(options, action)]
    if len(actions) != 1:
        raise UsageError("Command must include exactly one action: --list, --describe, --create, --alter or --delete")
    if (options.bootstrap_server is None) == (options.zookeeper is None):
        raise UsageError("Only one of --bootstrap-server or --zookeeper must be specified")
    action = actions[0]
    if action in ("create", "alter", "delete") or (action == "describe" and options.if_exists):
        require(options, "topic")
    if action == "create" and options.zookeeper is not None and options.replica_assignment is None:
        require(options, "partitions", "replication-factor")
    if action == "alter" and options.bootstrap_server is not None:
        if options.config:
            raise UsageError('Option "[alter]" can\'t be used with options "[bootstrap-server],[config]" '
                             "(kafka-configs.sh changes the configs of a topic through a broker)")  # fmt: skip
        require(options, "partitions")
    _check_options_of_actions(options)
    if action == "create":
        forbid_together(options, "replica-assignment", "partitions", "replication-factor")
    for report in REPORTS:
        forbid_together(options, report, *(other for other in REPORTS if other != report), "topics-with-overrides")
    forbid_together(options, "under-min-isr-partitions", "zookeeper")
    forbid_together(options, "at-min-isr-partitions", "zookeeper")
    forbid_together(options, "delete-config", "bootstrap-server")
    forbid_together(options, "output", "zookeeper")


_BELONGS_TO = {
    "config": ("create", "alter"),
    "delete-config": ("alter",),
    "partitions": ("create", "alter"),
    "replication-factor": ("create",),
    "replica-assignment": ("create", "alter"),
    **dict.fromkeys(REPORTS, ("describe",)),
    "topics-with-overrides": ("describe",),
    "if-exists": ("alter", "delete", "describe"),
    "if-not-exists": ("create",),
    "exclude-internal": ("list", "describe"),
    "output": ("list", "describe"),
}


def _check_options_of_actions(options: argparse.Namespace) -> None:
    for name, allowed in _BELONGS_TO.items():
        forbid_together(options, name, *(action for action in ACTIONS if action not in allowed))


def carry_out(request: TopicAction, options: argparse.Namespace) -> None:
    """Does what is asked for, on the side that the options name."""
    if options.zookeeper is not None:
        from kafka_py.cli.topic_admin.topics_zookeeper import run_on_zookeeper

        run_on_zookeeper(options.zookeeper, request)
    else:
        from kafka_py.cli.topic_admin.topics_admin import run_on_brokers

        properties = read_properties(options.command_config) if options.command_config else {}
        run_on_brokers({**properties, "bootstrap.servers": options.bootstrap_server}, request)


def main(arguments: Sequence[str]) -> int:
    options = parser().parse(arguments)
    check(options)
    log_warnings()
    from kafka_py.cli.topic_admin.topic_requests import request_of

    try:
        carry_out(request_of(options), options)
    except (CommandFailed, KafkaError) as error:
        # On standard output, as Apache Kafka's tool has it: scripts look for this line there.
        message = error.message if isinstance(error, KafkaError) else error
        print(f"Error while executing topic command : {message}")
        return 1
    return 0


def cli() -> None:
    run(main, parser)


if __name__ == "__main__":
    cli()
