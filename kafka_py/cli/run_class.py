"""kafka-run-class.sh: Apache Kafka's class names, each mapped to the command of ours that does its work.

`python -m kafka_py.cli.run_class kafka.admin.TopicCommand --list ...` runs kafka-topics.sh's code. Our own
module names (kafka_py.cli.topics) are taken as well. Source: docs/reference/tools.md, sections 1 and 21 to 25.
"""

import gc
import importlib
import sys

CLASSES = {
    "kafka.Kafka": "server_start",
    "kafka.admin.AclCommand": "acl_admin.acls",
    "kafka.admin.BrokerApiVersionsCommand": "broker_api_versions",
    "kafka.admin.ConfigCommand": "configs",
    "kafka.admin.ConsumerGroupCommand": "consumer_groups",
    "kafka.admin.DelegationTokenCommand": "token_admin.delegation_tokens",
    "kafka.admin.DeleteRecordsCommand": "delete_records",
    "kafka.admin.LeaderElectionCommand": "leader_election",
    "kafka.admin.LogDirsCommand": "log_dirs",
    "kafka.admin.PreferredReplicaLeaderElectionCommand": "preferred_replica_election",
    "kafka.admin.ReassignPartitionsCommand": "reassign_partitions",
    "kafka.admin.TopicCommand": "topics",
    "kafka.admin.ZkSecurityMigrator": "acl_admin.zookeeper_security_migration",
    "kafka.tools.ClusterTool": "cluster",
    "kafka.tools.ConsoleProducer": "console_producer",
    "kafka.tools.ConsoleConsumer": "console_consumer",
    "kafka.tools.ConsumerPerformance": "perf.consumer_perf_test",
    "kafka.tools.DumpLogSegments": "dump_log",
    "kafka.tools.EndToEndLatency": "perf.end_to_end_latency",
    "kafka.tools.GetOffsetShell": "get_offsets",
    "kafka.tools.ReplicaVerificationTool": "verification.replica_verification",
    "kafka.tools.StateChangeLogMerger": "state_change_log_merger",
    "kafka.tools.StreamsResetter": "streams_application_reset",
    "org.apache.kafka.tools.ProducerPerformance": "perf.producer_perf_test",
    "org.apache.kafka.tools.TransactionsCommand": "transactions",
    "org.apache.kafka.tools.TransactionalMessageCopier": "verification.transactional_message_copier",
    "org.apache.kafka.tools.VerifiableConsumer": "verification.verifiable_consumer",
    "org.apache.kafka.tools.VerifiableProducer": "verification.verifiable_producer",
    "org.apache.zookeeper.server.quorum.QuorumPeerMain": "zookeeper_server_start",
    "org.apache.zookeeper.ZooKeeperMainWithTlsSupportForKafka": "zookeeper_shell",
    "org.apache.zookeeper.ZooKeeperMain": "zookeeper_shell",
}

SERVER_USAGE = "USAGE: kafka-server-start.sh [-daemon] PROPERTY_FILE [--override NAME=VALUE ...]"
"""Here, for who asks for it shall not wait until a whole broker is loaded."""


def module_of(class_name: str) -> str | None:
    """The module behind a classic class name or one of our own command modules; None when there is none."""
    if class_name in CLASSES:
        return f"kafka_py.cli.{CLASSES[class_name]}"
    return class_name if class_name.startswith("kafka_py.cli.") else None


def main() -> None:
    """Replaces itself by the command: its arguments are what follows the class name."""
    if len(sys.argv) < 2 or sys.argv[1] in ("-h", "--help"):
        print("USAGE: kafka-run-class.sh [-daemon] [-name servicename] [-loggc] classname [opts]", file=sys.stderr)
        print("Classes:\n  " + "\n  ".join(sorted(CLASSES)), file=sys.stderr)
        sys.exit(1)
    name = sys.argv[1]
    module = module_of(name)
    if module is None:
        print(f"Error: Could not find or load main class {name}. Known classes: {', '.join(sorted(CLASSES))}",
              file=sys.stderr)  # fmt: skip
        sys.exit(1)
    if CLASSES.get(name) == "server_start" and (not sys.argv[2:] or "--help" in sys.argv[2:]):
        print(SERVER_USAGE, file=sys.stderr)
        sys.exit(1)
    sys.argv = [name, *sys.argv[2:]]
    gc.disable()  # what imports make stays: looking for garbage in it would be a good part of a short start
    command = importlib.import_module(module)
    gc.freeze()
    gc.enable()
    command.cli()


if __name__ == "__main__":
    main()
