"""All files of `kafka-py dashboards` as documents, by their path in the folder."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from kafka_py.operations.dashboards import (
    clients_board,
    cluster_board,
    controller_board,
    grafana,
    groups_board,
    rules,
    topics_board,
    zookeeper_board,
)
from kafka_py.operations.dashboards.panels import Dashboard
from kafka_py.operations.dashboards.scopes import rules_scope
from kafka_py.operations.dashboards.variables import BROKER_JOB, EXPORTER_JOB

RULES_FILE = "kafka_py-rules.yml"
BOARDS_FOLDER = "grafana/dashboards"
PROVIDER_FILE = "grafana/provisioning/dashboards/kafka_py.yaml"
SOURCE_FILE = "grafana/provisioning/datasources/kafka_py.yaml"


class WantedFiles(NamedTuple):
    """job, exporter_job: scrape jobs. data_source: its name in Grafana. prometheus_url: makes that data source."""

    job: str = BROKER_JOB
    exporter_job: str = EXPORTER_JOB
    data_source: str = "Prometheus"
    prometheus_url: str | None = None


def all_dashboards(wanted: WantedFiles) -> list[Dashboard]:
    """In the order of reading."""
    own = [board.dashboard(wanted.job) for board in (cluster_board, topics_board)]
    others = [board.dashboard(wanted.job) for board in (clients_board, controller_board, zookeeper_board)]
    return [*own, groups_board.dashboard(wanted.exporter_job), *others]


def rules_files(wanted: WantedFiles) -> Mapping[str, dict[str, Any]]:
    """The rules of Prometheus."""
    return {RULES_FILE: rules.document(rules_scope(wanted.job, wanted.exporter_job))}


def grafana_files(wanted: WantedFiles, folder: str) -> Mapping[str, dict[str, Any]]:
    """Dashboards and provisioning. folder: where Grafana finds BOARDS_FOLDER."""
    made = {
        f"{BOARDS_FOLDER}/{each.name}.json": grafana.document(each, wanted.data_source)
        for each in all_dashboards(wanted)
    }
    made[PROVIDER_FILE] = grafana.dashboards_provider(folder)
    if wanted.prometheus_url is not None:
        made[SOURCE_FILE] = grafana.data_source_provider(wanted.data_source, wanted.prometheus_url)
    return made
