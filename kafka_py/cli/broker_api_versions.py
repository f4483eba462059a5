"""kafka-broker-api-versions.sh: which versions of which APIs every broker speaks, and which of them we would use.

Source: docs/reference/tools.md, section 10.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from kafka_py.base.errors import KafkaError
from kafka_py.cli.common.command import CommandParser, log_warnings, require, run
from kafka_py.cli.common.connection_options import add_connection, admin_properties
from kafka_py.cli.java_compat.java_errors import exception_text
from kafka_py.wire.apis import APIS, LATER, Api, ApiKey

if TYPE_CHECKING:
    from kafka_py.clients.admin.brokers import VersionRange
    from kafka_py.clients.metadata import Node


def parser() -> CommandParser:
    table = CommandParser("kafka-broker-api-versions.sh", "Show which versions of the APIs the brokers speak.")
    add_connection(table)
    return table


def api_texts(offered: Mapping[int, VersionRange]) -> Iterator[str]:
    """One text per API in the order of keys: those that the broker offers, and those it should, as 2.8.2 knows them."""
    for key in sorted({*offered, *APIS} - (LATER - set(offered))):
        ours: Api | None = None if key in LATER else APIS.get(key)  # type: ignore[call-overload]
        if key not in offered:
            yield f"{APIS[ApiKey(key)].name}({key}): UNSUPPORTED"
            continue
        lowest, highest = offered[key]
        versions = f"{lowest}" if lowest == highest else f"{lowest} to {highest}"
        if ours is None:
            yield f"UNKNOWN({key}): {versions}"
        elif highest < ours.min_version:
            yield f"{ours.name}({key}): {versions} [unusable: node too old]"
        elif lowest > ours.max_version:
            yield f"{ours.name}({key}): {versions} [unusable: node too new]"
        else:
            yield f"{ours.name}({key}): {versions} [usable: {min(highest, ours.max_version)}]"


def broker_text(broker: Node, offered: Mapping[int, VersionRange] | KafkaError) -> str:
    """What is printed for one broker."""
    name = f"{broker.host}:{broker.port} (id: {broker.id} rack: {broker.rack or 'null'})"
    if isinstance(offered, KafkaError):
        return f"{name} -> ERROR: {exception_text(offered)}"
    return f"{name} -> (\n\t" + ",\n\t".join(api_texts(offered)) + "\n)"


def main(arguments: Sequence[str]) -> int:
    options = parser().parse(arguments)
    require(options, "bootstrap-server")
    log_warnings()
    from kafka_py.clients.admin.client import AdminClient

    with AdminClient(admin_properties(options)) as admin:
        for broker in sorted(admin.describe_cluster().nodes, key=lambda node: node.id):
            try:
                offered: Mapping[int, VersionRange] | KafkaError = admin.offered_versions(broker.id)
            except KafkaError as error:
                offered = error
            print(broker_text(broker, offered))
    return 0


def cli() -> None:
    run(main, parser)


if __name__ == "__main__":
    cli()
