"""kafka_py: a ZooKeeper-coordinated message broker, faithful to Apache Kafka 2.8 in ZooKeeper mode.

The packages are floors, lowest first: base, wire, records, log | net | zk, replication | coordinator | controller,
broker | clients, cli | pipeline, testing. A package imports only from floors below its own; docs/architecture.md gives
the reasons.
"""

__version__ = "0.1.0"

KAFKA_VERSION = "2.8.2"
"""The release of Apache Kafka whose behaviour, files and tools this version reproduces."""
