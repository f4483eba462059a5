"""kafka-reassign-partitions.sh: moves partitions to other brokers or log directories, and watches them move.

This file holds the option table and its rules; reassign_plan.py reads and writes plans, reassign_admin.py carries them
out through the brokers, reassign_zookeeper.py through /admin/reassign_partitions (deprecated).
Source: docs/reference/tools.md, section 5.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence

from kafka_py.base.errors import KafkaError
from kafka_py.cli.common.command import CommandFailed, CommandParser, Refused, UsageError, log_warnings, run
from kafka_py.cli.common.connection_options import admin_properties
from kafka_py.cli.common.documents import output_option

ACTIONS = ("generate", "execute", "verify", "cancel", "list")
REQUIRED = {
    "verify": ("reassignment-json-file",),
    "generate": ("topics-to-move-json-file", "broker-list"),
    "execute": ("reassignment-json-file",),
    "cancel": ("reassignment-json-file",),
    "list": (),
}
PERMITTED = {
    "verify": ("bootstrap-server", "command-config", "preserve-throttles", "zookeeper"),
    "generate": ("bootstrap-server", "command-config", "disable-rack-aware", "zookeeper"),
    "execute": ("additional", "bootstrap-server", "command-config", "throttle", "replica-alter-log-dirs-throttle",
                "timeout", "zookeeper", "disallow-replication-factor-change"),
    "cancel": ("bootstrap-server", "command-config", "preserve-throttles", "timeout"),
    "list": ("bootstrap-server", "command-config", "output"),
}  # fmt: skip
BROKERS_ONLY = ("additional", "command-config", "replica-alter-log-dirs-throttle", "timeout")
"""Options that say nothing to ZooKeeper."""
DEFAULT_TIMEOUT_MS = 10_000

ZOOKEEPER_WARNING = "Warning: --zookeeper is deprecated, and will be removed in a future version of Kafka."
IGNORED_WARNING = (
    "Warning: ignoring deprecated --zookeeper option because --bootstrap-server was specified.  The --zookeeper option "
    "will be removed in a future version of Kafka."
)


def parser() -> CommandParser:
    table = CommandParser("kafka-reassign-partitions.sh", "Move topic partitions between brokers and log directories.")
    table.flag("--verify", "Say how far the moves of the reassignment file are; remove their throttles once all is "
               "done.")  # fmt: skip
    table.flag("--generate", "Propose a reassignment of the topics of a file to a list of brokers; nothing moves yet.")
    table.flag("--execute", "Begin the moves of the reassignment file.")
    table.flag("--cancel", "Call off the moves of the reassignment file.")
    table.flag("--list", "Show all moves that are under way.")
    table.option("--bootstrap-server", "The brokers to connect to, host:port,host:port.",
                 metavar="String: Server(s) to use for bootstrapping")  # fmt: skip
    table.option("--command-config", "Property file for the admin client; only with --bootstrap-server.",
                 metavar="String: Admin client property file")  # fmt: skip
    table.option("--zookeeper", "DEPRECATED: the ZooKeeper servers with an optional chroot path, host:port/path; for "
                 "--verify, --generate and --execute.", metavar="String: urls")  # fmt: skip
    table.option("--reassignment-json-file", 'The moves: {"version":1,"partitions":[{"topic":"t","partition":0,'
                 '"replicas":[1,2],"log_dirs":["any","/disk2"]}]}; log_dirs may be left out.',
                 metavar="String: manual assignment json file path")  # fmt: skip
    table.option("--topics-to-move-json-file", 'For --generate: {"version":1,"topics":[{"topic":"t"}]}.',
                 metavar="String: topics to reassign json file path")  # fmt: skip
    table.option("--broker-list", "For --generate: the ids of the brokers to move to, as 0,1,2.",
                 metavar="String: brokerlist")  # fmt: skip
    table.flag("--disable-rack-aware", "For --generate: place replicas without regard to racks.")
    table.option("--throttle", "The most bytes per second that move between brokers; change it by executing the "
                 "running reassignment again with --additional.", kind=int, metavar="Long: throttle",
                 default=-1)  # fmt: skip
    table.option("--replica-alter-log-dirs-throttle", "The most bytes per second that move between log directories of "
                 "a broker.", kind=int, metavar="Long: replicaAlterLogDirsThrottle", default=-1)  # fmt: skip
    table.option("--timeout", "How many ms moves between log directories may take to begin.", kind=int,
                 metavar="Long: timeout", default=DEFAULT_TIMEOUT_MS)  # fmt: skip
    table.flag("--additional", "With --execute: in addition to reassignments in progress, or to change their throttle.")
    table.flag("--preserve-throttles", "With --verify and --cancel: leave the throttles as they are.")
    table.flag("--disallow-replication-factor-change", "With --execute: refuse a file that would give a partition more "
               "or fewer replicas.")  # fmt: skip
    output_option(table)
    return table


def check(options: argparse.Namespace) -> str:
    """The action. Raises UsageError, CommandFailed for the first rule between the options that is broken."""
    actions = [action for action in ACTIONS if getattr(options, action)]
    if len(actions) != 1:
        listed = ", ".join(f"--{action}" for action in ACTIONS)
        raise UsageError(f"Command must include exactly one action: {listed}")
    action = actions[0]
    given = _given_names(options)
    for name in REQUIRED[action]:
        if name not in given:
            raise UsageError(f'Missing required argument "[{name}]"')
    allowed = {action, *REQUIRED[action], *PERMITTED[action]}
    for name in given:
        if name not in allowed:
            raise UsageError(f'Option "[{name}]" can\'t be used with action "[{action}]"')
    if "bootstrap-server" not in given and "zookeeper" not in given:
        raise UsageError("Please specify --bootstrap-server")
    for name in BROKERS_ONLY:
        if name in given and "bootstrap-server" not in given:
            raise CommandFailed(f'You must specify --bootstrap-server when using "[{name}]"')
    return action


def _given_names(options: argparse.Namespace) -> list[str]:
    """The options of the command line by their names."""
    with_argument: set[str] = getattr(options, "given", set())
    names = [name for name, value in vars(options).items() if value is True or name in with_argument]
    return [name.replace("_", "-") for name in names]


def main(arguments: Sequence[str]) -> int:
    options = parser().parse(arguments)
    action = check(options)
    log_warnings()
    from kafka_py.operations.reassignments.plans import PlanError

    try:
        if options.bootstrap_server is None:
            print(ZOOKEEPER_WARNING, flush=True)
            from kafka_py.cli.reassignment.reassign_zookeeper import run_on_zookeeper

            run_on_zookeeper(options.zookeeper, action, options)
        else:
            if options.zookeeper is not None:
                print(IGNORED_WARNING)
            from kafka_py.cli.reassignment.reassign_admin import run_on_brokers

            run_on_brokers(admin_properties(options), action, options)
    except (CommandFailed, PlanError, Refused, KafkaError, OSError) as error:
        # On standard output, as Apache Kafka's tool has it.
        print(_said(error))
        return 1
    return 0


def _said(error: Exception) -> str:
    from kafka_py.cli.java_compat.java_errors import exception_text

    if isinstance(error, Refused):
        return str(error)
    return f"Error: {exception_text(error) if isinstance(error, KafkaError) else error}"


def cli() -> None:
    run(main, parser)


if __name__ == "__main__":
    cli()
