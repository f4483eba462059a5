"""Throttles around the batches of a run: what was set before is written down first, and restored afterwards.

Another user's throttle is left alone: replicas that a topic throttles already stay throttled, and in the end only
settings that still have the value of the run are restored.
Source: KIP-73 (replication), KIP-113 (between log directories).
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Collection, Mapping
from typing import Protocol

from kafka_py.operations.rebalancing.carriers import BROKERS, TOPICS, Settings, SettingsCarrier
from kafka_py.operations.rebalancing.plan_file import Overrides, OwnValues

Keep = Callable[[], Awaitable[None]]
"""Writes the state down."""
Wanted = Mapping[str, Mapping[str, str]]
"""Topic or broker -> setting -> value."""
Pause = Callable[[float], Awaitable[None]]
ALL_REPLICAS = "*"
SEEN_POLLS, SEEN_PAUSE_S = 50, 0.1
"""A broker tells its settings as they were until it is notified of the change: what is told then is not what is set."""


class ThrottledBrokers(Protocol):
    """What a run keeps of its throttles: the values that brokers had before, and those that it has given.

    A run that is killed has set the last one or the one before. A state file of an older release has none of them; then
    all settings are restored.
    """

    brokers: Overrides
    set_brokers: OwnValues


class ThrottledState(ThrottledBrokers, Protocol):
    """The same of a run that throttles replicas of topics as well."""

    topics: Overrides
    set_topics: OwnValues


async def set_throttles(
    state: ThrottledState, carrier: SettingsCarrier, keep: Keep, pause: Pause, topics: Wanted, brokers: Wanted
) -> None:
    """Writes down what was set before, then sets the throttles of a batch."""
    seen = await _seen(carrier, TOPICS, topics)
    await _note_brokers(state, carrier, brokers)
    state.topics = before_all(state.topics, state.set_topics, seen)
    merged = {
        topic: {one: merged_replicas(state.topics[topic][one], value) for one, value in settings.items()}
        for topic, settings in topics.items()
    }
    state.set_topics = _over(state.set_topics, merged)
    await keep()
    if brokers:
        await carrier.alter(BROKERS, brokers)
    if topics:
        await carrier.alter(TOPICS, merged)
    await _until_told(carrier, brokers, pause)


async def set_broker_throttles(
    state: ThrottledBrokers, carrier: SettingsCarrier, keep: Keep, pause: Pause, brokers: Wanted
) -> None:
    """The same for a run that throttles brokers only."""
    await _note_brokers(state, carrier, brokers)
    await keep()
    if brokers:
        await carrier.alter(BROKERS, brokers)
    await _until_told(carrier, brokers, pause)


async def _note_brokers(state: ThrottledBrokers, carrier: SettingsCarrier, brokers: Wanted) -> None:
    """What brokers have now, and what they are to be given."""
    state.brokers = before_all(state.brokers, state.set_brokers, await _seen(carrier, BROKERS, brokers))
    state.set_brokers = _over(state.set_brokers, brokers)


async def _until_told(carrier: SettingsCarrier, brokers: Mapping[str, Settings], pause: Pause) -> None:
    """Waits until brokers tell these settings, or a few seconds."""
    for _ in range(SEEN_POLLS if brokers else 0):
        if await _seen(carrier, BROKERS, brokers) == {name: dict(settings) for name, settings in brokers.items()}:
            return
        await pause(SEEN_PAUSE_S)


async def _seen(carrier: SettingsCarrier, kind: str, wanted: Mapping[str, Mapping[str, object]]) -> Overrides:
    """The present values of the settings that are named."""
    settings = list(dict.fromkeys(setting for values in wanted.values() for setting in values))
    found = await carrier.overrides(kind, list(wanted), settings) if wanted else {}
    return {name: {one: found.get(name, {}).get(one) for one in values} for name, values in wanted.items()}


def merged_replicas(present: str | None, wanted: str) -> str:
    """A list of throttled replicas that has those of another one as well; `*` is all."""
    if present == ALL_REPLICAS or not present:
        return present or wanted
    return ",".join(sorted({*present.split(","), *wanted.split(",")}))


def before_all(kept: Overrides, ours: OwnValues, seen: Overrides) -> Overrides:
    """What is to be restored in the end.

    kept, ours: what this plan found before, and what it has given since. A value that an interrupted run has left is
    not what was there before; any other value is that of another user.
    """
    result = {name: dict(settings) for name, settings in kept.items()}
    for name, settings in seen.items():
        for setting, value in settings.items():
            mine = ours.get(name, {}).get(setting, [value])
            if setting not in kept.get(name, {}) or (value is not None and value not in mine):
                result.setdefault(name, {})[setting] = value
    return result


def _over(before: OwnValues, now: Wanted) -> OwnValues:
    result = {name: dict(settings) for name, settings in before.items()}
    for name, settings in now.items():
        for setting, value in settings.items():
            values = result.setdefault(name, {}).get(setting, [])
            result[name][setting] = [*(one for one in values if one != value), value]
    return result


def still_ours(before: Overrides, ours: OwnValues, seen: Overrides) -> dict[str, Settings]:
    """What is to be restored: all but the settings that another user has changed since."""
    found: dict[str, Settings] = {}
    for name, settings in before.items():
        mine, now = ours.get(name, {}), seen.get(name, {})
        kept = {one: value for one, value in settings.items() if one not in mine or now.get(one) in (value, *mine[one])}
        if kept:
            found[name] = kept
    return found


Live = Callable[[], Awaitable[Collection[int]]]
"""The brokers that are live now."""


async def clear_throttles(
    state: ThrottledState, carrier: SettingsCarrier, keep: Keep, pause: Pause, live: Live
) -> None:
    """Restores what was set before the throttles; those of brokers that are not live stay in the state."""
    if not state.topics and not state.brokers:
        return
    alive = await live()
    due = still_ours(state.topics, state.set_topics, await _seen(carrier, TOPICS, state.topics))
    if due:
        await carrier.alter(TOPICS, due)
    state.topics, state.set_topics = {}, {}
    await _restore_brokers(state, carrier, pause, alive)
    await keep()


async def clear_broker_throttles(
    state: ThrottledBrokers, carrier: SettingsCarrier, keep: Keep, pause: Pause, live: Live
) -> None:
    """The same for a run that throttles brokers only."""
    if state.brokers:
        await _restore_brokers(state, carrier, pause, await live())
        await keep()


async def _restore_brokers(
    state: ThrottledBrokers, carrier: SettingsCarrier, pause: Pause, live: Collection[int]
) -> None:
    alive = set(map(str, live))
    reached = {name: settings for name, settings in state.brokers.items() if name in alive}
    due = still_ours(reached, state.set_brokers, await _seen(carrier, BROKERS, reached))
    if due:
        await carrier.alter(BROKERS, due)
    await _until_told(carrier, due, pause)
    state.brokers = {name: settings for name, settings in state.brokers.items() if name not in reached}
    state.set_brokers = {name: settings for name, settings in state.set_brokers.items() if name in state.brokers}
