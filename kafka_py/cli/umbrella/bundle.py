"""kafka-py bundle: logs, settings without secrets, metrics, states and versions in one archive, for whoever helps.

    kafka-py bundle --bootstrap-server localhost:9092 --logs /var/log/kafka --settings config/server.properties

Without --bootstrap-server it takes the cluster of the profile, or that of `kafka-py up` with its logs and settings;
without any, files of this machine alone.
"""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from kafka_py.cli.common.command import CommandFailed, UsageError, keep_quiet, run
from kafka_py.cli.common.connection_options import add_connection, admin_properties
from kafka_py.cli.umbrella.doctor import add_places
from kafka_py.cli.umbrella.options import UmbrellaParser, folder_of

if TYPE_CHECKING:
    from kafka_py.cli.local_cluster.layout import LocalCluster
    from kafka_py.operations.bundle.collect import BundleRequest
    from kafka_py.operations.doctor.examine import DoctorRequest

MiB = 1 << 20


def parser() -> UmbrellaParser:
    table = UmbrellaParser("bundle", "Writes logs, settings without secrets, metrics, states and versions into one "
                           "archive.")  # fmt: skip
    add_connection(table)
    add_places(table)
    table.repeatable("--logs", "A log file, or a folder of them.", metavar="String: path")
    table.repeatable("--settings", "A property file of a broker or a client.", metavar="String: file")
    table.option("--file", "The archive. Default: kafka-py-bundle-TIME.tar.gz in this folder.", metavar="String: file")
    table.option("--max-mb", "The most that goes in, before compression.", metavar="Integer: MB", kind=int, default=64)
    table.data_option()
    return table


def is_secret(name: str) -> bool:
    """By the tables of settings of brokers and clients; what is in none of them counts as secret."""
    from kafka_py.broker.settings.setting_names import is_secret as is_secret_of_brokers
    from kafka_py.cli.config_check.file_kinds import KINDS

    rows = [table.ROWS[name] for kind, table in KINDS.items() if kind != "server" and name in table.ROWS]
    if any(row.sensitive for row in rows):
        return True
    return not rows and is_secret_of_brokers(name)


def request_of(options: argparse.Namespace) -> BundleRequest:
    """What the options ask for. Raises ConfigError, CommandFailed, UsageError."""
    from kafka_py.base.properties import read_properties
    from kafka_py.cli.local_cluster import layout
    from kafka_py.operations.bundle.collect import BundleRequest
    from kafka_py.operations.bundle.entries import BundleLimits

    if options.max_mb <= 0 or options.timeout_ms <= 0:
        raise UsageError("--max-mb and --timeout-ms must be above 0")
    settings = {file: read_properties(file) for file in options.settings or ()}
    logs = list(options.logs or ())
    configs = admin_properties(options) if options.bootstrap_server is not None else None
    folder = folder_of(options)
    if options.data or (folder / layout.FILE).is_file():
        cluster = layout.read_existing(folder)
        if configs is None:
            configs = {**layout.client_settings(folder, cluster), "bootstrap.servers": cluster.bootstrap_servers}
        if configs["bootstrap.servers"] == cluster.bootstrap_servers:
            own, own_logs = _files_of(folder, cluster)
            settings, logs = {**settings, **own}, [*logs, *own_logs]
    if configs is None and not settings and not logs:
        raise UsageError("Name a cluster by --bootstrap-server, or files by --logs and --settings")
    return BundleRequest(
        is_secret=is_secret,
        doctor=None if configs is None else _doctor_request(options, configs),
        settings=settings,
        logs=logs,
        limits=BundleLimits(total_bytes=options.max_mb * MiB),
    )


def _files_of(folder: Path, cluster: LocalCluster) -> tuple[dict[str, dict[str, str]], list[str]]:
    """Settings and logs of a cluster on this machine."""
    from kafka_py.base.properties import read_properties
    from kafka_py.cli.local_cluster.layout import ZOOKEEPER, log_of

    files = [folder / name / f"{'zookeeper' if name == ZOOKEEPER else 'server'}.properties" for name in cluster.names]
    settings = {str(path): read_properties(path) for path in files if path.is_file()}
    return settings, [str(log_of(folder, name)) for name in cluster.names]


def _doctor_request(options: argparse.Namespace, configs: Mapping[str, str]) -> DoctorRequest:
    from kafka_py.operations.doctor.examine import DoctorRequest

    return DoctorRequest(
        configs=configs, zookeeper=options.zookeeper, metrics=tuple(options.metrics or ()),
        timeout_s=options.timeout_ms / 1000,
    )  # fmt: skip


def main(arguments: Sequence[str]) -> int:
    options = parser().parse(arguments)
    request = request_of(options)
    keep_quiet()  # what fails is in bundle.json
    import asyncio
    from datetime import UTC, datetime

    from kafka_py.base.clock import SYSTEM_CLOCK
    from kafka_py.operations.bundle.archive import write_archive
    from kafka_py.operations.bundle.collect import collect

    now_s = SYSTEM_CLOCK.wall_ms() / 1000
    stem = f"kafka-py-bundle-{datetime.fromtimestamp(now_s, UTC):%Y%m%dT%H%M%SZ}"
    path = Path(options.file or f"{stem}.tar.gz")
    entries = asyncio.run(collect(request))
    try:
        size = write_archive(path, entries, stem, now_s)
    except OSError as error:
        raise CommandFailed(f"{path} cannot be written: {error.strerror}") from None
    print(f"{path}: {len(entries)} files, {size / MiB:.1f} MB. Settings are without secrets; look at logs before you "
          "send them.")  # fmt: skip
    return 0


def cli() -> None:
    run(main, parser)


if __name__ == "__main__":
    cli()
