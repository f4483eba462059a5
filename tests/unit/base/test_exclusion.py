"""One holder per key, in the order of asking."""

import asyncio

import pytest

from kafka_py.base.exclusion import KeyedLocks


def test_holders_of_one_key_take_turns_in_the_order_of_asking() -> None:
    async def main() -> list[str]:
        locks, events = KeyedLocks(), []

        async def work(name: str, key: str) -> None:
            async with locks.hold(key):
                events.append(f"{name} begins")
                await asyncio.sleep(0)
                await asyncio.sleep(0)
                events.append(f"{name} ends")

        await asyncio.gather(work("a1", "a"), work("a2", "a"), work("b", "b"), work("a3", "a"))
        assert len(locks) == 0
        return events

    events = asyncio.run(main())
    of_a = [event for event in events if event.startswith("a")]
    assert of_a == [f"a{number} {what}" for number in (1, 2, 3) for what in ("begins", "ends")]
    assert events.index("b begins") < events.index("a1 ends")


def test_a_failure_or_a_cancellation_frees_the_key() -> None:
    async def main() -> None:
        locks = KeyedLocks()
        with pytest.raises(ValueError, match="no"):
            async with locks.hold("k"):
                raise ValueError("no")
        async with locks.hold("k"):
            waiter = asyncio.create_task(locks.hold("k").__aenter__())
            await asyncio.sleep(0)
            waiter.cancel()
            await asyncio.gather(waiter, return_exceptions=True)
            assert len(locks) == 1
        assert len(locks) == 0

    asyncio.run(main())
