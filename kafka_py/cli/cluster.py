"""kafka-cluster.sh: tells the cluster's id. Unregistering a broker is for clusters without ZooKeeper, and says so.

Source: docs/reference/tools.md, section 11.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence

from kafka_py.base.errors import ErrorCode, KafkaError
from kafka_py.base.properties import read_properties
from kafka_py.cli.common.command import CommandFailed, log_warnings, run
from kafka_py.cli.common.prefix_parser import PrefixParser
from kafka_py.wire.apis import ApiKey

NO_UNREGISTRATION = "The target cluster does not support the broker unregistration API."


class _ActionParser(PrefixParser):
    """The options of one action; `prog` is what argparse calls the name."""

    def __init__(self, prog: str, about: str) -> None:
        super().__init__(prog, about)


def parser() -> PrefixParser:
    table = PrefixParser("kafka-cluster.sh", "Look at a cluster.")
    actions = table.add_subparsers(dest="action", required=True, parser_class=_ActionParser)
    for action, about in (
        ("cluster-id", "tell the id of the cluster"),
        ("unregister", "unregister a broker (only for clusters without ZooKeeper)"),
    ):
        each = actions.add_parser(action, help=about, about=about)
        each.add_argument("--bootstrap-server", "-b", help="the brokers to connect to, host:port,host:port")
        each.add_argument("--config", "-c", metavar="FILE", help="property file for the admin client")
        if action == "unregister":
            each.add_argument("--id", "-i", type=int, help="the id of the broker")
    return table


def main(arguments: Sequence[str]) -> int:
    table = parser()
    if not arguments:
        table.error("too few arguments")
    options = table.parse(arguments)
    if options.bootstrap_server is None:
        print("Please specify --bootstrap-server.", file=sys.stderr)
        return 1
    log_warnings()
    properties = read_properties(options.config) if options.config else {}
    from kafka_py.clients.admin.client import AdminClient

    with AdminClient({**properties, "bootstrap.servers": options.bootstrap_server}) as admin:
        if options.action == "unregister":
            if ApiKey.UNREGISTER_BROKER in admin.api_versions():
                raise CommandFailed("It runs without ZooKeeper; this tool does not unregister its brokers.")
            print(NO_UNREGISTRATION)
            return 0
        cluster_id = admin.describe_cluster().cluster_id
    if cluster_id is None:
        raise CommandFailed(str(KafkaError(ErrorCode.UNSUPPORTED_VERSION, "the brokers do not tell a cluster id")))
    print(f"Cluster ID: {cluster_id}")
    return 0


def cli() -> None:
    run(main)


if __name__ == "__main__":
    cli()
