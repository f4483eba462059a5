"""kafka_py: a ZooKeeper-coordinated message broker, faithful to Apache Kafka 2.8 in ZooKeeper mode.

    base/         ids, errors, time, settings and metrics engines, waiting
    wire/         bytes <-> messages
    records/      bytes <-> record batches
    log/          the records of partitions on disk
    net/          sockets
    zk/           ZooKeeper
    replication/  one partition, its leader and its followers
    coordinator/  consumer groups and transactions, kept in compacted topics
    controller/   who leads what
    security/     who may do what
    broker/       the server
    clients/      producer, consumer and admin client
    operations/   a whole cluster through clients: looks, findings, plans
    manager/      the web manager
    cli/          the commands
    pipeline/     topics as Spark's data frames
    testing/      clusters and stand-ins for tests

The packages are floors, lowest first: base, wire, records, log | net | zk, replication | coordinator | controller |
security, broker | clients, operations, manager, cli | pipeline, testing. A package imports only from floors below its
own; docs/architecture.md gives the reasons.
"""

__version__ = "0.1.0"

KAFKA_VERSION = "2.8.2"
"""The release of Apache Kafka whose behaviour, files and tools this version reproduces."""
