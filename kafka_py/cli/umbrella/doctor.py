"""kafka-py doctor: what is wrong with a cluster or with the way to it, why that matters, and what repairs it.

Exit code 0: nothing worse than advice; 2: warnings; 3: errors. 1, as of every command: it could not look.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from kafka_py.cli.common.command import UsageError, keep_quiet, require, run
from kafka_py.cli.common.connection_options import add_connection, admin_properties
from kafka_py.cli.common.documents import output_option, print_document
from kafka_py.cli.umbrella.options import UmbrellaParser

if TYPE_CHECKING:
    import argparse

    from kafka_py.operations.doctor.examine import DoctorRequest
    from kafka_py.operations.doctor.findings import DoctorFinding, DoctorReport

EXIT_CODES = {None: 0, "note": 0, "warning": 2, "error": 3}
"""By the gravest finding."""


def parser() -> UmbrellaParser:
    table = UmbrellaParser("doctor", "Says what is wrong with a cluster, or with the way to it, and what repairs it.")
    add_connection(table)
    add_places(table)
    table.repeatable("--client-config", "A client's property file to look at.", metavar="String: file")
    table.option("--clock-topic", "A topic with message.timestamp.type=LogAppendTime: two records for each broker are "
                 "written to it, to compare their clocks.", metavar="String: topic")  # fmt: skip
    output_option(table)
    return table


def add_places(table: UmbrellaParser) -> None:
    """The rows of what else to look at, and for how long."""
    table.option("--zookeeper", "ZooKeeper servers to look at, host:port,host:port.", metavar="String: server(s)")
    table.repeatable("--metrics", "A broker's page of metrics: host:port, or an address.", metavar="String: address")
    table.option("--timeout-ms", "Time for each step.", metavar="Integer: ms", kind=int, default=5000)


def request_of(options: argparse.Namespace) -> DoctorRequest:
    """What the options ask for. Raises ConfigError, UsageError."""
    from kafka_py.base.properties import read_properties
    from kafka_py.operations.doctor.examine import DoctorRequest

    require(options, "bootstrap-server")
    if options.timeout_ms <= 0:
        raise UsageError("--timeout-ms must be above 0")
    files = getattr(options, "client_config", None) or []
    return DoctorRequest(
        configs=admin_properties(options),
        zookeeper=options.zookeeper,
        metrics=tuple(options.metrics or ()),
        client_files={file: read_properties(file) for file in files},
        clock_topic=getattr(options, "clock_topic", None),
        timeout_s=options.timeout_ms / 1000,
    )


def lines(report: DoctorReport) -> Iterator[str]:
    """The text of the command."""
    for finding in report.findings:
        yield from _lines_of(finding)
        yield ""
    if report.unchecked:
        yield "Not checked:"
        yield from (f"  {each}" for each in report.unchecked)
        yield ""
    counts = report.document()
    if report.findings:
        yield f"{counts['errors']} errors, {counts['warnings']} warnings, {counts['notes']} notes"
    else:
        yield "Nothing is wrong."


def _lines_of(finding: DoctorFinding) -> Iterator[str]:
    yield f"{finding.severity.value.upper()} {finding.id}: {finding.what}"
    yield f"  why:     {finding.why}"
    yield f"  repair:  {finding.repair}"
    for number, each in enumerate(finding.evidence):
        yield f"  {'seen:    ' if not number else '         '}{each}"


def printable(line: str) -> str:
    """Without characters that a terminal acts upon: certificates and brokers choose some of these texts."""
    return "".join(each if each.isprintable() else f"\\x{ord(each):02x}" for each in line)


def main(arguments: Sequence[str]) -> int:
    options = parser().parse(arguments)
    request = request_of(options)
    keep_quiet()  # what fails is in the report
    import asyncio

    from kafka_py.operations.doctor.diagnosis import diagnose

    report = asyncio.run(diagnose(request))
    if options.output is not None:
        print_document(report.document(), options.output)
    else:
        print("\n".join(map(printable, lines(report))))
    return EXIT_CODES[None if report.worst is None else report.worst.value]


def cli() -> None:
    run(main, parser)


if __name__ == "__main__":
    cli()
