"""The end of the quickstart: the source lines that went through the broker, read by Spark and counted.

    python -m kafka_py.pipeline.jobs.standard_library localhost:9092 standard-library [picture.png]

Each record is a line of a file, keyed by the file's path. Prints the modules that are imported most and the lines per
package, as tables with bars; the picture holds both. Exit code 3: Spark cannot run here, and why.
"""

from __future__ import annotations

import sys
import sysconfig
import time
from collections.abc import Sequence
from typing import Any

from kafka_py.pipeline.session import SparkMissing, spark_session

MOST = 8
BAR = 36

COUNTS = r"""SELECT module, package, grouping_id(module, package) AS which, count(*) AS lines FROM (
    SELECT regexp_extract(line, '^\\s*(?:import|from)\\s+([A-Za-z_]\\w*)', 1) AS module,
        if(instr(path, '/') > 0, split(path, '/')[0], '(modules)') AS package
    FROM (SELECT cast(value AS string) AS line, substr(cast(key AS string), {skip}) AS path FROM lines))
GROUP BY GROUPING SETS ((module), (package), ())"""
"""All in one reading of the topic. `which` has a bit for each column that a row is not about."""

OF_MODULES, OF_PACKAGES, OF_ALL = 1, 2, 3

Counts = list[tuple[str, int]]


def count(session: Any, bootstrap: str, topic: str) -> tuple[int, Counts, Counts]:
    """All lines, the modules imported most, the packages with most lines."""
    frame = (
        session.read.format("kafka_py").option("kafka.bootstrap.servers", bootstrap).option("subscribe", topic).load()
    )
    frame.select("key", "value").createOrReplaceTempView("lines")
    skip = len(sysconfig.get_path("stdlib")) + 2
    rows = session.sql(COUNTS.format(skip=skip)).collect()
    modules = [(row.module, row.lines) for row in rows if row.which == OF_MODULES and row.module]
    packages = [(row.package, row.lines) for row in rows if row.which == OF_PACKAGES]
    total = next((row.lines for row in rows if row.which == OF_ALL), 0)
    return total, _most(modules), _most(packages)


def _most(counts: Counts) -> Counts:
    return sorted(counts, key=lambda pair: (-pair[1], pair[0]))[:MOST]


def table(title: str, counts: Counts) -> str:
    """Names, numbers and bars."""
    most = max((number for _, number in counts), default=1)
    lines = [f"  {name:<20} {number:>9,}  {'█' * max(1, number * BAR // most)}" for name, number in counts]
    return "\n".join([f"  {title}", *lines])


def draw(imported: Counts, packages: Counts, path: str) -> bool:
    """Whether there is a matplotlib to draw with."""
    try:
        from matplotlib.figure import Figure
    except ImportError:
        return False
    figure = Figure(figsize=(10, 4), layout="constrained")
    for axes, (title, counts) in zip(
        figure.subplots(1, 2), (("imported most", imported), ("lines per package", packages)), strict=True
    ):
        axes.barh([name for name, _ in reversed(counts)], [number for _, number in reversed(counts)])
        axes.set_title(title)
    figure.savefig(path, dpi=110)
    return True


def main(arguments: Sequence[str]) -> int:
    bootstrap, topic, *picture = arguments
    begun = time.monotonic()
    try:
        session = spark_session("quickstart", master="local[2]", settings={"spark.sql.shuffle.partitions": "2"})
    except SparkMissing as why:
        print(why.message)
        return 3
    started = time.monotonic() - begun
    try:
        begun = time.monotonic()
        total, imported, packages = count(session, bootstrap, topic)
        seconds = time.monotonic() - begun
    finally:
        session.stop()
    print(f"  {'Spark':<22} {total:,} lines read and counted in {seconds:.1f} s, after a start of {started:.1f} s")
    print(table("modules imported most", imported))
    print(table("lines per package", packages))
    if picture and draw(imported, packages, picture[0]):
        print(f"  plotted in {picture[0]}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
