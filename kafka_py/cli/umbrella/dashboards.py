"""kafka-py dashboards: dashboards for Grafana and alert rules for Prometheus, as files.

    kafka-py dashboards --out monitoring --job kafka
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kafka_py.cli.common.command import CommandFailed, UsageError, forbid_together, run
from kafka_py.cli.common.documents import yaml_text
from kafka_py.cli.common.whole_files import replace_text
from kafka_py.cli.umbrella.options import UmbrellaParser

if TYPE_CHECKING:
    from kafka_py.operations.dashboards.files import WantedFiles

HEADING = "# Written by `kafka-py dashboards`, which overwrites it.\n"


def parser() -> UmbrellaParser:
    table = UmbrellaParser("dashboards", "Writes dashboards for Grafana and alert rules for Prometheus.")
    table.option("--out", "The folder.", metavar="Folder", default="monitoring")
    table.option("--job", "The scrape job of the brokers.", metavar="String: job", default="kafka")
    table.option("--exporter-job", "The scrape job of kafka-exporter, for consumer groups.",
                 metavar="String: job", default="kafka-exporter")  # fmt: skip
    table.option("--datasource", "The data source in Grafana that is chosen at first.", metavar="String: name",
                 default="Prometheus")  # fmt: skip
    table.option("--prometheus-url", "Let Grafana make that data source at its start, with this address.",
                 metavar="String: address")  # fmt: skip
    table.option("--grafana-path", "Where Grafana finds the folder of the dashboards, if it runs in a container.",
                 metavar="Folder")  # fmt: skip
    table.flag("--rules-only", "Write the rules for Prometheus only.")
    table.flag("--grafana-only", "Write the files for Grafana only.")
    table.flag("--list", "Print the dashboards, panels and alerts; write nothing.")
    return table


def wanted_by(options: argparse.Namespace) -> WantedFiles:
    """What the options ask for. Raises UsageError."""
    from kafka_py.operations.dashboards.files import WantedFiles

    forbid_together(options, "rules-only", "grafana-only")
    for name in ("out", "job", "exporter_job", "datasource"):
        if not getattr(options, name).strip() or not getattr(options, name).isprintable():
            raise UsageError(f"--{name.replace('_', '-')} needs a name")
    url = options.prometheus_url
    if url is not None and not url.startswith(("http://", "https://")):
        raise UsageError(f"--prometheus-url begins with http:// or https://, unlike {url}")
    return WantedFiles(options.job, options.exporter_job, options.datasource, url)


def documents(options: argparse.Namespace, wanted: WantedFiles) -> Mapping[str, dict[str, Any]]:
    """The files by their path below --out."""
    from kafka_py.operations.dashboards import files

    made: dict[str, dict[str, Any]] = {}
    if not options.grafana_only:
        made |= files.rules_files(wanted)
    if not options.rules_only:
        folder = options.grafana_path or str(Path(options.out).absolute() / files.BOARDS_FOLDER)
        made |= files.grafana_files(wanted, folder)
    return made


def text_of(path: str, document: dict[str, Any]) -> str:
    """As JSON or, with a heading, as YAML: by the file's name."""
    if path.endswith(".json"):
        return json.dumps(document, indent=2, ensure_ascii=False) + "\n"
    return f"{HEADING}{yaml_text(document)}\n"


def listed(options: argparse.Namespace, wanted: WantedFiles) -> Iterator[str]:
    """The lines of --list."""
    from kafka_py.operations.dashboards import rules
    from kafka_py.operations.dashboards.files import all_dashboards

    if not options.rules_only:
        for dashboard in all_dashboards(wanted):
            yield f"{dashboard.name}: {dashboard.about}"
            yield from (f"  {panel.title}: {panel.about}" for panel in dashboard.panels())
    if not options.grafana_only:
        for group, alerts in rules.ALERTS.items():
            yield f"Alerts about {group}"
            for alert in alerts:
                yield f"  {rules.PREFIX}{alert.name} ({alert.severity.value}, after {alert.lasts}): {alert.about}"


def main(arguments: Sequence[str]) -> int:
    options = parser().parse(arguments)
    wanted = wanted_by(options)
    if options.list:
        print("\n".join(listed(options, wanted)))
        return 0
    made = documents(options, wanted)
    out = Path(options.out)
    try:
        for name, document in made.items():
            (out / name).parent.mkdir(parents=True, exist_ok=True)
            replace_text(out / name, text_of(name, document))
    except OSError as error:
        where = error.filename or out
        raise CommandFailed(f"{where} cannot be written: {error.strerror}; name a folder by --out") from error
    print("\n".join(f"Wrote {out / name}" for name in made))
    return 0


def cli() -> None:
    run(main, parser)


if __name__ == "__main__":
    cli()
