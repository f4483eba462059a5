"""When the keys of a provider are fetched, and what happens while they cannot be."""

import asyncio
import threading
from collections.abc import Callable, Coroutine

import pytest

from kafka_py.base.clock import SystemClock
from kafka_py.security.sasl.oauth.key_sets import KeyRefresh, KeysUnavailable, ProviderKeys
from kafka_py.security.sasl.oauth.places import Unreadable
from kafka_py.testing.peers.token_provider import public, rsa_key

KEYS = {name: rsa_key(name) for name in ("a", "b")}
QUICK = KeyRefresh(backoff_ms=1, most_backoff_ms=5, least_ms=1)


class MovedClock(SystemClock):
    """The machine's, ahead by what a test says."""

    ahead_ms = 0.0

    def monotonic_ms(self) -> float:
        return super().monotonic_ms() + self.ahead_ms


class Place:
    """Shows some of KEYS, or fails with a reason."""

    def __init__(self, *shown: str) -> None:
        self.shown = shown
        self.fault = ""
        self.reads = 0
        self.version = 0
        self.before_read: Callable[[], object] = lambda: None

    def read(self) -> bytes:
        self.reads += 1
        self.before_read()
        if self.fault:
            raise Unreadable(self.fault)
        return public(*(KEYS[name] for name in self.shown))

    def stamp(self) -> object:
        return self.version


def run(scene: Callable[[ProviderKeys], Coroutine[object, object, None]], place: Place, rules: KeyRefresh = QUICK,
        clock: MovedClock | None = None) -> None:  # fmt: skip
    asyncio.run(asyncio.wait_for(scene(ProviderKeys("there", place, rules, clock or MovedClock())), 20))


async def ids(keys: ProviderKeys, key_id: str | None) -> list[str | None]:
    return [each.key_id for each in (await keys.for_key(key_id)).keys]


def test_many_logins_at_once_fetch_the_keys_once() -> None:
    place = Place("a")

    async def scene(keys: ProviderKeys) -> None:
        assert await asyncio.gather(*(ids(keys, "a") for _ in range(50))) == [["a"]] * 50
        assert await ids(keys, "a") == ["a"]

    run(scene, place)
    assert place.reads == 1


def test_a_key_that_is_new_is_found_by_one_more_attempt() -> None:
    place = Place("a")

    async def scene(keys: ProviderKeys) -> None:
        assert await ids(keys, "a") == ["a"]
        place.shown = ("b",)
        assert await asyncio.gather(ids(keys, "b"), ids(keys, "b")) == [["b"]] * 2
        assert place.reads == 2

    run(scene, place)


def test_an_id_without_key_costs_one_attempt_and_is_kept_in_mind() -> None:
    place, clock = Place("a"), MovedClock()

    async def scene(keys: ProviderKeys) -> None:
        await ids(keys, "a")
        for _ in range(3):
            assert await ids(keys, "none") == ["a"]
        assert place.reads == 2
        clock.ahead_ms = 61_000
        assert await ids(keys, "none") == ["a"]
        assert place.reads == 3

    run(scene, place, clock=clock)


def test_invented_ids_share_attempts_which_are_bounded() -> None:
    place = Place("a")

    async def scene(keys: ProviderKeys) -> None:
        await ids(keys, "a")
        await asyncio.gather(*(ids(keys, f"invented-{number}") for number in range(200)))

    run(scene, place, QUICK._replace(least_ms=50))
    assert place.reads <= 3


def test_the_next_attempt_for_an_id_waits_and_others_do_not() -> None:
    place = Place("a")

    async def scene(keys: ProviderKeys) -> None:
        await ids(keys, "a")
        waits = asyncio.ensure_future(ids(keys, "b"))
        for _ in range(10):
            assert await ids(keys, "a") == ["a"]
            await asyncio.sleep(0)
        assert not waits.done()
        waits.cancel()

    run(scene, place, QUICK._replace(least_ms=3_600_000))
    assert place.reads == 1


def test_old_keys_are_fetched_again_and_a_removed_one_is_gone() -> None:
    place, clock = Place("a", "b"), MovedClock()

    async def scene(keys: ProviderKeys) -> None:
        assert await ids(keys, "a") == ["a", "b"]
        place.shown = ("b",)
        assert await ids(keys, "a") == ["a", "b"]
        clock.ahead_ms = 3_600_001
        assert await ids(keys, "b") == ["b"]

    run(scene, place, clock=clock)


def test_a_file_that_has_changed_is_read_again_at_once() -> None:
    place = Place("a", "b")

    async def scene(keys: ProviderKeys) -> None:
        assert await ids(keys, "a") == ["a", "b"]
        place.shown, place.version = ("b",), 1
        assert await ids(keys, "b") == ["b"]

    run(scene, place)


def test_while_the_provider_is_down_nobody_waits_and_the_present_keys_are_used(
    caplog: pytest.LogCaptureFixture,
) -> None:
    place, clock = Place("a"), MovedClock()

    async def scene(keys: ProviderKeys) -> None:
        await ids(keys, "a")
        place.fault = "refused"
        clock.ahead_ms = 3_600_001
        for _ in range(20):
            assert await ids(keys, "a") == ["a"]
        assert place.reads == 2  # the next attempt waits

    run(scene, place, QUICK._replace(backoff_ms=3_600_000, most_backoff_ms=3_600_000), clock)
    assert caplog.text.count("the present ones are used") == 1


def test_a_slow_provider_holds_a_login_no_longer_than_the_patience() -> None:
    place, clock = Place("a"), MovedClock()

    async def scene(keys: ProviderKeys) -> None:
        await ids(keys, "a")
        released = threading.Event()
        place.before_read = lambda: released.wait(20)
        clock.ahead_ms = 3_600_001
        assert await ids(keys, "a") == ["a"]
        released.set()

    run(scene, place, QUICK._replace(patience_ms=10), clock)


def test_without_any_keys_there_is_no_answer_until_they_come() -> None:
    place = Place("a")
    place.fault = "HTTP status 503"

    async def scene(keys: ProviderKeys) -> None:
        for _ in range(3):
            with pytest.raises(KeysUnavailable, match="there: HTTP status 503"):
                await keys.for_key("a")
        assert place.reads == 3
        place.fault = ""
        assert await ids(keys, "a") == ["a"]

    run(scene, place)


def test_a_document_that_cannot_be_used_keeps_the_present_keys(caplog: pytest.LogCaptureFixture) -> None:
    place = Place("a")

    async def scene(keys: ProviderKeys) -> None:
        await ids(keys, "a")
        place.shown = ()
        assert await ids(keys, "b") == ["a"]
        assert await ids(keys, "a") == ["a"]

    run(scene, place)
    assert "no key that can be used" in caplog.text


def test_a_login_that_is_cancelled_leaves_the_attempt_to_the_others() -> None:
    place = Place("a")

    async def scene(keys: ProviderKeys) -> None:
        one, other = (asyncio.ensure_future(ids(keys, "a")) for _ in range(2))
        await asyncio.sleep(0)
        one.cancel()
        assert await other == ["a"]

    run(scene, place)
    assert place.reads == 1
