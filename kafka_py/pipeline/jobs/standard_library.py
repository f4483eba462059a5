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

IMPORTED = r"""SELECT module, count(*) AS times FROM (
    SELECT regexp_extract(cast(value as string), '^\\s*(?:import|from)\\s+([A-Za-z_]\\w*)', 1) AS module FROM lines)
WHERE module <> '' GROUP BY module ORDER BY times DESC, module LIMIT {most}"""

PER_PACKAGE = """SELECT if(instr(path, '/') > 0, split(path, '/')[0], '(modules)') AS package, count(*) AS lines FROM (
    SELECT substr(cast(key as string), {skip}) AS path FROM lines)
GROUP BY package ORDER BY lines DESC LIMIT {most}"""

Counts = list[tuple[str, int]]


def count(session: Any, bootstrap: str, topic: str) -> tuple[int, Counts, Counts]:
    """All lines, the modules imported most, the packages with most lines."""
    frame = (
        session.read.format("kafka_py").option("kafka.bootstrap.servers", bootstrap).option("subscribe", topic).load()
    )
    frame.select("key", "value").createOrReplaceTempView("lines")
    skip = len(sysconfig.get_path("stdlib")) + 2
    imported = session.sql(IMPORTED.format(most=MOST)).collect()
    packages = session.sql(PER_PACKAGE.format(most=MOST, skip=skip)).collect()
    total = session.sql("SELECT count(*) FROM lines").first()[0]
    return total, [tuple(row) for row in imported], [tuple(row) for row in packages]


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
    print(f"  {'Spark':<22} {total:,} lines read three times in {seconds:.1f} s, after a start of {started:.1f} s")
    print(table("modules imported most", imported))
    print(table("lines per package", packages))
    if picture and draw(imported, packages, picture[0]):
        print(f"  plotted in {picture[0]}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
