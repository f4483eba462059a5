"""kafka-delete-records.sh: deletes the records of partitions before the offsets in a JSON file (KIP-107).

Source: docs/reference/tools.md, section 9.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from kafka_py.base.errors import KafkaError
from kafka_py.base.ids import TopicPartition
from kafka_py.cli.common.command import CommandFailed, CommandParser, log_warnings, require, run
from kafka_py.cli.common.connection_options import add_connection, admin_properties
from kafka_py.cli.java_compat.java_errors import exception_text

EARLIEST_VERSION = 1


def parser() -> CommandParser:
    table = CommandParser("kafka-delete-records.sh", "Delete the records of partitions before given offsets.")
    add_connection(table)
    table.option("--offset-json-file", 'REQUIRED: JSON file with the offsets, -1 for all records: {"partitions": '
                 '[{"topic": "foo", "partition": 1, "offset": 1}], "version": 1}', metavar="String: file")  # fmt: skip
    return table


def parse_offsets(text: str) -> dict[TopicPartition, int]:
    """The offsets of an offset file, by partition. Raises CommandFailed."""
    try:
        data = json.loads(text)
    except ValueError as error:
        raise CommandFailed(f"The offset file is not valid JSON: {error}") from None
    if not isinstance(data, dict) or "partitions" not in data:
        raise CommandFailed("The offset file has no field `partitions`")
    version = data.get("version", EARLIEST_VERSION)
    if version != EARLIEST_VERSION:
        raise CommandFailed(f"Not supported version field value {version}")
    rows = [_row(row) for row in data["partitions"]]
    repeated = sorted({partition for partition, _ in rows if sum(partition == other for other, _ in rows) > 1})
    if repeated:
        listed = ",".join(map(str, repeated))
        raise CommandFailed(f"Offset json file contains duplicate topic partitions: {listed}")
    return dict(rows)


def _row(row: Any) -> tuple[TopicPartition, int]:
    fields = {"topic": str, "partition": int, "offset": int}
    for name, kind in fields.items():
        if not isinstance(row, dict) or name not in row:
            raise CommandFailed(f"The offset file has an entry without `{name}`: {json.dumps(row)}")
        if type(row[name]) is not kind:
            raise CommandFailed(f"The offset file has an entry whose `{name}` is {json.dumps(row[name])}")
    return TopicPartition(row["topic"], row["partition"]), row["offset"]


def lines(results: Mapping[TopicPartition, int | KafkaError]) -> Iterable[str]:
    """One line per partition: its low watermark, or its error."""
    for partition, outcome in results.items():
        if isinstance(outcome, KafkaError):
            yield f"partition: {partition}\terror: {exception_text(outcome)}"
        else:
            yield f"partition: {partition}\tlow_watermark: {outcome}"


def main(arguments: Sequence[str]) -> int:
    options = parser().parse(arguments)
    require(options, "bootstrap-server", "offset-json-file")
    log_warnings()
    try:
        offsets = parse_offsets(Path(options.offset_json_file).read_text(encoding="utf-8"))
    except OSError as error:
        raise CommandFailed(f"Unable to read file {options.offset_json_file}: {error.strerror}") from None
    from kafka_py.clients.admin.client import AdminClient

    with AdminClient(admin_properties(options)) as admin:
        print("Executing records delete operation", flush=True)
        results = admin.delete_records(offsets)
    print("Records delete operation completed:")
    for line in lines(results):
        print(line)
    return 0


def cli() -> None:
    run(main, parser)


if __name__ == "__main__":
    cli()
