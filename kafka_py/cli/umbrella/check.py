"""kafka-py check FILE ...: what is wrong with the settings of a broker, a client or a pipeline.

Exit code 1 if a file has errors, or with --strict warnings.
"""

from __future__ import annotations

import argparse
import importlib
from collections.abc import Sequence
from pathlib import Path

from kafka_py.base.errors import ConfigError
from kafka_py.base.properties import numbered_pairs
from kafka_py.cli.common.command import CommandFailed, UsageError, run
from kafka_py.cli.config_check.findings import ConfigFinding, Gravity
from kafka_py.cli.umbrella.options import UmbrellaParser

KINDS = ("server", "producer", "consumer", "admin")
PIPELINES = (".yaml", ".yml", ".toml")
OF_ZOOKEEPER = {"dataDir", "clientPort"}


def parser() -> UmbrellaParser:
    table = UmbrellaParser("check", "Checks property files of brokers and clients, and files of pipelines.")
    table.add_argument("files", nargs="*", metavar="FILE", help="a .properties file, or a pipeline's .yaml or .toml")
    table.option("--kind", "Whose settings the files have; by default seen from their names.", choices=KINDS)
    table.repeatable("--set", "A value for ${NAME} in a pipeline's file.", metavar="NAME=VALUE")
    table.flag("--strict", "Exit code 1 for warnings as well.")
    return table


def check_file(path: Path, options: argparse.Namespace) -> list[ConfigFinding]:
    """All findings in one file. Raises CommandFailed where it cannot be read."""
    if path.suffix in PIPELINES:
        return _check_pipeline(path, options)
    from kafka_py.cli.config_check.file_kinds import kind_of
    from kafka_py.cli.config_check.properties import check

    try:
        pairs = list(numbered_pairs(path.read_text(), str(path)))
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "not UTF-8 text"
        raise CommandFailed(f"{path} cannot be read: {reason}") from None
    except ConfigError as error:
        return [ConfigFinding(Gravity.ERROR, 0, str(error.message))]
    names = {name for _, name, _ in pairs}
    if options.kind is None and names >= OF_ZOOKEEPER:
        return [ConfigFinding(Gravity.NOTE, 0, "these are ZooKeeper's settings, which its server checks at its start")]
    return check(pairs, options.kind or kind_of(names))


def _check_pipeline(path: Path, options: argparse.Namespace) -> list[ConfigFinding]:
    # The pipeline package is on this package's floor, and so is called by name.
    run_pipeline = importlib.import_module("kafka_py.pipeline.jobs.run")
    try:
        run_pipeline.read_job(path, dict(pair.split("=", 1) for pair in options.set or ()))
    except ConfigError as error:
        return [ConfigFinding(Gravity.ERROR, 0, str(error.message).removeprefix(f"{path}: "))]
    return []


def main(arguments: Sequence[str]) -> int:
    options = parser().parse(arguments)
    if not options.files:
        raise UsageError("A file must be given")
    if any("=" not in pair for pair in options.set or ()):
        raise UsageError("--set takes NAME=VALUE")
    worst = {Gravity.ERROR, Gravity.WARNING} if options.strict else {Gravity.ERROR}
    code = 0
    for file in options.files:
        found = check_file(Path(file), options)
        for finding in found:
            print(finding.shown(file))
        if not found:
            print(f"{file}: in order")
        if any(finding.gravity in worst for finding in found):
            code = 1
    return code


def cli() -> None:
    run(main, parser)


if __name__ == "__main__":
    cli()
