"""The metadata cache under UpdateMetadata."""

import asyncio
import uuid

from kafka_py.base.ids import LEADER_DURING_DELETE, ZERO_UUID, TopicPartition
from kafka_py.broker.metadata.metadata_cache import (
    BrokerAddress,
    CachedPartition,
    LiveBroker,
    MetadataCache,
    MetadataUpdate,
)

T0, T1, U0 = TopicPartition("t", 0), TopicPartition("t", 1), TopicPartition("u", 0)
ID = uuid.UUID(int=7)
BROKER = LiveBroker(1, {"PLAINTEXT": BrokerAddress("h", 9092)}, "r1")


def info(leader: int = 1, epoch: int = 0) -> CachedPartition:
    return CachedPartition(1, leader, epoch, (1,), 0, (1,), ())


def update(
    *partitions: tuple[TopicPartition, CachedPartition], controller: int = 1, **ids: uuid.UUID
) -> MetadataUpdate:
    return MetadataUpdate(controller, [BROKER], list(partitions), ids)


def take(cache: MetadataCache, given: MetadataUpdate) -> tuple[list[TopicPartition], set[str]]:
    """Takes an update in."""
    return asyncio.run(cache.update(given))


def test_partitions_are_merged_and_brokers_replaced() -> None:
    cache = MetadataCache()
    take(cache, update((T0, info()), (U0, info()), t=ID))
    take(cache, MetadataUpdate(2, [LiveBroker(2, {}, None)], [(T1, info(2))], {}))
    assert set(cache.partitions_of("t")) == {0, 1}
    assert cache.has_partition(U0)
    assert cache.controller_id == 2
    assert not cache.is_live(1) and cache.is_live(2)


def test_a_leader_during_deletion_forgets_the_partition_and_with_the_last_the_topic_and_its_id() -> None:
    cache = MetadataCache()
    take(cache, update((T0, info()), (T1, info()), t=ID))
    assert cache.topic_name(ID) == "t"
    forgotten, mentioned = take(cache, update((T0, info(LEADER_DURING_DELETE))))
    assert (forgotten, mentioned) == ([T0], {"t"})
    assert cache.has_topic("t")
    take(cache, update((T1, info(LEADER_DURING_DELETE))))
    assert not cache.has_topic("t")
    assert cache.topic_name(ID) is None and cache.topic_id("t") == ZERO_UUID


def test_a_missing_topic_id_does_not_erase_a_known_one() -> None:
    cache = MetadataCache()
    take(cache, update((T0, info()), t=ID))
    take(cache, update((T0, info(epoch=1)), t=ZERO_UUID))
    assert cache.topic_id("t") == ID


def test_addresses_are_per_listener() -> None:
    cache = MetadataCache()
    take(cache, update())
    assert cache.address(1, "PLAINTEXT") == BrokerAddress("h", 9092)
    assert cache.address(1, "OTHER") is None
    assert cache.address(9, "PLAINTEXT") is None
    assert cache.racks() == {1: "r1"}


def test_no_controller_is_none() -> None:
    cache = MetadataCache()
    take(cache, update(controller=-1))
    assert cache.controller_id is None


def test_readers_see_a_large_update_whole_or_not_at_all() -> None:
    async def scenario() -> None:
        cache = MetadataCache()
        await cache.update(update(*((TopicPartition("t", n), info()) for n in range(1000))))
        before = cache.partitions_of("t")
        changing = asyncio.ensure_future(
            cache.update(MetadataUpdate(2, [], [(TopicPartition("t", n), info(leader=2)) for n in range(1000)], {}))
        )
        generation = cache.generation
        seen = []
        while not changing.done():
            leaders = {one.leader for one in cache.partitions_of("t").values()}
            seen.append((leaders, cache.controller_id, cache.is_live(1), cache.generation))
            await asyncio.sleep(0)
        old, new = ({1}, 1, True, generation), ({2}, 2, False, generation + 1)
        assert seen.count(old) > 2
        assert seen == [old] * seen.count(old) + [new] * seen.count(new)
        assert {one.leader for one in cache.partitions_of("t").values()} == {2}
        assert (cache.controller_id, cache.is_live(1), cache.generation) == (2, False, generation + 1)
        assert {one.leader for one in before.values()} == {1}  # whoever holds it, keeps it

    asyncio.run(scenario())
