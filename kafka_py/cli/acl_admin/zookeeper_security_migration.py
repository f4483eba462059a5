"""zookeeper-security-migration.sh: gives the znodes of a cluster the access lists of zookeeper.set.acl, or opens them.

Every znode below the roots gets the list that a broker would create it with. Repeating it does no harm.
Source: docs/reference/tools.md, section 26; ZkSecurityMigrator.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence

from kafka_py.base.errors import ConfigError
from kafka_py.cli.common.command import CommandFailed, CommandParser, UsageError, log_warnings, run

USAGE = "Gives the znodes of a cluster the access lists that zookeeper.set.acl asks for, or opens them to everyone."


def parser() -> CommandParser:
    table = CommandParser("zookeeper-security-migration.sh", USAGE)
    table.option("--zookeeper.acl", "secure: only brokers write the cluster's znodes; unsecure: everyone may.",
                 metavar="String")  # fmt: skip
    table.option("--zookeeper.connect", "The ZooKeeper servers with an optional chroot path, host:port/path.",
                 default="localhost:2181", metavar="String")  # fmt: skip
    for name, what in (("session", "the session may be without a connection"), ("connection", "the first one takes")):
        table.option(f"--zookeeper.{name}.timeout", f"How long {what}, in ms.", kind=int, default=30000,
                     metavar="Integer: milliseconds")  # fmt: skip
    table.flag("--enable.path.check", "Ends with an error if one of the root paths does not exist.")
    table.option("--zk-tls-config-file", "Property file with zookeeper.ssl.* for the connection to ZooKeeper.",
                 metavar="String: file")  # fmt: skip
    return table


def main(arguments: Sequence[str]) -> int:
    options = parser().parse(arguments)
    log_warnings()
    import asyncio

    from kafka_py.cli.acl_admin.znode_migration import identified, migrate

    try:
        protection = identified(os.environ, options.zk_tls_config_file)
    except (CommandFailed, ConfigError) as error:
        print(f"ERROR: {error.detail if isinstance(error, ConfigError) else error}", file=sys.stderr)
        return 1
    if getattr(options, "zookeeper.acl") not in ("secure", "unsecure"):
        raise UsageError("--zookeeper.acl is required: secure or unsecure")
    asyncio.run(migrate(options, protection))
    return 0


def cli() -> None:
    run(main)


if __name__ == "__main__":
    cli()
