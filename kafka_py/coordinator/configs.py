"""The settings of group and transaction coordinators. Source: docs/reference/configs.tsv."""

from kafka_py.base.errors import ConfigError
from kafka_py.base.options import MAX_INT, Check, Kind, Option, OptionTable, at_least

_CODECS = Check(lambda value: value in range(5), "0 (none), 1 (gzip), 2 (snappy), 3 (lz4) or 4 (zstd)")


class CoordinatorOptions(OptionTable):
    """Settings of groups and transactions, and of the topics in which they are stored."""

    group_min_session_timeout_ms = Option(
        "group.min.session.timeout.ms", 6000, unit="ms", about="Shortest session time-out a member may ask for.",
    )
    group_max_session_timeout_ms = Option(
        "group.max.session.timeout.ms", 1_800_000, unit="ms", about="Longest session time-out a member may ask for.",
    )
    group_initial_rebalance_delay_ms = Option(
        "group.initial.rebalance.delay.ms", 3000, unit="ms", about="How long a new group waits for more members.",
    )
    group_max_size = Option("group.max.size", MAX_INT, at_least(1), about="Members a group may have.")
    offset_metadata_max_bytes = Option(
        "offset.metadata.max.bytes", 4096, importance="high", about="Longest text committed with an offset.",
    )
    offsets_load_buffer_size = Option(
        "offsets.load.buffer.size", 5_242_880, at_least(1), importance="high", unit="bytes",
        about="How much of the offsets topic is read at once when a coordinator starts.",
    )
    offsets_topic_replication_factor = Option(
        "offsets.topic.replication.factor", 3, at_least(1), kind=Kind.SHORT, importance="high",
        about="Replicas of the offsets topic.",
    )
    offsets_topic_num_partitions = Option(
        "offsets.topic.num.partitions", 50, at_least(1), importance="high", about="Partitions of the offsets topic.",
    )
    offsets_topic_segment_bytes = Option(
        "offsets.topic.segment.bytes", 104_857_600, at_least(1), importance="high", unit="bytes",
        about="Segment size of the offsets topic.",
    )
    offsets_topic_compression_codec = Option(
        "offsets.topic.compression.codec", 0, _CODECS, importance="high", about="Codec of the offsets topic's records.",
    )
    offsets_retention_minutes = Option(
        "offsets.retention.minutes", 10_080, at_least(1), importance="high", unit="min",
        about="How long the offsets of an empty group are kept.",
    )
    offsets_retention_check_interval_ms = Option(
        "offsets.retention.check.interval.ms", 600_000, at_least(1), kind=Kind.LONG, importance="high", unit="ms",
        about="How often old offsets are looked for.",
    )
    offsets_commit_timeout_ms = Option(
        "offsets.commit.timeout.ms", 5000, at_least(1), importance="high", unit="ms",
        about="How long a commit waits for the replicas of the offsets topic.",
    )
    offsets_commit_required_acks = Option(
        "offsets.commit.required.acks", -1, kind=Kind.SHORT, importance="high", about="Acks of a commit; leave it -1.",
    )
    transactional_id_expiration_ms = Option(
        "transactional.id.expiration.ms", 604_800_000, at_least(1), importance="high", unit="ms",
        about="How long an unused transactional id, or producer id, is remembered.",
    )
    transaction_max_timeout_ms = Option(
        "transaction.max.timeout.ms", 900_000, at_least(1), importance="high", unit="ms",
        about="Longest transaction time-out a producer may ask for.",
    )
    transaction_state_log_min_isr = Option(
        "transaction.state.log.min.isr", 2, at_least(1), importance="high",
        about="min.insync.replicas of the transaction topic.",
    )
    transaction_state_log_load_buffer_size = Option(
        "transaction.state.log.load.buffer.size", 5_242_880, at_least(1), importance="high", unit="bytes",
        about="How much of the transaction topic is read at once when a coordinator starts.",
    )
    transaction_state_log_replication_factor = Option(
        "transaction.state.log.replication.factor", 3, at_least(1), kind=Kind.SHORT, importance="high",
        about="Replicas of the transaction topic.",
    )
    transaction_state_log_num_partitions = Option(
        "transaction.state.log.num.partitions", 50, at_least(1), importance="high",
        about="Partitions of the transaction topic.",
    )
    transaction_state_log_segment_bytes = Option(
        "transaction.state.log.segment.bytes", 104_857_600, at_least(1), importance="high", unit="bytes",
        about="Segment size of the transaction topic.",
    )
    transaction_abort_timed_out_interval_ms = Option(
        "transaction.abort.timed.out.transaction.cleanup.interval.ms", 10_000, at_least(1), importance="low",
        unit="ms",
        about="How often transactions past their time-out are looked for.",
    )
    transaction_remove_expired_interval_ms = Option(
        "transaction.remove.expired.transaction.cleanup.interval.ms", 3_600_000, at_least(1), importance="low",
        unit="ms",
        about="How often expired transactional ids are looked for.",
    )

    def validate(self) -> None:
        super().validate()
        if not -1 <= self.offsets_commit_required_acks <= self.offsets_topic_replication_factor:
            raise ConfigError(
                "offsets.commit.required.acks must be -1 or from 0 to offsets.topic.replication.factor "
                f"({self.offsets_topic_replication_factor}), not {self.offsets_commit_required_acks}"
            )
