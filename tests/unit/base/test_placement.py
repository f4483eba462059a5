"""Replica placement against worked examples (WE1-3, WE4-9 to WE4-13, S1-198) and general promises."""

import itertools
import random
from collections import Counter

import pytest

from kafka_py.base.errors import ErrorCode, KafkaError
from kafka_py.base.placement import (
    PARTITION,
    STEP_BROKERS,
    BrokerRack,
    alternate_racks,
    place,
    placing,
    replica_index,
    without_racks,
)


class Chance(random.Random):
    """Gives the numbers it was made with: start, then shift."""

    def __init__(self, *numbers):
        super().__init__()
        self.numbers = list(numbers)

    def randrange(self, *_):
        return self.numbers.pop(0)


def brokers(*ids):
    return [BrokerRack(id_) for id_ in ids]


def racked(**racks):
    return [BrokerRack(int(name[1:]), rack) for name, rack in racks.items()]


def test_we4_1_topic_create_has_2_3_3_replicas():
    """WE4-1: 3 brokers, 4 partitions, factor 2, start 2, even shift: p0 [2,0], p1 [0,1], p2 [1,2], p3 [2,1]."""
    placed = place(brokers(0, 1, 2), 4, 2, chance=Chance(2, 2))
    assert placed == {0: [2, 0], 1: [0, 1], 2: [1, 2], 3: [2, 1]}
    assert sorted(Counter(b for replicas in placed.values() for b in replicas).values()) == [2, 3, 3]


@pytest.mark.parametrize(
    ("first", "shift", "k", "expected"), [(2, 2, 0, 0), (2, 2, 1, 1), (0, 2, 0, 1), (0, 2, 1, 2)]
)
def test_we4_9_replica_index_on_three_brokers(first, shift, k, expected):
    """WE4-9: replicaIndex (2,2,0,3)=0, (2,2,1,3)=1, (0,2,0,3)=1, (0,2,1,3)=2."""
    assert replica_index(first, shift, k, 3) == expected


def test_we4_10_topic_test2():
    """WE4-10: brokers [0,1,2], 6 partitions, factor 3, start 2, shift 2."""
    placed = place(brokers(0, 1, 2), 6, 3, chance=Chance(2, 2))
    assert placed == {0: [2, 0, 1], 1: [0, 1, 2], 2: [1, 2, 0], 3: [2, 1, 0], 4: [0, 2, 1], 5: [1, 0, 2]}


def test_we4_11_broker_ids_need_not_be_consecutive():
    """WE4-11: brokers [2,5,8], same indexes: p0 = [8,2,5]."""
    assert place(brokers(2, 5, 8), 6, 3, chance=Chance(2, 2))[0] == [8, 2, 5]


def test_we4_12_first_replica_tells_the_start_index():
    """WE4-12: first replica 2 of partition 0 with 3 brokers implies startIndex 2."""
    starts = [start for start in range(3) if place(brokers(0, 1, 2), 1, 1, chance=Chance(start, 0))[0] == [2]]
    assert starts == [2]


def test_we4_13_nine_brokers_in_three_racks():
    """WE4-13: list [0,3,6,1,4,7,2,5,8]; start 0, shift 0, 9 partitions, factor 3."""
    nine = [BrokerRack(id_, f"rack{id_ // 3 + 1}") for id_ in range(9)]
    assert alternate_racks({b.id: b.rack for b in nine}) == [0, 3, 6, 1, 4, 7, 2, 5, 8]
    placed = place(nine, 9, 3, fixed_start=0)
    assert list(placed.values()) == [
        [0, 3, 6], [3, 6, 1], [6, 1, 4], [1, 4, 7], [4, 7, 2], [7, 2, 5], [2, 5, 8], [5, 8, 0], [8, 0, 3],
    ]  # fmt: skip


def test_we4_13_six_brokers_in_three_racks():
    """WE4-13 [ref-2.0]: brokers 0-5 on rack1, rack3, rack3, rack2, rack2, rack1 give list 0,3,1,5,4,2."""
    six = racked(b0="rack1", b1="rack3", b2="rack3", b3="rack2", b4="rack2", b5="rack1")
    assert alternate_racks({b.id: b.rack for b in six}) == [0, 3, 1, 5, 4, 2]
    placed = place(six, 7, 3, fixed_start=0)
    assert list(placed.values()) == [[0, 3, 1], [3, 1, 5], [1, 5, 4], [5, 4, 2], [4, 2, 0], [2, 0, 3], [0, 4, 2]]


def test_we1_3_no_two_replicas_of_a_partition_share_a_broker():
    """WE1-3: 4 brokers, 3 partitions, factor 3: one leader and two followers, each on another broker."""
    for start, shift in itertools.product(range(4), range(4)):
        placed = place(brokers(0, 1, 2, 3), 3, 3, chance=Chance(start, shift))
        assert [len(set(replicas)) for replicas in placed.values()] == [3, 3, 3]


def test_we4_37_start_1_and_an_odd_shift():
    """WE4-37, listing 4-7: p0 [1,0], p1 [2,1], p2 [0,2]."""
    for shift in (1, 3):
        placed = place(brokers(0, 1, 2), 3, 2, chance=Chance(1, shift))
        assert placed == {0: [1, 0], 1: [2, 1], 2: [0, 2]}


def test_s1_195_directories_of_two_topics_on_eight_brokers():
    """S1-195: 13 and 19 partitions, one replica each, on 8 nodes: 32 directories over the cluster."""
    placed = [place(brokers(*range(1, 9)), count, 1, chance=random.Random(count)) for count in (13, 19)]
    directories = Counter(broker for topic in placed for replicas in topic.values() for broker in replicas)
    assert directories.total() == 32
    assert max(directories.values()) - min(directories.values()) <= 2


def test_s1_198_thirteen_partitions_on_eight_brokers():
    """S1-198: p0 to p12 on 2,3,4,5,6,7,8,1,2,3,4,5,6, which is brokers 1 to 8 from index 1 on."""
    placed = place(brokers(*range(1, 9)), 13, 1, chance=Chance(1, 0))
    assert list(placed.values()) == [[id_] for id_ in (2, 3, 4, 5, 6, 7, 8, 1, 2, 3, 4, 5, 6)]


def test_s1_205_eight_partitions_on_eight_brokers_have_a_leader_each():
    """S1-205: 8 brokers, 8 partitions, factor 3: replicas evenly spread, one leader per broker."""
    placed = place(brokers(*range(1, 9)), 8, 3, chance=random.Random(3))
    assert sorted(replicas[0] for replicas in placed.values()) == list(range(1, 9))
    assert set(Counter(id_ for replicas in placed.values() for id_ in replicas).values()) == {3}


def test_we4_8_racks_on_some_brokers_only():
    """WE4-8: one broker with RACK1, others none: creation fails; with --disable-rack-aware it works."""
    mixed = [BrokerRack(0, "RACK1"), BrokerRack(1), BrokerRack(2)]
    with pytest.raises(KafkaError, match="rack information"):
        place(mixed, 1, 1)
    assert len(place(without_racks(mixed), 3, 2, chance=random.Random(1))) == 3


def test_racks_of_unequal_size_still_spread_every_partition():
    uneven = racked(b0="a", b1="a", b2="a", b3="b", b4="c")
    for replicas in place(uneven, 20, 3, chance=random.Random(7)).values():
        assert len({broker.rack for broker in uneven if broker.id in replicas}) == 3
    for replicas in place(uneven, 20, 5, chance=random.Random(7)).values():
        assert sorted(replicas) == [0, 1, 2, 3, 4]


@pytest.mark.parametrize(
    ("partitions", "factor", "code"),
    [
        (0, 1, ErrorCode.INVALID_PARTITIONS),
        (-1, 1, ErrorCode.INVALID_PARTITIONS),
        (1, 0, ErrorCode.INVALID_REPLICATION_FACTOR),
        (1, 4, ErrorCode.INVALID_REPLICATION_FACTOR),
    ],
)
def test_counts_out_of_range_are_refused(partitions, factor, code):
    with pytest.raises(KafkaError) as caught:
        place(brokers(0, 1, 2), partitions, factor)
    assert caught.value.code is code


def test_added_partitions_continue_where_the_topic_ended():
    """The index of partition 0's first replica is start and shift, and numbering goes on."""
    whole = place(brokers(0, 1, 2), 6, 2, fixed_start=1)
    added = place(brokers(0, 1, 2), 2, 2, fixed_start=1, first_partition=4)
    assert list(added) == [4, 5]
    assert [replicas[0] for replicas in added.values()] == [whole[4][0], whole[5][0]]


def test_placement_never_puts_two_replicas_on_one_broker():
    chance = random.Random(1)
    for count in range(1, 8):
        for factor in range(1, count + 1):
            placed = place(brokers(*range(count)), 3 * count, factor, chance=chance)
            assert all(len(set(replicas)) == factor for replicas in placed.values())
            leaders = Counter(replicas[0] for replicas in placed.values())
            assert set(leaders.values()) == {3}


@pytest.mark.parametrize(
    ("racks", "factor", "tried"),
    [
        ([None] * 100, 1, 1),
        ([None] * 100, 50, 50),
        ([f"r{number}" for number in range(100)], 50, 50),
        (["a"] * 99 + ["b"], 2, 50),  # half of the brokers on the average, until the one in the other rack
    ],
)
def test_a_step_tries_the_same_number_of_brokers_however_many_of_them_a_partition_takes(racks, factor, tried):
    partitions = 2000
    steps = placing([BrokerRack(*row) for row in enumerate(racks)], partitions, factor, chance=random.Random(1))
    in_steps = partitions * (PARTITION + tried) / STEP_BROKERS
    assert 0.9 * in_steps < len(list(steps)) <= 1.1 * in_steps
