"""Placement of the replicas of new partitions: spread over brokers, and over racks if brokers have them (KIP-36).

Pure: the random start is an argument. Source: docs/reference/controller.md, section 15; AdminUtils.
"""

from collections.abc import Generator, Mapping, Sequence
from typing import NamedTuple

from kafka_py.base.chance import Random
from kafka_py.base.errors import ErrorCode, KafkaError
from kafka_py.base.steps import to_end

Placement = dict[int, list[int]]
"""Partition number -> broker ids, the preferred replica first."""

MOST_REPLICAS = 200_000
"""The most replicas of one topic: more than its znode can contain, and few enough to be computed quickly."""

STEP_BROKERS = 1024
"""The number of brokers tried for replicas after which `placing` yields; they take some 0.2 ms."""

PARTITION = 4
"""A partition takes as long as so many brokers that are tried."""


class BrokerRack(NamedTuple):
    """A broker for replicas, and its rack (`broker.rack`), None without one."""

    id: int
    rack: str | None = None


def place(
    brokers: Sequence[BrokerRack],
    partitions: int,
    replication_factor: int,
    *,
    fixed_start: int | None = None,
    first_partition: int = 0,
    chance: Random | None = None,
) -> Placement:
    """Replicas for `partitions` new partitions numbered from `first_partition` on.

    brokers: in the order that the rack-unaware algorithm uses; several calls for one topic need the same order.
    fixed_start: index into the brokers used as start and as shift, instead of two that `chance` draws.
    Raises KafkaError(INVALID_PARTITIONS) for a count below 1, or if the topic then has more than MOST_REPLICAS,
        KafkaError(INVALID_REPLICATION_FACTOR) for a factor below 1 or above the number of brokers,
        KafkaError(UNKNOWN_SERVER_ERROR) if only some brokers have a rack.
    """
    steps = placing(
        brokers, partitions, replication_factor,
        fixed_start=fixed_start, first_partition=first_partition, chance=chance,
    )  # fmt: skip
    return to_end(steps)


def placing(
    brokers: Sequence[BrokerRack],
    partitions: int,
    replication_factor: int,
    *,
    fixed_start: int | None = None,
    first_partition: int = 0,
    chance: Random | None = None,
) -> Generator[None, None, Placement]:
    """As `place`, but a generator that yields when some STEP_BROKERS brokers have been tried (base/turns.py)."""
    if partitions <= 0:
        raise KafkaError(ErrorCode.INVALID_PARTITIONS, f"A topic needs at least 1 partition, not {partitions}.")
    if replication_factor <= 0:
        detail = f"The replication factor must be at least 1, not {replication_factor}."
        raise KafkaError(ErrorCode.INVALID_REPLICATION_FACTOR, detail)
    if replication_factor > len(brokers):
        detail = f"Replication factor: {replication_factor} larger than available brokers: {len(brokers)}."
        raise KafkaError(ErrorCode.INVALID_REPLICATION_FACTOR, detail)
    require_room(first_partition + partitions, replication_factor)
    racks = require_racks_of_all_or_none(brokers)
    rack_count = len(set(racks.values()))
    ids = alternate_racks(racks) if racks else [broker.id for broker in brokers]
    if fixed_start is not None:
        start = shift = fixed_start
    else:
        assert chance is not None, "either a fixed start, or chance to draw one"
        start, shift = chance.randrange(len(ids)), chance.randrange(len(ids))
    result: Placement = {}
    left = STEP_BROKERS
    for partition in range(first_partition, first_partition + partitions):
        if partition > 0 and partition % len(ids) == 0:
            shift += 1
        first = (partition + start) % len(ids)
        if racks:
            result[partition], tried = _across_racks(ids, racks, rack_count, first, shift, replication_factor)
        else:
            followers = (replica_index(first, shift, k, len(ids)) for k in range(replication_factor - 1))
            result[partition] = [ids[first], *(ids[index] for index in followers)]
            tried = replication_factor
        left -= PARTITION + tried
        if left <= 0:
            yield
            left = STEP_BROKERS
    return result


def require_room(partitions: int, replication_factor: int) -> None:
    """Raises KafkaError(INVALID_PARTITIONS) for more partitions than a topic's znode can contain."""
    if partitions * replication_factor > MOST_REPLICAS:
        detail = f"{partitions} partitions with {replication_factor} replicas each do not fit into one znode."
        raise KafkaError(ErrorCode.INVALID_PARTITIONS, detail)


def replica_index(first: int, shift: int, k: int, brokers: int) -> int:
    """Broker index of the k-th follower (from 0): `shift` positions further among all but `first` (brokers > 1)."""
    return (first + 1 + (shift + k) % (brokers - 1)) % brokers


def require_racks_of_all_or_none(brokers: Sequence[BrokerRack]) -> dict[int, str]:
    """Broker id -> rack, empty if no broker has one. Raises KafkaError(UNKNOWN_SERVER_ERROR) if only some have one."""
    racks = {broker.id: broker.rack for broker in brokers if broker.rack is not None}
    if racks and len(racks) < len(brokers):
        detail = "Not all brokers have rack information; set broker.rack on all of them, or place without racks."
        raise KafkaError(ErrorCode.UNKNOWN_SERVER_ERROR, detail)
    return racks


def without_racks(brokers: Sequence[BrokerRack]) -> list[BrokerRack]:
    """The same brokers without racks (`--disable-rack-aware`)."""
    return [BrokerRack(broker.id) for broker in brokers]


def alternate_racks(racks: Mapping[int, str]) -> list[int]:
    """The brokers in an order that alternates racks: one broker of each rack in turn, racks by name."""
    by_rack: dict[str, list[int]] = {}
    for broker in sorted(racks):
        by_rack.setdefault(racks[broker], []).append(broker)
    rows = [by_rack[rack] for rack in sorted(by_rack)]
    longest = max(map(len, rows), default=0)
    return [row[turn] for turn in range(longest) for row in rows if turn < len(row)]


def _across_racks(
    ids: Sequence[int], racks: Mapping[int, str], rack_count: int, first: int, shift: int, factor: int
) -> tuple[list[int], int]:
    """Replicas of one partition, and how many brokers were tried for them.

    A rack is used again only after every rack has been used, a broker likewise.
    """
    chosen = {ids[first]: None}  # a set in the order of choice
    used_racks = {racks[ids[first]]}
    k = 0
    while len(chosen) < factor:
        broker = ids[replica_index(first, shift * rack_count, k, len(ids))]
        k += 1
        rack_is_free = racks[broker] not in used_racks or len(used_racks) == rack_count
        if rack_is_free:
            chosen[broker] = None
            used_racks.add(racks[broker])
    return list(chosen), k + 1
