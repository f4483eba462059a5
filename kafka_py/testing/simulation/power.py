"""Power failures: a broker's machine fails, and what it had written but never synced is lost.

A record acknowledged with acks=all is in the page caches of the in-sync replicas and not yet synced. So the power may
fail only at a machine that is in no in-sync set, whose records others have. A broker that returns before its session
has ended, or as the last one in sync, may lead with its tail missing, and one whose old fetch is still on its way may
be taken for in sync; Apache Kafka 2.8.2 loses records then, and so no schedule does that. After a clean stop everything
has been synced, and the power may fail whatever the sets say.
Source: KIP-101, KIP-903 (what ZooKeeper mode promises).
"""

from __future__ import annotations

import asyncio
import contextlib
import random

from kafka_py.log.disk.filenames import CLEAN_SHUTDOWN
from kafka_py.replication.state.isr import PendingExpandIsr
from kafka_py.testing.fakes.files import Loss
from kafka_py.testing.simulation.cluster import SESSION_TIMEOUT_MS, SimulatedBroker, SimulatedCluster
from kafka_py.testing.simulation.znodes import partition_states

OUT_DEADLINE_S = 8.0
"""How long a dead broker is given to leave the in-sync sets; its session ends within two seconds."""


async def lose_power(cluster: SimulatedCluster, broker: SimulatedBroker, lasts_s: float, rng: random.Random) -> bool:
    """Kills a broker, whose files lose what was not synced once no acknowledged record needs them; whether they did.

    No process reads the files of a failed machine, so they may lose data as soon as that is known to be safe. If that
    is not known in time, or the broker was started meanwhile, only the process was killed. Leaves the broker
    down, or as it was started.
    """
    broker.kill()
    await asyncio.sleep(max(lasts_s, SESSION_TIMEOUT_MS / 1000))
    with contextlib.suppress(AssertionError):
        await cluster.until(lambda: broker.is_running or is_dispensable(cluster, broker), OUT_DEADLINE_S, "out of sync")
    if broker.is_running or not is_dispensable(cluster, broker):
        return False
    cluster.network.lose_sent(broker.name)
    if rng.random() < 0.15:
        broker.files.replace()
    else:
        forget(cluster, broker, rng)
    return True


def forget(cluster: SimulatedCluster, broker: SimulatedBroker, rng: random.Random) -> None:
    """A dead broker's disk loses what was not synced, all or some of it; also files' names, where topics stay.

    A removal that is forgotten would bring a deleted topic back, which Apache Kafka cannot tell from a new one.
    """
    broker.files.names_need_sync = cluster.topics_stay and rng.random() < 0.5
    broker.files.crash(Loss.TORN if rng.random() < 0.6 else Loss.UNSYNCED, rng)
    broker.files.names_need_sync = False


def has_stopped_clean(broker: SimulatedBroker) -> bool:
    """Whether its last life ended with everything synced."""
    return not broker.is_running and all(broker.files.exists(f"{path}/{CLEAN_SHUTDOWN}") for path in broker.log_dirs)


def is_dispensable(cluster: SimulatedCluster, broker: SimulatedBroker) -> bool:
    """In no in-sync set, nor about to be taken into one by a leader that acts on an old fetch of its (KIP-903)."""
    if any(each.node is not None and each.node.is_paused for each in cluster.brokers):
        return False
    if any(broker.broker_id in state.isr for _name, state in partition_states(cluster.zookeeper)):
        return False
    return not any(
        isinstance(partition.isr, PendingExpandIsr) and partition.isr.adding == broker.broker_id
        for each in cluster.servers()
        for partition in each.partitions().values()
    )
