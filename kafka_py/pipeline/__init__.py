"""Topics in and out of Spark, through PySpark's Python data sources: no jar, no Java of ours.

    from kafka_py.pipeline import register
    register(spark)
    frame = spark.read.format("kafka_py").option("kafka.bootstrap.servers", "localhost:9092") \\
        .option("subscribe", "orders").load()

In reading order: source.py (the data source `kafka_py`: its readers and writers), options.py (one table of options),
offsets.py (offsets as JSON, as Spark's own connector writes them), links.py (a cluster asked by blocking code),
planning.py and ranges.py (which offsets a read covers, and how they are shared among tasks), filters.py (what a query
asks for anyway), fetching.py (a range read from the partition's leader), frames.py (columns as Arrow batches), sink.py
with bulk.py (whole columns to the producer) and commit_protocol.py (what executors report and the driver commits),
exactly_once/ (batches in transactions, ended by the driver), committed.py (offsets of consumer groups), log_source.py
(the data source `kafka_py_log`: segment files without a broker), progress.py (a line per micro-batch), session.py (a
Spark session with all of this registered), redaction.py (options that Spark does not show), then jobs/: pipelines from
a small file.

Not obvious: the driver, the planner and every executor task are Python processes of their own, and objects travel
between them pickled; so nothing here keeps a connection in an object that is handed to Spark.
"""

from typing import Any


def register(spark: Any) -> None:
    """Makes the formats `kafka_py` and `kafka_py_log` known to a session. Executors need kafka_py installed, too."""
    from kafka_py.pipeline.log_source import KafkaLogSource
    from kafka_py.pipeline.redaction import redact
    from kafka_py.pipeline.source import KafkaSource

    spark.dataSource.register(KafkaSource)
    spark.dataSource.register(KafkaLogSource)
    redact(spark)
