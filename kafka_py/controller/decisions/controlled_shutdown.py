"""A broker that asks leave to go down: what it leads is led elsewhere, what it follows it may stop.

Source: docs/reference/controller.md, section 11.
"""

from __future__ import annotations

from kafka_py.base.errors import ErrorCode, KafkaError
from kafka_py.base.ids import TopicPartition
from kafka_py.base.texts import listed
from kafka_py.controller.decisions.batch import RequestBatch
from kafka_py.controller.decisions.notes import Notes
from kafka_py.controller.decisions.partition_moves import move_partitions
from kafka_py.controller.decisions.plan import Plan, Worked, slices
from kafka_py.controller.decisions.replica_moves import move_replicas
from kafka_py.controller.decisions.settings import Settings
from kafka_py.controller.decisions.steps import Reply, Send
from kafka_py.controller.events import ControlledShutdown
from kafka_py.controller.model import partition_states, replica_states
from kafka_py.controller.model.controller_context import ControllerContext, Replica
from kafka_py.controller.model.elections import Strategy

UNKNOWN_BROKER_EPOCH = -1

notes = Notes(__name__)


def controlled_shutdown(cluster: ControllerContext, event: ControlledShutdown, _settings: Settings) -> Plan[None]:
    """Leads away from a broker what can be led elsewhere; answers with the replicated partitions it still leads."""
    broker = event.broker
    _check_broker_epoch(cluster, broker, event.broker_epoch)
    cluster.shutting_down.add(broker)
    going = listed(sorted(cluster.shutting_down))
    yield from notes.info("Broker %d shuts down; shutting down are %s", broker, going)
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
    replicas = [Replica(*partition, broker) for partition in followed]
    yield from move_replicas(cluster, replicas, replica_states.OFFLINE)
    still_led = cluster.partitions_led_by(broker)
    yield from Reply({partition for partition in still_led if len(cluster.assignment(partition).replicas) > 1})


def _replicated(cluster: ControllerContext, broker: int) -> Plan[list[TopicPartition]]:
    """Partitions there that other brokers have too, have a leader or had one, and are to stay."""
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
        detail = f"broker {broker} was registered with epoch {known.epoch} since, the request carries {epoch}"
        raise KafkaError(ErrorCode.STALE_BROKER_EPOCH, detail)
