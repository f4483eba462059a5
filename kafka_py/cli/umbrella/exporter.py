"""kafka-py exporter: a whole cluster for Prometheus, under the names of kafka_exporter: offsets, replicas, groups, lag.

    kafka-py exporter --bootstrap-server localhost:9092
    curl http://localhost:9308/metrics
"""

from __future__ import annotations

import re
import signal
from collections.abc import Sequence
from typing import TYPE_CHECKING

from kafka_py.cli.common.command import CommandFailed, UsageError, log_warnings, require, run
from kafka_py.cli.common.connection_options import add_connection, admin_properties
from kafka_py.cli.umbrella.options import UmbrellaParser

if TYPE_CHECKING:
    import argparse

    from kafka_py.operations.exporter.samples import ExporterChoice

DEFAULT_PORT = 9308
"""That of kafka_exporter."""
LEAST_INTERVAL_S = 1.0


def parser() -> UmbrellaParser:
    table = UmbrellaParser("exporter", "Serves a cluster's offsets, replicas, groups and lag to Prometheus.")
    add_connection(table)
    table.option("--host", "The address to listen on; nobody has to log in.", metavar="Address", default="127.0.0.1")
    table.option("--port", "The port to listen on; 0 takes a free one.", kind=int, metavar="Port",
                 default=DEFAULT_PORT)  # fmt: skip
    table.option("--topics", "Only topics in whose names this is found.", metavar="Regular expression")
    table.option("--groups", "Only groups in whose names this is found.", metavar="Regular expression")
    table.option("--interval", "Time between two looks at the cluster.", metavar="Number: seconds", kind=float,
                 default=15.0)  # fmt: skip
    return table


def pattern_of(option: str, text: str | None) -> re.Pattern[str]:
    """The expression of an option. Raises UsageError."""
    try:
        return re.compile(text or "")
    except re.error as error:
        raise UsageError(f"{option} is no regular expression: {text}: {error}") from None


async def serve(configs: dict[str, str], host: str, port: int, interval_s: float, choice: ExporterChoice) -> None:
    """Serves until a signal ends it. Raises CommandFailed where it cannot listen."""
    import asyncio

    from kafka_py.base.supervision import Supervisor
    from kafka_py.clients.admin.client import AsyncAdminClient
    from kafka_py.net.scraping.endpoint import MetricsEndpoint
    from kafka_py.operations.exporter.watch import ClusterWatch

    loop, ended = asyncio.get_running_loop(), asyncio.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, ended.set)
    async with AsyncAdminClient({"client.id": "kafka-py-exporter", **configs}) as admin:
        clock = admin.cluster.clock
        watch = ClusterWatch(admin, interval_s * 1000, choice)
        endpoint = MetricsEndpoint(host, port, watch.scrape, clock)
        try:
            await endpoint.start()
        except OSError as error:
            raise CommandFailed(f"The exporter cannot listen on {host}:{port}: {error.strerror}") from None
        supervisor = Supervisor(clock)
        try:
            watch.start(supervisor)
            print(f"The metrics are at http://{host or 'localhost'}:{endpoint.port}/metrics", flush=True)
            await ended.wait()
        finally:
            await supervisor.close()
            await endpoint.close()


def choice_of(options: argparse.Namespace) -> ExporterChoice:
    """What --topics and --groups choose. Raises UsageError."""
    from kafka_py.operations.exporter.samples import ExporterChoice

    return ExporterChoice(pattern_of("--topics", options.topics), pattern_of("--groups", options.groups))


def main(arguments: Sequence[str]) -> int:
    options = parser().parse(arguments)
    require(options, "bootstrap-server")
    if options.interval < LEAST_INTERVAL_S:
        raise UsageError(f"--interval must be at least {LEAST_INTERVAL_S} seconds")
    if not 0 <= options.port < 65_536:
        raise UsageError(f"--port is between 0 and 65535, not {options.port}")
    choice = choice_of(options)
    log_warnings()
    import asyncio

    asyncio.run(serve(admin_properties(options), options.host, options.port, options.interval, choice))
    return 0


def cli() -> None:
    run(main, parser)


if __name__ == "__main__":
    cli()
