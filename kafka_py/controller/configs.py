"""The settings of the controller and of topic creation. Source: docs/reference/configs.tsv."""

from __future__ import annotations

from kafka_py.base.options import Kind, Option, OptionTable, at_least
from kafka_py.log.model.broker_options import LogOptions
from kafka_py.wire.protocol_versions import KNOWN_VERSION, InterBrokerVersion


class ControllerOptions(OptionTable):
    """The settings of the controller and of topic creation."""

    controller_socket_timeout_ms = Option(
        "controller.socket.timeout.ms", 30_000, unit="ms",
        about="How long a broker that shuts down waits for a connection to the controller.",
    )
    inter_broker_protocol_version = Option(
        "inter.broker.protocol.version", "2.8-IV1", KNOWN_VERSION,
        about="Version of the inter-broker protocol; raise it once every broker runs the new release.",
    )
    auto_leader_rebalance_enable = Option(
        "auto.leader.rebalance.enable", True, importance="high",
        about="Whether partitions are moved back to their preferred leaders periodically.",
    )
    leader_imbalance_per_broker_percentage = Option(
        "leader.imbalance.per.broker.percentage", 10, importance="high", unit="percent",
        about="Share of a broker's preferred partitions that others may lead before preferred leaders are elected.",
    )
    leader_imbalance_check_interval_seconds = Option(
        "leader.imbalance.check.interval.seconds", 300, kind=Kind.LONG, importance="high", unit="s",
        about="How often the leader balance is checked.",
    )
    unclean_leader_election_enable = LogOptions.unclean_leader_election_enable
    """The same option as that of logs: topics may override it, and the controller reads it."""
    controlled_shutdown_enable = Option(
        "controlled.shutdown.enable", True,
        about="Whether the controller moves leaders away before the broker stops.",
    )
    controlled_shutdown_max_retries = Option(
        "controlled.shutdown.max.retries", 3, about="Attempts before the broker stops anyway.",
    )
    controlled_shutdown_retry_backoff_ms = Option(
        "controlled.shutdown.retry.backoff.ms", 5000, kind=Kind.LONG, unit="ms", about="Pause between two attempts.",
    )
    delete_topic_enable = Option(
        "delete.topic.enable", True, importance="high", about="Whether topics can be deleted.",
    )
    num_partitions = Option(
        "num.partitions", 1, at_least(1), about="Partitions of a topic that is created without a number.",
    )
    default_replication_factor = Option(
        "default.replication.factor", 1, about="Replicas of a topic that is created without a number.",
    )
    create_topic_policy_class_name = Option(
        "create.topic.policy.class.name", None, kind=Kind.CLASS, importance="low",
        about="Python class (dotted path) that may refuse new topics: configure(configs), validate(request).",
    )

    def inter_broker_version(self) -> InterBrokerVersion:
        """The version that `inter.broker.protocol.version` names."""
        return InterBrokerVersion(self.inter_broker_protocol_version)
