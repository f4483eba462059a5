"""The controller's metrics. Source: docs/reference/metrics.tsv (rows of kafka.controller)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kafka_py.base.histograms import Histogram
from kafka_py.base.meters import MetricTable
from kafka_py.base.metric_rows import Distribution, Gauge, Rate, Timing
from kafka_py.controller.events import ControllerState

if TYPE_CHECKING:
    from kafka_py.controller.model.controller_context import ControllerContext


class ControllerMetrics(MetricTable, group="kafka.controller:type=KafkaController"):
    """Numbers of the controller context; all 0 on other brokers than the active controller."""

    active = Gauge("ActiveControllerCount", about="1 on the active controller.")
    offline_partitions = Gauge("OfflinePartitionsCount", about="Partitions without a live leader.")
    imbalance = Gauge("PreferredReplicaImbalanceCount", about="Partitions not led by their first replica.")
    state = Gauge("ControllerState", about="Number of the ControllerState; 0 is idle.")
    topics = Gauge("GlobalTopicCount", about="Topics in the cluster.")
    partitions = Gauge("GlobalPartitionCount", about="Partitions in the cluster.")
    topics_to_delete = Gauge("TopicsToDeleteCount", about="Topics waiting for deletion.")
    replicas_to_delete = Gauge("ReplicasToDeleteCount", about="Replicas waiting for deletion.")
    topics_ineligible = Gauge("TopicsIneligibleToDeleteCount", about="Topics whose deletion is halted.")
    replicas_ineligible = Gauge("ReplicasIneligibleToDeleteCount", about="Replicas whose deletion is halted.")

    def show(self, cluster: ControllerContext | None) -> None:
        """Takes all numbers from `cluster`; None: not the active controller."""
        self.active = int(cluster is not None)
        self.offline_partitions = cluster.offline_partition_count if cluster else 0
        self.imbalance = cluster.preferred_imbalance_count if cluster else 0
        self.topics = len(cluster.topics) if cluster else 0
        self.partitions = cluster.partition_count if cluster else 0
        self.topics_to_delete = len(cluster.queued) if cluster else 0
        self.replicas_to_delete = cluster.replicas_to_delete() if cluster else 0
        self.topics_ineligible = len(cluster.ineligible) if cluster else 0
        self.replicas_ineligible = cluster.replicas_ineligible() if cluster else 0


class ControllerStats(MetricTable, group="kafka.controller:type=ControllerStats"):
    """Rate and processing time of each type of event."""

    unclean_elections = Rate(
        "UncleanLeaderElectionsPerSec", unit="elections", about="Leaders elected from outside the in-sync set."
    )
    controller_change = Timing("ControllerChangeRateAndTimeMs", unit="ms")
    leader_election = Timing("LeaderElectionRateAndTimeMs", unit="ms", about="Events of state BrokerChange.")
    topic_change = Timing("TopicChangeRateAndTimeMs", unit="ms")
    topic_deletion = Timing("TopicDeletionRateAndTimeMs", unit="ms")
    partition_reassignment = Timing("PartitionReassignmentRateAndTimeMs", unit="ms")
    auto_leader_balance = Timing("AutoLeaderBalanceRateAndTimeMs", unit="ms")
    manual_leader_balance = Timing("ManualLeaderBalanceRateAndTimeMs", unit="ms")
    controlled_shutdown = Timing("ControlledShutdownRateAndTimeMs", unit="ms")
    isr_change = Timing("IsrChangeRateAndTimeMs", unit="ms")
    leader_and_isr_response = Timing("LeaderAndIsrResponseReceivedRateAndTimeMs", unit="ms")
    log_dir_change = Timing("LogDirChangeRateAndTimeMs", unit="ms")
    controller_shutdown = Timing("ControllerShutdownRateAndTimeMs", unit="ms")
    unclean_enable = Timing("UncleanLeaderElectionEnableRateAndTimeMs", unit="ms")
    topic_unclean_enable = Timing("TopicUncleanLeaderElectionEnableRateAndTimeMs", unit="ms")
    list_reassignments = Timing("ListPartitionReassignmentRateAndTimeMs", unit="ms")
    update_features = Timing("UpdateFeaturesRateAndTimeMs", unit="ms")

    def timing_of(self, state: ControllerState) -> Histogram | None:
        """The histogram of the time spent in `state`; None for responses to UpdateMetadata, which are not timed."""
        attribute = _TIMINGS.get(state)
        return None if attribute is None else getattr(self, attribute)


_TIMINGS = {
    ControllerState.CONTROLLER_CHANGE: "controller_change",
    ControllerState.BROKER_CHANGE: "leader_election",
    ControllerState.TOPIC_CHANGE: "topic_change",
    ControllerState.TOPIC_DELETION: "topic_deletion",
    ControllerState.ALTER_PARTITION_REASSIGNMENT: "partition_reassignment",
    ControllerState.AUTO_LEADER_BALANCE: "auto_leader_balance",
    ControllerState.MANUAL_LEADER_BALANCE: "manual_leader_balance",
    ControllerState.CONTROLLED_SHUTDOWN: "controlled_shutdown",
    ControllerState.ISR_CHANGE: "isr_change",
    ControllerState.LEADER_AND_ISR_RESPONSE_RECEIVED: "leader_and_isr_response",
    ControllerState.LOG_DIR_CHANGE: "log_dir_change",
    ControllerState.UNCLEAN_LEADER_ELECTION_ENABLE: "unclean_enable",
    ControllerState.TOPIC_UNCLEAN_LEADER_ELECTION_ENABLE: "topic_unclean_enable",
    ControllerState.LIST_PARTITION_REASSIGNMENT: "list_reassignments",
    ControllerState.UPDATE_FEATURES: "update_features",
}


class EventQueueMetrics(MetricTable, group="kafka.controller:type=ControllerEventManager"):
    """The controller's event queue."""

    wait = Distribution("EventQueueTimeMs", unit="ms", about="How long events waited.")
    size = Gauge("EventQueueSize", of=len, about="Events waiting.")

    def forget_waits(self) -> None:
        """Resets the histogram of queue times."""
        self.__dict__.pop("wait", None)


class ChannelsMetrics(MetricTable, group="kafka.controller:type=ControllerChannelManager"):
    """Queued requests from the controller to all brokers."""

    total_queue_size = Gauge("TotalQueueSize", of=lambda channels: channels.waiting, about="For all brokers.")


class ChannelMetrics(MetricTable, group="kafka.controller:type=ControllerChannelManager"):
    """The same for one broker."""

    queue_size = Gauge(
        "QueueSize", of=lambda channel: channel.waiting, tags=("broker-id",), about="Requests waiting for one broker."
    )
    request_wait = Timing(
        "RequestRateAndQueueTimeMs", unit="ms", tags=("broker-id",), about="Requests sent, and how long they waited."
    )
