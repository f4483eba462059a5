"""The view of administrators: descriptions and lists of transactional ids (KIP-664). Changes nothing.

Source: docs/reference/transactions.md, section 9.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import NamedTuple

from kafka_py.base.errors import ErrorCode, KafkaError
from kafka_py.coordinator.transactions.states import DEAD, TransactionState
from kafka_py.coordinator.transactions.store import TransactionStore
from kafka_py.coordinator.transactions.transaction import TransactionMetadata

STATE_NAMES = {state: state.name.title().replace("_", "") for state in TransactionState}
"""PREPARE_COMMIT is PrepareCommit in requests and responses."""
STATES = {name: state for state, name in STATE_NAMES.items()}

_IDS_A_STEP = 256


class Selection(NamedTuple):
    """Which ids are listed: all that meet each condition.

    states: names; empty: any state. producer_ids: empty: any producer. duration_ms: only transactions that began longer
    ago; negative: no matter when.
    """

    states: Collection[str] = ()
    producer_ids: Collection[int] = ()
    duration_ms: int = -1

    def unknown_states(self) -> list[str]:
        """The names that no state has."""
        return [name for name in dict.fromkeys(self.states) if name not in STATES]


def describe(store: TransactionStore, transactional_id: str) -> TransactionMetadata:
    """The id as it is now.

    Raises KafkaError(COORDINATOR_LOAD_IN_PROGRESS, NOT_COORDINATOR, TRANSACTIONAL_ID_NOT_FOUND).
    """
    found = store.get(store.partition_of(transactional_id), transactional_id)
    if found is None or found.state is DEAD:
        detail = f"the coordinator has no transactional id {transactional_id!r}: it was never used, or has expired"
        raise KafkaError(ErrorCode.TRANSACTIONAL_ID_NOT_FOUND, detail)
    return found.metadata


def listed(
    store: TransactionStore, selection: Selection, now_ms: int
) -> Iterator[list[tuple[str, TransactionMetadata]]]:
    """The selected ids of the loaded partitions, in steps between which other work may run."""
    states = frozenset(STATES[name] for name in selection.states if name in STATES)
    producer_ids = frozenset(selection.producer_ids)
    for partition in store.partitions():
        ids = store.transactions(partition)
        for first in range(0, len(ids), _IDS_A_STEP):
            some = ((each.id, each.metadata) for each in ids[first : first + _IDS_A_STEP])
            yield [
                (transactional_id, metadata)
                for transactional_id, metadata in some
                if metadata.state is not DEAD
                and (metadata.state in states or not selection.states)
                and (metadata.producer_id in producer_ids or not producer_ids)
                and (selection.duration_ms < 0 or 0 <= metadata.start_ms < now_ms - selection.duration_ms)
            ]
