"""The options of kafka-acls.sh, and the rules between them. Source: docs/reference/security/acls.md, section 6."""

from __future__ import annotations

import argparse

from kafka_py.cli.common.command import CommandParser, UsageError, forbid_together, require
from kafka_py.cli.common.documents import output_option
from kafka_py.security.acls.vocabulary import PatternType

AUTHORIZERS = ("kafka.security.authorizer.AclAuthorizer", "kafka.security.auth.SimpleAclAuthorizer")
ACTIONS = ("add", "remove", "list")


def parser() -> CommandParser:
    table = CommandParser("kafka-acls.sh", "Add, remove and list access control lists.")
    table.option("--bootstrap-server", "The brokers to connect to, host:port,host:port.", metavar="String: server(s)")
    table.option("--command-config", "Property file for the admin client; with --bootstrap-server.",
                 metavar="String: file")  # fmt: skip
    table.option("--authorizer", f"DEPRECATED: the authorizer's class; only {AUTHORIZERS[0]}.", metavar="String: class")
    table.repeatable("--authorizer-properties", "DEPRECATED, required without --bootstrap-server: "
                     "zookeeper.connect=host:port, where the ACLs are.", metavar="String: key=value")  # fmt: skip
    table.option("--zk-tls-config-file", "Property file with zookeeper.ssl.* for the connection to ZooKeeper.",
                 metavar="String: file")  # fmt: skip
    table.flag("--add", "Add ACLs.")
    table.flag("--remove", "Remove ACLs.")
    table.flag("--list", "List ACLs, of the given resources or all.")
    table.repeatable("--topic", "The topic, or * for all.", metavar="String: topic")
    table.repeatable("--group", "The consumer group, or * for all.", metavar="String: group")
    table.flag("--cluster", "The cluster itself.")
    table.repeatable("--transactional-id", "The transactional id, or * for all.", metavar="String: id")
    table.repeatable("--delegation-token", "The token's id, or * for all.", metavar="String: token id")
    table.option("--resource-pattern-type", "literal or prefixed; when listing and removing also any (that name, of "
                 "either type) and match (all that apply to the name).", kind=pattern_type, default=PatternType.LITERAL,
                 metavar="[ANY,MATCH,LITERAL,PREFIXED]")  # fmt: skip
    table.repeatable("--operation", "Read, Write, Create, Delete, Alter, Describe, ClusterAction, DescribeConfigs, "
                     "AlterConfigs, IdempotentWrite or All (the default).", metavar="String")  # fmt: skip
    table.repeatable("--allow-principal", "Who is allowed it, as User:name; User:* for all.", metavar="String")
    table.repeatable("--deny-principal", "Who is denied it.", metavar="String")
    table.repeatable("--allow-host", "From which address it is allowed; * (the default) for all.", metavar="String")
    table.repeatable("--deny-host", "From which address it is denied.", metavar="String")
    table.repeatable("--principal", "List only the ACLs of this principal.", metavar="String")
    table.flag("--producer", "What a producer needs: on --topic, and on --transactional-id if it is given.")
    table.flag("--consumer", "What a consumer needs: on --topic and --group.")
    table.flag("--idempotent", "With --producer: idempotent writing, on the cluster.")
    table.flag("--force", "Ask nothing.")
    output_option(table)
    return table


def pattern_type(text: str) -> PatternType:
    """The pattern type, in any case of letters. Raises ValueError."""
    found = PatternType.titled(text)
    if found is None or found is PatternType.UNKNOWN:
        raise ValueError(text)
    return found


def check(options: argparse.Namespace) -> None:
    """Raises UsageError for the first rule that is broken."""
    if options.bootstrap_server and options.authorizer:
        raise UsageError("Only one of --bootstrap-server or --authorizer must be specified")
    if not options.bootstrap_server:
        require(options, "authorizer-properties")
        if options.command_config:
            raise UsageError("The --command-config option can only be used with --bootstrap-server option")
    elif options.authorizer_properties:
        raise UsageError("The --authorizer-properties option can only be used with --authorizer option")
    if sum(getattr(options, action) for action in ACTIONS) != 1:
        raise UsageError("Command must include exactly one action: --list, --add, --remove. ")
    forbid_together(options, "list", "producer", "consumer", "allow-host", "allow-principal", "deny-host",
                    "deny-principal")  # fmt: skip
    for role in ("producer", "consumer"):
        forbid_together(options, role, "operation", "deny-principal", "deny-host")
    _check_roles(options)


def _check_roles(options: argparse.Namespace) -> None:
    if options.output and not options.list:
        raise UsageError("--output says how --list prints, and needs it")
    if options.principal and not options.list:
        raise UsageError("The --principal option is only available if --list is set")
    if options.producer and not options.topic:
        raise UsageError("With --producer you must specify a --topic")
    if options.idempotent and not options.producer:
        raise UsageError("The --idempotent option is only available if --producer is set")
    others = not options.producer and (options.cluster or options.transactional_id)
    if options.consumer and (not options.topic or not options.group or others):
        raise UsageError(
            "With --consumer you must specify a --topic and a --group and no --cluster or --transactional-id option "
            "should be specified."
        )
