"""A Spark session in which `kafka_py` and `kafka_py_log` are known, with a clear word where Spark cannot run.

Settings that the user has made (spark-defaults, an existing session, `settings`) count more than those given here.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Mapping
from typing import Any

from kafka_py.base.errors import ErrorCode, KafkaError

OLDEST_JAVA = 17
OLDEST_SPARK = (4, 0)

SETTINGS = {
    "spark.sql.python.filterPushdown.enabled": "true",
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.execution.arrow.pyspark.enabled": "true",
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.driver.memory": "1g",
}


class SparkMissing(KafkaError):
    """Spark cannot run here; the text says what is needed."""

    def __init__(self, detail: str) -> None:
        super().__init__(ErrorCode.INVALID_CONFIG, detail)


def check_spark() -> None:
    """Raises SparkMissing where PySpark, pyarrow or Java is absent or too old."""
    try:
        import pyspark
    except ImportError:
        raise SparkMissing("PySpark is not installed: pip install 'kafka_py[spark]'") from None
    version = tuple(int(part) for part in re.findall(r"\d+", pyspark.__version__)[:2])
    if version < OLDEST_SPARK:
        raise SparkMissing(f"PySpark {pyspark.__version__} has no Python data sources: 4.0 or newer is needed")
    try:
        import numpy
        import pyarrow
    except ImportError as error:
        raise SparkMissing(f"{error.name} is not installed: pip install 'kafka_py[spark]'") from None
    del numpy, pyarrow
    if "SPARK_REMOTE" not in os.environ:
        check_java()


def check_java(java: str | None = None) -> int:
    """The version of Java found. Raises SparkMissing where there is none, or one that is too old."""
    home = os.environ.get("JAVA_HOME")
    java = java or (os.path.join(home, "bin", "java") if home else shutil.which("java"))
    wanted = f"Spark needs Java {OLDEST_JAVA} or newer"
    if java is None or not os.path.exists(java):
        raise SparkMissing(f"{wanted}: none is at JAVA_HOME or in the PATH")
    said = subprocess.run([java, "-version"], capture_output=True, text=True, check=False).stderr
    found = re.search(r'version "(?:1\.)?(\d+)', said)
    if found is None or int(found[1]) < OLDEST_JAVA:
        raise SparkMissing(f"{wanted}; {java} is {found[1] if found else 'none that says its version'}")
    return int(found[1])


def spark_session(app_name: str, *, master: str | None = None, settings: Mapping[str, str] | None = None) -> Any:
    """A session, made or found, with our formats registered. master: default local[*], or what spark-submit says."""
    check_spark()
    from pyspark.sql import SparkSession

    from kafka_py.pipeline import register

    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    builder = SparkSession.builder.appName(app_name)
    if master is not None:
        builder = builder.master(master)
    for name, value in {**SETTINGS, **(settings or {})}.items():
        builder = builder.config(name, value)
    session = builder.getOrCreate()
    session.sparkContext.setLogLevel("ERROR")
    register(session)
    return session
