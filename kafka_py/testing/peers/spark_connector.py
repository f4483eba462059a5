"""Spark's own Kafka connector as a peer in tests and benchmarks: its jars, of the installed PySpark's version.

And the jar of its package for Avro, which pipelines may use.

Resolved by Maven like Apache's own software (apache.py); Unavailable, or no jars, where that cannot be. PySpark may be
out before the connector of its version is, and a mirror of Maven may lack its token provider, which tests never use:
then the newest that there is before it serves.
"""

from __future__ import annotations

import shutil
import subprocess
import tempfile
from collections.abc import Callable
from pathlib import Path

from kafka_py.cli.common.user_folders import cache_directory
from kafka_py.testing.peers.apache import Unavailable

_POM = """<?xml version="1.0" encoding="UTF-8"?>
<project xmlns="http://maven.apache.org/POM/4.0.0">
  <modelVersion>4.0.0</modelVersion>
  <groupId>kafka_py.tests</groupId>
  <artifactId>spark-connector</artifactId>
  <version>1</version>
  <packaging>pom</packaging>
  <dependencies>{dependencies}</dependencies>
</project>
"""

_DEPENDENCY = """
    <dependency>
      <groupId>{group}</groupId>
      <artifactId>{artifact}</artifactId>
      <version>{version}</version>
      <exclusions><exclusion><groupId>*</groupId><artifactId>*</artifactId></exclusion></exclusions>
    </dependency>"""

KAFKA_CLIENTS, POOL = "3.9.1", "2.12.1"
"""What Spark 4 builds its connector with. PySpark brings along all else that it needs."""

Artifacts = Callable[[str, str, str], list[tuple[str, str, str]]]
"""What to fetch as (group, artifact, version), of a version of Spark, of its token provider, and of Scala."""

BEFORE = ("4.2.0", "4.1.1")
"""Newest first: what to take where the installed version has no connector yet."""


def connector() -> list[Path]:
    """The connector's jars, fetched once into the cache. Raises Unavailable."""
    return _jars("connector", _connector)


def avro() -> list[Path]:
    """The jar of Spark's package for Avro, fetched once into the cache. Raises Unavailable."""
    return _jars("avro", _avro)


def _jars(what: str, artifacts: Artifacts) -> list[Path]:
    try:
        import pyspark
    except ImportError:
        raise Unavailable(f"Spark's {what} needs PySpark") from None
    jars = Path(pyspark.__file__).parent / "jars"
    core = next(iter(jars.glob("spark-core_*.jar")), None)
    if core is None:
        raise Unavailable("this PySpark brings no jars")
    scala = core.name.removeprefix("spark-core_").partition("-")[0]
    target = cache_directory() / f"spark-{what}-for-{pyspark.__version__}"
    if not target.exists():
        versions = [pyspark.__version__, *(each for each in BEFORE if each < pyspark.__version__)]
        _fetch_first(artifacts, versions, scala, target)
    return sorted(target.glob("*.jar"))


def _avro(version: str, token_provider: str, scala: str) -> list[tuple[str, str, str]]:
    return [("org.apache.spark", f"spark-avro_{scala}", version)]


def _connector(version: str, token_provider: str, scala: str) -> list[tuple[str, str, str]]:
    return [
        ("org.apache.spark", f"spark-sql-kafka-0-10_{scala}", version),
        ("org.apache.spark", f"spark-token-provider-kafka-0-10_{scala}", token_provider),
        ("org.apache.kafka", "kafka-clients", KAFKA_CLIENTS),
        ("org.apache.commons", "commons-pool2", POOL),
    ]


def _pom(artifacts: list[tuple[str, str, str]]) -> str:
    rows = (_DEPENDENCY.format(group=group, artifact=name, version=each) for group, name, each in artifacts)
    return _POM.format(dependencies="".join(rows))


def connector_jars() -> list[Path]:
    """As `connector`, and none where it is not available."""
    try:
        return connector()
    except Unavailable:
        return []


def _fetch_first(artifacts: Artifacts, versions: list[str], scala: str, target: Path) -> None:
    """Raises Unavailable with the last failure."""
    failure: Unavailable | None = None
    for version, token_provider in [*((each, each) for each in versions), *((each, "4.0.0") for each in versions)]:
        try:
            _fetch(_pom(artifacts(version, token_provider, scala)), target)
        except Unavailable as why:
            failure = why
        else:
            return
    raise failure or Unavailable("no version of Spark is known")


def _fetch(pom: str, target: Path) -> None:
    mvn = shutil.which("mvn")
    if mvn is None:
        raise Unavailable("Spark's packages need mvn")
    target.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=target.parent) as work:
        (Path(work) / "pom.xml").write_text(pom)
        command = [mvn, "-q", "-B", "-f", f"{work}/pom.xml", "dependency:copy-dependencies", "-DincludeScope=runtime",
                   f"-DoutputDirectory={work}/jars"]  # fmt: skip
        done = subprocess.run(command, capture_output=True, text=True, stdin=subprocess.DEVNULL, check=False)
        if done.returncode:
            raise Unavailable(f"mvn could not fetch Spark's package:\n{done.stdout[-2000:]}{done.stderr[-500:]}")
        try:
            (Path(work) / "jars").rename(target)
        except OSError:
            if not target.exists():
                raise
