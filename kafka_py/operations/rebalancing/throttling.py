"""Throttles around the batches of a run: what was set before is written down first, and restored afterwards.

Source: KIP-73 (replication), KIP-113 (between log directories).
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Collection, Mapping
from typing import Protocol

from kafka_py.operations.rebalancing.carriers import BROKERS, TOPICS, Settings, SettingsCarrier
from kafka_py.operations.rebalancing.plan_file import Overrides

Keep = Callable[[], Awaitable[None]]
"""Writes the state down."""


class ThrottledState(Protocol):
    """What a run keeps of its throttles: the values that topics and brokers had before."""

    topics: Overrides
    brokers: Overrides


async def set_throttles(
    state: ThrottledState,
    carrier: SettingsCarrier,
    keep: Keep,
    topics: Mapping[str, Settings],
    brokers: Mapping[str, Settings],
) -> None:
    """Writes down what was set before, then sets the throttles of a batch: name -> setting -> value."""
    before = [await _before(carrier, kind, wanted) for kind, wanted in ((TOPICS, topics), (BROKERS, brokers))]
    state.topics, state.brokers = _kept(before[0], state.topics), _kept(before[1], state.brokers)
    await keep()
    if brokers:
        await carrier.alter(BROKERS, brokers)
    if topics:
        await carrier.alter(TOPICS, topics)


async def _before(carrier: SettingsCarrier, kind: str, wanted: Mapping[str, Settings]) -> Overrides:
    settings = list(dict.fromkeys(setting for values in wanted.values() for setting in values))
    found = await carrier.overrides(kind, list(wanted), settings) if wanted else {}
    return {name: {one: found.get(name, {}).get(one) for one in values} for name, values in wanted.items()}


def _kept(before: Overrides, kept: Overrides) -> Overrides:
    """A throttle that an interrupted run has left is not what was there before; a setting that it left alone is."""
    return {name: {**before.get(name, {}), **kept.get(name, {})} for name in {**kept, **before}}


async def clear_throttles(
    state: ThrottledState, carrier: SettingsCarrier, keep: Keep, live: Callable[[], Awaitable[Collection[int]]]
) -> None:
    """Restores what was set before the throttles; those of brokers that are not live stay in the state."""
    if not state.topics and not state.brokers:
        return
    if state.topics:
        await carrier.alter(TOPICS, state.topics)
    alive = set(map(str, await live()))
    reached = {name: settings for name, settings in state.brokers.items() if name in alive}
    if reached:
        await carrier.alter(BROKERS, reached)
    state.topics, state.brokers = {}, {name: state.brokers[name] for name in state.brokers if name not in reached}
    await keep()
