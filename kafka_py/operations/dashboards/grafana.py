"""A dashboard as the JSON that Grafana 9 and later import, and the YAML with which they find it at their start.

Source: Grafana's documentation, JSON model; Grafana's documentation, Provisioning.
"""

from __future__ import annotations

import string
from collections.abc import Mapping
from typing import Any

from kafka_py.operations.dashboards.layout import GridPlace, arranged
from kafka_py.operations.dashboards.panels import Dashboard, Panel, PanelKind, Query, Variable
from kafka_py.operations.dashboards.scopes import DASHBOARD, resolved

SCHEMA_VERSION = 37
"""Of Grafana 9.3; later ones migrate it when they load it."""
TAG = "kafka_py"
DATA_SOURCE = {"type": "prometheus", "uid": "${datasource}"}
ALL = ".+"
"""What a variable becomes when all its values are chosen: every label that is not empty."""
ALL_AND_NONE = ".*"
"""The same, with metrics that do not have the label."""


def document(dashboard: Dashboard, data_source: str) -> dict[str, Any]:
    """data_source: the name of the data source that is chosen at first."""
    panels = [
        _panel(number, placed.thing, placed.place) if isinstance(placed.thing, Panel)
        else _heading(number, placed.thing.title, placed.place)
        for number, placed in enumerate(arranged(dashboard.rows), 1)
    ]  # fmt: skip
    return {
        "uid": dashboard.name,
        "title": dashboard.title,
        "description": dashboard.about,
        "tags": [TAG],
        "schemaVersion": SCHEMA_VERSION,
        "version": 1,
        "editable": True,
        "graphTooltip": 1,
        "refresh": "30s",
        "time": {"from": "now-1h", "to": "now"},
        "timezone": "browser",
        "links": [_links()],
        "templating": {"list": [_source_variable(data_source), *map(_variable, dashboard.variables)]},
        "panels": panels,
    }


def _links() -> dict[str, Any]:
    """The other dashboards, as a menu that keeps the time and the variables."""
    return {
        "type": "dashboards", "title": "Kafka", "tags": [TAG], "asDropdown": True, "includeVars": True,
        "keepTime": True, "targetBlank": False, "icon": "external link", "tooltip": "", "url": "",
    }  # fmt: skip


def _source_variable(name: str) -> dict[str, Any]:
    return {
        "name": "datasource", "label": "Data source", "type": "datasource", "query": "prometheus", "refresh": 1,
        "hide": 0, "multi": False, "includeAll": False, "regex": "", "options": [], "skipUrlSync": False,
        "current": {"selected": False, "text": name, "value": name},
    }  # fmt: skip


def _variable(variable: Variable) -> dict[str, Any]:
    query = f"label_values({variable.metric}, {variable.tag})"
    chosen: dict[str, Any] = {"selected": True, "text": variable.expected, "value": variable.expected}
    if variable.many:
        chosen = {"selected": True, "text": ["All"], "value": ["$__all"]}
    made: dict[str, Any] = {
        "name": variable.name, "label": variable.label, "type": "query", "datasource": DATA_SOURCE,
        "query": {"query": query, "refId": variable.name}, "refresh": 2, "sort": 1, "hide": 0,
        "multi": variable.many, "includeAll": variable.many, "regex": "", "options": [], "skipUrlSync": False,
        "current": chosen,
    }  # fmt: skip
    return {**made, "allValue": ALL_AND_NONE if variable.optional else ALL} if variable.many else made


def _heading(number: int, title: str, place: GridPlace) -> dict[str, Any]:
    return {"id": number, "type": "row", "title": title, "collapsed": False, "gridPos": _grid(place), "panels": []}


def _grid(place: GridPlace) -> dict[str, int]:
    return {"x": place.x, "y": place.y, "w": place.width, "h": place.height}


def _panel(number: int, panel: Panel, place: GridPlace) -> dict[str, Any]:
    made: dict[str, Any] = {
        "id": number,
        "type": panel.kind.value,
        "title": panel.title,
        "description": panel.about,
        "gridPos": _grid(place),
        "datasource": DATA_SOURCE,
        "targets": [_target(letter, query, panel.kind) for letter, query in zip(_LETTERS, panel.queries, strict=False)],
        "fieldConfig": {"defaults": _defaults(panel), "overrides": []},
        "options": _OPTIONS[panel.kind],
    }
    return {**made, "transformations": _columns(panel)} if panel.kind is PanelKind.TABLE else made


_LETTERS = string.ascii_uppercase


def _target(letter: str, query: Query, kind: PanelKind) -> dict[str, Any]:
    is_table = kind is PanelKind.TABLE
    return {
        "refId": letter, "datasource": DATA_SOURCE, "expr": resolved(query.expression, DASHBOARD),
        "legendFormat": "__auto" if is_table else query.legend, "format": "table" if is_table else "time_series",
        "instant": is_table, "range": not is_table, "editorMode": "code",
    }  # fmt: skip


def _defaults(panel: Panel) -> dict[str, Any]:
    steps: list[dict[str, Any]] = [{"color": panel.base_color, "value": None}]
    steps += [{"color": each.color, "value": each.value} for each in panel.thresholds]
    made: dict[str, Any] = {"unit": panel.unit.value, "thresholds": {"mode": "absolute", "steps": steps}}
    if panel.kind is PanelKind.SERIES:
        custom = {"drawStyle": "line", "lineWidth": 1, "fillOpacity": 10, "showPoints": "never", "spanNulls": False}
        stacking = {"mode": "normal" if panel.stacked else "none", "group": "A"}
        return {**made, "color": {"mode": "palette-classic"}, "custom": {**custom, "stacking": stacking}}
    return {**made, "color": {"mode": "thresholds"}}


_OPTIONS: Mapping[PanelKind, dict[str, Any]] = {
    PanelKind.SERIES: {
        "legend": {"displayMode": "list", "placement": "bottom", "showLegend": True, "calcs": []},
        "tooltip": {"mode": "multi", "sort": "desc"},
    },
    PanelKind.STAT: {
        "reduceOptions": {"calcs": ["lastNotNull"], "fields": "", "values": False},
        "colorMode": "value", "graphMode": "area", "justifyMode": "auto", "orientation": "auto", "textMode": "value",
    },
    PanelKind.TABLE: {"showHeader": True},
}  # fmt: skip


def _columns(panel: Panel) -> list[dict[str, Any]]:
    """One table of all queries, whose columns have the legends."""
    names = {f"Value #{letter}": query.legend for letter, query in zip(_LETTERS, panel.queries, strict=False)}
    hidden = dict.fromkeys(("Time", "__name__", "job"), True)
    return [
        {"id": "merge", "options": {}},
        {"id": "organize", "options": {"excludeByName": hidden, "indexByName": {}, "renameByName": names}},
    ]


# ---- provisioning


def dashboards_provider(folder: str) -> dict[str, Any]:
    """provisioning/dashboards/*.yaml. folder: where Grafana finds the dashboards' files."""
    provider = {
        "name": TAG, "orgId": 1, "folder": "Kafka", "type": "file", "disableDeletion": False,
        "updateIntervalSeconds": 30, "allowUiUpdates": True, "options": {"path": folder},
    }  # fmt: skip
    return {"apiVersion": 1, "providers": [provider]}


def data_source_provider(name: str, url: str) -> dict[str, Any]:
    """provisioning/datasources/*.yaml. url: where Grafana reaches Prometheus."""
    source = {"name": name, "type": "prometheus", "access": "proxy", "url": url, "isDefault": False}
    return {"apiVersion": 1, "datasources": [source]}
