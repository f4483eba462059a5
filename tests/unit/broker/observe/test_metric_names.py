"""The declared metrics against docs/reference/metrics.tsv: equal names, and a list of what is missing."""

import ast
import csv
import importlib
import pkgutil
from collections.abc import Iterator
from pathlib import Path

import kafka_py
from kafka_py.base.meters import MetricTable
from kafka_py.base.metric_rows import Gauge, MetricRow, Sampled, Total

REFERENCE = Path(__file__).resolve().parents[4] / "docs" / "reference" / "metrics.tsv"

SELECTOR = "kafka.server:type=socket-server-metrics"
PROCESSOR_TAGS = "listener, networkProcessor"

MISSING = REFERENCE.with_name("missing-metrics.tsv")


def excused() -> tuple[str, ...]:
    """How the names of metrics begin that docs/reference/missing-metrics.tsv gives a reason for."""
    with MISSING.open(newline="") as file:
        return tuple(row["begins"] for row in csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE))


PACKAGES = ("broker", "clients", "clients.consumer", "clients.producer", "controller", "coordinator", "log", "net",
            "replication", "zk")  # fmt: skip


def tables() -> Iterator[type[MetricTable]]:
    for package in PACKAGES:
        folder = importlib.import_module(f"kafka_py.{package}").__path__
        for module in pkgutil.iter_modules(folder):
            importlib.import_module(f"kafka_py.{package}.{module.name}")
    waiting = list(MetricTable.__subclasses__())
    while waiting:
        table = waiting.pop()
        waiting += table.__subclasses__()
        if table.__module__.startswith(f"{kafka_py.__name__}."):
            yield table


def names(table: type[MetricTable], row: MetricRow) -> list[str]:
    """As docs/reference/metrics.tsv spells them: attributes of one bean after a blank, own beans after `,name=`."""
    if not table.ONE_BEAN:
        return [f"{table.GROUP},name={row.name}"]
    if isinstance(row, Total):
        return [f"{table.GROUP} {name}" for name in (row.name, row.rate) if name]
    if isinstance(row, Sampled):
        return [f"{table.GROUP} {name}" for name in (row.avg, row.max) if name]
    assert isinstance(row, Gauge)
    return [f"{table.GROUP} {row.name}"]


def declared() -> set[str]:
    return {name for table in tables() for row in table.ROWS.values() for name in names(table, row)}


def reference() -> dict[str, str]:
    """Name -> its tags, as docs/reference/metrics.tsv has them. All selectors have the attributes of a processor's."""
    found = {}
    selectors = {}
    with REFERENCE.open(newline="") as file:
        for row in csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE):
            if row["kind"].startswith("selector attribute set"):
                selectors[row["mbean"]] = row["tags"]
            elif row["registry"] == "kafka-metrics":
                found[f"{row['mbean']} {row['kind'].partition(' (')[0]}"] = row["tags"]
            elif row["registry"] == "mbean" and row["kind"].startswith("attributes "):
                group = row["mbean"].partition(",")[0]
                for name in row["kind"].removeprefix("attributes ").split(", "):
                    found[f"{group} {name}"] = row["tags"]
            else:
                found[row["mbean"]] = row["tags"]
    of_processor = [name for name, tags in found.items() if name.startswith(SELECTOR) and tags == PROCESSOR_TAGS]
    for mbean, tags in selectors.items():
        found.update({f"{mbean}{name.removeprefix(SELECTOR)}": tags for name in of_processor})
    return found


def test_every_metric_of_the_reference_is_declared_or_known_to_be_missing() -> None:
    missing = reference().keys() - declared()
    assert sorted(name for name in missing if not name.startswith(excused())) == []


def test_nothing_is_listed_as_missing_that_is_there() -> None:
    missing = reference().keys() - declared()
    stale = [beginning for beginning in excused() if not any(name.startswith(beginning) for name in missing)]
    assert stale == []


NEVER_COUNTED = {
    "the session accepts servers that are writable alone": ("ZkSessionMetrics.read_only_connects",),
    "there is one plane": ("SocketServerMetrics.control_plane_expired",),
    "the event that ends the controller's queue takes no time": ("ControllerStats.controller_shutdown",),
    "handed on to the method that times listeners (consumer/rebalance.py)": (
        "CoordinatorMetrics.assigned_time", "CoordinatorMetrics.lost_time", "CoordinatorMetrics.revoked_time",
    ),
    "all times of a request are taken as one tuple (ApiMetrics.fold)": (
        "RequestMetrics.request_queue_time", "RequestMetrics.local_time", "RequestMetrics.remote_time",
        "RequestMetrics.response_queue_time", "RequestMetrics.response_send_time",
    ),
}  # fmt: skip
"""Why a declared metric is counted nowhere -> the attributes of its table."""


def counted_somewhere() -> set[str]:
    """Every attribute that the code adds to, assigns, or calls `update` or `record` on; tables are not looked at."""
    found: set[str] = set()
    for path in Path(kafka_py.__path__[0]).rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.AugAssign) and isinstance(node.target, ast.Attribute):
                found.add(node.target.attr)
            elif isinstance(node, ast.Assign):
                found.update(target.attr for target in node.targets if isinstance(target, ast.Attribute))
            elif isinstance(node, ast.Attribute) and isinstance(node.value, ast.Attribute):
                found.add(node.value.attr)  # table.row.update(...), table.row.add(...)
            elif isinstance(node, (ast.Dict, ast.Subscript)):  # a table of which row counts what
                named = node.values if isinstance(node, ast.Dict) else [node.slice]
                found.update(str(each.value) for each in named if isinstance(each, ast.Constant))
    return found


def test_every_declared_metric_is_counted_somewhere() -> None:
    """One that nobody counts shows 0 where there is something to see."""
    counted = counted_somewhere()
    silent = [
        f"{table.__name__}.{attribute}"
        for table in tables()
        for attribute, row in table.ROWS.items()
        if attribute not in counted and not (isinstance(row, Gauge) and row.of is not None)
    ]
    assert sorted(silent) == sorted(name for names in NEVER_COUNTED.values() for name in names)
