"""Whether the server in this container serves: `health.py broker`, `in-sync`, `zookeeper` or `manager`.

Exit code 0 if so, else 1 with one line. `broker` asks for the versions that it speaks, which is answered before any
login. `in-sync` asks whether the broker is registered and in the in-sync set of every partition that it has a replica
of: a rolling restart waits for that. It needs a PLAINTEXT listener and is `broker` without; through TLS only a
connection is made. `manager` asks for the page on which users log in.
"""

from __future__ import annotations

import http.client
import os
import socket
import ssl
import struct
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from kafka_py.base.properties import read_properties
from kafka_py.cli.common.command import CommandFailed, UsageError, run
from kafka_py.cli.container.broker import read_variables
from kafka_py.cli.container.variables import read_secret
from kafka_py.cli.container.zookeeper_variables import zookeeper_settings
from kafka_py.cli.local_cluster.broker_view import exchange, zookeeper_mode

if TYPE_CHECKING:
    from kafka_py.manager.settings import ManagerSettings
    from kafka_py.wire.messages.metadata import MetadataResponse

SERVERS = {"broker": "broker", "in-sync": "broker", "zookeeper": "ZooKeeper server", "manager": "web manager"}
"""What may be asked for, and who answers."""
USAGE = f"USAGE: python -m kafka_py.cli.container.health {'|'.join(SERVERS)}"
PATIENCE_S = 4.0
DEFAULT_LISTENERS = "PLAINTEXT://:9092"
_API_VERSIONS = struct.pack(">hhih", 18, 0, 1, 0)
"""The request ApiVersions, version 0, with an empty client id."""
_METADATA_VERSION = 5
LOGIN_PAGE = "/login"
_ANY = {"": "127.0.0.1", "0.0.0.0": "127.0.0.1", "::": "::1", "[::]": "::1"}
"""Where whoever listens on all addresses is found; on those of IPv6 neither server takes connections by IPv4."""


class Door(NamedTuple):
    """A listener of the broker in this container."""

    host: str
    port: int
    protocol: str


def doors(settings: Mapping[str, str]) -> list[Door]:
    """Its listeners, the most open one first."""
    pairs = [item.strip().split(":", 1) for item in settings.get("listener.security.protocol.map", "").split(",")]
    protocols = {pair[0].strip().upper(): pair[1].strip().upper() for pair in pairs if len(pair) == 2}
    found = []
    for text in settings.get("listeners", DEFAULT_LISTENERS).split(","):
        name, _, address = text.strip().partition("://")
        host, _, port = address.rpartition(":")
        if port.isdigit():
            protocol = protocols.get(name.upper(), name.upper())
            found.append(Door(_ANY.get(host, host.strip("[]")), int(port), protocol))
    order = ["PLAINTEXT", "SASL_PLAINTEXT"]
    return sorted(found, key=lambda door: order.index(door.protocol) if door.protocol in order else len(order))


def check_broker(door: Door) -> None:
    """Raises CommandFailed, OSError."""
    with socket.create_connection(door[:2], PATIENCE_S) as connection:
        if not door.protocol.endswith("PLAINTEXT"):
            return
        answer = exchange(connection, struct.pack(">i", len(_API_VERSIONS)) + _API_VERSIONS)
    if struct.unpack_from(">ih", answer) != (1, 0):
        raise CommandFailed(f"the broker's answer on port {door.port} is not one of Kafka")


def check_in_sync(door: Door, broker_id: int) -> None:
    """Raises CommandFailed, OSError."""
    from kafka_py.wire.frames import decode_response, encode_request
    from kafka_py.wire.messages.metadata import MetadataRequest, MetadataResponse

    request = MetadataRequest(topics=None, allow_auto_topic_creation=False)
    with socket.create_connection(door[:2], PATIENCE_S) as connection:
        answer = exchange(connection, encode_request(request, _METADATA_VERSION, 1, "health"))
    _, view = decode_response(MetadataResponse, _METADATA_VERSION, answer)
    if not any(broker.node_id == broker_id for broker in view.brokers):
        raise CommandFailed(f"broker {broker_id} is not registered")
    if behind := lagging(view, broker_id):
        more = f" and {len(behind) - 3} more" if len(behind) > 3 else ""
        raise CommandFailed(f"broker {broker_id} is not in sync for {', '.join(behind[:3])}{more}")


def lagging(view: MetadataResponse, broker_id: int) -> list[str]:
    """The partitions of which this broker has a replica that is not in sync."""
    return [
        f"{topic.name}-{partition.partition_index}"
        for topic in view.topics
        for partition in topic.partitions
        if broker_id in partition.replica_nodes and broker_id not in partition.isr_nodes
    ]


def own_id(settings: Mapping[str, str]) -> int:
    """broker.id, or where that is generated what the log directory says. Raises CommandFailed, ConfigError."""
    given = settings.get("broker.id", "-1").strip()
    if given != "-1":
        return int(given)
    folder = settings.get("log.dirs", settings.get("log.dir", "")).split(",")[0].strip()
    file = Path(folder, "meta.properties")
    if not file.exists():
        raise CommandFailed("the broker has no id yet")
    return int(read_properties(file)["broker.id"])


def check_manager(settings: ManagerSettings) -> None:
    """Raises CommandFailed, OSError."""
    host = _ANY.get(settings.host, settings.host)
    connection = http.client.HTTPConnection(host, settings.port, timeout=PATIENCE_S)
    if settings.tls_certificate is not None:
        trusting = ssl.create_default_context()
        trusting.check_hostname = False  # the certificate has another name than this address
        trusting.verify_mode = ssl.CERT_NONE
        connection = http.client.HTTPSConnection(host, settings.port, timeout=PATIENCE_S, context=trusting)
    try:
        connection.request("GET", LOGIN_PAGE)
        status = connection.getresponse().status
    except http.client.HTTPException as error:
        raise CommandFailed(f"the answer on port {settings.port} is not one of a web manager: {error!r}") from None
    finally:
        connection.close()
    if status != http.HTTPStatus.OK:
        raise CommandFailed(f"the web manager answers with the status {status}")


def check(what: str, environment: Mapping[str, str]) -> None:
    """Raises CommandFailed, ConfigError, OSError."""
    if what == "zookeeper":
        if zookeeper_mode(int(zookeeper_settings(environment, read_secret).settings["clientPort"])) is None:
            raise CommandFailed("ZooKeeper does not serve")
        return
    if what == "manager":
        from kafka_py.cli.container.manager import manager_settings, read_manager_variables

        check_manager(manager_settings(read_manager_variables(environment)))
        return
    settings = read_variables(environment).settings
    known = doors(settings)
    if not known:
        raise CommandFailed("the broker has no listener with a port")
    if what == "in-sync" and known[0].protocol == "PLAINTEXT":
        check_in_sync(known[0], own_id(settings))
    else:
        check_broker(known[0])


def main(arguments: Sequence[str]) -> int:
    if len(arguments) != 1 or arguments[0] not in SERVERS:
        raise UsageError(USAGE)
    try:
        check(arguments[0], os.environ)
    except OSError as error:
        raise CommandFailed(f"the {SERVERS[arguments[0]]} does not answer: {error}") from None
    return 0


def cli() -> None:
    run(main)


if __name__ == "__main__":
    cli()
