"""Controlled shutdown of a broker: its leaders move to other brokers, and its followers are stopped.

Source: docs/reference/controller.md, section 11.
"""

from __future__ import annotations

from kafka_py.base.errors import ErrorCode, KafkaError
from kafka_py.base.ids import TopicPartition
from kafka_py.base.steps import slices
from kafka_py.base.texts import listed
from kafka_py.controller.decisions.batch import RequestBatch
from kafka_py.controller.decisions.notes import LogLines
from kafka_py.controller.decisions.partition_moves import move_partitions
from kafka_py.controller.decisions.plan import Plan, Worked
from kafka_py.controller.decisions.replica_moves import move_replicas
from kafka_py.controller.decisions.settings import Settings
from kafka_py.controller.decisions.steps import ReplyToCaller, Send
from kafka_py.controller.events import ControlledShutdown
from kafka_py.controller.model import partition_states, replica_states
from kafka_py.controller.model.controller_context import ControllerContext, PartitionAndReplica
from kafka_py.controller.model.elections import Strategy

UNKNOWN_BROKER_EPOCH = -1

notes = LogLines(__name__)


def controlled_shutdown(cluster: ControllerContext, event: ControlledShutdown, _settings: Settings) -> Plan[None]:
    """Moves leaders away from a broker; replies with the replicated partitions that it still leads."""
    broker = event.broker
    _check_broker_epoch(cluster, broker, event.broker_epoch)
    cluster.shutting_down.add(broker)
    going = listed(sorted(cluster.shutting_down))
    yield from notes.info("Broker %d is shutting down; all brokers that are shutting down: %s", broker, going)
    replicated = yield from _replicated(cluster, broker)
    led = set(cluster.partitions_led_by(broker))
    moving = [partition for partition in replicated if partition in led]
    yield from move_partitions(cluster, moving, partition_states.ONLINE, Strategy.CONTROLLED_SHUTDOWN)
    followed = [partition for partition in replicated if partition not in led]
    batch = RequestBatch(cluster)
    for some in slices(followed):
        for partition in some:
            batch.add_stop_replica((broker,), partition, delete=False)
        yield from Worked(len(some))
    yield from Send(batch)
    replicas = [PartitionAndReplica(*partition, broker) for partition in followed]
    yield from move_replicas(cluster, replicas, replica_states.OFFLINE)
    still_led = cluster.partitions_led_by(broker)
    yield from ReplyToCaller({partition for partition in still_led if len(cluster.assignment(partition).replicas) > 1})


def _replicated(cluster: ControllerContext, broker: int) -> Plan[list[TopicPartition]]:
    """Partitions of the broker that have other replicas, have had a leader, and are not being deleted."""
    found: list[TopicPartition] = []
    for some in slices(cluster.partitions_on(broker)):
        found += [
            partition
            for partition in some
            if len(cluster.assignment(partition).replicas) > 1
            and cluster.leadership(partition) is not None
            and partition.topic not in cluster.queued
        ]
        yield from Worked(len(some))
    return found


def _check_broker_epoch(cluster: ControllerContext, broker: int, epoch: int) -> None:
    known = cluster.brokers.get(broker)
    if epoch == UNKNOWN_BROKER_EPOCH:
        if known is None:
            raise KafkaError(ErrorCode.BROKER_NOT_AVAILABLE, f"broker {broker} is not registered")
        return
    if known is None:
        raise KafkaError(ErrorCode.UNKNOWN_SERVER_ERROR, f"broker {broker} is not registered")
    if epoch < known.epoch:
        detail = f"the request has broker epoch {epoch}, but broker {broker} is registered with epoch {known.epoch}"
        raise KafkaError(ErrorCode.STALE_BROKER_EPOCH, detail)
